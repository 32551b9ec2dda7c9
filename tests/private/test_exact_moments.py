"""Exact moments of whole corpora, against dense tensors, and what T6 asks of each unit's share in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_units import as_document, make_units

from dplda.private.statistics.exact_moments import _STEPS, ExactMoments, exact_moments
from dplda.private.statistics.lda_moments import population_moments

D = 5
H = np.array([0.0, 0.3, 0.5, 0.9, 1.0])

document = st.lists(st.one_of(st.integers(0, 4), st.sampled_from([0, 10**5])), min_size=D, max_size=D)
unit = st.lists(document, min_size=1, max_size=3)


def moments_of(units, h=H):
    u = make_units([[as_document(np.array(counts)) for counts in documents] for documents in units])
    return exact_moments(u.indptr, u.words, u.counts, u.unit_ptr, h)


def dense(counts):
    """m, E2 and E3(., ., h) of one document, from their definitions."""
    c, length = np.array(counts, float), float(sum(counts))
    Q = np.zeros((D, D, D))
    np.einsum("iii->i", Q)[:] = c
    R = np.diag(c)
    P = np.einsum("ij,k->ijk", R, c)
    P = P + P.transpose(0, 2, 1) + P.transpose(2, 0, 1)
    E3 = (np.einsum("i,j,k->ijk", c, c, c) - P + 2 * Q) / (length * (length - 1) * (length - 2))
    return c / length, (np.outer(c, c) - R) / (length * (length - 1)), E3 @ H


@given(units=st.lists(unit, max_size=4))
def test_moments_are_means_over_units_of_means_over_their_eligible_documents(units):
    eligible = [[dense(c) for c in documents if sum(c) >= 3] for documents in units]
    parts = [[np.mean(share, axis=0) for share in zip(*documents, strict=True)] for documents in eligible if documents]
    found = moments_of(units)
    assert found.units == len(parts)
    zero = [np.zeros(D), np.zeros((D, D)), np.zeros((D, D))]
    expected = [np.mean(share, axis=0) for share in zip(*parts, strict=True)] if parts else zero
    for got, mean in zip((found.m, found.E2, found.E3h), expected, strict=True):
        np.testing.assert_allclose(got, mean, rtol=0, atol=4 / _STEPS)  # a step a document, and what float64 loses


@given(documents=unit, h=st.lists(st.floats(0, 1), min_size=D, max_size=D))
def test_the_arrays_of_a_unit_are_nonnegative_and_sum_to_at_most_one(documents, h):
    found = moments_of([documents], np.array(h))
    for array in (found.m, found.E2, found.E3h):
        assert array.min() >= 0
        assert array.sum() <= 1
        assert np.array_equal(array * _STEPS, np.rint(array * _STEPS))


def test_sums_depend_neither_on_order_nor_on_threads(monkeypatch):
    random = np.random.default_rng(3)
    units = [random.poisson(1.0, (random.integers(1, 4), D)).tolist() for _ in range(50)]
    monkeypatch.setattr("dplda.private.statistics.exact_moments.thread_count", lambda: 1)
    one = moments_of(units)
    monkeypatch.setattr("dplda.private.statistics.exact_moments.thread_count", lambda: 7)
    for other in (moments_of(units), moments_of(units[::-1])):
        assert one.units == other.units
        assert np.array_equal(one.m, other.m)
        assert np.array_equal(one.E2, other.E2)
        assert np.array_equal(one.E3h, other.E3h)


def test_a_document_with_a_negative_count_contributes_nothing():
    u = make_units([[[(0, 9), (1, -4)]], [[(2, 3)]]])
    found = exact_moments(u.indptr, u.words, u.counts, u.unit_ptr, H)
    assert found.units == 2
    assert found.m.tolist() == pytest.approx([0, 0, 0.5, 0, 0])


def test_corrected_population_moments_are_sums_of_topics():
    alpha = np.array([0.3, 0.5, 0.9])
    p = population_moments(np.random.default_rng(0).dirichlet(np.ones(D), 3), alpha)
    M, B = ExactMoments(1, p.m, p.E2, p.E3 @ H).corrected(float(alpha.sum()), H)
    np.testing.assert_allclose(M, p.M2, atol=1e-15)
    np.testing.assert_allclose(B, p.M3 @ H, atol=1e-15)
