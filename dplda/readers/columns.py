"""The columns of a table that hold the text, the identifier and the privacy unit. Column names are public."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dplda.errors import InputError
from dplda.readers.records import (
    DOCUMENT,
    MAX_CHARACTERS,
    Defect,
    TextRecord,
    TextSource,
    document_key,
    printable,
    unit_key,
)

TEXT_NAMES = ("text", "content", "body", "review", "document", "abstract", "comment", "message")
LISTED = 20  # column names shown in a message
ID_CHARACTERS = 1000  # longer names of documents are cut: nothing but what is shown depends on them
_NAME = re.compile(r"[\w./-]{1,40}([ _][\w./-]{1,40}){0,2}")  # up to three short words

# The values of the text, id and unit columns of one record: None where there is none, a defect where it is unreadable.
Row = tuple[Any, Any, Any]


class Rows(Protocol):
    """Reads the rows of one file."""

    def __call__(self, skip: int) -> Generator[Row | Defect, None, int]:
        """Yield the rows behind the first `skip`; return how many of `skip` are still to be passed over."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a corpus, as the user declares it; public.

    `pattern` chooses the files of a folder by their names; `one_line` says that each line of a CSV or TSV file is one
    record, whatever it holds.
    """

    text_field: str | None = None
    id_field: str | None = None
    unit_field: str | None = None
    encoding: str | None = None
    pattern: str | None = None
    one_line: bool = False

    @property
    def unit(self) -> str:
        """``"document"``, or the column whose value names the privacy unit."""
        return DOCUMENT if self.unit_field is None else self.unit_field


@dataclass(frozen=True)
class Columns:
    """The columns chosen; `id` and `unit` are None where documents are numbered or their own unit.

    The text is in the first of the columns `text` that the document itself has.
    """

    text: tuple[str, ...]
    id: str | None
    unit: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys(name for name in (*self.text, self.id, self.unit) if name is not None))


def text_source(
    files: Sequence[Path], options: ReadOptions, parts: Sequence[Rows], total: int | None = None
) -> TextSource:
    """The documents of the `parts`, one after the other, numbered from 1 by their place among all of them.

    A document's number tells it apart where no column does. It depends on how many records stand before it, defective
    ones included, and not on what they hold.
    """

    def rows(skip: int) -> Iterator[Row | Defect]:
        for part in parts:
            skip = yield from part(skip)

    def records(skip: int = 0) -> Iterator[TextRecord | Defect]:
        for ordinal, row in enumerate(rows(skip), start=skip + 1):
            yield row if isinstance(row, Defect) else _record(row, ordinal, options.unit_field is not None)

    return TextSource(tuple(files), options.unit, records, total)


def _record(row: Row, ordinal: int, has_unit: bool) -> TextRecord | Defect:
    text, name, unit = row
    if not isinstance(text, str):
        return text if isinstance(text, Defect) else Defect.MALFORMED
    if len(text) > MAX_CHARACTERS:
        return Defect.TOO_LONG
    key = unit_key(unit) if has_unit else document_key(ordinal)
    if key is None:
        return unit if isinstance(unit, Defect) else Defect.NO_UNIT
    shown = str(ordinal if name is None or isinstance(name, Defect) else name)[:ID_CHARACTERS]
    return TextRecord(printable(shown), key, text)


def choose(path: Path, names: Sequence[str], options: ReadOptions, *, first: bool = True) -> Columns:
    """Settle the columns among `names`. Raises `InputError` for a column that is not there, or there twice.

    Of parts behind the `first` no names are shown: a part without a header begins with a document.
    """
    check_asked(path, names, names if first else None, options)
    text = options.text_field or next((name for name in TEXT_NAMES if name in names), None)
    if text is None:
        raise no_text_column(path, names)
    chosen = Columns((text,), options.id_field or ("id" if "id" in names else None), options.unit_field)
    for name in chosen.names:
        if names.count(name) > 1:
            raise InputError(f"{path} has several columns called {name!r}. Rename all but one of them.")
    return chosen


def check_asked(path: Path, names: Collection[str], shown: Sequence[str] | None, options: ReadOptions) -> None:
    """Raise `InputError`, showing the columns `shown` if any, for a column asked for that is not among `names`."""
    asked = {"text": options.text_field, "id": options.id_field, "unit": options.unit_field}
    for use, name in asked.items():
        if name is not None and name not in names:
            raise InputError(f"{use}_field {name!r} is not a column of {path}. {_listed(shown)}")


def no_text_column(path: Path, shown: Sequence[str]) -> InputError:
    """The error of a table none of whose columns has a likely name."""
    return InputError(f"Which column of {path} holds the text? Name it with --text-field. {_listed(shown)}")


def no_columns(path: Path, kind: str, options: ReadOptions) -> None:
    """Raise `InputError` if a column is asked of a format that has none."""
    asked = options.text_field or options.id_field or options.unit_field
    if asked is not None:
        raise InputError(f"{path} is {kind}, which has no columns: column {asked!r} cannot be read from it.")


def _listed(names: Sequence[str] | None) -> str:
    if names is None:
        return "Each part of a table needs the columns that are read, and a header where its format has one."
    if not names:
        return "It has no columns."
    if not all(_NAME.fullmatch(name) for name in names):  # a table without a header: do not show a document
        return f"Its {len(names)} columns have no plain names: does its first line name them?"
    return f"Its columns: {', '.join(names[:LISTED])}{', ...' if len(names) > LISTED else ''}."
