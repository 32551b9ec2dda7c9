"""`Corpus` and `read_corpus`: files, counts, texts or tables, turned into stored counts on first use."""

from __future__ import annotations

import os
import re
import shutil
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, Unpack

import numpy as np
from scipy import sparse

from dplda.base.characters import is_name
from dplda.base.errors import InputError, warn
from dplda.base.progress import NoProgress, Progress, following
from dplda.learning.synthetic import synthetic
from dplda.private.store.count_store import CountStore, is_partial, is_store
from dplda.private.store.preparation import (
    ById,
    InMemory,
    Preparation,
    Prepared,
    RawFiles,
    cache_root,
    check_tokenization,
    documents_by_id,
    identity_of_table,
    store_from_matrix,
)
from dplda.private.store.writer import Notice, silent
from dplda.text.categories import Categories
from dplda.text.files import STANDARD_INPUT, Named, find_paths, spool_standard_input
from dplda.text.formats import default_name, open_source
from dplda.text.reading_options import Fields, ListName, Reading, Tokenization
from dplda.text.records import DOCUMENT, Defect, ReadOptions, TextRecord, TextSource, group_value
from dplda.text.tables import is_column, is_table, table_source, texts_source
from dplda.text.word_files import read_word_list
from dplda.text.wordlists import names

__all__ = ["Corpus", "CountStore", "read_corpus", "synthetic"]

_FIRST = 1000  # documents that are looked at before a table is charged
_NAME_LIST = re.compile(r"names(?::([a-z]+))?")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")  # at the end of the name of a file
_LONGEST_NAME, _MOST_WORDS = 255, 4  # of a file with white space in its name
_TEXT_ONLY = ("stopwords", "ngrams")  # options that are refused for counts and stores
_Options = TypeVar("_Options", ReadOptions, Tokenization)


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
        preparation: Preparation,
        *,
        public_vocabulary: tuple[str, ...] | None = None,
    ) -> None:
        self.name = name
        self.unit = unit
        self.public_vocabulary = public_vocabulary
        self.reading = preparation.reading
        self._preparation = preparation
        self._store: CountStore | None = None
        self._notes: list[str] = []
        self._asked_of: Corpus | None = None

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
        groups: Mapping[str, Sequence[Any]] | None = None,
        refuse_weights: bool = True,
    ) -> Corpus:
        """Return a corpus from `counts` (n_documents, n_words), sparse or dense, with the word of each column.

        `units` (n_documents,) names the privacy unit of each row, such as a person, and `unit` the kind of unit, such
        as ``"customer"`` (default ``"unit"``). `groups` maps names to a value of each row, such as a product or a
        date, by which tables can be made. A row with an entry that is not a whole number of occurrences
        contributes nothing. Raises `InputError` if shapes disagree, and if most rows have such an entry, as in a matrix
        of tf-idf weights; without `refuse_weights` it warns of these. Both depend on the documents and are not private.
        """
        _check_name(name)
        if unit is not None and (units is None or unit == DOCUMENT):
            raise InputError(
                f"unit={unit!r} says what kind of unit `units` holds: give units as well, and a unit other than "
                f"{DOCUMENT!r}."
            )
        store = store_from_matrix(counts, vocabulary, units, unit or "unit", groups)
        if 2 * store.defects.get(Defect.BAD_COUNT.name, 0) > store.n_documents:
            told = (
                "Most rows of counts hold values that are not counts (fractions, negative numbers or NaN, as in tf-idf "
                "weights). Give numbers of occurrences: use sklearn's CountVectorizer, without a TfidfTransformer. "
                "(Exact, not private, not for publication.)"
            )
            if refuse_weights:
                raise InputError(told)
            warn(f"{told} In this simulation these rows contribute nothing; a run that is charged is refused.")
        words = tuple(vocabulary) if public_vocabulary else None
        return cls(name, store.unit, Prepared(store, name), public_vocabulary=words)

    @classmethod
    def from_gensim(cls, corpus: Iterable[Any], dictionary: Mapping[int, str], **options: Any) -> Corpus:
        """Return a corpus from gensim's: bags of words, as lists of (word id, number), and the dictionary of their ids.

        `options` are passed to `from_counts`. A dictionary that was made of the documents is private: leave
        ``public_vocabulary`` False, and each run chooses its words privately. Raises `InputError` for ids that the
        dictionary lacks, and for what `from_counts` refuses.
        """
        from gensim.matutils import corpus2csc

        words = dict(dictionary.items())
        if set(words) != set(range(len(words))):
            raise InputError("the ids of the dictionary have gaps. Close them: dictionary.compactify().")
        counts = corpus2csc(corpus)
        if counts.shape[0] > len(words):
            raise InputError("the corpus has ids that the dictionary lacks. Give the dictionary that made the corpus.")
        counts.resize(len(words), counts.shape[1])
        return cls.from_counts(counts.T.tocsr(), [words[number] for number in range(len(words))], **options)

    @classmethod
    def from_texts(
        cls, texts: Iterable[Any], *, name: str | None = None, cache: str | Path | None = None, **fields: Unpack[Fields]
    ) -> Corpus:
        """Return a corpus from `texts`, any iterable of strings, or of records (dictionaries) that each contain a text.

        `fields` are the options of `dplda.text.reading_options.Fields`: ``text_field``, ``id_field``,
        ``unit_field``, ``group_fields``, ``language``, ``lemmas`` and ``tokenizer``. `name` is the default name of the
        dataset. An item that is no document contributes nothing.

        Documents are read on first use. An iterator can be read only once: the corpus keeps the counts, in a private
        folder of `cache`, until it is no longer used; `write` keeps them for good. Exceptions of the iterator are
        passed on, and nothing is spent. Raises `InputError` for what is no iterable of documents, and for fields that
        the first documents lack (for an iterator, fields are checked when it is read).
        """
        return cls._in_memory(partial(texts_source, texts), name, cache, fields)

    @classmethod
    def from_table(
        cls, table: Any, *, name: str | None = None, cache: str | Path | None = None, **fields: Unpack[Fields]
    ) -> Corpus:
        """Return a corpus from the rows of `table`; for the options see `from_texts`.

        `table` is a pandas or polars DataFrame, an Arrow table or reader of record batches, a DuckDB relation, a
        Hugging Face dataset, or any other object with an Arrow stream (``__arrow_c_stream__``). Names and types of
        columns are public and are checked now; rows are read on first use, and from a stream only once. Raises
        `InputError` for another object, and for a column that is missing or has an unsuitable type.
        """
        return cls._in_memory(partial(table_source, table), name, cache, fields, table)

    @classmethod
    def _in_memory(
        cls,
        find: Callable[[ReadOptions], TextSource],
        name: str | None,
        cache: str | Path | None,
        fields: Fields,
        table: Any = None,
    ) -> Corpus:
        _check_options("Corpus", fields, Fields)
        _check_name(name)
        options = _choose(ReadOptions, fields)
        source, tokenization = find(options), _tokenization(fields)
        check_tokenization(tokenization)
        id_field = options.id_field if source.unit == DOCUMENT else None
        preparation = InMemory(name, source, tokenization, cache, tuple(options.group_fields), id_field)
        preparation.identity = identity_of_table(table, asdict(options)) or preparation.identity
        return cls(name, source.unit, preparation)

    def __repr__(self) -> str:
        return f"Corpus(name={self.name!r}, unit={self.unit!r})"

    def open(
        self, progress: Progress | None = None, *, key: bytes | None = None, by_id: ById | None = None
    ) -> CountStore:
        """Return the store of counts; write it first if it does not exist.

        A new store contains its fingerprint, computed with `key`, the secret key of a ledger. This saves each `fit`
        with that ledger a pass over the documents. With `by_id`, rows of one id are one document
        (`documents_by_id`). Raises `InputError` for a damaged file, a full disk, or a store of another unit.
        """
        if self._store is None:
            self._store = self._preparation.open(progress or NoProgress(), key)
        if self._store.unit != self.unit:
            raise InputError(
                f"This corpus was opened with the unit {self.unit!r}, but its store was made with the "
                f"unit {self._store.unit!r}. Import the corpus again with the unit that you want."
            )
        part, left_out = self._store, 0
        if by_id is not None:
            cache = getattr(self._preparation, "cache", None)
            part, left_out = documents_by_id(self._store, by_id, key or b"", cache)
        self._take_notes(self._store, left_out)
        return part

    def write(
        self,
        destination: str | Path,
        progress: Progress | None = None,
        *,
        restart: bool = False,
        notice: Notice = silent,
        key: bytes | None = None,
    ) -> CountStore:
        """Write the counts as a store, a folder that must not exist yet, and open it.

        An interrupted write of the same corpus to this folder resumes, unless `restart`. `notice` receives one line
        when the write resumes, starts over because files or versions have changed, or stops and can be resumed; the
        line may be private. `key` is as in `open`. Raises `InputError` if the store cannot be written.
        """
        place = Path(destination).expanduser()
        with following(progress) as shown:
            self._preparation.write(place, shown, restart=restart, notice=notice, key=key)
        self._store = CountStore.open(place)
        self._take_notes(self._store)
        return self._store

    def asking(self, categories: Categories) -> Corpus:
        """Return this corpus, read anew with the answers of each document to `categories` (`dplda.count`).

        They stand in for those of an earlier call.
        Raises `InputError` if it has no texts, or was read without a column that a category needs.
        """
        plain = self
        while plain._asked_of is not None:
            plain = plain._asked_of
        asked = Corpus(self.name, self.unit, plain._preparation.asking(categories))
        asked._asked_of = self  # which has the notes, and with which a file of standard input would be removed
        return asked

    @property
    def categories(self) -> tuple[str, ...]:
        """The possible answers of each document; empty if documents were not asked. Public."""
        return tuple(self._preparation.categories.get("names", ()))

    @property
    def category_facts(self) -> dict[str, Any]:
        """What the categories are, as plain JSON; empty if documents were not asked. Public."""
        return dict(self._preparation.categories)

    @property
    def is_text(self) -> bool:
        """Whether the documents are text, so that the options about words apply, and not counts or a store."""
        return isinstance(getattr(self._preparation, "source", None), TextSource)

    def raw_texts(self) -> Iterator[TextRecord | Defect]:
        """Read the texts of the documents, in order, without keeping anything. Exact and private.

        Raises `InputError` for counts and prepared stores, which have no texts.
        """
        source = getattr(self._preparation, "source", None)
        if not isinstance(source, TextSource):
            raise InputError("a prepared store or a file of counts has no texts. Name the files of the texts.")
        return source.records()

    @property
    def places(self) -> frozenset[str]:
        """The real paths of the files and folders that hold the documents; empty for documents in memory. Public."""
        return frozenset(os.path.realpath(place) for place in self._preparation.places)

    @property
    def named_places(self) -> frozenset[str]:
        """The real paths that the corpus was opened by, without those of the files in folders. Public."""
        return frozenset(self._preparation.named_places)

    @property
    def identity(self) -> str:
        """The same for two corpora only if they read the same files in the same way (`Preparation`). Public."""
        return self._preparation.identity

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns that can group documents in tables (`dplda.tabulate`). Public."""
        return self._preparation.group_columns

    def subfolders(self) -> list[dict[str, str | None]]:
        """Return the values in the group columns of all documents of a folder or archive, which has no other columns.

        Exact and private: for their owner. Empty for other documents.
        """
        source = getattr(self._preparation, "source", None)
        if not isinstance(source, TextSource) or source.subfolders is None or not self.group_columns:
            return []
        return [dict.fromkeys(self.group_columns, group_value(name)) for name in source.subfolders()]

    def first_groups(self) -> list[dict[str, str | None]]:
        """Return the values in the group columns of the first documents. Exact and private: for their owner.

        Empty for documents that can be read only once, or slowly.
        """
        source = getattr(self._preparation, "source", None)
        if isinstance(source, TextSource):
            again = bool(source.files) or source.total is not None
            first = islice(source.records() if again and self.group_columns and not source.slow else (), _FIRST)
            rows = (record.groups for record in first if isinstance(record, TextRecord))
            return [dict(zip(self.group_columns, values, strict=False)) for values in rows]
        store = self._preparation.store if isinstance(self._preparation, Prepared) else None
        if store is None or not store.group_columns or not store.n_blocks:
            return []
        (block,) = store.blocks(range(1))
        listed = block.eligible().groups.to_pylist()
        return [dict(zip(store.group_columns, values, strict=False)) for values in listed]

    @property
    def id_field(self) -> str | None:
        """The column of ids that tell documents apart; None without one, or if documents are not the units. Public."""
        return self._preparation.id_field

    @property
    def tokenization(self) -> Tokenization | None:
        """How text becomes words. None for counts, and for a store with settings that do not exist.

        That of a store lacks the user's stop words, of which the store has a digest only. Public.
        """
        given = getattr(self._preparation, "tokenization", None)
        if not self.reading or isinstance(given, Tokenization):
            return given if self.reading else None
        with suppress(InputError):
            return Tokenization(**{name: value for name, value in self.reading.items() if name != "stopwords"})
        return None

    @property
    def notes(self) -> list[str]:
        """Local diagnostics of the latest reading (exact, not private, not for publication); empty before it."""
        return list(self._notes)

    def _take_notes(self, store: CountStore, left_out: int = 0) -> None:
        """Note what was read, also on the corpus whose documents are asked (`asking`): it is the one that users have.

        `left_out` is the number of documents that ids excluded.
        """
        absent = sum(count for name, count in store.defects.items() if not Defect[name].has_text)
        lines = [f"{store.n_documents + absent:,} documents read."]
        for defect in Defect:
            if count := store.defects.get(defect.name, 0):
                lines.append(f"{count:,} contribute nothing: {defect.value}.")
        if left_out:
            lines.append(
                f"{left_out:,} contribute nothing: they are too short, or have no id, or that of an earlier row or of "
                "another batch."
            )
        corpus: Corpus | None = self
        while corpus is not None:
            corpus._notes, corpus = lines, corpus._asked_of


def check_corpus(corpus: object) -> None:
    """Raise `InputError` for what is no `Corpus`."""
    if not isinstance(corpus, Corpus):
        raise InputError(
            f"corpus must be a Corpus, got {type(corpus).__name__}. Make one: read_corpus(path), "
            "Corpus.from_texts(texts), Corpus.from_table(table) or Corpus.from_counts(counts, words)."
        )


def read_corpus(
    path: Named | Any, *, name: str | None = None, cache: str | Path | None = None, **reading: Unpack[Reading]
) -> Corpus:
    """Return a `Corpus` for the file or folder at `path`. Its documents are read later, on first use.

    `path` may also be a pattern (``"tickets-*.csv"``), a list of files of one kind, or ``"-"`` for standard input,
    which is kept in a private file in the cache as long as the corpus is used, or a table in memory, such as a
    DataFrame (see `Corpus.from_table`). Checks the public facts of the corpus now: path, format, columns and language.

    `reading` are the options of `dplda.text.reading_options.Reading`; `cache` is the folder of prepared stores. `name`
    is the default name of the dataset; without it, that of the file or folder. Raises `InputError`, and `TypeError` for
    an unknown option.
    """
    _check_options("read_corpus", reading, Reading)
    _check_name(name)
    if is_table(path) or is_column(path):
        return Corpus.from_table(path, name=name, cache=cache, **_without_options_of_files(reading))
    _refuse_texts(path)
    corpus = _read_files(path, cache, reading)
    corpus.name = corpus.name if name is None else name
    return corpus


def _refuse_texts(named: Any) -> None:
    """Raise `InputError`, which quotes nothing, for what are no names of files, such as a list of texts."""
    names = [named] if isinstance(named, str | Path) else named if isinstance(named, list | tuple) else None
    if names is None or not all(isinstance(name, str | Path) for name in names):
        raise InputError(
            "read_corpus takes the path of a file or folder, a pattern, a list of paths, or a table. For texts, use "
            "Corpus.from_texts(texts)."
        )
    several = not isinstance(named, str | Path)
    texts = [name for name in names if isinstance(name, str) and not _may_be_named(name, several=several)]
    if texts:
        raise InputError("these look like texts, and read_corpus takes names of files. Use Corpus.from_texts(texts).")


def _may_be_named(name: str, *, several: bool) -> bool:
    """Whether a message may quote `name` as that of a file. One of several must exist, or end as names of files do."""
    if len(name) > _LONGEST_NAME or not name.isprintable():
        return False
    return (
        not several or os.path.lexists(name) or (len(name.split()) <= _MOST_WORDS and _SUFFIX.search(name) is not None)
    )


def _without_options_of_files(reading: Reading) -> Any:
    """Return the options of `reading` that a table has. Raises `InputError` if one of a file is among them."""
    given = {name: value for name, value in reading.items() if value is not None}
    if of_files := sorted(given.keys() - Fields.__annotations__.keys()):
        raise InputError(f"{of_files[0]} is an option of files, and this corpus is a table in memory: leave it out.")
    return given


def _read_files(path: Named, cache: str | Path | None, reading: Reading) -> Corpus:
    """Return a corpus for what `path` names; arguments and errors are those of `read_corpus`."""
    format = reading.get("format")
    if path == STANDARD_INPUT:
        return _read_standard_input(cache, reading)
    places = find_paths(path)
    place = places[0]
    if format is None and len(places) == 1 and (is_store(place) or is_partial(place)):
        store = CountStore.open(place)
        chosen = ("text_field", "id_field", "unit_field", "group_fields", "sheet", "pattern")
        if any(reading.get(name) for name in chosen):
            raise InputError(
                f"{place} is a prepared store, whose columns and files were chosen when it was "
                "imported. Leave out the options for columns, sheets and patterns, or import the corpus again "
                "with them."
            )
        _refuse_text_options(reading, f"{place} is a prepared store: import the corpus again with it")
        name = store.name or default_name(place)
        return Corpus(name, store.unit, Prepared(store, name))
    options = _choose(ReadOptions, reading)
    tokenization = _tokenization(reading)
    source = open_source(places, options, format)
    if isinstance(source, TextSource):
        check_tokenization(tokenization)
    else:
        _refuse_text_options(reading, f"{place} holds counts: leave it out, and give a public vocabulary if needed")
    name = default_name(places)
    return Corpus(
        name, source.unit, RawFiles(places, name, source, {**asdict(options), "format": format}, tokenization, cache)
    )


def _check_options(where: str, given: Mapping[str, Any], known: type) -> None:
    """Raise `TypeError` for an unknown option, and `InputError` for the unit field ``"document"``, a reserved name."""
    if unknown := sorted(given.keys() - known.__annotations__.keys()):
        raise TypeError(f"{where} has no option {unknown[0]!r}. Its options: {', '.join(known.__annotations__)}.")
    if given.get("unit_field") == DOCUMENT:
        raise InputError(
            f"unit_field must not be {DOCUMENT!r}: that name stands for one unit per document. To protect each "
            "document by itself, leave it out; a column of this name must be renamed."
        )


def _check_name(name: object) -> None:
    """Raise `InputError` for what is no name, without quoting it: it might be the texts."""
    if name is not None and not is_name(name):
        raise InputError(
            "name must be a printable name of 1 to 200 characters, to which the budget is charged, got another "
            f"{type(name).__name__}."
        )


def _tokenization(reading: Mapping[str, Any]) -> Tokenization:
    """Return how text becomes words. Its stop words are the distinct words of all lists, in lower case and sorted."""
    language = reading.get("language") or Tokenization.language
    given: Collection[str | Path] | str | Path | None = reading.get("stopwords")
    items = [ListName(given)] if isinstance(given, str) else [given] if isinstance(given, Path) else given
    words = list[str]()
    for item in () if items is None else items:
        if isinstance(item, ListName) and (named := _NAME_LIST.fullmatch(item)):
            words += names(named[1] or language)
        elif isinstance(item, ListName | Path):
            words += read_word_list(Path(item))
        elif isinstance(item, str):
            words.append(item)
        else:
            raise InputError("stopwords must be words, or the path of a file with one word a line.")
    stopwords = tuple(sorted({lower for word in words if (lower := word.strip().lower())}))
    return _choose(Tokenization, {**reading, "stopwords": stopwords})


def _refuse_text_options(reading: Mapping[str, Any], why: str) -> None:
    """Raise `InputError`, which says `why`, if `reading` has an option that works on text alone."""
    for name in _TEXT_ONLY:
        if reading.get(name) is not None:
            raise InputError(f"{name} works on text, and {why}.")


def _read_standard_input(cache: str | Path | None, reading: Reading) -> Corpus:
    """Return a corpus of what standard input contains; its file and its counts are removed with it."""
    if reading.get("format") is None:
        raise InputError("Standard input has no name that tells its format. Give --format, for example --format jsonl.")
    file = spool_standard_input(cache_root(cache))
    try:
        corpus = _read_files(file, file.parent, reading)
    except BaseException:
        shutil.rmtree(file.parent, ignore_errors=True)
        raise
    corpus.name = None
    weakref.finalize(corpus, shutil.rmtree, file.parent, ignore_errors=True)
    return corpus


def _choose(kind: type[_Options], reading: Mapping[str, Any]) -> _Options:
    """Make a `kind` of the options of `reading` that are its fields; None stands for a field's default."""
    names = {field.name for field in fields(kind)}
    chosen: dict[str, Any] = {name: value for name, value in reading.items() if name in names and value is not None}
    return kind(**chosen)


def counts_for(words: Sequence[str], store: CountStore) -> tuple[sparse.csr_matrix, list[str], int, int]:
    """Count `words` in a prepared corpus: ``(counts, ids, unknown_tokens, total_tokens)``.

    `counts` is ``(n_documents, n_words)``. Words that are not among `words` are left out; `unknown_tokens` counts their
    tokens. All four values are private.
    """
    column = {word: j for j, word in enumerate(words)}
    columns = np.array([column.get(word, -1) for word in store.dictionary], dtype=np.int64)
    parts, ids = [], []
    unknown = total = 0
    for block in store.blocks():
        target = columns[block.words]
        known = target >= 0
        counts = block.counts
        total += int(counts.sum(dtype=np.int64))
        unknown += int(counts[~known].sum(dtype=np.int64))
        # The cumulative count of known entries maps old row boundaries to new ones.
        boundaries = np.concatenate(([0], np.cumsum(known)))[block.indptr]
        shape = (len(block.indptr) - 1, len(words))
        parts.append(sparse.csr_matrix((counts[known], target[known], boundaries), shape=shape))
        ids.extend(block.ids.to_pylist())
    whole = sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix((0, len(column)), dtype=np.int64)
    return whole, ids, unknown, total
