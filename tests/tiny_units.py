"""Tiny corpora as the compiled kernels see them, and one document's contribution by itself."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from dplda.compute.arrays import to_numpy
from dplda.compute.loops import aligned, padded
from dplda.moments.clipped_sums import _size, _unpad, accumulate
from dplda.moments.contributions import SECOND, SINGLE, Contribution
from dplda.moments.kernels import compute_contribution, flat_rows, row_length, scratch_sizes, tensor_runs
from dplda.moments.on_gpu import GpuSums, arranged, upload

GPU = None

Document = Sequence[tuple[int, int]]  # (word, count) entries in the order of the row


@dataclass(frozen=True)
class Units:
    """Counts grouped by unit: the arrays of `dplda.corpus.units.UnitCounts`, in the same types."""

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    unit_ptr: np.ndarray

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
    total = np.zeros(contribution.shape, np.int64)
    chosen = np.arange(first, units.n_units if last is None else last)
    return total, int(_accumulate(contribution, units, chosen, clip, total, np.empty(0)))


def norms(contribution: Contribution, units: Units) -> np.ndarray:
    """Unclipped norm of every unit, (n_units,)."""
    out = np.full(units.n_units, np.nan)
    _accumulate(contribution, units, np.arange(units.n_units), 1.0, np.zeros(contribution.shape, np.int64), out)
    return out


@contextmanager
def summing_on(gpu):
    """Make `lattice_sum` and `norms` use the kernels of `gpu`; None: the CPU's."""
    global GPU
    GPU, before = gpu, GPU
    yield
    GPU = before


def _accumulate(f, units, chosen, clip, total, out):
    if GPU is not None:
        return _accumulate_on_gpu(f, units, chosen, clip, total, out)
    return accumulate(
        f.kind, units.indptr, units.words, units.counts, units.unit_ptr, chosen,
        f.scale, f.matrix, f.directions, f.alpha, clip, total, out,
    )  # fmt: skip


def _accumulate_on_gpu(f, units, chosen, clip, total, out):
    sums = GpuSums(GPU, f, clip)
    if len(out):
        on_gpu = upload(GPU, arranged(units.indptr, units.words, units.counts, units.unit_ptr, f.matrix.shape[0]))
        found = sums.norms(on_gpu, chosen)
        GPU.finish()
        out[:] = to_numpy(found)
        return 0
    begin, end = (chosen[0], chosen[-1] + 1) if len(chosen) else (0, 0)
    part = upload(GPU, arranged(*_part(units, begin, end), f.matrix.shape[0]))
    sums.add(part)
    found, mass = sums.result()
    total += found
    return mass


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
    kind, n_words, directions = contribution.kind, len(contribution.matrix), contribution.directions
    k = contribution.matrix.shape[1] - directions
    stride, row, starts = padded(k) + padded(directions), row_length(kind, k, directions), tensor_runs(k)
    out = np.zeros(_size(kind, max(len(words), 1), row), np.float32)
    n_pairs, n_square = scratch_sizes(kind, k, directions, len(words))
    compute_contribution(
        kind, words, counts, 0, len(words), float(counts.sum()), contribution.scale,
        flat_rows(contribution.matrix, directions), k, directions, stride, starts,
        np.full(stride, contribution.alpha, np.float32), aligned(stride), aligned(4 * (k + 1)),
        aligned(n_pairs), aligned(n_square), aligned(stride), aligned(stride), out,
    )  # fmt: skip
    if kind == SECOND:
        return pack_offsets(_dense(words, out, n_words))
    full = np.zeros(contribution.shape)
    sums = out.astype(np.float64)
    if kind not in SINGLE:
        sums = np.zeros((n_words, row))
        np.add.at(sums, words, out.reshape(-1, row)[: len(words)])
    _unpad(kind, k, row, starts, sums.ravel(), full)
    return full


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
