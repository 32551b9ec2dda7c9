"""Readers of JSON lines, and of MALLET files, whose lines hold a name, a label and a text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dplda.errors import InputError
from dplda.readers.columns import (
    TEXT_NAMES,
    Columns,
    ReadOptions,
    Row,
    check_columns,
    choose,
    no_text_column,
    rows_after,
    text_source,
)
from dplda.readers.files import check_encoding, decode_line, mended, record_lines
from dplda.readers.records import Defect, TextSource

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # the JSON escape of half a surrogate pair
_SAMPLED_LINES = 100  # number of first lines in which column names are looked up; column names are public
_MALLET_COLUMNS = ("id", "label", "text")


def jsonl_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """A source of the documents in the JSON lines of `files`, in order.

    Raises `InputError` if the first lines lack a column.
    """
    check_encoding(options.encoding, records=True)
    row = partial(_json_row, columns=_json_columns(files, options), encoding=options.encoding)
    return text_source(files, options, [partial(_rows, file, row) for file in files])


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


def _json_columns(files: Sequence[Path], options: ReadOptions) -> Columns:
    """The columns to read; raises `InputError` if the first lines lack a column that the options name.

    A column that the options leave out is chosen for each document from its own keys, so that no document changes how
    another is read. Messages show only keys that occur in every sampled line, because other keys may be content rather
    than column names.
    """
    lines = islice(chain.from_iterable(map(record_lines, files)), _SAMPLED_LINES)
    parsed = (_parse_line(line, options.encoding) for line in lines if not isinstance(line, Defect))
    keys = [tuple(fields) for fields in parsed if isinstance(fields, dict)]
    first = files[0]
    if not keys and all(file.stat().st_size == 0 for file in files):
        raise InputError(f"{first} is empty.")
    if not keys:
        raise InputError(f"{first} does not begin with JSON lines (one object a line). Check --format.")
    names = set().union(*keys)
    everywhere = names.intersection(*keys)
    common = [key for key in keys[0] if key in everywhere]
    check_columns(first, names, common, options)
    if options.text_field is None and names.isdisjoint(TEXT_NAMES):
        raise no_text_column(first, common)
    text = TEXT_NAMES if options.text_field is None else (options.text_field,)
    return Columns(text, options.id_field or "id", options.unit_field)


def _json_row(line: bytes, columns: Columns, encoding: str | None) -> Row | Defect:
    fields = _parse_line(line, encoding)
    if isinstance(fields, Defect):
        return fields
    text = next((value for name in columns.text if (value := fields.get(name)) is not None), None)
    return text, columns.id and fields.get(columns.id), columns.unit and fields.get(columns.unit)


def _parse_line(raw: bytes, encoding: str | None) -> dict[str, Any] | Defect:
    """The JSON object on one line; `Defect.MALFORMED` for anything else."""
    line = decode_line(raw, encoding)
    if isinstance(line, Defect):
        return line
    text, torn = line
    if torn and _SURROGATE.search(text):  # `mended` cannot tell escaped surrogates from bytes that are not UTF-8
        return Defect.UNDECODABLE
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
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
    return fields[columns.text[0]], columns.id and fields[columns.id], columns.unit and fields[columns.unit]
