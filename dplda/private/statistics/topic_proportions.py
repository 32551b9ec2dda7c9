"""(vii) Topic proportions, (viii) likelihood gain over word frequencies, (ix) proportions in a table's row.

All are functions of one document and given topics, computed with the posterior of `expected_counts`. The topics and all
other numbers here are public or released, except the document's own counts.
"""

from __future__ import annotations

import math

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST, MASS_SHARE
from dplda.private.statistics.expected_counts import fitted, posterior_room, predict
from dplda.private.statistics.loops import clear, round_up
from dplda.private.statistics.statistic import (
    NONNEGATIVE,
    ONE_ROW,
    ROW_PER_TABLE_ROW,
    SIGNED,
    Contribution,
    Statistic,
    as_float32,
    equal_weights,
)

COUNT_SHARE = 0.29  # the coordinate of a table that counts documents; one of their proportions is at most 1
# The norm of a unit in a table is at most sqrt(1 + COUNT_SHARE^2) (T10). With this clip, which leaves room for the mass
# coordinate and for rounding, no unit is clipped. It is at most 1.05, the price of counting documents.
TABLE_CLIP = math.sqrt((1 + COUNT_SHARE**2) / (1 - MASS_SHARE**2)) * (1 + 1e-4)
MOST_GAIN = 0.5  # largest absolute value of a document's gain, in nats a token


@compiled(fastmath=FAST, error_model="numpy")
def _proportions(words, counts, first, last, length, scale, matrix, shape, room, out):
    clear(out, 0, shape[3])
    _write_proportions(words, counts, first, last, length, matrix, shape, room, out)


@compiled(fastmath=FAST, error_model="numpy")
def _write_proportions(words, counts, first, last, length, matrix, shape, room, out):
    k, _, _, _, alpha = shape
    _, gamma, _, _, _ = fitted(words, counts, first, last, length, matrix, shape, room)
    for z in range(np.uint64(k)):
        share = (gamma[z] - alpha) / np.float32(length)
        out[z] = np.float32(0.0) if share < 0 else share  # nan stays nan


@compiled(fastmath=FAST, error_model="numpy")
def _in_table(words, counts, first, last, length, scale, matrix, shape, room, out):
    k, total = np.uint64(shape[0]), np.float32(0.0)
    clear(out, 0, shape[3])
    _write_proportions(words, counts, first, last, length, matrix, shape, room, out)
    for z in range(k):
        total += out[z]
    for z in range(k):  # words that no topic contains leave less than 1; nan stays nan
        out[z] = np.float32(1.0) / np.float32(k) if total == 0 else out[z] / total
    out[k] = np.float32(COUNT_SHARE)


TOPIC_PROPORTIONS = Statistic(
    name=f"{__name__}:TOPIC_PROPORTIONS",
    layout=ONE_ROW,
    replace_factor=NONNEGATIVE,
    contribution=_proportions,
    row=lambda k, directions: round_up(k),
    room=posterior_room,
)


@compiled(fastmath=FAST, error_model="numpy")
def _gain(words, counts, first, last, length, scale, matrix, shape, room, out):
    k, _, _, row, _ = shape
    theta, gamma, table, amounts, wide = fitted(words, counts, first, last, length, matrix, shape, room)
    total = predict(theta, gamma, table, amounts, wide, k)
    at, half, gain = np.uint64(first), np.uint64(wide), np.float32(0.0)
    for e in range(np.uint64(last - first)):
        gain += amounts[e] * np.log(amounts[half + e] / (total * scale[np.uint64(words[at + e])]))
    gain /= np.float32(length)
    clear(out, 0, row)
    out[0] = min(max(gain, np.float32(-MOST_GAIN)), np.float32(MOST_GAIN)) if gain == gain else gain


LIKELIHOOD_GAIN = Statistic(
    name=f"{__name__}:LIKELIHOOD_GAIN",
    layout=ONE_ROW,
    replace_factor=SIGNED,
    contribution=_gain,
    row=lambda k, directions: round_up(1),
    room=posterior_room,
)


TABLE_PROPORTIONS = Statistic(
    name=f"{__name__}:TABLE_PROPORTIONS",
    layout=ROW_PER_TABLE_ROW,
    replace_factor=NONNEGATIVE,
    contribution=_in_table,
    row=lambda k, directions: round_up(k + 1),
    room=posterior_room,
)


def topic_proportions(topics: np.ndarray, alpha: float) -> Contribution:
    """(vii): the share of a document's tokens that each of the `topics` (n_words, k) explains, sum of shape (1, k).

    A unit contributes the mean over its documents. The shares are nonnegative whatever the topics are, and their sum is
    at most one, so that their norm is at most 1. `alpha` is the document prior of each topic.
    """
    topics = as_float32(topics)
    n_words, k = topics.shape
    return Contribution(TOPIC_PROPORTIONS, np.ones(n_words, np.float32), topics, equal_weights(k), float(alpha))


def likelihood_gain(topics: np.ndarray, alpha: float, reference: np.ndarray) -> Contribution:
    """(viii): the mean of log(p_w / reference_w) over a document's tokens, clipped to +-`MOST_GAIN`, sum (1, 1).

    p_w is the probability of a word under the posterior mean proportions of the `topics` (n_words, k); `reference`
    (n_words,) is positive.
    """
    return Contribution(LIKELIHOOD_GAIN, as_float32(reference), as_float32(topics), equal_weights(1), float(alpha))


def table_proportions(topics: np.ndarray, alpha: float, n_rows: int) -> Contribution:
    """(ix): a document's proportions of the `topics` (n_words, k), and `COUNT_SHARE`, in its row of a table.

    The sum is (n_rows, k + 1). A unit's documents have equal weights, which sum to 1, over all the rows that they are
    in. The unit's norm is below `TABLE_CLIP` with the mass coordinate (docs/privacy.md, T10).
    """
    topics = as_float32(topics)
    n_words, k = topics.shape
    scale, weights = np.ones(n_words, np.float32), equal_weights(k + 1)
    return Contribution(TABLE_PROPORTIONS, scale, topics, weights, float(alpha), table_rows=n_rows)
