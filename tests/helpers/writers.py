"""Tables as common programs write them: each writer takes rows (text, unit, other) and returns a file's bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

Row = tuple[str | None, str | int | float | None, str]
NAMES = ("user", "note", "text")  # the text stands last, where the end of the line follows it


def write_csv(dialect: str, **options: Any) -> Callable[[Sequence[Row]], bytes]:
    def write(rows: Sequence[Row]) -> bytes:
        out = io.StringIO(newline="")
        writer = csv.writer(out, dialect, **options)
        writer.writerow(NAMES)
        writer.writerows([(unit, other, text) for text, unit, other in rows])
        return out.getvalue().encode("utf-8", "surrogatepass")

    return write


def write_json_lines(*, ascii: bool) -> Callable[[Sequence[Row]], bytes]:
    def write(rows: Sequence[Row]) -> bytes:
        records = [json.dumps(record, ensure_ascii=ascii) for record in _records(rows)]
        return "".join(f"{record}\n" for record in records).encode()

    return write


def write_json_array(*, ascii: bool, indent: int | None = None) -> Callable[[Sequence[Row]], bytes]:
    return lambda rows: json.dumps(_records(rows), ensure_ascii=ascii, indent=indent).encode()


def pandas_array(rows: Sequence[Row]) -> bytes:
    return str(_pandas(rows).to_json(orient="records", indent=1)).encode()


def polars_array(rows: Sequence[Row]) -> bytes:
    return str(_polars(rows).write_json()).encode()


def pandas_semicolons(rows: Sequence[Row]) -> bytes:
    return str(_pandas(rows).to_csv(index=False, sep=";")).encode("utf-8-sig")


def pandas_csv(rows: Sequence[Row]) -> bytes:
    return str(_pandas(rows).to_csv(index=False)).encode()


def pandas_json(rows: Sequence[Row]) -> bytes:
    return str(_pandas(rows).to_json(orient="records", lines=True)).encode()


def pandas_parquet(rows: Sequence[Row]) -> bytes:
    return bytes(_pandas(rows).to_parquet(index=False))


def polars_csv(rows: Sequence[Row]) -> bytes:
    return str(_polars(rows).write_csv()).encode()


def polars_json(rows: Sequence[Row]) -> bytes:
    return str(_polars(rows).write_ndjson()).encode()


def polars_parquet(rows: Sequence[Row]) -> bytes:
    out = io.BytesIO()
    _polars(rows).write_parquet(out)
    return out.getvalue()


def arrow_csv(rows: Sequence[Row]) -> bytes:
    out = io.BytesIO()
    pc.write_csv(_arrow(rows), out)
    return out.getvalue()


def arrow_parquet(rows: Sequence[Row]) -> bytes:
    out = io.BytesIO()
    pq.write_table(_arrow(rows), out, row_group_size=2)
    return out.getvalue()


def _columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    units = [unit for _, unit, _ in rows]
    if any(isinstance(unit, str) for unit in units):  # a column has one type
        units = [unit if unit is None else str(unit) for unit in units]
    return {"user": units, "note": [other for _, _, other in rows], "text": [text for text, _, _ in rows]}


def _records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{"user": unit, "note": other, "text": text} for text, unit, other in rows]


def _pandas(rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(_columns(rows)).astype({"note": "str", "text": "str"})


def _polars(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(_columns(rows), schema_overrides={"note": pl.String, "text": pl.String}, strict=False)


def _arrow(rows: Sequence[Row]) -> pa.Table:
    columns = {name: pa.array(values) for name, values in _columns(rows).items()}
    return pa.table({name: values.cast(pa.string()) if name != "user" else values for name, values in columns.items()})


WRITERS: dict[str, tuple[str, Callable[[Sequence[Row]], bytes]]] = {  # the file's ending, and the writer
    "csv excel": ("csv", write_csv("excel")),
    "csv excel-tab": ("tsv", write_csv("excel-tab")),
    "csv unix": ("csv", write_csv("unix")),
    "csv excel semicolons": ("csv", write_csv("excel", delimiter=";")),
    "csv unix bars": ("csv", write_csv("unix", delimiter="|")),
    "pandas semicolons": ("csv", pandas_semicolons),
    "pandas csv": ("csv", pandas_csv),
    "polars csv": ("csv", polars_csv),
    "arrow csv": ("csv", arrow_csv),
    "json ascii": ("jsonl", write_json_lines(ascii=True)),
    "json utf-8": ("jsonl", write_json_lines(ascii=False)),
    "json array ascii": ("json", write_json_array(ascii=True)),
    "json array indented": ("json", write_json_array(ascii=False, indent=2)),
    "pandas array": ("json", pandas_array),
    "polars array": ("json", polars_array),
    "pandas json": ("jsonl", pandas_json),
    "polars json": ("jsonl", polars_json),
    "pandas parquet": ("parquet", pandas_parquet),
    "polars parquet": ("parquet", polars_parquet),
    "arrow parquet": ("parquet", arrow_parquet),
}
SURROGATES = (
    "csv excel",
    "csv excel-tab",
    "csv unix",
    "csv excel semicolons",
    "json ascii",
    "json array ascii",
)  # these write lone surrogates
