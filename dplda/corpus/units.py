"""Documents grouped by privacy unit and projected on a vocabulary: the shape in which private counts are summed.

Units are grouped globally, wherever their documents lie in the store (docs/privacy.md, rule 1). Rows are
sorted by vocabulary index, so that the arithmetic on one unit depends on that unit and on released words only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dplda.corpus.store import CountStore


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
    def n_units(self) -> int:
        """Number of units with at least one document, private."""
        return len(self.unit_ptr) - 1

    def entries_before_unit(self) -> np.ndarray:
        """Cumulative number of stored entries at each unit's start, (n_units + 1,)."""
        return np.asarray(self.indptr[self.unit_ptr])


def all_words(store: CountStore) -> UnitCounts:
    """The store's counts over its whole (private) dictionary, grouped by unit."""
    return _grouped(store, None)


def project(store: CountStore, vocabulary: Sequence[str]) -> UnitCounts:
    """The store's counts over `vocabulary` (public or released), grouped by unit; other words are dropped."""
    position = {word: index for index, word in enumerate(store.dictionary)}
    missing = len(store.dictionary)  # the column behind the dictionary's, which is empty
    return _grouped(store, np.fromiter((position.get(word, missing) for word in vocabulary), np.int64))


def _grouped(store: CountStore, columns: np.ndarray | None) -> UnitCounts:
    """The words `columns` (all, if None) of every document, documents of one unit adjacent.

    Sparse matrices keep memory at what is returned and one copy: no number is held for each entry on the way.
    """
    width = len(store.dictionary) + 1
    rows, keys = [sparse.csr_array((0, width if columns is None else len(columns)), dtype=np.int32)], []
    for block in store.blocks():
        matrix = sparse.csr_array((block.counts, block.words, block.indptr), shape=(block.n_documents, width))
        rows.append(matrix.copy() if columns is None else matrix[:, columns])
        rows[-1].sort_indices()
        keys.append(np.asarray(block.units))
    documents = sparse.vstack(rows, format="csr")
    del rows
    unit_ptr = np.arange(documents.shape[0] + 1)
    if store.unit != "document" and keys:
        order, unit_ptr = _by_unit(np.concatenate(keys))
        documents = documents[order]
    indptr, words = documents.indptr.astype(np.int64), documents.indices.astype(np.int32, copy=False)
    return UnitCounts(indptr, words, documents.data, unit_ptr, documents.shape[1] - (columns is None))


def _by_unit(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of documents (n_documents,) that puts those of equal `keys` together, and where each unit begins."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: a unit's documents keep their own order
    keys = keys[order]
    new_unit = np.ones(len(keys), bool)
    new_unit[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return order, np.concatenate([np.flatnonzero(new_unit), [len(keys)]]).astype(np.int64)
