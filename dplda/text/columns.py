"""Which columns of a table hold the text, the identifier and the privacy unit. Column names are public."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplda.errors import InputError
from dplda.text.records import MAX_CHARACTERS, Defect, TextRecord, document_key, printable, unit_key

TEXT_NAMES = ("text", "content", "body", "review", "document", "abstract", "comment", "message")
LISTED = 20  # column names shown in a message
_NAME = re.compile(r"[\w./-]{1,40}([ _][\w./-]{1,40}){0,2}")  # up to three short words


@dataclass(frozen=True)
class ReadOptions:
    """How to read a corpus. All of it is declared by the user and public."""

    text_field: str | None = None
    id_field: str | None = None
    unit_field: str | None = None
    multiline: bool = False
    encoding: str | None = None

    @property
    def unit(self) -> str:
        """``"document"``, or the column whose value names the privacy unit."""
        return "document" if self.unit_field is None else self.unit_field


@dataclass(frozen=True)
class Columns:
    """The columns chosen; `id` and `unit` are None where documents are numbered or their own unit.

    The text is in the first of the columns `text` that the document itself has.
    """

    text: tuple[str, ...]
    id: str | None
    unit: str | None

    def record(self, value: Callable[[str], Any], ordinal: int) -> TextRecord | Defect:
        """The document whose columns `value` looks up (None where there is none), or its defect."""
        text = next((found for name in self.text if (found := value(name)) is not None), None)
        if not isinstance(text, str):
            return Defect.MALFORMED
        if len(text) > MAX_CHARACTERS:
            return Defect.TOO_LONG
        unit = document_key(ordinal) if self.unit is None else unit_key(value(self.unit))
        if unit is None:
            return Defect.NO_UNIT
        name = None if self.id is None else value(self.id)
        return TextRecord(printable(str(ordinal if name is None else name)), unit, text)


def choose(path: Path, names: Sequence[str], options: ReadOptions) -> Columns:
    """Settle the columns among `names`. Raises `InputError` for a column that is not there."""
    check_asked(path, names, names, options)
    text = options.text_field or next((name for name in TEXT_NAMES if name in names), None)
    if text is None:
        raise no_text_column(path, names)
    return Columns((text,), options.id_field or ("id" if "id" in names else None), options.unit_field)


def check_asked(path: Path, names: Collection[str], shown: Sequence[str], options: ReadOptions) -> None:
    """Raise `InputError`, showing the columns `shown`, for a column asked for that is not among `names`."""
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


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "It has no columns."
    if not all(_NAME.fullmatch(name) for name in names):  # a table without a header: do not show a document
        return f"Its {len(names)} columns have no plain names: does its first line name them?"
    return f"Its columns: {', '.join(names[:LISTED])}{', ...' if len(names) > LISTED else ''}."
