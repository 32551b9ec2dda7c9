"""Count words on all cores, in document order, with only a few chunks of documents in memory.

The pool is loky's, because `multiprocessing` would run a user's unguarded script again in every worker process.
"""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib.externals.loky import ProcessPoolExecutor

from dplda.text.asian_languages import is_segmented
from dplda.text.counting import Counts, Tokens, WordCounter
from dplda.text.reading_options import Tokenization
from dplda.text.records import CountedDocuments, Defect, TextRecord

_CHUNK_DOCUMENTS = 4096
_CHUNK_CHARACTERS = 1 << 22
_SMALL_CHUNKS = 4  # chunks below which starting processes costs more than it saves
_MAX_PROCESSES = 8  # more processes would wait for the one that reads and merges


class _Chunk(NamedTuple):
    """Consecutive documents, and the defects among them."""

    records: list[TextRecord]
    defects: Counter[Defect]


def find_tokens(tokenization: Tokenization) -> Tokens:
    """The tokenizer of `tokenization`. Raises `InputError` if it is not available for the language."""
    from dplda.text import tokenizers  # worker processes import this module but do not need spaCy

    return tokenizers.find_tokens(tokenization)


def count_words(
    records: Iterable[TextRecord | Defect],
    tokenization: Tokenization,
    processes: int | None = None,
    most: int | None = None,
) -> Iterator[CountedDocuments]:
    """Chunks of counted documents, in order, of at most `most` (default 4096) documents.

    The counts depend neither on `most` nor on the number of `processes` (None: one per core). Raises `InputError` if
    the language is not available.
    """
    tokens = find_tokens(tokenization)
    chunks = _chunks(records, most or _CHUNK_DOCUMENTS)
    first = list(islice(chunks, _SMALL_CHUNKS))
    processes = processes or min(joblib.cpu_count(), _MAX_PROCESSES)
    if not is_segmented(tokenization.language) and (processes == 1 or len(first) < _SMALL_CHUNKS):
        counter = WordCounter(tokens)
        for chunk in chain(first, chunks):
            yield _assemble(chunk, counter.count([record.text for record in chunk.records]))
    else:
        yield from _count_in_pool(chain(first, chunks), tokens, processes)


def _count_in_pool(chunks: Iterable[_Chunk], tokens: Tokens, processes: int) -> Iterator[CountedDocuments]:
    waiting: deque[tuple[_Chunk, Any]] = deque()
    pool = ProcessPoolExecutor(processes, initializer=_begin, initargs=(tokens,))
    finished = False
    try:
        for chunk in chunks:
            texts = [record.text for record in chunk.records]
            waiting.append((chunk, pool.submit(_count_here, texts)))
            if len(waiting) > 2 * processes:
                done, future = waiting.popleft()
                yield _assemble(done, future.result())
        for done, future in waiting:
            yield _assemble(done, future.result())
        finished = True
    finally:  # an interrupted pool is killed
        pool.shutdown(kill_workers=not finished)


_here: list[WordCounter] = []  # the counter of a worker process


def _begin(tokens: Tokens) -> None:
    """Start a worker that ignores interrupts, which its parent handles, and discards standard error.

    Messages of native code that fails may quote documents.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    _here.append(WordCounter(tokens))


def _count_here(texts: list[str]) -> Counts:
    return _here[0].count(texts)


def _assemble(chunk: _Chunk, counts: Counts) -> CountedDocuments:
    failed = set(counts.failed)
    kept = [record for place, record in enumerate(chunk.records) if place not in failed]
    return CountedDocuments(
        words=counts.words,
        indptr=counts.indptr.astype(np.int64),
        indices=counts.indices.astype(np.int64),
        counts=counts.counts.astype(np.int64),
        ids=[record.id for record in kept],
        units=[record.unit for record in kept],
        groups=[record.groups for record in kept],
        defects=chunk.defects + Counter({Defect.MALFORMED: len(failed)}),
    )


def _chunks(records: Iterable[TextRecord | Defect], most: int) -> Iterator[_Chunk]:
    """Chunks of about _CHUNK_CHARACTERS characters or `most` documents, whichever is reached first."""
    chunk, characters = _Chunk([], Counter()), 0
    for record in records:
        if isinstance(record, Defect):
            chunk.defects[record] += 1
        else:
            chunk.records.append(record)
            characters += len(record.text)
        if characters >= _CHUNK_CHARACTERS or len(chunk.records) >= most:
            yield chunk
            chunk, characters = _Chunk([], Counter()), 0
    if chunk.records or chunk.defects:
        yield chunk
