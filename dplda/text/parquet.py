"""Parquet tables, read in batches of rows; text is decoded document by document."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dplda.errors import InputError
from dplda.text.columns import Columns, ReadOptions, choose
from dplda.text.files import decode, open_bytes, reading
from dplda.text.records import Defect, TextRecord, TextSource

BATCH_ROWS = 1024


def parquet_source(path: Path, options: ReadOptions) -> TextSource:
    """Check the schema, which is public. Raises `InputError` if it lacks a column or the text is no string."""
    with _table(path) as table:
        schema, rows = table.schema_arrow, table.metadata.num_rows
    columns = choose(path, schema.names, options)
    kind = schema.field(columns.text[0]).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(
            f"Column {columns.text[0]!r} of {path} holds {kind}, not text. Name another with --text-field."
        )
    return TextSource((path,), options.unit, lambda: _records(path, columns), total=rows)


@contextmanager
def _table(path: Path) -> Iterator[Any]:
    with reading(path), tempfile.TemporaryFile() as spool, open_bytes(path) as stream:
        if path.suffix.lower() == ".gz":  # Parquet is read from its end, so it must be unpacked first
            shutil.copyfileobj(stream, spool)
        try:
            with pq.ParquetFile(spool if path.suffix.lower() == ".gz" else stream) as table:
                yield table
        except pa.ArrowException:
            raise InputError(f"{path} is not a whole Parquet file. Write or download it again.") from None


def _records(path: Path, columns: Columns) -> Iterator[TextRecord | Defect]:
    wanted = list({name: None for name in (*columns.text, columns.id, columns.unit) if name is not None})
    ordinal = 0
    with _table(path) as table:
        for batch in table.iter_batches(BATCH_ROWS, columns=wanted):
            values = {name: _values(batch.column(name)) for name in wanted}
            for row in range(batch.num_rows):
                ordinal += 1
                yield _record(columns, {name: column[row] for name, column in values.items()}, ordinal)


def _record(columns: Columns, row: dict[str, Any], ordinal: int) -> TextRecord | Defect:
    for name, value in row.items():
        if isinstance(value, bytes):
            text = decode(value, "utf-8")
            if isinstance(text, Defect):
                return text
            row[name] = text
    return columns.record(row.get, ordinal)


def _values(column: Any) -> list[Any]:
    """Cells as Python values; strings as bytes, so that one undecodable cell does not fail the others."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        column = column.view(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.view(pa.large_binary())
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, pa.ArrowException):  # one row's value must not stop the reading of the others
        return [_cell(column, row) for row in range(len(column))]


def _cell(column: Any, row: int) -> Any:
    """A cell as a Python value, None where there is none for it (a date after the year 9999)."""
    try:
        return column[row].as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return None
