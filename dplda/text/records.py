"""What readers share: the records they produce, the keys of privacy units, and the columns they read.

A reader yields the text or the counts of each document, or the defect of a rejected one. Column names are public.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplda.base.characters import composed, is_name, storable
from dplda.base.errors import InputError

DOCUMENT_TEXT = "(the document)"  # the name shown for the text of formats without columns
MAX_CHARACTERS = 25_000_000  # maximum characters of a document, to limit memory; a longer one contributes nothing
MAX_COUNT = 2**31 - 1  # occurrences of one word in one document that the store's int32 can hold
UNIT_BYTES = TEXT_BYTES = 16
NO_ID = bytes(UNIT_BYTES)  # in place of a key: the document lacks the id that tells documents apart
DOCUMENT = "document"  # the privacy unit of a corpus without a unit column
_ROUNDED = 2.0**53  # floating-point numbers from here on may be rounded from other whole numbers
_SHORTENED = 1e11  # spreadsheets write numbers from here on with an exponent, and show six digits
_POINT_ZEROS, _EXPONENT = re.compile(r"(-?[0-9]+)\.0*"), re.compile(r"-?[0-9](\.[0-9]*)?[eE]\+?[0-9]{1,3}")

TEXT_NAMES = ("text", "content", "body", "review", "document", "abstract", "comment", "message")
_BORDER = "\n\n"
_SPACES = bytes(code for code in range(128) if chr(code).isspace())
_NULLS = ("NAType", "NaTType")  # of pandas
_LISTED = 20  # maximum number of column names shown in a message
_ID_CHARACTERS = 1000  # maximum characters of a document's name; longer names are cut, because they are only displayed
_NAME = re.compile(r"[\w./-]{1,40}([ _][\w./-]{1,40}){0,2}")  # a plausible column name: up to three short words

# Values of one record in the text, id and unit columns, in this order: None if missing, a defect if unreadable. The
# last part holds those of the group columns.
Row = tuple[Any, Any, Any, tuple[Any, ...]]
_Record = TypeVar("_Record")


class Defect(Enum):
    """Why a document contributes nothing. The values are local diagnostics."""

    UNREADABLE = "could not be read"
    UNDECODABLE = "not text in a known encoding"
    MALFORMED = "malformed"
    NO_TEXT = "no text"
    BAD_COUNT = "a count that is not a whole number of occurrences, or a word number out of range"
    NO_UNIT = "no privacy unit"
    TOO_LONG = "longer than 25 million characters, or than 64 MiB in the file"
    NO_WORDS = "no words left"
    FEW_WORDS = "fewer than three words left"

    @property
    def has_text(self) -> bool:
        """Whether such documents are kept, and counted as documents: they have text, but too few words."""
        return self in (Defect.NO_WORDS, Defect.FEW_WORDS)


class TextRecord(NamedTuple):
    """One text document. `unit` is the key of its privacy unit (16 bytes), `groups` its values in the group columns.

    If each document is a unit, the key is that of its number or, if a column of ids was named, of its id (`NO_ID`
    without one).
    """

    id: str
    unit: bytes
    text: str
    groups: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class CountedDocuments:
    """Documents as a CSR matrix of counts, with its own word list.

    A document may have several entries for one word; the store merges them.
    """

    words: list[str]  # (n_words,)
    indptr: NDArray[np.int64]  # (n_documents + 1,)
    indices: NDArray[np.int64]  # (nnz,), into `words`
    counts: NDArray[np.int64]  # (nnz,), occurrences in [1, 2^31 - 1]
    ids: list[str]  # (n_documents,)
    units: list[bytes]  # (n_documents,)
    groups: Sequence[tuple[str | None, ...]] = ()  # (n_documents,), values in the group columns; empty without them
    texts: Sequence[bytes] = ()  # (n_documents,), the `text_code` of each; empty for documents that were counted
    defects: Counter[Defect] = field(default_factory=Counter)  # numbers of rejected documents, which have no row


def text_code(text: str) -> bytes:
    """Return a 128-bit code of `text`: the same for other white space, line ends and forms of accents. Private."""
    if text.isascii():
        letters = text.encode().translate(None, _SPACES)
    else:
        letters = composed("".join(text.split())).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(letters, digest_size=TEXT_BYTES, person=b"dplda text").digest()


class Records(Protocol):
    """Reads text documents one by one."""

    def __call__(self, skip: int = 0) -> Iterator[TextRecord | Defect]:
        """Yield the documents after the first `skip`, which are skipped as fast as the format allows."""


class Chunks(Protocol):
    """Reads documents of counts in chunks."""

    def __call__(self, skip: int = 0) -> Iterator[CountedDocuments]:
        """Yield the documents after the first `skip`, in chunks.

        The first `skip` documents, defective ones included, must be whole chunks.
        """


@dataclass(frozen=True)
class TextSource:
    """A source of text documents that have not been read yet; its path, format and columns were checked."""

    files: tuple[Path, ...]
    unit: str  # the column of the privacy unit, or ``document``
    records: Records  # reads the documents
    total: int | None = None  # number of documents, if it is known without reading
    slow: bool = False  # text must be extracted from files such as PDF, or a language model is asked about it
    subfolders: Callable[[], Iterator[str | None]] | None = None  # lists those of a folder's documents, its only column


@dataclass(frozen=True)
class CountSource:
    """A source of counted documents that have not been read yet; like `TextSource`, but read by `chunks`."""

    files: tuple[Path, ...]
    unit: str
    chunks: Chunks
    total: int | None = None


Source = TextSource | CountSource


def unit_key(value: Any) -> bytes | None:
    """Hash `value`, the name of a privacy unit, to its key; None if `value` is not a name.

    Different spellings of one value give one key, so that no unit is split in two. White space around a name is
    ignored, and composed and decomposed accents are equal. 7, 7.0, "7" and "7.0" are equal, too (pandas writes whole
    numbers as 7.0 in a column with missing values). A floating-point number of 2^53 or more is no name, nor is one of
    10^11 or more with an exponent: it may be another whole number, rounded, which another file holds exactly
    (docs/privacy.md, rule 3).
    """
    name = _spelling(value)
    return None if name is None else _hash(b"value", name)


def group_value(value: Any) -> str | None:
    """Return the group, such as a product or a date, that a cell with `value` names; None if it names none.

    Different spellings of one value are equal, as in `unit_key`. Truth values are ``true`` and ``false``, dates are in
    ISO 8601. A value that is longer than 200 characters, or not printable, is no name.
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, date):
        try:
            return value.isoformat() if value == value else None  # pandas' missing date differs from itself
        except Exception:  # of an object in memory
            return None
    name = _spelling(float(value) if isinstance(value, Decimal) else value)
    return name if is_name(name) else None


def _spelling(value: Any) -> str | None:
    """Return `value`, a string or number, as a string that is the same for all its spellings.

    None for an empty, missing or rounded value, and for a value of another type.
    """
    if isinstance(value, str):
        value = _without_exponent(composed(value).strip())
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = int(value)
    elif isinstance(value, (float, np.floating)):
        rounded = min(_ROUNDED, 2.0 ** (np.finfo(type(value)).nmant + 1))  # shorter numbers are rounded earlier
        value = float(value)
        value = None if abs(value) >= rounded else int(value) if value.is_integer() else value
    if not isinstance(value, (str, int, float)) or value == "" or value != value:
        return None
    try:
        return str(value)
    except ValueError:  # a whole number of more digits than Python writes
        return None


def _without_exponent(value: str) -> str | None:
    """Rewrite "12.0" or "1e3" as a whole number; return other strings unchanged, and None for a rounded number."""
    point = _POINT_ZEROS.fullmatch(value)
    if point or _EXPONENT.fullmatch(value):
        number = float(value)
        if abs(number) >= (_ROUNDED if point else _SHORTENED):
            return None
        value = point[1] if point else str(int(number)) if number.is_integer() else value
    return "0" if value == "-0" else value


def document_key(ordinal: int) -> bytes:
    """Hash the `ordinal` of a document that is its own unit. It only tells documents apart; no result depends on it."""
    return _hash(b"document", str(ordinal))


def _hash(kind: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=UNIT_BYTES, person=kind).digest()


class RowReader(Protocol):
    """Reads the rows of one file."""

    def __call__(self, skip: int) -> Generator[Row | Defect, None, int]:
        """Yield the rows after the first `skip`; return how many rows are still to be skipped in the next file.

        That is 0, unless this file has fewer than `skip` rows.
        """


_NUMBERED = ", as a string. Name a column that has a number first, as with frame.rename(columns={0: 'text'})."


def _column_names(option: str, given: Any) -> tuple[str, ...]:
    """Return the `given` names of columns, one or several. Raises `InputError` for what is no name."""
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{option} must be the name of a column, or several names{_NUMBERED}")
    return names


@dataclass(frozen=True)
class ReadOptions:
    """The options of `Reading` that readers use; public. Columns without a name are chosen, or not read."""

    text_field: str | Sequence[str] | None = None
    id_field: str | None = None
    unit_field: str | None = None
    encoding: str | None = None  # None: by the byte order mark, else UTF-8, else Windows-1252
    pattern: str | None = None  # of the files to read in a folder; None for all
    one_line: bool = False  # each line of a CSV or TSV file is one record
    sheet: str | None = None  # of a workbook; None for the only one that is not hidden
    group_fields: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Keep a single text column as a string, and several columns as a tuple.

        Raises `InputError` for no text column, one named twice, and columns that are no names.
        """
        groups = _column_names("group_fields", self.group_fields)
        for option in ("id_field", "unit_field"):
            if not isinstance(getattr(self, option), str | None):
                raise InputError(f"{option} must be the name of a column{_NUMBERED}")
        object.__setattr__(self, "group_fields", tuple(dict.fromkeys(groups)))
        if self.text_field is None or isinstance(self.text_field, str):
            return
        names = _column_names("text_field", self.text_field)
        if not names:
            raise InputError("text_field must be the name of a column, or several names.")
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"text_field names column {name!r} twice. Name each column once.")
        object.__setattr__(self, "text_field", names if len(names) > 1 else names[0])

    @property
    def text_fields(self) -> tuple[str, ...]:
        """The columns of `text_field`; none if it is None."""
        if self.text_field is None:
            return ()
        return (self.text_field,) if isinstance(self.text_field, str) else tuple(self.text_field)

    @property
    def unit(self) -> str:
        """``"document"``, or the column whose value names the privacy unit."""
        return DOCUMENT if self.unit_field is None else self.unit_field


@dataclass(frozen=True)
class Columns:
    """The columns to read. Without `id` documents are numbered; without `unit` each document is its own unit.

    Tables are grouped by the columns `groups`, such as a product or a date.

    The text of a document is in all columns `text` together. Without `text`, in formats whose records have fields of
    their own, the text is in the first of the columns `TEXT_NAMES` that the record has.
    """

    text: tuple[str, ...]
    id: str | None
    unit: str | None
    groups: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns to read, without repeats."""
        return tuple(dict.fromkeys(name for name in self.wanted if name is not None))

    @property
    def wanted(self) -> tuple[str | None, ...]:
        """The columns of text, id, unit and groups, in the order in which `row` takes their values."""
        return (*self.text, self.id, self.unit, *self.groups)

    def row_of(self, fields: Mapping[Any, Any]) -> Row:
        """Return the row of a record that maps names of columns to values and may lack columns."""
        if self.text:
            return self.row([None if name is None else fields.get(name) for name in self.wanted])
        text = next((value for name in TEXT_NAMES if (value := fields.get(name)) is not None), None)
        groups = tuple(fields.get(name) for name in self.groups)
        return text, self.id and fields.get(self.id), self.unit and fields.get(self.unit), groups

    def row(self, values: Sequence[Any]) -> Row:
        """Make a row from the `values` of the columns `wanted`.

        Several texts are joined by an empty line, which no phrase crosses. A missing text counts as empty. A record is
        defective if one of these values is not text, or if all of them are missing.
        """
        n_texts = len(self.text)
        texts, (name, unit, *groups) = values[:n_texts], values[n_texts:]
        if n_texts == 1:
            return texts[0], name, unit, tuple(groups)
        # None, NaN and the missing values of pandas are missing.
        present = [text for text in texts if not _is_missing(text)]
        wrong = next((text for text in present if not isinstance(text, str)), None)
        return _BORDER.join(present) if present and wrong is None else wrong, name, unit, tuple(groups)


def _is_missing(value: Any) -> bool:
    """Whether `value` is None, nan or a null of pandas."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in _NULLS


def rows_after(
    skip: int, records: Iterable[_Record | Defect], row: Callable[[_Record], Row | Defect]
) -> Generator[Row | Defect, None, int]:
    """Yield the `row` of each of the `records` after the first `skip`.

    Returns how many records are still to be skipped in the next file (see `RowReader`).
    """
    for record in records:
        if skip:
            skip -= 1
        else:
            yield record if isinstance(record, Defect) else row(record)
    return skip


def text_source(
    files: Sequence[Path], options: ReadOptions, parts: Sequence[RowReader], total: int | None = None
) -> TextSource:
    """Return a source of the documents of the `parts`, in order, numbered from 1 across all parts.

    A document without an id or unit column is identified by its number. The number depends on how many records precede
    the document, defective ones included, and not on their content.
    """

    def rows(skip: int) -> Iterator[Row | Defect]:
        for part in parts:
            skip = yield from part(skip)

    def records(skip: int = 0) -> Iterator[TextRecord | Defect]:
        for ordinal, row in enumerate(rows(skip), start=skip + 1):
            yield row if isinstance(row, Defect) else _record(row, ordinal, options)

    return TextSource(tuple(files), options.unit, records, total)


def _record(row: Row, ordinal: int, options: ReadOptions) -> TextRecord | Defect:
    text, name, unit, groups = row
    if not isinstance(text, str):
        return text if isinstance(text, Defect) else Defect.NO_TEXT if _is_missing(text) else Defect.MALFORMED
    if len(text) > MAX_CHARACTERS:
        return Defect.TOO_LONG
    if options.unit_field is not None:
        key = unit_key(unit)
    else:
        key = document_key(ordinal) if options.id_field is None else unit_key(name) or NO_ID
    if key is None:
        return unit if isinstance(unit, Defect) else Defect.NO_UNIT
    try:
        shown = str(ordinal if name is None or isinstance(name, Defect) else name)[:_ID_CHARACTERS]
    except Exception:  # of an object in memory, or a whole number of more digits than Python writes
        shown = str(ordinal)
    return TextRecord(storable(shown), key, text, tuple(map(group_value, groups)))


def choose_columns(path: Path | str, names: Sequence[str], options: ReadOptions, *, first: bool = True) -> Columns:
    """Choose the columns among `names`. Raises `InputError` for a column that is missing or occurs twice.

    Messages show column names of the `first` part only, because the first line of a later part may be a document.
    """
    check_columns(path, names, names if first else None, options)
    text = options.text_fields or tuple([name for name in TEXT_NAMES if name in names][:1])
    if not text:
        raise no_text_column(path, names)
    name = options.id_field or ("id" if "id" in names else None)
    chosen = Columns(text, name, options.unit_field, tuple(options.group_fields))
    for name in chosen.names:
        if names.count(name) > 1:
            raise InputError(f"{path} has several columns called {name!r}. Rename all but one of them.")
    return chosen


def check_columns(path: Path | str, names: Collection[str], shown: Sequence[str] | None, options: ReadOptions) -> None:
    """Raise `InputError`, listing the columns `shown`, if columns that the options name are not among `names`.

    It is also an error to group by the column of the text.
    """
    named = [
        *(("text", name) for name in options.text_fields),
        ("id", options.id_field),
        ("unit", options.unit_field),
        *(("group", name) for name in options.group_fields),
    ]
    wrong = [(use, name) for use, name in named if name is not None and name not in names]
    if wrong:
        meant = ""
        for name in dict.fromkeys(name for _, name in wrong):
            alike = next((other for other in shown or () if other.casefold() == name.casefold()), None)
            meant += "" if alike is None else f"Did you mean {alike!r}? Capital letters count. "
            if alike is None and shown and plainly_named(shown):
                meant += "".join(f"Did you mean {close!r}? " for close in get_close_matches(name, shown, n=1))
        told = ", ".join(f"{use}_field {name!r}" for use, name in wrong)
        are = "is not a column" if len(wrong) == 1 else "are not columns"
        raise InputError(f"{told} {are} of {path}. {meant}{_listed(shown)}")
    text = options.text_fields or [name for name in TEXT_NAMES if name in names][:1]
    for name in options.group_fields:
        if name in text:
            raise InputError(
                f"{name!r} is the column of the text, by which nothing can be grouped. Name a column of short values, "
                "such as a product or a date."
            )


class NoTextColumn(InputError):
    """A table has no column of a usual name for the text. Its `columns` are those that the message may show."""

    def __init__(self, message: str, columns: Sequence[str]) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


def no_text_column(path: Path | str, shown: Sequence[str]) -> NoTextColumn:
    """Return the error for a table without a column of a usual name for the text."""
    message = f"Which column of {path} holds the text? Name it with --text-field (text_field). {_listed(shown)}"
    return NoTextColumn(message, shown if plainly_named(shown) else ())


def refuse_columns(path: Path, kind: str, options: ReadOptions, columns: str = "no columns") -> None:
    """Raise `InputError` if the options name a column, for a format that has none, or no `columns` but these."""
    named = (*options.text_fields, options.id_field, options.unit_field, *options.group_fields)
    column = next((name for name in named if name is not None), None)
    if column is not None:
        raise InputError(
            f"{path} is {kind}, which has {columns}: column {column!r} cannot be read from it. Read the file "
            "that has the column, write a table with a row for each document, leave the column out, or check --format."
        )


def _listed(names: Sequence[str] | None) -> str:
    if names is None:
        return "Each part of a table needs the columns that are read, and a header where its format has one."
    if not names:
        return "None of its columns has a name."
    if not plainly_named(names):
        return f"Its {len(names)} columns have no plain names: does its first line name them?"
    return f"Its columns: {shorten(names)}."


def plainly_named(names: Sequence[str]) -> bool:
    """Whether all `names` look like names of columns; otherwise they may be a document of a table without a header."""
    return all(map(_NAME.fullmatch, names))


def shorten(names: Sequence[str]) -> str:
    """List the first `names`, separated by commas."""
    return f"{', '.join(names[:_LISTED])}{', ...' if len(names) > _LISTED else ''}"
