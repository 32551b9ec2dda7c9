"""Count words on all cores, in document order, with only a few chunks of documents in memory.

A tokenizer splits a document into pieces, and each piece into words. `WordCounter` numbers the distinct pieces and
finds the words of each one once. A document is then a row of piece numbers, a piece is a row of word numbers, and the
counts are the product of two sparse matrices. The cache of pieces never changes the counts of a document.

The pool is loky's, because `multiprocessing` would run a user's unguarded script again in every worker process.
"""

from __future__ import annotations

import os
import signal
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import joblib
import numpy as np
from joblib.externals.loky import ProcessPoolExecutor
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dplda.base.processes import interrupts_blocked
from dplda.text.asian_languages import is_segmented
from dplda.text.reading_options import Tokenization
from dplda.text.records import CountedDocuments, Defect, TextRecord, text_code
from dplda.text.words import Tokens

_CHUNK_DOCUMENTS = 4096
_CHUNK_CHARACTERS = 1 << 22
_SMALL_CHUNKS = 4  # chunks below which starting processes costs more than it saves
_MAX_PROCESSES = 8  # more processes would wait for the one that reads and merges
_REMEMBERED_PIECES, _REMEMBERED_CHARACTERS = 500_000, 1 << 26  # limits of the cache of pieces


class _Chunk(NamedTuple):
    """Consecutive documents, and the defects among them."""

    records: list[TextRecord]
    defects: Counter[Defect]


def find_tokens(tokenization: Tokenization) -> Tokens:
    """Return the tokenizer of `tokenization`. Raises `InputError` if it is not available for the language."""
    from dplda.text import tokenizers  # worker processes import this module but do not need spaCy

    return tokenizers.find_tokens(tokenization)


def count_words(
    records: Iterable[TextRecord | Defect],
    tokenization: Tokenization,
    processes: int | None = None,
    most: int | None = None,
) -> Iterator[CountedDocuments]:
    """Yield chunks of counted documents, in order, of at most `most` (default 4096) documents.

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
            with interrupts_blocked():  # this may start processes
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
        texts=counts.texts,
        defects=chunk.defects + Counter({Defect.MALFORMED: len(failed)}),
    )


def _chunks(records: Iterable[TextRecord | Defect], most: int) -> Iterator[_Chunk]:
    """Yield chunks of about _CHUNK_CHARACTERS characters or `most` documents, whichever is reached first."""
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


class Counts(NamedTuple):
    """Words (n_words,), CSR counts (n_documents, n_words) and codes of all texts but those with indices in `failed`."""

    words: list[str]
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    counts: NDArray[np.int32]
    failed: list[int]
    texts: list[bytes]  # `text_code`


class WordCounter:
    """Counts the words that the tokenizer `tokens` finds."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._seen = _Pieces(tokens)

    def count(self, texts: Sequence[str]) -> Counts:
        """Count the words of `texts` (n_documents,). The order of words depends only on `texts`."""
        if len(self._seen) >= _REMEMBERED_PIECES or self._seen.n_characters >= _REMEMBERED_CHARACTERS:
            self._seen = _Pieces(self._tokens)
        number = self._seen.__getitem__
        pieces, ends, failed, codes = list[int](), [0], list[int](), list[bytes]()
        for place, text in enumerate(texts):
            try:
                pieces += list(map(number, self._tokens.pieces(text)))  # list: add all pieces or none
            except Exception:  # an error of the tokenizer affects this document only, which has no row
                failed.append(place)
            else:
                ends.append(len(pieces))
                codes.append(text_code(text))

        words = self._seen.matrix()
        ones = np.ones(len(pieces), np.int32)
        rows = (ones, np.fromiter(pieces, np.int32, len(pieces)), np.array(ends, np.int32))
        documents = csr_array(rows, shape=(len(ends) - 1, words.shape[0]))
        counts = documents @ words
        used, indices = _renumber(counts.indices, words.shape[1])
        names = list(self._seen.words)
        return Counts([names[number] for number in used], counts.indptr, indices, counts.data, failed, codes)


def _renumber(numbers: NDArray[np.int32], size: int) -> tuple[list[int], NDArray[np.int32]]:
    """Renumber `numbers` (nnz,), all below `size`, from 0 without gaps.

    Returns the distinct numbers, ordered by last occurrence, and the position of each of `numbers` among them. The
    original numbers depend on the order of words in earlier texts, so they must not reach the output.
    """
    places = np.arange(len(numbers), dtype=np.int32)
    place = np.empty(size, np.int32)
    place[numbers] = places
    used = numbers[place[numbers] == places]
    place[used] = places[: len(used)]
    return used.tolist(), place[numbers]


class _Numbers(dict[str, int]):
    """Maps each string to a number, given in the order of first occurrence."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


class _Pieces(dict[str, int]):
    """Maps each piece to a number, given in the order of first occurrence, and stores the words of each piece."""

    def __init__(self, tokens: Tokens) -> None:
        self.words = _Numbers()
        self.n_characters = 0
        self._tokens = tokens
        self._indptr, self._indices = array("i", [0]), array("i")

    def __missing__(self, piece: str) -> int:
        self._indices.extend([self.words[word] for word in self._tokens.words(piece)])
        self._indptr.append(len(self._indices))
        self.n_characters += len(piece)
        self[piece] = number = len(self)
        return number

    def matrix(self) -> csr_array:
        """Return how often each word occurs in each piece, (n_pieces, n_words)."""
        ones = np.ones(len(self._indices), np.int32)
        rows = (ones, np.array(self._indices), np.array(self._indptr))
        return csr_array(rows, shape=(len(self), len(self.words)))
