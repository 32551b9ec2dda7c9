"""Vector loops against NumPy, at every length around a whole number of lanes."""

from __future__ import annotations

import numpy as np
import pytest

from dplda.private.statistics.clipping import (
    LANES,
    add_four,
    add_scaled,
    aligned,
    clear,
    multiply_pairs,
    multiply_rows,
    padded,
    weigh_rows,
)

LENGTHS = [1, 2, 15, 16, 17, 31, 32, 33, 100]
random = np.random.default_rng(7)


def numbers(n: int) -> np.ndarray:
    return random.standard_normal(n).astype(np.float32)


@pytest.mark.parametrize("n", [0, *LENGTHS])
def test_room_is_zero_and_begins_on_a_cache_line(n):
    room = aligned(n)
    assert room.shape == (n,)
    assert not room.any()
    assert n == 0 or room.ctypes.data % (4 * LANES) == 0
    assert padded(n) == -(-n // LANES) * LANES
    assert padded(n, 4) == -(-n // 4) * 4


@pytest.mark.parametrize("n", LENGTHS)
def test_runs_are_added_where_they_are_asked_for_and_nowhere_else(n):
    source, target = numbers(400), numbers(200)
    expected = target.copy()
    expected[7 : 7 + n] += np.float32(2.5) * source[3 : 3 + n]
    add_scaled(np.float32(2.5), source, 3, target, 7, n)
    np.testing.assert_allclose(target, expected, rtol=1e-6, atol=1e-6)
    clear(target, 7, n)
    expected[7 : 7 + n] = 0
    np.testing.assert_allclose(target, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", LENGTHS)
def test_four_runs_are_added_at_once(n):
    source, target, factors = numbers(500), numbers(200), numbers(4)
    starts = [0, 130, 260, 390]
    expected = target.copy()
    expected[5 : 5 + n] += sum(x * source[at : at + n] for x, at in zip(factors, starts, strict=True))
    add_four(tuple(factors), tuple(starts), source, target, 5, n)
    np.testing.assert_allclose(target, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", LENGTHS)
def test_pairs_come_by_their_larger_index_with_zeros_behind(k):
    row = aligned(padded(k))
    row[:k] = numbers(k)
    size = k * (k + 1) // 2
    pairs = np.full(3 + size + 3 * LANES, np.nan, np.float32)
    multiply_pairs(row, 0, k, pairs, 3)
    expected = [row[a] * row[b] for b in range(k) for a in range(b + 1)]
    np.testing.assert_allclose(pairs[3 : 3 + size], expected, rtol=1e-6)
    assert not pairs[3 + size : 3 + size + 2 * LANES].any()
    assert np.isnan(pairs[:3]).all()
    assert np.isnan(pairs[3 + size + 2 * LANES :]).all()


@pytest.mark.parametrize("n", [4, 8, 20])
@pytest.mark.parametrize("width", [*LENGTHS, 64, 65, 192])
def test_rows_of_a_table_are_weighed_and_multiplied(n, width):
    table, weights, factors = numbers(n * width), numbers(n), numbers(3 + width)
    sums, products = numbers(5 + width + 4), numbers(n + 1)
    around, last = np.r_[sums[:5], sums[-4:]], products[n]
    weigh_rows(weights, table, n, width, sums, 5, np.float32(0.5))
    multiply_rows(table, n, width, factors, 3, products)
    exact = table.reshape(n, width).astype(np.float64)
    np.testing.assert_allclose(sums[5:-4], 0.5 + weights @ exact, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(products[:n], exact @ factors[3:], rtol=1e-4, atol=2e-5)
    np.testing.assert_array_equal(np.r_[sums[:5], sums[-4:]], around)
    assert products[n] == last
