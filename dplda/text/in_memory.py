"""Texts and tables in memory: any iterable of strings or of records, and tables that Arrow can stream.

No library of tables is imported. pandas, polars, DuckDB and others hand their columns over through the Arrow PyCapsule
interface (``__arrow_c_stream__``); Hugging Face datasets, which lack it, iterate over Arrow tables.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

import pyarrow as pa

from dplda.base.errors import DpldaError, InputError
from dplda.text.columns import (
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
from dplda.text.parquet import check_types, column_values, decoded
from dplda.text.records import Defect, TextSource

_BATCH_ROWS = 1024
_SAMPLED_RECORDS = 100  # number of first records in which field names are looked up; field names are public
_STREAM = "__arrow_c_stream__"
_Batches = Callable[[], Iterable[Any]]


def texts_source(texts: Iterable[Any], options: ReadOptions) -> TextSource:
    """The documents of `texts`: strings, or mappings from field names to values.

    Raises `InputError` for what is no iterable of documents. The fields of an iterator, which can be read only once,
    are checked when its documents are read.
    """
    _refuse_other_than_texts(texts)
    if (column := _typed_column(texts)) is not None:
        return table_source(pa.table({TEXT_NAMES[0]: column}), options)
    once = iter(texts) is texts or iter(texts) is iter(texts)
    if not once and isinstance(texts, Sized):  # other objects may go on where they stopped
        _text_columns(list(islice(texts, _SAMPLED_RECORDS)), options)
    read = _reading_once(texts) if once else lambda: texts

    def rows(skip: int) -> Generator[Row | Defect, None, int]:
        items = iter(read())
        first = list(islice(items, _SAMPLED_RECORDS))
        columns = _text_columns(first, options)
        return rows_after(skip, chain(first, items), partial(_text_row, columns=columns))

    return text_source([], options, [rows], len(texts) if isinstance(texts, Sized) else None)


def table_source(table: Any, options: ReadOptions) -> TextSource:
    """The rows of `table`, after a check of its schema, which is public.

    A table that has columns can be read again; a stream of batches, once. Raises `InputError` for another object, and
    for a column that is missing or has a type that cannot hold texts or name units.
    """
    if hasattr(table, "iloc") and hasattr(table, _STREAM):
        return _pandas_source(table, options)
    names, schema, batches = _hugging_face(table) if hasattr(table, "features") else _stream(table)
    columns = _table_columns(names, options)
    check_types("the table", columns, schema, options.id_field)
    total = getattr(table, "num_rows", getattr(table, "height", None))
    return text_source([], options, [partial(_rows, batches, columns)], total if isinstance(total, int) else None)


def _refuse_other_than_texts(texts: Any) -> None:
    kind = type(texts).__name__
    if isinstance(texts, (str, bytes)):
        raise InputError("texts must be an iterable of documents, and this is one string. Put it into a list.")
    if hasattr(texts, "columns") or hasattr(texts, "read_next_batch") or getattr(texts, "features", None) is not None:
        raise InputError(f"texts must be an iterable of documents, and {kind} is a table: use Corpus.from_table.")
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be an iterable of strings or of records, got {kind}.")


def _typed_column(texts: Any) -> Any:
    """`texts` as a chunked array if it is a column of Arrow, polars or pandas whose type is not object; else None."""
    if isinstance(texts, pa.Array):
        return pa.chunked_array([texts])
    if not hasattr(texts, _STREAM) or _holds_objects(texts):
        return None
    with _streaming():
        return pa.chunked_array(texts)


def _holds_objects(column: Any) -> bool:
    """Whether the type of a column of pandas says nothing about its values."""
    return str(getattr(column, "dtype", "")) == "object"


def _reading_once(texts: Iterable[Any]) -> Callable[[], Iterable[Any]]:
    """A function that returns `texts` at its first call, and raises `InputError` at the next."""
    unread = [texts]

    def read() -> Iterable[Any]:
        if not unread:
            raise InputError(
                "These documents come from an iterator, which was read before and cannot be read again. Make a new "
                "iterator and a new corpus."
            )
        return unread.pop()

    return read


def _text_columns(first: list[Any], options: ReadOptions) -> Columns:
    """The fields to read. Raises `InputError` if the first documents lack a field that the options name.

    A field that the options leave out is chosen for each record from its own names, so that no record changes how
    another is read. Messages show only names that occur in every sampled record.
    """
    label = "these records"
    if not first:
        raise InputError("There are no documents: the iterable is empty. (An iterator that was used up is empty too.)")
    records = [record for record in first if isinstance(record, Mapping)]
    columns = Columns(options.text_fields, options.id_field or "id", options.unit_field, tuple(options.group_fields))
    if not records:
        wanted = (*options.text_fields, options.id_field, options.unit_field, *options.group_fields)
        named = next((name for name in wanted if name is not None), None)
        if named is not None:
            raise InputError(f"These documents are no records, so they have no field {named!r}. Give dictionaries.")
        if not any(isinstance(item, str) for item in first):
            raise InputError("texts must hold strings or records (dictionaries), and the first documents are neither.")
        return columns
    keys = [tuple(name for name in record if isinstance(name, str)) for record in records]
    names: set[str] = set().union(*keys)
    common = [name for name in keys[0] if all(name in other for other in keys)]
    check_columns(label, names, common, options)
    if options.text_field is None and names.isdisjoint(TEXT_NAMES):
        raise no_text_column(label, common)
    return columns


def _text_row(item: Any, columns: Columns) -> Row | Defect:
    if isinstance(item, str):
        return item, None, None, ()
    if not isinstance(item, Mapping):
        return Defect.MALFORMED
    return columns.row_of(item)


def _table_columns(names: Iterable[Any], options: ReadOptions) -> Columns:
    return choose("the table", [name for name in names if isinstance(name, str)], options)


def _stream(table: Any) -> tuple[list[str], Any, _Batches]:
    """Names and schema of an object with an Arrow stream, and a function that reads its batches."""
    if not hasattr(table, _STREAM):
        raise InputError(
            "table must be a pandas or polars DataFrame, an Arrow table or reader, a DuckDB relation or a Hugging Face "
            f"Dataset, got {type(table).__name__}. Give lists and records to Corpus.from_texts, collect a lazy table, "
            "and name one split of a dataset."
        )
    reader = _open_stream(table)
    if hasattr(table, "columns"):
        reader.close()  # a database may wait for it
        return reader.schema.names, reader.schema, lambda: _open_stream(table)
    once = _reading_once(reader)
    return reader.schema.names, reader.schema, once


def _open_stream(table: Any) -> Any:
    with _streaming():
        return pa.RecordBatchReader.from_stream(table)


def _hugging_face(dataset: Any) -> tuple[list[str], Any, _Batches]:
    """Names and schema of a Hugging Face dataset, and a function that reads its rows as Arrow tables."""
    if dataset.features is None:
        raise InputError("This dataset does not state the types of its columns. Give it to Corpus.from_texts.")
    read = partial(dataset.with_format("arrow").iter, batch_size=_BATCH_ROWS)
    return list(dataset.features), dataset.features.arrow_schema, read


def _rows(read: _Batches, columns: Columns, skip: int) -> Generator[Row | Defect, None, int]:
    def parts() -> Iterator[Row]:
        with _streaming():
            for batch in read():
                for start in range(0, batch.num_rows, _BATCH_ROWS):
                    part = batch.slice(start, _BATCH_ROWS)
                    yield from _batch_rows({name: _cells(part.column(name)) for name in columns.names}, columns)

    return rows_after(skip, parts(), lambda row: row)


def _cells(column: Any) -> list[Any]:
    """The values of a column of a record batch, or of a table, whose columns are in chunks."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [value for chunk in chunks for value in column_values(chunk)]


def _batch_rows(values: Mapping[str, list[Any]], columns: Columns) -> Iterator[Row]:
    length = len(values[columns.text[0]])
    for row in zip(*(values.get(name or "", repeat(None, length)) for name in columns.wanted), strict=True):
        yield columns.row(list(map(decoded, row)))


def _pandas_source(frame: Any, options: ReadOptions) -> TextSource:
    """The rows of a pandas DataFrame.

    Arrow would infer the type of a column of objects from all its values, so that one value decided how others are
    read. Such columns are read cell by cell, and only the others are converted.
    """
    columns = _table_columns(frame.columns, options)
    typed = [name for name in columns.names if not _holds_objects(frame[name])]
    schema = _open_stream(frame[typed].iloc[:0]).schema
    for name in set(columns.names) - set(typed):
        schema = schema.append(pa.field(name, pa.string()))
    check_types("the table", columns, schema, options.id_field)

    def rows(skip: int) -> Generator[Row | Defect, None, int]:
        return rows_after(skip, _pandas_rows(frame, columns, typed), lambda row: row)

    return text_source([], options, [rows], len(frame))


def _pandas_rows(frame: Any, columns: Columns, typed: list[str]) -> Iterator[Row]:
    for start in range(0, len(frame), _BATCH_ROWS):
        part = frame.iloc[start : start + _BATCH_ROWS]
        with _streaming():
            table = _open_stream(part[typed]).read_all()
        values = {name: _cells(table.column(name)) if name in typed else part[name].tolist() for name in columns.names}
        yield from _batch_rows(values, columns)


@contextmanager
def _streaming() -> Iterator[None]:
    """Turn errors of the table's library, which may quote documents, into an `InputError` that quotes nothing."""
    try:
        yield
    except DpldaError:
        raise
    except Exception as error:  # any library's own
        raise InputError(
            f"The table cannot be read as Arrow data ({type(error).__name__}; its message is withheld, because it may "
            "quote documents). Convert the table to Arrow yourself to see it, or drop columns that are not needed."
        ) from None
