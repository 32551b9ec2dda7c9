"""Compiled per-document contributions and the loop that clips, rounds and sums them unit by unit.

Every function works on one document (or one unit) by itself, in the order of its own words, so that removing a
unit cannot change another unit's integers (docs/privacy.md, section 5). Divisions follow NumPy: a quotient that does
not exist is inf or nan, which makes its unit contribute nothing, where an exception would tell of it (rule 3).
"""

from __future__ import annotations

import numpy as np

from dplda.compute.compiled import compiled
from dplda.compute.lattice import FAST, quantise, squared_norm
from dplda.moments.contributions import CORE, EXPECTED, FIRST, SECOND_TIMES, THIRD
from dplda.settings import MINIMUM_LENGTH

E_STEPS = 15  # fixed, data-independent number of coordinate-ascent steps inside one E-step


@compiled(fastmath=FAST, error_model="numpy")
def _project(words: np.ndarray, counts: np.ndarray, scale: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    y[:] = 0.0
    for e in range(len(words)):
        h = scale[words[e]] * counts[e]
        for a in range(X.shape[1]):
            y[a] += h * X[words[e], a]


@compiled(fastmath=FAST, error_model="numpy")
def _first(words, counts, length, scale, out):
    for e in range(len(words)):
        out[e, 0] = scale[words[e]] * counts[e] / length


@compiled(fastmath=FAST, error_model="numpy")
def _second_times(words, counts, length, scale, X, y, out):
    _project(words, counts, scale, X, y)
    pairs = length * (length - 1.0)
    for e in range(len(words)):
        w = words[e]
        h = scale[w] * counts[e] / pairs
        diagonal = scale[w] * scale[w] * counts[e] / pairs
        for a in range(X.shape[1]):
            out[e, a] = h * y[a] - diagonal * X[w, a]


@compiled(fastmath=FAST, error_model="numpy")
def _core(words, counts, length, scale, X, y, out):
    _project(words, counts, scale, X, y)
    p = X.shape[1]
    pairs = length * (length - 1.0)
    t = 0
    for a in range(p):
        for b in range(a, p):
            out[0, t] = y[a] * y[b] / pairs
            t += 1
    for e in range(len(words)):
        w = words[e]
        diagonal = scale[w] * scale[w] * counts[e] / pairs
        t = 0
        for a in range(p):
            xa = diagonal * X[w, a]
            for b in range(a, p):
                out[0, t] -= xa * X[w, b]
                t += 1


@compiled(fastmath=FAST, error_model="numpy")
def _third(words, counts, length, W, y, R, out):
    k = W.shape[1]
    y[:] = 0.0
    R[:, :] = 0.0
    out[0, :] = 0.0
    for e in range(len(words)):
        row = W[words[e]]
        for a in range(k):
            ca = counts[e] * row[a]
            y[a] += ca
            for b in range(k):
                R[a, b] += ca * row[b]
        t = 0
        for a in range(k):
            ca = 2.0 * counts[e] * row[a]
            for b in range(a, k):
                cab = ca * row[b]
                for c in range(b, k):
                    out[0, t] += cab * row[c]
                    t += 1
    triples = length * (length - 1.0) * (length - 2.0)
    t = 0
    for a in range(k):
        for b in range(a, k):
            yab = y[a] * y[b] - R[a, b]
            for c in range(b, k):
                out[0, t] = (out[0, t] + yab * y[c] - R[a, c] * y[b] - R[b, c] * y[a]) / triples
                t += 1


@compiled(fastmath=FAST, error_model="numpy")
def exp_digamma(x: float) -> float:
    """exp(digamma(x)) for x > 0, by recurrence to x >= 6 and the asymptotic series; relative error below 1e-9.

    Anything else gives nan, never an exception or an endless recurrence: the unit then contributes nothing.
    """
    if not x > 0.0:
        return np.nan
    shift = 0.0
    while x < 6.0:
        shift += 1.0 / x
        x += 1.0
    f = 1.0 / (x * x)
    series = f * (1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - f / 132))))
    return float(np.exp(np.log(x) - 0.5 / x - series - shift))


@compiled(fastmath=FAST, error_model="numpy")
def posterior(words, counts, word_weights, alpha, theta, gamma):
    """Variational posterior of one document for fixed `word_weights` (Blei, Ng, Jordan 2003, section 5.2).

    Fills `gamma` (k,) with the Dirichlet parameters and `theta` (k,) with exp(E log theta); `alpha` is (k,).
    """
    k = word_weights.shape[1]
    theta[:] = 1.0
    for _ in range(E_STEPS):
        gamma[:] = alpha
        for e in range(len(words)):
            w = words[e]
            total = 1e-300
            for z in range(k):
                total += theta[z] * word_weights[w, z]
            share = counts[e] / total
            for z in range(k):
                gamma[z] += share * theta[z] * word_weights[w, z]
        for z in range(k):
            theta[z] = exp_digamma(gamma[z])


@compiled(fastmath=FAST, error_model="numpy")
def _expected(words, counts, scale, word_weights, alpha, theta, gamma, out):
    posterior(words, counts, word_weights, alpha, theta, gamma)
    k = word_weights.shape[1]
    for e in range(len(words)):
        w = words[e]
        total = 1e-300
        for z in range(k):
            out[e, z] = theta[z] * word_weights[w, z]
            total += out[e, z]
        for z in range(k):
            out[e, z] *= scale[w] * counts[e] / total


@compiled()
def _document(kind, words, counts, length, scale, matrix, alpha, y, z, R, out):
    if kind == FIRST:
        _first(words, counts, length, scale, out)
    elif kind == SECOND_TIMES:
        _second_times(words, counts, length, scale, matrix, y, out)
    elif kind == CORE:
        _core(words, counts, length, scale, matrix, y, out)
    elif kind == THIRD:
        _third(words, counts, length, matrix, y, R, out)
    elif kind == EXPECTED:
        _expected(words, counts, scale, matrix, alpha, y, z, out)


@compiled()
def _merge(rows, words, n_rows, share, slot_of, slots, used, buffer):
    """Add share * rows to the unit's buffer, one slot a distinct word; returns the number of slots in use."""
    for e in range(n_rows):
        row = words[e]
        if slot_of[row] < 0:
            slot_of[row] = used
            slots[used] = row
            buffer[used, :] = 0.0
            used += 1
        slot = slot_of[row]
        for a in range(buffer.shape[1]):
            buffer[slot, a] += share * rows[e, a]
    return used


@compiled()
def accumulate(kind, indptr, words, counts, unit_ptr, first, last, scale, matrix, alpha, weights, clip, total, norms):
    """Sum the clipped lattice contributions of the units first..last-1 into `total`, or write their norms.

    `total` is int64 (n_rows, width); with ``len(norms) > 0`` nothing is summed and norms[u] receives the
    unclipped norm of unit u (-1 where no document is eligible). Returns the sum of mass coordinates.
    """
    n_rows, width = total.shape
    dense = kind == CORE or kind == THIRD  # one row, whatever the words
    y = np.empty(matrix.shape[1])
    z = np.empty(matrix.shape[1])
    prior = np.full(matrix.shape[1], alpha)
    R = np.empty((matrix.shape[1], matrix.shape[1])) if kind == THIRD else np.empty((1, 1))
    longest = 1
    if not dense:
        for n in range(unit_ptr[first], unit_ptr[last]):
            longest = max(longest, indptr[n + 1] - indptr[n])
    most = 1 if dense else min(n_rows, max(longest, 64))
    document = np.empty((longest, width))
    buffer = np.empty((most, width))
    rounded = np.empty((most, width), np.int64)
    slots = np.zeros(n_rows, np.int32)
    slot_of = np.full(n_rows, -1, np.int32)
    one_row = np.zeros(1, np.int32)
    mass_total = np.int64(0)
    for u in range(first, last):
        eligible = 0
        for n in range(unit_ptr[u], unit_ptr[u + 1]):
            if counts[indptr[n] : indptr[n + 1]].sum() >= MINIMUM_LENGTH:
                eligible += 1
        if eligible == 0:
            if len(norms) > 0:
                norms[u] = -1.0
            continue
        used = 0
        for n in range(unit_ptr[u], unit_ptr[u + 1]):
            doc_words = words[indptr[n] : indptr[n + 1]]
            doc_counts = counts[indptr[n] : indptr[n + 1]]
            length = float(doc_counts.sum())
            if length < MINIMUM_LENGTH:
                continue
            _document(kind, doc_words, doc_counts, length, scale, matrix, prior, y, z, R, document)
            targets = one_row if dense else doc_words
            if used + len(targets) > len(buffer) and len(buffer) < n_rows:
                most = min(n_rows, 2 * (used + len(targets)))
                grown = np.empty((most, width))
                grown[:used] = buffer[:used]
                buffer = grown
                rounded = np.empty((most, width), np.int64)
            used = _merge(document, targets, len(targets), 1.0 / eligible, slot_of, slots, used, buffer)
        for slot in range(used):
            slot_of[slots[slot]] = -1
        if len(norms) > 0:
            norms[u] = np.sqrt(squared_norm(buffer, used, weights))
            continue
        mass = quantise(buffer, used, weights, 1.0, clip, rounded)
        if mass < 0:
            continue
        mass_total += mass
        for slot in range(used):
            for a in range(width):
                total[slots[slot], a] += rounded[slot, a]
    return mass_total
