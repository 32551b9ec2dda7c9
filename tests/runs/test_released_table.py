"""Estimates of a released table: how often their intervals hold, and that they are the best that can be had."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from full_helpers import full_after
from handmade import make_model, with_facts
from scipy.stats import binom

from dplda.base.errors import InputError
from dplda.model.topic_groups import merge_topics
from dplda.private.statistics.expected_counts import COUNT_SHARE
from dplda.runs.released_table import Change, ReleasedTable, Tables, least_noisy_shares, tables_about

RNG = np.random.default_rng(3)


def noisy(totals, std, by=("product",), groups=None, rng=RNG, **options):
    """A table of the exact `totals` (n_groups, k), whose rows sum to numbers of units, with its noise."""
    groups = groups or ((*(f"g{i}" for i in range(len(totals) - 1)), "other"),)
    k = totals.shape[1]
    return ReleasedTable(
        by,
        groups,
        (False,) * len(groups),
        totals + std * rng.standard_normal(totals.shape),
        totals.sum(axis=1) + std / COUNT_SHARE * rng.standard_normal(len(totals)),
        std,
        **options,
    ), k


def some_totals(sizes, k, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(k, 0.3), len(sizes)) * np.array(sizes)[:, None]


@pytest.mark.parametrize("sizes", [(3, 5, 10), (40, 80, 200), (3000, 10_000, 500)])
@pytest.mark.parametrize("k", full_after(1, [20, 2]))
def test_intervals_of_shares_and_numbers_hold_in_95_percent(sizes, k):
    totals, repeats = some_totals(sizes, k), 1500
    shares = totals / totals.sum(axis=1, keepdims=True)
    held = np.zeros(2)
    for seed in range(repeats):
        table, _ = noisy(totals, 8.0, rng=np.random.default_rng(seed))
        found, units = table.shares(), table.units()
        held += [((found.low <= shares + 1e-12) & (shares <= found.high + 1e-12)).mean(),
                 ((units.low <= sizes) & (np.array(sizes) <= units.high)).mean()]  # fmt: skip
        assert (found.low >= 0).all()
        assert (found.high <= 1).all()
        assert (found.low < found.high).all()
    covered = held / repeats
    least = binom.ppf(1e-4, repeats * len(sizes), 0.95) / (repeats * len(sizes))
    assert (covered >= least).all(), covered  # short intervals are widened at the edges, so that more of them hold


@pytest.mark.parametrize(
    ("by", "sizes", "n_pairs"),
    [
        ("month(d)", (300, 2000, 500, 60), 2),
        ("product", (300, 2000, 500, 60), 4),
        ("between(product)", (300, 500, 2000), 1),
    ],
)
def test_all_intervals_of_differences_hold_together(by, sizes, n_pairs):
    totals, repeats, failed = some_totals(sizes, 10), 400, 0
    shares = totals / totals.sum(axis=1, keepdims=True)
    rest = totals.sum(axis=0) - totals
    rest /= rest.sum(axis=1, keepdims=True)
    place = {f"g{i}": i for i in range(len(sizes) - 1)} | {"other": len(sizes) - 1}
    for seed in range(repeats):
        table, _ = noisy(totals, 8.0, by=(by,), rng=np.random.default_rng(seed))
        assert len(table.differences()[0]) == n_pairs
        for change in table.changes():
            row = place[change.group[0]]
            before = rest[row] if change.since is None else shares[place[change.since[0]]]
            true = (shares[row] - before)[change.topic]
            if not change.low <= true <= change.high:
                failed += 1
                break
    assert failed <= binom.ppf(1 - 1e-4, repeats, 0.05)


@pytest.mark.parametrize(
    ("by", "sizes"),
    full_after(
        4,
        [
            ("month(d)", (2000, 2000, 5, 2000, 2000, 2000, 0, 3)),
            ("month(d)", (500, 3, 500, 3, 500, 3, 0)),
            ("product", (2000, 5, 5)),
            ("product", (2000, 0, 0)),
            ("month(d)", (20,) * 7),
            ("product", (60, 30, 90, 0)),
            ("between(product)", (2000, 5, 2000)),
            ("between(product)", (60, 0, 500)),
        ],
    ),
)
def test_small_and_empty_groups_make_no_difference_certain(by, sizes):
    shares, repeats, failed = np.random.default_rng(1).dirichlet(np.full(10, 1.0)), 400, 0
    totals = np.array(sizes)[:, None] * shares
    for seed in range(repeats):
        table, _ = noisy(totals, 10.0, by=(by,), rng=np.random.default_rng(seed))
        failed += bool(table.changes())
    assert failed <= binom.ppf(1 - 1e-4, repeats, 0.05)


def test_sampling_error_widens_intervals_until_they_hold_for_the_population():
    rng, k, held = np.random.default_rng(5), 4, 0
    population = rng.dirichlet(np.full(k, 0.2), 5000)
    for _ in range(300):
        sample = population[rng.integers(0, 5000, 150)]
        table, _ = noisy(np.vstack([sample.sum(axis=0), np.ones(k)]), 1.0, rng=rng, sampling=True)
        found, plain = table.shares(), replace(table, sampling=False).shares()
        held += ((found.low[0] <= population.mean(axis=0)) & (population.mean(axis=0) <= found.high[0])).sum()
        assert (found.high[0] - found.low[0] >= plain.high[0] - plain.low[0] - 1e-9).all()
    assert held / (300 * k) >= 0.94


def test_the_number_of_units_uses_both_of_its_estimates():
    totals, sizes = some_totals((500, 100), 20), np.zeros(4000)
    for seed in range(4000):
        table, _ = noisy(totals, 8.0, rng=np.random.default_rng(seed))
        sizes[seed] = table.units().value[0]
    closed_form = 8.0 / np.sqrt(1 / 20 + COUNT_SHARE**2)
    assert sizes.mean() == pytest.approx(500, abs=4 * closed_form / 63)
    assert sizes.std() == pytest.approx(closed_form, rel=0.05)
    assert closed_form < 8.0 * min(np.sqrt(20), 1 / COUNT_SHARE)


def test_all_intervals_of_two_groups_hold_together_significant_or_not():
    totals, repeats, failed = some_totals((300, 500, 2000), 10), 400, 0
    shares = totals / totals.sum(axis=1, keepdims=True)
    for seed in range(repeats):
        table, _ = noisy(totals, 8.0, by=("between(d)",), rng=np.random.default_rng(seed))
        (pair,), found = table.differences()
        true = shares[pair[1]] - shares[pair[0]]
        failed += not ((found.low[0] <= true) & (true <= found.high[0])).all()
    assert failed <= binom.ppf(1 - 1e-4, repeats, 0.05)


def test_a_change_never_begins_at_zero_points():
    told = [Change(0, ("b",), ("a",), 0.03, low, 0.072).describe("0") for low in (0.0003, 0.0)]
    assert [text.rpartition(" by ")[2] for text in told] == ["0.03 to 7.20 points", "less than 7.2 points"]


def test_a_merged_topic_has_the_sum_of_the_shares_of_its_topics():
    model = with_facts(make_model(), run="r", documents=2000)
    table, _ = noisy(np.array([[100.0, 200, 700], [300, 300, 400]]), 0.1)
    tables = [Tables("t", "r", (table,), model.privacy, same_documents=True)]
    model = replace(model, facts=replace(model.facts, dataset=None))
    apart = least_noisy_shares(tables, model).value
    merged = least_noisy_shares(tables, merge_topics(model, [[0, 2]]))
    assert merged.value == pytest.approx([apart[0] + apart[2], apart[1]])
    again = merge_topics(merge_topics(model, [[0, 2]]), [[0, 1]])
    assert least_noisy_shares(tables, again).value == pytest.approx([1.0])
    with pytest.raises(InputError, match="titles must be 3, one for each topic, got 1"):
        tables[0].titled(["a"])
    other = with_facts(model, run="another")
    assert tables_about(tables, model) == tables
    assert tables_about(tables, other) == []


def test_intervals_of_merged_topics_hold_in_95_percent_and_their_differences_together():
    merged, std, repeats = ([0, 2, 4, 6, 8, 10, 12], [1], [3, 5, 7, 9, 11]), 8.0, 1500
    totals = np.random.default_rng(0).dirichlet(np.full(13, 5.0), 3) * np.array([900, 3000, 10_000])[:, None]
    summed = np.stack([totals[:, topics].sum(axis=1) for topics in merged], axis=1)
    shares = summed / summed.sum(axis=1, keepdims=True)
    rest = summed.sum(axis=0) - summed
    differences = shares - rest / rest.sum(axis=1, keepdims=True)
    held, apart = np.zeros(shares.shape), 0
    for seed in range(repeats):
        table = noisy(totals, std, rng=np.random.default_rng(seed))[0].merged(merged)
        found, between = table.shares(), table.differences()[1]
        held += (found.low <= shares) & (shares <= found.high)
        apart += not ((between.low <= differences) & (differences <= between.high)).all()
    ends = binom.ppf((1e-4, 1 - 1e-4), repeats, 0.95) / repeats
    assert ((ends[0] <= held / repeats) & (held / repeats <= ends[1])).all(), held / repeats
    assert apart <= binom.ppf(1 - 1e-4, repeats, 0.05)


def test_the_second_of_two_groups_is_compared_with_the_first_and_with_nothing_else():
    totals = np.array([[900.0, 100], [300, 700], [4000, 1000]])
    table, _ = noisy(totals, 0.1, by=("between(product)",), groups=(("phone", "tablet", "other"),))
    assert [(change.since, change.group) for change in table.changes()] == [(("phone",), ("tablet",))] * 2
    less, more = (change.describe("0 heat") for change in table.changes())
    assert less.startswith("topic 0 heat is ")
    assert less.endswith(" points less in tablet than in phone")
    assert more.endswith(" points more in tablet than in phone")
    assert {tuple(each["from"] + each["to"]) for each in table.to_json()["changes"]} == {("phone", "tablet")}
    with pytest.raises(InputError, match="no table"):
        noisy(totals[:2], 0.1, by=("between(product)",))


def test_small_groups_say_nothing_and_large_ones_what_they_hold():
    table, _ = noisy(some_totals((10, 2000), 20), 8.0)
    assert table.tells.tolist() == [False, True]
    (small, large) = table.to_json()["groups"]
    assert small["too_small_to_tell"]
    assert not large["too_small_to_tell"]
    assert large["group"] == "other"
    assert sum(topic["share"] for topic in large["topics"]) == pytest.approx(1, abs=0.1)


def test_a_table_by_two_attributes_adds_up_to_those_by_one():
    totals = some_totals((100, 200, 300, 400, 500, 600), 5)
    groups = (("a", "other"), ("2024-01", "2024-02", "other"))
    table, _ = noisy(totals, 2.0, ("product", "month(d)"), groups)
    assert table.rows[4] == ("other", "2024-02")
    months, products = table.over(1), table.over(0)
    np.testing.assert_allclose(months.totals.sum(axis=0), table.totals.sum(axis=0))
    np.testing.assert_allclose(products.totals[0], table.totals[:3].sum(axis=0))
    assert (months.std, products.std) == pytest.approx((2 * 2**0.5, 2 * 3**0.5))
    pairs = [(table.rows[before], table.rows[after]) for before, after in table.differences()[0]]
    assert pairs == [(("a", "2024-01"), ("a", "2024-02")), (("other", "2024-01"), ("other", "2024-02"))]


def test_frames_have_a_row_for_each_group_and_topic_and_tables_survive_json():
    table, k = noisy(some_totals((100, 200), 3), 2.0)
    frame = table.to_frame()
    assert list(frame["product"]) == ["g0"] * k + ["other"] * k
    assert frame["share"].between(0, 1).all()
    assert "topic_name" not in frame
    named = replace(table, titles=("Billing", "b, c", "d")).to_frame()
    assert named["topic_name"].tolist() == ["Billing", "b, c", "d"] * 2
    assert list(named.columns).index("topic_name") == list(named.columns).index("topic") + 1
    again = ReleasedTable.of_released(table.released())
    assert again.to_json() == table.to_json()
    with pytest.raises(InputError, match="no table"):
        ReleasedTable.of_released(table.released() | {"counts": [1.0]})


def test_a_group_without_units_has_no_share_and_no_certain_emptiness():
    totals = np.zeros((2, 4))
    for seed in range(200):
        table, _ = noisy(totals, 5.0, rng=np.random.default_rng(seed))
        assert (table.units().high > 0).all()
        shares = table.shares()
        assert (np.isnan(shares.value) | (shares.value >= 0)).all()
        record = table.to_json()
        assert all(t["low"] >= 0 and t["high"] <= 1 for g in record["groups"] for t in g["topics"])
