"""Loops over runs of float32 that the compiler turns into vector instructions.

They take whole arrays and offsets, since a view costs more than a short run, and unsigned offsets, since a signed one
would be tested for counting from the end. Runs of whole `LANES` that begin on a cache line are the fast ones.
"""

from __future__ import annotations

import numpy as np

from dplda.compute.compiled import compiled
from dplda.compute.lattice import FAST

LANES = 16  # float32 in a cache line, and in the widest vector register


@compiled()
def padded(n: int) -> int:
    """The least multiple of `LANES` that is at least `n`."""
    return (n + LANES - 1) // LANES * LANES


@compiled()
def aligned(n: int) -> np.ndarray:
    """Zeros, float32 (n,), that begin on a cache line."""
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
def add_four(a, at_a, b, at_b, c, at_c, d, at_d, source, target, to, n):
    """target[to : to + n] += a * source[at_a : at_a + n] + b * ... + d * source[at_d : at_d + n]."""
    at_a, at_b, at_c, at_d = np.uint64(at_a), np.uint64(at_b), np.uint64(at_c), np.uint64(at_d)
    to = np.uint64(to)
    for i in range(np.uint64(n)):
        target[to + i] += a * source[at_a + i] + b * source[at_b + i] + c * source[at_c + i] + d * source[at_d + i]


@compiled(fastmath=FAST)
def multiply_pairs(row, at, k, pairs, to):
    """The products x_a x_b of x = row[at : at + k], a <= b, ordered by (b, a), into `pairs` from `to` on.

    `row` is read up to padded(k); the 2 `LANES` behind the k (k + 1) / 2 products are set to zero.
    """
    at, first = np.uint64(at), np.uint64(to)
    for b in range(np.uint64(k)):
        x = row[at + b]
        for a in range((b | np.uint64(LANES - 1)) + np.uint64(1)):  # what is too much is overwritten by the next run
            pairs[first + a] = x * row[at + a]
        first += b + np.uint64(1)
    for i in range(np.uint64(2 * LANES)):
        pairs[first + i] = 0.0
