"""Documents grouped by privacy unit and projected on a vocabulary: the layout in which private counts are summed.

Units are grouped globally, wherever their documents lie in the store (docs/privacy.md, rule 1). Rows are
sorted by vocabulary index, so that the arithmetic on one unit depends on that unit and on released words only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dplda.readers.records import DOCUMENT
from dplda.store.count_store import CountStore


@dataclass(frozen=True, repr=False)  # a traceback that shows values must not show these
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
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All that it holds."""
        return self.indptr, self.words, self.counts, self.unit_ptr

    @property
    def n_units(self) -> int:
        """Number of units with at least one document, private."""
        return len(self.unit_ptr) - 1

    def entries_before_unit(self) -> np.ndarray:
        """Cumulative number of stored entries at each unit's start, (n_units + 1,)."""
        return np.asarray(self.indptr[self.unit_ptr])


@dataclass(frozen=True)
class Shard:
    """The `index`-th of `of` shards of a store's units.

    Where every document is a unit these are neighbouring blocks, otherwise ranges of unit keys, whose documents may be
    in any block. Shards in order hold the units in order.
    """

    index: int = 0
    of: int = 1


def all_words(store: CountStore, shard: Shard = Shard()) -> UnitCounts:
    """The store's counts over its whole (private) dictionary, grouped by unit."""
    return _grouped(store, None, shard)


def project(store: CountStore, vocabulary: Sequence[str], shard: Shard = Shard()) -> UnitCounts:
    """The store's counts over `vocabulary` (public or released), grouped by unit; other words are dropped."""
    vocabulary = vocabulary if isinstance(vocabulary, tuple) else tuple(vocabulary)
    return _grouped(store, store.columns(vocabulary), shard)  # other words' column, behind the last, is empty


def _grouped(store: CountStore, columns: np.ndarray | None, shard: Shard) -> UnitCounts:
    """The words `columns` (all, if None) of every document, documents of one unit adjacent.

    Sparse matrices keep memory at what is returned and one copy: no number is held for each entry on the way.
    """
    by_key = store.unit != DOCUMENT
    chosen = None if by_key else _share(store.n_blocks, shard)
    width = len(store.dictionary) + 1
    rows, keys = [sparse.csr_array((0, width if columns is None else len(columns)), dtype=np.int32)], []
    for block in store.blocks(chosen):
        matrix = sparse.csr_array((block.counts, block.words, block.indptr), shape=(block.n_documents, width))
        units = np.asarray(block.units)
        if by_key and shard.of > 1:
            ours = _in_shard(units, shard)
            matrix, units = matrix[ours], units[ours]
        rows.append(matrix.copy() if columns is None else matrix[:, columns])
        rows[-1].sort_indices()
        keys.append(units)
    documents = sparse.vstack(rows, format="csr")
    del rows
    unit_ptr = np.arange(documents.shape[0] + 1)
    if by_key and keys:
        order, unit_ptr = _by_unit(np.concatenate(keys))
        documents = documents[order]
    indptr, words = documents.indptr.astype(np.int64), documents.indices.astype(np.int32, copy=False)
    return UnitCounts(indptr, words, documents.data, unit_ptr, documents.shape[1] - (columns is None))


def _share(n: int, shard: Shard) -> range:
    """The indices below `n` that are the shard's."""
    return range(n * shard.index // shard.of, n * (shard.index + 1) // shard.of)


def _in_shard(keys: np.ndarray, shard: Shard) -> np.ndarray:
    """Which of the unit keys (n_documents, 2) are in the shard's range, which their first halves tell."""
    first, last = (2**64 * i // shard.of for i in (shard.index, shard.index + 1))
    upper = np.uint64(last - 1)
    return np.flatnonzero((keys[:, 0] >= np.uint64(first)) & (keys[:, 0] <= upper))


def _by_unit(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of documents (n_documents,) that puts those of equal `keys` together, and where each unit begins."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: a unit's documents keep their own order
    keys = keys[order]
    new_unit = np.ones(len(keys), bool)
    new_unit[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return order, np.concatenate([np.flatnonzero(new_unit), [len(keys)]]).astype(np.int64)
