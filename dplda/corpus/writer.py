"""Writing a corpus store: chunks of counted documents in, complete folder or nothing out."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray

from dplda.corpus.blocks import BLOCK_DOCUMENTS, SCHEMA
from dplda.corpus.store import DICTIONARY, DOCUMENTS, FORMAT, META, VERSION, CountStore
from dplda.errors import InputError
from dplda.text.records import MAX_COUNT, UNIT_BYTES, CountedDocuments, Defect

DICTIONARY_ROWS = 1 << 16
Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]  # indptr, words, counts


class StoreWriter:
    """Context manager that writes a store beside `destination` and moves it there when it is complete.

    A failed or killed import leaves no folder that could be taken for a store. Memory holds the dictionary
    and one block. Raises `InputError` when the folder cannot be written, the disk being full included.
    """

    def __init__(
        self,
        destination: str | Path,
        *,
        unit: str = "document",
        name: str | None = None,
        reading: dict[str, Any] | None = None,
    ) -> None:
        self._destination = Path(destination)
        self._unit = unit
        self._name = name
        self._reading = reading or {}
        self._numbers: dict[str, int] = {}
        self._waiting: list[Any] = []
        self._n_waiting = 0
        self.n_documents = 0
        self.defects: Counter[Defect] = Counter()

    def __enter__(self) -> Self:
        with _writing(self._destination):
            self._destination.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A dot keeps it out of listings; mkdtemp gives mode 0700, which the finished store keeps.
            prefix = f".{self._destination.name}.partial-"
            self._folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self._destination.parent))
            self._file = _ArrowFile(self._folder / DOCUMENTS, SCHEMA)
        return self

    def append(self, chunk: CountedDocuments) -> None:
        """Add documents; entries that repeat a word are merged. Documents left without words stay, empty."""
        numbers = self._numbers
        lookup = np.fromiter(
            (numbers.setdefault(word, len(numbers)) for word in chunk.words), np.int64, len(chunk.words)
        )
        rows, overflowed = merge(chunk.indptr, lookup[chunk.indices], chunk.counts, len(numbers))
        self.defects.update(chunk.defects)
        self.defects[Defect.BAD_COUNT] += overflowed
        self.defects[Defect.NO_WORDS] += int(np.count_nonzero(np.diff(rows[0]) == 0)) - overflowed
        self._waiting.append(_batch(rows, chunk.units, chunk.ids))
        self._n_waiting += len(chunk.ids)
        self.n_documents += len(chunk.ids)
        if self._n_waiting >= BLOCK_DOCUMENTS:
            with _writing(self._destination):
                self._flush(last=False)

    def carry_over(self, defects: dict[str, int]) -> None:
        """Take over the defects that another store recorded of the documents appended here."""
        self.defects = Counter({Defect[name]: count for name, count in defects.items()})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                with _writing(self._destination):
                    self._finish()
        finally:
            try:
                self._file.abandon()
            finally:  # an interrupt, too, leaves no text behind
                shutil.rmtree(self._folder, ignore_errors=True)

    def _flush(self, *, last: bool) -> None:
        table = pa.Table.from_batches(self._waiting, SCHEMA)
        whole = table.num_rows if last else table.num_rows - table.num_rows % BLOCK_DOCUMENTS
        for first in range(0, whole, BLOCK_DOCUMENTS):
            part = table.slice(first, min(BLOCK_DOCUMENTS, whole - first)).combine_chunks()
            self._file.write(part.to_batches()[0])
        self._waiting = table.slice(whole).to_batches()
        self._n_waiting = table.num_rows - whole

    def _finish(self) -> None:
        self._flush(last=True)
        self._file.close()
        words = iter(self._numbers)
        dictionary = _ArrowFile(self._folder / DICTIONARY, pa.schema([pa.field("word", pa.string(), nullable=False)]))
        while some := list(islice(words, DICTIONARY_ROWS)):
            dictionary.write(pa.record_batch([pa.array(some, pa.string())], schema=dictionary.schema))
        dictionary.close()
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "id": secrets.token_hex(16),
            "unit": self._unit,
            "name": self._name,
            "reading": self._reading,
            "documents": self.n_documents,
            "defects": {defect.name: count for defect, count in self.defects.items() if count},
        }
        (self._folder / META).write_text(json.dumps(meta), encoding="utf-8")
        for file in self._folder.iterdir():
            file.chmod(0o600)
        os.rename(self._folder, self._destination)


class _ArrowFile:
    """An Arrow file being written batch by batch."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, schema)
        self.schema = schema

    def write(self, batch: Any) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()
        self._sink.close()

    def abandon(self) -> None:
        """Close without minding the footer, for which the disk may have no room."""
        with suppress(OSError, pa.ArrowException):
            self.close()


@contextmanager
def _writing(destination: Path) -> Iterator[None]:
    """One line for a full disk or a folder that may not be written."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "input/output error"
        raise InputError(
            f"Cannot write the corpus store {destination}: {reason}. Make room or choose another."
        ) from None


def _batch(rows: Rows, units: list[bytes], ids: list[str]) -> Any:
    indptr, words, counts = rows
    offsets = pa.array(indptr.astype(np.int32))
    lists = [
        pa.ListArray.from_arrays(offsets, pa.array(values), type=SCHEMA.field(name).type)
        for name, values in (("words", words), ("counts", counts))
    ]
    return pa.record_batch([*lists, pa.array(units, pa.binary(16)), pa.array(ids, pa.string())], schema=SCHEMA)


def as_chunks(store: CountStore) -> Iterator[CountedDocuments]:
    """The documents of `store`, to be written again."""
    for block in store.blocks():
        raw = np.ascontiguousarray(block.units).tobytes()
        yield CountedDocuments(
            words=store.dictionary,
            indptr=block.indptr.astype(np.int64),
            indices=block.words.astype(np.int64),
            counts=block.counts.astype(np.int64),
            ids=block.ids.to_pylist(),
            units=[raw[start : start + UNIT_BYTES] for start in range(0, len(raw), UNIT_BYTES)],
        )


def merge(
    indptr: NDArray[np.int64], words: NDArray[np.int64], counts: NDArray[np.int64], n_words: int
) -> tuple[Rows, int]:
    """CSR rows with words rising and distinct, counts of repeated words added up.

    `counts` (nnz,) are in [1, 2^31 - 1]. A row in which a sum exceeds that becomes empty; also returns how
    many did.
    """
    shape = (len(indptr) - 1, max(n_words, 1))
    matrix = scipy.sparse.csr_array((counts.astype(np.int64), words, indptr), shape=shape)
    matrix.sum_duplicates()
    over = matrix.data > MAX_COUNT
    if not over.any():
        return (
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.int32),
        ), 0
    rows = np.repeat(np.arange(shape[0]), np.diff(matrix.indptr))
    emptied = np.zeros(shape[0], dtype=np.bool_)
    emptied[rows[over]] = True
    keep = ~emptied[rows]
    kept = np.bincount(rows[keep], minlength=shape[0])
    starts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return (starts, matrix.indices[keep].astype(np.int32), matrix.data[keep].astype(np.int32)), int(emptied.sum())
