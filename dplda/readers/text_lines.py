"""Records of a line each: JSON lines, and MALLET's lines of a name, a label and a text."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
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
    check_asked,
    choose,
    no_text_column,
    text_source,
)
from dplda.readers.files import check_encoding, decode_line, mended, record_lines
from dplda.readers.records import Defect, TextSource

_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half of a surrogate pair
SAMPLED_LINES = 100  # lines looked at to learn the column names, which the user declares public


def jsonl_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """The `files`, one after the other. Checks that the columns exist in the first lines. Raises `InputError`."""
    check_encoding(options.encoding, records=True)
    columns = _columns(files, options)
    return text_source(files, options, [partial(_rows, file, columns, options.encoding) for file in files])


def parse_line(raw: bytes | Defect, encoding: str | None) -> dict[str, Any] | Defect:
    """The object on one line; `Defect.MALFORMED` if it holds anything else."""
    line = raw if isinstance(raw, Defect) else decode_line(raw, encoding)
    if isinstance(line, Defect):
        return line
    text, torn = line
    if torn and _HALF.search(text):  # written as an escape, or a byte that is no UTF-8: which, cannot be told
        return Defect.UNDECODABLE
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return Defect.MALFORMED
    if not isinstance(fields, dict):
        return Defect.MALFORMED
    return {mended(name): mended(value) for name, value in fields.items()} if torn else fields


def _rows(path: Path, columns: Columns, encoding: str | None, skip: int) -> Generator[Row | Defect, None, int]:
    for line in record_lines(path):
        if skip:
            skip -= 1
            continue
        fields = parse_line(line, encoding)
        if isinstance(fields, Defect):
            yield fields
        else:
            text = next((found for name in columns.text if (found := fields.get(name)) is not None), None)
            yield text, columns.id and fields.get(columns.id), columns.unit and fields.get(columns.unit)
    return skip


def _columns(files: Sequence[Path], options: ReadOptions) -> Columns:
    """Check against the first lines; what is not asked for, each document settles by its own keys.

    Guessing from the lines would let one document change how all others are read. Only keys that every line
    looked at has are shown: another may be content rather than a column.
    """
    lines = islice(chain.from_iterable(map(record_lines, files)), SAMPLED_LINES)
    keys = [tuple(fields) for line in lines if isinstance(fields := parse_line(line, options.encoding), dict)]
    first = files[0]
    if not keys and all(file.stat().st_size == 0 for file in files):
        raise InputError(f"{first} is empty.")
    if not keys:
        raise InputError(f"{first} does not begin with JSON lines (one object a line). Check --format.")
    names = set().union(*keys)
    everywhere = names.intersection(*keys)
    common = [key for key in keys[0] if key in everywhere]
    check_asked(first, names, common, options)
    if options.text_field is None and names.isdisjoint(TEXT_NAMES):
        raise no_text_column(first, common)
    text = TEXT_NAMES if options.text_field is None else (options.text_field,)
    return Columns(text, options.id_field or "id", options.unit_field)


COLUMNS = ("id", "label", "text")


def mallet_source(path: Path, options: ReadOptions) -> TextSource:
    """Lines split at their first two runs of white space. Raises `InputError` for an empty file."""
    check_encoding(options.encoding, records=True)
    if next(record_lines(path), None) is None:
        raise InputError(f"{path} is empty.")
    columns = choose(path, COLUMNS, options)
    wanted = [None if name is None else COLUMNS.index(name) for name in (columns.text[0], columns.id, columns.unit)]

    def rows(skip: int) -> Generator[Row | Defect, None, int]:
        for line in record_lines(path):
            if skip:
                skip -= 1
            else:
                yield _row(line, wanted, options.encoding)
        return skip

    return text_source([path], options, [rows])


def _row(raw: bytes | Defect, wanted: list[int | None], encoding: str | None) -> Row | Defect:
    line = raw if isinstance(raw, Defect) else decode_line(raw, encoding)
    if isinstance(line, Defect):
        return line
    text, torn = line
    fields = text.split(None, 2)
    if len(fields) != len(COLUMNS):
        return Defect.MALFORMED
    values = [mended(field) for field in fields] if torn else fields
    first, name, unit = (None if place is None else values[place] for place in wanted)
    return first, name, unit
