"""The facts of a run: right in each kind of run, from released numbers alone, and without words of topics."""

from __future__ import annotations

import math
from typing import Any

import pytest
from handmade import with_facts
from report_data import HOSTILE, all_runs, run_model, run_without_topics

from dplda.budget.accountant import capacity, gaussian_epsilon, zcdp
from dplda.budget.events import Event
from dplda.budget.guarantees import Basis, Guarantee
from dplda.report.facts import TITLES, Facts

PRIOR = {"source": "public corpus forum", "topics": 80, "words": 2000, "declared_public": True, "digest": "0" * 16}

ASKED = ("shares of the topics by ward", "numbers of persons")
PLAN = {"epsilon": 5.0, "budget_share": 0.5716, "other_answers": ASKED}  # what the topics of a plan of questions record


def record(run: str, **changes: Any) -> dict[str, Any]:
    shared = {"id": run, "epsilon": 0.5, "delta": 1e-6, "sound": True, "status": "done", "parameters": {}}
    return {**shared, **changes}


def said(facts: Facts, key: str) -> str:
    return " ".join(facts[key])


def test_what_is_said_of_answers_alone_is_not_about_topics() -> None:
    facts = Facts(run_without_topics(), all_runs())
    assert [key for key in TITLES if key != "others" and "topic" in said(facts, key)] == []
    assert facts.title == "Answers about toys"
    assert "Answers to questions, each with noise of its own: numbers of documents in each category." in said(
        facts, "released"
    )
    assert "Epsilon 3 and delta 1e-06 were given before the run, for all answers together." in said(facts, "chosen")
    asked = [{"kind": "fit"}, {"kind": "count"}]
    assert Facts(run_without_topics(questions=asked)).other_answers == [
        "topics",
        "numbers of documents in each category",
    ]
    alone = run_without_topics(kind="count", by=["ward"], other_answers=None)
    assert Facts(alone).other_answers == ["counts by ward"]


@pytest.mark.parametrize(
    "facts",
    [
        Facts(run_model()),
        Facts(run_model(), all_runs()),
        Facts(run_model(unit="customer", adjacency="replace"), all_runs(3)),
        Facts(with_facts(run_model(), series="support", batch="week 1"), all_runs(2)),
        Facts(with_facts(run_model(), prior=PRIOR, prior_used=True, topics=3), all_runs()),
        Facts(run_model(words=HOSTILE), all_runs()),
        Facts(with_facts(run_model(), **PLAN), all_runs()),
        Facts(run_model(sound=False, epsilon=math.inf, reason="NOT PRIVATE: exact")),
        Facts(run_without_topics(), all_runs()),
        Facts(run_without_topics(unit="customer"), all_runs(2)),
    ],
)
def test_every_question_is_answered_in_whole_sentences_without_words_of_topics(facts: Facts) -> None:
    for key in TITLES:
        sentences = facts[key]
        assert sentences, key
        for sentence in sentences:
            assert sentence[0].isupper() or key in ("mechanisms", "made_by") or sentence[0] in "`3", sentence
            assert sentence.endswith((".", ":")), sentence
            assert " ." not in sentence
            assert " ," not in sentence
            assert "  " not in sentence
            assert facts.topics is None or not any(word in sentence for word in facts.topics.vocabulary), sentence
    with pytest.raises(KeyError):
        facts["nothing"]


def test_rho_is_the_sum_of_the_events_and_not_above_what_epsilon_needs() -> None:
    events = (Event(stage="a", noise_multiplier=2.0, count=3), Event(stage="b", mechanism="pure", epsilon=0.5))
    assert zcdp(events) == pytest.approx(3 / 8 + 1 / 8)
    assert zcdp([Event(stage="x", mechanism="exact")]) == math.inf
    gaussian = events[:1]
    mu = math.sqrt(2 * zcdp(gaussian))
    loose = zcdp(gaussian) + 2 * math.sqrt(zcdp(gaussian) * math.log(1e6))
    assert gaussian_epsilon(mu, 1e-6) < loose, "the usual conversion of zCDP is looser, not tighter"
    facts = Facts(run_model())
    assert facts.of_run.rho == pytest.approx(facts.mu**2 / 2)
    assert f"rho = {math.ceil(facts.of_run.rho * 1e5) / 1e5:.4g}" in said(facts, "strength")


def test_one_run_and_several_quote_their_total_and_a_run_that_no_ledger_knows_itself() -> None:
    for runs in (1, 3):
        facts = Facts(run_model(), all_runs(runs))
        assert (facts.quoted.epsilon, facts.quoted.delta) == (8.0, 1e-5)
        assert facts.quoted.rho == pytest.approx(capacity(8.0, 1e-5).mu_squared / 2)
        assert facts.quoted.failures == capacity(8.0, 1e-5).delta
        assert "epsilon 8 at delta 1e-05" in said(facts, "total")
    assert Facts(run_model()).quoted.epsilon == 1.0


def test_a_total_that_was_raised_after_looking_is_not_quoted() -> None:
    broken = Guarantee(epsilon=20.0, delta=1e-5, basis=Basis.AFTER_LOOKING)
    facts = Facts(run_model(), all_runs(3, guarantee=broken))
    assert facts.quoted == facts.of_run
    assert "all runs together have at most" not in said(facts, "total")


def test_levels_that_were_listed_are_told_and_the_largest_quoted() -> None:
    listed = Guarantee(epsilon=4.0, delta=1e-6, listed=(4.0, 8.0), level_delta=1e-6)
    facts = Facts(run_model(), all_runs(2, guarantee=listed))
    assert "Levels listed before the first output: epsilon 4, 8" in said(facts, "total")
    assert facts.quoted.epsilon == 8.0


def test_other_runs_are_listed_and_counted() -> None:
    table = record("toys-b", parameters={"kind": "table", "by": ["ward", ""]})
    bad = record("toys-c", sound=False, status="incomplete")
    facts = Facts(run_model("toys-a"), all_runs(3, records=(record("toys-a"), table, bad)))
    listed = facts["others"]
    assert "Run toys-b: tables by ward, epsilon 0.5, delta 1e-06, done." in listed
    assert "Run toys-c: topics, NOT PRIVATE, incomplete." in listed
    assert not any("toys-a" in sentence for sentence in listed)
    many = tuple(record(f"toys-{number}") for number in range(40))
    assert "20 more, which `dplda runs` lists." in Facts(run_model(), all_runs(41, records=many))["others"]


@pytest.mark.parametrize(
    ("parameters", "key", "sentence"),
    [
        ({"topics": "auto"}, "chosen", "The number of topics was chosen from released, noisy eigenvalues"),
        ({"topics": 8}, "chosen", "The number of topics, 8, was given before the run."),
        ({"epsilon": 2.0}, "chosen", "Epsilon 2 and delta 1e-06, the defaults of dplda, were given"),
        ({"epsilon": 3.0}, "chosen", "Epsilon 3 and delta 1e-06 were given"),
        ({"vocabulary": "public"}, "chosen", "The words were given as a public list."),
        ({"vocabulary": "public"}, "unprotected", "it was given as public, which nothing checks"),
        (PLAN, "chosen", "Epsilon 5 and delta 1e-06 were given before the run, for all answers of its plan together"),
        (PLAN, "chosen", "plan together: 57.2% of that budget went to the topics."),
        (PLAN, "released", "each with noise of its own: shares of the topics by ward; numbers of persons. Tables"),
        (PLAN, "unprotected", "The questions, the categories, and the lists of groups and words that were given"),
        ({"merged": [[0, 1], [2], [3]]}, "post_processing", "Some topics were merged by hand."),
        ({"seed_words": {"a": ["b", "c"]}}, "unprotected", "which were given and not learned: a (b, c)."),
        ({"series": "s", "batch": "1"}, "data", "Growing: the dataset toys comes in batches"),
        (
            {"series": "s", "batch": "1"},
            "duration",
            "holds for a document that is in one batch. That none is in more rests on the word",
        ),
        ({"language": "de", "lemmas": True}, "reading", "(language de, lemmas yes)"),
        ({"software": {"dplda": "9", "libraries": {"opendp": {"version": "0.1"}}}}, "made_by", "opendp 0.1"),
    ],
)
def test_what_a_run_was_given_is_told(parameters: dict[str, Any], key: str, sentence: str) -> None:
    assert sentence in said(Facts(with_facts(run_model(), **parameters)), key)
    assert sentence not in said(Facts(run_model()), key)


def test_a_person_and_a_document_are_told_apart() -> None:
    person = Facts(with_facts(run_model(unit="customer"), series="s", batch="1"))
    assert person["protected"][0].startswith("One customer with all documents in the collection")
    assert "share one total, because customer may be in several" in said(person, "duration")
    assert "A person with several documents" not in said(person, "unprotected")
    assert "replaced by another" in said(Facts(run_model(adjacency="replace")), "neighbours")


def test_runs_under_other_names_are_told_apart_from_those_that_count() -> None:
    alone, both = (Facts(run_model(), all_runs(2, others=others)) for others in ((), ("copy",)))
    assert "the ledger had recorded 2 runs under the name toys, this" in said(alone, "others")
    assert "Not counted are runs under other names" in said(alone, "others")
    assert "the ledger had recorded 2 runs under the names toys and copy, this" in said(both, "others")
    for key in ("total", "others", "unprotected"):
        assert "under yet other names" in said(both, key), key
        assert "another dataset's name" not in said(both, key), key


def test_the_total_of_a_series_is_for_documents_in_so_many_batches_also_for_a_run_on_all_of_them() -> None:
    guarantee = Guarantee(epsilon=8.0, delta=1e-5, batches=3)
    facts = Facts(run_model(), all_runs(2, guarantee=guarantee))
    for key in ("total", "duration", "data", "unprotected"):
        assert "holds for a document that is in 3 batches at most" in said(facts, key), key
    together = Facts(with_facts(run_model(adjacency="replace"), series="s", batch="1"), all_runs(2))
    assert "document that is in" not in said(together, "total") + said(together, "unprotected")
    assert "Batches of the series share one total" in said(together, "duration")
