"""The loop that clips, rounds and sums contributions unit by unit, in one pass over the counts.

A unit's contribution is the mean over its eligible documents, formed over the union of their words before it is
clipped (docs/privacy.md, rule 1).
"""

from __future__ import annotations

import numpy as np

from dplda.compute.compiled import compiled
from dplda.compute.lattice import quantise, squared_norm
from dplda.compute.loops import add_scaled, aligned, clear, padded
from dplda.moments.contributions import CORE, SECOND, SINGLE, THIRD_ALONG, THIRD_PROJECTED
from dplda.moments.kernels import compute_contribution, flat_rows, row_length, scratch_sizes, tensor_runs
from dplda.moments.second_moment_dense import add_pairs, merge_pairs, pair_weights, triangle
from dplda.moments.tensor_norm import whole_norm
from dplda.settings import MINIMUM_LENGTH


@compiled(error_model="numpy")
def accumulate(kind, indptr, words, counts, unit_ptr, units, scale, matrix, directions, alpha, clip, total, norms):
    """Add the clipped lattice contributions of `units` (int64) to `total`, int64 (n_rows, width).

    With as many `norms` as units nothing is summed, and each receives the unclipped norm of its unit, -1 where no
    document is eligible. `scale` (n_words,) and `matrix` (n_words, k + directions) are float32. Returns the sum of the
    mass coordinates.
    """
    n_words, k = len(matrix), matrix.shape[1] - directions
    stride, row = padded(k) + padded(directions), row_length(kind, k, directions)
    single = kind in SINGLE
    longest, most = _largest(indptr, unit_ptr, units, n_words)
    n_pairs, n_square = scratch_sizes(kind, k, directions, longest)
    rows, one = aligned(_size(kind, most, row)), aligned(_size(kind, longest, row))
    flat, starts = flat_rows(matrix, directions), tensor_runs(k)
    slots, row_of = np.zeros(most, np.int32), np.full(n_words, -1, np.int32)
    prior, y, theta, gamma = np.full(stride, np.float32(alpha)), aligned(stride), aligned(stride), aligned(stride)
    factors, pairs, square = aligned(4 * (k + 1)), aligned(n_pairs), aligned(n_square)
    amounts = np.zeros(n_words if kind == THIRD_PROJECTED else 0, np.int64)
    weights = pair_weights(most) if kind == SECOND else _padded_weights(kind, k, row, starts)
    sums = _room_for_sums(kind, row, total, norms)
    mass_total = np.int64(0)
    for i in range(len(units)):
        used, bound, whole, eligible = 0, 0.0, False, _eligible(indptr, counts, unit_ptr, units[i])
        for n in range(unit_ptr[units[i]], unit_ptr[units[i] + 1]):
            first, last = indptr[n], indptr[n + 1]
            length = length_of(counts, first, last)
            if length < MINIMUM_LENGTH:
                continue
            whole = eligible == 1 and (single or _increasing(words, first, last))  # nothing to merge with
            compute_contribution(
                kind, words, counts, first, last, float(length), scale, flat, k, directions, stride, starts, prior,
                y, factors, pairs, square, theta, gamma, rows if whole else one,
            )  # fmt: skip
            if whole:
                used = _take(words, first, last, single, slots)
            elif kind == SECOND:
                used = merge_pairs(words, first, last, 1.0 / eligible, one, row_of, slots, used, rows)
            else:
                used = _merge(words, first, last, single, 1.0 / eligible, one, row, row_of, slots, used, rows)
            if kind == THIRD_PROJECTED:
                bound += whole_norm(words, counts, first, last, float(length), scale, amounts) / eligible
        size = _size(kind, used, row)
        if len(norms):
            norms[i] = np.maximum(np.sqrt(squared_norm(rows, size, weights)), bound) if eligible else -1.0
        elif eligible:
            mass = quantise(rows, size, weights, clip, bound)
            if mass >= 0:
                mass_total += mass
                if kind == SECOND:
                    add_pairs(rows, slots, used, n_words, sums)
                else:
                    _add_rows(rows, slots, used, row, sums)
        if not (single or whole):
            _forget(slots, used, row_of)
    if not len(norms):
        _unpad(kind, k, row, starts, sums, total)
    return mass_total


@compiled()
def count_eligible(indptr, counts, unit_ptr, first, last):
    """How many of the units first..last-1 have a document that may contribute."""
    found = 0
    for u in range(first, last):
        found += _eligible(indptr, counts, unit_ptr, u) > 0
    return found


@compiled()
def length_of(counts, first, last):
    """Tokens of the document of the entries first..last-1."""
    length, at = np.int64(0), np.uint64(first)
    for e in range(np.uint64(last - first)):
        length += counts[at + e]
    return length


@compiled()
def _eligible(indptr, counts, unit_ptr, u):
    """Number of documents of unit `u` that may contribute."""
    eligible = 0
    for n in range(unit_ptr[u], unit_ptr[u + 1]):
        if length_of(counts, indptr[n], indptr[n + 1]) >= MINIMUM_LENGTH:
            eligible += 1
    return eligible


@compiled()
def _largest(indptr, unit_ptr, units, n_words):
    """The most entries of a document, and the most words that a unit may have."""
    longest, most = 1, 1
    for u in units:
        most = max(most, min(n_words, indptr[unit_ptr[u + 1]] - indptr[unit_ptr[u]]))
        for n in range(unit_ptr[u], unit_ptr[u + 1]):
            longest = max(longest, indptr[n + 1] - indptr[n])
    return longest, most


@compiled()
def _size(kind, n, row):
    """How many numbers the contribution of `n` words takes."""
    if kind == SECOND:
        return triangle(n)
    return row if kind in SINGLE else n * row


@compiled()
def _room_for_sums(kind, row, total, norms):
    """Zeros for the padded sums, where there are to be any; a dense second moment is added to `total` itself."""
    if kind == SECOND:
        return total.reshape(-1)
    return np.zeros(0 if len(norms) else row if kind in SINGLE else len(total) * row, np.int64)


@compiled()
def _increasing(words, first, last):
    falls, at = 0, np.uint64(first)
    for e in range(np.uint64(max(last - first, 1) - 1)):
        falls += words[at + e] >= words[at + e + np.uint64(1)]
    return falls == 0


@compiled()
def _take(words, first, last, single, slots):
    """Let the rows of a unit be those of its only document; returns their number."""
    if single:
        return 1
    at = np.uint64(first)
    for e in range(np.uint64(last - first)):
        slots[e] = words[at + e]
    return last - first


@compiled()
def _merge(words, first, last, single, share, one, row, row_of, slots, used, rows):
    """Add `share` times the rows `one` of a document to the unit's, one a distinct word; returns their number."""
    if single:
        if used == 0:
            clear(rows, 0, row)
        add_scaled(np.float32(share), one, 0, rows, 0, row)
        return 1
    for e in range(first, last):
        w = words[e]
        if row_of[w] < 0:
            row_of[w] = used
            slots[used] = w
            clear(rows, used * row, row)
            used += 1
        add_scaled(np.float32(share), one, (e - first) * row, rows, row_of[w] * row, row)
    return used


@compiled()
def _forget(slots, used, row_of):
    for i in range(used):
        row_of[slots[i]] = -1


@compiled()
def _add_rows(rows, slots, used, row, sums):
    """Add the integers of each row to those of its word."""
    if row == 1:  # no loop within a row
        for i in range(used):
            sums[np.uint64(slots[i])] += np.int64(rows[i])
        return
    for i in range(used):
        at, to = np.uint64(i * row), np.uint64(slots[i] * row)
        for a in range(np.uint64(row)):
            sums[to + a] += np.int64(rows[at + a])


@compiled()
def _padded_weights(kind, k, row, starts):
    """The integer weights of a single row's places, zero where it is padded; none where all are one."""
    if kind == THIRD_ALONG or kind not in SINGLE:
        return np.zeros(0)
    weights = np.zeros(row)
    for c in range(k):
        for b in range(c + 1):
            if kind == CORE:
                weights[c * (c + 1) // 2 + b] = 1.0 if b == c else 2.0
                continue
            for a in range(b + 1):
                equal = int(a == b) + int(b == c)
                weights[starts[c] + b * (b + 1) // 2 + a] = 1.0 if equal == 2 else 3.0 if equal == 1 else 6.0
    return weights


@compiled()
def _unpad(kind, k, row, starts, sums, total):
    """Add the padded `sums` to `total`, whose coordinates are ordered as in `Contribution`."""
    if kind == SECOND:
        return  # it is there already
    if kind not in SINGLE:
        total += sums.reshape((len(total), row))[:, : total.shape[1]]
        return
    if kind == THIRD_ALONG:
        for t in range(total.shape[1]):
            total[0, t] += sums[t // k * padded(k) + t % k]
        return
    t = 0
    for a in range(k):
        for b in range(a, k):
            if kind == CORE:
                total[0, t] += sums[b * (b + 1) // 2 + a]
                t += 1
                continue
            for c in range(b, k):
                total[0, t] += sums[starts[c] + b * (b + 1) // 2 + a]
                t += 1
