"""Loops over float32 slices that the compiler vectorises.

They take whole arrays and offsets, since making a view costs more than a short loop. Offsets are unsigned, since numba
checks signed ones for negative indices. Slices are fastest if they begin on a cache line and their length is a multiple
of `LANES`.
"""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST

LANES = 16  # how many float32 numbers a cache line holds, and the widest vector register
UNROLLED = 4 * LANES  # entries that one iteration of an unrolled loop handles; a remainder costs one or two iterations


def round_up(n: int, step: int = LANES) -> int:
    """The least multiple of `step` that is at least `n`."""
    return (n + step - 1) // step * step


padded = compiled()(round_up)  # for compiled code; Python need not wait for its compilation


@compiled()
def aligned(n: int) -> np.ndarray:
    """Zeros, float32 (n,), aligned to a cache line."""
    room = np.zeros(n + LANES, np.float32)
    skip = (-(room.ctypes.data >> 2)) & (LANES - 1)
    return room[skip : skip + n]


@compiled()
def clear(target, to, n):
    """target[to : to + n] = 0."""
    to = np.uint64(to)
    for i in range(np.uint64(n)):
        target[to + i] = 0.0


@compiled(fastmath=FAST)
def add_scaled(factor, source, at, target, to, n):
    """target[to : to + n] += factor * source[at : at + n]."""
    at, to = np.uint64(at), np.uint64(to)
    for i in range(np.uint64(n)):
        target[to + i] += factor * source[at + i]


@compiled(fastmath=FAST)
def add_four(factors, starts, source, target, to, n):
    """target[to : to + n] += the sum of factor * source[start : start + n] over four `factors` and `starts`."""
    a, b, c, d = factors
    at_a, at_b, at_c, at_d = np.uint64(starts[0]), np.uint64(starts[1]), np.uint64(starts[2]), np.uint64(starts[3])
    to = np.uint64(to)
    for i in range(np.uint64(n)):
        target[to + i] += a * source[at_a + i] + b * source[at_b + i] + c * source[at_c + i] + d * source[at_d + i]


@compiled(fastmath=FAST)
def multiply_pairs(row, at, k, pairs, to):
    """Write the products x_a x_b of x = row[at : at + k], a <= b, ordered by (b, a), into `pairs` from `to` on.

    `row` is read up to padded(k). The 2 `LANES` numbers after the k (k + 1) / 2 products become zero.
    """
    at, first = np.uint64(at), np.uint64(to)
    for b in range(np.uint64(k)):
        x = row[at + b]
        for a in range((b | np.uint64(LANES - 1)) + np.uint64(1)):  # the next b overwrites the excess
            pairs[first + a] = x * row[at + a]
        first += b + np.uint64(1)
    for i in range(np.uint64(2 * LANES)):
        pairs[first + i] = 0.0


@compiled(fastmath=FAST, inline="always")
def weigh_rows(weights, table, n, width, sums, to, least):
    """sums[to + i] = least + sum over z < n of weights[z] * table[z, i], i < width.

    `table` holds rows of `width`, preferably a multiple of `UNROLLED`; `n` is a multiple of four. Inlined in numba's
    IR, since a call that writes to arrays would count references to them.
    """
    to, width, z = np.uint64(to), np.uint64(width), np.uint64(0)
    for i in range(width):
        sums[to + i] = least
    for _ in range(n >> 2):
        at_a = z * width
        at_b, at_c, at_d = at_a + width, at_a + np.uint64(2) * width, at_a + np.uint64(3) * width
        a, b, c, d = weights[z], weights[z + np.uint64(1)], weights[z + np.uint64(2)], weights[z + np.uint64(3)]
        for i in range(width):
            sums[to + i] += a * table[at_a + i] + b * table[at_b + i] + c * table[at_c + i] + d * table[at_d + i]
        z += np.uint64(4)


@compiled(fastmath=FAST, inline="always")
def multiply_rows(table, n, width, factors, at, products):
    """products[z] = sum over i < width of table[z, i] * factors[at + i], z < n; `table` and `n` as in `weigh_rows`."""
    at, width, z = np.uint64(at), np.uint64(width), np.uint64(0)
    for _ in range(n >> 2):
        at_a = z * width
        at_b, at_c, at_d = at_a + width, at_a + np.uint64(2) * width, at_a + np.uint64(3) * width
        a = b = c = d = np.float32(0.0)
        for i in range(width):
            factor = factors[at + i]
            a += factor * table[at_a + i]
            b += factor * table[at_b + i]
            c += factor * table[at_c + i]
            d += factor * table[at_d + i]
        products[z], products[z + np.uint64(1)], products[z + np.uint64(2)], products[z + np.uint64(3)] = a, b, c, d
        z += np.uint64(4)
