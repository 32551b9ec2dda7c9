"""Stores in memory, made from matrices of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray

from dplda.base.errors import InputError
from dplda.private.store.count_store import CountStore
from dplda.private.store.shards import BLOCK_DOCUMENTS, SCHEMA_WITH_GROUPS, Block
from dplda.private.store.writer import merge
from dplda.text.counted_files import whole_counts
from dplda.text.records import DOCUMENT, Defect, document_key, group_value, unit_key


def store_from_matrix(
    matrix: Any,
    vocabulary: Sequence[str],
    units: Sequence[Any] | None,
    unit: str = "unit",
    groups: Mapping[str, Sequence[Any]] | None = None,
) -> CountStore:
    """A store of `matrix` (n_documents, n_words), sparse or dense, whose columns are `vocabulary`.

    `units` (n_documents,) name the `unit` of each row; with None each row is a unit. `groups` maps names of group
    columns to the value of each row (n_documents,). Repeated entries are added up. A row
    without a unit, or with an entry that is no whole number of occurrences, becomes empty. Raises `InputError` if
    shapes disagree or the vocabulary repeats a word.
    """
    csr = _as_csr(matrix)
    words = _checked_words(vocabulary, csr.shape[1])
    keys, unnamed = _unit_keys(units, csr.shape[0])
    groups = groups or {}
    values = _group_values(groups, csr.shape[0])
    counts = whole_counts(csr.data)
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    bad = np.zeros(csr.shape[0], dtype=np.bool_)
    bad[rows[(counts < 0) | (csr.indices < 0) | (csr.indices >= len(words))]] = True
    keep = ~(bad | unnamed)[rows] & (counts > 0)
    lengths = np.bincount(rows[keep], minlength=csr.shape[0])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    merged, over = merge(indptr, csr.indices[keep].astype(np.int64), counts[keep], len(words))
    defects = {Defect.BAD_COUNT.name: int(bad.sum()) + over, Defect.NO_UNIT.name: int((unnamed & ~bad).sum())}
    return CountStore.from_blocks(
        _blocks(merged, keys, values),
        words,
        unit=DOCUMENT if units is None else unit,
        defects={name: count for name, count in defects.items() if count},
        group_columns=tuple(groups),
    )


def _as_csr(matrix: Any) -> Any:
    try:
        csr = scipy.sparse.csr_array(matrix)
        csr.check_format(full_check=False)
    except (ValueError, TypeError):
        raise InputError("counts must be a matrix of (n_documents, n_words).") from None
    if csr.ndim != 2 or not np.isdtype(csr.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"counts must be a matrix of whole numbers, got {csr.ndim} dimensions of {csr.dtype}.")
    if len(csr.indptr) and np.any(np.diff(csr.indptr) < 0):
        raise InputError("counts must be a valid sparse matrix; its row pointers decrease.")
    return csr


def _checked_words(vocabulary: Sequence[str], n_columns: int) -> list[str]:
    words = list(vocabulary)
    if len(words) != n_columns:
        raise InputError(f"vocabulary must name each column: {len(words)} words for {n_columns} columns of counts.")
    if not all(isinstance(word, str) and word for word in words):
        raise InputError("vocabulary must hold non-empty strings.")
    if len(set(words)) != len(words):
        raise InputError("vocabulary must not repeat a word. Add up the columns of equal words first.")
    return words


def _unit_keys(units: Sequence[Any] | None, n_documents: int) -> tuple[list[bytes], NDArray[np.bool_]]:
    """The key of each row's unit, and a mask of the rows without a unit (each gets its own, and is emptied)."""
    if units is None:
        return [document_key(row) for row in range(n_documents)], np.zeros(n_documents, dtype=np.bool_)
    if getattr(units, "dtype", None) in (np.float16, np.float32):
        raise InputError("units must not be short floating-point numbers, which round ids. Give text or whole numbers.")
    values = np.asarray(units, dtype=object).tolist()
    if len(values) != n_documents:
        raise InputError(f"units must name the unit of each row: {len(values)} units for {n_documents} rows.")
    named = [unit_key(value) for value in values]
    keys = [document_key(row) if key is None else key for row, key in enumerate(named)]
    return keys, np.array([key is None for key in named], dtype=np.bool_)


def _group_values(groups: Mapping[str, Sequence[Any]], n_documents: int) -> Any:
    """The rows' values in the columns `groups`, an Arrow array of lists; None without columns."""
    columns = [[group_value(value) for value in _as_objects(values)] for values in groups.values()]
    for name, column in zip(groups, columns, strict=True):
        if len(column) != n_documents:
            raise InputError(f"groups must have a value for each row: {name!r} has {len(column)} for {n_documents}.")
    kind = SCHEMA_WITH_GROUPS.field("groups").type
    return pa.array(list(map(list, zip(*columns, strict=True))), kind) if columns else None


def _as_objects(values: Any) -> list[Any]:
    array = values if isinstance(values, list | tuple) else np.asarray(values)
    if isinstance(array, np.ndarray) and np.issubdtype(array.dtype, np.datetime64):
        array = array.astype("datetime64[us]")  # finer ones become numbers
    return list(np.asarray(array, dtype=object).tolist())


def _blocks(rows: tuple[Any, Any, Any], keys: list[bytes], groups: Any) -> list[Block]:
    indptr, words, counts = rows
    units = np.frombuffer(b"".join(keys), dtype=np.uint64).reshape(-1, 2)
    blocks = []
    for first in range(0, len(keys), BLOCK_DOCUMENTS):
        last = min(first + BLOCK_DOCUMENTS, len(keys))
        begin, end = indptr[first], indptr[last]
        ids = pa.array([str(row) for row in range(first, last)], pa.string())
        part = slice(begin, end)
        values = None if groups is None else groups[first:last]
        bounds = indptr[first : last + 1] - begin
        blocks.append(Block(bounds, words[part], counts[part], units[first:last], ids, values))
    return blocks
