"""Files of counts: UCI bags of words, Matrix Market, and SciPy's npz."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dplda.base.errors import InputError
from dplda.text.compression import MAX_BYTES, check_unpacked, reading
from dplda.text.files import open_bytes
from dplda.text.records import (
    MAX_COUNT,
    CountedDocuments,
    CountSource,
    Defect,
    ReadOptions,
    document_key,
    refuse_columns,
)
from dplda.text.word_files import find_vocabulary, read_word_list, require_vocabulary

_CHUNK_DOCUMENTS = 4096
_BLOCK_BYTES = 1 << 24
_POINTER_BYTES = 8  # bytes that one row pointer of a CSR matrix takes
_NUMBER = re.compile(rb"[0-9.eE+-]{1,40}")
_REGULAR = np.zeros(256, dtype=np.bool_)
_REGULAR[np.frombuffer(b"0123456789.eE+- \n", dtype=np.uint8)] = True

_Triples = NDArray[np.float64]  # (n, 3): document, word, count; NaN for an unreadable number


def uci_source(path: Path, options: ReadOptions) -> CountSource:
    """Return a source of a UCI bag of words, whose vocabulary is a second file.

    The file has three lines with the numbers of documents, words and entries, and then triples.

    Raises `InputError` if the header is malformed, or the vocabulary is missing or has another size.
    """
    refuse_columns(path, "a UCI bag of words", options)
    vocabulary = require_vocabulary(path)
    return _triples_source(path, options, vocabulary, *_uci_header(path))


def mtx_source(path: Path, options: ReadOptions) -> CountSource:
    """Return a source of a Matrix Market coordinate matrix, documents x words. Raises `InputError`."""
    refuse_columns(path, "a Matrix Market file", options)
    return _triples_source(path, options, find_vocabulary(path), *_mtx_header(path))


def npz_source(path: Path, options: ReadOptions) -> CountSource:
    """Return a source of a SciPy sparse matrix. Raises `InputError` for another file or vocabulary size."""
    refuse_columns(path, "a sparse matrix", options)
    vocabulary = require_vocabulary(path)
    words = read_word_list(vocabulary)
    n_documents, n_words = _load(path).shape
    if n_words != len(words):
        raise InputError(
            f"{path} has {n_words} columns but {vocabulary} lists {len(words)} words. Give the word "
            "list that belongs to this file."
        )

    def chunks(skip: int = 0) -> Iterator[CountedDocuments]:
        matrix = _load(path)
        return _chunks(words, n_words, matrix.indptr, matrix.indices, matrix.data, range(n_documents), skip)

    return CountSource((path, vocabulary), options.unit, chunks, n_documents)


def _triples_source(
    path: Path, options: ReadOptions, vocabulary: Path | None, n_documents: int, n_words: int, n_header_lines: int
) -> CountSource:
    words = None if vocabulary is None else read_word_list(vocabulary)
    if words is not None and len(words) != n_words:
        raise InputError(
            f"{path} declares {n_words} words but {vocabulary} lists {len(words)}. Give the word list "
            "that belongs to this file."
        )
    if n_words > MAX_COUNT or n_documents > 2**53:
        raise InputError(f"{path} declares a size beyond 2^31 words or 2^53 documents.")

    def chunks(skip: int = 0) -> Iterator[CountedDocuments]:
        document, word, count = _read_triples(path, n_header_lines, n_documents)
        if np.any(np.diff(document) < 0):
            order = np.argsort(document, kind="stable")
            document, word, count = document[order], word[order], count[order]
        starts = np.flatnonzero(np.diff(document, prepend=-1))
        indptr = np.append(starts, len(document))
        return _chunks(words, n_words, indptr, word, count, document[starts], skip)

    return CountSource((path,) if vocabulary is None else (path, vocabulary), options.unit, chunks)


def _uci_header(path: Path) -> tuple[int, int, int]:
    with open_bytes(path) as stream:
        lines = [stream.readline(MAX_BYTES).strip() for _ in range(3)]
    if not all(line.isdigit() and len(line) < 20 for line in lines):
        raise InputError(
            f"{path} does not begin with UCI's three lines (numbers of documents, words and entries). Check --format."
        )
    return int(lines[0]), int(lines[1]), 3


def _mtx_header(path: Path) -> tuple[int, int, int]:
    problem = InputError(
        f"{path} is not a Matrix Market file of the kind that is read (coordinate, general, integer "
        "or real). Save the counts in that form or check --format."
    )
    with open_bytes(path) as stream:
        banner = stream.readline(MAX_BYTES).lower().split()
        if banner[:3] != [b"%%matrixmarket", b"matrix", b"coordinate"] or b"general" not in banner:
            raise problem
        if not {b"integer", b"real"} & set(banner):
            raise problem
        n_header_lines = 2
        while (line := stream.readline(MAX_BYTES)).startswith(b"%") or line.isspace():
            n_header_lines += 1
    sizes = line.split()
    if len(sizes) != 3 or not all(size.isdigit() and len(size) < 20 for size in sizes):
        raise problem
    return int(sizes[0]), int(sizes[1]), n_header_lines


def _read_triples(
    path: Path, n_header_lines: int, n_documents: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the document (from 1), word (from 0) and count of every entry with a valid document.

    A word that is no whole number is negative, and so is such a count.
    """
    numbers, words, counts = [np.empty(0, np.int64)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    with open_bytes(path) as stream:
        for _ in range(n_header_lines):
            stream.readline(MAX_BYTES)
        while block := stream.read(_BLOCK_BYTES):
            check_unpacked(path, stream.tell())
            triples = _parse_block(block + stream.readline(MAX_BYTES))  # whole lines
            document = triples[:, 0]
            exists = (document >= 1) & (document <= n_documents) & (document == np.floor(document))
            triples = triples[exists]
            numbers.append(triples[:, 0].astype(np.int64))
            words.append((whole_counts(triples[:, 1]) - 1).astype(np.int32))
            counts.append(whole_counts(triples[:, 2]).astype(np.int32))
    return np.concatenate(numbers), np.concatenate(words), np.concatenate(counts)


def _parse_block(block: bytes) -> _Triples:
    """Triples (n, 3) of whole lines; skips blank lines and lines without a readable document."""
    parsed = _parse_regular(block)
    if parsed is not None:
        return parsed
    rows = [row for line in block.split(b"\n") if (row := _parse_line(line)) is not None]
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _parse_regular(block: bytes) -> _Triples | None:
    """Triples (n, 3), parsed by NumPy; None unless every line is three short numbers separated by single spaces."""
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
            warnings.simplefilter("error")  # NumPy warns and stops at the first field that is not a number
            values = np.fromstring(block, dtype=np.float64, sep=" ")
    except (DeprecationWarning, ValueError):
        return None
    return values.reshape(-1, 3) if len(values) == 3 * lines else None


def _parse_line(line: bytes) -> tuple[float, float, float] | None:
    """Return one triple; None without a readable document. Word and count are NaN unless the line has three fields."""

    def number(field: bytes) -> float:
        try:
            return float(field) if _NUMBER.fullmatch(field) else np.nan
        except ValueError:
            return np.nan

    fields = line.split()
    numbers = list(map(number, fields[:3]))
    if not numbers or numbers[0] != numbers[0]:
        return None
    if len(fields) != 3:
        return numbers[0], np.nan, np.nan
    return numbers[0], numbers[1], numbers[2]


def _chunks(
    words: Sequence[str] | None,
    n_words: int,
    indptr: NDArray[Any],
    numbers: NDArray[Any],
    values: NDArray[Any],
    ordinals: Sequence[int] | NDArray[np.int64],
    skip: int,
) -> Iterator[CountedDocuments]:
    """Chunks of the documents after the first `skip`, which are rows of a CSR matrix with `values` of any real type.

    `numbers` (nnz,) are indices into the `n_words` words, which are called ``word1``, ``word2``, ... without a list of
    `words`; `ordinals` (n_documents,) distinguish documents. A document with a number or a value out of range becomes a
    defect. Zeros are allowed and contribute nothing.
    """
    for first in range(skip, len(ordinals), _CHUNK_DOCUMENTS):
        last = min(first + _CHUNK_DOCUMENTS, len(ordinals))
        begin, end = int(indptr[first]), int(indptr[last])
        lengths = np.diff(indptr[first : last + 1])
        entries = numbers[begin:end].astype(np.int64)
        counts = whole_counts(values[begin:end])

        rows = np.repeat(np.arange(last - first), lengths)
        bad = np.zeros(last - first, dtype=np.bool_)
        bad[rows[(entries < 0) | (entries >= n_words) | (counts < 0)]] = True
        keep = ~bad[rows] & (counts > 0)
        used, indices = np.unique(entries[keep], return_inverse=True)
        n_kept = np.bincount(rows[keep], minlength=last - first)[~bad]
        good = [int(ordinal) for ordinal in np.asarray(ordinals[first:last])[~bad]]
        yield CountedDocuments(
            words=[f"word{number + 1}" if words is None else words[number] for number in used.tolist()],
            indptr=np.concatenate([[0], np.cumsum(n_kept)]).astype(np.int64),
            indices=indices.astype(np.int64),
            counts=counts[keep],
            ids=[str(ordinal) for ordinal in good],
            units=[document_key(ordinal) for ordinal in good],
            defects=+Counter({Defect.BAD_COUNT: int(bad.sum())}),
        )


def whole_counts(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return `values` (nnz,) of any real type as int64; -1 for NaN, fractions, negatives and values above int32."""
    with np.errstate(invalid="ignore"):
        fine = (values >= 0) & (values <= MAX_COUNT)
        if np.isdtype(values.dtype, "real floating"):
            fine &= values == np.floor(values)
    counts = np.full(values.shape, -1, np.int64)  # created as int64, because -1 would wrap around in an unsigned type
    counts[fine] = values[fine]
    return counts


def _load(path: Path) -> Any:
    """Return the matrix in a file of `scipy.sparse.save_npz`, as CSR. Raises `InputError`."""
    with reading(path):
        try:
            with zipfile.ZipFile(path) as archive:
                claimed = sum(entry.file_size for entry in archive.infolist())
            check_unpacked(path, claimed)
            loaded = scipy.sparse.load_npz(path)
            check_unpacked(path, claimed + loaded.shape[0] * _POINTER_BYTES)
            # Pointers must not lead compiled code out of an array; words may be out of range.
            if loaded.format in ("csc", "bsr"):
                loaded.check_format(full_check=True)
            if loaded.format == "csr" and np.any(np.diff(loaded.indptr) < 0):
                raise ValueError("row pointers decrease")
            matrix = loaded.tocsr()
        except InputError:
            raise
        except (ValueError, KeyError, EOFError, MemoryError, NotImplementedError, zipfile.BadZipFile):
            raise InputError(f"{path} is not a matrix saved by scipy.sparse.save_npz.") from None
    if not np.isdtype(matrix.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"{path} holds {matrix.dtype} entries, not counts.")
    return matrix
