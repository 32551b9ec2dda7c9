"""(v) The projected third moment: (iv) for rows w_i = s_i q_i, clipped by the norm of the whole tensor over words.

The whole tensor, with rows w_i = s_i e_i, is never formed: its norm is computed as a sum over the document's words.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dplda.numerics.compiled import compiled
from dplda.statistics.statistic import Contribution, CudaTwin, as_float32
from dplda.statistics.third_moment import THIRD_MOMENT, symmetric_weights


@compiled(error_model="numpy")
def _whole_norm(words, counts, first, last, length, scale, amounts):
    """The norm of the whole tensor, in float64 and without cancellation. `amounts` (n_words,) must be, and stays, zero.

    The squares of coordinates at three, two and one distinct words are summed separately, by recurrences over distinct
    words: with a = (s c)^2, u = a s^2 (c - 1)^2 and v = u s^2 (c - 2)^2, the square of l (l - 1) (l - 2) times
    the norm is 6 e3(a) + 3 (sum of u_i a_j over i != j) + (sum of v).
    """
    for e in range(first, last):
        amounts[words[e]] += counts[e]
    ones = twos = pairs = triples = mixed = same = 0.0
    for e in range(first, last):
        w = words[e]
        c, amounts[w] = float(amounts[w]), 0
        if c == 0.0:
            continue  # an earlier entry of the same word was counted
        square = np.float64(scale[w]) ** 2
        a = square * (c / length) ** 2
        u = a * square * ((c - 1.0) / length) ** 2
        same += u * square * ((c - 2.0) / length) ** 2
        mixed += u * ones + a * twos
        triples += a * pairs
        pairs += a * ones
        ones += a
        twos += u
    norm = length / (length - 1.0) * (length / (length - 2.0))
    return norm * np.sqrt(6.0 * triples + 3.0 * mixed + same)


PROJECTED_THIRD_MOMENT = replace(
    THIRD_MOMENT,
    name=f"{__name__}:PROJECTED_THIRD_MOMENT",
    norm_bound=_whole_norm,
    cuda=CudaTwin("add_projected_third_moment", sides=3),
)


@np.errstate(over="ignore", invalid="ignore")
def projected_third_moment(scale: np.ndarray, Q: np.ndarray) -> Contribution:
    """(v): E3(SQ, SQ, SQ) for orthonormal columns `Q` (n_words, k), coordinates as those of `third_moment`.

    A unit is clipped by the mean norm of its documents' whole tensors, an upper bound on the norm of its own tensor.
    """
    W = as_float32(scale[:, None] * Q)
    return Contribution(PROJECTED_THIRD_MOMENT, as_float32(scale), W, symmetric_weights(W.shape[1]))
