"""Clipped sums and norms of contributions on a GPU, computed by the kernels of unit_sums.cu.

Like `unit_sums` on the CPU, the kernels round a unit once to the same lattice and verify its norm in
exact arithmetic. Sums on CPU and GPU differ only where different float32 errors round a coordinate to different
integers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from scipy import sparse

from dplda.base.arrays import Gpu, to_numpy
from dplda.base.config import MINIMUM_LENGTH
from dplda.base.errors import InputError
from dplda.private import statistics
from dplda.private.statistics import Contribution, Statistic
from dplda.private.statistics.clipping import BOUND, MARGIN, MASS_SHARE
from dplda.private.statistics.expected_counts import E_STEPS, LEAST, TOLERANCE

_TILE = 4  # side of the tile of coordinates that one thread computes
_STAGED = 64  # largest number of matrix rows that a block holds in shared memory at a time
_SHARED = 2**15  # largest number of bytes that these rows take
_THREADS = 256  # largest number of threads of a block
_RESIDENT = 1024  # scratch space is allocated for blocks with this many threads per multiprocessor in all
_ROOM_SHARE = 0.25  # largest share of the free GPU memory that scratch space takes
_N_TRIED = 4  # vocabulary size of the corpus that tests a GPU
_MAX_PLACES = 2**32 - 1  # largest number of entries of a unit's contribution


@dataclass(frozen=True, repr=False)  # no repr: a traceback that prints variables cannot show private values
class UnitArrays:
    """Private counts in the kernels' layout, as arrays of NumPy or of the GPU.

    The first four are the arrays of `UnitCounts`, with entries of the same word merged.
    """

    indptr: Any
    words: Any
    counts: Any
    unit_ptr: Any
    lengths: Any  # (n_documents,), numbers of tokens
    slots: Any  # (nnz,), the position of an entry's word among the words of its unit
    union_ptr: Any  # (n_units + 1,), into `union_words`
    union_words: Any  # the words of each unit, ascending
    most: int  # largest number of words of a unit

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays in the order of the kernels' arguments."""
        counts = self.indptr, self.words, self.counts, self.unit_ptr
        return *counts, self.lengths, self.slots, self.union_ptr, self.union_words

    @property
    def n_bytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(int(array.nbytes) for array in self.arrays)


def arrange(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, unit_ptr: np.ndarray, n_words: int
) -> UnitArrays:
    """Return the arrays of `UnitCounts` in the kernels' layout, as NumPy arrays."""
    documents = _merge_words(indptr, words, counts, n_words)
    begin, entries, place = documents.indptr, documents.indices, np.arange(documents.nnz)
    first = begin[unit_ptr]  # first entry of each unit, and the end
    lengths = np.diff(np.concatenate([[0], np.cumsum(documents.data, dtype=np.int64)])[begin])
    unit = np.repeat(np.arange(len(first) - 1), np.diff(first))
    if len(unit_ptr) == len(begin):  # every unit is one document
        slots, union_ptr, union_words = place - first[unit], begin, entries
    else:
        union = _merge_words(first, entries, documents.data, n_words)
        owner = np.repeat(np.arange(len(first) - 1), np.diff(union.indptr))
        at = np.searchsorted(owner * n_words + union.indices, unit * n_words + entries)
        slots, union_ptr, union_words = at - union.indptr[unit], union.indptr, union.indices
    return UnitArrays(
        begin.astype(np.int64),
        entries.astype(np.int32),
        documents.data.astype(np.int32),
        unit_ptr.astype(np.int64),
        lengths,
        slots.astype(np.int32),
        union_ptr.astype(np.int64),
        union_words.astype(np.int32),
        int(np.diff(union_ptr).max(initial=0)),
    )


def upload(gpu: Gpu, units: UnitArrays) -> UnitArrays:
    """Return a copy of `units` on the GPU."""
    copied = {field.name: getattr(units, field.name) for field in fields(units)}
    return UnitArrays(**{name: gpu.xp.asarray(x) if isinstance(x, np.ndarray) else x for name, x in copied.items()})


def _merge_words(indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, n_words: int) -> sparse.csr_array:
    """Return the counts as a matrix with one entry per word in each row, sorted by word."""
    matrix = sparse.csr_array((counts, words, indptr), shape=(len(indptr) - 1, n_words))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


class GpuSums:
    """Sums over units, and norms of units, of one contribution on the GPU."""

    def __init__(self, gpu: Gpu, contribution: Contribution, clip: float = 1.0) -> None:
        f, twin, xp = contribution, contribution.statistic.cuda, gpu.xp
        if twin is None:
            raise InputError(f"the statistic {f.statistic.name} has no CUDA kernel: use --device cpu.")
        self._gpu, self._f, self._twin, self._clip = gpu, f, twin, clip
        k = f.matrix.shape[1] - f.directions
        matrix = np.hstack([_pad(f.matrix[:, :k]), _pad(f.matrix[:, k:])])
        pairs, tiles = _tiles(k, 2), _tiles(k, max(twin.sides, 2))
        places, weights = _places(k, tiles) if twin.sides else (None, np.zeros(0, np.int8))
        self._stride, self._places = int(matrix.shape[1]), places
        self._row: int = len(weights) or len(f.weights)  # how many numbers a unit has, or a word
        self._threads = _threads(twin.threads or (len(tiles) if twin.sides else k))
        staged = max(1, min(_STAGED, _SHARED // (4 * self._stride)))
        behind = staged * (1 + self._stride) if twin.sides else 0
        self._shared = 4 * (self._stride * twin.vectors + behind)
        self._parameters = (
            *(xp.asarray(f.scale), xp.asarray(matrix)),
            *(np.int32(n) for n in (len(f.matrix), k, f.directions, self._stride)),
            np.float32(f.alpha),
            *(xp.asarray(_pack(tiles)), np.int32(len(tiles)), xp.asarray(_pack(pairs)), np.int32(len(pairs))),
            *(np.int32(staged), xp.asarray(weights)),
        )
        shape = f.shape if places is None else (1, len(weights))
        self._total, self._mass = xp.zeros(shape, xp.int64), xp.zeros(1, xp.int64)
        gpu.finish()

    def add(self, units: UnitArrays) -> None:
        """Add the clipped contributions of all units."""
        self._run(units, self._gpu.xp.arange(len(units.unit_ptr) - 1, dtype=self._gpu.xp.int64), None)

    def norms(self, units: UnitArrays, chosen: np.ndarray) -> Any:
        """Return the norms that decide the clipping of the units `chosen` (int64), as `UnitSums.norms`; on the GPU."""
        norms = self._gpu.xp.empty(len(chosen))
        self._run(units, self._gpu.xp.asarray(chosen), norms)
        return norms

    def result(self) -> tuple[np.ndarray, int]:
        """Return the exact integer sums of the contributions added, (n_rows, width), and of their mass coordinates."""
        self._gpu.finish()
        total, mass = to_numpy(self._total), int(self._mass[0])
        return (total if self._places is None else np.ascontiguousarray(total[:, self._places])), mass

    def _run(self, units: UnitArrays, chosen: Any, norms: Any) -> None:
        if not len(chosen):
            return
        size = self._room(max(units.most, 1))
        if size > _MAX_PLACES:
            raise MemoryError("a unit has too many words for this statistic on a GPU")
        side_by_side = self._gpu.multiprocessors * _RESIDENT // self._threads
        blocks = max(1, min(len(chosen), side_by_side, int(_ROOM_SHARE * self._gpu.free()) // (4 * size)))
        room = self._gpu.xp.empty(blocks * size, self._gpu.xp.float32)
        kernel = self._gpu.kernel(_source(), self._twin.kernel)
        measured = self._gpu.xp.empty(0) if norms is None else norms
        more = np.float64(self._clip), np.int32(norms is not None), room, np.int64(size)
        sums = self._total, self._mass, measured
        arguments = *units.arrays, *self._parameters, chosen, np.int64(len(chosen)), *more, *sums
        kernel((blocks,), (self._threads,), arguments, shared_mem=self._shared)

    def _room(self, most: int) -> int:
        """Return the size of the scratch space for a unit of `most` words."""
        if self._twin.sides:
            return self._row + (self._stride**2 if self._twin.sides == 3 else 0)
        return int(self._f.statistic.layout.size(most, self._row))


def require_working(gpu: Gpu) -> None:
    """Sum a tiny corpus with every kernel, so that a defective GPU is found before anything is spent.

    Raises `InputError` if the GPU fails or its sums are wrong.
    """
    xp = gpu.xp
    try:
        working = bool(xp.argsort(xp.eye(3) @ xp.arange(3.0))[2] == 2)  # other functions that decompositions use
        working = working and _multiplies_exactly(xp)
        working = working and all(_test(gpu, contribution) for contribution in _examples())
    except Exception as error:
        raise InputError(
            f"device cuda fails on a small example ({type(error).__name__}): the versions of CuPy, CUDA and the "
            "driver do not match, or another program uses the GPU. pip install 'dplda[cuda]' installs "
            "CuPy with CUDA 12; for another CUDA version install the CuPy package of that version "
            "with its [ctk] extra. Or use --device cpu."
        ) from None
    if not working:
        raise InputError("device cuda gives wrong sums on a small example: do not use this GPU. Choose --device cpu.")


def _multiplies_exactly(xp: Any) -> bool:
    """Whether products of matrices of integers are exact below 2^53, as `third_moment_products` requires.

    Such products in float64 are exact, unless the library was told to emulate float64. The test multiplies two matrices
    of odd numbers, as large as the matrices of a batch. The product has entries of about 2^52.6.
    """
    Y = 2 * np.random.default_rng(0).integers(8192, 11000, (1023, 20)) + 1
    pairs = Y[:, np.arange(800) % 20] * Y[:, np.arange(800) // 40]
    product = xp.asarray(Y.astype(float)).T @ xp.asarray(pairs.astype(float))
    return bool((to_numpy(product) == Y.T @ pairs).all())


def _test(gpu: Gpu, contribution: Contribution) -> bool:
    """Whether sums and norms are positive and consistent, for units of one document and of several."""
    indptr, words, counts = np.array([0, 2, 5, 8]), np.array([0, 3, 0, 1, 2, 1, 2, 3]), np.full(8, 2, np.int32)
    start, empty = np.zeros(1, np.int64), np.zeros(0, np.int32)
    sums, norms = GpuSums(gpu, contribution, 0.1), list[Any]()
    for unit_ptr in (np.arange(4), np.array([0, 2, 3])):
        with gpu.turn(len(norms)):
            units = upload(gpu, arrange(indptr, words.astype(np.int32), counts, unit_ptr, _N_TRIED))
            sums.add(units)
            norms.append(sums.norms(units, np.arange(len(unit_ptr) - 1)))
    with gpu.turn(len(norms)):
        sums.add(upload(gpu, arrange(start, empty, empty, start, _N_TRIED)))
    total, mass = sums.result()
    alone, twice = map(to_numpy, norms)
    return bool(total.any() and mass > 0 and (alone > 0).all() and alone[2] == twice[1])


def _examples() -> list[Contribution]:
    """Return a contribution for each kernel, on `_N_TRIED` words."""
    scale, X = np.linspace(1.0, 2.0, _N_TRIED), np.arange(1.0, 3 * _N_TRIED + 1).reshape(_N_TRIED, 3) % 7 + 1
    exported = (getattr(statistics, name) for name in statistics.__all__)
    twins = [item.cuda for item in exported if isinstance(item, Statistic) and item.cuda is not None]
    return [twin.example(scale, X) for twin in twins]


@cache
def _source() -> str:
    """Return the CUDA source of the kernels, with the constants that they share with the CPU code."""
    constants = {
        **{"BOUND": float(BOUND), "MARGIN": float(MARGIN), "MASS_SHARE": MASS_SHARE},
        **{"MINIMUM_LENGTH": MINIMUM_LENGTH, "E_STEPS": E_STEPS, "TOLERANCE": TOLERANCE},
        "LEAST": f"{float(LEAST)}f",
    }
    defines = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    return defines + files("dplda.private.statistics").joinpath("unit_sums.cu").read_text()


def _pad(matrix: np.ndarray) -> np.ndarray:
    """Return `matrix` padded with columns of zeros to whole tiles."""
    return np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % _TILE)))


def _threads(width: int) -> int:
    """Return the least power of two >= `width`, but at least 32 (a warp) and at most `_THREADS`."""
    return min(_THREADS, max(32, 1 << (max(width, 1) - 1).bit_length()))


def _tiles(k: int, sides: int) -> np.ndarray:
    """Return the tiles that contain coordinates a <= b (<= c) < k, (n, sides).

    A row has the index of a tile along each side, in units of `_TILE`. Adjacent rows read nearby memory, because the
    last index changes fastest.
    """
    n = -(-k // _TILE)
    grid = np.indices((n,) * sides, np.int32).reshape(sides, -1).T
    return grid[(np.diff(grid, axis=1) >= 0).all(axis=1)]


def _pack(tiles: np.ndarray) -> np.ndarray:
    return np.asarray(tiles @ (1 << 10 * np.arange(tiles.shape[1])), np.int32)


def _places(k: int, tiles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a unit's scratch space holds the coordinates a <= b (<= c), in order, and the weights of its positions.

    A weight is the multiplicity of a coordinate, or 0 at a position that holds none. The position within a tile is the
    slow index and the tile the fast one, so that adjacent threads write adjacently.
    """
    sides = tiles.shape[1]
    local = np.indices((_TILE,) * sides, np.int32).reshape(sides, -1).T
    at = (local[:, None, :] + _TILE * tiles[None, :, :]).reshape(-1, sides)
    used = (np.diff(at, axis=1) >= 0).all(axis=1) & (at[:, -1] < k)
    equal = (np.diff(at, axis=1) == 0).sum(axis=1)
    weights = np.where(used, np.array({2: [2, 1], 3: [6, 3, 1]}[sides])[equal], 0).astype(np.int8)
    positions = np.flatnonzero(used)
    return positions[np.lexsort(at[positions].T[::-1])], weights
