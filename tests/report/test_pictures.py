from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handmade import with_facts
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from report_data import HOSTILE, comparison, full_comparison, outcome, run_model
from scipy.spatial.distance import pdist

from dplda.budget.events import EXACT, Event
from dplda.learning.estimates import Estimates
from dplda.model import TopicModel
from dplda.model.topic_groups import contrast, hellinger
from dplda.report import comparison_of_runs, comparison_pictures, pictures, run_pictures
from dplda.report.pictures import BLUE, Bars, Chart, Heat, Picture, Tree
from dplda.report.promise import gaussian_curve
from dplda.report.wording import Wording, shown_topics


def drawn_of(model: TopicModel, prefix: str) -> list[Picture]:
    return run_pictures.pictures(model, shown_topics([model], Wording())[0], prefix)


def compared(models: list[TopicModel], names: list[str]) -> list[Picture]:
    return comparison_of_runs.pictures(models, names, shown_topics(models, Wording()))


def all_pictures() -> list[Picture]:
    models = [run_model(f"toy-{i}", seed=i, words=HOSTILE) for i in range(3)]
    names = ["one", "two", "three"]
    return [
        *drawn_of(models[0], "run-1"),
        *compared(models[:2], names[:2]),
        *compared(models, names),
        *comparison_pictures.pictures(full_comparison("planted")),
        *comparison_pictures.pictures(full_comparison("public")),
    ]


def axes_of(picture: Picture) -> Any:
    """matplotlib's axes with the chart on them."""
    assert isinstance(picture.drawing, Chart)
    axes = Figure().subplots()
    picture.drawing.draw([axes])
    return axes


def line(picture: Picture, name: str) -> tuple[list[float], list[float]]:
    """The points of a line of a chart."""
    axes = axes_of(picture)
    drawn = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))[name]
    x, y = (drawn[0] if isinstance(drawn, ErrorbarContainer) else drawn).get_data()
    return [float(value) for value in x], [float(value) for value in y]


def of(found: list[Picture], name: str) -> Picture:
    return next(picture for picture in found if picture.name == name)


def test_every_picture_says_what_it_shows_and_has_a_table_of_its_width() -> None:
    found = all_pictures()
    kinds = {picture.name for picture in found}
    assert kinds >= {f"run-1-{name}" for name in ("attack", "budget", "prevalence", "relations", "signal")}
    assert kinds >= {"matched-topics", "agreement", "utility-error", "utility-coherence", "utility-diversity"}
    assert kinds >= {"bound", "seconds"}
    for picture in found:
        assert picture.title
        assert picture.alt
        assert picture.note
        if picture.table is None:
            assert isinstance(picture.drawing, Bars), "bars print their numbers"
        else:
            assert picture.table.rows
            assert {len(row) for row in picture.table.rows} == {len(picture.table.columns)}


def test_charts_are_well_formed_svg_with_ids_of_their_own_and_colours_of_the_page() -> None:
    models = [run_model(words=HOSTILE)]
    charts = [p for p in drawn_of(models[0], "a") + drawn_of(models[0], "b") if isinstance(p.drawing, Chart)]
    seen = set[str]()
    for picture in charts:
        drawn = f"<div>{picture.drawing.svg(picture.name)}</div>"  # type: ignore[union-attr]
        root = ElementTree.fromstring(drawn)
        ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
        assert ids
        assert not seen & set(ids)
        assert len(set(ids)) == len(ids)
        seen |= set(ids)
        assert not re.search("#[0-9a-f]{6}", drawn), "every colour follows the theme"
        assert "font-family" not in drawn
        assert {"var(--ink)", "var(--line)"} <= set(re.findall(r"var\([a-z0-9-]*\)", drawn))


def test_text_in_a_chart_stays_text_even_if_it_looks_like_a_colour_markup_or_a_formula() -> None:
    given = ["#0072b2", "<script>", "$\\alpha$", "日本語 &amp;"]

    def draw(axes: Any) -> None:
        for name in given:
            axes[0].plot([0, 1], label=name, color=BLUE)

    root = ElementTree.fromstring(f"<div>{Chart(draw, height=200).svg('x')}</div>")
    told = ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("}text")]
    assert [text for text in told if text in given] == given * 2


@pytest.mark.full
def test_a_chart_is_drawn_in_silence_where_matplotlib_can_keep_no_list_of_fonts(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code = "from dplda.report.pictures import Chart; print(len(Chart(lambda axes: None, height=200).svg('x')) > 0)"
    environment = os.environ | {"MPLCONFIGDIR": str(tmp_path / "file")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


@given(st.text() | st.sampled_from(HOSTILE))
def test_labels_can_be_encoded_and_hold_no_marks_that_hide_text(text: str) -> None:
    label = pictures.shortened(text)
    label.encode()
    assert len(label) <= pictures._LONGEST
    assert pictures.shown(label) == label


@pytest.mark.parametrize("mark", ["\x00", "\x1b", "\x9b", "\u202e", "\u2066", "\ud800"])
def test_marks_that_hide_or_turn_text_are_replaced(mark: str) -> None:
    assert pictures.shown(f"a{mark}b") == pictures.shortened(f"a{mark}b") == "a\ufffdb"


def test_labels_are_cut_between_words() -> None:
    assert pictures.shortened("2 stört, baustelle, treppenhaus", 24) == "2 stört, baustelle …"
    assert pictures.shortened("0 government, state, fact", 20) == "0 government, state…"
    assert pictures.shortened("4 nebenkostenabrechnung, verschickt", 24) == "4 nebenkostenabrechnung…"
    assert pictures.shortened("4 warmwasserversorgungsleitung, warm", 24) == "4 warmwasserversorgungs…", (
        "one word too long"
    )


@given(st.text("ab ,", max_size=40), st.integers(2, 30))
def test_a_cut_label_is_a_beginning_of_the_text_and_fits(text: str, longest: int) -> None:
    label = pictures.shortened(text, longest)
    assert len(label) <= max(longest, 0)
    assert text.startswith(label.rstrip("…").rstrip())


@given(st.floats(0, 1))
def test_bounds_in_percent_are_never_less_than_what_holds(value: float) -> None:
    told = float(pictures.percent(value, upwards=True).rstrip("%"))
    assert value - 1e-11 <= told / 100 <= value + 0.0011


def test_the_attack_picture_draws_the_bound_of_the_promise() -> None:
    model = run_model()
    picture = of(drawn_of(model, "run-1"), "run-1-attack")
    rates, found = line(picture, "this run's noise")
    assert found == pytest.approx(gaussian_curve(np.array(rates), model.privacy).tolist())


@pytest.mark.parametrize(
    ("privacy", "missing"),
    [
        ({"sound": False, "epsilon": math.inf, "reason": "NOT PRIVATE: simulated"}, {"attack"}),
        ({"sound": False, "events": (Event(stage="size", mechanism=EXACT),)}, {"attack", "budget"}),
    ],
)
def test_a_run_without_a_promise_has_no_picture_of_one(privacy: dict[str, object], missing: set[str]) -> None:
    found = {picture.name for picture in drawn_of(run_model(**privacy), "r")}
    assert found == {f"r-{name}" for name in {"attack", "budget", "prevalence", "relations", "signal"} - missing}


def test_the_budget_picture_shows_shares_that_add_up_to_all() -> None:
    drawn = of(drawn_of(run_model(), "r"), "r-budget").drawing
    assert isinstance(drawn, Bars)
    assert sum(sum(bar.parts) for bar in drawn.rows) == pytest.approx(1)
    assert {len(bar.parts) for bar in drawn.rows} == {len(drawn.legend)} == {2}


def test_shares_by_a_table_are_shown_with_their_intervals() -> None:
    model = run_model()
    shares = Estimates(np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.25, 0.1]), np.array([0.6, 0.35, 0.3]))
    topics = shown_topics([model], Wording())[0]
    drawn = of(run_pictures.pictures(model, topics, "r", shares), "r-prevalence").drawing
    assert isinstance(drawn, Bars)
    assert drawn.rows[0].value == "50.0% (40.0% to 60.0%)"
    assert [bar.interval for bar in drawn.rows] == [(0.4, 0.6), (0.25, 0.35), (0.1, 0.3)]
    assert drawn.place(0.6) == "100.00%"
    assert drawn.place(0.3) == "50.00%"


def test_topics_are_joined_by_how_alike_they_are_and_named_in_groups() -> None:
    model = run_model()
    rows = np.array([[0.5, 0.4, 0.05, 0.05], [0.4, 0.5, 0.05, 0.05], [0.05, 0.05, 0.5, 0.4], [0.05, 0.05, 0.4, 0.5]])
    alike = replace(
        model,
        topics=rows,
        vocabulary=["oak", "elm", "carp", "pike"],
        prevalence=np.array([0.4, 0.3, 0.2, 0.1]),
        facts=replace(model.facts, alpha=[0.1] * 4),
    )
    picture = run_pictures._relations(alike, shown_topics([alike], Wording())[0], "r", alike.prevalence)
    assert picture is not None
    assert isinstance(picture.drawing, Tree)
    headings = [row for row in picture.drawing.rows if row.heading]
    assert {(row.label.split(": ")[1], row.value) for row in headings} == {
        ("oak; elm", "70.0%"),
        ("carp; pike", "30.0%"),
    }
    order = [int(row.label.split()[0]) for row in picture.drawing.rows if not row.heading]
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset({0, 1}), frozenset({2, 3})}
    assert len(picture.drawing.paths) == 3
    assert picture.drawing.paths[-1].count("H0.0") == 1, "the root is at the left edge"
    names = {0: "Sport", 1: "Politics and Iraq", 2: "Courts, China and science", 3: "Money"}
    (named,) = shown_topics([alike], Wording(names=names))
    three = "Sport; Politics and Iraq; Courts, China and science"
    assert run_pictures._named(alike, named, [2, 1, 0]) == three
    assert run_pictures._named(alike, named, [3, 2, 1, 0]) == f"{three}; and 1 more"
    apart = replace(alike, topics=0.97 * np.eye(4) + 0.0075)
    other = run_pictures._relations(apart, shown_topics([apart], Wording())[0], "r", apart.prevalence)
    assert other is not None
    assert isinstance(other.drawing, Tree)
    assert not any(row.heading for row in other.drawing.rows)
    assert "not put into groups" in other.note
    hidden = run_pictures._relations(alike, shown_topics([alike], Wording(hidden=["oak"]))[0], "r", alike.prevalence)
    assert hidden is not None
    assert "oak" not in str(hidden.drawing)


def test_eigenvalues_are_shown_over_the_noise_and_those_above_it_counted() -> None:
    picture = of(drawn_of(run_model(), "r"), "r-signal")
    assert line(picture, "above the noise")[1] == pytest.approx([8.0, 4.0, 2.0])
    assert line(picture, "not told from noise")[1] == pytest.approx([0.4])
    assert "3 of 5" in picture.note
    assert "Not positive and left out: 1." in picture.note


@pytest.mark.parametrize("facts", [{"core_eigenvalues": None}, {"core_noise_level": 0.0}, {"core_eigenvalues": ()}])
def test_a_run_that_did_not_release_its_core_has_no_picture_of_it(facts: dict[str, object]) -> None:
    model = run_model()
    bare = replace(model, facts=replace(model.facts, **facts))
    assert "r-signal" not in {picture.name for picture in drawn_of(bare, "r")}


def test_matched_topics_are_pairs_with_their_similarity() -> None:
    model = run_model()
    order = [2, 0, 1]
    other = replace(model, topics=model.topics[order], prevalence=model.prevalence[order])
    (picture,) = compared([model, other], ["a", "b"])
    assert isinstance(picture.drawing, Bars)
    assert [bar.parts[0] for bar in picture.drawing.rows] == pytest.approx([1, 1, 1], abs=1e-6)
    pairs = {
        (int(one.split()[0]), int(two.split()[0])) for one, two in (b.label.split("↔") for b in picture.drawing.rows)
    }
    assert pairs == {(t, order.index(t)) for t in range(3)}


def test_two_runs_are_compared_as_the_command_does_and_noise_is_not_shown() -> None:
    first, second = run_model("a"), run_model("b", seed=1)
    (picture,) = compared([first, replace(first)], ["a", "b"])
    assert "3 topics are alike in both runs" in picture.note
    assert [row.value for row in picture.drawing.rows] == ["1.00"] * 3
    noisy = replace(second, facts=replace(second.facts, verdicts=("clear", "noise", "weak")))
    (picture,) = compared([first, noisy], ["a", "b"])
    result = contrast(first, noisy)
    assert [row.value for row in picture.drawing.rows] == sorted(f"{p.correlation:.2f}" for p in result.same)[::-1]
    text = f"{picture.note} {[row.label for row in picture.drawing.rows]}"
    assert shown_topics([noisy], Wording())[0].few(1) not in text
    assert f"The runs share {len(result.words):,} words" in picture.definition


def test_runs_without_a_topic_in_common_are_told_so_with_the_nearest_topics() -> None:
    first = run_model("a")
    assert len(first.vocabulary) == 12
    rows = np.kron(np.eye(3), np.ones(4)) + 0.01, np.tile(np.eye(3), 4) + 0.01
    apart = [replace(first, topics=themes / themes.sum(axis=1, keepdims=True)) for themes in rows]
    result = contrast(*apart)
    assert not result.same
    (picture,) = compared(apart, ["a", "b"])
    assert "No topic is alike in both runs." in picture.note
    assert "beside" not in picture.note
    assert picture.table is not None
    assert len(picture.table.rows) == 6
    numbers = [f"{pair.correlation:.2f}" for side in (0, 1) for pair in (*result.only[side], *result.unclear[side])]
    assert [row[-1] for row in picture.table.rows] == numbers


def test_three_runs_are_compared_with_the_one_that_agrees_most() -> None:
    twins = [run_model("a"), run_model("b", seed=1), run_model("c")]
    overview, topics = compared(twins, ["a", "b", "c"])
    assert isinstance(overview.drawing, Heat)
    table = [[cell.strength for cell in row] for row in overview.drawing.cells]
    assert table[0][2] == pytest.approx(1, abs=1e-6)
    assert table[0][1] < 0.9  # type: ignore[operator]
    assert "run 1, a" in topics.note or "run 3, c" in topics.note, "which of two equal runs is chance"
    assert topics.table is not None
    assert topics.table.columns in (("topic", "run 2", "run 3"), ("topic", "run 1", "run 2"))


def test_a_run_with_fewer_topics_leaves_cells_empty() -> None:
    few = run_model("few", seed=2)
    few = replace(
        few,
        topics=few.topics[:2],
        prevalence=np.array([0.5, 0.5]),
        facts=replace(few.facts, alpha=[0.5, 0.5]),
    )
    (picture,) = compared([run_model(), few], ["a", "b"])
    assert isinstance(picture.drawing, Bars)
    assert len(picture.drawing.rows) <= 2
    _, topics = compared([run_model(), run_model(), few], ["a", "b", "c"])
    assert isinstance(topics.drawing, Heat)
    assert any(cell.strength is None for row in topics.drawing.cells for cell in row)


def test_utility_is_drawn_as_means_with_the_range_as_bars() -> None:
    data = comparison(outcome("default", 2.0, 0, error=0.1), outcome("default", 2.0, 1, error=0.4))
    picture = comparison_pictures.pictures(data)[0]
    assert line(picture, "default") == ([2.0], [0.25])
    (bar,) = axes_of(picture).collections[0].get_segments()
    assert bar[:, 1] == pytest.approx([0.1, 0.4])


def test_runs_without_noise_are_a_level_line_at_any_epsilon_of_theirs() -> None:
    data = comparison(
        outcome("default", 0.5, 0, error=0.3),
        outcome("default", 4.0, 0, error=0.2),
        outcome("none", math.inf, 0, error=0.1),
    )
    assert line(comparison_pictures.pictures(data)[0], "no noise (not private)") == ([0.0, 1.0], [0.1, 0.1])
    alone = comparison(outcome("none", math.inf, 0, error=0.1, bound=0.1, seconds={"read": 1.0}))
    assert [picture.name for picture in comparison_pictures.pictures(alone)] == ["utility-error", "seconds"]


def test_no_two_lines_look_alike_without_their_colour() -> None:
    axes = axes_of(of(comparison_pictures.pictures(full_comparison()), "utility-error"))
    drawn = [
        handle[0] if isinstance(handle, ErrorbarContainer) else handle for handle in axes.get_legend_handles_labels()[0]
    ]
    looks = {(one.get_linestyle(), one.get_marker(), one.get_markerfacecolor() == "none") for one in drawn}
    assert len(looks) == len(drawn) == 4


def test_the_bound_is_drawn_only_where_there_is_one_and_empty_bounds_are_counted() -> None:
    assert "bound" not in {p.name for p in comparison_pictures.pictures(full_comparison("public"))}
    picture = of(comparison_pictures.pictures(full_comparison()), "bound")
    assert set(axes_of(picture).get_legend_handles_labels()[1]) == {
        f"{method}: {what}" for method in ("config1", "config1, published") for what in ("measured", "bound")
    }
    assert "4 of 4" in picture.note


def test_stages_are_timed_in_the_order_of_a_run() -> None:
    data = comparison(outcome("default", 1.0, 0, seconds={"core": 1.0, "another": 1.0, "refine": 1.0, "read": 1.0}))
    (picture,) = comparison_pictures.pictures(data)
    assert picture.table is not None
    assert picture.table.columns == ("placement", "read", "core", "refine", "another", "together")


def test_a_win_without_a_rival_is_not_called_clear() -> None:
    alone = [outcome("default", 1.0, repeat, error=0.1) for repeat in (0, 1)]
    rival = [outcome("config1", 1.0, repeat, error=0.2) for repeat in (0, 1)]
    for outcomes, clear in ((alone, "–"), ([*alone, *rival], "yes")):
        ((_, table),) = comparison_pictures.winners(comparison(*outcomes))
        assert table.rows[0][table.columns.index("clear?")] == clear


def test_a_private_comparison_has_no_picture_that_looks_at_private_text() -> None:
    assert comparison_pictures.pictures(full_comparison("private")) == []
    assert comparison_pictures.winners(full_comparison("private")) == []


def test_numbers_on_the_map_do_not_cover_one_another() -> None:
    """Even of topics that are equal."""
    points = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0], [100.0, 0.0]])
    moved = run_pictures._apart(points, 16.0)
    assert pdist(moved).min() > 15.9
    np.testing.assert_array_equal(moved[3], points[3])
    assert np.abs(moved - points).max() < 32
    assert points[0].tolist() == points[1].tolist(), "the points themselves stay"


@pytest.mark.parametrize("spread", [(1.0, 1.0), (1.0, 0.01), (0.01, 1.0), (0.0, 0.0)])
def test_circles_on_the_map_are_whole(spread: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    points, radii = rng.standard_normal((9, 2)) * spread, rng.uniform(5, 40, 9)
    pixels = np.array([600.0, 400.0])
    middle, extent = run_pictures._room(points, radii, pixels)
    places = ((points - middle) / extent + 0.5) * pixels
    assert (places >= radii[:, None]).all()
    assert (places <= pixels - radii[:, None]).all()
    assert extent[0] / extent[1] == pytest.approx(1.5)


def test_eight_topics_or_more_are_drawn_as_a_map_of_the_listed_ones() -> None:
    def mapped(model: TopicModel) -> Picture | None:
        return run_pictures._map(model, shown_topics([model], Wording())[0], "r", None)

    assert mapped(run_model(n_topics=7)) is None
    model = run_model(n_topics=9)
    verdicts = ["noise", *["clear"] * 8]
    assert mapped(with_facts(model, verdicts=verdicts[:1] * 2 + verdicts[2:])) is None
    model = with_facts(model, verdicts=verdicts)
    picture = mapped(model)
    assert picture is not None
    assert isinstance(picture.drawing, Chart)
    assert picture.table is not None
    distances = hellinger(model.topics[1:], model.topics[1:]) + np.diag(np.full(8, np.inf))
    one, other = np.unravel_index(distances.argmin(), distances.shape)
    assert f"most alike are topics {one + 1} and {other + 1}." in picture.alt
    assert [row[0].split()[0] for row in picture.table.rows] == [str(topic) for topic in range(1, 9)]
    svg = str(picture.drawing.svg("r-map"))
    assert re.findall(r"<text[^>]*>([^<]*)</text>", svg) == [str(topic) for topic in range(1, 9)] * 2  # wide and narrow
    axes = Figure().subplots()
    picture.drawing.draw([axes])
    circles = {tuple(np.asarray(circle.get_offsets())[0]): circle.get_sizes()[0] for circle in axes.collections}
    at = {int(text.get_text()): tuple(text.xy) for text in axes.texts}
    sizes = np.array([circles[at[topic]] for topic in range(1, 9)])
    np.testing.assert_allclose(sizes / sizes.sum(), model.prevalence[1:] / model.prevalence[1:].sum())
    points = np.array([at[topic] for topic in range(1, 9)])
    np.testing.assert_allclose(points, [[float(x) for x in row[2:]] for row in picture.table.rows], atol=0.006)
