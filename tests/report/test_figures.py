"""The report's pictures as figures of matplotlib."""

from __future__ import annotations

import math
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import matplotlib.pyplot
import matplotlib.style
import numpy as np
import pytest
from answer_data import word_table
from handmade import make_model, with_facts
from report_data import HOSTILE, run_model

from dplda.base.errors import InputError
from dplda.model.topic_model import TopicModel
from dplda.runs.released_table import ReleasedTable, Tables

MONTHS = ("2024-01", "2024-02", "2024-03", "other")


def table(by: tuple[str, ...], groups: tuple[tuple[str, ...], ...], titles: tuple[str, ...] = ()) -> ReleasedTable:
    rows = math.prod(map(len, groups))
    totals = 1000 * np.random.default_rng(0).dirichlet((1.0, 2.0, 3.0), rows)
    return ReleasedTable(by, groups, (False,) * len(by), totals, totals.sum(axis=1), 3.0, titles=titles)


def texts(figure: Any) -> list[str]:
    """All text of a figure, as a notebook shows it."""
    root = ElementTree.fromstring(figure._repr_svg_())
    return ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("}text")]


def test_words_are_small_multiples_of_the_listed_topics() -> None:
    model = with_facts(run_model(), verdicts=("clear", "weak", "noise"), topic_names=("Billing", "", ""))
    found = texts(model.plot())
    assert "Words of the topics" in found
    assert {"0 Billing", "1"} <= set(found)
    assert [text.split(", ")[1] for text in found if text.startswith("(")] == ["clear)", "weak)"]
    assert {word for topic in (0, 1) for word, _ in model.relevant_words(10)[topic]} <= set(found)
    assert not any(text.startswith("2") for text in found)
    unnamed = texts(with_facts(model, topic_names=None).plot())
    assert any(text.startswith("0 (") and text.endswith("%, clear)") for text in unnamed)
    axes = model.plot().axes[0]
    lengths = [bar.get_width() for bar in axes.patches]
    assert lengths == [probability for _, probability in model.relevant_words(10)[0]]
    overall = dict(zip(model.vocabulary, model.prevalence @ model.topics, strict=True))
    marks = [overall[word] for word, _ in model.relevant_words(10)[0]]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), np.minimum(marks, max(lengths)))


@pytest.mark.parametrize("dpi", [70, 100])
def test_a_long_name_is_cut_to_its_panel_and_share_and_verdict_stay_whole(dpi: int) -> None:
    names = ("Television series and their episodes", "W" * 40, "What guests write about hotels and their staff")
    figure = with_facts(run_model(), verdicts=("clear", "weak", "clear"), topic_names=names).plot()
    figure.set_dpi(dpi)
    figure.draw_without_rendering()
    for axes, name, verdict in zip(figure.axes, names, ("clear", "weak", "clear"), strict=True):
        first, facts = axes.get_title(loc="left").split("\n")
        assert first[2:8] == name[:6]
        assert first.endswith("…")
        assert facts.endswith(f"%, {verdict})")
        assert axes._left_title.get_window_extent().x1 <= axes.get_window_extent().x1


def test_shares_have_intervals_with_tables() -> None:
    model, tables = run_model(), Tables("t", "toy-aaaaaa", (table((), ()),), run_model().privacy)
    shares = tables[0].shares()
    (plain,), (sure,) = model.plot("shares").axes, model.plot("shares", tables).axes
    assert [bar.get_width() for bar in plain.patches] == model.prevalence.tolist()
    assert shares.value[0].argmax() > 0, "the order of the table is another one"
    largest = np.argsort(-shares.value[0])
    np.testing.assert_allclose([bar.get_width() for bar in sure.patches], shares.value[0][largest])
    whiskers = [tuple(line.get_xdata()) for line in sure.lines]
    np.testing.assert_allclose(whiskers, np.stack([shares.low[0], shares.high[0]], axis=1)[largest])
    assert len(plain.lines) == 0
    with pytest.raises(InputError, match="another run"):
        make_model(4).plot("shares", tables)


def test_titles_say_what_shares_are_of() -> None:
    model, tables = (
        run_model(),
        Tables("t", "toy-aaaaaa", (table((), ()),), replace(run_model().privacy, unit="author")),
    )
    assert "How common the topics are: shares of the words" in texts(model.plot("shares"))
    assert "How common the topics are: shares of the average author" in texts(model.plot("shares", tables))
    assert "How common the topics are: shares of the average document" in texts(model.plot("shares", tables[0]))
    of_prior = with_facts(model, prior_used=True)
    assert "How common the topics are: shares of what is about these topics" in texts(of_prior.plot("shares"))


@pytest.mark.parametrize("what", ["attack", "budget", "signal"])
def test_the_pictures_of_a_report_are_drawn(what: str) -> None:
    assert len(texts(run_model().plot(what))) > 3


def test_a_picture_that_does_not_exist_is_refused_in_one_line(model: TopicModel) -> None:
    with pytest.raises(InputError, match="words, shares, attack, budget, signal, got 'pie'"):
        model.plot("pie")
    with pytest.raises(InputError, match="did not release the numbers"):
        model.plot("signal")
    with pytest.raises(InputError, match="tables are for"):
        model.plot("words", table((), ()))


def test_tables_are_heat_maps_small_multiples_and_bars() -> None:
    titles = ("Billing", "bed, ward", "x")
    heat = table(("product",), (("Home", "Travel+", "other"),), titles)
    assert {"How topics differ by product", "0 Billing", "Home", "Travel+"} <= set(texts(heat.plot()))
    assert any(text.endswith("%") for text in texts(heat.plot()))
    over_time = table(("month(date)",), (MONTHS,), titles).plot()
    assert len([axes for axes in over_time.axes if axes.axison]) == 3, "a panel for each topic"
    assert {"How topics change by month(date), in percent", "1 bed, ward", "2024-01"} <= set(texts(over_time))
    assert {"How common the topics are: shares of the average unit", "2 x"} <= set(texts(table((), (), titles).plot()))
    both = table(("product", "age"), (("a", "other"), ("b", "c", "other")))
    with pytest.raises(InputError, match=r"table\.over\(1\)\.plot\(\) draws it by age"):
        both.plot()
    assert "How topics differ by age" in texts(both.over(1).plot())
    few = Tables("t", "r", (heat, both), run_model().privacy)
    with pytest.raises(InputError, match=r"result\[0\]\.plot\(\)"):
        few.plot()


@pytest.mark.parametrize(("moved", "told"), [(0, "No difference {} holds"), (300, "differences {} hold, all together")])
def test_a_picture_says_how_many_differences_are_certain(moved: int, told: str) -> None:
    totals = np.full((4, 3), 300.0)
    totals[0] += moved, -moved / 2, -moved / 2
    for name, since in (("month(date)", "from one period to the next"), ("ward", "between a group and all others")):
        found = ReleasedTable((name,), (MONTHS,), (False,), totals, totals.sum(axis=1), 3.0)
        title = found.plot().get_suptitle().splitlines()
        assert max(map(len, title)) < 90, "a longer line would be cut"
        line = " ".join(title[1:])
        assert ("Not drawn, but counted elsewhere: (all others)." in line) == (name == "ward")
        assert told.format(since) in line
        assert line.startswith(f"{len(found.changes()) or 'No'} ")


@pytest.mark.parametrize("n_groups", [12, 13])
def test_a_heat_map_has_numbers_or_a_colour_bar(n_groups: int) -> None:
    found = table(("ward",), ((*(f"g{i}" for i in range(n_groups)), "other"),))
    figure = found.plot()
    numbers = [text for axes in figure.axes[:1] for text in axes.texts]
    if n_groups == 12:
        assert (len(numbers), len(figure.axes)) == (36, 1)
    else:
        largest = found.shares().value[:-1].max()
        assert (len(numbers), len(figure.axes)) == (0, 2)
        assert [label.get_text() for label in figure.axes[1].get_yticklabels()] == ["0.0%", f"{largest:.1%}"]


def test_names_of_many_groups_do_not_touch() -> None:
    found = table(("ward",), ((*(f"g{i}" for i in range(61)), "other"),)).plot()
    named = [label.get_text() for label in found.axes[0].get_xticklabels() if label.get_text()]
    assert named == [f"g{i}" for i in range(0, 61, 3)]


def test_words_of_groups_are_drawn_where_they_are_certain() -> None:
    certain = {each.word for found in word_table().distinctive() for each in found or () if each.certain}
    labels = {label.get_text() for label in word_table().plot().axes[0].get_yticklabels()}
    assert certain <= labels
    assert len(labels) <= len(certain) + len(word_table().rows)


def test_figures_of_runs_without_a_guarantee_say_so() -> None:
    model = run_model(sound=False, reason="NOT PRIVATE: simulated noise")
    for what in ("words", "shares"):
        assert any(text.startswith("NOT PRIVATE: ") for text in texts(model.plot(what)))


def test_hostile_words_stay_text_and_formulas_are_not_set() -> None:
    model = with_facts(run_model(words=[*HOSTILE[:11], "$\\frac"]), topic_names=tuple(HOSTILE[:3]))
    drawn = " ".join(texts(model.plot())) + " ".join(texts(model.plot("shares")))
    assert "{{ 7 * 7 }}" in drawn
    assert "<b>bold</b>" in drawn
    root = ElementTree.fromstring(model.plot()._repr_svg_())
    assert not [element for element in root.iter() if element.tag.rpartition("}")[2] in ("script", "a", "image")]


def test_a_figure_is_on_white_whatever_style_is_set_and_belongs_to_nobody(model: TopicModel) -> None:
    before = dict.__getitem__(matplotlib.rcParams, "backend")
    with matplotlib.style.context("dark_background"):
        figure = model.plot("shares")
    assert dict.__getitem__(matplotlib.rcParams, "backend") is before
    assert figure.get_facecolor() == (1, 1, 1, 1)
    assert figure.axes[0].get_facecolor() == (1, 1, 1, 1)
    assert matplotlib.pyplot.get_fignums() == []


def test_a_model_is_loaded_without_drawing_tools() -> None:
    code = "import sys, dplda.model; sys.exit('matplotlib' in sys.modules or 'dplda.report' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
