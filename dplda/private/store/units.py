"""Counts grouped by privacy unit and projected on a vocabulary: the layout in which they are summed.

Only eligible documents are here (`Block.eligible`). All documents of a unit are grouped, wherever they are in the store
(docs/privacy.md, rule 1). Rows are sorted by vocabulary index, so that the arithmetic on one unit depends only on that
unit and on released words.

A document's row in a table, too, follows from the document alone (docs/privacy.md, T10): from its values in the group
columns, a public calendar and lists of groups that are public or released. So do its answers (T16), which take the
place of its words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from dplda.base.config import MINIMUM_LENGTH
from dplda.private.attributes import ANSWERS, OTHER_WORDS, Answers, Attribute, TableRows
from dplda.private.store.count_store import Block, CountStore
from dplda.text.records import DOCUMENT, MAX_COUNT


@dataclass(frozen=True, repr=False)  # no repr: a traceback that prints variables cannot show private values
class UnitCounts:
    """Counts in CSR form, documents of one unit adjacent. Private: only the curator may hold one."""

    indptr: np.ndarray  # (n_documents + 1,)
    words: np.ndarray  # (nnz,)
    counts: np.ndarray  # (nnz,)
    unit_ptr: np.ndarray  # (n_units + 1,) into documents
    n_words: int  # size of the vocabulary
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))  # (n_documents,), of a table; else empty

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """`indptr`, `words`, `counts` and `unit_ptr`."""
        return self.indptr, self.words, self.counts, self.unit_ptr

    @property
    def n_units(self) -> int:
        """Number of units with at least one eligible document. Private."""
        return len(self.unit_ptr) - 1

    def entries_before_unit(self) -> np.ndarray:
        """Count the stored entries before each unit, (n_units + 1,)."""
        return np.asarray(self.indptr[self.unit_ptr])


@dataclass(frozen=True)
class UnitRange:
    """The range `index` of `of` ranges that divide a store's units.

    If every document is a unit, a range consists of consecutive blocks; otherwise it is a range of unit keys, whose
    documents may be in any block. Consecutive ranges contain consecutive units.
    """

    index: int = 0
    of: int = 1


def all_words(store: CountStore, units: UnitRange = UnitRange()) -> UnitCounts:
    """Return the store's counts over its whole (private) dictionary, grouped by unit."""
    width = len(store.dictionary) + 1
    counts = _group_by_unit(store, lambda block: _word_matrix(block, width).copy(), width, units)
    return replace(counts, n_words=width - 1)


def project(
    store: CountStore, vocabulary: Sequence[str], units: UnitRange = UnitRange(), rows: TableRows | None = None
) -> UnitCounts:
    """Return the store's counts over `vocabulary` (public or released), grouped by unit; other words are dropped.

    If the last word is `OTHER_WORDS`, its count is that of all tokens that are none of the others. With the `rows` of
    a table, the result contains the row of each document.
    """
    vocabulary = vocabulary if isinstance(vocabulary, tuple) else tuple(vocabulary)  # `columns` caches by identity
    width, columns = len(store.dictionary) + 1, store.columns(vocabulary)
    # Unknown words select the last column, which is empty.
    if vocabulary[-1:] == (OTHER_WORDS,):
        return _group_by_unit(store, lambda block: _with_rest(block, width, columns[:-1]), len(columns), units, rows)
    return _group_by_unit(store, lambda block: _word_matrix(block, width)[:, columns], len(columns), units, rows)


def answers_of(store: CountStore, answers: Answers, units: UnitRange, rows: TableRows) -> UnitCounts:
    """Return which of the `answers` each document has, once each, and its row of a table, grouped by unit.

    If the answers are of units, each unit is one document, whose words are cells of the table (`Answers`).
    """
    found = _group_by_unit(store, lambda block: _answer_matrix(block, store, answers.n), answers.n + 1, units, rows)
    return _whole_units(found, answers, len(rows)) if answers.most_of_unit else found


def units_of_groups(
    store: CountStore, attribute: Attribute, units: UnitRange = UnitRange()
) -> tuple[list[str], UnitCounts]:
    """Return the groups of the documents of `units` (private), and counts whose words are these groups.

    The only word of a document is its group. It occurs `MINIMUM_LENGTH` times, so that an eligible document with a
    group is eligible here, too. A document without a group is empty.
    """
    by_key = store.unit != DOCUMENT
    names: dict[str, int] = {}
    numbers, unit_keys = [np.zeros(0, np.int64)], [np.zeros((0, 2), np.uint64)]
    for block, keys, inside in _eligible_blocks(store, units):
        found, of_document = _groups_of(block, store.group_columns, attribute)
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


def _eligible_blocks(store: CountStore, units: UnitRange) -> Iterator[tuple[Block, np.ndarray, np.ndarray | slice]]:
    """Yield the eligible documents of each block that may have documents of `units`, and which of them are in `units`.

    The latter are given by their unit keys, and their indices among the block's eligible documents: a slice if all of
    them are in `units`. Ranges divide keys by their first 64 bits.
    """
    by_key = store.unit != DOCUMENT
    chosen = None if by_key else range(*(store.n_blocks * i // units.of for i in (units.index, units.index + 1)))
    for block in map(Block.eligible, store.blocks(chosen)):
        keys = np.asarray(block.units)
        inside: np.ndarray | slice = slice(None)
        if by_key and units.of > 1:
            first, last = (2**64 * i // units.of for i in (units.index, units.index + 1))
            inside = np.flatnonzero((keys[:, 0] >= np.uint64(first)) & (keys[:, 0] <= np.uint64(last - 1)))
        yield block, keys[inside], inside


def _group_by_unit(
    store: CountStore,
    matrix_of: Callable[[Block], sparse.csr_array],
    width: int,
    units: UnitRange,
    table_rows: TableRows | None = None,
) -> UnitCounts:
    """Return the counts of the documents of `units`, documents of one unit adjacent.

    ``matrix_of(block)`` makes a new matrix (n_documents, width) of the counts of a block's documents.
    Peak memory is about twice the size of the result: sparse matrices are joined and reordered without any further
    array that has a number for each entry.
    """
    rows, unit_keys = [sparse.csr_array((0, width), dtype=np.int32)], []
    of_table = [np.zeros(0, np.int32)]
    for block, keys, inside in _eligible_blocks(store, units):
        matrix = matrix_of(block)
        rows.append(matrix if isinstance(inside, slice) else matrix[inside])
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
    return UnitCounts(indptr, words, documents.data, unit_ptr, documents.shape[1], table)


def _word_matrix(block: Block, width: int) -> sparse.csr_array:
    """Return the counts of the words of `block`, (n_documents, width), as a view."""
    return sparse.csr_array((block.counts, block.words, block.indptr), shape=(block.n_documents, width))


def _with_rest(block: Block, width: int, columns: np.ndarray) -> sparse.csr_array:
    """Return the counts of the words in `columns`, and behind them of all other words together."""
    every = _word_matrix(block, width)
    listed = every[:, columns]
    rest = every.sum(axis=1, dtype=np.int64) - listed.sum(axis=1, dtype=np.int64)
    rest = np.minimum(rest, MAX_COUNT).astype(np.int32)
    return sparse.hstack([listed, sparse.csr_array(rest[:, None])], format="csr")


def _answer_matrix(block: Block, store: CountStore, n: int) -> sparse.csr_array:
    """Return the answers of the documents of `block`, as counts (n_documents, n + 1) over the "words" of `Answers`."""
    values, of_document = block.values(store.group_columns, ANSWERS)
    found = [[0, *_answer_numbers(value, n)] for value in (*values, "")]
    indptr = np.cumsum([0, *map(len, found)])
    words = np.array([number for numbers in found for number in numbers], np.int32)
    counts = np.where(words == 0, MINIMUM_LENGTH, 1).astype(np.int32)
    return sparse.csr_array((counts, words, indptr), shape=(len(found), n + 1))[of_document]


def _answer_numbers(value: str, n: int) -> list[int]:
    """Return the distinct numbers from 1 to `n` that are listed in `value`, ascending; other text is ignored."""
    return sorted({int(part) for part in value.split() if len(part) < 9 and part.isdecimal()} & set(range(1, n + 1)))


def _whole_units(counts: UnitCounts, answers: Answers, n_rows: int) -> UnitCounts:
    """Return one document for each unit, whose words are cells of the table (`Answers`)."""
    n_documents, n_units, width = len(counts.indptr) - 1, counts.n_units, answers.n + 1
    cells = counts.words + np.repeat(counts.rows.astype(np.int64) * width, np.diff(counts.indptr))
    documents = sparse.csr_array((np.ones_like(counts.words), cells, counts.indptr), (n_documents, n_rows * width))
    of_unit = (np.ones(n_documents, np.int64), np.arange(n_documents), counts.unit_ptr)  # numbers cannot overflow
    held = sparse.csr_array(of_unit, (n_units, n_documents)) @ documents
    held.sort_indices()
    answer = held.indices % width
    # Word 0 is the first of each row. An answer of the rest stays only if it is the next one, with no answer before it.
    kept = (answer <= answers.n - answers.n_rest) | (np.concatenate([[1], answer[:-1]]) == 0)
    indptr = np.concatenate([[0], np.cumsum(kept)])[held.indptr].astype(np.int64)
    numbers = (MINIMUM_LENGTH * np.minimum(held.data[kept], answers.most_of_unit)).astype(np.int32)
    return UnitCounts(indptr, held.indices[kept].astype(np.int32), numbers, np.arange(n_units + 1), n_rows * width)


def _by_unit(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of documents (n_documents,) that makes equal `keys` adjacent, and where each unit begins."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: a unit's documents stay in order
    keys = keys[order]
    new_unit = np.ones(len(keys), bool)
    new_unit[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return order, np.concatenate([np.flatnonzero(new_unit), [len(keys)]]).astype(np.int64)


def _rows_of(block: Block, columns: tuple[str, ...], rows: TableRows) -> np.ndarray:
    """Return the row of each document of `block`, (n_documents,) int32; its store has the group columns `columns`."""
    found = np.zeros(block.n_documents, np.int64)
    for axis in rows.axes:
        names, of_document = _groups_of(block, columns, axis.attribute)
        position, other = {name: index for index, name in enumerate(axis.groups)}, len(axis.groups)
        places = np.array([position.get(name, other) for name in names] + [other], np.int64)
        found = found * len(axis.names) + places[of_document]
    return found.astype(np.int32)


def _groups_of(block: Block, columns: tuple[str, ...], attribute: Attribute) -> tuple[list[str], np.ndarray]:
    """Return the groups of the documents of `block` (private), and the index of each one's group, -1 without one."""
    values, of_document = block.values(columns, attribute.stored_column)
    names: dict[str, int] = {}
    numbers = np.full(len(values) + 1, -1, np.int64)  # the last one is for documents without a value
    for index, value in enumerate(values):
        name = attribute.group(value)
        if name is not None:
            numbers[index] = names.setdefault(name, len(names))
    return list(names), np.asarray(numbers[of_document])
