"""lda-c and svmlight: one document a line, words and counts as ``number:count``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from dplda.errors import InputError
from dplda.text.columns import ReadOptions, no_columns
from dplda.text.counts import WordNames, chunked
from dplda.text.files import text_lines
from dplda.text.records import CountedDocuments, CountSource, Defect
from dplda.text.wordlists import find_word_list, read_word_list

Pairs = list[tuple[int, int]] | Defect


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
    names = WordNames(words, first=1 if svmlight else 0)

    def lines() -> Iterator[tuple[int, list[str] | Defect]]:
        for number, line in text_lines(path):
            if isinstance(line, Defect):
                yield number, line
            elif fields := (line.split("#", 1)[0] if svmlight else line).split():
                yield number, fields

    def documents(skip: int) -> Iterator[tuple[int, Pairs]]:
        for number, fields in islice(lines(), skip, None):
            if not isinstance(fields, Defect):
                yield number, parse_pairs(fields, checked_length=not svmlight)
            else:
                yield number, fields

    def chunks(skip: int = 0) -> Iterator[CountedDocuments]:
        return chunked(documents(skip), names)

    files = (path,) if vocabulary is None else (path, vocabulary)
    return CountSource(files, options.unit, chunks)


def parse_pairs(fields: list[str], *, checked_length: bool) -> Pairs:
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
