"""Shared by the readers of count formats: word names, chunks of documents, and the rule for bad counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplda.text.records import MAX_COUNT, CountedDocuments, Defect, document_key

CHUNK_DOCUMENTS = 4096
CHUNK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class WordNames:
    """Names of `size` word numbers from `first`: `words` if there is a list, else ``word<number>``."""

    words: Sequence[str] | None
    first: int
    size: int | None = None

    def valid(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which `numbers` (nnz,) are in range."""
        size = self.size if self.words is None else len(self.words)
        last = MAX_COUNT if size is None else self.first + size - 1
        return (numbers >= self.first) & (numbers <= last)

    def named(self, numbers: NDArray[np.int64]) -> list[str]:
        """Names of valid `numbers` (nnz,)."""
        if self.words is None:
            return [f"word{number}" for number in numbers.tolist()]
        return [self.words[number - self.first] for number in numbers.tolist()]


def chunked(
    documents: Iterator[tuple[int, list[tuple[int, int]] | Defect]], names: WordNames
) -> Iterator[CountedDocuments]:
    """Chunks of documents given as (ordinal, [(word number, count), ...])."""
    while some := _some(documents):
        defects = Counter(pairs for _, pairs in some if isinstance(pairs, Defect))
        good = [(ordinal, pairs) for ordinal, pairs in some if not isinstance(pairs, Defect)]
        lengths = [len(pairs) for _, pairs in good]
        entries = np.array([entry for _, pairs in good for entry in pairs], dtype=np.int64).reshape(-1, 2)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        yield counted(names, indptr, entries[:, 0], entries[:, 1], [ordinal for ordinal, _ in good], defects)


def _some(documents: Iterator[tuple[int, list[tuple[int, int]] | Defect]]) -> list[Any]:
    """The next documents until there are CHUNK_DOCUMENTS, or CHUNK_ENTRIES in them."""
    some, entries = [], 0
    for ordinal, pairs in islice(documents, CHUNK_DOCUMENTS):
        some.append((ordinal, pairs))
        entries += 0 if isinstance(pairs, Defect) else len(pairs)
        if entries >= CHUNK_ENTRIES:
            break
    return some


def counted(
    names: WordNames,
    indptr: NDArray[np.int64],
    numbers: NDArray[np.int64],
    counts: NDArray[np.int64],
    ordinals: Sequence[int],
    defects: Counter[Defect],
) -> CountedDocuments:
    """A chunk from word numbers; a document with a number or count out of range is dropped and counted.

    `counts` (nnz,) hold -1 where the file had no whole number. Zeros are allowed and contribute nothing.
    """
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    fine = names.valid(numbers) & (counts >= 0) & (counts <= MAX_COUNT)
    bad = np.zeros(len(indptr) - 1, dtype=np.bool_)
    bad[rows[~fine]] = True
    keep = ~bad[rows] & (counts > 0)
    lengths = np.bincount(rows[keep], minlength=len(bad))[~bad]
    used, indices = np.unique(numbers[keep], return_inverse=True)
    good = [ordinal for ordinal, dropped in zip(ordinals, bad.tolist(), strict=True) if not dropped]
    if bad.any():
        defects[Defect.BAD_COUNT] += int(bad.sum())
    return CountedDocuments(
        words=names.named(used),
        indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        indices=indices.astype(np.int64),
        counts=counts[keep],
        ids=[str(ordinal) for ordinal in good],
        units=[document_key(ordinal) for ordinal in good],
        defects=defects,
    )


def whole_counts(values: NDArray[Any]) -> NDArray[np.int64]:
    """`values` (nnz,) of any real type as int64, -1 for NaN, fractions, negatives and what exceeds int32."""
    with np.errstate(invalid="ignore"):
        fine = (values >= 0) & (values <= MAX_COUNT)
        if values.dtype.kind == "f":
            fine &= values == np.floor(values)
    counts = np.full(values.shape, -1, np.int64)  # filled, because unsigned types would wrap at -1
    counts[fine] = values[fine]
    return counts
