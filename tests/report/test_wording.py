"""The user's own words on a page: title, names of topics, hidden words."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_helpers import full_after
from handmade import make_model
from report_data import HOSTILE, run_model

from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.model.run_facts import RunFacts
from dplda.report.page import _render, cards, write_report
from dplda.report.wording import _CARD_WORDS, Wording, shown_topics

UNSOUND = {"sound": False, "epsilon": float("inf"), "reason": "NOT PRIVATE: simulated"}
WORDS = ["david", "mike", "david_smith", "Erik", "tenant", "rent", "heating", "water", "leak", "bike", "key", "door"]


def model(**changes: object) -> TopicModel:
    """A model with names among its most probable words."""
    base = run_model(words=WORDS)
    topics = np.array(
        [
            [9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 1],
            [1, 1, 1, 1, 1, 2, 9, 9, 9, 2, 1, 1],
            [1, 1, 2, 3, 9, 9, 1, 1, 1, 3, 4, 5],
        ],
        dtype=float,
    )
    return replace(base, topics=topics / topics.sum(axis=1, keepdims=True), **changes)


def said(page: str) -> str:
    """The page without its style."""
    return html.unescape(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))


def test_a_title_and_names_are_shown_in_headings_labels_and_tables() -> None:
    page = said(_render([model()], wording=Wording(title="What tenants write", names={1: "Heating & water"})))
    assert "<h1>What tenants write</h1>" in page
    assert "<title>What tenants write (dplda report)" in page
    assert "<bdi>Heating & water</bdi>" in page
    assert "topic 1</span>" in page
    assert page.count("1 Heating & water") == 3, "among the shares, in the tree, and in its table"


@pytest.mark.usefixtures("without_charts")
def test_a_warning_stays_before_a_title_of_ones_own() -> None:
    assert "<h1>NOT PRIVATE: Fine topics</h1>" in _render([run_model(**UNSOUND)], wording=Wording(title="Fine topics"))


@pytest.mark.parametrize("text", full_after(2, filter(str.strip, HOSTILE)))
def test_markup_in_title_and_names_stays_text(text: str) -> None:
    page = _render([model()], wording=Wording(title=text, names={0: text}))
    assert "<img src=x" not in page.split("<header>")[1].split("<footer>")[0]
    assert "<script" not in page


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize("several", [False, True])
def test_hidden_words_are_nowhere_on_the_page_nor_phrases_with_them(several: bool) -> None:
    models = [model(), replace(model(), facts=replace(model().facts, run="toy-b"))][: 1 + several]
    plain = said(_render(models))
    page = said(_render(models, wording=Wording(hidden=("david", "mike", "ERIK"))))
    for word in ("david", "mike", "smith", "erik"):
        assert word in plain.casefold()
        assert word not in page.casefold().replace("smith and thakurta", "")  # the source of a theorem
    assert "3 words were hidden" in " ".join(page.split())
    assert "1 word was hidden" in " ".join(said(_render(models, wording=Wording(hidden=("mike",)))).split())
    assert "hidden" not in plain.split("</header>")[0].split("<h1>")[1]


@pytest.mark.usefixtures("without_charts")
def test_a_word_is_hidden_as_a_whole_and_not_where_it_is_part_of_another() -> None:
    page = said(_render([model()], wording=Wording(hidden=("key",))))
    assert "bike" in page
    page = said(_render([model()], wording=Wording(hidden=("bike",))))
    assert "key" in page


@pytest.mark.usefixtures("without_charts")
def test_a_topic_all_of_whose_words_are_hidden_says_so() -> None:
    listed = [word for word, _ in shown_topics([model()], Wording())[0].words[1]]
    assert "All its words are hidden." in _render([model()], wording=Wording(hidden=listed))


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize(
    ("wording", "message"),
    [
        (Wording(names={3: "x"}), "no topic 3 .* are 0 to 2"),
        (Wording(names={-1: "x"}), "no topic -1"),
        (Wording(names={0: " "}), "name of topic 0 is empty"),
        (Wording(hidden=("davidd",)), "'davidd' cannot be hidden"),
    ],
)
def test_wording_that_fits_nothing_is_one_clear_line(wording: Wording, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        _render([model()], wording=wording)
    assert "\n" not in str(refused.value)


def test_a_wording_of_another_kind_is_refused_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"wording must be a dplda\.report\.Wording, such as Wording\(title="):
        write_report([model()], tmp_path / "r.html", wording={"title": "x"})


@pytest.mark.usefixtures("without_charts")
def test_topics_that_are_not_shown_can_be_neither_named_nor_hidden() -> None:
    judged = model(facts=replace(model().facts, verdicts=["noise", "clear", "clear"]))
    with pytest.raises(InputError, match="called noise and not shown"):
        _render([judged], wording=Wording(names={0: "People"}))
    with pytest.raises(InputError, match="'mike' cannot be hidden"):
        _render([judged], wording=Wording(hidden=("mike",)))


@pytest.mark.usefixtures("without_charts")
def test_names_are_refused_for_several_runs_and_a_hidden_word_may_be_in_one_of_them() -> None:
    two = [model(), run_model("b", words=[*WORDS[:-1], "garden"])]
    with pytest.raises(InputError, match="report of one run"):
        _render(two, wording=Wording(names={0: "x"}))
    only = next(
        w for w in ("garden", *WORDS) if any(w == a for t in shown_topics(two, Wording())[1].words for a, _ in t)
    )
    assert only not in said(_render(two, wording=Wording(hidden=(only,))))


def test_words_rarer_in_a_topic_than_in_the_text_are_not_listed_as_its_words() -> None:
    given = model()
    overall = dict(zip(given.vocabulary, given.prevalence @ given.topics, strict=True))
    for topic, words in enumerate(shown_topics([given], Wording())[0].words):
        row = dict(zip(given.vocabulary, given.topics[topic], strict=True))
        own = [word for word in row if row[word] >= overall[word]]
        assert 0 < len(words) < _CARD_WORDS
        assert {word for word, _ in words} == set(own)
        assert [p for _, p in words] == sorted((p for _, p in words), reverse=True)


def test_the_only_topic_of_a_run_lists_its_words() -> None:
    given = model()
    one = replace(given, topics=given.topics[:1], prevalence=np.ones(1), facts=RunFacts(alpha=[1.0]))
    assert len(shown_topics([one], Wording())[0].words[0]) == _CARD_WORDS


def test_no_bar_of_a_card_is_longer_than_the_card() -> None:
    """Words are ordered by relevance, so that the first one need not have the longest bar."""
    model = replace(
        make_model(2, 4), topics=np.array([[0.1, 0.5, 0.35, 0.05], [0.0, 0.5, 0.1, 0.4]]), prevalence=np.full(2, 0.5)
    )
    assert next(word for word, _ in model.relevant_words()[1]) == "w003"
    shown = cards(model, shown_topics([model], Wording())[0], None)
    widths = [float(word["width"].rstrip("%")) for card in shown for word in card["words"]]
    assert max(widths) == 100.0
    assert shown[1]["words"][0]["word"] == "w003"
    assert shown[1]["words"][0]["width"] == "80.00%"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hidden": "horror"}, "hidden must be a list of words, such as hidden="),
        ({"hidden": ("",)}, "hidden must be a list of words"),
        ({"hidden": 3}, "hidden must be a list of words"),
        ({"names": {"3": "x"}}, "names must map numbers to text, such as names="),
        ({"names": ["a"]}, "names must map numbers to text"),
        ({"runs": {1: 2}}, "runs must map numbers to text"),
        ({"title": 3}, "title must be text, got int"),
    ],
)
def test_wording_of_a_wrong_type_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Wording(**given)


def test_a_part_of_a_word_cannot_be_hidden() -> None:
    model = run_model()
    frequent = replace(model, facts=replace(model.facts, frequent_words=("horror",)))
    with pytest.raises(InputError, match="'h' cannot be hidden: it is not on this page"):
        shown_topics([frequent], Wording(hidden=["h"]))
    assert shown_topics([frequent], Wording(hidden=["horror"]))
