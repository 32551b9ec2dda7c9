"""What a statistic states about itself, where the numbers of a unit lie, and a statistic with its parameters."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dplda.numerics.compiled import compiled, digest
from dplda.numerics.loops import add_scaled, clear


@dataclass(frozen=True, repr=False)
class Layout:
    """How a unit's numbers are kept; all but `one_row` are compiled.

    `size(n, row)` is how many numbers `n` words take, in rows of `row`. `merge(words, first, last, share, one, row,
    row_of, slots, used, rows)` adds `share` times the numbers `one` of a document to the unit's, and returns how many
    words the unit has then. `add(rows, slots, used, row, n_words, sums)` adds a unit's integers to the flat `sums`.
    `weights(most)` are the integer weights of the numbers of a unit of `most` words; none stand for ones. Then
    `columns(n_words)` are those of the columns of the sum, where a unit's numbers do not lie as they do in it.
    """

    one_row: bool
    size: Any
    merge: Any
    add: Any
    weights: Any
    columns: Callable[[int], np.ndarray] | None = None


@compiled()
def no_weights(most):
    """All ones."""
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
    if row == 1:  # no loop within a row
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


ROW_PER_WORD = Layout(False, _rows_size, _merge_rows, _add_rows, no_weights)
ONE_ROW = Layout(True, _one_size, _merge_one, _add_one, no_weights)


NONNEGATIVE, SIGNED = float(np.sqrt(2.0)), 2.0  # replace-one sensitivity over the clip (T1)


@compiled()
def no_room(k, directions, longest):
    """No scratch space."""
    return 0


@dataclass(frozen=True)
class CudaTwin:
    """The CUDA kernel of a statistic, a function of unit_sums.cu.

    `sides` is 2 or 3 where coordinates of a symmetric array are computed in tiles of that many sides, else 0; `vectors`
    is how many vectors as long as a row of the matrix a block shares; `threads` are those of a block, by default one
    for each tile or column.
    """

    kernel: str
    sides: int = 0
    vectors: int = 1
    threads: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Statistic:
    """A function of one document whose values are averaged over a unit, clipped and summed over units.

    `name` is ``module:ATTRIBUTE``, where this object is found. `contribution` is compiled:
    ``contribution(words, counts, first, last, length, scale, matrix, shape, room, out)`` writes what the document of
    the entries first..last-1 contributes into `out`, in rows of `row(k, directions)` numbers that the `layout` places.
    It writes all of its rows, and reads of `room` and `out` only what it wrote: before, they hold another unit's.
    `length` is its number of tokens, `scale` (n_words,) and `matrix` (flat, rows of `stride`) belong to the
    `Contribution`, and `shape` is (k, directions, stride, row, alpha). `room` is scratch space of
    `room(k, directions, longest)` numbers for documents of at most `longest` entries.

    A document is computed by itself, in the order of its own words, so that removing a unit cannot change another
    unit's integers (docs/privacy.md, section 5). Divisions follow NumPy: a quotient that does not exist is inf or nan,
    which makes its unit contribute nothing, where an exception would reveal it (rule 3). Numbers are float32; counts c
    enter as shares c / l, which keeps the powers of a long document in range.

    `replace_factor` is the sensitivity over the clip when one unit is replaced (T1): `NONNEGATIVE` if no two documents'
    contributions have a negative inner product, otherwise `SIGNED`.

    Where all coordinates are in one row, `places(k, directions)` says where each of them lies in it. A unit is clipped
    as if its norm were at least the mean of its documents' `norm_bound`, which is compiled, if there is one:
    ``norm_bound(words, counts, first, last, length, scale, amounts)``, with `amounts` (n_words,) int64 left zero.
    """

    name: str
    layout: Layout
    replace_factor: float
    contribution: Any
    row: Callable[[int, int], int]
    room: Any = no_room
    places: Callable[[int, int], np.ndarray] | None = None
    norm_bound: Any = None
    cuda: CudaTwin | None = None

    @property
    def is_named(self) -> bool:
        """Whether its name leads to it, and not to the statistic of which it is an altered copy."""
        try:
            return pkgutil.resolve_name(self.name) is self
        except (ValueError, ImportError, AttributeError):
            return False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: workers of a cluster compile their own, from the same file or not at all (rule 12).

        Raises `TypeError` if it has another's name.
        """
        if not self.is_named:
            raise TypeError(f"no statistic of this kind is found at {self.name}")
        return _found, (self.name, _source(self.name))


def _found(name: str, source: str) -> Any:
    if _source(name) != source:
        raise ImportError(f"A worker has another version of {name}.")
    return pkgutil.resolve_name(name)


@cache
def _source(name: str) -> str:
    """What stands in the file of the statistic `name`."""
    return digest([Path(inspect.getfile(pkgutil.resolve_name(name.partition(":")[0])))])


@dataclass(frozen=True, eq=False)
class Contribution:
    """A `statistic` with the public or released arrays that parametrise it; its sum over units is (n_rows, width).

    `scale` (n_words,) is s (ones where unused), `matrix` (n_words, width of X, W or topics), both float32, `alpha` the
    prior of the E-step, `weights` (width,) the integer column weights, the multiplicities of symmetric coordinates, in
    which its norm is the Frobenius norm of the full array (T2), and `directions` how many of the last columns of
    `matrix` are W u for the vectors u of (iv').
    """

    statistic: Statistic
    scale: np.ndarray
    matrix: np.ndarray
    weights: np.ndarray
    alpha: float = 0.0
    directions: int = 0

    @property
    def n_rows(self) -> int:
        """Rows of the sum: one, or one a word."""
        return 1 if self.statistic.layout.one_row else len(self.scale)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the sum, (n_rows, width)."""
        return self.n_rows, len(self.weights)

    def is_sound(self, n_words: int) -> bool:
        """Whether loops over `n_words` words stay inside its arrays, and clip a unit in the weights of its noise."""
        arrays = self.scale, self.matrix
        if [array.ndim for array in (*arrays, self.weights)] != [1, 2, 1] or self.weights.dtype.kind != "i":
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
    """The weights of columns that are no symmetric coordinates, (width,)."""
    return np.ones(width, np.int64)


def as_float32(array: np.ndarray) -> np.ndarray:
    """As the kernels read it; what float32 cannot hold is infinite, and a unit that meets it contributes nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)
