"""Compiled contributions of one document, one kernel for each statistic of docs/privacy.md, section 2.

Every function works on one document by itself, in the order of its own words, so that removing a unit cannot change
another unit's integers (docs/privacy.md, section 5). Divisions follow NumPy: a quotient that does not exist is inf or
nan, which makes its unit contribute nothing, where an exception would tell of it (rule 3).

Numbers are float32; counts c enter as shares c / l of the length l, which keeps a long document's powers in range.
Arrays are flat, with rows of `stride` numbers (whole `LANES`, zeros behind the `k` true ones), and are passed one by
one: a tuple of arrays, or a view, is counted at each call, which costs more than most of these loops.
"""

from __future__ import annotations

import numpy as np

from dplda.compute.compiled import compiled
from dplda.compute.lattice import FAST
from dplda.compute.loops import LANES, UNROLLED, add_four, add_scaled, aligned, clear, multiply_pairs, padded
from dplda.moments.contributions import (
    CORE,
    EXPECTED,
    FIRST,
    SECOND,
    SECOND_TIMES,
    THIRD,
    THIRD_ALONG,
    THIRD_PROJECTED,
)
from dplda.moments.estep import expected
from dplda.moments.second_moment_dense import second
from dplda.moments.third_moment_contracted import third_along


@compiled()
def flat_rows(matrix, directions=0):
    """`matrix` (n_words, k + directions) as flat rows: padded(k) and then padded(directions) numbers."""
    k = matrix.shape[1] - directions
    stride, behind = padded(k) + padded(directions), padded(k) - k
    flat = aligned(len(matrix) * stride)
    for w in range(len(matrix)):
        for a in range(matrix.shape[1]):
            flat[w * stride + a + (behind if a >= k else 0)] = matrix[w, a]
    return flat


@compiled()
def tensor_runs(k):
    """Where a tensor's runs begin in its row, (k + 1,): run c holds a <= b <= c, ordered by (b, a), and padding."""
    starts = np.zeros(k + 1, np.int64)
    for c in range(k):
        starts[c + 1] = starts[c] + padded((c + 1) * (c + 2) // 2)
    return starts


@compiled()
def row_length(kind, k, directions):
    """Length of a row of the contribution, padding included."""
    if kind in (FIRST, SECOND):
        return 1
    if kind == CORE:
        return padded(k * (k + 1) // 2)
    if kind == THIRD_ALONG:
        return directions * padded(k)
    return tensor_runs(k)[k] if kind in (THIRD, THIRD_PROJECTED) else padded(k)


@compiled()
def scratch_sizes(kind, k, directions, longest):
    """Lengths of the arrays `pairs` and `square` that `document` computes in, for documents of `longest` entries."""
    if kind == EXPECTED:
        wide = padded(longest, UNROLLED)
        return padded(k, 4) * wide, 2 * wide
    if kind == SECOND:
        return longest, 0
    if kind == THIRD_ALONG:
        return directions, 0
    if kind not in (CORE, THIRD, THIRD_PROJECTED):
        return 0, 0
    return 6 * (padded(k * (k + 1) // 2) + 2 * LANES), k * padded(k)


@compiled(fastmath=FAST, error_model="numpy")
def compute_contribution(
    kind, words, counts, first, last, length, scale, matrix, k, directions, stride, starts, prior,
    y, factors, pairs, square, theta, gamma, out,
):  # fmt: skip
    """Write the contribution of the document of the entries first..last-1 into `out`, row after row.

    A row for each entry, or one for all of a core or tensor; of a dense second moment, pair after pair. `scale`
    (n_words,), `matrix` as `flat_rows` makes it, `starts` as `tensor_runs` does, `prior` (stride,); the rest is room:
    `y` (stride,), `factors` (4 (k + 1),), `pairs` and `square` as `scratch_sizes` says, `theta` and `gamma` (stride,).
    """
    if kind == FIRST:
        at, share = np.uint64(first), np.float32(1.0 / length)
        for e in range(np.uint64(last - first)):
            out[e] = scale[np.uint64(words[at + e])] * (np.float32(counts[at + e]) * share)
    elif kind == SECOND:
        second(words, counts, first, last, length, scale, pairs, out)
    elif kind == SECOND_TIMES:
        _second_times(words, counts, first, last, length, scale, matrix, stride, y, out)
    elif kind == CORE:
        _core(words, counts, first, last, length, scale, matrix, k, stride, y, factors, pairs, out)
    elif kind in (THIRD, THIRD_PROJECTED):
        _third(words, counts, first, last, length, matrix, k, stride, starts, y, factors, pairs, square, out)
    elif kind == THIRD_ALONG:
        third_along(words, counts, first, last, length, matrix, k, directions, stride, y, pairs, out)
    elif kind == EXPECTED:
        expected(
            words, counts, first, last, length, scale, matrix, k, stride, prior, y, pairs, square, theta, gamma, out
        )


@compiled(fastmath=FAST, error_model="numpy")
def _project(words, counts, first, last, length, scale, matrix, stride, y):
    """y = sum of s c / l times the word's row of the matrix."""
    clear(y, 0, stride)
    for e in range(first, last):
        w = words[e]
        add_scaled(scale[w] * np.float32(counts[e] / length), matrix, w * stride, y, 0, stride)


@compiled(fastmath=FAST, error_model="numpy")
def _second_times(words, counts, first, last, length, scale, matrix, stride, y, out):
    _project(words, counts, first, last, length, scale, matrix, stride, y)
    for e in range(first, last):
        s = scale[words[e]]
        h = np.float32(counts[e] / (length - 1.0)) * s
        diagonal = h * np.float32(s / length)
        at, to = np.uint64(words[e] * stride), np.uint64((e - first) * stride)
        for a in range(np.uint64(stride)):
            out[to + a] = h * y[a] - diagonal * matrix[at + a]


@compiled(fastmath=FAST, error_model="numpy")
def _four_pairs(words, e, last, matrix, k, stride, pairs, n):
    """Pairs of the entries e..e+3 in the first four times `n` numbers of `pairs`; zero behind the last entry."""
    for i in range(4):
        if e + i < last:
            multiply_pairs(matrix, words[e + i] * stride, k, pairs, i * n)
        else:
            clear(pairs, i * n, n)


@compiled(fastmath=FAST, error_model="numpy")
def _core(words, counts, first, last, length, scale, matrix, k, stride, y, factors, pairs, out):
    n, size = len(pairs) // 6, padded(k * (k + 1) // 2)
    _project(words, counts, first, last, length, scale, matrix, stride, y)
    multiply_pairs(y, 0, k, pairs, 4 * n)
    for e in range(first, last, 4):
        _four_pairs(words, e, last, matrix, k, stride, pairs, n)
        for i in range(4):
            factors[i] = 0.0
            if e + i < last:
                s = scale[words[e + i]]
                factors[i] = -s * np.float32(counts[e + i] / length) * np.float32(s / length)
        x = factors
        add_four(x[0], 0, x[1], n, x[2], 2 * n, x[3], 3 * n, pairs, pairs, 4 * n, size)
    norm = np.float32(length / (length - 1.0))
    clear(out, 0, size)
    add_scaled(norm, pairs, 4 * n, out, 0, size)


@compiled(fastmath=FAST, error_model="numpy")
def _third(words, counts, first, last, length, matrix, k, stride, starts, y, factors, pairs, square, out):
    n = len(pairs) // 6
    clear(y, 0, stride)
    clear(pairs, 4 * n, n)
    clear(out, 0, starts[k])
    for e in range(first, last, 4):
        _four_pairs(words, e, last, matrix, k, stride, pairs, n)
        clear(factors, 0, len(factors))
        for i in range(min(4, last - e)):
            share, at = np.float32(counts[e + i] / length), words[e + i] * stride
            add_scaled(share, matrix, at, y, 0, stride)
            _tensor_factors(share / np.float32(length), np.float32(length), matrix, at, k, i, factors)
        for c in range(k):
            x, t, size = factors, 4 * c, starts[c + 1] - starts[c]
            add_four(x[t], 0, x[t + 1], n, x[t + 2], 2 * n, x[t + 3], 3 * n, pairs, out, starts[c], size)
        x, t = factors, 4 * k
        add_four(x[t], 0, x[t + 1], n, x[t + 2], 2 * n, x[t + 3], 3 * n, pairs, pairs, 4 * n, n)
    _assemble(np.float32(length / (length - 1.0) * (length / (length - 2.0))), k, stride, starts, y, pairs, square, out)


@compiled(fastmath=FAST, error_model="numpy")
def _tensor_factors(share, length, matrix, at, k, i, factors):
    """What entry i of four gives its pairs: share / length times its row for Q, and share, the last, for R."""
    at, i = np.uint64(at), np.uint64(i)
    for c in range(np.uint64(k)):
        factors[np.uint64(4) * c + i] = share / length * matrix[at + c]
    factors[np.uint64(4 * k) + i] = share


@compiled(fastmath=FAST, error_model="numpy")
def _assemble(norm, k, stride, starts, y, pairs, square, out):
    """norm (y^3 - P(R, y) + 2 Q): `out` holds Q and receives it, the fifth part of `pairs` holds R."""
    n = len(pairs) // 6
    R, products = np.uint64(4 * n), np.uint64(5 * n)
    at = R
    for b in range(k):
        for a in range(b + 1):
            square[a * stride + b] = square[b * stride + a] = pairs[at]
            at += np.uint64(1)
    multiply_pairs(y, 0, k, pairs, 0)
    for c in range(k):
        _mixed_pairs(square, c * stride, y, c + 1, pairs, products)
        yc, to = y[c], np.uint64(starts[c])
        for t in range(np.uint64(starts[c + 1]) - to):
            out[to + t] = norm * (yc * (pairs[t] - pairs[R + t]) - pairs[products + t] + np.float32(2.0) * out[to + t])


@compiled(fastmath=FAST, error_model="numpy")
def _mixed_pairs(x, at, y, k, pairs, to):
    """x_a y_b + x_b y_a of x from `at` on, a <= b < k, in the order of `multiply_pairs`, with zeros behind."""
    at, first = np.uint64(at), np.uint64(to)
    for b in range(np.uint64(k)):
        yb, xb = y[b], x[at + b]
        for a in range((b | np.uint64(LANES - 1)) + np.uint64(1)):
            pairs[first + a] = x[at + a] * yb + xb * y[a]
        first += b + np.uint64(1)
    for i in range(np.uint64(2 * LANES)):
        pairs[first + i] = 0.0
