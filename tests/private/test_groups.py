"""Groups of documents: values, calendars, rows of a table, and stores that keep group columns."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workbooks import ods, xlsx

import dplda
from dplda.private.attributes import BETWEEN, OTHER, PERIODS, Attribute, Axis, TableRows, sorted_groups
from dplda.private.store.count_store import CountStore
from dplda.private.store.fingerprint import fingerprint
from dplda.private.store.units import UnitRange, project, units_of_groups
from dplda.text.dates import date_ranges
from dplda.text.records import ReadOptions, group_value
from dplda.text.sampling import column_facts, read_sample

TEXT = "red green blue red"


class BadDate(date):
    def isoformat(self) -> str:
        raise RuntimeError("secret value")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (" a ", "a"), ("7.0", "7"), (7, "7"), (7.0, "7"), (True, "true"), (np.bool_(False), "false"), (2.5, "2.5"),
        (date(2024, 3, 1), "2024-03-01"), (datetime(2024, 3, 1, 2), "2024-03-01T02:00:00"), ("e\u0301", "\u00e9"),
        (None, None), ("", None), (float("nan"), None), ([1], None), ({}, None), (pd.NaT, None), (b"a", None),
        ("x" * 201, None), ("a\nb", None), ("\x1b[31m", None),
        (np.datetime64("2024-03-01T02", "ns"), "2024-03-01T02:00:00"), (np.datetime64("NaT"), None),
        (Decimal("2.50"), "2.5"), (BadDate(2024, 3, 1), None),
    ],
)  # fmt: skip
def test_a_value_names_a_group_or_none(value, name):
    assert group_value(value) == name


@pytest.mark.parametrize(
    ("names", "in_order"),
    [
        ("10 9 -1 2.5 100", "-1 2.5 9 10 100"),
        ("10 9 ward", "10 9 ward"),
        ("b a", "a b"),
        ("1 01 1.0", "01 1 1.0"),
        ("10 9 nan", "10 9 nan"),
        ("10 9 1e3", "10 1e3 9"),
        ("10 9 \u0663", "10 9 \u0663"),  # a digit of another script
        ("10000000000000000001 10000000000000000000 9", "9 10000000000000000000 10000000000000000001"),
        ("2024-10 2024-09", "2024-09 2024-10"),
        ("", ""),
    ],
)
def test_groups_are_in_numerical_order_if_all_are_numbers(names, in_order):
    assert sorted_groups(reversed(names.split())) == tuple(in_order.split())


def test_a_number_that_python_cannot_write_names_no_group():
    assert group_value(10**5000) is None


@pytest.mark.parametrize(
    ("period", "value", "zone", "name"),
    [
        ("day", "2024-03-01", "UTC", "2024-03-01"),
        ("month", "2024-03-01T23:30:00+00:00", "Europe/Berlin", "2024-03"),
        ("month", "2024-03-31T23:30:00+00:00", "Europe/Berlin", "2024-04"),
        ("month", "2024-03-31T23:30:00", "Europe/Berlin", "2024-03"),
        ("week", "2024-12-30", "UTC", "2025-W01"),
        ("week", "2021-01-03", "UTC", "2020-W53"),
        ("quarter", "2024-06-30", "UTC", "2024-Q2"),
        ("year", "0099-01-01", "UTC", "0099"),
        ("month", "yesterday", "UTC", None),
        ("month", "9999-12-31T23:00:00-10:00", "UTC", None),
        ("month", "2024-02-30", "UTC", None),
    ],
)
def test_a_date_falls_into_a_period_of_the_calendar(period, value, zone, name):
    assert Attribute("d", period, zone).group(value) == name


@pytest.mark.parametrize(
    ("value", "format", "zone", "name"),
    [
        ("01.02.2024", "%d.%m.%Y", "UTC", "2024-02-01"),
        ("01/02/2024", "%m/%d/%Y", "UTC", "2024-01-02"),
        ("31/12/24 23:30 +0000", "%d/%m/%y %H:%M %z", "Europe/Berlin", "2025-01-01"),
        ("2024-02-01", "%d.%m.%Y", "UTC", "2024-02-01"),  # a cell that is a date, or one typed in ISO 8601
        ("2024-12-31T23:30:00+00:00", "%m/%d/%Y", "Europe/Berlin", "2025-01-01"),
        ("2024.02.01", "%d.%m.%Y", "UTC", None),  # nothing is guessed
        ("20240201", "%d.%m.%Y", "UTC", None),
        ("31.02.2024", "%d.%m.%Y", "UTC", None),
        ("01.02.2024", "", "UTC", None),
    ],
)
def test_a_date_in_a_declared_format_falls_into_its_period(value, format, zone, name):
    assert Attribute("d", "day", zone, format).group(value) == name


@given(st.dates(min_value=date(1000, 1, 1)), st.dates(min_value=date(1000, 1, 1)), st.sampled_from(sorted(PERIODS)))
def test_periods_are_in_alphabetical_order(one, other, period):
    first, second = sorted((one, other))
    assert PERIODS[period](first) <= PERIODS[period](second)


def compared(*texts, **options):
    return Attribute("d", BETWEEN, ranges=date_ranges(texts), **options)


@pytest.mark.parametrize(
    ("value", "options", "name"),
    [
        ("2024-03-31", {}, "2024-01..2024-03"),
        ("2024-04-01", {}, OTHER),
        ("2024-07-01", {}, "2024-Q3"),
        ("2024-03-31T23:30:00+00:00", {}, "2024-01..2024-03"),
        ("2024-03-31T23:30:00+00:00", {"zone": "Europe/Berlin"}, OTHER),
        ("30.09.2024", {"date_format": "%d.%m.%Y"}, "2024-Q3"),
        ("2024-08-01", {"date_format": "%d.%m.%Y"}, "2024-Q3"),
        ("2024.08.01", {"date_format": "%d.%m.%Y"}, None),
        ("2024-02", {"date_format": "%d.%m.%Y"}, None),
        ("2024-02", {}, "2024-01..2024-03"),  # all of its days are in the range
        ("2024-W05", {}, "2024-01..2024-03"),
        ("2024", {}, OTHER),
        ("spring", {}, None),
    ],
)
def test_a_date_falls_into_one_of_two_ranges_or_into_the_rest(value, options, name):
    assert compared("2024-01..2024-03", "2024-Q3", **options).group(value) == name


DAY = st.dates(date(2023, 1, 1), date(2024, 12, 31))


@given(st.lists(DAY, min_size=4, max_size=4, unique=True), st.lists(DAY, min_size=1), st.booleans())
def test_every_date_is_in_the_row_that_brute_force_finds(ends, days, swap):
    a, b, c, d = sorted(ends)
    texts = [f"{a}..{b}", f"{c}..{d}"]
    attribute = compared(*(texts[::-1] if swap else texts))
    expected = [texts[0] if a <= day <= b else texts[1] if c <= day <= d else OTHER for day in days]
    assert [attribute.group(day.isoformat()) for day in days] == expected


def test_two_values_that_are_compared_are_groups_like_any(tmp_path):
    store = corpus(RECORDS, group_fields=["product", "day"]).write(tmp_path / "s")
    values = Axis(Attribute("product", BETWEEN), ("toaster", "phone"))
    assert rows_of(store, (values,)) == [1, 2, 0, 2, 2]
    ranges = date_ranges(["2024-01", "2023-02-05..2023-12"])
    dates = Axis(Attribute("day", BETWEEN, ranges=ranges), tuple(each.name for each in ranges))
    assert rows_of(store, (dates,)) == [0, 2, 1, 2, 0]


def corpus(records, **options):
    return dplda.Corpus.from_texts([{"text": TEXT} | record for record in records], **options)


RECORDS = [
    {"product": "phone", "day": "2024-01-05", "who": "ann"},
    {"product": "tablet", "day": "2024-02-05", "who": "ann"},
    {"product": "toaster", "day": "2023-02-05", "who": "bob"},
    {"day": "never", "who": "cid"},
    {"product": ["phone"], "day": "2024-01-31", "who": "bob"},
]
MONTH = Axis(Attribute("day", "month"), ("2024-01", "2024-02"))
PRODUCT = Axis(Attribute("product"), ("phone", "tablet"))


def rows_of(store, axes, **options):
    return project(store, ("red", "green", "blue"), rows=TableRows(axes), **options).rows.tolist()


def test_a_document_is_in_the_row_of_its_groups_or_in_the_last(tmp_path):
    written = corpus(RECORDS, group_fields=["product", "day"]).write(tmp_path / "s")
    assert written.group_columns == ("product", "day")
    assert rows_of(written, (PRODUCT,)) == [0, 1, 2, 2, 2]
    assert rows_of(written, (MONTH,)) == [0, 1, 2, 2, 0]
    assert rows_of(written, (PRODUCT, MONTH)) == [0, 4, 8, 8, 6]
    assert rows_of(written, (Axis(Attribute("unheard"), ("a",)),)) == [1] * 5


def test_documents_of_a_person_stay_with_their_rows(tmp_path):
    store = corpus(RECORDS, group_fields=["product", "day"], unit_field="who").write(tmp_path / "s")
    for parts in (1, 3):
        found = [project(store, ("red",), UnitRange(i, parts), TableRows((MONTH,))) for i in range(parts)]
        per_unit = sorted(
            sorted(counts.rows[counts.unit_ptr[u] : counts.unit_ptr[u + 1]].tolist())
            for counts in found
            for u in range(counts.n_units)
        )
        assert per_unit == [[0, 1], [0, 2], [2]]


def test_each_document_holds_its_group_as_often_as_makes_it_eligible(tmp_path):
    store = corpus(RECORDS, group_fields=["product"]).write(tmp_path / "s")
    names, counts = units_of_groups(store, Attribute("product"))
    assert names == ["phone", "tablet", "toaster"]
    assert np.diff(counts.indptr).tolist() == [1, 1, 1, 0, 0]
    assert counts.words.tolist() == [0, 1, 2]
    assert set(counts.counts.tolist()) == {3}


def test_group_columns_change_no_other_fact_of_a_store(tmp_path):
    plain = corpus(RECORDS).write(tmp_path / "plain")
    grouped = corpus(RECORDS, group_fields=["product", "day"]).write(tmp_path / "grouped")
    assert fingerprint(plain, b"k" * 32).code == fingerprint(grouped, b"k" * 32).code
    again = dplda.read_corpus(tmp_path / "grouped").write(tmp_path / "copy")
    assert again.group_columns == ("product", "day")
    assert rows_of(again, (PRODUCT, MONTH)) == rows_of(grouped, (PRODUCT, MONTH))
    assert json.loads((tmp_path / "plain" / "meta.json").read_text()).get("groups") is None


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "frame", "counts"])
def test_every_form_of_table_gives_the_same_groups(form, tmp_path):
    frame = pd.DataFrame(
        {"text": [TEXT] * 3, "n": [7, 8, 7], "when": pd.to_datetime(["2024-01-05", "2024-02-05", None])}
    )
    path = tmp_path / f"t.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "jsonl":
        frame.assign(when=["2024-01-05", "2024-02-05", None]).to_json(path, orient="records", lines=True)
    elif form == "parquet":
        frame.to_parquet(path)
    fields = ["n", "when"]
    if form == "frame":
        store = dplda.Corpus.from_table(frame, group_fields=fields, cache=tmp_path).open()
    elif form == "counts":
        groups = {"n": [7, 8, 7], "when": [date(2024, 1, 5), date(2024, 2, 5), None]}
        store = dplda.Corpus.from_counts([[3, 1]] * 3, ["red", "blue"], groups=groups).open()
    else:
        store = dplda.read_corpus(path, group_fields=fields, cache=tmp_path).open()
    axes = Axis(Attribute("n"), ("7",)), Axis(Attribute("when", "month"), ("2024-01", "2024-02"))
    assert rows_of(store, axes) == [0, 4, 2]


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx", "parquet", "frame", "polars", "texts"])
def test_every_form_of_table_gives_dates_with_an_offset_to_the_day_in_the_zone(form, tmp_path):
    """Half past eleven in the evening in UTC is after midnight in Berlin; a time without an offset stays."""
    aware, naive = datetime(2024, 3, 31, 23, 30, tzinfo=UTC), datetime(2024, 3, 31, 23, 30)
    written = ["2024-03-31T23:30:00Z", "2024-03-31T18:30:00-05:00", "2024-03-31T23:30:00"]
    times = {"aware": [aware] * 3, "naive": [naive] * 3, "written": written}
    frame, path = pd.DataFrame({"text": [TEXT] * 3, **times}), tmp_path / f"t.{form}"
    frame["aware"] = frame["aware"].dt.tz_convert("America/New_York")
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "jsonl":
        frame.map(lambda value: value if isinstance(value, str) else value.isoformat()).to_json(
            path, orient="records", lines=True
        )
    elif form == "xlsx":  # a cell of a workbook has no offset
        cells = [
            ["text", *times],
            *([TEXT, when.isoformat(), *row] for when, *row in zip(*times.values(), strict=True)),
        ]
        path.write_bytes(xlsx({"Sheet": cells}))
    elif form == "parquet":
        frame.to_parquet(path)
    fields, cached = {"group_fields": list(times)}, {"cache": tmp_path}
    if path.exists():
        store = dplda.read_corpus(path, **fields, **cached).open()
    elif form == "texts":
        store = dplda.Corpus.from_texts(frame.to_dict("records"), **fields, **cached).open()
    else:
        table = pl.from_pandas(frame) if form == "polars" else frame
        store = dplda.Corpus.from_table(table, **fields, **cached).open()

    def days(column):
        attribute = Attribute(column, "day", "Europe/Berlin")
        return rows_of(store, (Axis(attribute, ("2024-03-31", "2024-04-01")),))

    assert (days("aware"), days("naive"), days("written")) == ([1, 1, 1], [0, 0, 0], [1, 1, 0])


@pytest.mark.parametrize("kind", [xlsx, ods])
def test_cells_that_are_dates_are_read_beside_typed_ones(kind, tmp_path):
    days = [date(2024, 1, 31), datetime(2024, 2, 1, 23, 59), "01.02.2024", "31.1.2024", "1/31/2024", None]
    path = tmp_path / f"t.{kind.__name__}"
    path.write_bytes(kind({"Sheet": [["text", "day"], *([TEXT, day] for day in days)]}))
    store = dplda.read_corpus(path, group_fields=["day"], cache=tmp_path).open()
    typed = Attribute("day", "month", date_format="%d.%m.%Y")
    assert rows_of(store, (Axis(typed, ("2024-01", "2024-02")),)) == [0, 1, 1, 0, 2, 2]
    facts = {column.name: column for column in column_facts(read_sample(path, ReadOptions()))}
    assert facts["day"].date_formats == ("%d.%m.%Y",), "that of most, although it does not read all"
    path.write_bytes(kind({"Sheet": [["text", "day"], *([TEXT, day] for day in days[:4])]}))
    facts = {column.name: column for column in column_facts(read_sample(path, ReadOptions()))}
    assert facts["day"].date_formats == ("%d.%m.%Y",)


def test_a_column_that_cannot_name_groups_or_is_missing_is_refused(tmp_path):
    pd.DataFrame({"text": [TEXT], "tags": [["a"]]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(dplda.base.errors.InputError, match="cannot name a group"):
        dplda.read_corpus(tmp_path / "t.parquet", group_fields=["tags"])
    with pytest.raises(dplda.base.errors.InputError, match="group_field 'who' is not a column"):
        dplda.read_corpus(tmp_path / "t.parquet", group_fields=["who"])
    with pytest.raises(dplda.base.errors.InputError, match="groups must have a value for each row"):
        dplda.Corpus.from_counts([[3, 1]], ["a", "b"], groups={"n": [1, 2]})


def test_a_damaged_list_of_values_counts_as_no_group(tmp_path):
    store = corpus(RECORDS, group_fields=["product"]).open()
    (block,) = list(store.blocks())
    short = pa.array([["phone"], [], ["phone", "tablet"], [None], ["tablet"]], block.groups.type)
    damaged = replace(block, groups=short)
    forged = CountStore.from_blocks([damaged], store.dictionary, group_columns=("product",))
    assert rows_of(forged, (PRODUCT,)) == [0, 2, 2, 2, 1]
