"""How a matrix, files, tables or texts become a store of counts.

A matrix becomes a store in memory (`store_from_matrix`). Whatever must be read is a `Preparation`: files become a store
in the user's cache, which is found again as long as they and the code that reads them are the same, texts in memory one
that lasts as long as it is used. An import into a folder resumes after a stop.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import platformdirs
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray

from dplda.base.errors import BudgetRefused, InputError
from dplda.base.progress import Progress
from dplda.base.software import PACKAGE, READ_WITH, digest, versions
from dplda.private.attributes import ANSWERS
from dplda.private.store.count_store import (
    BLOCK_DOCUMENTS,
    SCHEMA_WITH_GROUPS,
    VERSION,
    Block,
    CountStore,
    is_store,
)
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
from dplda.text.categories import Categories, answered, public_digest
from dplda.text.compression import metered, reading
from dplda.text.counted_files import whole_counts
from dplda.text.documents import is_document
from dplda.text.reading_options import Tokenization
from dplda.text.records import (
    DOCUMENT,
    TEXT_NAMES,
    CountSource,
    Defect,
    Source,
    TextSource,
    document_key,
    group_value,
    unit_key,
)

_STALE_SECONDS = 86_400  # age after which a partial store is deleted instead of resumed
_SLOW_CHUNK = 32  # documents of a chunk if they are read slowly, so that progress is seen
_STAGE = "read"  # the stage's name in progress reports and in a run's seconds
_POLL_SECONDS = 0.2


def store_from_matrix(
    matrix: Any,
    vocabulary: Sequence[str],
    units: Sequence[Any] | None,
    unit: str = "unit",
    groups: Mapping[str, Sequence[Any]] | None = None,
) -> CountStore:
    """Return a store of `matrix` (n_documents, n_words), sparse or dense, whose columns are `vocabulary`.

    `units` (n_documents,) name the `unit` of each row; with None each row is a unit. `groups` maps names of group
    columns to the value of each row (n_documents,). Repeated entries are added up. A row without a unit, or with an
    entry that is no whole number of occurrences, becomes empty. Raises `InputError` if shapes disagree or the
    vocabulary repeats a word.
    """
    csr = _as_csr(matrix)
    words = list(vocabulary)
    if len(words) != csr.shape[1]:
        raise InputError(f"vocabulary must name each column: {len(words)} words for {csr.shape[1]} columns of counts.")
    if not all(isinstance(word, str) and word for word in words):
        raise InputError("vocabulary must hold non-empty strings.")
    if len(set(words)) != len(words):
        raise InputError("vocabulary must not repeat a word. Add up the columns of equal words first.")
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
    (indptr, columns, entries), over = merge(indptr, csr.indices[keep].astype(np.int64), counts[keep], len(words))
    defects = {Defect.BAD_COUNT.name: int(bad.sum()) + over, Defect.NO_UNIT.name: int((unnamed & ~bad).sum())}
    unit_keys = np.frombuffer(b"".join(keys), dtype=np.uint64).reshape(-1, 2)
    blocks = []
    for first in range(0, len(keys), BLOCK_DOCUMENTS):
        last = min(first + BLOCK_DOCUMENTS, len(keys))
        part = slice(indptr[first], indptr[last])
        blocks.append(
            Block(
                indptr=indptr[first : last + 1] - indptr[first],
                words=columns[part],
                counts=entries[part],
                units=unit_keys[first:last],
                ids=pa.array([str(row) for row in range(first, last)], pa.string()),
                groups=None if values is None else values[first:last],
            )
        )
    return CountStore.from_blocks(
        blocks,
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


def _unit_keys(units: Sequence[Any] | None, n_documents: int) -> tuple[list[bytes], NDArray[np.bool_]]:
    """Return the key of each row's unit, and a mask of the rows without a unit (each gets its own, and is emptied)."""
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
    """Return the rows' values in the columns `groups`, an Arrow array of lists; None without columns."""
    columns = []
    for name, values in groups.items():
        array: Any = values if isinstance(values, list | tuple) else np.asarray(values)
        if isinstance(array, np.ndarray) and np.issubdtype(array.dtype, np.datetime64):
            array = array.astype("datetime64[us]")  # finer ones become numbers
        columns.append([group_value(value) for value in np.asarray(array, dtype=object).tolist()])
        if len(columns[-1]) != n_documents:
            raise InputError(
                f"groups must have a value for each row: {name!r} has {len(columns[-1])} for {n_documents}."
            )
    kind = SCHEMA_WITH_GROUPS.field("groups").type
    return pa.array(list(map(list, zip(*columns, strict=True))), kind) if columns else None


@dataclass(frozen=True)
class ById:
    """How documents are told apart by their ids, and which of them belong to a batch of a series."""

    dataset: str
    belong: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]
    """Maps the documents' `keyed_ids` (n_documents,) for `dataset` to a mask of those that belong to the batch."""


class Preparation(ABC):
    """Converts a corpus to a store. Its attributes are public.

    `unit` is the column of the privacy unit or ``document``, and `reading` says how text becomes words; it is empty for
    counts. `places` are the files and folders that hold the documents; there are none for documents in memory.
    `group_columns` are the columns that can group documents. `id_field` is the column of ids that tell documents apart,
    None without one, or if documents are not the units. `cache` is the folder for prepared stores. `categories` are
    the facts of `Categories`, if documents are asked. `identity` is the same for two corpora only if they read the same
    files, with the same options that say what a document and its text are; documents in memory have one of their own.
    """

    def __init__(
        self,
        name: str | None,
        unit: str,
        reading: dict[str, Any],
        *,
        places: tuple[Path, ...] = (),
        group_columns: tuple[str, ...] = (),
        id_field: str | None = None,
        cache: str | Path | None = None,
        categories: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name, self.unit, self.reading, self.places = name, unit, reading, places
        self.group_columns, self.id_field, self.cache, self.categories = group_columns, id_field, cache, categories
        self.identity = uuid.uuid4().hex

    def asking(self, categories: Categories) -> Preparation:
        """Return a preparation that also finds the answers of each document.

        Raises `InputError` for counts, which have no text, and for columns that are not read.
        """
        raise InputError(
            "a prepared store or a file of counts has no texts to ask. Name the files of the texts, or import them "
            "again with --categories."
        )

    @abstractmethod
    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        """Return the store; write it first if it does not exist."""

    @abstractmethod
    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        """Write the counts as a store at `destination`, or resume a partial one there."""

    def writer(
        self,
        destination: Path,
        key: bytes | None,
        *,
        origin: Origin | None = None,
        restart: bool = False,
        notice: Notice = silent,
    ) -> StoreWriter:
        """Return a writer of this corpus to `destination`."""
        return StoreWriter(
            destination,
            unit=self.unit,
            name=self.name,
            reading=self.reading,
            origin=origin,
            restart=restart,
            notice=notice,
            key=key,
            group_columns=(*self.group_columns, *((ANSWERS,) if self.categories else ())),
            id_field=self.id_field,
            places=self.named_places,
            categories=self.categories,
        )

    @property
    def named_places(self) -> tuple[str, ...]:
        """The real paths by which the documents were named."""
        return tuple(os.path.realpath(place) for place in self.places)


class Prepared(Preparation):
    """Counts that are already a `store`, in memory or on disk."""

    def __init__(self, store: CountStore, name: str | None) -> None:
        super().__init__(
            name,
            store.unit,
            store.reading,
            places=(*(() if store.path is None else (store.path,)), *map(Path, store.places)),
            group_columns=tuple(column for column in store.group_columns if column != ANSWERS),
            id_field=store.id_field,
            categories=store.categories,
        )
        self.store = store
        if store.path is not None:
            self.identity = _identity([store.path], {})

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        """See `Preparation`."""
        return self.store

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        """See `Preparation`. Only counts on disk can resume: another process does not find those in memory."""
        path = self.store.path
        origin = None if path is None else _origin({"corpus": os.path.realpath(path)}, self.store.identity)
        with self.writer(destination, key, origin=origin, restart=restart, notice=notice) as writer:
            progress.start(_STAGE, self.store.n_documents)
            progress.advance(writer.n_read)
            for chunk in as_chunks(self.store, writer.n_read):
                writer.append(chunk)
                progress.advance(len(chunk.ids))
            writer.carry_over(self.store.defects)


class RawFiles(Preparation):
    """Files of a corpus that is not read yet; their paths, format and columns were checked."""

    def __init__(
        self,
        paths: tuple[Path, ...],
        name: str,
        source: Source,
        options: dict[str, Any],
        tokenization: Tokenization,
        cache: str | Path | None,
        categories: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(
            name,
            source.unit,
            tokenization.facts() if isinstance(source, TextSource) else {},
            places=(*paths, *source.files),
            group_columns=tuple(options.get("group_fields", ())),
            id_field=options.get("id_field") if source.unit == DOCUMENT else None,
            cache=cache,
            categories=categories,
        )
        self.paths, self.source, self.options, self.tokenization = paths, source, options, tokenization
        self.identity = _identity(paths, options)

    @property
    def named_places(self) -> tuple[str, ...]:
        """See `Preparation`: without the files in folders."""
        return tuple(os.path.realpath(path) for path in self.paths)

    def asking(self, categories: Categories) -> Preparation:
        """See `Preparation`. Answers that may differ when they are asked for again are not kept for later runs."""
        if not isinstance(self.source, TextSource):
            return super().asking(categories)
        source = _asked(self.source, categories, self.group_columns)
        if categories.repeatable:
            options = {**self.options, "categories": public_digest(categories.facts)}
            return RawFiles(
                self.paths, str(self.name), source, options, self.tokenization, self.cache, categories.facts
            )
        asked = InMemory(
            self.name, source, self.tokenization, self.cache, self.group_columns, self.id_field, categories.facts
        )
        asked.places, asked.identity = self.places, self.identity
        return asked

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
        origin = _origin(request, _source_key(self.paths, self.source.files, {}))
        with self.writer(destination, key, origin=origin, restart=restart, notice=notice) as writer:
            _fill(writer, self.source, self.tokenization, progress)


class InMemory(Preparation):
    """Texts in memory, which may be readable only once; their counts are kept in a folder of their own."""

    def __init__(
        self,
        name: str | None,
        source: TextSource,
        tokenization: Tokenization,
        cache: str | Path | None,
        group_columns: tuple[str, ...] = (),
        id_field: str | None = None,
        categories: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(
            name,
            source.unit,
            tokenization.facts(),
            group_columns=group_columns,
            id_field=id_field,
            cache=cache,
            categories=categories,
        )
        self.source, self.tokenization = source, tokenization
        self._read: CountStore | None = None

    def asking(self, categories: Categories) -> Preparation:
        """See `Preparation`."""
        source = _asked(self.source, categories, self.group_columns)
        asked = InMemory(
            self.name, source, self.tokenization, self.cache, self.group_columns, self.id_field, categories.facts
        )
        asked.identity = self.identity
        return asked

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        """See `Preparation`."""
        self._read = _temporary(
            self.cache, lambda place: self.write(place, progress, restart=False, notice=silent, key=key)
        )
        return self._read

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        """See `Preparation`. Nothing of an incomplete store is kept."""
        if self._read is not None:
            Prepared(self._read, self.name).write(destination, progress, restart=restart, notice=notice, key=key)
            return
        with self.writer(destination, key, notice=notice) as writer:
            _fill(writer, self.source, self.tokenization, progress)
        self._read = CountStore.open(destination)


def _asked(source: TextSource, categories: Categories, columns: tuple[str, ...]) -> TextSource:
    """Return `source` with the answers of each document. Raises `InputError` for columns that are not read."""
    for column in categories.columns:
        if column not in columns:
            raise InputError(
                f"a category needs the column {column!r}, without which the corpus was read. Read it with "
                f"group_fields=[{column!r}]."
            )
    if ANSWERS in columns:
        raise InputError(f"the column {ANSWERS!r} has a name that dplda uses itself: rename it.")
    return replace(source, records=answered(source.records, categories, columns), slow=source.slow or categories.slow)


def documents_by_id(store: CountStore, by_id: ById, key: bytes, cache: str | Path | None) -> tuple[CountStore, int]:
    """Keep one document of `store` for each id that belongs to a batch; also return how many rows are left out.

    Private. Rows of one id are one document: the first row counts. A row without an id is no document (docs/privacy.md,
    section 9.10). Raises `InputError` if most rows are no document of their own, and `BudgetRefused` if most documents
    belong to other batches.
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
            "publication), and would contribute nothing. Name the column of each document's own id with --id-field "
            "(in Python, id_field=); to protect persons with several documents, name theirs with --unit-field "
            "(unit_field=)."
        )
    if 2 * np.count_nonzero(kept) < np.count_nonzero(documents):
        raise BudgetRefused(
            "Most documents have an id that another batch of the series has (exact, not for publication): either they "
            "were fitted in that batch, or ids are given again, as row numbers are. Give the documents of the new "
            "batch alone, or fit a batch again under its own name (--batch; in Python, batch=)."
        )
    if kept.all():
        return store, 0

    def write(place: Path) -> None:
        with Prepared(store, store.name).writer(place, key) as writer:
            for chunk in as_chunks(store, kept=kept):
                writer.append(chunk)

    return _temporary(cache, write), int(np.count_nonzero(~kept))


def _temporary(cache: str | Path | None, write: Callable[[Path], None]) -> CountStore:
    """Open the store that `write` makes in a new folder of `cache`; the folder is removed with the store."""
    place, remove = temporary_store(_cache_folder(cache))
    try:
        write(place)
        store = CountStore.open(place)
    except BaseException:
        remove()
        raise
    weakref.finalize(store, remove)
    return store


def _fill(writer: StoreWriter, source: Source, tokenization: Tokenization, progress: Progress) -> None:
    """Write the documents of `source`, without those that the writer has from an import that was stopped.

    If the number of documents is not known, progress is the share of the files' bytes that is read.
    """
    total, done = max(sum(os.stat(file).st_size for file in source.files if os.path.exists(file)), 1), 0

    def report(n_bytes: int) -> None:
        nonlocal done
        done += n_bytes
        if source.total is None:
            progress.estimate(min(done / total, 1.0))

    progress.start(_STAGE, source.total)
    progress.advance(writer.n_read)
    with metered(report):
        if isinstance(source, CountSource):
            chunks = source.chunks(writer.n_read)
        else:
            from dplda.text.counting import count_words  # only for raw text, because spaCy takes a second to load

            slow = {"processes": 1, "most": _SLOW_CHUNK} if source.slow else {}  # other processes extract their text
            chunks = count_words(source.records(writer.n_read), tokenization, **slow)
        for chunk in chunks:
            writer.append(chunk)
            progress.advance(len(chunk.ids) + chunk.defects.total())


def _cache_folder(cache: str | Path | None) -> Path:
    """Return the folder of prepared stores in the `cache_root`.

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
    """Return the folder `cache`, else ``$DPLDA_CACHE``, else the user's cache folder."""
    root = Path(cache or os.environ.get("DPLDA_CACHE") or platformdirs.user_cache_dir("dplda"))
    return root.expanduser()


def _identity(paths: Sequence[Path], options: Mapping[str, Any]) -> str:
    """Return the `Preparation.identity` of the files at `paths`, read with `options`."""
    return json.dumps([_real(paths), _chosen(options)], sort_keys=True)


def identity_of_table(table: Any, options: Mapping[str, Any]) -> str | None:
    """Return the `Preparation.identity` of `table`, read with `options`: the same while this object exists.

    None for an object that cannot be referred to weakly.
    """
    place = id(table)
    try:
        if place not in _tables:
            _tables[place] = weakref.ref(table, lambda _: _tables.pop(place, None)), uuid.uuid4().hex
    except TypeError:
        return None
    return json.dumps([_tables[place][1], _chosen(options)], sort_keys=True)


_tables: dict[int, tuple[weakref.ref[Any], str]] = {}  # by `id`, the tables that were read and still exist


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of `options` that say what a document and its text are, without what holds without them, too."""
    usual = {"text_field": TEXT_NAMES[0], "id_field": "id"}  # chosen by `records.choose_columns` if nothing is
    apart = ("group_fields", "categories")
    return {name: value for name, value in options.items() if value and name not in apart and usual.get(name) != value}


def _real(paths: Sequence[Path]) -> str | list[str]:
    """Return the absolute path, or paths if there are several."""
    real = [os.path.realpath(path) for path in paths]
    return real if len(real) > 1 else real[0]


def _source_key(paths: Sequence[Path], files: Iterable[Path], options: dict[str, Any]) -> str:
    """Return the name of the store of `paths` read with `options`; depends on the path, size and time of each file."""
    name = hashlib.sha256(json.dumps([VERSION, _real(paths), options, _rules()], sort_keys=True).encode())
    for file in files:
        with reading(file):
            status = os.stat(file)
            stamp = f"\0{status.st_size}\0{status.st_mtime_ns}\n"
            name.update(os.fsencode(file) + stamp.encode() + (b"extracted\n" if is_document(file) else b""))
    return name.hexdigest()[:40]


def _origin(request: dict[str, Any], content: str) -> Origin:
    """Return what must not change for an import to resume: the user's `request`, the `content` and versions."""
    request = json.loads(json.dumps(request))  # as it is read again
    return Origin(request, {"the corpus": content, "the version of dplda or of what it reads with": _rules()})


def _rules() -> dict[str, str]:
    """Return the versions of all that decides which words a document has, and a digest of dplda's part in it."""
    own = {"python": platform.python_version(), "code": digest((PACKAGE / "text").rglob("*.py"), PACKAGE)}
    return own | versions(("dplda", *READ_WITH))


def check_tokenization(tokenization: Tokenization) -> None:
    """Raise `InputError` if the tokenizer is not available for the language."""
    if tokenization != Tokenization(tokenizer=tokenization.tokenizer):
        from dplda.text.counting import find_tokens  # see `_fill`

        find_tokens(tokenization)
