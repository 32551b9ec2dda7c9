"""Tiny corpora as the compiled kernels see them, and one document's contribution by itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from dplda.base.arrays import to_numpy
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import aligned
from dplda.private.statistics.gpu_sums import GpuSums, arrange, upload
from dplda.private.statistics.moments import SECOND_MOMENT
from dplda.private.statistics.unit_sums import UnitSums, flat_rows

GPU = None

Document = Sequence[tuple[int, int]]  # (word, count) entries in the order of the row


@dataclass(frozen=True)
class Units:
    """Counts grouped by unit: the arrays of `dplda.private.store.units.UnitCounts`, in the same types."""

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    unit_ptr: np.ndarray
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.indptr, self.words, self.counts, self.unit_ptr

    @property
    def n_units(self) -> int:
        return len(self.unit_ptr) - 1


def make_units(units: Sequence[Sequence[Document]]) -> Units:
    """Units given as lists of documents."""
    documents = [document for unit in units for document in unit]
    entries = [entry for document in documents for entry in document]
    return Units(
        np.concatenate([[0], np.cumsum([len(d) for d in documents])]).astype(np.int64),
        np.array([word for word, _ in entries], np.int32),
        np.array([count for _, count in entries], np.int32),
        np.concatenate([[0], np.cumsum([len(unit) for unit in units])]).astype(np.int64),
    )


def as_document(counts: np.ndarray) -> Document:
    """The entries of a vector of counts (n_words,)."""
    return [(int(word), int(counts[word])) for word in np.flatnonzero(counts)]


def lattice_sum(
    contribution: Contribution, units: Units, clip: float, first: int = 0, last: int | None = None
) -> tuple[np.ndarray, int]:
    """Integer sum (n_rows, width) and mass of the units first..last-1."""
    last = units.n_units if last is None else last
    if GPU is None:
        return UnitSums(contribution).total(units, np.arange(first, last), clip)
    sums = GpuSums(GPU, contribution, clip)
    sums.add(upload(GPU, arrange(*_part(units, first, last), len(contribution.scale))))
    return sums.result()


def norms(contribution: Contribution, units: Units) -> np.ndarray:
    """Unclipped norm of every unit, (n_units,)."""
    everyone = np.arange(units.n_units)
    if GPU is None:
        return UnitSums(contribution).norms(units, everyone)
    arrays = units.indptr, units.words, units.counts, units.unit_ptr
    found = GpuSums(GPU, contribution).norms(upload(GPU, arrange(*arrays, len(contribution.scale))), everyone)
    GPU.finish()
    return to_numpy(found)


@contextmanager
def summing_on(gpu):
    """Make `lattice_sum` and `norms` use the kernels of `gpu`; None: the CPU's."""
    global GPU
    GPU, before = gpu, GPU
    yield
    GPU = before


def _part(units, begin, end) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of the units begin..end-1."""
    unit_ptr = units.unit_ptr[begin : end + 1]
    indptr = units.indptr[unit_ptr[0] : unit_ptr[-1] + 1]
    entries = slice(indptr[0], indptr[-1])
    return indptr - indptr[0], units.words[entries], units.counts[entries], unit_ptr - unit_ptr[0]


def contribution_of(contribution: Contribution, entries: Document) -> np.ndarray:
    """The exact, unclipped contribution of one document, (n_rows, width)."""
    words = np.array([word for word, _ in entries], np.int32)
    counts = np.array([count for _, count in entries], np.int32)
    f, statistic, directions = contribution, contribution.statistic, contribution.directions
    k, n_words = f.matrix.shape[1] - directions, len(f.scale)
    matrix, stride = flat_rows(f.matrix, directions)
    row = statistic.row(k, directions)
    shape = k, directions, stride, row, np.float32(f.alpha)
    out = np.zeros(statistic.layout.size(max(len(words), 1), row), np.float32)
    room = aligned(statistic.room(k, directions, len(words)))
    room[:] = np.nan  # not read before it is written
    statistic.contribution(words, counts, 0, len(words), float(counts.sum()), f.scale, matrix, shape, room, out)
    if statistic is SECOND_MOMENT:
        return pack_offsets(_dense(words, out, n_words))
    if statistic.layout.one_row:
        places = slice(f.shape[1]) if statistic.places is None else statistic.places(k, directions)
        return out[places][None].astype(np.float64)
    sums = np.zeros((n_words, row))
    np.add.at(sums, words, out.reshape(-1, row)[: len(words)])
    return sums[:, : f.shape[1]]


def _dense(words: np.ndarray, pairs: np.ndarray, n_words: int) -> np.ndarray:
    """The symmetric (n_words, n_words) matrix of a document's `pairs` b >= a of entries, ordered by (b, a)."""
    A = np.zeros((n_words, n_words))
    b, a = np.tril_indices(len(words))
    np.add.at(A, (words[b], words[a]), pairs)
    off = a < b
    np.add.at(A, (words[a[off]], words[b[off]]), pairs[off])
    return A


def pack_offsets(A: np.ndarray, unused: float = 0.0) -> np.ndarray:
    """What `unpack_offsets` undoes, one coordinate after the other; `unused` where no pair belongs."""
    d = len(A)
    return np.array(
        [[unused if 0 < 2 * j == d and i >= d // 2 else A[i, (i + j) % d] for j in range(d // 2 + 1)] for i in range(d)]
    )


def squared_length(total: np.ndarray, mass: int, weights: np.ndarray) -> int:
    """Weighted squared norm of integers, mass coordinate included, in exact arithmetic."""
    return (
        sum(int(w) * int(z) ** 2 for row in total.tolist() for w, z in zip(weights.tolist(), row, strict=True))
        + int(mass) ** 2
    )
