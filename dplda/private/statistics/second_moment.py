"""(ii) The dense second moment: (h h' - diag(s^2 c)) / (l (l - 1)), by pairs of words.

A unit's contribution lists the pairs b >= a of its words, ordered by (b, a), where a and b number the words by first
occurrence. Only the sum has the size of the vocabulary squared; it is packed by circular offset, see `second_moment`.
"""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST, clear
from dplda.private.statistics.statistic import NONNEGATIVE, Contribution, CudaTwin, Layout, Statistic, as_float32


@compiled()
def _triangle(n):
    """Number of pairs b >= a of `n` words."""
    return n * (n + 1) // 2


@compiled()
def _pair_weights(most):
    """The weights of the pairs of `most` words: 1 on the diagonal, else 2.

    A unit of fewer words uses the first weights.
    """
    weights = np.full(_triangle(most), 2.0)
    for b in range(most):
        weights[_triangle(b) + b] = 1.0
    return weights


@compiled()
def _room(k, directions, longest):
    return longest


@compiled(fastmath=FAST, error_model="numpy")
def _contribution(words, counts, first, last, length, scale, matrix, shape, shares, out):
    """The pairs of entries of a document; `shares` is scratch space for one number per entry."""
    to, begin = np.uint64(0), np.uint64(first)
    for b in range(np.uint64(last - first)):
        s, c = scale[np.uint64(words[begin + b])], counts[begin + b]
        h = s * np.float32(c / (length - 1.0))
        for a in range(b):
            out[to + a] = h * shares[a]
        out[to + b] = s * s * np.float32(c / length * ((c - 1.0) / (length - 1.0)))  # never negative
        shares[b] = s * np.float32(c / length)
        to += b + np.uint64(1)


@compiled()
def _pairs_size(n, row):
    return _triangle(n)


@compiled()
def _merge_pairs(words, first, last, share, one, row, row_of, slots, used, rows):
    for e in range(first, last):
        if row_of[words[e]] < 0:
            row_of[words[e]] = used
            slots[used] = words[e]
            clear(rows, _triangle(used), used + 1)
            used += 1
    at = 0
    for e in range(first, last):
        b = row_of[words[e]]
        for f in range(first, e + 1):
            a = row_of[words[f]]
            times = 2.0 if a == b and e != f else 1.0  # both orders of two entries of one word
            rows[_triangle(max(a, b)) + min(a, b)] += np.float32(times * share) * one[at]
            at += 1
    return used


@compiled()
def _add_pairs(rows, slots, used, row, n_words, sums):
    """Add a unit's integers to `sums`, flat (n_words, n_words // 2 + 1); see `Layout.add`.

    The outer loop writes to one row of `sums` at a time.
    """
    width = n_words // 2 + 1
    for a in range(np.uint64(used)):
        v, at = np.int64(slots[a]), np.uint64(_triangle(np.int64(a)))
        for b in range(a):
            offset, own = _offset(v, np.int64(slots[b]), n_words)
            if own:
                sums[np.uint64(v * width + offset)] += np.int64(rows[at + b])
        at += a
        for b in range(a, np.uint64(used)):
            offset, own = _offset(v, np.int64(slots[b]), n_words)
            if own:
                sums[np.uint64(v * width + offset)] += np.int64(rows[at])
            at += b + np.uint64(1)


@compiled()
def _offset(v, w, n_words):
    """The circular offset from word `v` to `w`, and whether their pair is stored in the row of `v`, not of `w`."""
    offset = w - v + (n_words if w < v else 0)
    return offset, 2 * offset - (v < w) < n_words


def _columns(n_words: int) -> np.ndarray:
    """The weights of the columns: column 0 is the diagonal, and the others contain pairs."""
    return np.asarray(np.r_[1, np.full(n_words // 2, 2)], np.int64)


_WORD_PAIRS = Layout(False, _pairs_size, _merge_pairs, _add_pairs, _pair_weights, _columns)

SECOND_MOMENT = Statistic(
    name=f"{__name__}:SECOND_MOMENT",
    layout=_WORD_PAIRS,
    replace_factor=NONNEGATIVE,
    contribution=_contribution,
    row=lambda k, directions: 1,
    room=_room,
    cuda=CudaTwin("add_second_moment", threads=128),
)


def second_moment(scale: np.ndarray) -> Contribution:
    """(ii): the scaled second moment E2, sum of shape (n_words, n_words // 2 + 1), packed by circular offset.

    Entry (i, j) is E2 at i and (i + j) mod n_words; `coordinates.unpack_offsets` unpacks it. The sum
    takes 4 n_words^2 bytes per thread. A document of n words takes n^2 / 2 operations.
    """
    scale = as_float32(scale)
    return Contribution(SECOND_MOMENT, scale, np.zeros((len(scale), 1), np.float32), _columns(len(scale)))
