from __future__ import annotations

import math
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.text import records
from dplda.text.records import (
    UNIT_BYTES,
    Columns,
    Defect,
    ReadOptions,
    Row,
    TextRecord,
    choose_columns,
    document_key,
    text_source,
    unit_key,
)

PATH = Path("x.csv")


def test_the_text_column_is_guessed_from_its_name() -> None:
    assert choose_columns(PATH, ["id", "review", "stars"], ReadOptions()) == Columns(("review",), "id", None)
    assert choose_columns(PATH, ["review", "text"], ReadOptions()).text == ("text",)


def test_columns_asked_for_win() -> None:
    options = ReadOptions(text_field="a", id_field="b", unit_field="c")
    assert choose_columns(PATH, ["a", "b", "c", "text", "id"], options) == Columns(("a",), "b", "c")


def test_no_more_than_twenty_columns_are_listed() -> None:
    names = [f"c{number}" for number in range(30)]
    with pytest.raises(InputError, match=r"c19, \.\.\."):
        choose_columns(PATH, names, ReadOptions())


def read_rows(rows: list[Row | Defect], **options: str) -> list[TextRecord | Defect]:
    def part(skip: int) -> Generator[Row | Defect, None, int]:
        yield from rows
        return skip

    return list(text_source([PATH], ReadOptions(**options), [part]).records())


def test_a_long_text_contributes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_CHARACTERS", 3)
    found = read_rows([("long", None, None, ()), ("fit", None, None, ())])
    assert found == [Defect.TOO_LONG, TextRecord("2", document_key(2), "fit")]


@pytest.mark.parametrize("row", [(Defect.UNDECODABLE, "1", "u", ()), ("a", "1", Defect.UNDECODABLE, ())])
def test_a_text_or_unit_that_could_not_be_read_makes_its_record_contribute_nothing(row: Row) -> None:
    assert read_rows([row], id_field="id", unit_field="who") == [Defect.UNDECODABLE]


def test_an_id_is_only_shown_and_takes_nothing_from_its_record() -> None:
    rows: list[Row | Defect] = [("a", Defect.UNDECODABLE, "u", ()), ("a", "x" * 5000, "u", ())]
    assert read_rows(rows, id_field="id", unit_field="who") == [
        TextRecord("1", unit_key("u"), "a"),
        TextRecord("x" * records._ID_CHARACTERS, unit_key("u"), "a"),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1e10, "1e+10"),
        (1e10, "1E10"),
        (2**53 - 1, 2.0**53 - 1),
        (2**53 + 1, str(2**53 + 1)),
        ("1.e1", 10),
        ("7.", 7),
        (-0.0, "-0"),
        ("-0.0", 0),
        ("e\u0301", "\u00e9"),
        (7, "7"),
        (7.0, "7"),
        ("7.0", "7"),
        ("7.000", 7),
        (" anna\t", "anna"),
        ("anna\r", "anna"),
        (0.5, "0.5"),
    ],
)
def test_spellings_of_one_value_name_one_unit(one: object, other: object) -> None:
    assert unit_key(one) == unit_key(other) is not None


@pytest.mark.parametrize(
    ("one", "other"), [("7", "70"), ("7.0", "7.01"), ("07", "7"), ("a.0", "a"), ("1.0.0", "1.0"), ("Anna", "anna")]
)
def test_other_values_name_other_units(one: str, other: str) -> None:
    assert unit_key(one) != unit_key(other)


@pytest.mark.parametrize(
    "value",
    [
        2.0**53,
        -1e16,
        np.float64(2**63),
        np.float32(2**24),
        "1e+16",
        "1.23457E+11",
        "9007199254740992.0",
        "1e400",
        math.inf,
    ],
)
def test_a_number_that_may_be_another_one_rounded_names_nobody(value: object) -> None:
    """An exact file may hold the person as 2^53 + 1: as two units she would have half the protection."""
    assert unit_key(value) is None


@pytest.mark.parametrize("value", [None, "", " ", float("nan"), [1], b"x"])
def test_no_value_names_nobody(value: object) -> None:
    assert unit_key(value) is None


def test_a_number_and_its_digits_name_the_same_unit() -> None:
    for seven in (7, 7.0, np.int64(7), np.float32(7), np.uint8(7)):
        assert unit_key(seven) == unit_key("7")
    assert unit_key(10**400) == unit_key(f"1{400 * '0'}")
    assert unit_key(np.float64(0.5)) == unit_key(0.5) != unit_key(0)


def test_values_that_name_nobody_have_no_key() -> None:
    for nothing in (None, "", float("nan"), np.float32("nan"), [], {}, b"x"):
        assert unit_key(nothing) is None


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_names_get_different_keys(one: str, other: str) -> None:
    assert (unit_key(one) == unit_key(other)) == (one == other)


def test_a_document_never_shares_its_key_with_a_column_value() -> None:
    assert document_key(7) != unit_key("7")
    assert len(document_key(7)) == UNIT_BYTES
