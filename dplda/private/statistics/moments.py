"""First and second moments of word counts: (i) to (iii') of the list in `dplda.private.statistics`.

The dense second moment (ii) goes by pairs of words: a unit's contribution lists the pairs b >= a of its words, ordered
by (b, a), where a and b number the words by first occurrence. Only the sum has the size of the vocabulary squared; it
is packed by circular offset, see `second_moment`. The second moment times a matrix (iii) and the core (iii') never form
it: they start from the document's projection y = X'h / l.
"""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST, LANES, add_four, add_scaled, clear, multiply_pairs, padded, round_up
from dplda.private.statistics.statistic import (
    NONNEGATIVE,
    ONE_ROW,
    ROW_PER_WORD,
    SIGNED,
    Contribution,
    CudaTwin,
    Layout,
    Statistic,
    as_float32,
    equal_weights,
)


@compiled(fastmath=FAST, error_model="numpy")
def _shares(words, counts, first, last, length, scale, matrix, shape, room, out):
    at, share = np.uint64(first), np.float32(1.0 / length)
    for e in range(np.uint64(last - first)):
        out[e] = scale[np.uint64(words[at + e])] * (np.float32(counts[at + e]) * share)


FIRST_MOMENT = Statistic(
    name=f"{__name__}:FIRST_MOMENT",
    layout=ROW_PER_WORD,
    replace_factor=NONNEGATIVE,
    contribution=_shares,
    row=lambda k, directions: 1,
    cuda=CudaTwin("add_first_moment", lambda scale, X: first_moment(scale), threads=32),
)


def first_moment(scale: np.ndarray) -> Contribution:
    """(i): scaled word proportions, sum of shape (n_words, 1)."""
    scale = as_float32(scale)
    return Contribution(FIRST_MOMENT, scale, np.zeros((len(scale), 1), np.float32), equal_weights(1))


@compiled()
def _triangle(n):
    """Return the number of pairs b >= a of `n` words."""
    return n * (n + 1) // 2


@compiled()
def _pair_weights(most):
    """Return the weights of the pairs of `most` words: 1 on the diagonal, else 2.

    A unit of fewer words uses the first weights.
    """
    weights = np.full(_triangle(most), 2.0)
    for b in range(most):
        weights[_triangle(b) + b] = 1.0
    return weights


@compiled()
def _room_for_shares(k, directions, longest):
    return longest


@compiled(fastmath=FAST, error_model="numpy")
def _pairs_of_words(words, counts, first, last, length, scale, matrix, shape, shares, out):
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
    """Return the weights of the columns: column 0 is the diagonal, and the others contain pairs."""
    return np.asarray(np.r_[1, np.full(n_words // 2, 2)], np.int64)


SECOND_MOMENT = Statistic(
    name=f"{__name__}:SECOND_MOMENT",
    layout=Layout(False, _pairs_size, _merge_pairs, _add_pairs, _pair_weights, _columns),
    replace_factor=NONNEGATIVE,
    contribution=_pairs_of_words,
    row=lambda k, directions: 1,
    room=_room_for_shares,
    cuda=CudaTwin("add_second_moment", lambda scale, X: second_moment(scale), threads=128),
)


def second_moment(scale: np.ndarray) -> Contribution:
    """(ii): the scaled second moment E2, sum of shape (n_words, n_words // 2 + 1), packed by circular offset.

    Entry (i, j) is E2 at i and (i + j) mod n_words; `lda_moments.unpack_offsets` unpacks it. The sum takes 4 n_words^2
    bytes per thread. A document of n words takes n^2 / 2 operations.
    """
    scale = as_float32(scale)
    return Contribution(SECOND_MOMENT, scale, np.zeros((len(scale), 1), np.float32), _columns(len(scale)))


@compiled()
def _room_for_projection(k, directions, longest):
    return padded(k)


@compiled(fastmath=FAST, error_model="numpy")
def _project(words, counts, first, last, length, scale, matrix, stride, y):
    """y = sum over entries of s c / l times the word's row of the matrix."""
    clear(y, 0, stride)
    for e in range(first, last):
        w = words[e]
        add_scaled(scale[w] * np.float32(counts[e] / length), matrix, w * stride, y, 0, stride)


@compiled(fastmath=FAST, error_model="numpy")
def _times_matrix(words, counts, first, last, length, scale, matrix, shape, y, out):
    _, _, stride, _, _ = shape
    _project(words, counts, first, last, length, scale, matrix, stride, y)
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
    contribution=_times_matrix,
    row=lambda k, directions: round_up(k),
    room=_room_for_projection,
    cuda=CudaTwin("add_second_moment_times", lambda scale, X: second_moment_times(scale, X)),
)


def second_moment_times(scale: np.ndarray, X: np.ndarray) -> Contribution:
    """(iii): the scaled second moment times X (n_words, p), sum of shape (n_words, p)."""
    X = as_float32(X)
    return Contribution(SECOND_MOMENT_TIMES, as_float32(scale), X, equal_weights(X.shape[1]))


@compiled()
def pairs_length(k):
    """Return the length of the products of pairs of k columns as `multiply_pairs` writes them, padding included."""
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
def _room_for_core(k, directions, longest):
    return padded(k) + LANES + 5 * pairs_length(k)


@compiled(fastmath=FAST, error_model="numpy")
def _projected_pairs(words, counts, first, last, length, scale, matrix, shape, room, out):
    k, _, stride, size, _ = shape
    y, factors, pairs, n = room[:stride], room[stride : stride + LANES], room[stride + LANES :], pairs_length(k)
    _project(words, counts, first, last, length, scale, matrix, stride, y)
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


def _core_places(k: int, directions: int) -> np.ndarray:
    """Positions of the coordinates a <= b, row-major, in a contribution's row, which is ordered by (b, a)."""
    return np.array([b * (b + 1) // 2 + a for a in range(k) for b in range(a, k)])


CORE = Statistic(
    name=f"{__name__}:CORE",
    layout=ONE_ROW,
    replace_factor=SIGNED,
    contribution=_projected_pairs,
    row=lambda k, directions: round_up(k * (k + 1) // 2),
    room=_room_for_core,
    places=_core_places,
    cuda=CudaTwin("add_core", lambda scale, X: core(scale, X), sides=2),
)


def core(scale: np.ndarray, X: np.ndarray) -> Contribution:
    """(iii'): X' E2 X for X (n_words, p), sum of shape (1, p (p + 1) / 2): the coordinates i <= j, row-major."""
    X = as_float32(X)
    p = X.shape[1]
    weights = np.array([1 if i == j else 2 for i in range(p) for j in range(i, p)], np.int64)
    return Contribution(CORE, as_float32(scale), X, weights)
