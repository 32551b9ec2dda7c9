"""Parquet tables, read in batches of rows; each document is decoded separately."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dplda.base.errors import InputError
from dplda.text.columns import Columns, ReadOptions, Row, choose, shortened, text_source
from dplda.text.compression import archive_of, check_unpacked, reading, without_compression
from dplda.text.files import decode_field, open_bytes
from dplda.text.records import Defect, TextSource

_BATCH_ROWS, _BATCH_BYTES = 1024, 1 << 26
_SPOOLED_BYTES = 1 << 24
_LONGEST_TYPE = 60  # maximum characters of a type's name in a message


def parquet_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """The tables `files`, in order, after a check of their schemas, which are public.

    Raises `InputError` if a table lacks a column, or if its types cannot hold text and units. The type null, which
    pandas gives to a column without values, is accepted in a part if another part has values.
    """
    parts, total, chosen = [], 0, []
    for path in files:
        with _table(path) as table:
            schema, n_rows = table.schema_arrow, table.metadata.num_rows
        columns = choose(path, schema.names, options)
        options = replace(options, text_field=columns.text)  # the same columns in every table
        chosen.append((path, columns, schema))
        strings = [name for name in columns.names if _is_text(_type(schema, name))]
        parts.append(partial(_rows, path, columns, strings))
        total += n_rows
    null = {name: all(_is_null(schema, name) for *_, schema in chosen) for name in chosen[0][1].names}
    for path, columns, schema in chosen:
        nullable = [name for name in columns.names if not null.get(name)]
        check_types(path, columns, schema, options.id_field, nullable=nullable)
    return text_source(files, options, parts, total)


def table_schema(files: Sequence[Path]) -> tuple[dict[str, str], int]:
    """The columns of the first of `files` with their types, and the number of rows of all. Raises `InputError`."""
    types, n_rows = dict[str, str](), 0
    for path in files:
        with _table(path) as table:
            schema = table.schema_arrow
            types = types or {name: _called(schema.field(at).type) for at, name in enumerate(schema.names)}
            n_rows += int(table.metadata.num_rows)
    return types, n_rows


def first_rows(files: Sequence[Path], most: int) -> Iterator[dict[str, Any]]:
    """The first `most` rows of the first of `files`, with the values of the columns that are not nested."""
    with _table(files[0]) as table:
        schema = table.schema_arrow
        names = [name for name in schema.names if not pa.types.is_nested(schema.field(schema.names.index(name)).type)]
        for batch in _batches(table, names, 0):
            columns = [column_values(batch.column(at)) for at in range(batch.num_columns)]
            for row in zip(*columns, strict=True):
                if most == 0:
                    return
                yield dict(zip(batch.schema.names, map(decoded, row), strict=True))
                most -= 1


def check_types(
    path: Path | str, columns: Columns, schema: Any, id_field: str | None, *, nullable: Collection[str] = ()
) -> None:
    """Raise `InputError` if a column of the Arrow `schema` cannot hold texts, or cannot name units or documents.

    The columns `nullable` may be of type null, which has no values.
    """
    for text in columns.text:
        if _is_text(_type(schema, text)) or (text in nullable and _is_null(schema, text)):
            continue
        kind = schema.field(text).type
        others = [name for name in schema.names if schema.names.count(name) == 1 and _is_text(_type(schema, name))]
        choice = f"Name a column of text with --text-field: {shortened(others)}." if others else "No column holds text."
        raise InputError(f"Column {text!r} of {path} holds {_called(kind)}, not text. {choice}")
    for group in columns.groups:
        if pa.types.is_nested(_type(schema, group)):
            raise InputError(
                f"Column {group!r} of {path} holds {_called(schema.field(group).type)}, which cannot name a group. "
                "Write it as text, a number or a date."
            )
    name, option = (columns.unit, "--unit-field") if columns.unit is not None else (id_field, "--id-field")
    if name is None:
        return
    what = "a unit" if columns.unit is not None else "a document"
    if _is_null(schema, name) and name not in nullable:
        raise InputError(
            f"Column {name!r} of {path} holds no values (its type is null), so no document would belong to {what}. "
            f"Name another with {option}."
        )
    kind = _type(schema, name)
    named = (_is_text, pa.types.is_integer, pa.types.is_float64, pa.types.is_boolean)  # shorter floats round ids
    if not (any(names(kind) for names in named) or (name in nullable and pa.types.is_null(kind))):
        raise InputError(
            f"Column {name!r} of {path} holds {_called(kind)}, which cannot name {what}. Write it as text or as whole "
            "numbers."
        )


def _is_null(schema: Any, name: str) -> bool:
    return bool(pa.types.is_null(schema.field(name).type))


def _type(schema: Any, name: str) -> Any:
    kind = schema.field(name).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _called(kind: Any) -> str:
    """The name of a type, shortened: the fields of a struct may be many."""
    name = str(kind)
    return name if len(name) <= _LONGEST_TYPE else f"{name[:_LONGEST_TYPE]}..."


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


@contextmanager
def _table(path: Path, strings: Sequence[str] = ()) -> Iterator[Any]:
    """Open a table; its columns `strings` are read dictionary-encoded, which stores equal texts in memory once."""
    with reading(path), tempfile.TemporaryFile() as spool, open_bytes(path) as stream:
        packed = without_compression(path) != path or archive_of(path) is not None
        if packed:  # Parquet is read from its end, so it must be unpacked first
            while part := stream.read(_SPOOLED_BYTES):
                check_unpacked(path, spool.tell() + len(part))
                spool.write(part)
        try:
            # Read as a dictionary, a long text that many rows share is in memory once.
            with pq.ParquetFile(spool if packed else stream, read_dictionary=strings) as table:
                yield table
        except pa.ArrowException:
            raise InputError(f"{path} is not a whole Parquet file. Write or download it again.") from None


def _rows(path: Path, columns: Columns, strings: Sequence[str], skip: int) -> Generator[Row | Defect, None, int]:
    with _table(path, strings) as table:
        rows = int(table.metadata.num_rows)
        if skip >= rows:
            return skip - rows
        for batch in _batches(table, list(columns.names), skip):
            values = {name: column_values(batch.column(name)) for name in columns.names}
            cells = (values.get(name or "", repeat(None, batch.num_rows)) for name in columns.wanted)
            for row in zip(*cells, strict=True):
                yield columns.row(list(map(decoded, row)))
    return 0


def _batches(table: Any, wanted: list[str], skip: int) -> Iterator[Any]:
    """Batches of the rows after the first `skip`: at most _BATCH_ROWS rows, fewer if rows are long."""
    for group in range(table.num_row_groups):
        facts = table.metadata.row_group(group)
        if skip >= facts.num_rows:
            skip -= facts.num_rows
            continue
        rows = _BATCH_BYTES * facts.num_rows // max(facts.total_byte_size, 1)
        for batch in table.iter_batches(max(1, min(rows, _BATCH_ROWS)), [group], wanted):
            passed = min(skip, batch.num_rows)
            yield batch.slice(passed)
            skip -= passed


def decoded(value: Any) -> Any:
    """`value`, decoded if it is bytes: Arrow does not check that its strings are UTF-8."""
    return decode_field(value, "utf-8") if isinstance(value, bytes) else value


def column_values(column: Any) -> list[Any]:
    """Cells as Python values; strings as bytes, so that an undecodable cell does not affect the others."""
    if pa.types.is_dictionary(column.type):
        used = column.indices.unique().drop_null()  # the dictionary may be much larger than the batch
        dictionary = column.dictionary
        if pa.types.is_string_view(dictionary.type):  # Arrow cannot take from it
            dictionary = dictionary.cast(pa.large_string())
        entries = dict(zip(used.to_pylist(), column_values(dictionary.take(used)), strict=True))
        return [entries.get(index) for index in column.indices.to_pylist()]
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_string(column.type):
        column = column.view(pa.binary())
    elif pa.types.is_large_string(column.type):
        column = column.view(pa.large_binary())
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, pa.ArrowException):  # one bad value must not affect other rows
        return [_cell(column, row) for row in range(len(column))]


def _cell(column: Any, row: int) -> Any:
    """A cell as a Python value; None if Python cannot represent it (a date after the year 9999)."""
    try:
        return column[row].as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return None
