"""What a statistic must state, how a unit's contribution lies in memory, and a statistic with its parameters."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dplda.base.compiled import compiled
from dplda.base.software import digest
from dplda.private.statistics.clipping import add_scaled, clear


@dataclass(frozen=True, repr=False)
class Layout:
    """How a unit's contribution is laid out in memory, as compiled functions.

    A unit's words are numbered in the order of their first occurrence: `slots[i]` is word i, `row_of[w]` (n_words,) is
    the number of word w or -1, and `used` is the number of words so far. A row has `row` numbers.
    """

    one_row: bool
    """Whether the contribution has a single row regardless of the unit's words."""
    size: Any
    """``size(n, row)``: how many numbers the contribution of a unit of `n` words has."""
    merge: Any
    """``merge(words, first, last, share, one, row, row_of, slots, used, rows)``: add a document, with the entries
    first..last-1, to the contribution `rows` of its unit: `share` times the document's contribution `one`. Updates
    `slots` and `row_of` and returns the new `used`; with a single row it updates neither and returns 1."""
    add: Any
    """``add(rows, slots, used, row, n_words, sums)``: add a unit's integers to the flat `sums`."""
    weights: Any
    """``weights(most)``: integer weights of the contribution of a unit of `most` words; empty if all are 1."""
    columns: Callable[[int], np.ndarray] | None = None
    """``columns(n_words)``: the weights of the columns of the sum, where the sum is packed differently from a unit's
    contribution (the dense second moment)."""
    by_table_row: bool = False
    """Whether the sum has a row for each row of a table, and a document contributes to exactly one of them. Then read
    "row of the table" for "word" above; `row_of` is (n_rows,)."""


@compiled()
def _no_weights(most):
    """Return an empty array, which means that all weights are 1."""
    return np.zeros(0)


@compiled()
def _rows_size(n, row):
    return n * row


@compiled()
def _merge_rows(words, first, last, share, one, row, row_of, slots, used, rows):
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
def _add_rows(rows, slots, used, row, n_words, sums):
    if row == 1:  # avoids the inner loop
        for i in range(used):
            sums[np.uint64(slots[i])] += np.int64(rows[i])
        return
    for i in range(used):
        at, to = np.uint64(i * row), np.uint64(slots[i] * row)
        for a in range(np.uint64(row)):
            sums[to + a] += np.int64(rows[at + a])


@compiled()
def _one_size(n, row):
    return row


@compiled()
def _merge_one(words, first, last, share, one, row, row_of, slots, used, rows):
    if used == 0:
        clear(rows, 0, row)
    add_scaled(np.float32(share), one, 0, rows, 0, row)
    return 1


@compiled()
def _add_one(rows, slots, used, row, n_words, sums):
    for a in range(np.uint64(row)):
        sums[a] += np.int64(rows[a])


ROW_PER_WORD = Layout(False, _rows_size, _merge_rows, _add_rows, _no_weights)
ONE_ROW = Layout(True, _one_size, _merge_one, _add_one, _no_weights)
ROW_PER_TABLE_ROW = Layout(False, _rows_size, _merge_rows, _add_rows, _no_weights, by_table_row=True)


NONNEGATIVE, SIGNED = float(np.sqrt(2.0)), 2.0  # replace-one sensitivity over the clip (T1)


@compiled()
def _no_room(k, directions, longest):
    """No scratch space is needed."""
    return 0


@dataclass(frozen=True)
class CudaTwin:
    """The CUDA kernel of a statistic."""

    kernel: str
    """A function of unit_sums.cu."""
    example: Callable[[np.ndarray, np.ndarray], Contribution]
    """A contribution for a scale (n_words,) and a matrix (n_words, k), on which a GPU is tested before a run."""
    sides: int = 0
    """2 or 3 if the coordinates of a symmetric array are computed in tiles of that dimension, else 0."""
    vectors: int = 1
    """Number of vectors, as long as a row of the matrix, in a block's shared memory."""
    threads: int | None = None
    """Number of threads of a block; by default one for each tile or column."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Statistic:
    """A function of one document whose values are averaged over a unit, clipped and summed over units.

    Each document is computed separately, in the order of its own words, so that removing a unit cannot change another
    unit's integers (docs/privacy.md, section 5). Divisions follow NumPy: an undefined quotient is inf or nan, and its
    unit contributes nothing; an exception would reveal the unit (rule 3). Numbers are float32. Counts c enter as shares
    c / l, which keeps the powers of long documents in range. k and `directions` are those of the `Contribution`.
    """

    name: str
    """``module:ATTRIBUTE``, where this object can be imported from."""
    layout: Layout
    replace_factor: float
    """The sensitivity over the clip when one unit is replaced (T1): `NONNEGATIVE` if no two documents' contributions
    have a negative inner product, otherwise `SIGNED`."""
    contribution: Any
    """``contribution(words, counts, first, last, length, scale, matrix, shape, room, out)``, compiled: write the
    contribution of the document with the entries first..last-1 and `length` tokens to `out`, in the order of `layout`.
    `scale` (n_words,) and `matrix` (flat, padded rows of `stride` numbers) are those of the `Contribution`, and `shape`
    is (k, directions, stride, row, alpha). The function writes all rows, and reads only parts of `room` and `out` that
    it wrote: the rest may hold another unit's numbers."""
    row: Callable[[int, int], int]
    """``row(k, directions)``: how many numbers a row of `out` has."""
    room: Any = _no_room
    """``room(k, directions, longest)``, compiled: how many numbers of scratch space documents of at most `longest`
    entries need."""
    places: Callable[[int, int], np.ndarray] | None = None
    """``places(k, directions)``: the positions of the coordinates, if all of them are in one row."""
    norm_bound: Any = None
    """``norm_bound(words, counts, first, last, length, scale, amounts)``, compiled: a unit is clipped as if its norm
    were at least the mean of its documents' bounds. `amounts` (n_words,) int64 must stay zero after each call."""
    cuda: CudaTwin | None = None

    @property
    def is_named(self) -> bool:
        """Whether `name` imports this very object; false for an altered copy of a statistic that kept its name."""
        try:
            return pkgutil.resolve_name(self.name) is self
        except (ValueError, ImportError, AttributeError):
            return False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: each worker of a cluster compiles its own code, from an equal file (rule 12).

        Raises `TypeError` if the name leads to another statistic.
        """
        if not self.is_named:
            raise TypeError(f"no statistic of this kind is found at {self.name}")
        return _load, (self.name, _source(self.name))


def _load(name: str, source: str) -> Any:
    if _source(name) != source:
        raise ImportError(f"A worker has another version of {name}.")
    return pkgutil.resolve_name(name)


@cache
def _source(name: str) -> str:
    """Return a digest of the file in which the statistic `name` is defined."""
    file = Path(inspect.getfile(pkgutil.resolve_name(name.partition(":")[0])))
    return digest([file], file.parent)


@dataclass(frozen=True, eq=False)
class Contribution:
    """A `statistic` with the public or released arrays that parametrise it; its sum over units is (n_rows, width)."""

    statistic: Statistic
    scale: np.ndarray
    """(n_words,) float32: for most statistics the word scale s (ones if unused); the reference frequencies in (viii)
    and (xii), and the numbers of the listed words in (x) and (xi)."""
    matrix: np.ndarray
    """(n_words, k + directions) float32. The first k columns are X, W or the topics; in (x) and (xi) the places of
    words among the first words of each topic. The last `directions` columns are W u for the vectors u in (iv'), and
    the centred -log r in (xii)."""
    weights: np.ndarray
    """(width,), the integer multiplicities of symmetric coordinates: with them the norm is the Frobenius norm of the
    full array (T2)."""
    alpha: float = 0.0
    """The prior of the E-step."""
    directions: int = 0
    table_rows: int = 0
    """The number of rows of a table."""

    @property
    def n_rows(self) -> int:
        """The number of rows of the sum: one, one per word, or one per row of a table."""
        if self.statistic.layout.by_table_row:
            return self.table_rows
        return 1 if self.statistic.layout.one_row else len(self.scale)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the sum, (n_rows, width)."""
        return self.n_rows, len(self.weights)

    def is_sound(self, n_words: int) -> bool:
        """Whether loops over `n_words` words stay inside the arrays, and clipping and noise use the same weights."""
        arrays = self.scale, self.matrix
        if [array.ndim for array in (*arrays, self.weights)] != [1, 2, 1]:
            return False
        if not np.isdtype(self.weights.dtype, "signed integer"):
            return False
        k = self.matrix.shape[1] - self.directions
        if {len(array) for array in arrays} != {n_words} or k < 1 or self.directions < 0:
            return False
        layout, row, places = self.statistic.layout, self.statistic.row(k, self.directions), self.statistic.places
        if places is not None:
            at = np.unique(places(k, self.directions))
            inside = layout.one_row and len(at) == len(self.weights) and 0 <= at.min() <= at.max() < row
            return bool(inside and self.weights.min() >= 1)
        if layout.columns is not None:
            return np.array_equal(self.weights, layout.columns(n_words))
        return 1 <= len(self.weights) <= row and bool((self.weights == 1).all())


def equal_weights(width: int) -> np.ndarray:
    """Return weights of 1 for each of `width` columns."""
    return np.ones(width, np.int64)


def as_float32(array: np.ndarray) -> np.ndarray:
    """Convert `array` for the kernels. Values that overflow become infinite; units that use them contribute nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)
