from __future__ import annotations

import datetime
import itertools
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from answer_data import count_table, counts
from full_helpers import full_after
from handmade import make_model, with_facts
from report_data import HOSTILE, Page, all_runs, comparison, full_comparison, outcome, run_model, tables

import dplda
from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.model.run_facts import RunFacts
from dplda.report import Wording, write_report
from dplda.report.page import _render
from dplda.report.promise import _PRIORS, belief_at_most
from dplda.runs.corpus import synthetic

UNSOUND = {"sound": False, "epsilon": math.inf, "reason": "NOT PRIVATE: simulated noise from a known seed"}


@cache
def pages() -> list[Page]:
    two = [run_model("a"), run_model("b", seed=1)]
    return [
        Page(_render([run_model()])),
        Page(_render([run_model(unit="customer", adjacency="replace")])),
        Page(_render([run_model(**UNSOUND)])),
        Page(_render(two)),
        Page(_render([*two, run_model("c", **UNSOUND)], full_comparison("planted"))),
        Page(_render([], full_comparison("public"))),
        Page(_render([], full_comparison("private"))),
    ]


def test_pages_are_sound_html_that_refers_to_nothing_outside() -> None:
    for page in pages():
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(set(ids)) == len(ids)
        for tag, attributes in page.elements:
            assert not {"src", "srcset", "action", "onclick", "onload"} & set(attributes), tag
            assert "href" not in attributes or (tag == "use" and attributes["href"].lstrip("#") in ids)
            for name in ("aria-labelledby", "aria-describedby"):
                assert attributes.get(name) in (None, *ids)
        images = [attributes for _, attributes in page.elements if attributes.get("role") == "img"]
        assert all(attributes["aria-label"] for attributes in images)


def test_headings_begin_with_one_h1_and_skip_no_level() -> None:
    for page in pages():
        levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_no_page_holds_a_script_and_none_may_run() -> None:
    for page in pages():
        assert page.scripts == []
        policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
        assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@pytest.mark.parametrize(("runs", "most"), full_after(1, [(1, 1_500_000), (3, 2_500_000)]))
def test_a_page_of_one_run_or_of_three_is_small(runs: int, most: int) -> None:
    assert len(_render([large_model(str(seed), seed) for seed in range(runs)]).encode()) < most


def large_model(run: str, seed: int) -> TopicModel:
    """100 topics of 5,000 words."""
    model, rng = run_model(run), np.random.default_rng(seed)
    return replace(
        model,
        topics=rng.dirichlet(np.full(5000, 0.05), 100),
        vocabulary=[f"word{j}" for j in range(5000)],
        prevalence=rng.dirichlet(np.ones(100)),
        facts=replace(model.facts, alpha=[0.01] * 100),
    )


@pytest.mark.usefixtures("without_charts")
def test_the_summary_comes_first_then_topics_then_how_they_relate_then_privacy() -> None:
    text = Page(_render([run_model(epsilon=1.0)])).text.split("Topics of toys", 1)[1]
    order = ("Text", "Topics", "Promise", "Verdict", "Date", "How common the topics are", "How the topics relate")
    places = [text.index(part) for part in (*order, "What is covered, and what is not", "For specialists and auditors")]
    assert places == sorted(places)


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        (["clear", "clear", "weak"], "The topics are useful: 2 of 3 topics are clear"),
        (["weak", "noise", "noise"], "Take the topics as hints: none of the 3 topics is clear"),
        (["noise"] * 3, "The topics are not useful: all 3 are noise"),
    ],
)
def test_the_verdict_says_whether_topics_may_be_published_and_are_of_use(verdicts: list[str], told: str) -> None:
    model = make_model(3, 50)
    judged = replace(model, facts=replace(model.facts, verdicts=verdicts))
    text = Page(_render([judged])).text
    assert told in text
    assert "The promise covers every number on this page that was taken from the text." in text
    assert "An ordinary fit, without noise and with the 2,000 most frequent words, would probably find a clear" in text
    text = Page(_render([replace(judged, privacy=run_model(**UNSOUND).privacy), run_model("b")])).text
    assert "Do not publish as a whole: 1 of the 2 runs have no privacy guarantee." in text
    assert "The promise covers every number" not in text


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize(
    ("verdicts", "words", "told"),
    [
        (["clear"] * 3, 49, "Use the topics with care: 3 of 3 topics are clear: an ordinary fit"),
        (["clear"] * 3, 49, "But the text is seen through 49 words only."),
        (["clear", *["weak"] * 3], 50, "Use the topics with care: only 1 of 4 topics is clear"),
    ],
)
def test_few_clear_topics_or_words_are_to_be_used_with_care(verdicts: list[str], words: int, told: str) -> None:
    model = make_model(len(verdicts), words, 0)
    judged = replace(model, facts=replace(model.facts, verdicts=verdicts))
    assert told in Page(_render([judged])).text


@pytest.mark.usefixtures("without_charts")
def test_each_of_several_runs_has_its_number_of_documents_and_the_text_has_none() -> None:
    """They are on one dataset, and one of them read a part of it."""
    runs = [with_facts(run_model(f"toys-{n}", seed=n), documents=n) for n in (7507, 1900)]
    page = Page(_render(runs))
    assert re.search(r"Text toys Topics Run 1, toys-7507: [^.]*, from about 7,507 documents\.", page.text)
    assert re.search(r"Run 2, toys-1900: [^.]*, from about 1,900 documents\.", page.text)
    assert "size (inexact on purpose)" in page.text
    alone = Page(_render(runs[:1]))
    assert "Text toys: about 7,507 documents. The number is inexact on purpose" in alone.text


@pytest.mark.usefixtures("without_charts")
def test_the_command_that_lists_all_topics_names_the_run_or_the_folder_of_a_merged_model() -> None:
    models = [with_facts(run_model(f"toys-{n}", seed=n), verdicts=("clear", "clear", "noise")) for n in (1, 2)]
    text = Page(_render(models, wording=Wording(runs={1: "All topics"}))).text
    assert "dplda topics toys-1 --all lists all topics." in text
    merged = with_facts(models[0], merged=((0,), (1,), (2,)))
    told = "dplda topics FOLDER --all lists all topics, with the folder of the merged model."
    assert told in Page(_render([merged])).text


@pytest.mark.usefixtures("without_charts")
def test_counts_of_a_dataset_are_shown_once_beside_several_runs() -> None:
    counted = replace(counts(count_table()), run="toys-counted")
    for runs in ([run_model("a")], [run_model("a"), run_model("b", seed=1), run_model("c", seed=2)]):
        text = Page(_render(runs, tables=[counted])).text
        assert text.count("Categories and words of groups") == 1
        told = "Counted in run toys-counted. The documents of run toys-counted are not known to be those that the"
        assert text.count(told) == 1
    assert text.index(told) < text.index("Run 1: a")
    assert "not known to be" not in Page(_render([run_model("toys-counted")], tables=[counted])).text
    again = replace(counted, run="toys-again")
    text = Page(_render([run_model("toys-counted")], tables=[counted, again])).text
    told = (
        "Counted in runs toys-counted and toys-again. The documents of runs toys-counted and toys-again are not known"
    )
    assert told in text
    for run in ("toys-counted", "toys-again"):
        assert f"How many are in each category, in the documents of run {run}" in text
    own = replace(counted, same_documents=True)
    text = Page(_render([run_model("toys")], tables=[own, again])).text
    assert "The documents of run toys-again are not known to be those" in text
    assert "All others are of the path that the topics were learned from" in text
    assert "How many are in each category (run toys-counted)" in text
    assert "They are of the path that" in Page(_render([run_model("toys")], tables=[own])).text
    some = replace(counted, same_as=("a", "b"))
    text = Page(_render([run_model("a"), run_model("b", seed=1), run_model("c", seed=2)], tables=[some])).text
    assert (
        "The documents of run toys-counted are of the path that the topics of runs a and b were learned from;" in text
    )
    assert "How many are in each category, in the documents of runs a, b" in text
    assert "are not known to be those that the topics" not in text


@pytest.mark.usefixtures("without_charts")
def test_tables_that_no_part_of_the_page_shows_are_refused_and_unknown_runs_are_not_covered(tmp_path) -> None:
    counted = replace(counts(count_table()), run="toys-counted")
    for tables_of, about in (
        (replace(counted, dataset="plays"), "counts or words of dataset plays"),
        (replace(tables(run_model(), (900,), []), of="plays-aaaaaa"), "topics of run plays-aaaaaa"),
    ):
        with pytest.raises(InputError, match=f"are about {about}, and no model on this page is"):
            write_report(run_model(), tmp_path / "r.html", tables=[tables_of])
    assert not (tmp_path / "r.html").exists()
    for recorded, covered in ({"toys-counted"}, True), ({"toys-other"}, False):
        known = {"toys": all_runs(2, ids=frozenset(recorded))}
        text = Page(_render([run_model()], guarantees=known, tables=[counted])).text
        assert ("except for those of other runs, whose own guarantee is told beside them" not in text) == covered


@pytest.mark.usefixtures("without_charts")
def test_several_tables_are_said_to_have_several_numbers_for_one_thing() -> None:
    by_team = count_table(("team",), (("heat", "cash"),), ((0.1, 0.2, 0.7), (0.2, 0.3, 0.5)), (1000.0, 900.0))
    for made, n in ((counts(count_table()), 0), (counts(count_table(), by_team), 1)):
        assert Page(_render([run_model()], tables=[made])).text.count("Each table has noise of its own") == n


def test_what_is_said_at_length_is_below_a_picture() -> None:
    many = tuple(f"a category with a name of some length, {number}" for number in range(8))
    shares = ((0.05,) * 8, (0.9,) * 8)
    by_team = count_table(("team",), (("heat", "cash"),), shares, (1000.0, 1000.0), many)
    page = _render([run_model()], tables=[counts(count_table(), by_team)])
    said = re.findall(r'(?s)<figure class="([^"]*)".*?<figcaption>(.*?)</figcaption>', page)
    assert {("long" in kind, len(note) > 600) for kind, note in said if "bare" not in kind} == {(0, 0), (1, 1)}


@pytest.mark.usefixtures("without_charts")
def test_words_that_were_left_out_for_being_too_frequent_are_named_on_the_page() -> None:
    """It said that a word of so many documents has an even chance to be there, and left such words out."""
    words = tuple(f"often{i}" for i in range(12))
    model = with_facts(run_model(), words="private", frequent_words=words)
    told = "Left out, however many use them, since they seem to be in too large a part of the text: often0, often1"
    text = Page(_render([model])).text
    assert told in text
    assert "often9, ...." in text
    assert "often10" not in text
    hidden = Page(_render([model], wording=Wording(hidden=("often1",)))).text
    assert told not in hidden
    assert "often1," not in hidden
    assert "Left out, however" not in Page(_render([with_facts(model, frequent_words=())])).text


@pytest.mark.usefixtures("without_charts")
def test_runs_of_different_use_have_a_verdict_each() -> None:
    good, poor = (
        with_facts(make_model(3, 50), run=name, verdicts=tuple(verdicts))
        for name, verdicts in (("a", ["clear"] * 3), ("b", ["weak"] * 3))
    )
    text = Page(_render([good, poor, with_facts(good, run="c")])).text
    assert "Runs 1, 3: The topics are useful: 6 of 6 topics are clear" in text
    assert "Run 2: Take the topics as hints: none of the 3 topics is clear" in text


@pytest.mark.usefixtures("without_charts")
def test_words_of_earlier_batches_need_nobody_in_this_one() -> None:
    first = with_facts(run_model(), series="toys", batch="2026-09", words="private")
    later = with_facts(first, batch="2026-10", faded_topics=())
    before, after = (Page(_render([model])).text for model in (first, later))
    even = "has an even chance to be among them, and a much rarer one hardly any."
    least = before.split(" A word used by about ")[1].split(f" {even}")[0]
    assert f"A word that is new in this batch and used by about {least} {even} Words of" in after
    assert f"Subjects that fewer than about {least}" in before
    assert f"Subjects that are new in this batch and fewer than about {least}" in after
    assert "A word used by" not in after
    stay = "Words of earlier batches stay among them for some time, whether or not anybody uses them in this one"
    assert stay in after
    assert stay not in before
    assert "Words of earlier batches of the series stay for some time" in after, "what auditors ask"


@pytest.mark.usefixtures("without_charts")
def test_a_cell_without_a_number_has_no_bar() -> None:
    few = tables(run_model(), (2000, 3), ["desk"])
    page = Page(_render([run_model()], tables=[few]))
    assert ("span", {"class": "blank"}) in page.elements


@pytest.mark.usefixtures("without_charts")
def test_topics_of_a_prior_are_said_to_be_its_own() -> None:
    facts = {"verdicts": ["weak"] * 5, "topic_probabilities": (0.39,) * 5, "prior_used": True}
    text = Page(_render([with_facts(make_model(5, 60, 0), **facts)])).text
    assert "the topics come from the prior. An ordinary fit of the text, without noise, would find about 2 of" in text
    merged = with_facts(make_model(5, 60, 0), **facts | {"topic_probabilities": None})
    assert "without noise, would find some of them; no released number" in Page(_render([merged])).text


@pytest.mark.usefixtures("without_charts")
def test_shares_of_prior_topics_are_told_by_where_they_come_from() -> None:
    facts = {"verdicts": ["weak"] * 3, "prior_used": True, "prior_share": 0.3, "dataset": "letters", "run": "r"}
    facts["documents"] = 5000
    model = with_facts(make_model(3, 60, 0), **facts)
    of_fit, of_table = (Page(_render([model], tables=found)).text for found in ([], [tables(model, (2000, 1500))]))
    assert "Their shares are among them: text about other topics does not count." in of_fit
    assert "Their shares are of all known words: the known words of each document are divided" in of_table
    assert "of what is about these topics" in of_fit
    assert "of what is about these topics" not in of_table


def test_a_comparison_that_ran_once_says_so_once() -> None:
    once = comparison(outcome("default", 1.0, 0, error=0.1), outcome("config1", 1.0, 0, error=0.3))
    text = Page(_render([], once)).text
    assert text.count("ran once") == 1
    assert "2 placements at 1 budget, once" in text
    assert "Error of the topics: default is best at every epsilon." in text
    for of_repeats in ("not repeated", "range", "means over the repeats", "clear?"):
        assert of_repeats not in text
    assert "means over the repeats" in Page(_render([], full_comparison())).text


def test_hostile_words_stay_text() -> None:
    plain, hostile = Page(_render([run_model()])), Page(_render([run_model(words=HOSTILE)]))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert "<img src=x onerror=" in hostile.text
    assert "{{ 7 * 7 }}" in hostile.text


@pytest.mark.usefixtures("without_charts")
def test_the_promise_is_told_in_odds_that_are_rounded_upwards() -> None:
    text = Page(_render([run_model(epsilon=1.0)])).text
    for prior in _PRIORS:
        most = belief_at_most(prior, 1.0, 1e-6)
        assert f"{prior:.0%} {math.ceil(most * 1000) / 10:.1f}%" in text
    assert "-differentially private for one document, added or removed" in text
    assert "A person with several documents" in text


@pytest.mark.usefixtures("without_charts")
def test_people_and_replacement_are_told_in_their_own_words() -> None:
    text = Page(_render([run_model(unit="customer", adjacency="replace")])).text
    assert "differentially private for one customer, replaced" in text
    assert "Which of two customers is in the data" in text
    assert "All documents of one customer are protected together" in text
    assert "A person with several documents" not in text


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize("given", ["public", "private"])
def test_a_public_word_list_is_named_among_what_is_not_covered(given: str) -> None:
    model = run_model()
    page = Page(_render([replace(model, facts=replace(model.facts, vocabulary=given))]))
    assert ("it was given as public" in page.text) == (given == "public")


@pytest.mark.usefixtures("without_charts")
def test_what_is_not_private_is_stamped_in_title_and_body_with_its_reason() -> None:
    page = Page(_render([run_model(**UNSOUND)]))
    assert page.title.startswith("NOT PRIVATE: topics of toys")
    assert "NOT PRIVATE: simulated noise from a known seed." in page.text
    assert any(attributes.get("class") == "stamp" for _, attributes in page.elements)
    assert "believe" not in page.text
    sound = Page(_render([run_model()]))
    assert "NOT" not in sound.title
    assert not any(attributes.get("class") == "stamp" for _, attributes in sound.elements)


@pytest.mark.usefixtures("without_charts")
def test_what_is_not_proven_is_stamped_as_such() -> None:
    for stamp in ("not proven private", "NOT PROVEN PRIVATE"):
        page = Page(_render([run_model(**{**UNSOUND, "reason": f"{stamp}: Theorem 5 is false"})]))
        assert page.title.startswith("NOT PROVEN PRIVATE: topics")
        assert " NOT PROVEN PRIVATE: Theorem 5 is false." in page.text
        assert "PRIVATE: NOT" not in page.text


@pytest.mark.usefixtures("without_charts")
def test_one_bad_run_among_good_ones_is_stamped_and_named() -> None:
    page = Page(_render([run_model("good"), run_model("bad", seed=1, **UNSOUND)]))
    assert page.title.startswith("with runs NOT PRIVATE: ")
    assert "(1 of 2 runs: bad)" in page.text


@pytest.mark.usefixtures("without_charts")
def test_unsound_outcomes_of_a_comparison_are_stamped_even_without_their_models() -> None:
    page = Page(_render([], comparison(outcome("default", 1.0, 0), outcome("none", 1.0, 0), kind="private")))
    assert page.title.startswith("with runs NOT PROVEN PRIVATE: ")
    assert "1 of the 2 runs compared" in page.text


@pytest.mark.parametrize("kind", ["planted", "public", "private"])
@pytest.mark.parametrize("models", full_after(1, [1, 0]))
def test_a_comparison_with_simulated_noise_is_stamped_though_its_placements_are_proven(kind: str, models: int) -> None:
    data = comparison(outcome("default", 1.0, 0), outcome("default", 2.0, 0, status="unsupported"), kind=kind)
    privacy = {} if kind == "private" else UNSOUND
    page = Page(_render([run_model("default-sound-1-0", **privacy)][:models], data))
    assert page.title.startswith("NOT PRIVATE: noise placements" if kind != "private" else "noise placements")
    stamps = re.findall("NOT PRIVATE: all runs compared drew their noise from a known seed", page.text)
    assert len(stamps) == (kind != "private")
    assert "PRIVATE: simulated" not in page.text, "said once"
    columns = {attributes.get("data-column") for _, attributes in page.elements}
    assert "placement proven" in columns
    assert "proven private" not in columns


@pytest.mark.usefixtures("without_charts")
def test_unproven_models_of_a_simulated_comparison_keep_their_own_stamp() -> None:
    data = comparison(outcome("config1", 1.0, 0, calibration="published"), outcome("none", 1.0, 0))
    reasons = {"config1-published-1-0": "NOT PROVEN PRIVATE: a false theorem", "none-sound-1-0": "NOT PRIVATE: exact"}
    text = Page(_render([run_model(run, **{**UNSOUND, "reason": r}) for run, r in reasons.items()], data)).text
    assert "NOT PROVEN PRIVATE: a false theorem (1 of 2 runs: config1, published, epsilon 1, repeat 1)" in text
    assert "PRIVATE: exact" not in text
    assert "2 of the 2 runs compared are of placements without noise or without a proof" in text


@pytest.mark.usefixtures("without_charts")
def test_what_a_comparison_spent_is_not_told_from_the_runs_that_have_models() -> None:
    models = [run_model("default-sound-1-0"), run_model("default-sound-2-0", seed=1)]
    cells = [outcome("default", epsilon, 0, status=status) for epsilon, status in ((1, "done"), (2, "done"), (4, "no"))]
    text = Page(_render(models, comparison(*cells, kind="private"))).text
    assert "add up to" not in text
    assert "even one without an answer. The guarantee over all of them is shown by: dplda budget show." in text


@pytest.mark.usefixtures("without_charts")
def test_the_page_bears_the_date_of_its_making(tmp_path: Path) -> None:
    write_report([run_model()], tmp_path / "r.html", date=datetime.date(2026, 3, 7))
    assert "Date 7 March 2026" in Page((tmp_path / "r.html").read_text(encoding="utf-8")).text


@pytest.mark.parametrize(("language", "attribute"), full_after(2, [("de", "de"), ('"><b>', None), ("none", None)]))
def test_words_are_hyphenated_in_the_language_of_the_run(language: str, attribute: str | None) -> None:
    model = run_model()
    spoken = replace(model, facts=replace(model.facts, language=language))
    words = [attributes for _, attributes in Page(_render([spoken])).elements if attributes.get("class") == "word"]
    assert words
    assert {attributes.get("lang") for attributes in words} == {attribute}


@pytest.mark.usefixtures("without_charts")
def test_each_card_has_a_scale_of_its_own() -> None:
    widths = re.findall(r'<ol>\n<li><span class="word">.*?width: ([0-9.]+)%', _render([run_model()]), flags=re.DOTALL)
    assert widths == ["100.00"] * 3


@pytest.mark.usefixtures("without_charts")
def test_seconds_of_a_private_comparison_are_nowhere() -> None:
    timed = outcome("default", 1.0, 0, seconds={"read": 4321.987})
    assert "4321.9" not in _render([], comparison(timed, kind="private"))
    assert "4321.9" in _render([], comparison(timed))


@pytest.mark.usefixtures("without_charts")
def test_runs_of_a_comparison_are_called_by_their_cell() -> None:
    data = comparison(outcome("default", 2.0, 1, error=0.1), outcome("none", math.inf, 0))
    page = Page(_render([run_model("default-sound-2-1"), run_model("none-sound-inf-0")], data))
    assert "default, epsilon 2, repeat 2" in page.text
    assert "no noise (not private), repeat 1" in page.text


def test_the_file_is_written_whole_and_says_the_same_each_time(tmp_path: Path) -> None:
    write_report([run_model()], tmp_path / "r.html", date=datetime.date(2026, 3, 7))
    first = (tmp_path / "r.html").read_bytes()
    write_report([run_model()], tmp_path / "r.html", date=datetime.date(2026, 3, 7))
    assert (tmp_path / "r.html").read_bytes() == first
    assert first.startswith(b"<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.usefixtures("without_charts")
def test_what_cannot_be_reported_is_one_clear_line(tmp_path: Path) -> None:
    for wrong in ({"models": "toys"}, {"models": 1}, {"tables": 1}, {"tables": [1]}):
        told = "a report is of a model" if "models" in wrong else "tables must be results of"
        with pytest.raises(InputError, match=told):
            write_report(**{"models": [run_model()], "path": tmp_path / "x.html"} | wrong)
    with pytest.raises(InputError, match="at least one run"):
        write_report([], tmp_path / "r.html")
    with pytest.raises(InputError, match="named twice"):
        write_report([run_model(), run_model()], tmp_path / "r.html")
    with pytest.raises(InputError, match="no word in common"):
        write_report([run_model("a"), run_model("b", words=[f"x{j}" for j in range(12)])], tmp_path / "r.html")
    with pytest.raises(InputError, match="cannot write the report"):
        write_report([run_model()], tmp_path / "missing" / "r.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("without_charts")
def test_a_model_with_bare_parameters_can_be_reported() -> None:
    model = make_model(1, 2)
    bare = replace(model, facts=RunFacts(alpha=(1.0,)))
    assert Page(_render([bare])).title.startswith("topics of a dataset")


@pytest.mark.usefixtures("without_charts")
def test_topics_called_noise_are_counted_and_not_shown() -> None:
    model = make_model()
    page = Page(_render([with_facts(model, verdicts=["clear", "noise", "weak"])]))
    assert "1 clear, 1 weak, 1 noise" in page.text
    assert "The 1 topic called noise is not shown" in page.text
    assert [number for number in range(3) if f"Topic {number}" in page.text] == [0, 2]
    assert "Topic 1" in Page(_render([with_facts(model, verdicts=["noise"] * 3)])).text


@pytest.mark.usefixtures("without_charts")
def test_noise_by_the_papers_formulas_is_shown_edge_by_edge() -> None:
    model = run_model(**UNSOUND)
    noise = {"e6": {"epsilon": 1.0, "std": 0.25}, "e8": {"epsilon": 1.0, "std": 0.125}}
    published = replace(model, facts=replace(model.facts, published=noise))
    assert "e6 1 0.25 e8 1 0.125" in Page(_render([published])).text
    assert "paper's graph" not in Page(_render([model])).text


@pytest.mark.usefixtures("without_charts")
def test_a_fitted_model_can_be_reported(tmp_path: Path) -> None:
    counts, _, _ = synthetic(n_documents=2000, n_words=60, n_topics=3, mean_length=40, seed=0)
    corpus = dplda.Corpus.from_counts(counts, [f"w{j}" for j in range(60)], public_vocabulary=True)
    model = dplda.fit(corpus, n_topics=3, ledger=False, simulate_seed=0, max_document_frequency=1.0)
    page = Page(_render([model]))
    assert page.title.startswith("NOT PRIVATE: ")
    assert "Noise against signal" in page.text
