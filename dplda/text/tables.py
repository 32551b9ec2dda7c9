"""Parquet files, and texts and tables in memory: strings, records, and tables that Arrow can stream.

Tables are read in batches of rows, and each document is decoded separately. No library of tables is imported. pandas,
polars, DuckDB and others hand their columns over through the Arrow PyCapsule interface (``__arrow_c_stream__``);
Hugging Face datasets, which lack it, iterate over Arrow tables.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dplda.base.errors import DpldaError, InputError
from dplda.text.compression import archive_of, check_unpacked, reading, without_compression
from dplda.text.files import decode_field, open_bytes
from dplda.text.records import (
    TEXT_NAMES,
    Columns,
    Defect,
    ReadOptions,
    Row,
    TextSource,
    check_columns,
    choose_columns,
    no_text_column,
    rows_after,
    shorten,
    text_source,
)

_BATCH_ROWS, _BATCH_BYTES = 1024, 1 << 26
_SPOOLED_BYTES = 1 << 24
_LONGEST_TYPE = 60  # maximum characters of a type's name in a message
_IN_MEMORY_ROWS = 1024
_SAMPLED_RECORDS = 100  # number of first records in which field names are looked up; field names are public
_STREAM = "__arrow_c_stream__"
_Batches = Callable[[], Iterable[Any]]


def parquet_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """Check the schemas of the tables `files`, which are public; return a source of their rows, in order.

    Raises `InputError` if a table lacks a column, or if its types cannot hold text and units. The type null, which
    pandas gives to a column without values, is accepted in a part if another part has values.
    """
    parts, total, chosen = [], 0, []
    for path in files:
        with _table(path) as table:
            schema, n_rows = table.schema_arrow, table.metadata.num_rows
        columns = choose_columns(path, schema.names, options)
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
    """Read the columns of the first of `files` with their types, and the total number of rows. Raises `InputError`."""
    types, n_rows = dict[str, str](), 0
    for path in files:
        with _table(path) as table:
            schema = table.schema_arrow
            types = types or {name: _called(schema.field(at).type) for at, name in enumerate(schema.names)}
            n_rows += int(table.metadata.num_rows)
    return types, n_rows


def first_rows(files: Sequence[Path], most: int) -> Iterator[dict[str, Any]]:
    """Read the first `most` rows of the first of `files`, with the values of the columns that are not nested."""
    with _table(files[0]) as table:
        schema = table.schema_arrow
        names = [name for name in schema.names if not pa.types.is_nested(schema.field(schema.names.index(name)).type)]
        for batch in _batches(table, names, 0):
            columns = [_values(batch.column(at)) for at in range(batch.num_columns)]
            for row in zip(*columns, strict=True):
                if most == 0:
                    return
                yield dict(zip(batch.schema.names, map(_decoded, row), strict=True))
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
        choice = (
            f"Columns of text are {shorten(others)}: name one with --text-field (text_field)."
            if others
            else "No column is of text."
        )
        raise InputError(f"Column {text!r} of {path} holds {_called(kind)}, not text. {choice}")
    for group in columns.groups:
        if pa.types.is_nested(kind := _type(schema, group)) or pa.types.is_duration(kind):
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
    """Return the name of a type, shortened: the fields of a struct may be many."""
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
            yield from _batch_rows({name: _values(batch.column(name)) for name in columns.names}, columns)
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


def _batch_rows(values: Mapping[str, list[Any]], columns: Columns) -> Iterator[Row]:
    length = len(values[columns.text[0]])
    for row in zip(*(values.get(name or "", repeat(None, length)) for name in columns.wanted), strict=True):
        yield columns.row(list(map(_decoded, row)))


def _decoded(value: Any) -> Any:
    """Return `value`, decoded if it is bytes: Arrow does not check that its strings are UTF-8."""
    return decode_field(value, "utf-8") if isinstance(value, bytes) else value


def _values(column: Any) -> list[Any]:
    """Cells as Python values; strings as bytes, so that an undecodable cell does not affect the others."""
    if pa.types.is_dictionary(column.type):
        used = column.indices.unique().drop_null()  # the dictionary may be much larger than the batch
        dictionary = column.dictionary
        if pa.types.is_string_view(dictionary.type):  # Arrow cannot take from it
            dictionary = dictionary.cast(pa.large_string())
        entries = dict(zip(used.to_pylist(), _values(dictionary.take(used)), strict=True))
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
        cells: list[Any] = [None] * len(column)
        for row in range(len(column)):
            with suppress(ValueError, OverflowError, pa.ArrowException):  # such as a date after the year 9999
                cells[row] = column[row].as_py()
        return cells


def texts_source(texts: Iterable[Any], options: ReadOptions) -> TextSource:
    """Return a source of the documents in `texts`: strings, or mappings from field names to values.

    Raises `InputError` for what is no iterable of documents. The fields of an iterator, which can be read only once,
    are checked when its documents are read.
    """
    kind = type(texts).__name__
    if isinstance(texts, (str, bytes)):
        raise InputError("texts must be an iterable of documents, and this is one string. Put it into a list.")
    if is_table(texts):
        raise InputError(f"texts must be an iterable of documents, and {kind} is a table: use Corpus.from_table.")
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be an iterable of strings or of records, got {kind}.")

    if isinstance(texts, pa.Array):
        return table_source(pa.table({TEXT_NAMES[0]: texts}), options)
    if hasattr(texts, _STREAM) and not _holds_objects(texts):  # a column of Arrow, polars or pandas
        with _streaming():
            column = pa.chunked_array(texts)
        return table_source(pa.table({TEXT_NAMES[0]: column}), options)

    once = iter(texts) is texts or iter(texts) is iter(texts)
    if not once and isinstance(texts, Sized):  # other objects may go on where they stopped
        _text_columns(_first_documents(iter(texts)), options)
    read = _read_once(texts) if once else lambda: texts

    def rows(skip: int) -> Generator[Row | Defect, None, int]:
        items = iter(read())
        first = _first_documents(items)
        columns = _text_columns(first, options)

        def row(item: Any) -> Row | Defect:
            return columns.row_of(item) if isinstance(item, Mapping) else (item, None, None, ())

        return rows_after(skip, chain(first, items), row)

    return text_source([], options, [rows], len(texts) if isinstance(texts, Sized) else None)


def is_table(thing: Any) -> bool:
    """Whether `thing` has columns or batches of rows, as tables of pandas, polars, Arrow and others do."""
    if isinstance(thing, (str, Path)):
        return False
    return any(getattr(thing, name, None) is not None for name in ("columns", "read_next_batch", "features"))


def is_column(thing: Any) -> bool:
    """Whether `thing` is one column of pandas, polars or Arrow."""
    return isinstance(thing, (pa.Array, pa.ChunkedArray)) or (
        hasattr(thing, _STREAM) and hasattr(thing, "dtype") and not is_table(thing)
    )


def table_source(table: Any, options: ReadOptions) -> TextSource:
    """Check the schema of `table`, which is public; return a source of its rows.

    A table that has columns can be read again; a stream of batches, once. Raises `InputError` for another object, and
    for a column that is missing or has a type that cannot hold texts or name units.
    """
    if is_column(table):
        raise InputError("a corpus is read from files or a table, and this is one column. Use Corpus.from_texts.")
    if hasattr(table, "iloc") and hasattr(table, _STREAM):
        return _pandas_source(table, options)
    names: Iterable[Any]
    if hasattr(table, "features"):  # a Hugging Face dataset
        if table.features is None:
            raise InputError("This dataset does not state the types of its columns. Give it to Corpus.from_texts.")
        names, schema = list(table.features), table.features.arrow_schema
        batches: _Batches = partial(table.with_format("arrow").iter, batch_size=_IN_MEMORY_ROWS)
    else:
        schema, batches = _stream(table)
        names = schema.names
    columns = choose_columns("the table", [name for name in names if isinstance(name, str)], options)
    check_types("the table", columns, schema, options.id_field)

    def every_row() -> Iterator[Row]:
        with _streaming():
            for batch in batches():
                for start in range(0, batch.num_rows, _IN_MEMORY_ROWS):
                    part = batch.slice(start, _IN_MEMORY_ROWS)
                    yield from _batch_rows({name: _cells(part.column(name)) for name in columns.names}, columns)

    def rows(skip: int) -> Generator[Row | Defect, None, int]:
        return rows_after(skip, every_row(), lambda row: row)

    total = getattr(table, "num_rows", getattr(table, "height", None))
    return text_source([], options, [rows], total if isinstance(total, int) else None)


def _holds_objects(column: Any) -> bool:
    """Whether the type of a column of pandas says nothing about its values."""
    return str(getattr(column, "dtype", "")) == "object"


def _read_once(texts: Iterable[Any]) -> Callable[[], Iterable[Any]]:
    """Return a function that returns `texts` at its first call, and raises `InputError` at the next."""
    unread = [texts]

    def read() -> Iterable[Any]:
        if not unread:
            raise InputError(
                "These documents come from an iterator, which was read before and cannot be read again. Make a new "
                "iterator and a new corpus."
            )
        return unread.pop()

    return read


def _first_documents(items: Iterator[Any]) -> list[Any]:
    """Take the first `_SAMPLED_RECORDS` of `items`, and more until one of them is a text or a record."""
    first: list[Any] = []
    while batch := list(islice(items, _SAMPLED_RECORDS)):
        first += batch
        if any(isinstance(item, str | Mapping) for item in batch):
            break
    return first


def _text_columns(first: list[Any], options: ReadOptions) -> Columns:
    """Return the fields to read. Raises `InputError` if the first documents lack a field that the options name.

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
            raise InputError("texts must hold strings or records (dictionaries), and none of these is either.")
        return columns
    keys = [tuple(name for name in record if isinstance(name, str)) for record in records]
    names: set[str] = set().union(*keys)
    common = [name for name in keys[0] if all(name in other for other in keys)]
    check_columns(label, names, common, options)
    if options.text_field is None and names.isdisjoint(TEXT_NAMES):
        raise no_text_column(label, common)
    return columns


def _stream(table: Any) -> tuple[Any, _Batches]:
    """Return the schema of an object with an Arrow stream, and a function that reads its batches."""
    if not hasattr(table, _STREAM):
        raise InputError(
            "table must be a pandas or polars DataFrame, an Arrow table or reader, a DuckDB relation or a Hugging Face "
            f"Dataset, got {type(table).__name__}. Give lists and records to Corpus.from_texts, collect a lazy table, "
            "and name one split of a dataset."
        )
    reader = _open_stream(table)
    if hasattr(table, "columns"):
        reader.close()  # a database may wait for it
        return reader.schema, lambda: _open_stream(table)
    return reader.schema, _read_once(reader)


def _open_stream(table: Any) -> Any:
    with _streaming():
        return pa.RecordBatchReader.from_stream(table)


def _cells(column: Any) -> list[Any]:
    """Return the values of a column of a record batch, or of a table, whose columns are in chunks."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [value for chunk in chunks for value in _values(chunk)]


def _pandas_source(frame: Any, options: ReadOptions) -> TextSource:
    """Return a source of the rows of a pandas DataFrame.

    Arrow would infer the type of a column of objects from all its values, so that one value decided how others are
    read. Such columns are read cell by cell, and only the others are converted.
    """
    if frame.columns.nlevels > 1:
        raise InputError(
            "The columns of the table have names of several levels. Give each a single name first, such as "
            "frame.columns = ['_'.join(map(str, names)) for names in frame.columns]."
        )
    columns = _columns_of_frame(frame, options)
    for name in columns.names:
        if str(frame[name].dtype).startswith("period"):  # Arrow has numbers of periods since 1970
            frame = frame.assign(**{name: frame[name].astype(str).where(frame[name].notna())})
    typed = [name for name in columns.names if not _holds_objects(frame[name])]
    schema = _open_stream(frame[typed].iloc[:0]).schema
    texts = [at for at, kind in enumerate(frame.dtypes) if str(kind).startswith(("object", "str"))]
    for name in dict.fromkeys(frame.columns[texts]):
        if not isinstance(name, str) or name in typed:
            continue
        first = frame[name].iloc[:_SAMPLED_RECORDS].tolist() if list(frame.columns).count(name) == 1 else []
        held = [type(cell) for cell in first if isinstance(cell, Collection)]  # texts are collections, too
        if not held or str in held:
            apart = name in (columns.unit, *columns.groups) or held or not first
            schema = schema.append(pa.field(name, pa.string() if apart else _inferred(first)))
        elif name in columns.names:
            raise InputError(
                f"Column {name!r} of the table holds a {held[0].__name__} in each row, which is no text and no name: "
                "join its parts, or name another column."
            )
    check_types("the table", columns, schema, options.id_field)

    def every_row() -> Iterator[Row]:
        for start in range(0, len(frame), _IN_MEMORY_ROWS):
            part = frame.iloc[start : start + _IN_MEMORY_ROWS]
            with _streaming():
                table = _open_stream(part[typed]).read_all()
            cells = {name: part[name].tolist() for name in columns.names if name not in typed}
            cells |= {name: _cells(table.column(name)) for name in typed}
            yield from _batch_rows(cells, columns)

    def rows(skip: int) -> Generator[Row | Defect, None, int]:
        return rows_after(skip, every_row(), lambda row: row)

    return text_source([], options, [rows], len(frame))


def _columns_of_frame(frame: Any, options: ReadOptions) -> Columns:
    """Choose columns of a pandas DataFrame. Raises `InputError` as `choose_columns`, and tells what is no column."""
    named = [name for name in frame.columns if isinstance(name, str)]
    try:
        return choose_columns("the table", named, options)
    except InputError as error:
        hints = str(error)
        if len(named) < len(frame.columns):
            hints += " Give columns that have a number a name first, as with frame.rename(columns={0: 'text'})."
        if any(name is not None for name in frame.index.names):
            hints += " The index is no column: make it one with frame.reset_index()."
        raise InputError(hints) from None


def _inferred(cells: Sequence[Any]) -> Any:
    """Return the Arrow type of the first of `cells` that is not missing, string if there is none."""
    present = [cell for cell in cells if cell is not None and cell == cell]
    with suppress(pa.ArrowException):
        return pa.infer_type(present[:1]) if present else pa.string()
    return pa.string()


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
