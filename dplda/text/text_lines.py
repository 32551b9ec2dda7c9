"""Readers of JSON objects, of lines of text, and of MALLET files (name, label and text in a line)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from dplda.base.errors import InputError
from dplda.text.columns import (
    TEXT_NAMES,
    Columns,
    ReadOptions,
    Row,
    check_columns,
    choose,
    no_text_column,
    refuse_columns,
    rows_after,
    text_source,
)
from dplda.text.compression import file_size
from dplda.text.files import BOM, check_encoding, decode_field, decode_line, mended, raw_lines, record_lines
from dplda.text.json_arrays import MARKS, array_elements, is_array, malformed
from dplda.text.records import Defect, TextSource

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # the JSON escape of half a surrogate pair
_SAMPLED_LINES = 100  # number of first lines in which column names are looked up; column names are public
_MALLET_COLUMNS = ("id", "label", "text")


def jsonl_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """A source of the documents in the JSON lines of `files`, in order.

    Raises `InputError` if the first lines lack a column.
    """
    return _json_source(files, options, arrays=frozenset())


def json_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """A source of the documents in `files`, in order; a file holds an array of objects, or JSON lines.

    The first character of a file tells which; the JSON writer put it there, whatever the records hold. Raises
    `InputError` if the first objects lack a column.
    """
    arrays = frozenset(file for file in files if is_array(file))
    if arrays:
        check_encoding(options.encoding, records=True, marks=MARKS)
    return _json_source(files, options, arrays)


def _json_source(files: Sequence[Path], options: ReadOptions, arrays: frozenset[Path]) -> TextSource:
    check_encoding(options.encoding, records=True)
    columns = _json_columns(files, options, arrays)
    row = partial(_json_row, columns=columns, encoding=options.encoding)
    line = partial(_json_line_row, columns=columns, encoding=options.encoding)
    parts = [partial(_array_rows, file, row) if file in arrays else partial(_rows, file, line) for file in files]
    return text_source(files, options, parts)


def lines_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """A source of the lines of `files`, in order; each line is one document, even if it is blank.

    Raises `InputError` for column options and for empty files.
    """
    refuse_columns(files[0], "a file of lines", options)
    check_encoding(options.encoding, records=True)
    if all(next(record_lines(file), None) is None for file in files):
        raise InputError(f"{files[0]} is empty.")
    row = partial(_line_row, encoding=options.encoding)
    return text_source(files, options, [partial(_line_rows, file, row) for file in files])


def json_records(
    files: Sequence[Path], options: ReadOptions, *, arrays: bool
) -> Iterator[tuple[dict[str, Any], int] | Defect]:
    """The objects in `files` with all their keys, and the number of bytes of each.

    A file contains JSON lines or, only with `arrays`, a JSON array.
    """
    check_encoding(options.encoding, records=True)
    for raw in _raw_objects(files, frozenset(filter(is_array, files)) if arrays else frozenset()):
        fields = _parsed(raw, options.encoding)
        yield fields if isinstance(fields, Defect) else (fields, len(raw) + 1)


def mallet_source(path: Path, options: ReadOptions) -> TextSource:
    """A source of the documents of a MALLET file, one per line. Raises `InputError` for an empty file.

    A line is split at its first two runs of white space.
    """
    check_encoding(options.encoding, records=True)
    if next(record_lines(path), None) is None:
        raise InputError(f"{path} is empty.")
    columns = choose(path, _MALLET_COLUMNS, options)
    row = partial(_mallet_row, columns=columns, encoding=options.encoding)
    return text_source([path], options, [partial(_rows, path, row)])


def _rows(path: Path, row: Callable[[bytes], Row | Defect], skip: int) -> Generator[Row | Defect, None, int]:
    return rows_after(skip, record_lines(path), row)


def _array_rows(path: Path, row: Callable[[bytes], Row | Defect], skip: int) -> Generator[Row | Defect, None, int]:
    def numbered() -> Iterator[tuple[int, bytes] | Defect]:
        for number, element in enumerate(array_elements(path), start=1):
            yield element if isinstance(element, Defect) else (number, element)

    def checked(element: tuple[int, bytes]) -> Row | Defect:
        try:
            return row(element[1])
        except json.JSONDecodeError:
            raise malformed(path, element[0]) from None

    return rows_after(skip, numbered(), checked)


def _line_rows(path: Path, row: Callable[[bytes], Row | Defect], skip: int) -> Generator[Row | Defect, None, int]:
    def lines() -> Iterator[bytes | Defect]:
        for number, line in enumerate(raw_lines(path)):
            yield Defect.TOO_LONG if line is None else line if number else line.removeprefix(BOM)

    return rows_after(skip, lines(), row)


def _line_row(line: bytes, encoding: str | None) -> Row:
    return decode_field(line, encoding), None, None, ()


def _json_columns(files: Sequence[Path], options: ReadOptions, arrays: frozenset[Path]) -> Columns:
    """The columns to read; raises `InputError` if the first objects lack a column that the options name.

    A column that the options leave out is chosen for each document from its own keys, so that no document changes how
    another is read. Messages show only keys that occur in every sampled object, because other keys may be content
    rather than column names.
    """
    parsed = islice((_parsed(raw, options.encoding) for raw in _raw_objects(files, arrays)), _SAMPLED_LINES)
    keys = [tuple(fields) for fields in parsed if isinstance(fields, dict)]
    first = files[0]
    if not keys and all(file_size(file) == 0 for file in files):
        raise InputError(f"{first} is empty.")
    if not keys:
        kind = "an array of JSON objects" if first in arrays else "JSON lines (one object a line)"
        raise InputError(
            f"{first} does not begin with {kind}. Check --format: json reads an array of objects or JSON lines, jsonl "
            "JSON lines alone."
        )
    names = set().union(*keys)
    everywhere = names.intersection(*keys)
    common = [key for key in keys[0] if key in everywhere]
    check_columns(first, names, common, options)
    if options.text_field is None and names.isdisjoint(TEXT_NAMES):
        raise no_text_column(first, common)
    return Columns(options.text_fields, options.id_field or "id", options.unit_field, tuple(options.group_fields))


def _raw_objects(files: Sequence[Path], arrays: frozenset[Path]) -> Iterator[bytes]:
    """The raw lines or elements of `files` that are not defects."""
    for file in files:
        raw = array_elements(file) if file in arrays else record_lines(file)
        yield from (record for record in raw if not isinstance(record, Defect))


def _json_row(raw: bytes, columns: Columns, encoding: str | None) -> Row | Defect:
    fields = _parse(raw, encoding)
    if isinstance(fields, Defect):
        return fields
    return columns.row_of(fields)


def _json_line_row(raw: bytes, columns: Columns, encoding: str | None) -> Row | Defect:
    try:
        return _json_row(raw, columns, encoding)
    except json.JSONDecodeError:
        return Defect.MALFORMED


def _parsed(raw: bytes, encoding: str | None) -> dict[str, Any] | Defect:
    """The JSON object in `raw`; `Defect.MALFORMED` for anything else."""
    try:
        return _parse(raw, encoding)
    except json.JSONDecodeError:
        return Defect.MALFORMED


def _parse(raw: bytes, encoding: str | None) -> dict[str, Any] | Defect:
    """The JSON object in `raw`, or the defect of other JSON. Raises `JSONDecodeError` for what is not JSON."""
    line = decode_line(raw, encoding)
    if isinstance(line, Defect):
        return line
    text, torn = line
    if torn and _SURROGATE.search(text):  # `mended` cannot tell escaped surrogates from bytes that are not UTF-8
        return Defect.UNDECODABLE
    try:
        fields = json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError):  # a number of too many digits, or too many brackets
        return Defect.MALFORMED
    if not isinstance(fields, dict):
        return Defect.MALFORMED
    return {mended(name): mended(value) for name, value in fields.items()} if torn else fields


def _mallet_row(raw: bytes, columns: Columns, encoding: str | None) -> Row | Defect:
    line = decode_line(raw, encoding)
    if isinstance(line, Defect):
        return line
    text, torn = line
    values = text.split(None, 2)
    if len(values) != len(_MALLET_COLUMNS):
        return Defect.MALFORMED
    fields = dict(zip(_MALLET_COLUMNS, map(mended, values) if torn else values, strict=True))
    return columns.row_of(fields)
