"""Counting words on all cores, in the order of the documents and with few of them in memory.

Processes come from loky rather than `multiprocessing`, which would run an unguarded user script again in every
process it starts.
"""

from __future__ import annotations

import signal
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib.externals.loky import ProcessPoolExecutor
from numpy.typing import NDArray

from dplda.text.records import CountedDocuments, Defect, TextRecord
from dplda.text.tokens import WordCounter

CHUNK_DOCUMENTS = 1024
CHUNK_CHARACTERS = 1 << 20
SMALL_CHUNKS = 4  # with no more than these, starting processes costs more than it saves
MAX_PROCESSES = 8  # one process reads and merges; more than this would wait for it


@dataclass(frozen=True)
class Tokenization:
    """What turns text into words, and on how many processes (None: one per core)."""

    language: str = "en"
    lemmas: bool = False
    processes: int | None = None


class _Chunk(NamedTuple):
    """Consecutive documents, and the defects met among them."""

    records: list[TextRecord]
    defects: Counter[Defect]


class _Counts(NamedTuple):
    """Words (n_words,) and CSR counts of the documents of one chunk; `failed` are the places of those dropped."""

    words: list[str]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    counts: NDArray[np.int64]
    failed: list[int]


def check_language(language: str, lemmas: bool) -> None:
    """Raise `InputError` unless text in `language` can be tokenized."""
    WordCounter(language, lemmas)


def count_words(records: Iterable[TextRecord | Defect], tokenization: Tokenization) -> Iterator[CountedDocuments]:
    """Chunks of counted documents, in order; the same whatever the number of processes.

    Raises `InputError` if the language is not available.
    """
    counter = WordCounter(tokenization.language, tokenization.lemmas)
    chunks = _chunks(records)
    first = list(islice(chunks, SMALL_CHUNKS))
    processes = tokenization.processes or min(joblib.cpu_count(), MAX_PROCESSES)
    if processes == 1 or len(first) < SMALL_CHUNKS:
        for chunk in chain(first, chunks):
            yield _assemble(chunk, _count_texts(counter, [record.text for record in chunk.records]))
    else:
        yield from _count_in_pool(chain(first, chunks), tokenization, processes)


def _count_in_pool(chunks: Iterable[_Chunk], tokenization: Tokenization, processes: int) -> Iterator[CountedDocuments]:
    waiting: deque[tuple[_Chunk, Any]] = deque()
    pool = ProcessPoolExecutor(processes, initializer=_leave_interrupts_to_the_parent)
    finished = False
    try:
        for chunk in chunks:
            texts = [record.text for record in chunk.records]
            waiting.append((chunk, pool.submit(_count_here, tokenization, texts)))
            if len(waiting) > 2 * processes:
                done, future = waiting.popleft()
                yield _assemble(done, future.result())
        for done, future in waiting:
            yield _assemble(done, future.result())
        finished = True
    finally:  # an interrupted pool must not be waited for
        pool.shutdown(kill_workers=not finished)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@lru_cache(maxsize=1)
def _counter(language: str, lemmas: bool) -> WordCounter:
    """The counter of a worker process, kept from one chunk to the next."""
    return WordCounter(language, lemmas)


def _count_here(tokenization: Tokenization, texts: list[str]) -> _Counts:
    return _count_texts(_counter(tokenization.language, tokenization.lemmas), texts)


def _count_texts(counter: WordCounter, texts: list[str]) -> _Counts:
    numbers: dict[str, int] = {}
    indices, counts, lengths, failed = array("q"), array("q"), array("q"), []
    for place, text in enumerate(texts):
        try:
            document = counter.count(text)
        except Exception:  # whatever goes wrong inside the tokenizer stays with this document
            failed.append(place)
            continue
        indices.extend(numbers.setdefault(word, len(numbers)) for word in document)
        counts.extend(document.values())
        lengths.append(len(document))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return _Counts(list(numbers), indptr, np.array(indices), np.array(counts), failed)


def _assemble(chunk: _Chunk, counts: _Counts) -> CountedDocuments:
    failed = set(counts.failed)
    kept = [record for place, record in enumerate(chunk.records) if place not in failed]
    return CountedDocuments(
        words=counts.words,
        indptr=counts.indptr,
        indices=counts.indices,
        counts=counts.counts,
        ids=[record.id for record in kept],
        units=[record.unit for record in kept],
        defects=chunk.defects + Counter({Defect.MALFORMED: len(failed)}),
    )


def _chunks(records: Iterable[TextRecord | Defect]) -> Iterator[_Chunk]:
    """Runs of documents, each of about CHUNK_CHARACTERS or CHUNK_DOCUMENTS, whichever is reached first."""
    chunk, characters = _Chunk([], Counter()), 0
    for record in records:
        if isinstance(record, Defect):
            chunk.defects[record] += 1
        else:
            chunk.records.append(record)
            characters += len(record.text)
        if characters >= CHUNK_CHARACTERS or len(chunk.records) >= CHUNK_DOCUMENTS:
            yield chunk
            chunk, characters = _Chunk([], Counter()), 0
    if chunk.records or chunk.defects:
        yield chunk
