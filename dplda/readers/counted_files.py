"""Files of counts: UCI bag-of-words and Matrix Market, lda-c and svmlight, and SciPy's npz."""

from __future__ import annotations

import math
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dplda.errors import InputError
from dplda.readers.columns import ReadOptions, no_columns
from dplda.readers.files import MAX_BYTES, check_unpacked, open_bytes, reading, text_lines
from dplda.readers.records import MAX_COUNT, CountedDocuments, CountSource, Defect, document_key
from dplda.readers.word_lists import find_word_list, read_word_list, required_word_list

_CHUNK_DOCUMENTS = 4096
_CHUNK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class _WordNames:
    """Names of `size` word numbers from `first`: `words` if there is a list, else ``word<number>``."""

    words: Sequence[str] | None
    first: int
    size: int | None = None

    def valid(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which `numbers` (nnz,) are in range."""
        size = self.size if self.words is None else len(self.words)
        last = MAX_COUNT if size is None else self.first + size - 1
        return (numbers >= self.first) & (numbers <= last)

    def named(self, numbers: NDArray[np.int64]) -> list[str]:
        """Names of valid `numbers` (nnz,)."""
        if self.words is None:
            return [f"word{number}" for number in numbers.tolist()]
        return [self.words[number - self.first] for number in numbers.tolist()]


def _chunked(
    documents: Iterator[tuple[int, list[tuple[int, int]] | Defect]], names: _WordNames
) -> Iterator[CountedDocuments]:
    """Chunks of documents given as (ordinal, [(word number, count), ...])."""
    while some := _some(documents):
        defects = Counter(pairs for _, pairs in some if isinstance(pairs, Defect))
        good = [(ordinal, pairs) for ordinal, pairs in some if not isinstance(pairs, Defect)]
        lengths = [len(pairs) for _, pairs in good]
        entries = np.array([entry for _, pairs in good for entry in pairs], dtype=np.int64).reshape(-1, 2)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        yield _counted(names, indptr, entries[:, 0], entries[:, 1], [ordinal for ordinal, _ in good], defects)


def _some(documents: Iterator[tuple[int, list[tuple[int, int]] | Defect]]) -> list[Any]:
    """The next documents until there are _CHUNK_DOCUMENTS, or _CHUNK_ENTRIES in them."""
    some, entries = [], 0
    for ordinal, pairs in islice(documents, _CHUNK_DOCUMENTS):
        some.append((ordinal, pairs))
        entries += 0 if isinstance(pairs, Defect) else len(pairs)
        if entries >= _CHUNK_ENTRIES:
            break
    return some


def _counted(
    names: _WordNames,
    indptr: NDArray[np.int64],
    numbers: NDArray[np.int64],
    counts: NDArray[np.int64],
    ordinals: Sequence[int],
    defects: Counter[Defect],
) -> CountedDocuments:
    """A chunk from word numbers; a document with a number or count out of range is dropped and recorded as a defect.

    `counts` (nnz,) hold -1 where the file had no whole number. Zeros are allowed and contribute nothing.
    """
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    fine = names.valid(numbers) & (counts >= 0) & (counts <= MAX_COUNT)
    bad = np.zeros(len(indptr) - 1, dtype=np.bool_)
    bad[rows[~fine]] = True
    keep = ~bad[rows] & (counts > 0)
    lengths = np.bincount(rows[keep], minlength=len(bad))[~bad]
    used, indices = np.unique(numbers[keep], return_inverse=True)
    good = [ordinal for ordinal, dropped in zip(ordinals, bad.tolist(), strict=True) if not dropped]
    if bad.any():
        defects[Defect.BAD_COUNT] += int(bad.sum())
    return CountedDocuments(
        words=names.named(used),
        indptr=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        indices=indices.astype(np.int64),
        counts=counts[keep],
        ids=[str(ordinal) for ordinal in good],
        units=[document_key(ordinal) for ordinal in good],
        defects=defects,
    )


def whole_counts(values: NDArray[Any]) -> NDArray[np.int64]:
    """`values` (nnz,) of any real type as int64, -1 for NaN, fractions, negatives and what exceeds int32."""
    with np.errstate(invalid="ignore"):
        fine = (values >= 0) & (values <= MAX_COUNT)
        if values.dtype.kind == "f":
            fine &= values == np.floor(values)
    counts = np.full(values.shape, -1, np.int64)  # filled, because unsigned types would wrap at -1
    counts[fine] = values[fine]
    return counts


_BLOCK_BYTES = 1 << 24
_NUMBER = re.compile(rb"[0-9.eE+-]{1,40}")
_REGULAR = np.zeros(256, dtype=np.bool_)
_REGULAR[np.frombuffer(b"0123456789.eE+- \n", dtype=np.uint8)] = True
_Triples = NDArray[np.float64]  # (n, 3): document, word, count; NaN for what could not be read


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
    naming = _WordNames(names, first=1, size=words)
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


def _chunks(path: Path, header: int, documents: int, names: _WordNames, skip: int) -> Iterator[CountedDocuments]:
    """Chunks of the documents that have entries, in their order, behind the first `skip`."""
    number, word, count = _columns(path, header, documents)
    if np.any(np.diff(number) < 0):
        order = np.argsort(number, kind="stable")
        number, word, count = number[order], word[order], count[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    ends = np.append(starts[1:], len(number))
    for first in range(skip, len(starts), _CHUNK_DOCUMENTS):
        begin, end = starts[first], ends[min(first + _CHUNK_DOCUMENTS, len(starts)) - 1]
        indptr = np.append(starts[first : first + _CHUNK_DOCUMENTS], end) - begin
        ordinals = number[starts[first : first + _CHUNK_DOCUMENTS]].tolist()
        yield _counted(
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
        triples = _parse_block(block)
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
        while block := stream.read(_BLOCK_BYTES):
            check_unpacked(path, stream.tell())
            yield block + stream.readline(MAX_BYTES)


def _parse_block(block: bytes) -> _Triples:
    """Triples (n, 3) of whole lines; blank lines and lines without a readable document are left out."""
    parsed = _parse_regular(block)
    if parsed is None:
        rows = [row for line in block.split(b"\n") if (row := _parse_line(line)) is not None]
        parsed = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return parsed


def _parse_line(line: bytes) -> tuple[float, float, float] | None:
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


def _parse_regular(block: bytes) -> _Triples | None:
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


_Pairs = list[tuple[int, int]] | Defect


def ldac_source(path: Path, options: ReadOptions) -> CountSource:
    """Blei's ``N word:count ...`` with words numbered from 0. Raises `InputError`."""
    return _open_pairs(path, options, "an lda-c file", svmlight=False)


def svmlight_source(path: Path, options: ReadOptions) -> CountSource:
    """``label word:count ... # comment`` with words numbered from 1. Raises `InputError`."""
    return _open_pairs(path, options, "an svmlight file", svmlight=True)


def _open_pairs(path: Path, options: ReadOptions, kind: str, *, svmlight: bool) -> CountSource:
    no_columns(path, kind, options)
    if next(text_lines(path), None) is None:
        raise InputError(f"{path} is empty.")
    vocabulary = find_word_list(path)
    words = None if vocabulary is None else read_word_list(vocabulary)
    names = _WordNames(words, first=1 if svmlight else 0)

    def lines() -> Iterator[tuple[int, list[str] | Defect]]:
        for number, line in text_lines(path):
            if isinstance(line, Defect):
                yield number, line
            elif fields := (line.split("#", 1)[0] if svmlight else line).split():
                yield number, fields

    def documents(skip: int) -> Iterator[tuple[int, _Pairs]]:
        for number, fields in islice(lines(), skip, None):
            if not isinstance(fields, Defect):
                yield number, _parse_pairs(fields, checked_length=not svmlight)
            else:
                yield number, fields

    def chunks(skip: int = 0) -> Iterator[CountedDocuments]:
        return _chunked(documents(skip), names)

    files = (path,) if vocabulary is None else (path, vocabulary)
    return CountSource(files, options.unit, chunks)


def _parse_pairs(fields: list[str], *, checked_length: bool) -> _Pairs:
    """(word number, count) of one line whose first field is a label or, if `checked_length`, their number."""
    entries = [field.split(":") for field in fields[1:] if not field.startswith("qid:")]
    if any(len(entry) != 2 for entry in entries):
        return Defect.MALFORMED
    if checked_length and fields[0] != str(len(entries)):
        return Defect.MALFORMED
    try:
        pairs = [(int(word), float(count)) for word, count in entries]
    except ValueError:
        return Defect.MALFORMED
    if not all(0 <= word < 2**62 and math.isfinite(count) and abs(count) < 2**62 for word, count in pairs):
        return Defect.BAD_COUNT
    if any(count != int(count) or count < 0 for _, count in pairs):
        return Defect.BAD_COUNT
    return [(word, int(count)) for word, count in pairs]


_POINTER_BYTES = 8  # of each row of a CSR matrix


def npz_source(path: Path, options: ReadOptions) -> CountSource:
    """Check shape and vocabulary. Raises `InputError` if they disagree or the file is no sparse matrix."""
    no_columns(path, "a sparse matrix", options)
    vocabulary = required_word_list(path)
    words = read_word_list(vocabulary)
    shape = _load(path).shape
    if shape[1] != len(words):
        raise InputError(f"{path} has {shape[1]} columns but {vocabulary} lists {len(words)} words.")
    names = _WordNames(words, first=0)

    def chunks(skip: int = 0) -> Iterator[CountedDocuments]:
        return _matrix_chunks(_load(path), names, skip)

    return CountSource((path, vocabulary), options.unit, chunks, shape[0])


def _matrix_chunks(matrix: Any, names: _WordNames, skip: int = 0) -> Iterator[CountedDocuments]:
    """Chunks of the rows from `skip` on of a CSR matrix (n_documents, n_words) of any real type."""
    for first in range(skip, matrix.shape[0], _CHUNK_DOCUMENTS):
        last = min(first + _CHUNK_DOCUMENTS, matrix.shape[0])
        begin, end = int(matrix.indptr[first]), int(matrix.indptr[last])
        yield _counted(
            names,
            matrix.indptr[first : last + 1].astype(np.int64) - begin,
            matrix.indices[begin:end].astype(np.int64),
            whole_counts(matrix.data[begin:end]),
            range(first, last),
            Counter[Defect](),
        )


def _check_pointers(matrix: Any) -> None:
    """Raise `ValueError` where compiled code would follow a pointer out of its array; words out of range may stay."""
    if matrix.format in ("csc", "bsr"):
        matrix.check_format(full_check=True)
    if matrix.format == "csr" and np.any(np.diff(matrix.indptr) < 0):
        raise ValueError("row pointers decrease")


def _load(path: Path) -> Any:
    with reading(path):
        try:
            with zipfile.ZipFile(path) as archive:
                claimed = sum(entry.file_size for entry in archive.infolist())
            check_unpacked(path, claimed)
            loaded = scipy.sparse.load_npz(path)
            check_unpacked(path, claimed + loaded.shape[0] * _POINTER_BYTES)
            _check_pointers(loaded)
            matrix = loaded.tocsr()
        except InputError:
            raise
        except (ValueError, KeyError, EOFError, MemoryError, NotImplementedError, zipfile.BadZipFile):
            raise InputError(f"{path} is not a matrix saved by scipy.sparse.save_npz.") from None
    if matrix.dtype.kind not in "buif":
        raise InputError(f"{path} holds {matrix.dtype} entries, not counts.")
    return matrix
