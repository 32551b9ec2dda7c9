"""Coordinates of symmetric matrices and tensors against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tiny_units import pack_offsets

from dplda.private.statistics.lda_moments import pairings, unpack, unpack_matrix, unpack_offsets


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_unpacked_tensor_holds_every_coordinate_at_all_its_permutations(k):
    order = list(itertools.combinations_with_replacement(range(k), 3))
    coordinates = np.random.default_rng(k).standard_normal(len(order))
    T = unpack(coordinates, k)
    for index in itertools.product(range(k), repeat=3):
        assert T[index] == coordinates[order.index(tuple(sorted(index)))]


@pytest.mark.parametrize("p", [1, 2, 3, 6])
def test_unpacked_matrix_holds_every_coordinate_on_both_sides(p):
    order = [(i, j) for i in range(p) for j in range(i, p)]
    coordinates = np.random.default_rng(p).standard_normal(len(order))
    A = unpack_matrix(coordinates, p)
    for i, j in itertools.product(range(p), repeat=2):
        assert A[i, j] == coordinates[order.index((min(i, j), max(i, j)))]


@pytest.mark.parametrize("d", range(1, 9))
def test_unpacked_offsets_hold_every_coordinate_on_both_sides_and_read_none_that_is_unused(d):
    A = np.random.default_rng(d).standard_normal((d, d))
    A = A + A.T
    coordinates = pack_offsets(A, unused=np.nan)
    assert np.isfinite(coordinates).sum() == d * (d + 1) // 2
    np.testing.assert_array_equal(unpack_offsets(coordinates), A)


def test_pairings_sum_over_the_three_ways_to_pair():
    random = np.random.default_rng(0)
    A, m = random.standard_normal((4, 4)), random.standard_normal(4)
    A = A + A.T
    P = pairings(A, m)
    for i, j, k in itertools.product(range(4), repeat=3):
        assert P[i, j, k] == pytest.approx(A[i, j] * m[k] + A[i, k] * m[j] + A[j, k] * m[i])
