"""Counts grouped by privacy unit and projected on a vocabulary: the layout in which they are summed.

All documents of a unit are grouped, wherever they are in the store (docs/privacy.md, rule 1). Rows are sorted by
vocabulary index, so that the arithmetic on one unit depends only on that unit and on released words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dplda.readers.records import DOCUMENT
from dplda.store.count_store import CountStore


@dataclass(frozen=True, repr=False)  # no repr: a traceback that prints variables cannot show private values
class UnitCounts:
    """Counts in CSR form, documents of one unit adjacent. Private: only the curator may hold one.

    `indptr` (n_documents + 1,), `words` and `counts` (nnz,), `unit_ptr` (n_units + 1,) into documents;
    `n_words` is the size of the vocabulary.
    """

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    unit_ptr: np.ndarray
    n_words: int

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`indptr`, `words`, `counts` and `unit_ptr`."""
        return self.indptr, self.words, self.counts, self.unit_ptr

    @property
    def n_units(self) -> int:
        """Number of units with at least one document. Private."""
        return len(self.unit_ptr) - 1

    def entries_before_unit(self) -> np.ndarray:
        """Cumulative number of stored entries at each unit's start, (n_units + 1,)."""
        return np.asarray(self.indptr[self.unit_ptr])


@dataclass(frozen=True)
class UnitRange:
    """The range `index` of the `of` ranges into which a store's units are divided.

    If every document is a unit, a range consists of consecutive blocks; otherwise it is a range of unit keys, whose
    documents may be in any block. Consecutive ranges hold consecutive units.
    """

    index: int = 0
    of: int = 1


def all_words(store: CountStore, units: UnitRange = UnitRange()) -> UnitCounts:
    """The store's counts over its whole (private) dictionary, grouped by unit."""
    return _grouped(store, None, units)


def project(store: CountStore, vocabulary: Sequence[str], units: UnitRange = UnitRange()) -> UnitCounts:
    """The store's counts over `vocabulary` (public or released), grouped by unit; other words are dropped."""
    vocabulary = vocabulary if isinstance(vocabulary, tuple) else tuple(vocabulary)
    return _grouped(store, store.columns(vocabulary), units)  # unknown words select the last column, which is empty


def _grouped(store: CountStore, columns: np.ndarray | None, units: UnitRange) -> UnitCounts:
    """The words `columns` (all, if None) of the documents of `units`, documents of one unit adjacent.

    Peak memory is about twice the size of the result: sparse matrices are joined and reordered without any further
    array that has a number for each entry.
    """
    by_key = store.unit != DOCUMENT
    chosen = None if by_key else range(*(store.n_blocks * i // units.of for i in (units.index, units.index + 1)))
    width = len(store.dictionary) + 1
    rows, unit_keys = [sparse.csr_array((0, width if columns is None else len(columns)), dtype=np.int32)], []
    for block in store.blocks(chosen):
        matrix = sparse.csr_array((block.counts, block.words, block.indptr), shape=(block.n_documents, width))
        keys = np.asarray(block.units)
        if by_key and units.of > 1:
            inside = _in_range(keys, units)
            matrix, keys = matrix[inside], keys[inside]
        rows.append(matrix.copy() if columns is None else matrix[:, columns])
        rows[-1].sort_indices()
        unit_keys.append(keys)
    documents = sparse.vstack(rows, format="csr")
    del rows
    unit_ptr = np.arange(documents.shape[0] + 1)
    if by_key and unit_keys:
        order, unit_ptr = _by_unit(np.concatenate(unit_keys))
        documents = documents[order]
    indptr, words = documents.indptr.astype(np.int64), documents.indices.astype(np.int32, copy=False)
    return UnitCounts(indptr, words, documents.data, unit_ptr, documents.shape[1] - (columns is None))


def _in_range(keys: np.ndarray, units: UnitRange) -> np.ndarray:
    """The indices of the unit `keys` (n_documents, 2) in the range `units`, which the first half of a key decides."""
    first, last = (2**64 * i // units.of for i in (units.index, units.index + 1))
    upper = np.uint64(last - 1)
    return np.flatnonzero((keys[:, 0] >= np.uint64(first)) & (keys[:, 0] <= upper))


def _by_unit(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of documents (n_documents,) that makes equal `keys` adjacent, and where each unit begins."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: a unit's documents stay in order
    keys = keys[order]
    new_unit = np.ones(len(keys), bool)
    new_unit[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return order, np.concatenate([np.flatnonzero(new_unit), [len(keys)]]).astype(np.int64)
