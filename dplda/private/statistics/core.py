"""(iii') The core, the second moment projected on a basis: (y y' - sum s^2 c x x') / (l (l - 1)), y = X'h."""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST, LANES, add_four, add_scaled, clear, multiply_pairs, padded, round_up
from dplda.private.statistics.second_moment_times import project
from dplda.private.statistics.statistic import ONE_ROW, SIGNED, Contribution, CudaTwin, Statistic, as_float32


@compiled()
def pairs_length(k):
    """Length of the products of pairs of k columns as `multiply_pairs` writes them, padding included."""
    return padded(k * (k + 1) // 2) + 2 * LANES


@compiled(fastmath=FAST, error_model="numpy")
def four_pairs(words, e, last, matrix, k, stride, pairs, n):
    """Write the pair products of the entries e..e+3 into `pairs`, `n` numbers each; zeros after the last entry."""
    for i in range(4):
        if e + i < last:
            multiply_pairs(matrix, words[e + i] * stride, k, pairs, i * n)
        else:
            clear(pairs, i * n, n)


@compiled()
def _room(k, directions, longest):
    return padded(k) + LANES + 5 * pairs_length(k)


@compiled(fastmath=FAST, error_model="numpy")
def _contribution(words, counts, first, last, length, scale, matrix, shape, room, out):
    k, _, stride, size, _ = shape
    y, factors, pairs, n = room[:stride], room[stride : stride + LANES], room[stride + LANES :], pairs_length(k)
    project(words, counts, first, last, length, scale, matrix, stride, y)
    multiply_pairs(y, 0, k, pairs, 4 * n)
    for e in range(first, last, 4):
        four_pairs(words, e, last, matrix, k, stride, pairs, n)
        for i in range(4):
            factors[i] = 0.0
            if e + i < last:
                s = scale[words[e + i]]
                factors[i] = -s * np.float32(counts[e + i] / length) * np.float32(s / length)
        x = factors
        add_four((x[0], x[1], x[2], x[3]), (0, n, 2 * n, 3 * n), pairs, pairs, 4 * n, size)
    norm = np.float32(length / (length - 1.0))
    clear(out, 0, size)
    add_scaled(norm, pairs, 4 * n, out, 0, size)


def _places(k: int, directions: int) -> np.ndarray:
    """Positions of the coordinates a <= b, row-major, in a contribution's row, which is ordered by (b, a)."""
    return np.array([b * (b + 1) // 2 + a for a in range(k) for b in range(a, k)])


CORE = Statistic(
    name=f"{__name__}:CORE",
    layout=ONE_ROW,
    replace_factor=SIGNED,
    contribution=_contribution,
    row=lambda k, directions: round_up(k * (k + 1) // 2),
    room=_room,
    places=_places,
    cuda=CudaTwin("add_core", sides=2),
)


def core(scale: np.ndarray, X: np.ndarray) -> Contribution:
    """(iii'): X' E2 X for X (n_words, p), sum of shape (1, p (p + 1) / 2): the coordinates i <= j, row-major."""
    X = as_float32(X)
    p = X.shape[1]
    weights = np.array([1 if i == j else 2 for i in range(p) for j in range(i, p)], np.int64)
    return Contribution(CORE, as_float32(scale), X, weights)
