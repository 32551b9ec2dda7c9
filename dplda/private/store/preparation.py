"""Stores in memory, made from matrices of counts.

How files, tables and counts become a corpus store, which is cached, resumed after a stop, deleted if stale.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import platformdirs
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray

from dplda.base.errors import BudgetRefused, InputError
from dplda.base.progress import Progress
from dplda.base.software import PACKAGE, READ_WITH, digest, versions
from dplda.private.store.count_store import BLOCK_DOCUMENTS, SCHEMA_WITH_GROUPS, VERSION, Block, CountStore, is_store
from dplda.private.store.fingerprint import keyed_ids
from dplda.private.store.writer import (
    Notice,
    Origin,
    StoreLocked,
    StoreWriter,
    as_chunks,
    merge,
    silent,
    sweep,
    temporary_store,
)
from dplda.text.compression import metered, reading
from dplda.text.counted_files import whole_counts
from dplda.text.documents import is_document
from dplda.text.reading_options import Tokenization
from dplda.text.records import (
    DOCUMENT,
    CountedDocuments,
    CountSource,
    Defect,
    Source,
    TextSource,
    document_key,
    group_value,
    unit_key,
)


def store_from_matrix(
    matrix: Any,
    vocabulary: Sequence[str],
    units: Sequence[Any] | None,
    unit: str = "unit",
    groups: Mapping[str, Sequence[Any]] | None = None,
) -> CountStore:
    """A store of `matrix` (n_documents, n_words), sparse or dense, whose columns are `vocabulary`.

    `units` (n_documents,) name the `unit` of each row; with None each row is a unit. `groups` maps names of group
    columns to the value of each row (n_documents,). Repeated entries are added up. A row
    without a unit, or with an entry that is no whole number of occurrences, becomes empty. Raises `InputError` if
    shapes disagree or the vocabulary repeats a word.
    """
    csr = _as_csr(matrix)
    words = _checked_words(vocabulary, csr.shape[1])
    keys, unnamed = _unit_keys(units, csr.shape[0])
    groups = groups or {}
    values = _group_values(groups, csr.shape[0])
    counts = whole_counts(csr.data)
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    bad = np.zeros(csr.shape[0], dtype=np.bool_)
    bad[rows[(counts < 0) | (csr.indices < 0) | (csr.indices >= len(words))]] = True
    keep = ~(bad | unnamed)[rows] & (counts > 0)
    lengths = np.bincount(rows[keep], minlength=csr.shape[0])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    merged, over = merge(indptr, csr.indices[keep].astype(np.int64), counts[keep], len(words))
    defects = {Defect.BAD_COUNT.name: int(bad.sum()) + over, Defect.NO_UNIT.name: int((unnamed & ~bad).sum())}
    return CountStore.from_blocks(
        _blocks(merged, keys, values),
        words,
        unit=DOCUMENT if units is None else unit,
        defects={name: count for name, count in defects.items() if count},
        group_columns=tuple(groups),
    )


def _as_csr(matrix: Any) -> Any:
    try:
        csr = scipy.sparse.csr_array(matrix)
        csr.check_format(full_check=False)
    except (ValueError, TypeError):
        raise InputError("counts must be a matrix of (n_documents, n_words).") from None
    if csr.ndim != 2 or not np.isdtype(csr.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"counts must be a matrix of whole numbers, got {csr.ndim} dimensions of {csr.dtype}.")
    if len(csr.indptr) and np.any(np.diff(csr.indptr) < 0):
        raise InputError("counts must be a valid sparse matrix; its row pointers decrease.")
    return csr


def _checked_words(vocabulary: Sequence[str], n_columns: int) -> list[str]:
    words = list(vocabulary)
    if len(words) != n_columns:
        raise InputError(f"vocabulary must name each column: {len(words)} words for {n_columns} columns of counts.")
    if not all(isinstance(word, str) and word for word in words):
        raise InputError("vocabulary must hold non-empty strings.")
    if len(set(words)) != len(words):
        raise InputError("vocabulary must not repeat a word. Add up the columns of equal words first.")
    return words


def _unit_keys(units: Sequence[Any] | None, n_documents: int) -> tuple[list[bytes], NDArray[np.bool_]]:
    """The key of each row's unit, and a mask of the rows without a unit (each gets its own, and is emptied)."""
    if units is None:
        return [document_key(row) for row in range(n_documents)], np.zeros(n_documents, dtype=np.bool_)
    if getattr(units, "dtype", None) in (np.float16, np.float32):
        raise InputError("units must not be short floating-point numbers, which round ids. Give text or whole numbers.")
    values = np.asarray(units, dtype=object).tolist()
    if len(values) != n_documents:
        raise InputError(f"units must name the unit of each row: {len(values)} units for {n_documents} rows.")
    named = [unit_key(value) for value in values]
    keys = [document_key(row) if key is None else key for row, key in enumerate(named)]
    return keys, np.array([key is None for key in named], dtype=np.bool_)


def _group_values(groups: Mapping[str, Sequence[Any]], n_documents: int) -> Any:
    """The rows' values in the columns `groups`, an Arrow array of lists; None without columns."""
    columns = [[group_value(value) for value in _as_objects(values)] for values in groups.values()]
    for name, column in zip(groups, columns, strict=True):
        if len(column) != n_documents:
            raise InputError(f"groups must have a value for each row: {name!r} has {len(column)} for {n_documents}.")
    kind = SCHEMA_WITH_GROUPS.field("groups").type
    return pa.array(list(map(list, zip(*columns, strict=True))), kind) if columns else None


def _as_objects(values: Any) -> list[Any]:
    array = values if isinstance(values, list | tuple) else np.asarray(values)
    if isinstance(array, np.ndarray) and np.issubdtype(array.dtype, np.datetime64):
        array = array.astype("datetime64[us]")  # finer ones become numbers
    return list(np.asarray(array, dtype=object).tolist())


def _blocks(rows: tuple[Any, Any, Any], keys: list[bytes], groups: Any) -> list[Block]:
    indptr, words, counts = rows
    units = np.frombuffer(b"".join(keys), dtype=np.uint64).reshape(-1, 2)
    blocks = []
    for first in range(0, len(keys), BLOCK_DOCUMENTS):
        last = min(first + BLOCK_DOCUMENTS, len(keys))
        begin, end = indptr[first], indptr[last]
        ids = pa.array([str(row) for row in range(first, last)], pa.string())
        part = slice(begin, end)
        values = None if groups is None else groups[first:last]
        bounds = indptr[first : last + 1] - begin
        blocks.append(Block(bounds, words[part], counts[part], units[first:last], ids, values))
    return blocks


_STALE_SECONDS = 86_400  # age after which a partial store is deleted instead of resumed
_SLOW_CHUNK = 32  # documents of a chunk if they are read slowly, so that progress is seen
_STAGE = "read"  # the stage's name in progress reports and in a run's seconds
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class ById:
    """How ids tell the documents of `dataset` apart: `belong` says which belong to a batch, by their `keyed_ids`."""

    dataset: str
    belong: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]


class Preparation(Protocol):
    """Converts a corpus to a store."""

    @property
    def reading(self) -> dict[str, Any]:
        """How text becomes words; empty for counts. Public."""

    @property
    def places(self) -> tuple[Path, ...]:
        """The files and folders that hold the documents; empty for documents in memory. Public."""

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns by which documents can be grouped. Public."""

    @property
    def id_field(self) -> str | None:
        """The column of ids that tell documents apart; None without one, or if documents are not the units. Public."""

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        """Return the store; write it first if it does not exist."""

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        """Write the counts as a store at `destination`, or resume a partial one there."""


@dataclass(frozen=True)
class Prepared:
    """Counts that are already a store, in memory or on disk."""

    store: CountStore
    name: str | None

    @property
    def reading(self) -> dict[str, Any]:
        """See `Preparation`."""
        return self.store.reading

    @property
    def places(self) -> tuple[Path, ...]:
        """See `Preparation`."""
        return () if self.store.path is None else (self.store.path,)

    @property
    def group_columns(self) -> tuple[str, ...]:
        """See `Preparation`."""
        return self.store.group_columns

    @property
    def id_field(self) -> str | None:
        """See `Preparation`."""
        return self.store.id_field

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        """See `Preparation`."""
        return self.store

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        """See `Preparation`."""
        with StoreWriter(
            destination,
            unit=self.store.unit,
            name=self.name,
            reading=self.reading,
            origin=self._origin(),
            restart=restart,
            notice=notice,
            key=key,
            group_columns=self.store.group_columns,
            id_field=self.store.id_field,
        ) as writer:
            progress.start(_STAGE, self.store.n_documents)
            progress.advance(writer.n_read)
            for chunk in as_chunks(self.store, writer.n_read):
                writer.append(chunk)
                progress.advance(len(chunk.ids))
            writer.carry_over(self.store.defects)

    def _origin(self) -> Origin | None:
        """What must not change for an import of this store to resume.

        None for counts in memory, which another process cannot find.
        """
        if self.store.path is None:
            return None
        return _origin({"corpus": os.path.realpath(self.store.path)}, self.store.identity)


@dataclass(frozen=True)
class RawFiles:
    """Files of a corpus that is not read yet; their paths, format and columns were checked."""

    paths: tuple[Path, ...]
    name: str
    source: Source
    options: dict[str, Any]
    tokenization: Tokenization
    cache: str | Path | None

    @property
    def reading(self) -> dict[str, Any]:
        """See `Preparation`."""
        return self.tokenization.facts() if isinstance(self.source, TextSource) else {}

    @property
    def places(self) -> tuple[Path, ...]:
        """See `Preparation`."""
        return *self.paths, *self.source.files

    @property
    def group_columns(self) -> tuple[str, ...]:
        """See `Preparation`."""
        return tuple(self.options.get("group_fields", ()))

    @property
    def id_field(self) -> str | None:
        """See `Preparation`."""
        return self.options.get("id_field") if self.source.unit == DOCUMENT else None

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        """See `Preparation`."""
        prepared = _cache_folder(self.cache) / _source_key(self.paths, self.source.files, self.options | self.reading)
        while not is_store(prepared):
            try:
                self.write(prepared, progress, restart=False, notice=silent, key=key)
            except StoreLocked:  # another process is writing it
                time.sleep(_POLL_SECONDS)
        return CountStore.open(prepared)

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        """See `Preparation`."""
        request = {"corpus": _real(self.paths), **self.options, **self.reading}
        with StoreWriter(
            destination,
            unit=self.source.unit,
            name=self.name,
            reading=self.reading,
            origin=_origin(request, _source_key(self.paths, self.source.files, {})),
            restart=restart,
            notice=notice,
            key=key,
            group_columns=self.group_columns,
            id_field=self.id_field,
        ) as writer:
            _fill(writer, self.source, self.tokenization, progress)


@dataclass
class InMemory:
    """Texts in memory, which may be readable only once; their counts are kept in a folder of their own."""

    name: str | None
    source: TextSource
    tokenization: Tokenization
    cache: str | Path | None
    group_columns: tuple[str, ...] = ()
    id_field: str | None = None
    _read: CountStore | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """See `Preparation`."""
        return self.tokenization.facts()

    @property
    def places(self) -> tuple[Path, ...]:
        """See `Preparation`."""
        return ()

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        """See `Preparation`."""
        place, remove = temporary_store(_cache_folder(self.cache))
        try:
            store = self._store_at(place, progress, silent, key)
        except BaseException:
            remove()
            raise
        weakref.finalize(store, remove)
        return store

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        """See `Preparation`."""
        if self._read is not None:
            Prepared(self._read, self.name).write(destination, progress, restart=restart, notice=notice, key=key)
            return
        self._store_at(destination, progress, notice, key)

    def _store_at(self, destination: Path, progress: Progress, notice: Notice, key: bytes | None) -> CountStore:
        """Read the documents into a store at `destination`; nothing of an incomplete one is kept."""
        with StoreWriter(
            destination,
            unit=self.source.unit,
            name=self.name,
            reading=self.reading,
            notice=notice,
            key=key,
            group_columns=self.group_columns,
            id_field=self.id_field,
        ) as writer:
            _fill(writer, self.source, self.tokenization, progress)
        self._read = CountStore.open(destination)
        return self._read


def documents_by_id(store: CountStore, by_id: ById, key: bytes, cache: str | Path | None) -> tuple[CountStore, int]:
    """The documents of `store` that its ids tell apart and that belong to a batch, and how many rows are left out.

    Private. Rows of one id are one document, of which the first row counts, and a row without an id is no document
    (docs/privacy.md, section 9.10). Raises `InputError` if most rows are no document of their own, and `BudgetRefused`
    if most documents belong to other batches.
    """
    ids = keyed_ids(store, key, by_id.dataset)
    documents = np.zeros(len(ids), np.bool_)
    documents[np.unique(ids, return_index=True)[1]] = True
    documents &= ids > 0
    kept = documents & by_id.belong(ids)
    n_eligible = sum(int(np.count_nonzero(block.is_eligible())) for block in store.blocks())
    if 2 * np.count_nonzero(documents) < n_eligible:
        raise InputError(
            f"Most rows have no id in column {store.id_field!r}, or that of an earlier row (exact, not for "
            "publication), and would contribute nothing. Name the column of each document's own id with --id-field; to "
            "protect persons with several documents, name theirs with --unit-field."
        )
    if 2 * np.count_nonzero(kept) < np.count_nonzero(documents):
        raise BudgetRefused(
            "Most documents have an id that another batch of the series has (exact, not for publication): either they "
            "were fitted in that batch, or ids are given again, as row numbers are. Give the documents of the new "
            "batch alone, or fit a batch again under its own name (--batch)."
        )
    if kept.all():
        return store, 0
    place, remove = temporary_store(_cache_folder(cache))
    try:
        with StoreWriter(
            place,
            unit=store.unit,
            name=store.name,
            reading=store.reading,
            key=key,
            group_columns=store.group_columns,
            id_field=store.id_field,
        ) as writer:
            for chunk in as_chunks(store, kept=kept):
                writer.append(chunk)
        part = CountStore.open(place)
    except BaseException:
        remove()
        raise
    weakref.finalize(part, remove)
    return part, int(np.count_nonzero(~kept))


def _fill(writer: StoreWriter, source: Source, tokenization: Tokenization, progress: Progress) -> None:
    """Write the documents of `source`, without those that the writer has from an import that was stopped."""
    progress.start(_STAGE, source.total)
    progress.advance(writer.n_read)
    with metered(_meter(source, progress)):
        for chunk in _chunks(source, tokenization, writer.n_read):
            writer.append(chunk)
            progress.advance(len(chunk.ids) + chunk.defects.total())


def _meter(source: Source, progress: Progress) -> Callable[[int], None]:
    """A function that receives numbers of bytes read, and reports the share of the files that is read.

    It does nothing if the number of documents is known, because progress is then counted in documents.
    """
    if source.total is not None:
        return lambda n_bytes: None
    total, done = max(sum(os.stat(file).st_size for file in source.files if os.path.exists(file)), 1), 0

    def report(n_bytes: int) -> None:
        nonlocal done
        done += n_bytes
        progress.estimate(min(done / total, 1.0))

    return report


def _chunks(source: Source, tokenization: Tokenization, skip: int) -> Iterator[CountedDocuments]:
    if isinstance(source, CountSource):
        return source.chunks(skip)
    slow = {"processes": 1, "most": _SLOW_CHUNK} if source.slow else {}  # other processes extract their text
    counted: Iterator[CountedDocuments] = _word_counting().count_words(source.records(skip), tokenization, **slow)
    return counted


def _cache_folder(cache: str | Path | None = None) -> Path:
    """The folder of prepared stores in `cache`, else ``$DPLDA_CACHE``, else the user's cache folder.

    Creates it with mode 0700, because stores are private. Raises `InputError` if that fails.
    """
    folder = cache_root(cache) / "stores"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"Cannot use the cache folder {folder}: {error.strerror}. Set DPLDA_CACHE to a folder that "
            "you can write to."
        ) from None
    sweep(folder, _STALE_SECONDS)
    return folder


def cache_root(cache: str | Path | None) -> Path:
    root = Path(cache or os.environ.get("DPLDA_CACHE") or platformdirs.user_cache_dir("dplda"))
    return root.expanduser()


def _real(paths: Sequence[Path]) -> str | list[str]:
    """The absolute path, or paths if there are several."""
    real = [os.path.realpath(path) for path in paths]
    return real if len(real) > 1 else real[0]


def _source_key(paths: Sequence[Path], files: Iterable[Path], options: dict[str, Any]) -> str:
    """Name of the store of `paths` read with `options`; depends on the path, size and time of each file."""
    digest = hashlib.sha256(json.dumps([VERSION, _real(paths), options, _rules()], sort_keys=True).encode())
    for file in files:
        with reading(file):
            status = os.stat(file)
            stamp = f"\0{status.st_size}\0{status.st_mtime_ns}\n"
            digest.update(os.fsencode(file) + stamp.encode() + (b"extracted\n" if is_document(file) else b""))
    return digest.hexdigest()[:40]


def _origin(request: dict[str, Any], content: str) -> Origin:
    """What must not change for an import to resume: the user's `request`, the corpus's `content` and versions."""
    request = json.loads(json.dumps(request))  # as it is read again
    return Origin(request, {"the corpus": content, "the version of dplda or of what it reads with": _rules()})


def _rules() -> dict[str, str]:
    """Versions of all that decides which words a document has, and a digest of dplda's own part in it."""
    own = {"python": platform.python_version(), "code": _digest_of_code()}
    return own | versions(("dplda", *READ_WITH))


def _digest_of_code() -> str:
    return digest(PACKAGE.glob("text/*.py"), PACKAGE)


def _word_counting() -> ModuleType:
    """The module that counts words; imported only for raw text because spaCy takes a second to load."""
    return import_module("dplda.text.counting")


def check_tokenization(tokenization: Tokenization) -> None:
    """Raise `InputError` if the tokenizer is not available for the language."""
    if tokenization != Tokenization(tokenizer=tokenization.tokenizer):
        _word_counting().find_tokens(tokenization)
