"""The rows of a table into which documents fall, and the groups that they are in.

A document's row follows from the document alone (docs/privacy.md, T10): from its values in the group columns, a public
calendar and lists of groups that are public or released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from dplda.attributes import Attribute, TableRows
from dplda.store.shards import Block


def rows_of(block: Block, columns: tuple[str, ...], rows: TableRows) -> np.ndarray:
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


def group_names(block: Block, columns: tuple[str, ...], attribute: Attribute) -> tuple[list[str], np.ndarray]:
    """The groups of the documents of `block`, private, and the index of each document's, -1 if it has none."""
    names = _Numbers()
    numbers = _numbered(block, columns, attribute, names)
    return list(names), numbers


def _numbered(block: Block, columns: tuple[str, ...], attribute: Attribute, places: Mapping[str, int]) -> np.ndarray:
    """The number in `places` of each document's group, (n_documents,); -1 for a document without one."""
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
