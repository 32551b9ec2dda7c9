"""Records are as their writer wrote them (docs/privacy.md, rule 15), through the readers and through an import.

Whatever one record holds, the others, their units and their number stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workbooks import ods, xlsx
from writers import NAMES, SURROGATES, WRITERS, Row

from dplda.cli.main import main
from dplda.private.store.count_store import CountStore
from dplda.text.counting import WordCounter
from dplda.text.formats import open_source
from dplda.text.records import Defect, ReadOptions, TextRecord, TextSource, unit_key
from dplda.text.tokenizers import fast_tokens

MARKS = ['"', ",", "\t", "\r", "\n", "\r\n", "\0", "\\", "'", ";", "\x1a", "\ufeff", "\u2028", "\x85", "\x0b"]
CHARACTERS = st.characters(exclude_categories=["Cs"])
PLAIN = st.lists(st.sampled_from([*MARKS, *"aé漢😀 07."]) | CHARACTERS, max_size=8).map("".join)
TORN = st.lists(st.sampled_from([*MARKS, *"a\ud800\udfff\udc80é"]), max_size=8).map("".join)
TORN = TORN.filter(lambda text: not re.search("\ud800[\udfff\udc80]", text))  # two halves are one character in JSON


def rows(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[Row]]:
    units = st.sampled_from([PLAIN, st.integers(-3, 3), st.integers(-(2**53), 2**53)])
    return units.flatmap(lambda unit: st.lists(st.tuples(text | st.none(), unit | st.none(), text), max_size=6))


Found = tuple[bytes, str] | Defect


def expected(written: Sequence[Row], ending: str) -> list[Found]:
    found: list[Found] = []
    for text, unit, _ in written:
        key, empty = unit_key(unit), text is None
        if empty and ending not in ("csv", "tsv"):
            found.append(Defect.NO_TEXT)  # CSV has no way to tell nothing from an empty text
        else:
            found.append(Defect.NO_UNIT if key is None else (key, text or ""))
    return found


def unnamed(written: Sequence[Row]) -> bool:
    """Whether no record has a unit."""
    return all(unit is None for _, unit, _ in written)


def read(path: Path, content: bytes) -> list[Found]:
    path.write_bytes(content)
    source = open_source(path, ReadOptions(unit_field="user"))
    assert isinstance(source, TextSource)
    return [(r.unit, r.text) if isinstance(r, TextRecord) else r for r in source.records()]


ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)


@pytest.mark.parametrize("name", full_after(7, WRITERS))
@ANY
@given(written=rows(PLAIN))
def test_what_was_written_is_read(tmp_path: Path, name: str, written: list[Row]) -> None:
    ending, write = WRITERS[name]
    if ending in ("jsonl", "json") and not written:
        return  # an empty file has no columns
    if ending == "parquet" and unnamed(written):
        return  # refused: the type of a column of units without values is null
    assert read(tmp_path / f"c.{ending}", write(written)) == expected(written, ending)


@pytest.mark.parametrize("name", SURROGATES)
@ANY
@given(written=rows(TORN).filter(bool))
def test_halves_of_characters_are_read_as_they_were_written(tmp_path: Path, name: str, written: list[Row]) -> None:
    ending, write = WRITERS[name]
    assert read(tmp_path / f"c.{ending}", write(written)) == expected(written, ending)


@pytest.mark.parametrize("name", full_after(7, WRITERS))
@ANY
@given(written=rows(PLAIN).filter(lambda written: len(written) > 1), data=st.data())
def test_another_content_of_one_record_changes_no_other(
    tmp_path: Path, name: str, written: list[Row], data: st.DataObject
) -> None:
    ending, write = WRITERS[name]
    place = data.draw(st.integers(0, len(written) - 1))
    unit = written[place][1]
    changed = [*written]
    changed[place] = (data.draw(PLAIN), unit, data.draw(PLAIN))
    if ending == "parquet" and unnamed(written):
        return
    before, after = (read(tmp_path / f"c.{ending}", write(some)) for some in (written, changed))
    del before[place], after[place]
    assert before == after


WORKBOOKS = {"xlsx": xlsx, "ods": ods}
LIBREOFFICE_KEEPS = re.compile(r"[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\t\r]")


def in_workbook(ending: str, written: Sequence[Row]) -> tuple[Sequence[Any], bytes]:
    """Rows that a workbook can hold, and the workbook."""
    drop = LIBREOFFICE_KEEPS if ending == "ods" else re.compile("$^")  # Excel writes any character
    kept = [
        tuple(drop.sub("", cell) if isinstance(cell, str) else cell for cell in (text, unit, other))
        for text, unit, other in written
    ]
    cells = [[unit or (unit if unit == 0 else None), other or None, text or None] for text, unit, other in kept]
    return kept, WORKBOOKS[ending]({"Sheet": [NAMES, *cells]})


def expected_in_workbook(written: Sequence[Row]) -> list[Found]:
    """Each row to the last one with a value; an empty cell is no text, and a number of 16 digits no name."""
    found: list[Found] = []
    for text, unit, _ in written:
        key = None if isinstance(unit, int) and abs(unit) >= 10**15 else unit_key(unit)
        found.append(Defect.NO_TEXT if not text else Defect.NO_UNIT if key is None else (key, text))
    while written and not any(cell or cell == 0 for cell in written[-1]):
        written, found = written[:-1], found[:-1]
    return found


WORKBOOK = settings(ANY, max_examples=12)  # each is read by processes of its own


@pytest.mark.parametrize("ending", full_after(1, WORKBOOKS))
@WORKBOOK
@given(written=rows(PLAIN))
def test_what_was_written_into_a_workbook_is_read(tmp_path: Path, ending: str, written: list[Row]) -> None:
    kept, content = in_workbook(ending, written)
    assert read(tmp_path / f"c.{ending}", content) == expected_in_workbook(kept)


@pytest.mark.parametrize("ending", full_after(1, WORKBOOKS))
@WORKBOOK
@given(written=rows(PLAIN).filter(lambda written: len(written) > 1), data=st.data())
def test_another_row_of_a_workbook_changes_no_other(
    tmp_path: Path, ending: str, written: list[Row], data: st.DataObject
) -> None:
    last: Row = ("last", "last", "last")  # trailing empty rows are no records
    place = data.draw(st.integers(0, len(written) - 1))
    changed = [*written]
    changed[place] = (data.draw(PLAIN), data.draw(PLAIN | st.integers()), data.draw(PLAIN))
    before, after = (
        read(tmp_path / f"c.{ending}", in_workbook(ending, [*some, last])[1]) for some in (written, changed)
    )
    del before[place], after[place]
    assert before == after


LONG = 20_000_000


LONG_FIELDS = [*((name, "x") for name in WRITERS), ("csv excel", '"'), ("json ascii", '"'), ("json array ascii", '"')]
QUICK = {
    ("csv excel", '"'),
    ("json array ascii", '"'),
    ("json ascii", "x"),
    ("arrow parquet", "x"),
    ("polars csv", "x"),
}


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "character"), [pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow) for one in LONG_FIELDS]
)
def test_fields_of_twenty_megabytes_are_read(tmp_path: Path, name: str, character: str) -> None:
    ending, write = WRITERS[name]
    long = character * (LONG if character == "x" else LONG // 2)  # a quotation mark is written twice
    written: list[Row] = [("one", "u", "a"), (long, "v", "b"), ("three", "w", long), ("four", "u", "c")]
    assert read(tmp_path / f"c.{ending}", write(written)) == expected(written, ending)


def stored(store: CountStore) -> list[tuple[tuple[int, ...], dict[str, int]]]:
    """The documents of a store: the key of the unit, and words with their counts."""
    found = []
    for block in store.blocks():
        for row in range(block.n_documents):
            entries = range(block.indptr[row], block.indptr[row + 1])
            words = {store.dictionary[block.words[entry]]: int(block.counts[entry]) for entry in entries}
            found.append((tuple(block.units[row].tolist()), words))
    return found


TOKENS = fast_tokens()


def counted(unit: bytes, text: str) -> tuple[tuple[int, ...], dict[str, int]]:
    counts = WordCounter(TOKENS).count([text])
    named = {counts.words[index]: int(n) for index, n in zip(counts.indices, counts.counts, strict=True)}
    return tuple(np.frombuffer(unit, np.uint64).tolist()), named


WORDS = st.lists(st.sampled_from(["apple", "banana\r", "cherry\n", '"date"', "elder,", "fig\0", "naïve", "10"]))


@pytest.mark.parametrize(
    "name",
    full_after(
        3, ["csv excel", "json utf-8", "arrow parquet", "csv excel-tab", "pandas csv", "polars csv", "json array ascii"]
    ),
)
@settings(ANY, max_examples=12)
@given(written=rows(WORDS.map(" ".join)).filter(bool))
def test_an_import_holds_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, name: str, written: list[Row]
) -> None:
    ending, write = WRITERS[name]
    if ending == "parquet" and unnamed(written):
        return
    folder = tmp_path_factory.mktemp("import")
    (folder / f"c.{ending}").write_bytes(write(written))
    command: list[Any] = ["corpus", "import", folder / f"c.{ending}", folder / "store", "--unit-field", "user"]
    assert main([*map(str, command), "--tokenizer", "fast", "--json"]) == 0
    store = CountStore.open(folder / "store")
    records = expected(written, ending)
    assert stored(store) == [counted(*record) for record in records if not isinstance(record, Defect)]
    absent = sum(n for defect, n in store.defects.items() if not Defect[defect].has_text)
    assert store.n_documents + absent == len(written)
