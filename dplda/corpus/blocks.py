"""A block of documents as compressed sparse rows, and the rules that empty a damaged document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

BLOCK_DOCUMENTS = 16384
SCHEMA = pa.schema(
    [
        pa.field("words", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("counts", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("unit", pa.binary(16), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("new_words", pa.list_(pa.field("item", pa.large_string(), nullable=False)), nullable=False),
    ]
)


@dataclass(frozen=True)
class Block:
    """Consecutive documents; all arrays are read-only, and views of the store's file where it is sound.

    `indptr` (n_documents + 1,), `words` (nnz,) distinct within a document and inside the dictionary,
    `counts` (nnz,) in [1, 2^31 - 1], `units` (n_documents, 2) the 128-bit key of each privacy unit,
    `ids` (n_documents,) an Arrow string array.
    """

    indptr: NDArray[np.int32] | NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    units: NDArray[np.uint64]
    ids: Any

    @property
    def n_documents(self) -> int:
        """Rows of the block. Private."""
        return len(self.indptr) - 1

    def rows(self) -> NDArray[np.int64]:
        """Row of each entry, (nnz,)."""
        return np.repeat(np.arange(self.n_documents), np.diff(self.indptr))

    def without(self, emptied: NDArray[np.bool_]) -> Block:
        """A copy in which the documents `emptied` (n_documents,) are empty; their ranges may be anything."""
        lengths = np.where(emptied, 0, np.diff(self.indptr.astype(np.int64)))
        starts = self.indptr[:-1].astype(np.int64)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        copy = Block(indptr, self.words[entries], self.counts[entries], self.units, self.ids)
        freeze((copy.indptr, copy.words, copy.counts))
        return copy


def read_block(batch: Any, n_words: int) -> Block:
    """The block that an Arrow record batch of `SCHEMA` holds, without copying unless a document is damaged."""
    words, counts = batch.column(0), batch.column(1)
    indptr, others = _view(words.offsets, np.int32), _view(counts.offsets, np.int32)
    block = Block(
        indptr=indptr,
        words=_view(words.values, np.int32),
        counts=_view(counts.values, np.int32),
        units=_view(batch.column(2), np.uint64, 2).reshape(-1, 2),
        ids=batch.column(3),
    )
    ranges = _sound_ranges(indptr, others, min(len(block.words), len(block.counts)))
    if not ranges.all() or indptr[0] != 0 or indptr[-1] != len(block.words):
        block = block.without(~ranges)
    sound = sound_documents(block, n_words)
    return block if sound.all() else block.without(~sound)


def sound_documents(block: Block, n_words: int) -> NDArray[np.bool_]:
    """Which documents (n_documents,) hold distinct words of the dictionary with counts of at least 1."""
    bad = (block.words < 0) | (block.words >= n_words) | (block.counts < 1)
    rising = np.ones(len(block.words), dtype=np.bool_)
    rising[1:] = np.diff(block.words) > 0
    starts = block.indptr[:-1]
    rising[starts[starts < len(rising)]] = True
    sound = np.ones(block.n_documents, dtype=np.bool_)
    if bad.any() or not rising.all():
        rows = block.rows()
        sound[rows[bad]] = False
        order = np.lexsort((block.words, rows))  # unsorted words are fine, repeated ones are not
        repeated = (np.diff(block.words[order]) == 0) & (np.diff(rows[order]) == 0)
        sound[rows[order][1:][repeated]] = False
    return sound


def freeze(arrays: Sequence[NDArray[Any]]) -> None:
    """Make `arrays` read-only."""
    for array in arrays:
        array.flags.writeable = False


def _sound_ranges(starts: NDArray[np.int32], others: NDArray[np.int32], size: int) -> NDArray[np.bool_]:
    """Documents whose entries lie inside both lists, at the same place, and overlap no earlier document's."""
    first, last = starts[:-1], starts[1:]
    same = (first == others[:-1]) & (last == others[1:])
    reached = np.maximum.accumulate(np.concatenate([[0], last[:-1]]))
    return np.asarray(same & (first >= 0) & (first <= last) & (last <= size) & (first >= reached))


def _view(array: Any, dtype: type[np.int32] | type[np.uint64], width: int = 1) -> NDArray[Any]:
    """The values of a validated Arrow array, `width` numbers each."""
    n = width * (array.offset + len(array))  # a forged buffer may be longer, and of no whole number
    return np.frombuffer(array.buffers()[1] or b"", dtype, count=n)[width * array.offset :]
