"""What a page says of a run with prior topics: where its topics come from, and who protects that text."""

from __future__ import annotations

from pathlib import Path

import pytest
from handmade import make_model, with_facts
from report_data import Page

from dplda.report import write_report

PRIOR = {"source": "public corpus forum", "topics": 80, "words": 2000, "declared_public": True, "digest": "0" * 16}


def page(tmp_path: Path, **facts: object) -> str:
    write_report([with_facts(make_model(), **facts)], tmp_path / "r.html")
    return " ".join((tmp_path / "r.html").read_text(encoding="utf-8").split())


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize("public", [True, False])
def test_topics_of_a_prior_are_said_to_be(tmp_path: Path, public: bool) -> None:
    said = page(tmp_path, prior=PRIOR | {"declared_public": public}, prior_used=True)
    assert "The topics on this page and their words were known before, from public corpus forum." in said
    assert "the topics on this page are some of them, with their words." in said
    assert ("was given as public, and nothing in it is protected" in said) == public
    assert ("is protected by the run that released them, and by that alone" in said) != public
    assert "subjects of fewer do not appear" not in said


@pytest.mark.usefixtures("without_charts")
def test_runs_with_and_without_a_prior_are_judged_each(tmp_path: Path) -> None:
    judged = {"verdicts": ("weak",) * 3, "topic_probabilities": (0.5, 0.4, 0.3)}
    prior = with_facts(make_model(), **judged, prior=PRIOR, prior_used=True, prior_share=0.6, run="first-aaaaaa")
    plain = with_facts(make_model(), **judged, run="second-bbbbbb")
    write_report([plain, prior], tmp_path / "r.html")
    said = Page((tmp_path / "r.html").read_text(encoding="utf-8")).text
    assert "Run 2: Use the topics with care: the topics come from the prior." in said
    assert "would find about 1 of the 3;" in said
    assert "Run 1: Take the topics as hints: none of the 3 topics is clear." in said
    known = "The topics of run 2, first-aaaaaa, and their words were known before, from public corpus forum."
    assert known in said
    assert "About 60.0% of the words that the documents share with the prior fall to these topics." in said
    write_report([prior, with_facts(prior, run="third-cccccc")], tmp_path / "both.html")
    said = Page((tmp_path / "both.html").read_text(encoding="utf-8")).text
    assert (
        "Verdict The promise covers every number on this page that was taken from the text. Use the topics with care"
        in said
    )
    assert said.count("were known before") == 2


@pytest.mark.usefixtures("without_charts")
def test_given_topics_are_not_said_to_be_chosen_or_found(tmp_path: Path) -> None:
    """A guided topic of a prior is there whatever the texts contain; it had 39 %, as if the texts had chosen it."""
    facts = {"verdicts": ["weak"] * 3, "topic_probabilities": (None, 0.39, 0.39), "prior_used": True, "prior": PRIOR}
    facts |= {"given": (True, False, False), "topic_names": ("fruit", "", "")}
    write_report([with_facts(make_model(), **facts)], tmp_path / "r.html")
    said = Page((tmp_path / "r.html").read_text(encoding="utf-8")).text
    assert "3 (3 weak; 1 given)" in said
    assert "from public corpus forum; 1 of them was given by seed words, whatever the documents contain. Which" in said
    assert "the topics come from the prior, besides 1 that the author gave. An ordinary fit of the text" in said
    assert "would find about 1 of the 2 that were chosen; no released" in said
    assert (said.count("weak, given"), said.count("weak (39%)")) == (1, 2)
    assert "A topic marked as given was made of seed words and prior topics, and is there whatever" in said
    assert "some of them, or mixtures of them with seed words, with their words." in said
    alone = {"given": (True,) * 3, "topic_probabilities": (None,) * 3}
    write_report([with_facts(make_model(), **facts | alone)], tmp_path / "alone.html")
    said = Page((tmp_path / "alone.html").read_text(encoding="utf-8")).text
    assert "the topics were given, and are there whatever the text contains." in said


@pytest.mark.usefixtures("without_charts")
def test_a_prior_that_was_not_used_is_said_to_be(tmp_path: Path) -> None:
    said = page(tmp_path, prior=PRIOR, prior_used=False)
    assert "they did not explain the documents and were not used." in said
    assert "were known before" not in said


@pytest.mark.usefixtures("without_charts")
def test_without_a_prior_nothing_is_said_of_one(tmp_path: Path) -> None:
    assert "Prior topics" not in page(tmp_path)
