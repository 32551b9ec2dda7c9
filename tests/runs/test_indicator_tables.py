"""Estimates of released counts and words by group: how often their intervals hold, together where they say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from full_helpers import full_after
from scipy.stats import binom

from dplda.runs.indicator_tables import CountTable, WordTable, certain_of, times

SIZES = (3000, 10_000, 500)


def counted(totals, sizes, std, seed, precision=0.5, by="product", **options) -> CountTable:
    """A table of the exact `totals` (n_rows, n_categories) of `sizes` (n_rows,), with its noise."""
    rng = np.random.default_rng(seed)
    return CountTable(
        (by,),
        ((*(f"g{i}" for i in range(len(sizes) - 1)), "other"),),
        (False,),
        totals + std * rng.standard_normal(totals.shape),
        np.array(sizes) + std / precision * rng.standard_normal(len(sizes)),
        std,
        titles=tuple(f"c{i}" for i in range(totals.shape[1])),
        size_precision=precision,
        **options,
    )


def some_totals(sizes, n, seed=0):
    return np.random.default_rng(seed).beta(0.3, 1, (len(sizes), n)) * np.array(sizes)[:, None]


@pytest.mark.full
@pytest.mark.parametrize("sizes", [(400, 800, 2000), SIZES])
@pytest.mark.parametrize("precision", full_after(1, [0.5, 0.29]))
def test_intervals_of_numbers_and_shares_hold_in_95_percent(sizes, precision):
    totals, repeats = 0.1 * np.array(sizes)[:, None] + 0.8 * some_totals(sizes, 8), 1500
    shares = totals / np.array(sizes)[:, None]
    held = np.zeros(3)
    for seed in range(repeats):
        table = counted(totals, sizes, 8.0, seed, precision)
        found, share, units = table.matches(), table.shares(), table.units()
        held += [
            ((found.low <= totals) & (totals <= found.high)).mean(),
            ((share.low <= shares) & (shares <= share.high)).mean(),
            ((units.low <= sizes) & (np.array(sizes) <= units.high)).mean(),
        ]
        assert (table.shares().low < table.shares().high).all()
    covered, number = held / repeats, repeats * len(sizes)
    assert (covered >= binom.ppf(1e-4, number, 0.95) / number).all(), covered
    assert (covered[:2] >= 0.94).all(), covered
    assert (covered[:2] <= 0.96).all(), covered


@pytest.mark.parametrize("sizes", [(3, 5, 10), (40, 80, 200)])
def test_intervals_of_small_and_empty_categories_hold_at_least_as_often(sizes):
    totals, repeats = np.array(sizes)[:, None] * np.array([0, 0.1, 0.5, 1]), 1500
    held = np.zeros(2)
    for seed in range(repeats):
        table = counted(totals, sizes, 8.0, seed)
        found, share = table.matches(), table.shares()
        inside = (share.low <= totals / np.array(sizes)[:, None] + 1e-12) & (
            totals / np.array(sizes)[:, None] <= share.high + 1e-12
        )
        held += [((found.low <= totals) & (totals <= found.high)).mean(), inside.mean()]
        assert (found.low >= 0).all()
        assert (found.low < found.high).all()
    assert (held / repeats >= 0.945).all(), held / repeats


def test_where_each_document_has_one_category_their_numbers_tell_the_size_too():
    sizes, repeats = np.array((400, 800, 2000)), 600
    totals = sizes[:, None] * np.array([0.1, 0.9])
    held, errors = np.zeros(2), []
    for seed in range(repeats):
        table = counted(totals, tuple(sizes), 8.0, seed, 0.29, exclusive=True)
        share, units = table.shares(), table.units()
        held += [
            ((share.low <= totals / sizes[:, None]) & (totals / sizes[:, None] <= share.high)).mean(),
            ((units.low <= sizes) & (sizes <= units.high)).mean(),
        ]
        errors.append(units.value - sizes)
        assert share.value.sum(axis=1) == pytest.approx(1)
        assert CountTable.of_released(table.released()).units().value == pytest.approx(units.value)
    number = repeats * len(sizes)
    assert (abs(held / repeats - 0.95) <= 0.95 - binom.ppf(1e-4, number, 0.95) / number).all(), held / repeats
    assert np.std(errors) < 0.45 * 8.0 / 0.29  # of the size alone


def test_a_difference_takes_no_share_to_be_below_0():
    sizes = (900, 900, 10)
    table = counted(np.array([[0, 900], [14, 886], [0, 10]]), sizes, 1e-9, 0, by="month(d)", exclusive=True)
    noisy = replace(table, totals=table.totals + np.array([[-14, 0], [0, 0], [0, 0]]), std=5.0)
    _, found = noisy.differences()
    assert found.value[0, 0] == pytest.approx(noisy.shares().value[1, 0])


@pytest.mark.parametrize("by", ["product", "month(d)", "between(product)"])
def test_all_intervals_of_differences_of_counts_hold_together(by):
    sizes = np.array((300, 2000, 500))
    totals, repeats, failed = some_totals(sizes, 6), 400, 0
    shares = totals / sizes[:, None]
    rest = (totals.sum(axis=0) - totals) / (sizes.sum() - sizes)[:, None]
    for seed in range(repeats):
        table = replace(counted(totals, tuple(sizes), 8.0, seed), by=(by,))
        pairs, found = table.differences()
        true = np.array(
            [shares[after] - (rest[after] if before == after else shares[before]) for before, after in pairs]
        )
        failed += not ((found.low <= true) & (true <= found.high)).all()
    assert failed <= binom.ppf(1 - 1e-4, repeats, 0.05)


# Words.


def words(totals, sizes, std, seed, by="product") -> WordTable:
    rng = np.random.default_rng(seed)
    return WordTable(
        (by,),
        ((*(f"g{i}" for i in range(len(sizes) - 1)), "other"),),
        (False,),
        totals + std * rng.standard_normal(totals.shape),
        np.array(sizes, float) + std * rng.standard_normal(len(sizes)),
        std,
        titles=tuple(f"w{i}" for i in range(totals.shape[1])),
    )


@pytest.mark.parametrize(
    ("by", "sizes"),
    full_after(
        2,
        [
            ("product", (600, 800, 2000)),
            ("between(product)", (600, 300, 2000)),
            ("product", (60, 0, 2000)),
            ("product", (30, 0, 0)),
            ("between(product)", (200, 0, 2000)),
            ("month(d)", (400,) * 12),
        ],
    ),
)
def test_all_intervals_of_shares_and_lifts_hold_together(by, sizes):
    """Also of the words chosen after looking: with the most seemingly distinctive ones, as many as there are."""
    n_words, repeats, failed, told = 40, 400, 0, 0
    rng = np.random.default_rng(1)
    frequencies = rng.beta(0.4, 4, n_words) * np.ones((len(sizes), 1)) * rng.choice([1, 1, 3], (len(sizes), n_words))
    totals = np.minimum(frequencies, 1) * np.array(sizes)[:, None]
    for seed in range(repeats):
        table = words(totals, sizes, 8.0, seed, by)
        rest, rest_size = table._others @ totals, table._others @ np.array(sizes, float)
        good = True
        for row, contrasts in enumerate(table.distinctive(most=n_words)):
            for each in contrasts or ():
                told += 1
                word = int(each.word[1:])
                share = totals[row, word] / sizes[row] if sizes[row] else np.nan
                away = rest[row, word] / rest_size[row] if rest_size[row] else np.nan
                for interval, true in ((each.share, share), (each.elsewhere, away), (each.lift, share / away)):
                    good &= bool(np.isnan(true) or interval.low - 1e-9 <= true <= interval.high + 1e-9)
                good &= not each.certain or bool(np.isnan(share / away) or share > away)
        failed += not good
    assert told > 0 or 0 in sizes
    assert failed <= binom.ppf(1 - 1e-4, repeats, 0.05), failed


def test_words_of_equal_groups_are_certain_in_no_more_than_one_table_of_twenty():
    sizes, repeats, failed = (500, 500, 500, 500), 400, 0
    totals = np.array(sizes)[:, None] * np.random.default_rng(2).beta(0.4, 4, 200)
    for seed in range(repeats):
        found = words(totals, sizes, 6.0, seed).distinctive(most=200)
        failed += any(each.certain for contrasts in found for each in contrasts or ())
    assert failed <= binom.ppf(1 - 1e-4, repeats, 0.05)


def test_a_group_whose_box_reaches_zero_is_too_small_to_tell_and_a_large_one_is_not():
    totals = np.array([[300.0, 100], [3, 1], [200, 900]])
    found = words(totals, (400, 4, 1000), 5.0, 0).distinctive()
    assert found[1] is None
    assert [(contrast.word, contrast.certain) for contrast in found[0] or ()] == [("w0", True)]
    assert words(totals[:1], (400,), 5.0, 0).distinctive() == [None]


def test_the_wider_noise_is_the_fewer_words_are_certain():
    totals, sizes = some_totals((2000, 2000, 2000), 50), (2000, 2000, 2000)
    certain = [
        sum(each.certain for row in words(totals, sizes, std, 0).distinctive(50) for each in row or ())
        for std in (1.0, 10.0, 60.0)
    ]
    assert certain == sorted(certain, reverse=True)
    assert certain[0] > certain[2] > 0


@pytest.mark.parametrize(
    "table", [counted(some_totals(SIZES, 4), SIZES, 8.0, 0, at_most=2), words(some_totals(SIZES, 4), SIZES, 8.0, 0)]
)
def test_a_table_is_read_again_as_it_was_released(table):
    again = type(table).of_released(table.released())
    assert again.released() == table.released()
    assert again.to_json() == table.to_json()
    assert again.to_arrow() == table.to_arrow()


def test_the_frame_of_words_tells_which_are_certain():
    table = words(np.array([[600.0, 330], [300, 250], [1000, 1000]]), (1000, 1000, 5000), 10.0, 0)
    found = [contrast for contrasts in table.distinctive() for contrast in contrasts or ()]
    frame = table.to_frame()
    assert frame["word"].tolist() == [contrast.word for contrast in found]
    assert frame["certain"].tolist() == [contrast.certain for contrast in found]
    assert set(frame["certain"]) == {True, False}


def test_a_lift_above_one_is_never_told_as_one():
    assert [times(lift) for lift in (1.0004, 1.002, 1.04, 1.06, 1.1, 1.9997, 3.0, 10.09)] == [
        "just over 1",
        "1.002",
        "1.04",
        "1.06",
        "1.1",
        "1.9",
        "3.0",
        "10.0",
    ]


def test_a_word_whose_noise_elsewhere_is_far_below_zero_has_a_finite_lift():
    groups, std = (("a", "b", "(all others)"),), 5.0
    totals = np.array([[400.0, 100.0], [-80.0, 300.0], [-80.0, 0.0]])
    table = WordTable(("team",), groups, (False,), totals, np.array([1000.0, 1000.0, 200.0]), std, titles=("x", "y"))
    found = next(each for each in table.distinctive()[0] if each.word == "x")
    assert found.elsewhere.high > 0
    assert 1 < found.lift.low < np.inf
    assert found.certain
    assert table.plot() is not None


def test_a_lift_over_a_share_that_may_be_zero_has_no_value_and_does_not_stretch_the_axis():
    totals = np.array([[400.0, 100.0, 330.0], [1.0, 300.0, 250.0], [0.0, 0.0, 0.0]])
    groups = (("a", "b", "(all others)"),)
    table = WordTable(("team",), groups, (False,), totals, np.array([1000.0, 1000.0, 0.0]), 5.0, titles=("x", "y", "z"))
    x, z = certain_of(table.distinctive()[0])
    assert (x.elsewhere.low, z.elsewhere.low > 0) == (0, True)
    assert np.isnan(x.lift.value)
    assert z.lift.low < z.lift.value < z.lift.high < np.inf
    assert (x.to_json()["lift"]["value"], table.to_arrow()["lift"][0].as_py()) == (None, None)
    (axes,) = table.plot().axes
    assert axes.get_xlim()[1] == pytest.approx(2 * x.lift.low)
    assert [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"].count(z.lift.value) == 1
    assert sum(line.get_marker() == "o" for line in axes.lines) == 2, "z here, y there"


def test_certain_words_are_ordered_by_the_number_that_is_told():
    found = words(some_totals((2000, 2000, 2000), 50), (2000, 2000, 2000), 10.0, 0).distinctive(50)[0]
    told = [each.lift.low for each in certain_of(found)]
    assert len(told) > 2
    assert told == sorted(told, reverse=True)
    assert sorted(told) == sorted(each.lift.low for each in found or () if each.certain)


def test_a_change_of_a_count_is_said_of_a_category():
    table = counted(np.array([[900.0, 100.0], [100.0, 900.0], [500.0, 500.0]]), (1000, 1000, 1000), 1.0, 0)
    assert {change.describe("late").split(" is ")[0] for change in table.changes()} == {"category late"}


def test_no_interval_says_that_there_is_certainly_none():
    """Whole numbers below 1 are 0, so that an upper end below 1 would be shown as 0 to 0."""
    totals = np.array([[-30.0, -9.9, -9.7, 0.0]])
    table = CountTable((), (), (), totals, np.array([-9.8]), 5.0, titles=("a", "b", "c", "(none of these)"))
    assert (table.matches().high >= 1).all()
    assert (table.units().high >= 1).all()
