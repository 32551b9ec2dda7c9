"""(iv') The whitened third moment contracted with vectors u in two of its three modes.

It is (y (y'u)^2 - 2 (y'u) R u - (u'R u) y + 2 Q(., u, u)) / (l (l - 1) (l - 2)), with y, R and Q as in `third_moment`.
"""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import FAST
from dplda.private.statistics.loops import add_four, add_scaled, clear, padded, round_up
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
    cuda=CudaTwin("add_third_moment_along"),
)


@np.errstate(over="ignore", invalid="ignore")
def third_moment_along(W: np.ndarray, U: np.ndarray) -> Contribution:
    """(iv'): E3(W, W, W)(I, u, u) for `W` (n_words, k), scale absorbed, and each column u of `U` (k, r).

    The sum has shape (1, r k), k coordinates for each u.
    """
    k, r = U.shape
    matrix = as_float32(np.hstack([W, W @ U]))
    scale = np.ones(len(W), np.float32)
    return Contribution(THIRD_MOMENT_ALONG, scale, matrix, equal_weights(r * k), directions=r)
