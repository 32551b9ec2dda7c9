"""Third moments of word counts: (iv), (v) and (iv') of the list in `dplda.private.statistics`, in this order.

y, R and Q are the sums of c w, c w w' and c w^3 over the words, with rows w of the whitening or of a scaled basis. A
tensor is stored in runs: run c holds the coordinates a <= b <= c, ordered by (b, a), padded to a multiple of `LANES`.

The projected moment (v) is clipped by the norm of the whole tensor over words, which is never formed: its norm is a sum
over the document's words.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST, LANES, add_four, add_scaled, clear, multiply_pairs, padded, round_up
from dplda.private.statistics.lda_moments import rising
from dplda.private.statistics.moments import four_pairs, pairs_length
from dplda.private.statistics.statistic import (
    ONE_ROW,
    SIGNED,
    Contribution,
    CudaTwin,
    Statistic,
    as_float32,
    equal_weights,
)


@compiled()
def _run(c):
    """Return the length of run `c`."""
    return padded((c + 1) * (c + 2) // 2)


@compiled()
def _tensor_room(k, directions, longest):
    """Return the size of the scratch space for a document, see `Statistic`."""
    return padded(k) + padded(4 * (k + 1)) + 6 * pairs_length(k) + k * padded(k)


@compiled(fastmath=FAST, error_model="numpy")
def _tensor_contribution(words, counts, first, last, length, scale, matrix, shape, room, out):
    """The contribution of a document, see `Statistic`."""
    k, _, stride, size, _ = shape
    n, begin = pairs_length(k), stride + padded(4 * (k + 1))
    y, factors, pairs, square = room[:stride], room[stride:begin], room[begin : begin + 6 * n], room[begin + 6 * n :]
    starts = 0, n, 2 * n, 3 * n
    clear(y, 0, stride)
    clear(pairs, 4 * n, n)
    clear(out, 0, size)
    for e in range(first, last, 4):
        four_pairs(words, e, last, matrix, k, stride, pairs, n)
        clear(factors, 0, 4 * (k + 1))
        for i in range(min(4, last - e)):
            share, at = np.float32(counts[e + i] / length), words[e + i] * stride
            add_scaled(share, matrix, at, y, 0, stride)
            _tensor_factors(share / np.float32(length), np.float32(length), matrix, at, k, i, factors)
        to = 0
        for c in range(k):
            x, t = factors, 4 * c
            add_four((x[t], x[t + 1], x[t + 2], x[t + 3]), starts, pairs, out, to, _run(c))
            to += _run(c)
        x, t = factors, 4 * k
        add_four((x[t], x[t + 1], x[t + 2], x[t + 3]), starts, pairs, pairs, 4 * n, n)
    _assemble(np.float32(length / (length - 1.0) * (length / (length - 2.0))), k, stride, n, y, pairs, square, out)


@compiled(fastmath=FAST, error_model="numpy")
def _tensor_factors(r, length, matrix, at, k, i, factors):
    """Fill `factors` for the `i`-th of four entries, by which its pair products are added to Q and to R.

    The factor for R is r = c / l^2. Those for Q are r / l times each of the k numbers of the word's row.
    """
    at, i = np.uint64(at), np.uint64(i)
    for c in range(np.uint64(k)):
        factors[np.uint64(4) * c + i] = r / length * matrix[at + c]
    factors[np.uint64(4 * k) + i] = r


@compiled(fastmath=FAST, error_model="numpy")
def _assemble(norm, k, stride, n, y, pairs, square, out):
    """Turn Q in `out` into `norm` * (y^3 - P(R, y) + 2 Q), run by run.

    y, R and Q are the module's sums divided by l, l^2 and l^3, and `norm` is l^2 / ((l - 1) (l - 2)). `pairs` has six
    parts of length `n`, each laid out as in `multiply_pairs`: the first is overwritten by the pair products of y, the
    fifth holds R, and the sixth is scratch space. `square` is scratch space, too, for R as a full matrix with rows of
    `stride` numbers.
    """
    R, products = np.uint64(4 * n), np.uint64(5 * n)
    at = R
    for b in range(k):
        for a in range(b + 1):
            square[a * stride + b] = square[b * stride + a] = pairs[at]
            at += np.uint64(1)
    multiply_pairs(y, 0, k, pairs, 0)
    to = np.uint64(0)
    for c in range(k):
        _mixed_pairs(square, c * stride, y, c + 1, pairs, products)
        yc, run = y[c], np.uint64(_run(c))
        for t in range(run):
            out[to + t] = norm * (yc * (pairs[t] - pairs[R + t]) - pairs[products + t] + np.float32(2.0) * out[to + t])
        to += run


@compiled(fastmath=FAST, error_model="numpy")
def _mixed_pairs(x, at, y, k, pairs, to):
    """Write x_a y_b + x_b y_a, a <= b < k, for x from `at` on, in the layout of `multiply_pairs`."""
    at, first = np.uint64(at), np.uint64(to)
    for b in range(np.uint64(k)):
        yb, xb = y[b], x[at + b]
        for a in range((b | np.uint64(LANES - 1)) + np.uint64(1)):
            pairs[first + a] = x[at + a] * yb + xb * y[a]
        first += b + np.uint64(1)
    for i in range(np.uint64(2 * LANES)):
        pairs[first + i] = 0.0


def _run_lengths(k: int) -> list[int]:
    return [round_up((c + 1) * (c + 2) // 2) for c in range(k)]


def _tensor_row(k: int, directions: int) -> int:
    """Total length of the runs."""
    return sum(_run_lengths(k))


def _tensor_places(k: int, directions: int) -> np.ndarray:
    """Positions in the runs of the coordinates a <= b <= c, row-major."""
    starts = np.cumsum([0, *_run_lengths(k)])
    a, b, c = rising(k)
    return np.asarray(starts[c] + b * (b + 1) // 2 + a)


THIRD_MOMENT = Statistic(
    name=f"{__name__}:THIRD_MOMENT",
    layout=ONE_ROW,
    replace_factor=SIGNED,
    contribution=_tensor_contribution,
    row=_tensor_row,
    room=_tensor_room,
    places=_tensor_places,
    cuda=CudaTwin("add_third_moment", lambda scale, X: third_moment(X), sides=3),
)


def third_moment(W: np.ndarray) -> Contribution:
    """(iv): E3(W, W, W) for W (n_words, k) with the scale absorbed, sum of shape (1, k (k + 1) (k + 2) / 6).

    The sum has the coordinates a <= b <= c in row-major order.
    """
    W = as_float32(W)
    return Contribution(THIRD_MOMENT, np.ones(len(W), np.float32), W, _symmetric_weights(W.shape[1]))


def _symmetric_weights(k: int) -> np.ndarray:
    """Multiplicities 1, 3, 6 of the coordinates a <= b <= c of a symmetric (k, k, k) tensor (T2)."""
    a, b, c = rising(k)
    return np.asarray(np.array([6, 3, 1])[(a == b).astype(int) + (b == c)])


@compiled(error_model="numpy")
def _whole_norm(words, counts, first, last, length, scale, amounts):
    """The norm of the whole tensor, in float64 and without cancellation. `amounts` (n_words,) must be, and stays, zero.

    The squares of coordinates at three, two and one distinct words are summed separately, by recurrences over distinct
    words. Let a = (s c)^2, u = a s^2 (c - 1)^2 and v = u s^2 (c - 2)^2, and let e3 be the third elementary symmetric
    polynomial. The square of l (l - 1) (l - 2) times the norm is 6 e3(a) + 3 (sum of u_i a_j over i != j) + (sum of v).
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
    cuda=CudaTwin("add_projected_third_moment", lambda scale, X: projected_third_moment(scale, X), sides=3),
)


def projected_third_moment(scale: np.ndarray, Q: np.ndarray) -> Contribution:
    """(v): E3(SQ, SQ, SQ), S = diag(scale), for orthonormal columns `Q` (n_words, k); stored like `third_moment`.

    A unit is clipped by the mean norm of its documents' whole tensors, an upper bound on the norm of its own tensor.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        W = as_float32(scale[:, None] * Q)
    return Contribution(PROJECTED_THIRD_MOMENT, as_float32(scale), W, _symmetric_weights(W.shape[1]))


@compiled()
def _room(k, directions, longest):
    return padded(k) + 2 * padded(directions)


@compiled(fastmath=FAST, error_model="numpy")
def _contribution(words, counts, first, last, length, scale, matrix, shape, room, out):
    """y (y_u^2 - r_u) - 2 y_u R u + 2 Q(., u, u), over l (l - 1) (l - 2), in a run of padded(k) for each u.

    Here y_u = y'u and r_u = u'R u. A row of `matrix` is a word's row w of W, followed by its products w_u = w'u with
    the vectors u. The code divides y by l, R by l^2 (`diagonals` are the r_u / l^2) and Q by l^3, and multiplies the
    result by l^2 / ((l - 1) (l - 2)). With shares x = c / l, the last two terms are then the sum over words of 2 x (w_u
    / l) (w_u / l - y_u / l) w.
    """
    k, directions, stride, _, _ = shape
    y, diagonals = room[:stride], room[stride:]
    run, part = padded(k), np.float32(1.0 / length)
    clear(y, 0, stride)
    clear(diagonals, 0, directions)
    clear(out, 0, directions * run)
    for e in range(first, last):
        share, at = np.float32(counts[e] / length), words[e] * stride
        add_scaled(share, matrix, at, y, 0, stride)
        for j in range(directions):
            diagonals[j] += share * part * matrix[at + run + j] * matrix[at + run + j]
    norm = np.float32(length / (length - 1.0) * (length / (length - 2.0)))
    document = words, counts, first, last, length
    for j in range(directions):
        _add_words(document, matrix, run, stride, j, y, out)
        along, to = y[run + j], np.uint64(j * run)
        outside = norm * (along * along - diagonals[j])
        for a in range(np.uint64(run)):
            out[to + a] = outside * y[a] + norm * out[to + a]


@compiled(fastmath=FAST, error_model="numpy")
def _add_words(document, matrix, run, stride, j, y, out):
    """Add the terms linear in the words' rows to run `j` of `out`, four entries at a time."""
    _, _, first, last, _ = document
    for e in range(first, last, 4):
        a, at_a = _factor(document, e, matrix, run, stride, j, y)
        b, at_b = _factor(document, e + 1, matrix, run, stride, j, y)
        c, at_c = _factor(document, e + 2, matrix, run, stride, j, y)
        d, at_d = _factor(document, e + 3, matrix, run, stride, j, y)
        add_four((a, b, c, d), (at_a, at_b, at_c, at_d), matrix, out, j * run, run)


@compiled(fastmath=FAST, error_model="numpy")
def _factor(document, e, matrix, run, stride, j, y):
    """The factor of entry `e` and the offset of its row; after the last entry, zero and the last entry's offset."""
    words, counts, _, last, length = document
    at = words[min(e, last - 1)] * stride
    if e >= last:
        return np.float32(0.0), at
    along = matrix[at + run + j] * np.float32(1.0 / length)
    return np.float32(2.0) * np.float32(counts[e] / length) * along * (along - y[run + j]), at


def _places(k: int, directions: int) -> np.ndarray:
    return np.asarray(round_up(k) * np.arange(directions)[:, None] + np.arange(k)).ravel()


THIRD_MOMENT_ALONG = Statistic(
    name=f"{__name__}:THIRD_MOMENT_ALONG",
    layout=ONE_ROW,
    replace_factor=SIGNED,
    contribution=_contribution,
    row=lambda k, directions: directions * round_up(k),
    room=_room,
    places=_places,
    cuda=CudaTwin("add_third_moment_along", lambda scale, X: third_moment_along(X, np.eye(X.shape[1]))),
)


def third_moment_along(W: np.ndarray, U: np.ndarray) -> Contribution:
    """(iv'): E3(W, W, W)(I, u, u) for `W` (n_words, k), scale absorbed, and each column u of `U` (k, r).

    The sum has shape (1, r k), k coordinates for each u.
    """
    k, r = U.shape
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = as_float32(np.hstack([W, W @ U]))
    scale = np.ones(len(W), np.float32)
    return Contribution(THIRD_MOMENT_ALONG, scale, matrix, equal_weights(r * k), directions=r)
