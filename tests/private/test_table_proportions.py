"""Sums of topic proportions by rows of a table, against sums formed by hand, and what one unit may change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_units import Units, contribution_of, make_units

from dplda.private import statistics
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.private.statistics.expected_counts import COUNT_SHARE, TABLE_CLIP, table_proportions
from dplda.private.statistics.unit_sums import UnitSums

D, K, ROWS, ALPHA = 7, 3, 5, 0.05
TOPICS = np.random.default_rng(1).dirichlet(np.full(D, 0.3), size=K).T + 1e-6
TOPICS /= TOPICS.sum(axis=0)
documents = st.lists(st.tuples(st.integers(0, D - 1), st.integers(1, 9)), max_size=D, unique_by=lambda e: e[0]).map(
    sorted
)
members = st.lists(st.tuples(documents, st.integers(0, ROWS - 1)), max_size=6)


def units_of(members):
    units = make_units([[document for document, _ in unit] for unit in members])
    return replace(units, rows=np.array([row for unit in members for _, row in unit], np.int32))


def total(units: Units) -> tuple[np.ndarray, int]:
    sums = UnitSums(table_proportions(TOPICS, ALPHA, ROWS))
    return sums.total(units, np.arange(units.n_units), TABLE_CLIP)


def by_hand(members) -> np.ndarray:
    found = np.zeros((ROWS, K + 1))
    for unit in members:
        eligible = [(document, row) for document, row in unit if sum(count for _, count in document) >= 3]
        for document, row in eligible:
            theta = contribution_of(statistics.topic_proportions(TOPICS, ALPHA), document)[0]
            found[row] += np.append(theta, COUNT_SHARE) / len(eligible)
    return found


@given(st.lists(members, max_size=5))
@settings(deadline=None)
def test_the_sum_is_each_units_mean_proportions_in_the_rows_of_its_documents(given_units):
    sums, mass = total(units_of(given_units))
    expected = by_hand(given_units)
    np.testing.assert_allclose(sums * TABLE_CLIP / BOUND, expected, atol=1e-5 * (1 + len(given_units)))
    eligible = sum(any(sum(c for _, c in d) >= 3 for d, _ in unit) for unit in given_units)
    assert mass == round(BOUND * MASS_SHARE) * eligible


@given(st.lists(members, max_size=4), members)
@settings(deadline=None)
def test_a_unit_moves_the_integers_by_at_most_the_bound_and_touches_no_other_unit(others, unit):
    with_unit, mass = total(units_of([*others, unit]))
    without, less = total(units_of(others))
    alone, own = total(units_of([unit]))
    assert np.array_equal(with_unit - without, alone)
    assert (alone >= 0).all()  # hence sqrt(2) for a replacement (T1)
    assert (alone.astype(float) ** 2).sum() + own**2 <= BOUND**2
    assert mass - less == own


def test_a_unit_with_everything_in_one_topic_of_one_row_is_not_clipped():
    topics = np.full((D, D), 1e-9) + np.eye(D)
    units = replace(make_units([[[(2, 9)]]]), rows=np.array([4], np.int32))
    sums, _ = UnitSums(table_proportions(topics / topics.sum(axis=0), 1e-6, ROWS)).total(
        units, np.arange(1), TABLE_CLIP
    )
    assert sums[4, 2] * TABLE_CLIP / BOUND == pytest.approx(1.0, abs=1e-5)
    assert TABLE_CLIP <= 1.05


@pytest.mark.parametrize("rows", [[], [5], [-1], [0, 0]])
def test_rows_of_another_table_are_refused(rows):
    units = replace(make_units([[[(0, 3)]]]), rows=np.array(rows, np.int32))
    with pytest.raises(ValueError, match="not those of this table"):
        total(units)
