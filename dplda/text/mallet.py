"""MALLET's text format: lines ``id label text``, each one record."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from dplda.errors import InputError
from dplda.text.columns import ReadOptions, Row, choose, text_source
from dplda.text.files import check_encoding, decode_line, mended, record_lines
from dplda.text.records import Defect, TextSource

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
