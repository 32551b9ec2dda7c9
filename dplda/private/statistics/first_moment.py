"""(i) The first moment: scaled word proportions h / l."""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST
from dplda.private.statistics.statistic import (
    NONNEGATIVE,
    ROW_PER_WORD,
    Contribution,
    CudaTwin,
    Statistic,
    as_float32,
    equal_weights,
)


@compiled(fastmath=FAST, error_model="numpy")
def _contribution(words, counts, first, last, length, scale, matrix, shape, room, out):
    at, share = np.uint64(first), np.float32(1.0 / length)
    for e in range(np.uint64(last - first)):
        out[e] = scale[np.uint64(words[at + e])] * (np.float32(counts[at + e]) * share)


FIRST_MOMENT = Statistic(
    name=f"{__name__}:FIRST_MOMENT",
    layout=ROW_PER_WORD,
    replace_factor=NONNEGATIVE,
    contribution=_contribution,
    row=lambda k, directions: 1,
    cuda=CudaTwin("add_first_moment", threads=32),
)


def first_moment(scale: np.ndarray) -> Contribution:
    """(i): scaled word proportions, sum of shape (n_words, 1)."""
    scale = as_float32(scale)
    return Contribution(FIRST_MOMENT, scale, np.zeros((len(scale), 1), np.float32), equal_weights(1))
