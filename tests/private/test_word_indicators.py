"""Sums of words and answers by rows of a table (T16, T17), against sums by hand, and what one unit may change."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_units import Units, make_units

from dplda.base.config import MINIMUM_LENGTH
from dplda.private.attributes import HOW_MANY
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.private.statistics.unit_sums import UnitSums
from dplda.private.statistics.word_indicators import INDICATOR_CLIP, person_counts, word_indicators

D, ROWS, SHARE = 7, 5, 0.29
WORDS = np.ones(D), 1.0  # T17


def answers(at_most: int) -> tuple[np.ndarray, float]:
    """Weights of answers 1 to 6 and of the size, as in T16; word 0 is in every document and has no weight."""
    return np.append(0, np.full(D - 1, 1 / math.sqrt(at_most * (1 + SHARE**2)))), SHARE / math.sqrt(1 + SHARE**2)


documents = st.lists(st.tuples(st.integers(0, D - 1), st.integers(1, 9)), max_size=D, unique_by=lambda e: e[0]).map(
    sorted
)
members = st.lists(st.tuples(documents, st.integers(0, ROWS - 1)), max_size=6)
weightings = st.sampled_from([WORDS, answers(1), answers(3), answers(6)])


def units_of(members) -> Units:
    units = make_units([[document for document, _ in unit] for unit in members])
    return replace(units, rows=np.array([row for unit in members for _, row in unit], np.int32))


def total(units: Units, weighting: tuple[np.ndarray, float]) -> tuple[np.ndarray, int]:
    sums = UnitSums(word_indicators(*weighting, ROWS))
    return sums.total(units, np.arange(units.n_units), INDICATOR_CLIP)


def by_hand(members, weighting) -> np.ndarray:
    weights, size_weight = weighting
    found = np.zeros((ROWS, D + 1))
    for unit in members:
        eligible = [(document, row) for document, row in unit if sum(count for _, count in document) >= 3]
        for document, row in eligible:
            vector = np.append(np.zeros(D), size_weight)
            for word, _ in document:
                vector[word] = weights[word]
            if size_weight < 1 and (norm := float(np.linalg.norm(vector[:-1]))) > 0:
                vector[:-1] *= min(1.0, math.sqrt(1 - size_weight**2) / norm)  # the size counts in full
            found[row] += vector / max(1.0, float(np.linalg.norm(vector))) / len(eligible)
    return found


@given(st.lists(members, max_size=5), weightings)
@settings(deadline=None)
def test_the_sum_is_each_units_mean_of_scaled_indicators_in_the_rows_of_its_documents(given_units, weighting):
    sums, mass = total(units_of(given_units), weighting)
    expected = by_hand(given_units, weighting)
    np.testing.assert_allclose(sums * INDICATOR_CLIP / BOUND, expected, atol=1e-5 * (1 + len(given_units)))
    eligible = sum(any(sum(c for _, c in d) >= 3 for d, _ in unit) for unit in given_units)
    assert mass == round(BOUND * MASS_SHARE) * eligible, "no unit is clipped"


@given(st.lists(members, max_size=4), members, weightings)
@settings(deadline=None)
def test_a_unit_moves_the_integers_by_at_most_the_bound_and_touches_no_other_unit(others, unit, weighting):
    with_unit, mass = total(units_of([*others, unit]), weighting)
    without, less = total(units_of(others), weighting)
    alone, own = total(units_of([unit]), weighting)
    assert np.array_equal(with_unit - without, alone)
    assert (alone >= 0).all()  # hence sqrt(2) for a replacement (T1)
    assert (alone.astype(float) ** 2).sum() + own**2 <= BOUND**2
    assert mass - less == own
    assert np.linalg.norm(alone * INDICATOR_CLIP / BOUND) <= 1 + 1e-5


@pytest.mark.parametrize("n_words", [1, 3, 500])
@pytest.mark.parametrize("count", [3, 2**31 - 1])
def test_the_worst_document_has_norm_one_and_counts_do_not_matter(n_words, count):
    """The largest norms: every word of a list, exactly `at_most` answers, and more answers than that."""
    document = [(word, count) for word in range(n_words)]
    words, _ = UnitSums(word_indicators(np.ones(n_words), 1.0, 2)).total(
        replace(make_units([[document]]), rows=np.array([1], np.int32)), np.arange(1), INDICATOR_CLIP
    )
    assert np.linalg.norm(words * INDICATOR_CLIP / BOUND) == pytest.approx(1, abs=1e-5)
    assert (words[0] == 0).all()
    for at_most in {1, n_words}:
        weights, size = np.full(n_words, 1 / math.sqrt(at_most * (1 + SHARE**2))), SHARE / math.sqrt(1 + SHARE**2)
        found, mass = UnitSums(word_indicators(weights, size, 1)).total(
            replace(make_units([[document]]), rows=np.zeros(1, np.int32)), np.arange(1), INDICATOR_CLIP
        )
        assert np.linalg.norm(found * INDICATOR_CLIP / BOUND) == pytest.approx(1, abs=1e-5)
        assert (found.astype(float) ** 2).sum() + mass**2 <= BOUND**2
    assert INDICATOR_CLIP <= 1.0081


@pytest.mark.parametrize("documents", [1, 1000])
@pytest.mark.parametrize("number", [1, 1000, HOW_MANY])
def test_a_person_of_any_number_of_documents_has_norm_at_most_one(documents, number):
    """The largest norm: `number` documents in one row, each with as many answers as count in full."""
    cells = [(cell, MINIMUM_LENGTH * number) for cell in range(4)]
    found, mass = UnitSums(person_counts(3, 3, 1, documents)).total(make_units([[cells]]), np.arange(1), INDICATOR_CLIP)
    expected = min(number / documents, 1)  # that of three answers in full, in so many documents
    assert np.linalg.norm(found * INDICATOR_CLIP / BOUND) == pytest.approx(expected, rel=1e-3)
    assert (found.astype(float) ** 2).sum() + mass**2 <= BOUND**2


def test_a_person_in_several_groups_has_a_fraction_in_each():
    document = [(0, 3), (2, 1)]
    sums, _ = total(units_of([[(document, 0), (document, 0), (document, 3), ([(1, 1)], 4)]]), answers(3))
    sizes = sums[:, -1] * INDICATOR_CLIP / BOUND / answers(3)[1]
    np.testing.assert_allclose(sizes, [2 / 3, 0, 0, 1 / 3, 0], atol=1e-4)
    np.testing.assert_allclose(sums[:, 2] * INDICATOR_CLIP / BOUND / answers(3)[0][2], sizes, atol=1e-4)


@pytest.mark.parametrize("rows", [[], [5], [-1], [0, 0]])
def test_rows_of_another_table_are_refused(rows):
    units = replace(make_units([[[(0, 3)]]]), rows=np.array(rows, np.int32))
    with pytest.raises(ValueError, match="not those of this table"):
        total(units, WORDS)
