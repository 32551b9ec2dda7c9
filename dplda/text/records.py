"""What readers hand on: text or counts of documents, or the kind of defect that made one contribute nothing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

MAX_CHARACTERS = 10_000_000  # a longer document contributes nothing: one document may not exhaust memory
MAX_COUNT = 2**31 - 1  # occurrences of one word in one document that the store's int32 can hold
UNIT_BYTES = 16


class Defect(Enum):
    """Why a document contributes nothing. The text is for the person at the keyboard only."""

    UNREADABLE = "could not be read"
    UNDECODABLE = "not text in a known encoding"
    MALFORMED = "malformed"
    UNBALANCED = "a quoted field not closed on its line"
    BAD_COUNT = "a count that is not a whole number of occurrences, or a word number out of range"
    NO_UNIT = "no privacy unit"
    TOO_LONG = "longer than ten million characters"
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

    A number and its digits name the same unit, however the file or NumPy holds it: 7, 7.0 and "7" are one person.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = int(value)
    elif isinstance(value, (float, np.floating)):
        value = int(value) if float(value).is_integer() else float(value)
    if not isinstance(value, (str, int, float)) or value == "" or value != value:
        return None
    return _hash(b"value", str(value))


def document_key(ordinal: int) -> bytes:
    """Key of a document that is its own unit. The place only tells documents apart; no number depends on it."""
    return _hash(b"document", str(ordinal))


def printable(text: str) -> str:
    """`text` with lone surrogates (undecodable file names, broken JSON escapes) made storable."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _hash(kind: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=UNIT_BYTES, person=kind).digest()
