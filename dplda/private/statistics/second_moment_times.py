"""(iii) The second moment times a matrix: rows (h_i y - s_i^2 c_i x_i) / (l (l - 1)) with y = X'h."""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST, add_scaled, clear, padded, round_up
from dplda.private.statistics.statistic import (
    ROW_PER_WORD,
    SIGNED,
    Contribution,
    CudaTwin,
    Statistic,
    as_float32,
    equal_weights,
)


@compiled()
def _room(k, directions, longest):
    return padded(k)


@compiled(fastmath=FAST, error_model="numpy")
def project(words, counts, first, last, length, scale, matrix, stride, y):
    """y = sum over entries of s c / l times the word's row of the matrix."""
    clear(y, 0, stride)
    for e in range(first, last):
        w = words[e]
        add_scaled(scale[w] * np.float32(counts[e] / length), matrix, w * stride, y, 0, stride)


@compiled(fastmath=FAST, error_model="numpy")
def _contribution(words, counts, first, last, length, scale, matrix, shape, y, out):
    _, _, stride, _, _ = shape
    project(words, counts, first, last, length, scale, matrix, stride, y)
    for e in range(first, last):
        s = scale[words[e]]
        h = np.float32(counts[e] / (length - 1.0)) * s
        diagonal = h * np.float32(s / length)
        at, to = np.uint64(words[e] * stride), np.uint64((e - first) * stride)
        for a in range(np.uint64(stride)):
            out[to + a] = h * y[a] - diagonal * matrix[at + a]


SECOND_MOMENT_TIMES = Statistic(
    name=f"{__name__}:SECOND_MOMENT_TIMES",
    layout=ROW_PER_WORD,
    replace_factor=SIGNED,
    contribution=_contribution,
    row=lambda k, directions: round_up(k),
    room=_room,
    cuda=CudaTwin("add_second_moment_times"),
)


def second_moment_times(scale: np.ndarray, X: np.ndarray) -> Contribution:
    """(iii): the scaled second moment times X (n_words, p), sum of shape (n_words, p)."""
    X = as_float32(X)
    return Contribution(SECOND_MOMENT_TIMES, as_float32(scale), X, equal_weights(X.shape[1]))
