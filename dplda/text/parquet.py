"""Parquet tables, read in batches of rows; text is decoded document by document."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dplda.errors import InputError
from dplda.text.columns import Columns, ReadOptions, choose
from dplda.text.files import check_unpacked, decode, open_bytes, reading
from dplda.text.records import Defect, TextRecord, TextSource

BATCH_ROWS, BATCH_BYTES = 1024, 1 << 26
SPOOLED_BYTES = 1 << 24


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

    def records(skip: int = 0) -> Iterator[TextRecord | Defect]:
        return _records(path, columns, skip)

    return TextSource((path,), options.unit, records, total=rows)


@contextmanager
def _table(path: Path, texts: Sequence[str] = ()) -> Iterator[Any]:
    """The open file; the columns `texts` are read as dictionaries."""
    with reading(path), tempfile.TemporaryFile() as spool, open_bytes(path) as stream:
        if path.suffix.lower() == ".gz":  # Parquet is read from its end, so it must be unpacked first
            while part := stream.read(SPOOLED_BYTES):
                check_unpacked(path, spool.tell() + len(part))
                spool.write(part)
        try:
            # A dictionary stays one: a long text that many rows share is in memory once.
            with pq.ParquetFile(spool if path.suffix.lower() == ".gz" else stream, read_dictionary=texts) as table:
                yield table
        except pa.ArrowException:
            raise InputError(f"{path} is not a whole Parquet file. Write or download it again.") from None


def _records(path: Path, columns: Columns, skip: int) -> Iterator[TextRecord | Defect]:
    wanted = list({name: None for name in (*columns.text, columns.id, columns.unit) if name is not None})
    ordinal = skip
    with _table(path, columns.text) as table:
        for batch in _batches(table, wanted, skip):
            values = {name: _values(batch.column(name)) for name in wanted}
            for row in range(batch.num_rows):
                ordinal += 1
                yield _record(columns, {name: column[row] for name, column in values.items()}, ordinal)


def _batches(table: Any, wanted: list[str], skip: int) -> Iterator[Any]:
    """Batches of the rows behind the first `skip`.

    They have at most BATCH_ROWS rows, fewer where the file says that its rows are long.
    """
    for group in range(table.num_row_groups):
        facts = table.metadata.row_group(group)
        if skip >= facts.num_rows:
            skip -= facts.num_rows
            continue
        rows = BATCH_BYTES * facts.num_rows // max(facts.total_byte_size, 1)
        for batch in table.iter_batches(max(1, min(rows, BATCH_ROWS)), [group], wanted):
            passed = min(skip, batch.num_rows)
            yield batch.slice(passed)
            skip -= passed


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
        entries = _values(column.dictionary)
        return [None if index is None else entries[index] for index in column.indices.to_pylist()]
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
