"""Record types that readers produce: text or counts of documents, or the defect that made one contribute nothing."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

MAX_CHARACTERS = 25_000_000  # a longer document contributes nothing: one document may not exhaust memory
MAX_COUNT = 2**31 - 1  # occurrences of one word in one document that the store's int32 can hold
UNIT_BYTES = 16
DOCUMENT = "document"  # the privacy unit where no column names one
_POINT_ZEROS, _EXPONENT = re.compile(r"(-?[0-9]+)\.0*"), re.compile(r"-?[0-9](\.[0-9]*)?[eE]\+?[0-9]{1,3}")


class Defect(Enum):
    """Why a document contributes nothing. The text is a local diagnostic."""

    UNREADABLE = "could not be read"
    UNDECODABLE = "not text in a known encoding"
    MALFORMED = "malformed"
    BAD_COUNT = "a count that is not a whole number of occurrences, or a word number out of range"
    NO_UNIT = "no privacy unit"
    TOO_LONG = "longer than 25 million characters, or than 64 MiB in the file"
    NO_WORDS = "no words left"


class TextRecord(NamedTuple):
    """One document of a text format. `unit` is the key of its privacy unit (16 bytes)."""

    id: str
    unit: bytes
    text: str


@dataclass(frozen=True)
class CountedDocuments:
    """Some documents as counts, compressed by rows over a word list of their own.

    `words` (n_words,), `indptr` (n_documents + 1,), `indices` (nnz,) into `words`, `counts` (nnz,)
    occurrences in [1, 2^31 - 1]; `ids` and `units` (n_documents,). Entries of one word in one document
    may repeat: the store merges them. `defects` counts the documents that are not here.
    """

    words: list[str]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    counts: NDArray[np.int64]
    ids: list[str]
    units: list[bytes]
    defects: Counter[Defect] = field(default_factory=Counter)


class Records(Protocol):
    """Reads text, with few documents in memory."""

    def __call__(self, skip: int = 0) -> Iterator[TextRecord | Defect]:
        """The documents behind the first `skip`, which are passed over as fast as the format allows."""


class Chunks(Protocol):
    """Reads counts."""

    def __call__(self, skip: int = 0) -> Iterator[CountedDocuments]:
        """Chunks of the documents behind the first `skip`, defective ones counted too, which end a chunk."""


@dataclass(frozen=True)
class TextSource:
    """A text format that passed its public checks. `total` documents if known without reading."""

    files: tuple[Path, ...]
    unit: str
    records: Records
    total: int | None = None


@dataclass(frozen=True)
class CountSource:
    """A count format that passed its public checks."""

    files: tuple[Path, ...]
    unit: str
    chunks: Chunks
    total: int | None = None


Source = TextSource | CountSource


def unit_key(value: Any) -> bytes | None:
    """Key of the privacy unit that a column names, or None where the value names nobody.

    Spellings that programs give to one value name one unit, so that no unit is split in two: white space around a name
    is ignored, composed and decomposed accents are the same, and so are 7, 7.0, "7" and "7.0" (pandas writes whole
    numbers as 7.0 or 1e+16 where a column has gaps).
    """
    if isinstance(value, str):
        value = _spelled_plainly(normalize("NFC", value).strip())
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = int(value)
    elif isinstance(value, (float, np.floating)):
        value = int(value) if float(value).is_integer() else float(value)
    if not isinstance(value, (str, int, float)) or value == "" or value != value:
        return None
    return _hash(b"value", str(value))


def _spelled_plainly(value: str) -> str:
    """A whole number that a program wrote as a float, without point and exponent; any other name as it is."""
    if match := _POINT_ZEROS.fullmatch(value):
        value = match[1]
    elif _EXPONENT.fullmatch(value) and float(value).is_integer():
        value = str(int(float(value)))
    return "0" if value == "-0" else value


def document_key(ordinal: int) -> bytes:
    """Key of a document that is its own unit. The place only tells documents apart; no number depends on it."""
    return _hash(b"document", str(ordinal))


def _hash(kind: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=UNIT_BYTES, person=kind).digest()
