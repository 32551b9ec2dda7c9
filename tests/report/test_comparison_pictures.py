from __future__ import annotations

import math

import pytest
from report_data import comparison, outcome

from dplda.budget import Status
from dplda.report import comparison_pictures
from dplda.report.comparison_pictures import _MEASURES, Method, _Point

ERROR = _MEASURES[0]
COHERENCE = _MEASURES[1]
DEFAULT, CONFIG1 = Method("default", "sound"), Method("config1", "sound")


def test_points_are_means_and_ranges_over_repeats_and_count_what_gave_no_answer() -> None:
    data = comparison(
        outcome("default", 1.0, 0, error=0.2),
        outcome("default", 1.0, 1, error=0.6),
        outcome("default", 1.0, 2, status=Status.UNSUPPORTED),
        outcome("default", 0.5, 0, error=math.nan),
        outcome("config1", 1.0, 0, error=9.0),
    )
    assert comparison_pictures._points(data, DEFAULT, "error") == [_Point(1.0, pytest.approx(0.4), 0.2, 0.6, 2, 3)]


def test_only_measures_that_were_taken_are_shown() -> None:
    assert comparison_pictures.measures(comparison(outcome("default", 1.0, 0, error=0.2))) == [ERROR]
    assert comparison_pictures.measures(comparison(outcome("default", 1.0, 0, coherence=0.0))) == [COHERENCE]
    assert comparison_pictures.measures(comparison(outcome("default", 1.0, 0))) == []


def test_methods_that_are_proven_come_first_and_the_one_without_noise_last() -> None:
    data = comparison(
        outcome("none", 1.0, 0), outcome("config1", 1.0, 0, calibration="published"), outcome("config1", 1.0, 0)
    )
    assert [method.label for method in comparison_pictures.methods(data)] == [
        "config1",
        "config1, published",
        "no noise (not private)",
    ]
    assert [method.proven for method in comparison_pictures.methods(data)] == [True, False, False]


def grid(default: tuple[float, ...], config1: tuple[float, ...], published: float) -> list[comparison_pictures._Best]:
    data = comparison(
        *(outcome("default", 1.0, i, error=e, coherence=-e) for i, e in enumerate(default)),
        *(outcome("config1", 1.0, i, error=e, coherence=-e) for i, e in enumerate(config1)),
        outcome("config1", 1.0, 0, calibration="published", error=published, coherence=-published),
        outcome("none", 1.0, 0, error=0.001, coherence=1.0),
    )
    rows = [comparison_pictures._best(data, measure) for measure in (ERROR, COHERENCE)]
    assert [(row.winner, row.clear, row.unproven) for row in rows[0]] == [
        (row.winner, row.clear, row.unproven) for row in rows[1]
    ], "less error is as good as more coherence"
    return rows[0]


def test_the_winner_is_the_best_proven_placement_and_a_better_unproven_one_is_named() -> None:
    (row,) = grid((0.2, 0.3), (0.5, 0.6), published=0.1)
    assert (row.winner, row.second, row.unproven) == (DEFAULT, CONFIG1, Method("config1", "published"))
    assert row.clear
    assert grid((0.2, 0.3), (0.5, 0.6), published=0.9)[0].unproven is None


def test_a_win_is_not_clear_where_ranges_overlap_or_nothing_was_repeated() -> None:
    assert not grid((0.2, 0.55), (0.5, 0.6), published=0.1)[0].clear
    assert not grid((0.2,), (0.5, 0.6), published=0.1)[0].clear
    assert not grid((0.2, 0.3), (0.5,), published=0.1)[0].clear


def test_a_win_is_clear_only_against_all_others() -> None:
    levels = {"default": (0.2, 0.3), "config1": (0.8, 0.9), "config2": (0.25, 0.6)}
    outcomes = [outcome(name, 1.0, i, error=e) for name, errors in levels.items() for i, e in enumerate(errors)]
    assert not comparison_pictures._best(comparison(*outcomes), ERROR)[0].clear
    assert comparison_pictures._best(comparison(*outcomes[:4]), ERROR)[0].clear


def test_an_epsilon_without_a_proven_answer_has_no_winner() -> None:
    data = comparison(outcome("config1", 1.0, 0, calibration="published", error=0.1))
    assert comparison_pictures._best(data, ERROR) == []


def test_seconds_are_means_of_runs_that_ended_well() -> None:
    data = comparison(
        outcome("default", 1.0, 0, seconds={"read": 1.0, "core": 2.0}),
        outcome("default", 2.0, 0, seconds={"read": 3.0}),
        outcome("default", 4.0, 0, seconds={"read": 99.0}, status=Status.UNSUPPORTED),
        outcome("config1", 1.0, 0),
    )
    assert comparison_pictures._stage_seconds(data) == {DEFAULT: {"read": 2.0, "core": 1.0}}


def test_seconds_of_a_private_corpus_are_withheld() -> None:
    data = comparison(outcome("default", 1.0, 0, seconds={"read": 1.0}), kind="private")
    assert comparison_pictures._stage_seconds(data) == {}
