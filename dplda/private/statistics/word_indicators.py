"""The words that a document contains: (xiii) once each, beside a constant for the document, in its row; (xiv) alone.

(xiii) tells how many documents of each group contain a word (docs/privacy.md, T17), or have an answer, which is a word
of a document then (T16). (xiv) tells how many persons, or documents of persons, have an answer in each group: a person
is one document then, and its words are cells, the pairs of a row of the table and an answer.
"""

from __future__ import annotations

import math

import numpy as np

from dplda.base.compiled import compiled
from dplda.base.config import MINIMUM_LENGTH
from dplda.private.statistics.clipping import FAST, MASS_SHARE, clear, round_up
from dplda.private.statistics.expected_counts import COUNT_SHARE
from dplda.private.statistics.statistic import (
    NONNEGATIVE,
    ROW_PER_TABLE_ROW,
    ROW_PER_WORD,
    Contribution,
    Statistic,
    as_float32,
    equal_weights,
)

# A document's vector has norm at most 1; there is room for the mass coordinate and for rounding.
INDICATOR_CLIP = (1 + 1e-4) / math.sqrt(1 - MASS_SHARE**2)


@compiled(fastmath=FAST, error_model="numpy")
def _indicators(words, counts, first, last, length, scale, matrix, shape, room, out):
    k, _, _, row, alpha = shape  # k is one more than the number of words
    clear(out, 0, row)
    square, size = 0.0, np.float64(alpha) * np.float64(alpha)
    for e in range(first, last):
        weight = np.float64(scale[words[e]])
        square += weight * weight
    shrunk = size_shrunk = np.float32(1.0)
    if size >= 1.0:
        shrunk = size_shrunk = np.float32(1.0 / np.sqrt(square + size))
    elif square + size > 1.0:
        shrunk = np.float32(np.sqrt((1.0 - size) / square))
    for e in range(first, last):
        out[words[e]] = scale[words[e]] * shrunk
    out[k - 1] = alpha * size_shrunk


WORD_INDICATORS = Statistic(
    name=f"{__name__}:WORD_INDICATORS",
    layout=ROW_PER_TABLE_ROW,
    replace_factor=NONNEGATIVE,
    contribution=_indicators,
    row=lambda k, directions: round_up(k),
)


def word_indicators(weights: np.ndarray, size_weight: float, n_rows: int) -> Contribution:
    """(xiii): the weight of each word that a document contains, and then `size_weight`, in the document's row.

    The nonnegative `weights` (n_words,) are public; a word of weight 0 is left out. If the norm of a document's vector
    exceeds 1, its words are scaled down so that the norm is 1; if `size_weight` is 1 or more, all of it. The sum is
    (n_rows, n_words + 1). A unit's documents have equal weights, which sum to 1, over all rows that they are in.
    """
    n_words = len(weights)
    columns = np.zeros((n_words, n_words + 1), np.float32)
    return Contribution(
        WORD_INDICATORS,
        as_float32(weights),
        columns,
        equal_weights(n_words + 1),
        float(size_weight),
        table_rows=n_rows,
    )


def answer_weights(at_most: int) -> tuple[float, float]:
    """Return the weights of an answer and of the size, so that `at_most` answers and the size have norm 1 (T16)."""
    answer_weight = 1 / math.sqrt(at_most * (1 + COUNT_SHARE**2))
    return answer_weight, math.sqrt(at_most) * COUNT_SHARE * answer_weight


def answer_indicators(n_answers: int, at_most: int, n_rows: int) -> Contribution:
    """(xiii) of `Answers`: the `answer_weights` of a document's answers, and of the document, in its row.

    The sum is (n_rows, n_answers + 2); its first column, of the word that all documents hold, is 0.
    """
    answer_weight, size_weight = answer_weights(at_most)
    return word_indicators(np.append(0.0, np.full(n_answers, answer_weight)), size_weight, n_rows)


@compiled(fastmath=FAST, error_model="numpy")
def _cells(words, counts, first, last, length, scale, matrix, shape, room, out):
    square = 0.0
    for e in range(first, last):
        weight = np.float64(scale[words[e]]) * np.float64(counts[e])
        square += weight * weight
    shrunk = 1.0 / max(np.sqrt(square), 1.0)
    for e in range(first, last):
        out[e - first] = np.float32(np.float64(scale[words[e]]) * np.float64(counts[e]) * shrunk)


CELL_COUNTS = Statistic(
    name=f"{__name__}:CELL_COUNTS",
    layout=ROW_PER_WORD,
    replace_factor=NONNEGATIVE,
    contribution=_cells,
    row=lambda k, directions: 1,
)


def cell_counts(weights: np.ndarray) -> Contribution:
    """(xiv): the public, nonnegative weight (n_words,) of each token of a document, by words, scaled down to norm 1.

    The sum is (n_words, 1).
    """
    columns = np.zeros((len(weights), 1), np.float32)
    return Contribution(CELL_COUNTS, as_float32(weights), columns, equal_weights(1))


def person_counts(n_answers: int, at_most: int, n_rows: int, documents: int = 1) -> Contribution:
    """(xiv) of `Answers` of units: the `answer_weights` of a person's answers in each row, and of being in the row.

    Each is divided by the number of `documents` that a person may have in full. The sum is (n_rows * (1 + n_answers),
    1). The first number of each row is of the persons or their documents, the others of the answers.
    """
    answer_weight, size_weight = answer_weights(at_most)
    weights = np.append(size_weight, np.full(n_answers, answer_weight)) / (MINIMUM_LENGTH * documents)
    return cell_counts(np.tile(weights, n_rows))
