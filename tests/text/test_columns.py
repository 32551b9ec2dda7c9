from pathlib import Path

import pytest

from dplda.errors import InputError
from dplda.text import columns
from dplda.text.columns import Columns, ReadOptions, choose
from dplda.text.records import Defect, TextRecord, document_key

PATH = Path("x.csv")


def test_the_text_column_is_guessed_from_its_name() -> None:
    assert choose(PATH, ["id", "review", "stars"], ReadOptions()) == Columns(("review",), "id", None)
    assert choose(PATH, ["review", "text"], ReadOptions()).text == ("text",)


def test_columns_asked_for_win() -> None:
    options = ReadOptions(text_field="a", id_field="b", unit_field="c")
    assert choose(PATH, ["a", "b", "c", "text", "id"], options) == Columns(("a",), "b", "c")


def test_no_more_than_twenty_columns_are_listed() -> None:
    names = [f"c{number}" for number in range(30)]
    with pytest.raises(InputError, match=r"c19, \.\.\."):
        choose(PATH, names, ReadOptions())


def test_a_long_text_contributes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MAX_CHARACTERS", 3)
    chosen = Columns(("text",), None, None)
    assert chosen.record({"text": "long"}.get, 1) is Defect.TOO_LONG
    assert chosen.record({"text": "fit"}.get, 1) == TextRecord("1", document_key(1), "fit")
