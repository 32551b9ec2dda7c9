from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dplda.base.errors import InputError
from dplda.text.records import Defect, ReadOptions, TextRecord, unit_key
from dplda.text.tables import parquet_source


def table(tmp_path: Path, text: pa.Array) -> Path:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": text, "who": pa.array([1, None, 3][: len(text)])}), path)
    return path


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_rows_are_documents(tmp_path: Path, kind: pa.DataType) -> None:
    source = parquet_source([table(tmp_path, pa.array(["a", "b", None]).cast(kind))], ReadOptions(unit_field="who"))
    assert list(source.records()) == [TextRecord("1", unit_key(1), "a"), Defect.NO_UNIT, Defect.NO_TEXT]
    assert source.total == 3


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("ms"), pa.timestamp("ns")])
def test_one_cell_without_a_value_in_python_leaves_the_others_alone(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "x.parquet"
    numbers = pa.array([2 ** (kind.bit_width - 2) + 1, 0], getattr(pa, f"int{kind.bit_width}")())
    pq.write_table(pa.table({"text": ["a", "b"], "id": numbers.view(kind)}), path)
    records = list(parquet_source([path], ReadOptions()).records())
    if kind != pa.timestamp("ns"):  # with pandas it has a Python value
        assert next(record.id for record in records) == "1"  # type: ignore[union-attr]
    assert [record.text for record in records] == ["a", "b"]  # type: ignore[union-attr]


def test_a_gzipped_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "y.parquet.gz"
    path.write_bytes(gzip.compress(table(tmp_path, pa.array(["a"])).read_bytes()))
    assert [r.text for r in parquet_source([path], ReadOptions()).records()] == ["a"]  # type: ignore[union-attr]


def test_a_text_column_of_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds int64, not text"):
        parquet_source([table(tmp_path, pa.array(["a"]))], ReadOptions(text_field="who"))


@pytest.mark.parametrize(
    ("values", "key"),
    [(["7"], 7), ([7], "7"), ([7.0], 7), ([True], "True"), (pa.array([7]).dictionary_encode(), 7)],
    ids=["text", "integer", "float", "boolean", "dictionary"],
)
def test_text_and_numbers_name_units(tmp_path: Path, values: Any, key: object) -> None:
    pq.write_table(pa.table({"text": ["a"], "who": values}), tmp_path / "x.parquet")
    [record] = parquet_source([tmp_path / "x.parquet"], ReadOptions(unit_field="who")).records()
    assert record == TextRecord("1", unit_key(key), "a")


@pytest.mark.parametrize(
    "values",
    [pa.array([b"u"]), pa.array([["u"]]), pa.array([0], pa.date32()), pa.array(["1"]).cast(pa.decimal128(9, 2))],
    ids=["bytes", "list", "date", "decimal"],
)
def test_a_unit_column_that_spells_one_value_in_many_ways_is_refused_by_its_type(tmp_path: Path, values: Any) -> None:
    pq.write_table(pa.table({"text": ["a"], "who": values}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"'who' .* cannot name a unit"):
        parquet_source([tmp_path / "x.parquet"], ReadOptions(unit_field="who"))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1], "int64"),
        ([True], "bool"),
        (pa.nulls(1), "null"),
        ([["a"]], "list<"),
        ([{"a": "b"}], "struct<"),
        ([{"a": 1, "b" * 80: 2}], r"struct<.{53}\.\.\."),
        ([b"a"], "binary"),
    ],
)
def test_a_text_column_of_another_type_is_refused_with_the_columns_of_text(
    tmp_path: Path, values: Any, kind: str
) -> None:
    pq.write_table(pa.table({"text": values, "who": [1], "words": ["a"]}), tmp_path / "x.parquet")
    with pytest.raises(
        InputError,
        match=rf"'text' .* holds {kind}.*, not text\. .* words: name one with --text-field \(text_field\)\.$",
    ):
        parquet_source([tmp_path / "x.parquet"], ReadOptions())


def test_a_table_without_a_column_of_text_says_so(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [1]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="No column is of text"):
        parquet_source([tmp_path / "x.parquet"], ReadOptions())


def test_a_unit_column_of_type_null_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"], "who": pa.nulls(1)}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"'who' .* holds no values .* --unit-field"):
        parquet_source([tmp_path / "x.parquet"], ReadOptions(unit_field="who"))


def test_a_part_without_values_is_read_if_another_part_has_some(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a", "b"], "who": [1, None]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"text": pa.nulls(1), "who": pa.nulls(1)}), tmp_path / "1.parquet")
    parts = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    found = list(parquet_source(parts, ReadOptions(unit_field="who")).records())
    assert found == [TextRecord("1", unit_key(1), "a"), Defect.NO_UNIT, Defect.NO_TEXT]


def test_ids_of_bytes_are_refused_by_their_type(tmp_path: Path) -> None:
    """Bytes that are no text would be no id, and their documents would not count."""
    pq.write_table(pa.table({"text": ["a", "b"], "id": [b"\xff", b"two"]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"Column 'id' of .* holds binary, which cannot name a document"):
        parquet_source([tmp_path / "x.parquet"], ReadOptions(id_field="id"))


def test_a_truncated_table_is_one_clear_line(tmp_path: Path) -> None:
    path = table(tmp_path, pa.array(["a"]))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="not a whole Parquet file"):
        parquet_source([path], ReadOptions())
