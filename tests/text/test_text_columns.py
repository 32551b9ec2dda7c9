"""A text in several columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dplda.base.errors import InputError
from dplda.private.store.preparation import _origin
from dplda.runs.corpus import Corpus, read_corpus
from dplda.text.formats import open_source
from dplda.text.records import Defect, ReadOptions
from dplda.text.tables import table_source, texts_source

BOTH = ReadOptions(text_field=["subject", "body"])
ROWS: list[dict[str, Any]] = [
    {"body": "it burns", "no": 1, "subject": "printer"},
    {"body": None, "no": 2, "subject": "alone"},
    {"body": "below", "no": 3, "subject": None},
    {"body": None, "no": 4, "subject": None},
]
READ = ["printer\n\nit burns", "alone", "below", Defect.NO_TEXT]


def table() -> pa.Table:
    return pa.Table.from_pylist(ROWS)


def write_csv(path: Path) -> Path:
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, ["body", "no", "subject"])
        writer.writeheader()
        writer.writerows(ROWS)
    return path


def write_lines(path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def write_array(path: Path) -> Path:
    path.write_text(json.dumps(ROWS))
    return path


def write_parquet(path: Path) -> Path:
    pq.write_table(table(), path)
    return path


def read(source: Any) -> list[str | Defect]:
    return [record if isinstance(record, Defect) else record.text for record in source.records()]


@pytest.mark.parametrize(
    ("name", "write"), [("x.jsonl", write_lines), ("x.json", write_array), ("x.parquet", write_parquet)]
)
def test_files_join_columns_in_the_order_of_the_option(
    tmp_path: Path, name: str, write: Callable[[Path], Path]
) -> None:
    assert read(open_source(write(tmp_path / name), BOTH)) == READ


@pytest.mark.parametrize("one_line", [False, True])
def test_csv_joins_columns_and_knows_no_nulls(tmp_path: Path, one_line: bool) -> None:
    path = write_csv(tmp_path / "x.csv")
    options = ReadOptions(text_field=("subject", "body"), id_field="no", one_line=one_line)
    source = open_source(path, options)
    assert [text.strip() for text in read(source) if isinstance(text, str)] == [
        "printer\n\nit burns",
        "alone",
        "below",
        "",
    ]
    assert [record.id for record in source.records() if not isinstance(record, Defect)] == ["1", "2", "3", "4"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "make",
    [
        table,
        lambda: pd.DataFrame(ROWS),
        lambda: pd.DataFrame(ROWS).astype(object).replace({None: float("nan")}),
        lambda: pd.DataFrame(ROWS, dtype=object).fillna(pd.NA),
        lambda: pl.DataFrame(ROWS),
        lambda: datasets.Dataset.from_list(ROWS),
    ],
)
def test_tables_in_memory_join_columns(make: Callable[[], Any]) -> None:
    assert read(table_source(make(), BOTH)) == READ


def test_records_in_memory_join_columns_and_may_lack_one() -> None:
    lacking = [{name: value for name, value in row.items() if value is not None} for row in ROWS]
    assert read(texts_source(ROWS, BOTH)) == read(texts_source(lacking, BOTH)) == READ


def test_a_value_that_is_no_text_makes_its_own_record_defective() -> None:
    rows = [{"subject": "a", "body": 7}, {"subject": "b", "body": "c"}, {"subject": 7, "body": None}]
    assert read(texts_source(rows, BOTH)) == [Defect.MALFORMED, "b\n\nc", Defect.MALFORMED]


def test_no_phrase_crosses_the_border_of_two_columns() -> None:
    rows = [{"subject": "paper jam", "body": "printer fire"}] * 2
    words = Corpus.from_texts(rows, text_field=["subject", "body"], ngrams=2).open().words.to_pylist()
    assert {word for word in words if "_" in word} == {"paper_jam", "printer_fire"}


def test_every_column_must_exist_and_hold_text(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "x.parquet")
    for wrong, message in [
        (["subject", "boddy"], "Did you mean 'body'?"),
        (["subject", "Body"], "Did you mean 'body'"),
        (["subject", "no"], "Column 'no' of .* holds int64, not text"),
        (["subject", "subject"], "text_field names column 'subject' twice"),
        ([], "text_field must be the name of a column, or several names"),
        ([1, "body"], "text_field must be the name of a column, or several names"),
        (0, r"Name a column that has a number first, as with frame\.rename"),
    ]:
        with pytest.raises(InputError, match=message):
            read_corpus(path, text_field=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unit_field must be the name of a column, as a string"):
        read_corpus(path, text_field="body", unit_field=0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="text_field 'boddy' is not a column"):
        read_corpus(write_csv(tmp_path / "x.csv"), text_field=["subject", "boddy"])
    with pytest.raises(InputError, match="text_field 'boddy' is not a column"):
        Corpus.from_texts(ROWS, text_field=["subject", "boddy"])
    nothing = table().set_column(0, "body", pa.nulls(4))
    with pytest.raises(InputError, match="Column 'body' of the table holds null, not text"):
        Corpus.from_table(nothing, text_field=["subject", "body"])


def test_the_parts_of_a_table_may_order_columns_differently(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("subject,body\none,two\n")
    (tmp_path / "b.csv").write_text("body,subject\nfour,three\n")
    assert read(open_source(tmp_path, BOTH)) == ["one\n\ntwo", "three\n\nfour"]
    (tmp_path / "b.csv").write_text("body\nfour\n")
    with pytest.raises(InputError, match="text_field 'subject' is not a column"):
        open_source(tmp_path, BOTH)


def test_one_column_in_a_list_is_that_column(tmp_path: Path) -> None:
    assert ReadOptions(text_field=["body"]) == ReadOptions(text_field="body")
    path = write_csv(tmp_path / "x.csv")
    one, same = (read_corpus(path, text_field=field, cache=tmp_path / "c") for field in ("body", ["body"]))
    assert one.open().path == same.open().path
    both = read_corpus(path, text_field=["subject", "body"], cache=tmp_path / "c")
    swapped = read_corpus(path, text_field=["body", "subject"], cache=tmp_path / "c")
    assert len({corpus.open().path for corpus in (one, both, swapped)}) == 3


def test_an_import_of_several_columns_recognises_its_own_request() -> None:
    origin = _origin({"text_field": ("subject", "body")}, "content")
    assert json.loads(json.dumps(origin.options)) == origin.options  # as it is compared after a stop
