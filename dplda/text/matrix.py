"""A scipy sparse matrix in .npz, documents x words, with its vocabulary beside it."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from dplda.errors import InputError
from dplda.text.columns import ReadOptions, no_columns
from dplda.text.counts import CHUNK_DOCUMENTS, WordNames, counted, whole_counts
from dplda.text.files import check_unpacked, reading
from dplda.text.records import CountedDocuments, CountSource, Defect
from dplda.text.wordlists import read_word_list, required_word_list

_POINTER_BYTES = 8  # of each row of a CSR matrix


def npz_source(path: Path, options: ReadOptions) -> CountSource:
    """Check shape and vocabulary. Raises `InputError` if they disagree or the file is no sparse matrix."""
    no_columns(path, "a sparse matrix", options)
    vocabulary = required_word_list(path)
    words = read_word_list(vocabulary)
    shape = _load(path).shape
    if shape[1] != len(words):
        raise InputError(f"{path} has {shape[1]} columns but {vocabulary} lists {len(words)} words.")
    names = WordNames(words, first=0)

    def chunks(skip: int = 0) -> Iterator[CountedDocuments]:
        return matrix_chunks(_load(path), names, skip)

    return CountSource((path, vocabulary), options.unit, chunks, shape[0])


def matrix_chunks(matrix: Any, names: WordNames, skip: int = 0) -> Iterator[CountedDocuments]:
    """Chunks of the rows from `skip` on of a CSR matrix (n_documents, n_words) of any real type."""
    for first in range(skip, matrix.shape[0], CHUNK_DOCUMENTS):
        last = min(first + CHUNK_DOCUMENTS, matrix.shape[0])
        begin, end = int(matrix.indptr[first]), int(matrix.indptr[last])
        yield counted(
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
