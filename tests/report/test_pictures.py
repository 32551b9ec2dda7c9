from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_data import HOSTILE, comparison, full_comparison, outcome, run_model

from dplda.accounting.events import EXACT, Event
from dplda.model import TopicModel
from dplda.report import comparison_of_runs, comparison_pictures, pictures, run_pictures
from dplda.report.attack_bounds import gaussian_curve
from dplda.report.pictures import Picture
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


def trace(picture: Picture, name: str | None = None) -> dict[str, Any]:
    return next(t for t in json.loads(picture.json)["data"] if name in (None, t.get("name")))


def of(found: list[Picture], name: str) -> Picture:
    return next(picture for picture in found if picture.name == name)


def test_every_picture_says_what_it_shows_and_has_a_table_of_its_width() -> None:
    found = all_pictures()
    kinds = {picture.name for picture in found}
    assert kinds >= {f"run-1-{name}" for name in ("attack", "budget", "prevalence", "map", "signal")}
    assert kinds >= {"matched-topics", "agreement", "utility-error", "utility-coherence", "utility-diversity"}
    assert kinds >= {"bound", "seconds"}
    for picture in found:
        assert picture.title
        assert picture.alt
        assert picture.note
        assert picture.table.rows
        assert {len(row) for row in picture.table.rows} == {len(picture.table.columns)}
        assert picture.height > 0


def test_pictures_as_json_hold_nothing_that_could_end_a_script() -> None:
    for picture in all_pictures():
        assert not set(picture.json) & set("<>&\u2028\u2029")
        picture.json.encode()
        json.loads(picture.json, parse_constant=pytest.fail)


def test_text_made_inert_is_the_same_json_without_a_mark_of_html() -> None:
    text = json.dumps(HOSTILE, ensure_ascii=False)
    assert json.loads(pictures._inert(text)) == HOSTILE
    assert not set(pictures._inert(text)) & set("<>&\u2028\u2029")


@given(st.text() | st.sampled_from(HOSTILE))
def test_labels_are_text_to_plotly_and_can_be_encoded(text: str) -> None:
    label = pictures.label(text)
    assert not set(label) & set("<>")
    label.encode()
    plain = label.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert plain == pictures.shown(text)


@pytest.mark.parametrize("mark", ["\x00", "\x1b", "\x9b", "\u202e", "\u2066", "\ud800"])
def test_marks_that_hide_or_turn_text_are_replaced(mark: str) -> None:
    assert pictures.shown(f"a{mark}b") == pictures.label(f"a{mark}b") == "a\ufffdb"


def test_labels_are_cut_before_they_are_escaped() -> None:
    assert pictures.label("&" * 30, 5) == "&amp;" * 4 + "…"
    assert pictures.label("short", 5) == "short"


def test_labels_are_cut_between_words() -> None:
    assert pictures.label("2 stört, baustelle, treppenhaus", 24) == "2 stört, baustelle …"
    assert pictures.label("0 government, state, fact", 20) == "0 government, state…"
    assert pictures.label("4 nebenkostenabrechnung, verschickt", 24) == "4 nebenkostenabrechnung…"
    assert pictures.label("4 warmwasserversorgungsleitung, warm", 24) == "4 warmwasserversorgungs…", "one word too long"


@given(st.text("ab ,", max_size=40), st.integers(2, 30))
def test_a_cut_label_is_a_beginning_of_the_text_and_fits(text: str, longest: int) -> None:
    label = pictures.label(text, longest)
    assert len(label) <= max(longest, 0)
    assert text.startswith(label.rstrip("…").rstrip())


@given(st.floats(0, 1))
def test_bounds_in_percent_are_never_less_than_what_holds(value: float) -> None:
    told = float(pictures.percent(value, upwards=True).rstrip("%"))
    assert value - 1e-11 <= told / 100 <= value + 0.0011


def test_the_attack_picture_draws_the_bound_of_the_promise() -> None:
    model = run_model()
    picture = of(drawn_of(model, "run-1"), "run-1-attack")
    drawn = trace(picture, "this run's noise")
    assert drawn["y"] == pytest.approx(gaussian_curve(np.array(drawn["x"]), model.privacy).tolist())


@pytest.mark.parametrize(
    ("privacy", "missing"),
    [
        ({"sound": False, "epsilon": math.inf, "reason": "NOT PRIVATE: simulated"}, {"attack"}),
        ({"sound": False, "events": (Event(stage="size", mechanism=EXACT),)}, {"attack", "budget"}),
    ],
)
def test_a_run_without_a_promise_has_no_picture_of_one(privacy: dict[str, object], missing: set[str]) -> None:
    found = {picture.name for picture in drawn_of(run_model(**privacy), "r")}
    assert found == {f"r-{name}" for name in {"attack", "budget", "prevalence", "map", "signal"} - missing}


def test_the_budget_picture_shows_shares_that_add_up_to_all() -> None:
    drawn = json.loads(of(drawn_of(run_model(), "r"), "r-budget").json)["data"]
    assert sum(sum(bars["x"]) for bars in drawn) == pytest.approx(1)
    assert len({bars["marker"]["pattern"]["shape"] for bars in drawn}) == 2, "told apart without colour"


def test_eigenvalues_are_shown_over_the_noise_and_those_above_it_counted() -> None:
    picture = of(drawn_of(run_model(), "r"), "r-signal")
    assert trace(picture, "above the noise")["y"] == pytest.approx([8.0, 4.0, 2.0])
    assert trace(picture, "not told from noise")["y"] == pytest.approx([0.4])
    assert "3 of 5" in picture.note
    assert "Not positive and left out: 1." in picture.note


@pytest.mark.parametrize("facts", [{"core_eigenvalues": None}, {"core_noise_level": 0.0}, {"core_eigenvalues": ["x"]}])
def test_a_run_that_did_not_release_its_core_has_no_picture_of_it(facts: dict[str, object]) -> None:
    model = run_model()
    bare = replace(model, parameters=dict(model.parameters) | facts)
    assert "r-signal" not in {picture.name for picture in drawn_of(bare, "r")}


def test_matched_topics_lie_on_the_diagonal() -> None:
    model = run_model()
    order = [2, 0, 1]
    other = replace(model, topics=model.topics[order], prevalence=model.prevalence[order])
    (picture,) = compared([model, other], ["a", "b"])
    drawn = json.loads(picture.json)
    assert np.diag(np.array(drawn["data"][0]["z"])) == pytest.approx(1, abs=1e-6)
    assert [int(topic) for topic in drawn["layout"]["xaxis"]["ticktext"]] == [order.index(t) for t in range(3)]


def test_the_agreement_of_two_runs_is_told_beside_that_of_unlike_topics() -> None:
    model = run_model()
    (picture,) = compared([model, replace(model)], ["a", "b"])
    z = np.array(json.loads(picture.json)["data"][0]["z"])
    apart = z[~np.eye(3, dtype=bool)].mean()
    assert f"Matched topics have 1.00 on average, and topics that do not belong together {apart:.2f}" in picture.note
    assert "Hellinger" not in picture.note
    assert "Hellinger" in picture.definition


def test_three_runs_are_compared_with_the_one_that_agrees_most() -> None:
    twins = [run_model("a"), run_model("b", seed=1), run_model("c")]
    overview, topics = compared(twins, ["a", "b", "c"])
    table = np.array(trace(overview)["z"])
    assert table[0, 2] == pytest.approx(1, abs=1e-6)
    assert table[0, 1] < 0.9
    assert "run 1, a" in topics.note
    assert topics.table.columns == ("topic", "run 2", "run 3")


def test_a_run_with_fewer_topics_leaves_cells_empty() -> None:
    few = run_model("few", seed=2)
    few = replace(
        few,
        topics=few.topics[:2],
        prevalence=np.array([0.5, 0.5]),
        parameters=dict(few.parameters) | {"alpha": [0.5, 0.5]},
    )
    (picture,) = compared([run_model(), few], ["a", "b"])
    assert sum(row[1] == "–" for row in picture.table.rows) == 1
    _, topics = compared([run_model(), run_model(), few], ["a", "b", "c"])
    assert any(None in row for row in trace(topics)["z"])


def test_utility_is_drawn_as_means_with_the_range_as_bars() -> None:
    data = comparison(outcome("default", 2.0, 0, error=0.1), outcome("default", 2.0, 1, error=0.4))
    drawn = trace(comparison_pictures.pictures(data)[0])
    assert (drawn["x"], drawn["y"]) == ([2.0], [0.25])
    assert drawn["y"][0] + drawn["error_y"]["array"][0] == pytest.approx(0.4)
    assert drawn["y"][0] - drawn["error_y"]["arrayminus"][0] == pytest.approx(0.1)


def test_runs_without_noise_are_a_level_line_at_any_epsilon_of_theirs() -> None:
    data = comparison(
        outcome("default", 0.5, 0, error=0.3),
        outcome("default", 4.0, 0, error=0.2),
        outcome("none", math.inf, 0, error=0.1),
    )
    drawn = trace(comparison_pictures.pictures(data)[0], "no noise (not private)")
    assert (drawn["x"], drawn["y"]) == ([0.5, 4.0], [0.1, 0.1])
    alone = comparison(outcome("none", math.inf, 0, error=0.1, bound=0.1, seconds={"read": 1.0}))
    assert [picture.name for picture in comparison_pictures.pictures(alone)] == ["utility-error", "seconds"]


def test_no_two_lines_look_alike_without_their_colour() -> None:
    drawn = json.loads(of(comparison_pictures.pictures(full_comparison()), "utility-error").json)["data"]
    looks = [(t["line"]["dash"], t.get("marker", {}).get("symbol")) for t in drawn]
    assert len(set(looks)) == len(drawn) == 4


def test_the_bound_is_drawn_only_where_there_is_one_and_empty_bounds_are_counted() -> None:
    assert "bound" not in {p.name for p in comparison_pictures.pictures(full_comparison("public"))}
    picture = of(comparison_pictures.pictures(full_comparison()), "bound")
    names = {t["name"] for t in json.loads(picture.json)["data"]}
    assert names == {
        f"{method}: {what}" for method in ("config1", "config1, published") for what in ("measured", "bound")
    }
    assert "4 of 4" in picture.note


def test_stages_are_timed_in_the_order_of_a_run() -> None:
    data = comparison(outcome("default", 1.0, 0, seconds={"core": 1.0, "another": 1.0, "refine": 1.0, "read": 1.0}))
    (picture,) = comparison_pictures.pictures(data)
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
