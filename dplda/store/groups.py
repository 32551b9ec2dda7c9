"""Groups of documents, such as products or months, and the rows of a table into which documents fall.

A document's row follows from the document alone (docs/privacy.md, T10): from its values in the group columns, a public
calendar and lists of groups that are public or released.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from dplda.store.shards import Block

OTHER = "other"  # the name of the row of documents that are in no listed group
_MONTHS_OF_QUARTER = 3


def _week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


PERIODS: dict[str, Callable[[date], str]] = {  # names of periods, in which alphabetical order is that of time
    "day": date.isoformat,
    "week": _week,
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month - 1) // _MONTHS_OF_QUARTER + 1}",
    "year": lambda day: f"{day.year:04}",
}


@dataclass(frozen=True)
class Attribute:
    """What documents are grouped by: the values of a `column`, or the `period` in which its dates fall.

    Dates are in ISO 8601. Those with an offset are converted to the time zone `zone`; others are taken as they are.
    """

    column: str
    period: str | None = None
    zone: str = "UTC"

    @property
    def name(self) -> str:
        """As it is written in ``--by``: ``product`` or ``month(date)``."""
        return self.column if self.period is None else f"{self.period}({self.column})"

    def group(self, value: str) -> str | None:
        """The group of a document with this `value` in the column; None if it has none."""
        if self.period is None:
            return value
        try:
            moment = datetime.fromisoformat(value)
            day = (moment if moment.tzinfo is None else moment.astimezone(_zone(self.zone))).date()
        except (ValueError, OverflowError):
            return None
        return PERIODS[self.period](day)


@lru_cache(maxsize=8)
def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)  # UTC needs no database of zones


@dataclass(frozen=True)
class Axis:
    """An attribute and its listed `groups`, which are public or released; a document in none of them is in `OTHER`."""

    attribute: Attribute
    groups: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, and `OTHER` at the end."""
        return *self.groups, OTHER


@dataclass(frozen=True)
class Rows:
    """The rows of a table: one for every combination of groups of its `axes`, the last axis varying fastest."""

    axes: tuple[Axis, ...]

    def __len__(self) -> int:
        return math.prod(len(axis.names) for axis in self.axes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The group columns that are read."""
        return tuple(dict.fromkeys(axis.attribute.column for axis in self.axes))

    def of(self, block: Block, columns: tuple[str, ...]) -> np.ndarray:
        """The row of each document of `block`, (n_documents,) int32; `columns` are the group columns of its store."""
        rows = np.zeros(block.n_documents, np.int64)
        for axis in self.axes:
            found = _numbered(block, columns, axis.attribute, _Places(axis.groups))
            rows = rows * len(axis.names) + np.where(found < 0, len(axis.groups), found)
        return rows.astype(np.int32)


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
