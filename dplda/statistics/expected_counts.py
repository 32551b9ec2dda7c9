"""(vi) Expected word-topic counts: s_i c_i phi_iz, with the responsibilities phi of a fixed E-step."""

from __future__ import annotations

import numpy as np

from dplda.compute.compiled import compiled
from dplda.compute.lattice import FAST
from dplda.compute.loops import UNROLLED, padded, weigh_rows
from dplda.statistics.estep import LEAST, gather, posterior
from dplda.statistics.layouts import ROW_PER_WORD
from dplda.statistics.statistic import NONNEGATIVE, Contribution, CudaTwin, Statistic, as_float32, equal_weights


@compiled()
def _room(k, directions, longest):
    return 3 * padded(k) + (2 + padded(k, 4)) * padded(longest, UNROLLED)


@compiled(fastmath=FAST, error_model="numpy")
def _contribution(words, counts, first, last, length, scale, matrix, shape, room, out):
    """A row for each entry: its scale times its count, divided over topics."""
    k, _, stride, _, alpha = shape
    begin, behind = 3 * stride, 3 * stride + 2 * padded(last - first, UNROLLED)
    before, theta, gamma = room[:stride], room[stride : 2 * stride], room[2 * stride : begin]
    amounts, table = room[begin:behind], room[behind:]
    wide = gather(words, counts, first, last, matrix, stride, padded(k, 4), table, amounts)
    posterior(table, amounts, wide, length, k, alpha, before, theta, gamma)
    weigh_rows(theta, table, padded(k, 4), wide, amounts, wide, LEAST)
    start, half = np.uint64(first), np.uint64(wide)
    for e in range(np.uint64(last - first)):
        w = np.uint64(words[start + e])
        share = scale[w] * (amounts[e] / amounts[half + e])
        at, to = w * np.uint64(stride), e * np.uint64(stride)
        for z in range(np.uint64(stride)):
            out[to + z] = share * theta[z] * matrix[at + z]


EXPECTED_COUNTS = Statistic(
    name=f"{__name__}:EXPECTED_COUNTS",
    layout=ROW_PER_WORD,
    contribution=_contribution,
    row=lambda k, directions: padded(k),
    room=_room,
    cuda=CudaTwin("add_expected_counts", vectors=3),
)


def expected_counts(word_weights: np.ndarray, alpha: float, scale: np.ndarray | None = None) -> Contribution:
    """(vi): expected word-topic counts under `word_weights` (n_words, k), sum of shape (n_words, k).

    `word_weights` are exp(E log beta), or the topics themselves; `alpha` is the document prior per topic. Row i is
    multiplied by the positive scale[i] (ones by default), which the E-step does not see.
    """
    word_weights = as_float32(word_weights)
    n_words, k = word_weights.shape
    scale = as_float32(np.ones(n_words) if scale is None else scale)
    return Contribution(EXPECTED_COUNTS, scale, word_weights, equal_weights(k), n_words, NONNEGATIVE, float(alpha))
