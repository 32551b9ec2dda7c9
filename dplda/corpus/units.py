"""Documents grouped by privacy unit and projected on a vocabulary: the shape in which private counts are summed.

Units are grouped globally, wherever their documents lie in the store (docs/privacy.md, rule 1). Rows are
sorted by vocabulary index, so that the arithmetic on one unit depends on that unit and on released words only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    return _grouped(store, None, len(store.dictionary))


def project(store: CountStore, vocabulary: Sequence[str]) -> UnitCounts:
    """The store's counts over `vocabulary` (public or released), grouped by unit; other words are dropped."""
    position = {word: index for index, word in enumerate(vocabulary)}
    lookup = np.fromiter((position.get(word, -1) for word in store.dictionary), np.int32)
    return _grouped(store, lookup, len(vocabulary))


def _grouped(store: CountStore, lookup: np.ndarray | None, n_words: int) -> UnitCounts:
    lengths, words, counts, units = [], [], [], []
    for block in store.blocks():
        length, word, count = _project_block(block.indptr, block.words, block.counts, lookup, n_words)
        lengths.append(length)
        words.append(word)
        counts.append(count)
        units.append(np.asarray(block.units))
    length = np.concatenate(lengths) if lengths else np.zeros(0, np.int64)
    indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    flat_words = np.concatenate(words) if words else np.zeros(0, np.int32)
    flat_counts = np.concatenate(counts) if counts else np.zeros(0, np.int32)
    if store.unit == "document":
        return UnitCounts(indptr, flat_words, flat_counts, np.arange(len(length) + 1), n_words)
    keys = np.concatenate(units) if units else np.zeros((0, 2), np.uint64)
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: a unit's documents keep their own order
    keys = keys[order]
    new_unit = np.ones(len(keys), bool)
    new_unit[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    unit_ptr = np.concatenate([np.flatnonzero(new_unit), [len(keys)]]).astype(np.int64)
    entries = _gather(indptr, order)
    indptr = np.concatenate([[0], np.cumsum(length[order])]).astype(np.int64)
    return UnitCounts(indptr, flat_words[entries], flat_counts[entries], unit_ptr, n_words)


def _gather(indptr: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Positions of all entries of the rows `order`, in that order."""
    length = np.diff(indptr)[order]
    start = np.repeat(indptr[:-1][order] - np.concatenate([[0], np.cumsum(length)[:-1]]), length)
    return np.asarray(start + np.arange(length.sum()))


def _project_block(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, lookup: np.ndarray | None, n_words: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    mapped = words if lookup is None else lookup[words]
    kept = mapped >= 0
    rows, mapped, kept_counts = rows[kept], mapped[kept], counts[kept]
    order = np.argsort(rows * max(n_words, 1) + mapped, kind="stable")
    return np.bincount(rows, minlength=len(indptr) - 1), mapped[order].astype(np.int32), kept_counts[order]
