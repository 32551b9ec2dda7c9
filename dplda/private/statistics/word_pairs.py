"""(x) Pairs of a topic's ten first words that a document contains; (xi) their number, and the words.

They measure the coherence of released topics (docs/privacy.md, T13).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST, clear, round_up
from dplda.private.statistics.statistic import NONNEGATIVE, ONE_ROW, Contribution, Statistic, equal_weights

FIRST = 10  # words of a topic
PAIRS = FIRST * (FIRST - 1) // 2
WORD_WEIGHT = 4.0  # of a word's coordinate beside the numbers of pairs, which are larger


@compiled()
def _clear_places(k, room):
    for z in range(np.uint64(k)):
        room[np.uint64(FIRST * k) + z] = np.float32(0.0)


@compiled(fastmath=FAST)
def _word_pairs(words, counts, first, last, length, scale, matrix, shape, room, out):
    """1 for each pair of first words that the document contains.

    `matrix` contains the place of a word among the first of a topic, from 1, and `scale` its place among all listed
    words; 0 stands for no place. `room` contains the places that were seen in each topic, and then their number.
    """
    k, _, stride, row, _ = shape
    clear(out, 0, row)
    _clear_places(k, room)
    for e in range(first, last):
        word = np.int64(words[e])
        if scale[word] == 0:
            continue
        for z in range(k):
            place, seen = np.int64(matrix[word * stride + z]), np.int64(room[FIRST * k + z])
            if place == 0 or seen == FIRST:
                continue
            for i in range(seen):
                other = np.int64(room[z * FIRST + i])
                low, high = min(place, other), max(place, other)
                if low < high:
                    out[z * PAIRS + (low - 1) * (2 * FIRST - low) // 2 + high - low - 1] = np.float32(1.0)
            room[z * FIRST + seen] = np.float32(place)
            room[FIRST * k + z] = np.float32(seen + 1)


@compiled(fastmath=FAST)
def _pair_totals(words, counts, first, last, length, scale, matrix, shape, room, out):
    """The number of pairs of first words of each topic that the document contains, and `WORD_WEIGHT` for each word."""
    k, _, stride, row, _ = shape
    clear(out, 0, row)
    for e in range(first, last):
        word = np.int64(words[e])
        listed = np.int64(scale[word])
        if listed > 0:
            out[k + listed - 1] = np.float32(WORD_WEIGHT)
            for z in range(k):
                if matrix[word * stride + z] > 0:
                    out[z] += np.float32(1.0)
    for z in range(k):
        out[z] = out[z] * (out[z] - np.float32(1.0)) / np.float32(2.0)


@compiled()
def _room(k, directions, longest):
    return (FIRST + 1) * k


WORD_PAIRS = Statistic(
    name=f"{__name__}:WORD_PAIRS",
    layout=ONE_ROW,
    replace_factor=NONNEGATIVE,
    contribution=_word_pairs,
    row=lambda k, directions: round_up(PAIRS * k),
    room=_room,
)
PAIR_TOTALS = Statistic(
    name=f"{__name__}:PAIR_TOTALS",
    layout=ONE_ROW,
    replace_factor=NONNEGATIVE,
    contribution=_pair_totals,
    row=lambda k, directions: round_up((1 + FIRST) * k),
)


def word_pairs(first_words: Sequence[Sequence[int]], n_words: int) -> Contribution:
    """(x): the documents that contain each pair of the ten `first_words` of each of k topics, sum (1, 45 k).

    The pairs of a topic are in the order (1, 2), (1, 3), ..., (9, 10).
    """
    return _contribution(WORD_PAIRS, first_words, n_words, PAIRS * len(first_words))


def pair_totals(first_words: Sequence[Sequence[int]], n_words: int) -> Contribution:
    """(xi): the pairs of each of k topics that documents contain, and the documents that contain each word.

    The pairs are of each topic's ten `first_words`. The sum is (1, k + n_listed): the number of pairs of each topic,
    then for each distinct word, in ascending order, `WORD_WEIGHT` times the number of documents.
    """
    return _contribution(PAIR_TOTALS, first_words, n_words, len(first_words) + len(_listed(first_words)))


def norm_limits(k: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the public limits of nonzero norms for `k` topics: ((least, largest) of (x), (least, largest) of (xi)).

    The limits are for units of one document.
    """
    totals = math.sqrt(k * PAIRS**2 + FIRST * k * WORD_WEIGHT**2)
    return (1.0, math.sqrt(PAIRS * k)), (WORD_WEIGHT, totals)


def _listed(first_words: Sequence[Sequence[int]]) -> list[int]:
    """Return the distinct words, in ascending order."""
    return sorted({word for words in first_words for word in words})


def _contribution(statistic: Statistic, first_words: Sequence[Sequence[int]], n_words: int, width: int) -> Contribution:
    places = np.zeros((n_words, len(first_words)), np.float32)
    for topic, words in enumerate(first_words):
        if len(words) != FIRST or len(set(words)) != FIRST:
            raise ValueError(f"a topic needs {FIRST} different first words")
        places[list(words), topic] = np.arange(1, FIRST + 1)
    listed, distinct = np.zeros(n_words, np.float32), _listed(first_words)
    listed[distinct] = np.arange(1, len(distinct) + 1)
    return Contribution(statistic, listed, places, equal_weights(width))
