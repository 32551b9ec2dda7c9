"""JSON lines: one object a line, each parsed alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dplda.errors import InputError
from dplda.text.columns import TEXT_NAMES, Columns, ReadOptions, check_asked, no_text_column
from dplda.text.files import check_encoding, text_lines
from dplda.text.records import Defect, TextRecord, TextSource

SAMPLED_LINES = 100  # lines looked at to learn the column names, which the user declares public


def jsonl_source(path: Path, options: ReadOptions) -> TextSource:
    """Check that the columns exist in the first lines. Raises `InputError`."""
    check_encoding(options.encoding, line_file=True)
    columns = _columns(path, options)

    def records(skip: int = 0) -> Iterator[TextRecord | Defect]:
        for number, line in text_lines(path, options.encoding, skip):
            fields = parse_line(line)
            yield fields if isinstance(fields, Defect) else columns.record(fields.get, number)

    return TextSource((path,), options.unit, records)


def parse_line(line: str | Defect) -> dict[str, Any] | Defect:
    """The object on one line; `Defect.MALFORMED` if it holds anything else."""
    if isinstance(line, Defect):
        return line
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return Defect.MALFORMED
    return fields if isinstance(fields, dict) else Defect.MALFORMED


def _columns(path: Path, options: ReadOptions) -> Columns:
    """Check against the first lines; what is not asked for, each document settles by its own keys.

    Guessing from the lines would let one document change how all others are read. Only keys that every line
    looked at has are shown: another may be content rather than a column.
    """
    lines = islice(text_lines(path, options.encoding), SAMPLED_LINES)
    keys = [tuple(fields) for _, line in lines if isinstance(fields := parse_line(line), dict)]
    if not keys and path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    if not keys:
        raise InputError(f"{path} does not begin with JSON lines (one object a line). Check --format.")
    names = set().union(*keys)
    everywhere = names.intersection(*keys)
    common = [key for key in keys[0] if key in everywhere]
    check_asked(path, names, common, options)
    if options.text_field is None and names.isdisjoint(TEXT_NAMES):
        raise no_text_column(path, common)
    text = TEXT_NAMES if options.text_field is None else (options.text_field,)
    return Columns(text, options.id_field or "id", options.unit_field)
