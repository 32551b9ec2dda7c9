"""What a statistic states about itself, and a statistic with its parameters."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplda.compute.compiled import compiled
from dplda.statistics.layouts import Layout

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
    `length` is its number of tokens, `scale` (n_words,) and `matrix` (flat, rows of `stride`) belong to the
    `Contribution`, and `shape` is (k, directions, stride, row, alpha). `room` is scratch space of
    `room(k, directions, longest)` numbers for documents of at most `longest` entries.

    A document is computed by itself, in the order of its own words, so that removing a unit cannot change another
    unit's integers (docs/privacy.md, section 5). Divisions follow NumPy: a quotient that does not exist is inf or nan,
    which makes its unit contribute nothing, where an exception would reveal it (rule 3). Numbers are float32; counts c
    enter as shares c / l, which keeps the powers of a long document in range.

    Where all coordinates are in one row, `places(k, directions)` says where each of them lies in it. A unit is clipped
    as if its norm were at least the mean of its documents' `norm_bound`, which is compiled, if there is one:
    ``norm_bound(words, counts, first, last, length, scale, amounts)``, with `amounts` (n_words,) int64 left zero.
    """

    name: str
    layout: Layout
    contribution: Any
    row: Callable[[int, int], int]
    room: Any = no_room
    places: Callable[[int, int], np.ndarray] | None = None
    norm_bound: Any = None
    cuda: CudaTwin | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: workers of a cluster compile their own."""
        return pkgutil.resolve_name, (self.name,)


@dataclass(frozen=True, eq=False)
class Contribution:
    """A `statistic` with the public or released arrays that parametrise it; its sum over units is (n_rows, width).

    `scale` (n_words,) is s (ones where unused), `matrix` (n_words, width of X, W or topics), both float32, `alpha` the
    prior of the E-step, `weights` (width,) the integer column weights, the multiplicities of symmetric coordinates, in
    which its norm is the Frobenius norm of the full array (T2), `n_rows` the rows of the sum (n_words, or 1),
    `replace_factor` the sensitivity over the clip when one unit is replaced (T1), and `directions` how many of the last
    columns of `matrix` are W u for the vectors u of (iv').
    """

    statistic: Statistic
    scale: np.ndarray
    matrix: np.ndarray
    weights: np.ndarray
    n_rows: int
    replace_factor: float
    alpha: float = 0.0
    directions: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the sum, (n_rows, width)."""
        return self.n_rows, len(self.weights)


def equal_weights(width: int) -> np.ndarray:
    """The weights of columns that are no symmetric coordinates, (width,)."""
    return np.ones(width, np.int64)


def as_float32(array: np.ndarray) -> np.ndarray:
    """As the kernels read it; what float32 cannot hold is infinite, and a unit that meets it contributes nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)
