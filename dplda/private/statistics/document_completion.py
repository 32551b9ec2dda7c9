"""(xii) How well topics predict one half of a document's tokens from the other half.

It measures the predictive likelihood of released topics (docs/privacy.md, T13) by document completion (Wallach, Murray,
Salakhutdinov and Mimno 2009).
"""

from __future__ import annotations

import math

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST, MASS_SHARE
from dplda.private.statistics.expected_counts import document_space, posterior, posterior_room, predict
from dplda.private.statistics.loops import LANES, clear, padded, round_up
from dplda.private.statistics.statistic import ONE_ROW, SIGNED, Contribution, Statistic, as_float32, equal_weights

MOST = 2.0  # largest absolute value of a document's coordinates, in nats a token
_MIXED = 0.01  # weight of the word frequencies in the prediction, so that no word has probability 0
# No unit is clipped: both its coordinates are at most 1, with room for the mass coordinate and for rounding.
COMPLETION_CLIP = math.sqrt(2 / (1 - MASS_SHARE**2)) * (1 + 1e-4)


@compiled(fastmath=FAST, error_model="numpy")
def _hold_out(counts, first, last, amounts, held):
    """Move every second token of a document from `amounts` to `held`; returns how many."""
    before, at = np.int64(0), np.uint64(first)
    for e in range(np.uint64(last - first)):
        after = before + np.int64(counts[at + e])
        held[e] = np.float32(after // 2 - before // 2)
        amounts[e] -= held[e]
        before = after
    return before // 2


@compiled(fastmath=FAST, error_model="numpy")
def _completion(words, counts, first, last, length, scale, matrix, shape, room, out):
    """The mean over held-out tokens of log(p / r), and of the centred -log r, each over `MOST`.

    p is a word's probability given the other half, r its frequency in `scale`, and the centred -log r the last column
    of `matrix`.
    """
    k, _, stride, row, alpha = shape
    extra = padded(last - first, LANES)
    held = room[:extra]
    before, theta, gamma, table, amounts, wide = document_space(words, counts, first, last, matrix, shape, room[extra:])
    number = _hold_out(counts, first, last, amounts, held)
    posterior(table, amounts, wide, length - number, k, alpha, before, theta, gamma)
    total = predict(theta, gamma, table, amounts, wide, k)
    at, half, column = np.uint64(first), np.uint64(wide), np.uint64(padded(k))
    gain = surprise = np.float32(0.0)
    for e in range(np.uint64(last - first)):
        w = np.uint64(words[at + e])
        ratio = np.float32(1.0 - _MIXED) * amounts[half + e] / (total * scale[w]) + np.float32(_MIXED)
        gain += held[e] * np.log(ratio)
        surprise += held[e] * matrix[w * np.uint64(stride) + column]
    clear(out, 0, row)
    out[0] = _share(gain, np.float32(number))
    out[1] = _share(surprise, np.float32(number))


@compiled(fastmath=FAST, error_model="numpy")
def _share(total, number):
    """The mean `total` / `number` over `MOST`, within [-1, 1]; nan stays nan."""
    mean = total / (number * np.float32(MOST))
    return min(max(mean, np.float32(-1.0)), np.float32(1.0)) if mean == mean else mean


@compiled()
def _room(k, directions, longest):
    return posterior_room(k, directions, longest) + padded(longest, LANES)


DOCUMENT_COMPLETION = Statistic(
    name=f"{__name__}:DOCUMENT_COMPLETION",
    layout=ONE_ROW,
    replace_factor=SIGNED,
    contribution=_completion,
    row=lambda k, directions: round_up(2),
    room=_room,
)


def document_completion(topics: np.ndarray, alpha: float, reference: np.ndarray) -> Contribution:
    """(xii): a document's gain and surprise in nats a token, each divided by `MOST`, sum of shape (1, 2).

    Every second token is held out. The gain is the mean of log(p / r) over the held-out tokens, with
    p = (1 - `_MIXED`) q + `_MIXED` r. Here r is the word's frequency in `reference` (n_words,), which is positive and
    sums to one, and q is its probability under the `topics` (n_words, k) with the posterior mean proportions given the
    other tokens. The surprise is the mean of -log r minus the entropy of r. Gain and surprise are clipped to +-`MOST`
    before the division, so that both coordinates are in [-1, 1]. `alpha` is the document prior of each topic.
    """
    surprise = -np.log(reference)
    centred = surprise - float(reference @ surprise)
    matrix = as_float32(np.column_stack([topics, centred]))
    return Contribution(
        DOCUMENT_COMPLETION, as_float32(reference), matrix, equal_weights(2), float(alpha), directions=1
    )
