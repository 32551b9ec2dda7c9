"""Clipped sums and norms of a contribution over units, on the CPU, in one pass over the counts.

A unit's contribution is the mean over its eligible documents, those with at least `MINIMUM_LENGTH` tokens among the
words in use. It is formed over the union of their words and then clipped (docs/privacy.md, rule 1). The loop over units
is written once and compiled for each statistic. Each contribution has one more coordinate, its mass, an eighth of the
clip; the sum of masses normalises means (`clipping.quantise`).
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from dplda.base.compiled import compiled
from dplda.base.config import MINIMUM_LENGTH
from dplda.private.statistics.clipping import aligned, quantise, round_up, squared_norm
from dplda.private.statistics.statistic import Contribution, Statistic
from dplda.private.store.units import UnitCounts


class UnitSums:
    """Sums over units, and norms of units, of one contribution. Thread-safe."""

    def __init__(self, contribution: Contribution) -> None:
        f, statistic = contribution, contribution.statistic
        k = f.matrix.shape[1] - f.directions
        matrix, stride = flat_rows(f.matrix, f.directions)
        row, weights = statistic.row(k, f.directions), np.zeros(0)
        self._places = slice(len(f.weights)) if statistic.places is None else statistic.places(k, f.directions)
        if statistic.places is not None and (f.weights > 1).any():
            weights = np.zeros(row)
            weights[self._places] = f.weights
        self._sums = f.n_rows, max(row, len(f.weights))
        self._parameters = read_only(f.scale), read_only(matrix), weights
        self._shape = k, f.directions, stride, row, np.float32(f.alpha)
        self._by_table_row = statistic.layout.by_table_row
        self._loop = _loop_over_units(statistic)

    def total(self, counts: UnitCounts, chosen: np.ndarray, clip: float) -> tuple[np.ndarray, int]:
        """Sum the clipped contributions (n_rows, width) and the mass coordinates of the units `chosen`.

        `chosen` is int64; both sums are exact integers.
        """
        sums = np.zeros(self._sums, np.int64)
        mass = self._run(counts, chosen, clip, sums.reshape(-1), np.empty(0))
        return sums[:, self._places], int(mass)

    def finish(self, parts: tuple[Any, ...]) -> tuple[np.ndarray, int]:
        """Return the result for all units, given `parts`: what `total` returned, summed over all ranges.

        Here the result is `parts` itself; `ProductSums.finish` has to convert it.
        """
        total, mass = parts
        return total, mass

    def norms(self, counts: UnitCounts, chosen: np.ndarray) -> np.ndarray:
        """Return the norms that decide the clipping of the units `chosen` (int64); -1 where no document is eligible.

        Each is the norm of the unclipped contribution or, if the statistic has a `norm_bound` (see `Statistic`), its
        mean over the unit's documents, whichever is larger.
        """
        norms = np.empty(len(chosen))
        self._run(counts, chosen, 1.0, np.zeros(0, np.int64), norms)
        return norms

    def _check_rows(self, counts: UnitCounts, chosen: np.ndarray) -> None:
        """Raise `ValueError` unless the documents of `chosen` units have rows in the table: loops check no bounds."""
        sound = len(counts.rows) == len(counts.indptr) - 1
        if sound and len(chosen):
            rows = counts.rows[counts.unit_ptr[chosen.min()] : counts.unit_ptr[chosen.max() + 1]]
            sound = bool(((rows >= 0) & (rows < self._sums[0])).all())
        if not sound:
            raise ValueError("the documents are not those of this table")

    def _run(self, counts: UnitCounts, chosen: np.ndarray, clip: float, sums: np.ndarray, norms: np.ndarray) -> Any:
        if self._by_table_row:
            self._check_rows(counts, chosen)
        arrays = tuple(map(read_only, (*counts.arrays, counts.rows)))
        return self._loop(arrays, read_only(chosen), self._parameters, self._shape, self._sums[0], clip, sums, norms)


def flat_rows(matrix: np.ndarray, directions: int = 0) -> tuple[np.ndarray, int]:
    """Return `matrix` (n_words, k + directions) as flat rows on cache lines, and their stride.

    A row holds its first k numbers, padded with zeros to padded(k), and then the others, padded likewise.
    """
    n_words, k = matrix.shape[0], matrix.shape[1] - directions
    begin, stride = round_up(k), round_up(k) + round_up(directions)
    flat = aligned.py_func(n_words * stride)
    rows = flat.reshape(n_words, stride)
    rows[:, :k], rows[:, begin : begin + directions] = matrix[:, :k], matrix[:, k:]
    return flat, stride


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, so that numba compiles one signature: arrays received over a network are read-only."""
    view = array.view()
    view.flags.writeable = False
    return view


@cache
def _loop_over_units(statistic: Statistic) -> Any:
    """Compile `_loop` for one statistic; if the statistic is this package's, cache the code on disk under its name."""
    parts = {
        "_contribution": statistic.contribution,
        "_room": statistic.room,
        "_norm_bound": statistic.norm_bound or _no_bound,
        "_BOUNDED": statistic.norm_bound is not None,
        "_ONE_ROW": statistic.layout.one_row,
        "_BY_TABLE_ROW": statistic.layout.by_table_row,
        "_size": statistic.layout.size,
        "_merge": statistic.layout.merge,
        "_add": statistic.layout.add,
        "_layout_weights": statistic.layout.weights,
    }
    loop = FunctionType(_loop.__code__, {**_loop.__globals__, **parts}, _loop.__name__)
    loop.__qualname__ = "loop_" + "".join(c if c.isalnum() else "_" for c in statistic.name)
    loop.__module__ = statistic.name.partition(":")[0]
    return compiled(keep=statistic.is_named, error_model="numpy")(loop)


@compiled()
def _no_bound(words, counts, first, last, length, scale, amounts):
    return 0.0


# Placeholders for the parts of `_loop` that `_loop_over_units` takes from the statistic.
_contribution = _room = _norm_bound = _size = _merge = _add = _layout_weights = _no_bound
_BOUNDED = _ONE_ROW = _BY_TABLE_ROW = False


def _loop(arrays, units, parameters, shape, n_rows, clip, sums, norms):
    """Add the clipped lattice contributions of `units` (int64) to the flat, row-major `sums` (int64).

    If `norms` is not empty, nothing is summed; `norms` receives the result of `UnitSums.norms`. Returns the sum of the
    mass coordinates.
    """
    indptr, words, counts, unit_ptr, table_rows = arrays
    scale, matrix, row_weights = parameters
    k, directions, _, row, _ = shape
    n_words = len(scale)
    longest, most = _largest(indptr, unit_ptr, units, n_words)
    most = n_rows if _BY_TABLE_ROW else most
    rows, one = aligned(_size(most, row)), aligned(_size(longest, row))
    room = aligned(_room(k, directions, longest))
    slots, row_of = np.zeros(most, np.int32), np.full(n_rows if _BY_TABLE_ROW else n_words, -1, np.int32)
    amounts = np.zeros(n_words if _BOUNDED else 0, np.int64)
    weights = row_weights if _ONE_ROW else _layout_weights(most)
    mass_total = np.int64(0)
    for i in range(len(units)):
        used, bound, whole, eligible = 0, 0.0, False, _eligible(indptr, counts, unit_ptr, units[i])
        for n in range(unit_ptr[units[i]], unit_ptr[units[i] + 1]):
            first, last = indptr[n], indptr[n + 1]
            length = length_of(counts, first, last)
            if length < MINIMUM_LENGTH:
                continue
            names, begin, end = (table_rows, n, n + 1) if _BY_TABLE_ROW else (words, first, last)  # of its rows
            whole = eligible == 1 and (_ONE_ROW or _increasing(names, begin, end))  # nothing to merge
            _contribution(words, counts, first, last, float(length), scale, matrix, shape, room, rows if whole else one)
            if whole:
                used = 1 if _ONE_ROW else _take(names, begin, end, slots)
            else:
                used = _merge(names, begin, end, 1.0 / eligible, one, row, row_of, slots, used, rows)
            if _BOUNDED:
                bound += _norm_bound(words, counts, first, last, float(length), scale, amounts) / eligible
        size = _size(used, row)
        if len(norms):
            norms[i] = np.maximum(np.sqrt(squared_norm(rows, size, weights)), bound) if eligible else -1.0
        elif eligible:
            mass = quantise(rows, size, weights, clip, bound)
            if mass >= 0:
                mass_total += mass
                _add(rows, slots, used, row, n_words, sums)
        if not (_ONE_ROW or whole):
            _forget(slots, used, row_of)
    return mass_total


@compiled(keep=True)
def count_eligible(indptr, counts, unit_ptr, first, last):
    """Return the number of the units first..last-1 that have an eligible document."""
    found = 0
    for u in range(first, last):
        found += _eligible(indptr, counts, unit_ptr, u) > 0
    return found


@compiled()
def length_of(counts, first, last):
    """Return the number of tokens in the entries first..last-1."""
    length, at = np.int64(0), np.uint64(first)
    for e in range(np.uint64(last - first)):
        length += counts[at + e]
    return length


@compiled()
def _eligible(indptr, counts, unit_ptr, u):
    """Return the number of eligible documents of unit `u`."""
    eligible = 0
    for n in range(unit_ptr[u], unit_ptr[u + 1]):
        if length_of(counts, indptr[n], indptr[n + 1]) >= MINIMUM_LENGTH:
            eligible += 1
    return eligible


@compiled()
def _largest(indptr, unit_ptr, units, n_words):
    """Return the largest number of entries of a document, and an upper bound on the number of words of a unit."""
    longest, most = 1, 1
    for u in units:
        most = max(most, min(n_words, indptr[unit_ptr[u + 1]] - indptr[unit_ptr[u]]))
        for n in range(unit_ptr[u], unit_ptr[u + 1]):
            longest = max(longest, indptr[n + 1] - indptr[n])
    return longest, most


@compiled()
def _increasing(words, first, last):
    falls, at = 0, np.uint64(first)
    for e in range(np.uint64(max(last - first, 1) - 1)):
        falls += words[at + e] >= words[at + e + np.uint64(1)]
    return falls == 0


@compiled()
def _take(words, first, last, slots):
    """Record the words of a unit with a single document; returns their number."""
    at = np.uint64(first)
    for e in range(np.uint64(last - first)):
        slots[e] = words[at + e]
    return last - first


@compiled()
def _forget(slots, used, row_of):
    for i in range(used):
        row_of[slots[i]] = -1
