"""Counts grouped by privacy unit and projected on a vocabulary: the layout in which they are summed.

Only eligible documents are here (`Block.eligible`). All documents of a unit are grouped, wherever they are in the store
(docs/privacy.md, rule 1). Rows are sorted by
vocabulary index, so that the arithmetic on one unit depends only on that unit and on released words.

A document's row in a table, too, follows from the document alone (docs/privacy.md, T10): from its values in the group
columns, a public calendar and lists of groups that are public or released.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from scipy import sparse

from dplda.base.config import MINIMUM_LENGTH
from dplda.private.attributes import Attribute, TableRows
from dplda.private.store.count_store import Block, CountStore
from dplda.text.records import DOCUMENT


@dataclass(frozen=True, repr=False)  # no repr: a traceback that prints variables cannot show private values
class UnitCounts:
    """Counts in CSR form, documents of one unit adjacent. Private: only the curator may hold one.

    `indptr` (n_documents + 1,), `words` and `counts` (nnz,), `unit_ptr` (n_units + 1,) into documents;
    `n_words` is the size of the vocabulary. `rows` (n_documents,) int32 is the row of a table into which each document
    falls, or empty if no table is made.
    """

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    unit_ptr: np.ndarray
    n_words: int
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`indptr`, `words`, `counts` and `unit_ptr`."""
        return self.indptr, self.words, self.counts, self.unit_ptr

    @property
    def n_units(self) -> int:
        """Number of units with at least one eligible document. Private."""
        return len(self.unit_ptr) - 1

    def entries_before_unit(self) -> np.ndarray:
        """Cumulative number of stored entries at each unit's start, (n_units + 1,)."""
        return np.asarray(self.indptr[self.unit_ptr])


@dataclass(frozen=True)
class UnitRange:
    """The range `index` of the `of` ranges into which a store's units are divided.

    If every document is a unit, a range consists of consecutive blocks; otherwise it is a range of unit keys, whose
    documents may be in any block. Consecutive ranges contain consecutive units.
    """

    index: int = 0
    of: int = 1


def all_words(store: CountStore, units: UnitRange = UnitRange()) -> UnitCounts:
    """The store's counts over its whole (private) dictionary, grouped by unit."""
    return _grouped(store, None, units)


def project(
    store: CountStore, vocabulary: Sequence[str], units: UnitRange = UnitRange(), rows: TableRows | None = None
) -> UnitCounts:
    """The store's counts over `vocabulary` (public or released), grouped by unit; other words are dropped.

    With the `rows` of a table, the result contains the row of each document.
    """
    vocabulary = vocabulary if isinstance(vocabulary, tuple) else tuple(vocabulary)
    # unknown words select the last column, which is empty
    return _grouped(store, store.columns(vocabulary), units, rows)


def units_of_groups(
    store: CountStore, attribute: Attribute, units: UnitRange = UnitRange()
) -> tuple[list[str], UnitCounts]:
    """The groups of the documents of `units` (private), and counts in which each document's only word is its group.

    The word occurs `MINIMUM_LENGTH` times, so that an eligible document with a group is eligible here, too. A document
    without a group is empty.
    """
    by_key = store.unit != DOCUMENT
    names: dict[str, int] = {}
    numbers, unit_keys = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.uint64)]
    for block, keys, inside in _blocks(store, units):
        found, of_document = _group_names(block, store.group_columns, attribute)
        place = np.array([names.setdefault(name, len(names)) for name in found] + [-1], np.int64)
        numbers.append(place[of_document][inside])
        unit_keys.append(keys)
    groups, unit_ptr = np.concatenate(numbers), np.arange(sum(map(len, numbers)) + 1)
    if by_key:
        order, unit_ptr = _by_unit(np.concatenate(unit_keys))
        groups = groups[order]
    indptr = np.concatenate([[0], np.cumsum(groups >= 0)]).astype(np.int64)
    words = groups[groups >= 0].astype(np.int32)
    return list(names), UnitCounts(indptr, words, np.full_like(words, MINIMUM_LENGTH), unit_ptr, len(names))


def _blocks(store: CountStore, units: UnitRange) -> Iterator[tuple[Block, np.ndarray, np.ndarray | slice]]:
    """The eligible documents of each block that may have documents of `units`.

    With the unit keys of these documents, and their indices among the eligible documents of the block: a slice if all
    of them belong to `units`.
    """
    by_key = store.unit != DOCUMENT
    chosen = None if by_key else range(*(store.n_blocks * i // units.of for i in (units.index, units.index + 1)))
    for block in map(Block.eligible, store.blocks(chosen)):
        keys = np.asarray(block.units)
        inside = _in_range(keys, units) if by_key and units.of > 1 else slice(None)
        yield block, keys[inside], inside


def _grouped(
    store: CountStore, columns: np.ndarray | None, units: UnitRange, table_rows: TableRows | None = None
) -> UnitCounts:
    """The words `columns` (all, if None) of the documents of `units`, documents of one unit adjacent.

    Peak memory is about twice the size of the result: sparse matrices are joined and reordered without any further
    array that has a number for each entry.
    """
    width = len(store.dictionary) + 1
    rows, unit_keys = [sparse.csr_array((0, width if columns is None else len(columns)), dtype=np.int32)], []
    of_table = [np.zeros(0, np.int32)]
    for block, keys, inside in _blocks(store, units):
        matrix = sparse.csr_array((block.counts, block.words, block.indptr), shape=(block.n_documents, width))
        matrix = matrix if isinstance(inside, slice) else matrix[inside]
        rows.append(matrix.copy() if columns is None else matrix[:, columns])
        rows[-1].sort_indices()
        unit_keys.append(keys)
        if table_rows is not None:
            of_table.append(_rows_of(block, store.group_columns, table_rows)[inside])
    documents = sparse.vstack(rows, format="csr")
    del rows
    unit_ptr, table = np.arange(documents.shape[0] + 1), np.concatenate(of_table)
    if store.unit != DOCUMENT and unit_keys:
        order, unit_ptr = _by_unit(np.concatenate(unit_keys))
        documents = documents[order]
        table = table[order] if len(table) else table
    indptr, words = documents.indptr.astype(np.int64), documents.indices.astype(np.int32, copy=False)
    return UnitCounts(indptr, words, documents.data, unit_ptr, documents.shape[1] - (columns is None), table)


def _in_range(keys: np.ndarray, units: UnitRange) -> np.ndarray:
    """The indices (n,) of those unit `keys` (n_documents, 2) that are in the range `units`.

    The first half of a key decides.
    """
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


def _rows_of(block: Block, columns: tuple[str, ...], rows: TableRows) -> np.ndarray:
    """The row of each document of `block`, (n_documents,) int32; `columns` are the group columns of its store."""
    found = np.zeros(block.n_documents, np.int64)
    for axis in rows.axes:
        group = _numbered(block, columns, axis.attribute, _Places(axis.groups))
        found = found * len(axis.names) + np.where(group < 0, len(axis.groups), group)
    return found.astype(np.int32)


class _Places(dict[str, int]):
    """The index of each of the `groups`; -1 for any other."""

    def __init__(self, groups: Sequence[str]) -> None:
        super().__init__((name, index) for index, name in enumerate(groups))

    def __missing__(self, name: str) -> int:
        return -1


class _Numbers(dict[str, int]):
    """Numbers groups in the order of first occurrence."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


def _group_names(block: Block, columns: tuple[str, ...], attribute: Attribute) -> tuple[list[str], np.ndarray]:
    """The groups of the documents of `block`, private, and the index of each document's group, -1 without a group."""
    names = _Numbers()
    numbers = _numbered(block, columns, attribute, names)
    return list(names), numbers


def _numbered(block: Block, columns: tuple[str, ...], attribute: Attribute, places: Mapping[str, int]) -> np.ndarray:
    """The number in `places` of each document's group, (n_documents,); -1 for a document without a group."""
    if block.groups is None or attribute.column not in columns:
        return np.full(block.n_documents, -1, np.int64)
    values = _values(block, columns.index(attribute.column), len(columns)).dictionary_encode()
    numbers = np.full(len(values.dictionary) + 1, -1, np.int64)  # the last one is for documents without a value
    for index, value in enumerate(values.dictionary.to_pylist()):
        name = attribute.group(value)
        numbers[index] = -1 if name is None else places[name]
    indices = values.indices.fill_null(len(values.dictionary)).to_numpy(zero_copy_only=False)
    return np.asarray(numbers[indices])


def _values(block: Block, column: int, n_columns: int) -> pa.Array:
    """The values of a group column, (n_documents,); null in a document whose list was damaged."""
    lists = block.groups
    starts = np.asarray(lists.offsets)
    whole = np.diff(starts) == n_columns
    places = pa.array(starts[:-1] + column, pa.int64(), mask=~whole)
    return lists.values.take(places)
