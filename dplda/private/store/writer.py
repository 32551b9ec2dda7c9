"""Write a corpus store from chunks of counted documents, so that a stopped import can resume.

`StoreWriter` collects chunks into shards. Until the store is complete, they are in a `PartialStore`:

    .STORE.partial/origin.json   the source of the documents, see `Origin`
    .STORE.partial/store         the shards written so far
    .STORE.partial/lock          locked by the one process that writes
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from dplda.base.config import MINIMUM_LENGTH
from dplda.base.errors import InputError
from dplda.private.store.count_store import (
    BLOCK_DOCUMENTS,
    FINGERPRINT,
    FORMAT,
    INSIDE,
    META,
    ORIGIN,
    SCHEMA,
    SCHEMA_WITH_GROUPS,
    VERSION,
    Checkpoint,
    CountStore,
    Shard,
    intact_shards,
    is_store,
    partial_folder,
    read_block,
    shard_name,
    store_identity,
    sync_folder,
    write_atomically,
    write_shard,
)
from dplda.private.store.fingerprint import Fingerprinter
from dplda.text.records import DOCUMENT, MAX_COUNT, TEXT_BYTES, CountedDocuments, Defect

_LOCK = "lock"
_SHARD_BLOCKS = 2  # blocks in a shard; a stopped import loses at most one shard, which is seconds of work
_SHARD_SECONDS = 60.0  # a shard also ends after this time, so that answers of language models are not lost
_SHARD_ENTRIES = 1 << 22  # a shard also ends at this number of entries, so that shards of long documents stay small
_Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]  # indptr, words, counts
Notice = Callable[[str], object]  # called with one line for the user


def silent(_: str) -> None:
    """Ignore the notice."""


class StoreLocked(InputError):
    """Another process is writing this store or has just written it."""


@dataclass(frozen=True)
class Origin:
    """The source of a store's documents: the user's `options` and the `state` of files and versions, as JSON.

    An import resumes only if both are unchanged. The keys of `state` appear in messages about what has changed.
    """

    options: Mapping[str, Any]
    state: Mapping[str, Any]


class PartialStore:
    """The partial store of `destination`, locked by this process between `open` and `close`.

    `shards` are the shards from which the import resumes: those on disk if the `origin` is the same, and none with
    `restart`. An import with other options is refused; if the corpus has changed, it starts over with a `notice`.
    Without an origin nothing is kept for a later import. `n_shards` is the number of shards on disk now.
    """

    def __init__(self, destination: Path, origin: Origin | None, *, restart: bool, notice: Notice) -> None:
        self._destination = destination
        self._origin, self._restart, self._notice = origin, restart, notice
        self.folder = partial_folder(destination)
        self.inside = self.folder / INSIDE
        self.shards: list[Shard] = []
        self.n_shards = 0

    def open(self) -> None:
        """Lock the folder and find the shards to resume from. Raises `InputError`, `StoreLocked` or `OSError`."""
        self._lock = _lock_folder(self.folder, self._destination)
        try:
            self._resume_or_begin()
        except BaseException:
            self.close()
            raise

    @property
    def is_kept(self) -> bool:
        """Whether the next import can resume."""
        return self.n_shards > 0 and os.path.isfile(self.folder / ORIGIN)

    def add(self, batches: Sequence[Any], reached: Checkpoint) -> Shard:
        """Write the next shard."""
        path = self.inside / shard_name(self.n_shards)
        write_shard(path, batches, reached)
        self.n_shards += 1
        return Shard(path)

    def finish(self, files: Mapping[str, bytes]) -> None:
        """Complete the store by writing `files`, and move it to its destination. Must be called only once."""
        for name, content in files.items():
            _write_bytes(self.inside / name, content)
        os.rename(self.inside, self._destination)
        sync_folder(self._destination.parent)
        self.n_shards = 0

    def close(self) -> None:
        """Unlock the folder, and remove it if the next import could not resume."""
        if not self.is_kept:
            with suppress(OSError):
                self._clear()
                (self.folder / _LOCK).unlink(missing_ok=True)
                self.folder.rmdir()
        self._lock.release()

    def _resume_or_begin(self) -> None:
        """Resume from the shards on disk, or start over."""
        stopped = _read_origin(self.folder / ORIGIN)
        if stopped is not None:
            self.shards = intact_shards(self.inside)
            self.n_shards = len(self.shards)
        if os.path.exists(self._destination):
            error = StoreLocked if is_store(self._destination) else InputError
            raise error(f"{self._destination} exists already. Choose another folder, or remove it.")
        if stopped is not None and self.shards and not self._restart:
            origin = self._origin or Origin({}, {})
            options = _differences(stopped.options, origin.options)
            if options:
                raise InputError(
                    f"The import into {self._destination} that was stopped differs from this one in "
                    f"{', '.join(options)}. Give the same options to resume it, or --restart (restart=True) to "
                    "discard it."
                )
            changed = _differences(stopped.state, origin.state)
            if not changed:
                kept = set(map(shard_name, range(self.n_shards)))
                for file in self.inside.iterdir():
                    if file.name not in kept:
                        file.unlink()
                return
            since = f"since an import into {self._destination} was stopped"
            self._notice(f"Starting over: {' and '.join(changed)} changed {since}.")
        self.shards, self.n_shards = [], 0
        self._clear()
        self.inside.mkdir(mode=0o700)
        if self._origin is not None:
            _write_bytes(self.folder / ORIGIN, json.dumps(asdict(self._origin)).encode())
            sync_folder(self.folder.parent)

    def _clear(self) -> None:
        """Remove everything but the lock.

        The origin is deleted first, so that an interrupted deletion cannot be resumed as an import.
        """
        (self.folder / ORIGIN).unlink(missing_ok=True)
        for entry in self.folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:
                entry.unlink()


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def _read_origin(path: Path) -> Origin | None:
    """Return the origin of a stopped import, None if `path` is missing or damaged."""
    try:
        entry = json.loads(path.read_bytes())
        return Origin(dict(entry["options"]), dict(entry["state"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _write_bytes(path: Path, content: bytes) -> None:
    write_atomically(path, lambda file: file.write(content))


def _lock_folder(folder: Path, destination: Path) -> FileLock:
    """Make `folder`, accessible only to its owner, and lock it. Raises `StoreLocked` if another process has done so."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        lock = _file_lock(folder)
        try:
            status = os.lstat(folder)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():  # whoever made it can read it
                raise InputError(
                    f"{folder} is not a folder that you own. Remove it, or choose another place for the store."
                )
            lock.acquire()
        except FileNotFoundError:  # the process that held it has just finished and removed it
            continue
        except Timeout:
            raise StoreLocked(
                f"Another import into {destination} is running. Wait for it, or choose another folder."
            ) from None
        return lock


def _file_lock(folder: Path) -> FileLock:
    return FileLock(folder / _LOCK, timeout=0, mode=0o600, thread_local=False)


def sweep(folder: Path, seconds: float) -> None:
    """Remove the partial stores in `folder` that no process holds and that have not changed for `seconds`."""
    for partial in folder.glob(".*.partial*"):
        with suppress(OSError, Timeout):  # another process holds it, or has just finished or removed it
            last = max(path.stat().st_mtime for path in (partial, *partial.glob(INSIDE)))
            if last < time.time() - seconds:
                with _file_lock(partial):
                    shutil.rmtree(partial, ignore_errors=True)


def temporary_store(parent: Path) -> tuple[Path, Callable[[], None]]:
    """Make a new folder in `parent` for a temporary store; return the store's path, and a function that removes it.

    If the process is killed, `sweep` removes the folder later.
    """
    folder = parent / f".{secrets.token_hex(8)}.partial"
    folder.mkdir(mode=0o700)
    lock = _file_lock(folder)
    lock.acquire()
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not a process forked from it
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)

    return folder / INSIDE, remove


class StoreWriter:
    """Context manager that writes a store in a partial folder and moves it to `destination` when it is complete.

    If an import of a known `origin` is stopped, the shards on disk remain in the partial folder, and the next import of
    the same origin resumes from them: the caller must skip the first `n_read` documents of the source, defective ones
    included. `restart` discards these shards. `notice` receives one line, a local diagnostic, when the import resumes,
    starts over or is stopped. With the `key` of a ledger, the store contains its own fingerprint. Memory holds the
    dictionary and one shard. Raises `InputError` if the folder cannot be written, for example because the disk is full,
    and `StoreLocked` while another process writes the same store.
    """

    def __init__(
        self,
        destination: str | Path,
        *,
        unit: str = DOCUMENT,
        name: str | None = None,
        reading: dict[str, Any] | None = None,
        origin: Origin | None = None,
        restart: bool = False,
        notice: Notice = silent,
        key: bytes | None = None,
        group_columns: Sequence[str] = (),
        id_field: str | None = None,
        places: Sequence[str] = (),
        categories: Mapping[str, Any] | None = None,
    ) -> None:
        self._destination = Path(destination)
        self._unit = unit
        self._name = name
        self._reading, self._group_columns, self._id_field = reading or {}, tuple(group_columns), id_field
        self._places = list(places)
        self._categories = dict(categories or {})
        self._notice = notice
        self._partial = PartialStore(self._destination, origin, restart=restart, notice=notice)
        self._fingerprinter = None if key is None else Fingerprinter(key, unit)
        self._numbers: dict[str, int] = {}  # the dictionary: the index of each word
        self._n_words_written = 0  # in the shards on disk
        self._waiting: list[Any] = []  # record batches for the next shard,
        self._n_waiting = self._n_entries = 0  # and their documents and entries
        self._began = time.monotonic()  # the shard
        self.n_documents = self.n_read = 0  # documents kept, and documents read, defective ones included
        self.defects: Counter[Defect] = Counter()

    def __enter__(self) -> Self:
        with _writing(self._destination):
            self._partial.open()
            try:  # continue after the shards that are on disk
                for shard in self._partial.shards:
                    self._take(shard)
                    reached = shard.checkpoint()
                    self.n_read, self.n_documents = reached.n_read, reached.n_documents
                    self.carry_over(reached.defects)
            except BaseException:
                self._partial.close()
                raise
        if self.n_read:
            self._notice(
                f"Resuming after document {self.n_read:,}, where an import into {self._destination} stopped "
                "(exact, not private, not for publication)."
            )
        return self

    def append(self, chunk: CountedDocuments) -> None:
        """Add documents. Entries of the same word are added up; documents without words are kept, empty."""
        numbers = self._numbers
        lookup = np.fromiter(
            (numbers.setdefault(word, len(numbers)) for word in chunk.words), np.int64, len(chunk.words)
        )
        rows, overflowed = merge(chunk.indptr, lookup[chunk.indices], chunk.counts, len(numbers))
        self.defects.update(chunk.defects)
        self.defects[Defect.BAD_COUNT] += overflowed
        tokens = np.diff(np.concatenate([[0], np.cumsum(rows[2])])[rows[0]])
        self.defects[Defect.NO_WORDS] += int(np.count_nonzero(tokens == 0)) - overflowed
        self.defects[Defect.FEW_WORDS] += int(np.count_nonzero((tokens > 0) & (tokens < MINIMUM_LENGTH)))
        self._waiting.append(_batch(rows, chunk, len(self._group_columns)))
        self._n_waiting += len(chunk.ids)
        self._n_entries += len(rows[1])
        self.n_documents += len(chunk.ids)
        self.n_read += len(chunk.ids) + chunk.defects.total()
        full = self._n_waiting >= _SHARD_BLOCKS * BLOCK_DOCUMENTS or self._n_entries >= _SHARD_ENTRIES
        if full or (self._n_waiting and time.monotonic() >= self._began + _SHARD_SECONDS):
            with _writing(self._destination):
                self._flush()

    def carry_over(self, defects: dict[str, int]) -> None:
        """Replace the recorded defects by those of the store that the documents come from."""
        self.defects = Counter({Defect[name]: count for name, count in defects.items()})

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                with _writing(self._destination):
                    self._finish()
        finally:
            if self._partial.is_kept:
                self._notice(
                    f"What was read is kept in {self._partial.folder}: the same command resumes there. Remove "
                    "that folder to discard it."
                )
            self._partial.close()

    def _flush(self) -> None:
        """Write the waiting chunks as one shard. Chunks stay whole, so that reading can resume after the shard."""
        schema = SCHEMA_WITH_GROUPS if self._group_columns else SCHEMA
        place = schema.get_field_index("new_words")
        table = pa.Table.from_batches(self._waiting, schema.remove(place))
        new = pa.array(islice(self._numbers, self._n_words_written, None), pa.large_string())
        bounds = np.minimum(np.arange(table.num_rows + 1), 1) * len(new)  # the first document has them all
        kind = SCHEMA.field("new_words")
        table = table.add_column(place, kind, pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), new, kind.type))
        n_blocks = max(1, table.num_rows // BLOCK_DOCUMENTS)
        batches = table.combine_chunks().to_batches(max_chunksize=max(1, -(-table.num_rows // n_blocks)))
        reached = Checkpoint(self.n_read, self.n_documents, self._named_defects())
        self._take(self._partial.add(batches, reached))
        self._waiting, self._n_waiting, self._n_entries, self._began = [], 0, 0, time.monotonic()

    def _take(self, shard: Shard) -> None:
        """Add a shard on disk to the dictionary and the fingerprint."""
        words = shard.new_words().to_pylist()
        for word in words:
            self._numbers.setdefault(word, len(self._numbers))
        self._n_words_written += len(words)
        if self._fingerprinter is not None:
            self._fingerprinter.add_words(words)
            for index in range(len(shard)):
                self._fingerprinter.add(read_block(shard.batch(index), self._n_words_written))

    def _finish(self) -> None:
        if self._n_waiting or not self._partial.n_shards:
            self._flush()
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "id": secrets.token_hex(16),
            "unit": self._unit,
            "name": self._name,
            "reading": self._reading,
            **({"groups": list(self._group_columns)} if self._group_columns else {}),
            **({} if self._id_field is None else {"id_field": self._id_field}),
            **({"places": self._places} if self._places else {}),
            **({"categories": self._categories} if self._categories else {}),
            "documents": self.n_documents,
            "defects": self._named_defects(),
            "shards": self._partial.n_shards,
        }
        files = {META: json.dumps(meta).encode()}
        if self._fingerprinter is not None:
            files = {FINGERPRINT: self._fingerprinter.to_json(store_identity(self._partial.inside, meta))} | files
        self._partial.finish(files)

    def _named_defects(self) -> dict[str, int]:
        return {defect.name: count for defect, count in self.defects.items() if count}


@contextmanager
def _writing(destination: Path) -> Iterator[None]:
    """Turn the errors of a full disk or a read-only folder into a one-line `InputError`."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "input/output error"
        raise InputError(
            f"Cannot write the corpus store {destination}: {reason}. Make room or choose another folder."
        ) from None


def _batch(rows: _Rows, chunk: CountedDocuments, n_groups: int) -> Any:
    """Return an Arrow record batch of the documents of a chunk, whose words and counts are the merged `rows`.

    It lacks the column of new words, which is added when its shard is written.
    """
    indptr, words, counts = rows
    schema = SCHEMA_WITH_GROUPS if n_groups else SCHEMA
    schema = schema.remove(schema.get_field_index("new_words"))
    offsets = pa.array(indptr.astype(np.int32))
    lists = [
        pa.ListArray.from_arrays(offsets, pa.array(values), type=SCHEMA.field(name).type)
        for name, values in (("words", words), ("counts", counts))
    ]
    texts = chunk.texts or [bytes(TEXT_BYTES)] * len(chunk.ids)
    columns = [*lists, pa.array(chunk.units, pa.binary(16)), pa.array(chunk.ids, pa.string())]
    columns.append(pa.array(texts, pa.binary(TEXT_BYTES)))
    if n_groups:
        values = chunk.groups or [(None,) * n_groups] * len(chunk.ids)
        columns.append(pa.array(values, schema.field("groups").type))
    return pa.record_batch(columns, schema=schema)


def as_chunks(store: CountStore, skip: int = 0, kept: NDArray[np.bool_] | None = None) -> Iterator[CountedDocuments]:
    """Yield the documents of `store` after the first `skip`, or those `kept` (n_documents,), for a `StoreWriter`.

    The first `skip` documents must be whole blocks. A chunk lists the words that it uses and all earlier words of the
    dictionary that no chunk has listed, so that words keep their indices; the last chunk lists all remaining words.
    """
    place = np.empty(len(store.dictionary), np.int64)  # index of a word in the chunk
    n_listed = n_read = 0
    for index, block in enumerate(store.blocks(), 1):
        rows = slice(n_read, n_read + block.n_documents)
        n_read = rows.stop
        if n_read <= skip:
            continue
        block = block if kept is None else block.only(kept[rows])
        end = len(place) if index == store.n_blocks else max(n_listed, int(block.words.max(initial=-1)) + 1)
        needed = np.zeros(len(place), np.bool_)
        needed[block.words] = needed[n_listed:end] = True
        numbers = np.flatnonzero(needed)
        place[numbers] = np.arange(len(numbers))
        n_listed = end
        texts = () if block.texts is None else _rows_of(block.texts)
        yield CountedDocuments(
            words=[store.dictionary[number] for number in numbers.tolist()],
            indptr=block.indptr.astype(np.int64),
            indices=place[block.words],
            counts=block.counts.astype(np.int64),
            ids=block.ids.to_pylist(),
            units=_rows_of(block.units),
            groups=() if block.groups is None else [tuple(values) for values in block.groups.to_pylist()],
            texts=texts,
        )


def _rows_of(codes: NDArray[np.uint64]) -> list[bytes]:
    """Return the bytes of each row of `codes` (n_documents, 2)."""
    raw, width = np.ascontiguousarray(codes).tobytes(), codes.itemsize * codes.shape[1]
    return [raw[start : start + width] for start in range(0, len(raw), width)]


def merge(
    indptr: NDArray[np.int64], words: NDArray[np.int64], counts: NDArray[np.int64], n_words: int
) -> tuple[_Rows, int]:
    """Make CSR rows with ascending, distinct words; add up the counts of repeated words.

    `counts` (nnz,) are in [1, 2^31 - 1]. A row in which a sum exceeds that range becomes empty; the number of these
    rows is returned too.
    """
    shape = (len(indptr) - 1, max(n_words, 1))
    matrix = scipy.sparse.csr_array((counts.astype(np.int64), words, indptr), shape=shape)
    matrix.sum_duplicates()
    over = np.flatnonzero(matrix.data > MAX_COUNT)
    emptied = np.unique(np.searchsorted(matrix.indptr, over, "right") - 1)
    for row in emptied:
        matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]] = 0
    matrix.eliminate_zeros()
    merged = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.int32)
    return merged, len(emptied)
