"""`Corpus` and `read_corpus`: files or counts, converted to a corpus store on first use."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar, Unpack

import platformdirs

from dplda.datasets.synthetic import synthetic
from dplda.errors import InputError
from dplda.progress import NoProgress, Progress
from dplda.readers.columns import ReadOptions
from dplda.readers.files import metered, reading
from dplda.readers.formats import default_name, open_source
from dplda.readers.reading_options import Reading, Tokenization
from dplda.readers.records import DOCUMENT, CountedDocuments, CountSource, Defect, Source, TextSource
from dplda.store.count_store import VERSION, CountStore, is_partial, is_store
from dplda.store.from_matrix import store_from_matrix
from dplda.store.partial_store import Notice, Origin, StoreLocked, silent, sweep
from dplda.store.writer import StoreWriter, as_chunks

__all__ = ["Corpus", "CountStore", "read_corpus", "synthetic"]

_STALE_SECONDS = 86_400  # age after which a partial store is deleted instead of resumed
_STAGE = "read"  # the stage's name in progress reports and in a run's seconds
_READ_WITH = ("dplda", "pyarrow", "spacy", "spacy-lookups-data")
_POLL_SECONDS = 0.2
_Options = TypeVar("_Options", ReadOptions, Tokenization)


class _Preparation(Protocol):
    """Converts a corpus to a store."""

    @property
    def reading(self) -> dict[str, Any]:
        """How text becomes words; empty for counts. Public."""

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        """Return the store; write it first if it does not exist."""

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        """Write the counts as a store at `destination`, or resume a partial one there."""


class Corpus:
    """A collection of documents with checked path and options, read on first use.

    - `name`: the default name of the dataset; None for counts without one.
    - `unit`: ``"document"``, or the column that names the privacy unit.
    - `public_vocabulary`: the word list, if the user declared it public.
    - `reading`: how text becomes words (``language``, ``lemmas``, ``tokenizer``); empty for counts.
    """

    def __init__(
        self,
        name: str | None,
        unit: str,
        preparation: _Preparation,
        *,
        public_vocabulary: tuple[str, ...] | None = None,
    ) -> None:
        self.name = name
        self.unit = unit
        self.public_vocabulary = public_vocabulary
        self.reading = preparation.reading
        self._preparation = preparation
        self._store: CountStore | None = None

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        vocabulary: Sequence[str],
        units: Sequence[Any] | None = None,
        public_vocabulary: bool = False,
        name: str | None = None,
        unit: str | None = None,
    ) -> Corpus:
        """A corpus from `counts` (n_documents, n_words), sparse or dense, with the word of each column.

        `units` (n_documents,) names the privacy unit of each row, such as a person, and `unit` the kind of unit, such
        as ``"customer"`` (default ``"unit"``). A row with an entry that is not a whole number of occurrences
        contributes nothing. Raises `InputError` if shapes disagree.
        """
        if unit is not None and (units is None or unit == DOCUMENT):
            raise InputError(
                f"unit={unit!r} says what kind of unit `units` holds: give units as well, and a unit other than "
                f"{DOCUMENT!r}."
            )
        store = store_from_matrix(counts, vocabulary, units, unit or "unit")
        words = tuple(vocabulary) if public_vocabulary else None
        return cls(name, store.unit, _Prepared(store, name), public_vocabulary=words)

    def __repr__(self) -> str:
        return f"Corpus(name={self.name!r}, unit={self.unit!r})"

    def open(self, progress: Progress | None = None, *, key: bytes | None = None) -> CountStore:
        """Return the store of counts; write it first if it does not exist.

        A new store keeps its fingerprint under `key`, the key of a ledger, which saves each `fit` with that ledger a
        pass over the documents. Raises `InputError` for a damaged file, a full disk, or counts of another unit.
        """
        if self._store is None:
            self._store = self._preparation.open(progress or NoProgress(), key)
        if self._store.unit != self.unit:
            raise InputError(
                f"This corpus was opened with the unit {self.unit!r}, but its store was made with the "
                f"unit {self._store.unit!r}. Import the corpus again with the unit that you want."
            )
        return self._store

    def write(
        self,
        destination: str | Path,
        progress: Progress | None = None,
        *,
        restart: bool = False,
        notice: Notice = silent,
        key: bytes | None = None,
    ) -> CountStore:
        """Write the counts as a store, a folder that must not exist yet, and open it. Raises `InputError`.

        An interrupted write of the same corpus to this folder resumes, unless `restart`. `notice` receives one line
        when the write resumes, starts over because files or versions have changed, or stops and can be resumed; the
        line may be private. `key` is as in `open`.
        """
        place = Path(destination).expanduser()
        self._preparation.write(place, progress or NoProgress(), restart=restart, notice=notice, key=key)
        self._store = CountStore.open(place)
        return self._store

    @property
    def notes(self) -> list[str]:
        """Local diagnostics (exact, not private, not for publication); empty before `open`."""
        return [] if self._store is None else _describe(self._store)


def read_corpus(path: str | Path, *, cache: str | Path | None = None, **reading: Unpack[Reading]) -> Corpus:
    """Return a `Corpus` for the files at `path`. Its documents are read later, on first use.

    Checks the public facts of the corpus now: path, format, columns and language.
    `reading` are the options of `dplda.readers.reading_options.Reading`; `cache` is the folder of prepared stores.
    Raises `InputError`, and `TypeError` for an unknown option.
    """
    if unknown := sorted(reading.keys() - Reading.__annotations__.keys()):
        raise TypeError(f"read_corpus has no option {unknown[0]!r}. Its options: {', '.join(Reading.__annotations__)}.")
    place = Path(path).expanduser()
    format = reading.get("format")
    if reading.get("unit_field") == DOCUMENT:
        raise InputError(
            f"unit_field must not be {DOCUMENT!r}: that name stands for one unit per document. Rename the column."
        )
    if format is None and (is_store(place) or is_partial(place)):
        store = CountStore.open(place)
        if any(reading.get(name) for name in ("text_field", "id_field", "unit_field", "pattern")):
            raise InputError(
                f"{place} is a prepared store, whose columns and files were chosen when it was "
                "imported. Leave out the options for columns and patterns, or import the corpus again "
                "with them."
            )
        name = store.name or default_name(place)
        return Corpus(name, store.unit, _Prepared(store, name))
    options, tokenization = _choose(ReadOptions, reading), _choose(Tokenization, reading)
    source = open_source(place, options, format)
    if isinstance(source, TextSource) and tokenization != Tokenization(tokenizer=tokenization.tokenizer):
        _word_counting().find_tokens(tokenization)
    name = default_name(place)
    return Corpus(
        name, source.unit, _Raw(place, name, source, {**asdict(options), "format": format}, tokenization, cache)
    )


def _choose(kind: type[_Options], reading: Reading) -> _Options:
    """A `kind`, with those options of `reading` that are fields of this dataclass; None means a field's default."""
    names = {field.name for field in fields(kind)}
    chosen: dict[str, Any] = {name: value for name, value in reading.items() if name in names and value is not None}
    return kind(**chosen)


def _describe(store: CountStore) -> list[str]:
    """How many documents were read, and how many contribute nothing and why (exact, not private)."""
    absent = sum(count for name, count in store.defects.items() if name != Defect.NO_WORDS.name)
    lines = [f"{store.n_documents + absent:,} documents read."]
    for defect in Defect:
        count = store.defects.get(defect.name, 0)
        if count:
            lines.append(f"{count:,} contribute nothing: {defect.value}.")
    return lines


@dataclass(frozen=True)
class _Prepared:
    """Counts that are already a store, in memory or on disk."""

    store: CountStore
    name: str | None

    @property
    def reading(self) -> dict[str, Any]:
        return self.store.reading

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        return self.store

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        with StoreWriter(
            destination,
            unit=self.store.unit,
            name=self.name,
            reading=self.reading,
            origin=self._origin(),
            restart=restart,
            notice=notice,
            key=key,
        ) as writer:
            progress.start(_STAGE, self.store.n_documents)
            progress.advance(writer.n_read)
            for chunk in as_chunks(self.store, writer.n_read):
                writer.append(chunk)
                progress.advance(len(chunk.ids))
            writer.carry_over(self.store.defects)

    def _origin(self) -> Origin | None:
        """None for counts in memory, which another process cannot find."""
        if self.store.path is None:
            return None
        return _origin({"corpus": os.path.realpath(self.store.path)}, self.store.identity)


@dataclass(frozen=True)
class _Raw:
    """Files that passed their public checks."""

    path: Path
    name: str
    source: Source
    options: dict[str, Any]
    tokenization: Tokenization
    cache: str | Path | None

    @property
    def reading(self) -> dict[str, Any]:
        return asdict(self.tokenization) if isinstance(self.source, TextSource) else {}

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        prepared = _cache_folder(self.cache) / _source_key(self.path, self.source.files, self.options | self.reading)
        while not is_store(prepared):
            try:
                self.write(prepared, progress, restart=False, notice=silent, key=key)
            except StoreLocked:  # another process is writing it
                time.sleep(_POLL_SECONDS)
        return CountStore.open(prepared)

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        request = {"corpus": os.path.realpath(self.path), **self.options, **self.reading}
        with StoreWriter(
            destination,
            unit=self.source.unit,
            name=self.name,
            reading=self.reading,
            origin=_origin(request, _source_key(self.path, self.source.files, {})),
            restart=restart,
            notice=notice,
            key=key,
        ) as writer:
            progress.start(_STAGE, self.source.total)
            progress.advance(writer.n_read)
            with metered(self._meter(progress)):
                for chunk in self._chunks(writer.n_read):
                    writer.append(chunk)
                    progress.advance(len(chunk.ids) + chunk.defects.total())

    def _meter(self, progress: Progress) -> Callable[[int], None]:
        """A function that turns bytes read into the finished share of the files, if their documents are not counted."""
        if self.source.total is not None:
            return lambda n_bytes: None
        with reading(self.path):
            total = max(sum(os.stat(file).st_size for file in self.source.files), 1)
        done = 0

        def report(n_bytes: int) -> None:
            nonlocal done
            done += n_bytes
            progress.estimate(min(done / total, 1.0))

        return report

    def _chunks(self, skip: int) -> Iterator[CountedDocuments]:
        if isinstance(self.source, CountSource):
            return self.source.chunks(skip)
        records = self.source.records(skip)
        counted: Iterator[CountedDocuments] = _word_counting().count_words(records, self.tokenization)
        return counted


def _cache_folder(cache: str | Path | None = None) -> Path:
    """The folder of prepared stores in `cache`, else ``$DPLDA_CACHE``, else the user's cache folder.

    Creates it with mode 0700, because stores are private. Raises `InputError` if that fails.
    """
    root = Path(cache or os.environ.get("DPLDA_CACHE") or platformdirs.user_cache_dir("dplda"))
    folder = root.expanduser() / "stores"
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


def _source_key(path: Path, files: Iterable[Path], options: dict[str, Any]) -> str:
    """Name of the store of `path` read with `options`; depends on the path, size and time of each file."""
    digest = hashlib.sha256(json.dumps([VERSION, os.path.realpath(path), options], sort_keys=True).encode())
    with reading(path):
        for file in files:
            status = os.stat(file)
            stamp = f"\0{status.st_size}\0{status.st_mtime_ns}\n"
            digest.update(os.fsencode(file) + stamp.encode())
    return digest.hexdigest()[:40]


def _origin(request: dict[str, Any], content: str) -> Origin:
    """What must not change for an import to resume: the user's `request`, the corpus's `content` and versions."""
    versions = {"python": platform.python_version()}
    for package in _READ_WITH:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return Origin(request, {"the corpus": content, "the version of dplda or of what it reads with": versions})


def _word_counting() -> ModuleType:
    """The module that counts words; imported only for raw text because spaCy takes a second to load."""
    return import_module("dplda.tokenize.pool")
