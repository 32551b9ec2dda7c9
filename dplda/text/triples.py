"""UCI bag of words and Matrix Market: lines ``document word count``, grouped by document in any order.

A line is judged alone. If it is malformed but names a document, that document contributes nothing; if not even
that can be read, the line is dropped. Whole blocks of regular lines are parsed at once by NumPy, others line
by line, with the same result.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dplda.errors import InputError
from dplda.text.columns import ReadOptions, no_columns
from dplda.text.counts import CHUNK_DOCUMENTS, WordNames, counted, whole_counts
from dplda.text.files import MAX_BYTES, check_unpacked, open_bytes
from dplda.text.records import MAX_COUNT, CountedDocuments, CountSource, Defect
from dplda.text.wordlists import find_word_list, read_word_list, required_word_list

BLOCK_BYTES = 1 << 24
_NUMBER = re.compile(rb"[0-9.eE+-]{1,40}")
_REGULAR = np.zeros(256, dtype=np.bool_)
_REGULAR[np.frombuffer(b"0123456789.eE+- \n", dtype=np.uint8)] = True
Triples = NDArray[np.float64]  # (n, 3): document, word, count; NaN for what could not be read


def uci_source(path: Path, options: ReadOptions) -> CountSource:
    """UCI's D, W, NNZ lines, then triples. Raises `InputError` unless its vocabulary of W words is beside it."""
    no_columns(path, "a UCI bag of words", options)
    vocabulary = required_word_list(path)
    documents, words, skip = _uci_header(path)
    return _source(path, options, vocabulary, documents, words, skip)


def mtx_source(path: Path, options: ReadOptions) -> CountSource:
    """A Matrix Market coordinate matrix, documents x words. Raises `InputError`."""
    no_columns(path, "a Matrix Market file", options)
    documents, words, skip = _mtx_header(path)
    return _source(path, options, find_word_list(path), documents, words, skip)


def _source(
    path: Path, options: ReadOptions, vocabulary: Path | None, documents: int, words: int, header: int
) -> CountSource:
    names = None if vocabulary is None else read_word_list(vocabulary)
    if names is not None and len(names) != words:
        raise InputError(f"{path} declares {words} words but {vocabulary} lists {len(names)}.")
    if words > MAX_COUNT or documents > 2**53:
        raise InputError(f"{path} declares a size beyond 2^31 words or 2^53 documents.")
    naming = WordNames(names, first=1, size=words)
    files = (path,) if vocabulary is None else (path, vocabulary)

    def chunks(skip: int = 0) -> Iterator[CountedDocuments]:
        return _chunks(path, header, documents, naming, skip)

    return CountSource(files, options.unit, chunks)


def _uci_header(path: Path) -> tuple[int, int, int]:
    with open_bytes(path) as stream:
        lines = [stream.readline(MAX_BYTES).strip() for _ in range(3)]
    if not all(line.isdigit() and len(line) < 20 for line in lines):
        raise InputError(f"{path} does not begin with UCI's three lines (documents, words, entries).")
    return int(lines[0]), int(lines[1]), 3


def _mtx_header(path: Path) -> tuple[int, int, int]:
    problem = InputError(f"{path} is not a general integer or real Matrix Market coordinate file.")
    with open_bytes(path) as stream:
        banner = stream.readline(MAX_BYTES).lower().split()
        if banner[:3] != [b"%%matrixmarket", b"matrix", b"coordinate"] or b"general" not in banner:
            raise problem
        if not {b"integer", b"real"} & set(banner):
            raise problem
        skip = 2
        while (line := stream.readline(MAX_BYTES)).startswith(b"%") or line.isspace():
            skip += 1
    sizes = line.split()
    if len(sizes) != 3 or not all(size.isdigit() and len(size) < 20 for size in sizes):
        raise problem
    return int(sizes[0]), int(sizes[1]), skip


def _chunks(path: Path, header: int, documents: int, names: WordNames, skip: int) -> Iterator[CountedDocuments]:
    """Chunks of the documents that have entries, in their order, behind the first `skip`."""
    number, word, count = _columns(path, header, documents)
    if np.any(np.diff(number) < 0):
        order = np.argsort(number, kind="stable")
        number, word, count = number[order], word[order], count[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    ends = np.append(starts[1:], len(number))
    for first in range(skip, len(starts), CHUNK_DOCUMENTS):
        begin, end = starts[first], ends[min(first + CHUNK_DOCUMENTS, len(starts)) - 1]
        indptr = np.append(starts[first : first + CHUNK_DOCUMENTS], end) - begin
        ordinals = number[starts[first : first + CHUNK_DOCUMENTS]].tolist()
        yield counted(
            names,
            indptr.astype(np.int64),
            word[begin:end].astype(np.int64),
            count[begin:end].astype(np.int64),
            ordinals,
            Counter[Defect](),
        )


def _columns(path: Path, header: int, documents: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Document, word and count of every entry of a document that exists; -1 for a bad word or count."""
    numbers, words, counts = [np.empty(0, np.int64)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for block in _blocks(path, header):
        triples = parse_block(block)
        document = triples[:, 0]
        exists = (document >= 1) & (document <= documents) & (document == np.floor(document))
        triples = triples[exists]
        numbers.append(triples[:, 0].astype(np.int64))
        words.append(whole_counts(triples[:, 1]).astype(np.int32))
        counts.append(whole_counts(triples[:, 2]).astype(np.int32))
    return np.concatenate(numbers), np.concatenate(words), np.concatenate(counts)


def _blocks(path: Path, header: int) -> Iterator[bytes]:
    """Blocks of whole lines after the header."""
    with open_bytes(path) as stream:
        for _ in range(header):
            stream.readline(MAX_BYTES)
        while block := stream.read(BLOCK_BYTES):
            check_unpacked(path, stream.tell())
            yield block + stream.readline(MAX_BYTES)


def parse_block(block: bytes) -> Triples:
    """Triples (n, 3) of whole lines; blank lines and lines without a readable document are left out."""
    parsed = _parse_regular(block)
    if parsed is None:
        rows = [row for line in block.split(b"\n") if (row := parse_line(line)) is not None]
        parsed = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return parsed


def parse_line(line: bytes) -> tuple[float, float, float] | None:
    """One triple; word and count are NaN if the line is malformed but names a document."""
    fields = line.split()
    numbers = [_number(field) for field in fields[:3]]
    if not numbers or numbers[0] != numbers[0]:
        return None
    if len(fields) != 3:
        return numbers[0], np.nan, np.nan
    return numbers[0], numbers[1], numbers[2]


def _number(field: bytes) -> float:
    try:
        return float(field) if _NUMBER.fullmatch(field) else np.nan
    except ValueError:
        return np.nan


def _parse_regular(block: bytes) -> Triples | None:
    """The same at NumPy's speed, or None unless every line is three short fields apart by single spaces."""
    block = block if block.endswith(b"\n") else block + b"\n"
    characters = np.frombuffer(block, dtype=np.uint8)
    if not _REGULAR[characters].all():
        return None
    gaps = np.flatnonzero((characters == ord(" ")) | (characters == ord("\n")))
    lengths = np.diff(gaps, prepend=-1) - 1
    lines = int(np.count_nonzero(characters == ord("\n")))
    if len(gaps) != 3 * lines or lengths.min() < 1 or lengths.max() > 40:
        return None
    if not (characters[gaps[2::3]] == ord("\n")).all():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns, and stops, at the first field that is no number
            values = np.fromstring(block, dtype=np.float64, sep=" ")
    except (DeprecationWarning, ValueError):
        return None
    return values.reshape(-1, 3) if len(values) == 3 * lines else None
