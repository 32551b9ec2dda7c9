"""Plans of questions: what they charge together, what they release, and what the ledger keeps of a run that dies."""

from __future__ import annotations

import os
import random
import signal
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant
from full_helpers import full_after

import dplda
from dplda.base.errors import BudgetRefused, InputError, UnsupportedByData
from dplda.budget import Ledger, Reservation
from dplda.budget.accountant import cost, run_epsilon
from dplda.budget.events import GAUSSIAN, GAUSSIAN_THRESHOLD, PURE, Stage
from dplda.runs.fit_options import FitOptions
from dplda.runs.plan_parts import is_plan, parts_of
from dplda.runs.questions import Question, latest_indicators, load_findings, load_tables, plan_questions
from dplda.runs.tabulation import best_tables, groupings, tables_of
from dplda.text.categories import listed_categories

THEMES = ("boiler pipe heating cold radiator", "invoice money payment bank refund")
WORDS = " ".join(THEMES).split()
CATEGORIES = {"refund": ["refund"], "heat": ["boiler", "heating"]}
GROUPS = {"team": ["heat", "cash"]}
TOPICS = Question("What is it about?", "fit", {"n_topics": 2, "vocabulary": WORDS})
ABOUT = [
    Question("How do they differ?", "tabulate", tables=groupings("team", GROUPS)),
    Question("How many?", "count", tables=groupings(["team", "kind"], GROUPS)),
    Question("With which words?", "words", tables=groupings("category(refund)", {})),
]
QUESTIONS = [TOPICS, *ABOUT]


def corpus(seed: int = 0, n: int = 1500) -> dplda.Corpus:
    records = [
        {
            "text": " ".join([*random.Random(f"{seed} {i}").choices(THEMES[i % 2].split(), k=12), f"own{seed}x{i}"]),
            "team": ("heat", "cash")[i % 2],
            "kind": "mail" if i % 3 else "call",
        }
        for i in range(n)
    ]
    plain = dplda.Corpus.from_texts(records, text_field="text", group_fields=["team", "kind"], name="tickets")
    return plain.asking(listed_categories(CATEGORIES))


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "l.db")
    made.grant("tickets", epsilon=60.0, delta=1e-5)
    return made


def options(**changes):
    return replace(FitOptions(epsilon=20.0, delta=1e-6), **changes)


def with_dp_accounting(events, delta: float) -> float:
    """The epsilon of all `events` by Google's accountant, at what failures leave of delta."""
    gaussian = [event for event in events if event.mechanism in (GAUSSIAN, GAUSSIAN_THRESHOLD)]
    composed = ComposedDpEvent(
        [SelfComposedDpEvent(GaussianDpEvent(event.noise_multiplier), event.count) for event in gaussian]
    )
    pure = sum(event.epsilon * event.count for event in events if event.mechanism == PURE)
    left = delta - sum(event.delta * event.count for event in events)
    return float(PLDAccountant().compose(composed).get_epsilon(left)) + pure


@pytest.mark.parametrize("questions", [QUESTIONS, ABOUT[1:2], [TOPICS, ABOUT[2]], [TOPICS]])
@pytest.mark.parametrize(("epsilon", "delta"), full_after(1, [(0.5, 1e-6), (4.0, 1e-5)]))
def test_the_events_of_all_questions_compose_to_at_most_the_epsilon_of_the_plan(ledger, questions, epsilon, delta):
    run = plan_questions(questions, corpus(), ledger, options(epsilon=epsilon, delta=delta))
    theirs = with_dp_accounting(run.events, delta)
    assert theirs <= epsilon
    assert theirs >= 0.85 * epsilon
    assert theirs == pytest.approx(run_epsilon(run.events, delta), rel=1e-5)  # Google's is a little pessimistic
    assert run.statement.epsilon <= epsilon


def test_a_weight_moves_budget_to_a_question(ledger):
    def least(weight: float) -> float:
        asked = [TOPICS, replace(ABOUT[1], weight=weight)]
        events = plan_questions(asked, corpus(), ledger, options()).events
        return min(event.noise_multiplier or 0.0 for event in events if event.stage == Stage.TABLE)

    noise = [least(weight) for weight in (0.5, 1.0, 4.0)]
    assert all(before > after for before, after in pairwise(noise))


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    ledger = Ledger(folder / "l.db")
    ledger.grant("tickets", epsilon=60.0, delta=1e-5)
    run = plan_questions(QUESTIONS, corpus(), ledger, options())
    findings = run.execute(ledger, folder=folder / "models" / run.id)
    return ledger, findings


def test_a_plan_is_one_run_whose_guarantee_every_answer_quotes(answered):
    ledger, findings = answered
    (record,) = ledger.runs()
    assert (record.id, record.status, record.model is None) == (findings.run, "done", False)
    assert is_plan(record)
    assert findings.privacy.epsilon == pytest.approx(run_epsilon(record.events, 1e-6))
    assert findings.model.privacy == findings.privacy
    facts = findings.model.facts
    assert (facts.epsilon, facts.delta, facts.budget_share) == (20.0, 1e-6, 0.5), "of the plan, not of the fit"
    assert (record.parameters["epsilon"], record.parameters["delta"]) == (20.0, 1e-6)
    assert list(facts.other_answers) == [
        "shares of the topics by team",
        "numbers of documents in each category by team and by kind (groups by kind found privately)",
        "words that tell groups apart by category(refund)",
    ]
    assert all(each.privacy == findings.privacy for each in findings.tables if each is not None)
    assert record.cost == cost(record.events)
    assert all(planned.charged for planned in record.plan)
    assert ledger.verify().ok


def test_answers_are_near_the_truth(answered):
    _, findings = answered
    _, by_team, counts, words = findings.tables
    assert len(findings.model.topics) == 2
    assert by_team[0].shares().value[:2].max(axis=1) == pytest.approx([1, 1], abs=0.1)
    assert counts[0].units().value[:2] == pytest.approx([750, 750], abs=30)
    titles = list(counts[0].titles)
    assert counts[0].matches().value[1, titles.index("refund")] == pytest.approx(750 * (1 - 0.8**12), abs=40)
    yes, _, _ = words[0].distinctive()
    assert {each.word for each in yes if each.certain} <= set(THEMES[1].split())
    assert any(each.certain for each in yes)


def test_the_ledger_gives_the_same_answers_again_and_parts_that_are_like_runs(answered):
    ledger, findings = answered
    (record,) = ledger.runs()
    again = load_findings(record, findings.model)
    assert again.to_json() == findings.to_json()
    assert again.dataset == findings.dataset == "tickets"
    assert [part.parameters["kind"] for part in parts_of(record)] == ["table", "count", "words"]
    assert [run.id for run in tables_of(ledger, record.id)] == [record.id]
    assert [one.by for tables in best_tables(ledger, record.id) for one in tables] == [("team",)]
    found = latest_indicators(ledger, "tickets")
    assert [[one.by for one in tables] for tables in found] == [[("team",), ("kind",)], [("category(refund)",)]]
    assert latest_indicators(ledger, "other") == []


def test_tables_of_an_earlier_run_can_be_loaded(answered, tmp_path):
    ledger, findings = answered
    by_team, *indicators = load_tables(findings.run, ledger=ledger)
    assert by_team.tables[0].titles == tuple(findings.model.titles())
    assert [each.to_json() for each in indicators] == [each.to_json() for each in findings.tables[2:]]
    later = findings.model.tabulate(corpus(), by="kind", epsilon=1.0, ledger=ledger)
    (loaded,) = load_tables(later.run, ledger=ledger)
    assert loaded.to_json() == later.to_json()
    wide = load_tables(later.run, sampling=True, ledger=ledger)[0][0].shares()
    assert np.all(wide.high - wide.low >= later[0].shares().high - later[0].shares().low)
    with pytest.raises(InputError, match=r"ledger must be a Ledger, such as dplda\.Ledger\('l\.db'\)"):
        load_tables(later.run, ledger="l.db")
    with pytest.raises(InputError, match=r"ledger must be a Ledger"):
        dplda.load("tickets", ledger="l.db")
    with pytest.raises(InputError, match="'x' is not in the ledger"):
        load_tables("x", ledger=ledger)
    fitted = dplda.fit(corpus(7), n_topics=2, vocabulary=WORDS, epsilon=5.0, ledger=ledger, out=tmp_path / "m")
    with pytest.raises(InputError, match="has no tables"):
        load_tables(fitted.facts.run, ledger=ledger)
    dplda.tabulate(fitted, corpus(7), "team", 1.0, ledger=ledger)
    assert [each[0].by for each in load_tables(fitted.facts.run, ledger=ledger)] == [("team",)]
    dplda.evaluate(fitted, corpus(7), epsilon=1.0, ledger=ledger)
    with pytest.raises(InputError, match="has no tables"):
        load_tables(ledger.runs()[-1].id, ledger=ledger)


def test_later_counts_stand_in_for_earlier_ones_of_the_same_categories_alone(answered):
    ledger, findings = answered
    texts = corpus()
    dplda.count(texts, None, by="team", epsilon=1, groups=GROUPS, ledger=ledger)
    again = texts.asking(listed_categories(CATEGORIES))  # asked twice
    same = dplda.count(again, None, by="team", epsilon=1, groups=GROUPS, ledger=ledger)
    other = dplda.count(corpus(), {"cold": ["cold"]}, by="team", epsilon=1, groups=GROUPS, ledger=ledger)
    found = [(tables.run, one.by, one.titles[0]) for tables in latest_indicators(ledger, "tickets") for one in tables]
    assert [place[0] for place in found if place[1] == ("team",)] == [findings.run, same.run, other.run], (
        "those of other documents stay"
    )
    assert ("kind",) in [by for _, by, _ in found]


def test_a_plan_beyond_the_grant_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "l.db")
    ledger.grant("tickets", epsilon=1.0, delta=1e-5)
    monkeypatch.setattr(dplda.Corpus, "open", lambda *_, **__: pytest.fail("the documents were read"))
    with pytest.raises(BudgetRefused):
        plan_questions(QUESTIONS, corpus(), ledger, options()).execute(ledger)
    assert ledger.runs() == []


def test_weights_that_leave_a_question_no_budget_are_refused(ledger):
    with pytest.raises(InputError, match="'How many\\?' would get less than a 10,000th of the budget"):
        plan_questions([TOPICS, replace(ABOUT[1], weight=1e-9)], corpus(), ledger, options())


def test_no_question_is_no_plan(ledger):
    with pytest.raises(InputError, match="no questions"):
        plan_questions([], corpus(), ledger, options())


def test_a_series_needs_topics_to_continue(ledger):
    with pytest.raises(InputError, match="series"):
        plan_questions(ABOUT[1:2], corpus(), ledger, options(series="weekly", batch="w1"))


@pytest.mark.parametrize("n_answered", full_after(2, [0, 2, 1, 3, 4]))
def test_what_a_killed_plan_reserved_is_spent_and_what_it_answered_is_kept(tmp_path, ledger, n_answered):
    """Killed before the first charge of the question after `n_answered`, or before it ends."""
    first = QUESTIONS[:n_answered]
    charges = len(plan_questions(first, corpus(), ledger, options()).events) if first else 0
    child = os.fork()
    if child == 0:
        seen = 0
        charge = Reservation.charge

        def killing(self, event):
            nonlocal seen
            if seen == charges:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1
            charge(self, event)

        Reservation.charge = killing
        Reservation.finish = lambda self, **_: os.kill(os.getpid(), signal.SIGKILL)
        run = plan_questions(QUESTIONS, corpus(), ledger, options())
        run.execute(ledger, folder=tmp_path / "models" / run.id)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = Ledger(tmp_path / "l.db")
    (record,) = left.runs()
    assert (record.status, is_plan(record)) == ("reserved", n_answered > 0)
    assert record.cost == cost(record.events)
    assert sum(planned.charged for planned in record.plan) == charges
    assert left.verify().ok
    if n_answered == 0:
        assert (record.result, record.model, parts_of(record)) == (None, None, [record])
        assert latest_indicators(left, "tickets") == []
        return
    findings = load_findings(record, dplda.load(record.model))
    assert findings.privacy.epsilon == pytest.approx(run_epsilon(record.events, 1e-6)), "that of the whole plan"
    assert len(findings.model.topics) == 2
    for place, (question, answer, reason) in enumerate(findings.answers):
        assert question == QUESTIONS[place].text
        assert ("interrupted" in reason) == (place >= n_answered)
        assert (answer is not None) == (1 <= place < n_answered)
    assert [part.parameters["kind"] for part in parts_of(record)] == ["table", "count", "words"][: n_answered - 1]
    assert len(latest_indicators(left, "tickets")) == max(0, n_answered - 2)


def test_a_plan_that_is_stopped_keeps_what_it_answered_and_is_charged_for_it_alone(ledger, monkeypatch):
    def stop(self, event):
        monkeypatch.setattr(Reservation, "charge", interrupt)
        charge(self, event)

    def interrupt(self, event):
        raise KeyboardInterrupt

    charge = Reservation.charge
    monkeypatch.setattr(Reservation, "charge", stop)
    run = plan_questions([replace(ABOUT[1], tables=groupings("team", GROUPS)), ABOUT[1]], corpus(), ledger, options())
    with pytest.raises(KeyboardInterrupt) as stopped:
        run.execute(ledger)
    (record,) = ledger.runs()
    assert (record.status, [planned.charged for planned in record.plan].count(True)) == ("cancelled", 1)
    assert f"dplda tables {record.id}" in "".join(stopped.value.__notes__)
    first, second = load_findings(record, None).answers
    assert first[1] is not None
    assert second[1] is None
    assert "interrupted" in second[2]


def test_each_batch_of_a_series_is_answered_alone_and_continues_topics(tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    ledger.grant("weekly", epsilon=60.0, delta=1e-5)
    found = []
    for seed, week in enumerate(("w1", "w2")):
        run = plan_questions(QUESTIONS, corpus(seed), ledger, options(series="weekly", batch=week))
        found.append(run.execute(ledger, folder=tmp_path / "models" / run.id))
    first, second = ledger.runs()
    assert [(run.dataset, run.batch) for run in (first, second)] == [("weekly", "w1"), ("weekly", "w2")]
    assert found[1].model.facts.prior.source == f"run {first.id}"
    assert [run.id for run in tables_of(ledger, second.id)] == [second.id]
    shown = [tables.run for tables in latest_indicators(ledger, "weekly")]
    assert shown == [first.id, first.id, second.id, second.id]
    assert max(run_epsilon(run.events, 1e-6) for run in (first, second)) <= 20


def test_an_answer_that_the_numbers_do_not_support_is_missing_alone(tmp_path, ledger):
    """Few documents hold no topics, but can be counted: the counts are kept, and what is about topics says why not."""
    texts = corpus(n=60)
    run = plan_questions([replace(TOPICS, options={"n_topics": 20}), *ABOUT[:2]], texts, ledger, options(epsilon=1.0))
    findings = run.execute(ledger, folder=tmp_path / "models")
    fit, shares, counts = findings.answers
    assert fit[1] is shares[1] is None
    assert fit[2] != counts[2] == ""
    assert shares[2] == "the topics that this is about were not found."
    assert counts[1] is not None
    (record,) = ledger.runs()
    assert (record.status, record.model) == ("done", None)
    assert not (tmp_path / "models").exists(), "space for a model was given back"
    again = load_findings(record, None)
    assert again.reasons == findings.reasons
    assert [part.parameters["kind"] for part in parts_of(record)] == ["count"]
    assert [("reason" in answer, answer["answer"] is None) for answer in again.to_json()["answers"]] == [
        (True, True),
        (True, True),
        (False, False),
    ]


def test_a_plan_without_any_answer_ends_as_its_first_question_would(tmp_path, ledger):
    run = plan_questions(
        [replace(TOPICS, options={"n_topics": 20}), ABOUT[0]], corpus(n=60), ledger, options(epsilon=1.0)
    )
    with pytest.raises(UnsupportedByData, match="Spent: "):
        run.execute(ledger)
    assert [record.status for record in ledger.runs()] == ["unsupported"]
