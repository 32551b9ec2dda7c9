"""Record types that readers produce: text or counts of documents, or the defect of a rejected document."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dplda.base.characters import is_name

DOCUMENT_TEXT = "(the document)"  # the name shown for the text of formats without columns
MAX_CHARACTERS = 25_000_000  # maximum characters of a document, to limit memory; a longer one contributes nothing
MAX_COUNT = 2**31 - 1  # occurrences of one word in one document that the store's int32 can hold
UNIT_BYTES = 16
NO_ID = bytes(UNIT_BYTES)  # in place of a key: the document lacks the id by which documents are told apart
DOCUMENT = "document"  # the privacy unit of a corpus without a unit column
_ROUNDED = 2.0**53  # floating-point numbers from here on may be other whole numbers, rounded
_SHORTENED = 1e11  # and those that spreadsheets write with an exponent, of which they show six digits
_POINT_ZEROS, _EXPONENT = re.compile(r"(-?[0-9]+)\.0*"), re.compile(r"-?[0-9](\.[0-9]*)?[eE]\+?[0-9]{1,3}")


class Defect(Enum):
    """Why a document contributes nothing. The values are local diagnostics."""

    UNREADABLE = "could not be read"
    UNDECODABLE = "not text in a known encoding"
    MALFORMED = "malformed"
    BAD_COUNT = "a count that is not a whole number of occurrences, or a word number out of range"
    NO_UNIT = "no privacy unit"
    TOO_LONG = "longer than 25 million characters, or than 64 MiB in the file"
    NO_WORDS = "no words left"


class TextRecord(NamedTuple):
    """One text document. `unit` is the key of its privacy unit (16 bytes), `groups` its values in the group columns.

    If each document is a unit, the key is that of its id if a column of ids was named (`NO_ID` without an id), else of
    its number.
    """

    id: str
    unit: bytes
    text: str
    groups: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class CountedDocuments:
    """Documents as a CSR matrix of counts, with its own word list.

    `words` (n_words,), `indptr` (n_documents + 1,), `indices` (nnz,) into `words`, `counts` (nnz,) in [1, 2^31 - 1]
    occurrences, `ids` and `units` (n_documents,). A document may have several entries for one word; the store merges
    them. `groups` (n_documents,) are the documents' values in the group columns, empty if there are none. `defects`
    counts rejected documents, which have no row.
    """

    words: list[str]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    counts: NDArray[np.int64]
    ids: list[str]
    units: list[bytes]
    groups: Sequence[tuple[str | None, ...]] = ()
    defects: Counter[Defect] = field(default_factory=Counter)


class Records(Protocol):
    """Reads text documents one by one."""

    def __call__(self, skip: int = 0) -> Iterator[TextRecord | Defect]:
        """The documents after the first `skip`, which are skipped as fast as the format allows."""


class Chunks(Protocol):
    """Reads documents of counts in chunks."""

    def __call__(self, skip: int = 0) -> Iterator[CountedDocuments]:
        """The documents after the first `skip`, in chunks.

        The first `skip` documents, defective ones included, must be whole chunks.
        """


@dataclass(frozen=True)
class TextSource:
    """A source of text documents that have not been read yet; its path, format and columns were checked.

    `files` are its files, `unit` is the column of the privacy unit or ``document``, `records` reads the documents, and
    `total` is their number if it is known without reading. It is `slow` if text must be extracted from files such as
    PDF.
    """

    files: tuple[Path, ...]
    unit: str
    records: Records
    total: int | None = None
    slow: bool = False


@dataclass(frozen=True)
class CountSource:
    """A source of counted documents that have not been read yet; `chunks` reads them; else as `TextSource`."""

    files: tuple[Path, ...]
    unit: str
    chunks: Chunks
    total: int | None = None


Source = TextSource | CountSource


def unit_key(value: Any) -> bytes | None:
    """Key of the privacy unit with the name `value`, or None if `value` is not a name.

    Different spellings of one value give one key, so that no unit is split in two. White space around a name is
    ignored, and composed and decomposed accents are equal. 7, 7.0, "7" and "7.0" are equal, too (pandas writes whole
    numbers as 7.0 in a column with missing values). A floating-point number of 2^53 or more is no name, nor is one of
    10^11 or more with an exponent: it may be another whole number, rounded, which another file holds exactly
    (docs/privacy.md, rule 3).
    """
    name = _spelling(value)
    return None if name is None else _hash(b"value", name)


def group_value(value: Any) -> str | None:
    """The group, such as a product or a date, that a cell with `value` names; None if it names none.

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
    """`value`, a string or number, as a string that is the same for all its spellings.

    None for an empty, missing or rounded value, and for a value of another type.
    """
    if isinstance(value, str):
        value = _without_exponent(normalize("NFC", value).strip())
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
    """Key of a document that is its own unit. The `ordinal` only distinguishes documents; no result depends on it."""
    return _hash(b"document", str(ordinal))


def _hash(kind: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=UNIT_BYTES, person=kind).digest()
