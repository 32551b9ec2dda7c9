"""JSON lines: one object a line, each parsed alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dplda.errors import InputError
from dplda.text.columns import ReadOptions, choose
from dplda.text.files import check_encoding, text_lines
from dplda.text.records import Defect, TextRecord, TextSource

SAMPLED_LINES = 100  # lines looked at to learn the column names, which the user declares public


def jsonl_source(path: Path, options: ReadOptions) -> TextSource:
    """Check that the columns exist in the first lines. Raises `InputError`."""
    check_encoding(options.encoding, line_file=True)
    columns = choose(path, _column_names(path, options), options)

    def records() -> Iterator[TextRecord | Defect]:
        for number, line in text_lines(path, options.encoding):
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


def _column_names(path: Path, options: ReadOptions) -> list[str]:
    """Columns to show and choose from: asked-for ones that some sampled line has, then those of every line.

    A key that only some lines have may be content rather than a column, so it is never shown.
    """
    lines = islice(text_lines(path, options.encoding), SAMPLED_LINES)
    objects = [fields for _, line in lines if isinstance(fields := parse_line(line), dict)]
    if not objects:
        raise InputError(f"{path} does not begin with JSON lines (one object a line). Check --format.")
    common = [key for key in objects[0] if all(key in fields for fields in objects)]
    asked = [key for key in (options.text_field, options.id_field, options.unit_field) if key is not None]
    return common + [key for key in asked if key not in common and any(key in fields for fields in objects)]
