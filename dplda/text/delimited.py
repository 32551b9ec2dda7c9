"""CSV, TSV and MALLET lines.

One physical line is one record and is parsed alone, so that a stray quotation mark in one document cannot
swallow the documents after it. A file whose quoted fields span lines needs ``multiline=True``, by which the
user declares the whole file well formed.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from dplda.errors import InputError
from dplda.text.columns import ReadOptions, choose
from dplda.text.files import check_encoding, text_lines
from dplda.text.records import MAX_CHARACTERS, Defect, TextRecord, TextSource

MALLET_COLUMNS = ("id", "label", "text")
_DEFAULT_FIELD_LIMIT = 131_072  # of the csv module; raised only around a parse that needs it
Row = list[str] | Defect


def delimited_source(path: Path, options: ReadOptions, delimiter: str) -> TextSource:
    """A table with a header line. Raises `InputError` if the header is missing or lacks a column."""
    check_encoding(options.encoding, line_file=True)
    names = _header(path, options.encoding, delimiter)
    rows = _spanning_rows if options.multiline else _line_rows
    return _table(path, names, options, lambda skip: rows(path, options.encoding, delimiter, skip))


def mallet_source(path: Path, options: ReadOptions) -> TextSource:
    """MALLET's lines ``id label text``, split at the first two runs of white space."""
    check_encoding(options.encoding, line_file=True)
    if next(text_lines(path, options.encoding), None) is None:
        raise InputError(f"{path} is empty.")

    def rows(skip: int) -> Iterator[tuple[int, Row]]:
        for number, line in text_lines(path, options.encoding, skip):
            yield number, line if isinstance(line, Defect) else line.split(None, 2)

    return _table(path, list(MALLET_COLUMNS), options, rows)


def split_line(line: str, delimiter: str) -> Row:
    """Fields of one physical line, quoted as in RFC 4180, or its defect."""
    if len(line) > 4 * MAX_CHARACTERS:
        return Defect.TOO_LONG
    if line.count('"') % 2:
        return Defect.UNBALANCED
    try:
        row = _next_row(csv.reader([line], delimiter=delimiter, strict=True), len(line))
    except csv.Error:
        return Defect.MALFORMED
    return Defect.MALFORMED if row is None else row


def _next_row(reader: Iterator[list[str]], longest: int) -> list[str] | None:
    """The next row, with room for a field of `longest` characters; the module's limit is put back at once."""
    if longest < _DEFAULT_FIELD_LIMIT:
        return next(reader, None)
    before = csv.field_size_limit(longest + 1)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _table(
    path: Path, names: list[str], options: ReadOptions, rows: Callable[[int], Iterator[tuple[int, Row]]]
) -> TextSource:
    columns = choose(path, names, options)

    def records(skip: int = 0) -> Iterator[TextRecord | Defect]:
        for number, row in rows(skip):
            if isinstance(row, Defect):
                yield row
            elif len(row) != len(names):
                yield Defect.MALFORMED
            else:
                yield columns.record(dict(zip(names, row, strict=True)).get, number)

    return TextSource((path,), options.unit, records)


def _header(path: Path, encoding: str | None, delimiter: str) -> list[str]:
    first = next(text_lines(path, encoding), None)
    if first is None:
        raise InputError(f"{path} is empty: its first line must name the columns.")
    names = first[1] if isinstance(first[1], Defect) else split_line(first[1], delimiter)
    if isinstance(names, Defect):
        raise InputError(f"The first line of {path} does not name columns. Check --format and the encoding.")
    return [name.strip() for name in names]


def _line_rows(path: Path, encoding: str | None, delimiter: str, skip: int) -> Iterator[tuple[int, Row]]:
    for number, line in text_lines(path, encoding, 1 + skip):  # the header is a line too
        yield number, line if isinstance(line, Defect) else split_line(line, delimiter)


def _spanning_rows(path: Path, encoding: str | None, delimiter: str, skip: int) -> Iterator[tuple[int, Row]]:
    return islice(_all_spanning_rows(path, encoding, delimiter), skip, None)


def _all_spanning_rows(path: Path, encoding: str | None, delimiter: str) -> Iterator[tuple[int, Row]]:
    lines = (f"{line}\n" for _, line in text_lines(path, encoding) if isinstance(line, str))
    reader = csv.reader(lines, delimiter=delimiter)
    next(reader, None)
    number = 1
    while True:
        number += 1
        try:
            row = _next_row(reader, MAX_CHARACTERS)
        except csv.Error:
            yield number, Defect.TOO_LONG  # without `strict` the field limit is all that can be broken
            continue
        if row is None:
            return
        yield number, row
