"""`Corpus` and `read_corpus`: files, counts, texts or tables, converted to a corpus store on first use."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar, Unpack

import platformdirs

from dplda.datasets.synthetic import synthetic
from dplda.errors import InputError
from dplda.progress import NoProgress, Progress
from dplda.readers.columns import ReadOptions
from dplda.readers.document_text import is_document
from dplda.readers.files import reading
from dplda.readers.formats import default_name, open_source
from dplda.readers.in_memory import table_source, texts_source
from dplda.readers.paths import STANDARD_INPUT, Named, find_paths, spool_standard_input
from dplda.readers.reading_options import Fields, Reading, Tokenization
from dplda.readers.records import DOCUMENT, CountedDocuments, CountSource, Defect, Source, TextSource
from dplda.readers.word_lists import read_word_list
from dplda.store.count_store import VERSION, CountStore, is_partial, is_store
from dplda.store.from_matrix import store_from_matrix
from dplda.store.partial_store import Notice, Origin, StoreLocked, silent, sweep, temporary_store
from dplda.store.writer import StoreWriter, as_chunks

__all__ = ["Corpus", "CountStore", "read_corpus", "synthetic"]

_STALE_SECONDS = 86_400  # age after which a partial store is deleted instead of resumed
_STAGE = "read"  # the stage's name in progress reports and in a run's seconds
_READ_WITH = (
    *("dplda", "pyarrow", "spacy", "spacy-lookups-data"),
    *("pypdf", "defusedxml", "striprtf"),
    *("rjieba", "sudachipy", "sudachidict-core", "kiwipiepy", "kiwipiepy-model", "pythainlp"),
)
_TEXT_ONLY = ("stopwords", "ngrams")  # options that are refused for counts and stores
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
    - `reading`: how text becomes words (``language``, ``lemmas``, ``tokenizer``, ...); empty for counts.
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
        *,
        refuse_weights: bool = True,
    ) -> Corpus:
        """A corpus from `counts` (n_documents, n_words), sparse or dense, with the word of each column.

        `units` (n_documents,) names the privacy unit of each row, such as a person, and `unit` the kind of unit, such
        as ``"customer"`` (default ``"unit"``). A row with an entry that is not a whole number of occurrences
        contributes nothing. Raises `InputError` if shapes disagree and, unless `refuse_weights` is False, if this is
        so of most rows, as in a matrix of tf-idf weights; the error depends on the documents and is not private.
        """
        if unit is not None and (units is None or unit == DOCUMENT):
            raise InputError(
                f"unit={unit!r} says what kind of unit `units` holds: give units as well, and a unit other than "
                f"{DOCUMENT!r}."
            )
        store = store_from_matrix(counts, vocabulary, units, unit or "unit")
        if refuse_weights and 2 * store.defects.get(Defect.BAD_COUNT.name, 0) > store.n_documents:
            raise InputError(
                "Most rows of counts hold values that are not counts (fractions, negative numbers or NaN, as in tf-idf "
                "weights). Give numbers of occurrences: use sklearn's CountVectorizer, without a TfidfTransformer. "
                "(Exact, not private, not for publication.)"
            )
        words = tuple(vocabulary) if public_vocabulary else None
        return cls(name, store.unit, _Prepared(store, name), public_vocabulary=words)

    @classmethod
    def from_texts(
        cls, texts: Iterable[Any], *, name: str | None = None, cache: str | Path | None = None, **fields: Unpack[Fields]
    ) -> Corpus:
        """A corpus from `texts`, any iterable of documents: strings, or records (dictionaries) that hold one each.

        `fields` are the options of `dplda.readers.reading_options.Fields`: ``text_field``, ``id_field``,
        ``unit_field``, ``language``, ``lemmas`` and ``tokenizer``. `name` is the default name of the dataset. An item
        that is no document contributes nothing.

        Documents are read on first use. An iterator can be read only once: the corpus keeps the counts, in a private
        folder of `cache`, until it is no longer used; `write` keeps them for good. Exceptions of the iterator are
        passed on, and nothing is spent. Raises `InputError` for what is no iterable of documents, and for fields that
        the first documents lack (those of an iterator are checked when it is read).
        """
        return cls._in_memory(partial(texts_source, texts), name, cache, fields)

    @classmethod
    def from_table(
        cls, table: Any, *, name: str | None = None, cache: str | Path | None = None, **fields: Unpack[Fields]
    ) -> Corpus:
        """A corpus from the rows of `table`; the options are those of `from_texts`.

        `table` is a pandas or polars DataFrame, an Arrow table or reader of record batches, a DuckDB relation, a
        Hugging Face dataset, or any other object with an Arrow stream (``__arrow_c_stream__``). Names and types of
        columns are public and are checked now; rows are read on first use, and those of a stream only once. Raises
        `InputError` for another object, and for a column that is missing or has an unsuitable type.
        """
        return cls._in_memory(partial(table_source, table), name, cache, fields)

    @classmethod
    def _in_memory(
        cls, find: Callable[[ReadOptions], TextSource], name: str | None, cache: str | Path | None, fields: Fields
    ) -> Corpus:
        _check_options("Corpus", fields, Fields)
        source, tokenization = find(_choose(ReadOptions, fields)), _tokenization(fields)
        _check_tokenization(tokenization)
        return cls(name, source.unit, _InMemory(name, source, tokenization, cache))

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
    def is_text(self) -> bool:
        """Whether the documents are text, which the options about words apply to, and not counts or a store."""
        return isinstance(self._preparation, _Raw) and bool(self.reading)

    @property
    def notes(self) -> list[str]:
        """Local diagnostics (exact, not private, not for publication); empty before `open`."""
        return [] if self._store is None else _describe(self._store)


def read_corpus(path: Named, *, cache: str | Path | None = None, **reading: Unpack[Reading]) -> Corpus:
    """Return a `Corpus` for the file or folder at `path`. Its documents are read later, on first use.

    `path` may also be a pattern (``"tickets-*.csv"``), a list of files of one kind, or ``"-"`` for standard input,
    which is kept in a private file in the cache as long as the corpus is used.
    Checks the public facts of the corpus now: path, format, columns and language.
    `reading` are the options of `dplda.readers.reading_options.Reading`; `cache` is the folder of prepared stores.
    Raises `InputError`, and `TypeError` for an unknown option.
    """
    _check_options("read_corpus", reading, Reading)
    format = reading.get("format")
    if path == STANDARD_INPUT:
        return _read_standard_input(cache, reading)
    places = find_paths(path)
    place = places[0]
    if format is None and len(places) == 1 and (is_store(place) or is_partial(place)):
        store = CountStore.open(place)
        if any(reading.get(name) for name in ("text_field", "id_field", "unit_field", "pattern")):
            raise InputError(
                f"{place} is a prepared store, whose columns and files were chosen when it was "
                "imported. Leave out the options for columns and patterns, or import the corpus again "
                "with them."
            )
        _refuse_text_options(reading, f"{place} is a prepared store: import the corpus again with it")
        name = store.name or default_name(place)
        return Corpus(name, store.unit, _Prepared(store, name))
    options = _choose(ReadOptions, reading)
    tokenization = _tokenization(reading)
    source = open_source(places, options, format)
    if isinstance(source, TextSource):
        _check_tokenization(tokenization)
    else:
        _refuse_text_options(reading, f"{place} holds counts: leave it out, and give a public vocabulary if needed")
    name = default_name(places)
    return Corpus(
        name, source.unit, _Raw(places, name, source, {**asdict(options), "format": format}, tokenization, cache)
    )


def _check_options(where: str, given: Mapping[str, Any], known: type) -> None:
    """Raise `TypeError` for an unknown option, and `InputError` for a unit field that means something else."""
    if unknown := sorted(given.keys() - known.__annotations__.keys()):
        raise TypeError(f"{where} has no option {unknown[0]!r}. Its options: {', '.join(known.__annotations__)}.")
    if given.get("unit_field") == DOCUMENT:
        raise InputError(
            f"unit_field must not be {DOCUMENT!r}: that name stands for one unit per document. Rename the column."
        )


def _check_tokenization(tokenization: Tokenization) -> None:
    """Raise `InputError` if the tokenizer is not available for the language."""
    if tokenization != Tokenization(tokenizer=tokenization.tokenizer):
        _word_counting().find_tokens(tokenization)


def _tokenization(reading: Mapping[str, Any]) -> Tokenization:
    return _choose(Tokenization, {**reading, "stopwords": _stop_words(reading.get("stopwords"))})


def _stop_words(given: Collection[str] | Path | None) -> tuple[str, ...]:
    """The distinct words of `given`, a collection or the path of a file, in lower case and sorted."""
    words = read_word_list(Path(given)) if isinstance(given, str | Path) else (given or ())
    if not all(isinstance(word, str) for word in words):
        raise InputError("stopwords must be words, or the path of a file with one word a line.")
    return tuple(sorted({lower for word in words if (lower := word.strip().lower())}))


def _refuse_text_options(reading: Mapping[str, Any], why: str) -> None:
    """Raise `InputError`, which says `why`, if `reading` has an option that works on text alone."""
    for name in _TEXT_ONLY:
        if reading.get(name) is not None:
            raise InputError(f"{name} works on text, and {why}.")


def _read_standard_input(cache: str | Path | None, reading: Reading) -> Corpus:
    """A corpus of what standard input holds; its file and its counts are removed with it."""
    if reading.get("format") is None:
        raise InputError("Standard input has no name that tells its format. Give --format, for example --format jsonl.")
    file = spool_standard_input(_cache_root(cache))
    try:
        corpus = read_corpus(file, cache=file.parent, **reading)
    except BaseException:
        shutil.rmtree(file.parent, ignore_errors=True)
        raise
    corpus.name = None
    weakref.finalize(corpus, shutil.rmtree, file.parent, ignore_errors=True)
    return corpus


def _choose(kind: type[_Options], reading: Mapping[str, Any]) -> _Options:
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

    paths: tuple[Path, ...]
    name: str
    source: Source
    options: dict[str, Any]
    tokenization: Tokenization
    cache: str | Path | None

    @property
    def reading(self) -> dict[str, Any]:
        return self.tokenization.facts() if isinstance(self.source, TextSource) else {}

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        prepared = _cache_folder(self.cache) / _source_key(self.paths, self.source.files, self.options | self.reading)
        while not is_store(prepared):
            try:
                self.write(prepared, progress, restart=False, notice=silent, key=key)
            except StoreLocked:  # another process is writing it
                time.sleep(_POLL_SECONDS)
        return CountStore.open(prepared)

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
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
        ) as writer:
            _fill(writer, self.source, self.tokenization, progress)


@dataclass
class _InMemory:
    """Texts in memory, which may be readable only once; their counts are kept in a folder of their own."""

    name: str | None
    source: TextSource
    tokenization: Tokenization
    cache: str | Path | None
    _read: CountStore | None = None

    @property
    def reading(self) -> dict[str, Any]:
        return asdict(self.tokenization)

    def open(self, progress: Progress, key: bytes | None) -> CountStore:
        place, remove = temporary_store(_cache_folder(self.cache))
        try:
            store = self._store_at(place, progress, silent, key)
        except BaseException:
            remove()
            raise
        weakref.finalize(store, remove)
        return store

    def write(self, destination: Path, progress: Progress, *, restart: bool, notice: Notice, key: bytes | None) -> None:
        if self._read is not None:
            _Prepared(self._read, self.name).write(destination, progress, restart=restart, notice=notice, key=key)
            return
        self._store_at(destination, progress, notice, key)

    def _store_at(self, destination: Path, progress: Progress, notice: Notice, key: bytes | None) -> CountStore:
        """Read the documents into a store at `destination`; nothing of an incomplete one is kept."""
        with StoreWriter(
            destination, unit=self.source.unit, name=self.name, reading=self.reading, notice=notice, key=key
        ) as writer:
            _fill(writer, self.source, self.tokenization, progress)
        self._read = CountStore.open(destination)
        return self._read


def _fill(writer: StoreWriter, source: Source, tokenization: Tokenization, progress: Progress) -> None:
    """Write the documents of `source` that the writer has not read before."""
    progress.start(_STAGE, source.total)
    progress.advance(writer.n_read)
    for chunk in _chunks(source, tokenization, writer.n_read):
        writer.append(chunk)
        progress.advance(len(chunk.ids) + chunk.defects.total())


def _chunks(source: Source, tokenization: Tokenization, skip: int) -> Iterator[CountedDocuments]:
    if isinstance(source, CountSource):
        return source.chunks(skip)
    counted: Iterator[CountedDocuments] = _word_counting().count_words(source.records(skip), tokenization)
    return counted


def _cache_folder(cache: str | Path | None = None) -> Path:
    """The folder of prepared stores in `cache`, else ``$DPLDA_CACHE``, else the user's cache folder.

    Creates it with mode 0700, because stores are private. Raises `InputError` if that fails.
    """
    folder = _cache_root(cache) / "stores"
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


def _cache_root(cache: str | Path | None) -> Path:
    root = Path(cache or os.environ.get("DPLDA_CACHE") or platformdirs.user_cache_dir("dplda"))
    return root.expanduser()


def _real(paths: Sequence[Path]) -> str | list[str]:
    """The absolute path, or paths if there are several."""
    real = [os.path.realpath(path) for path in paths]
    return real if len(real) > 1 else real[0]


def _source_key(paths: Sequence[Path], files: Iterable[Path], options: dict[str, Any]) -> str:
    """Name of the store of `paths` read with `options`; depends on the path, size and time of each file."""
    digest = hashlib.sha256(json.dumps([VERSION, _real(paths), options], sort_keys=True).encode())
    for file in files:
        with reading(file):
            status = os.stat(file)
            stamp = f"\0{status.st_size}\0{status.st_mtime_ns}\n"
            digest.update(os.fsencode(file) + stamp.encode() + (b"extracted\n" if is_document(file) else b""))
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
