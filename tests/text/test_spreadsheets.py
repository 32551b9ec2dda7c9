"""Workbooks of Excel and LibreOffice: which sheet is read, what its cells stand for, and what is refused."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from workbooks import Rows, ods, xlsx

from dplda.base.errors import InputError
from dplda.text import spreadsheets
from dplda.text.formats import FORMATS, open_source
from dplda.text.records import Defect, ReadOptions, TextRecord, TextSource, document_key, unit_key
from dplda.text.sampling import column_facts, read_sample

KINDS: dict[str, Callable[..., bytes]] = {"xlsx": xlsx, "ods": ods}
kinds = pytest.mark.parametrize("kind", KINDS)


def written(folder: Path, kind: str, rows: Rows) -> Path:
    path = folder / f"c.{kind}"
    path.write_bytes(KINDS[kind]({"Sheet": rows}))
    return path


def source(path: Path | list[Path], **options: Any) -> TextSource:
    found = open_source(path, ReadOptions(**options))
    assert isinstance(found, TextSource)
    return found


def texts(path: Path | list[Path], **options: Any) -> list[str | Defect]:
    return [record if isinstance(record, Defect) else record.text for record in source(path, **options).records()]


def units(path: Path) -> list[bytes | Defect]:
    return [r if isinstance(r, Defect) else r.unit for r in source(path, unit_field="who").records()]


def refusal(path: Path | list[Path], **options: Any) -> str:
    with pytest.raises(InputError) as refused:
        texts(path, **options)
    assert "\n" not in str(refused.value)
    return str(refused.value)


# Cells.


@kinds
def test_a_number_names_the_same_unit_as_its_text(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, [["who", "text"], *([who, "a"] for who in (7, 7.0, "7", "7.0", " 7 ", 7.5, "007"))])
    assert units(path) == [unit_key(7)] * 5 + [unit_key("7.5"), unit_key("007")]


@kinds
def test_a_number_that_excel_may_have_rounded_names_no_unit(tmp_path: Path, kind: str) -> None:
    numbers = [10**15 - 1, 10**15, 2**53, 1e300, -(10**15), "1000000000000000"]
    path = written(tmp_path, kind, [["who", "text"], *([number, "a"] for number in numbers)])
    nobody = [Defect.NO_UNIT] * 4
    assert units(path) == [unit_key(10**15 - 1), *nobody, unit_key(10**15)]


@kinds
def test_neither_dates_nor_empty_cells_name_a_unit(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, [["who", "text"], [date(2024, 1, 31), "a"], [None, "b"], [True, "c"]])
    assert units(path) == [Defect.NO_UNIT, Defect.NO_UNIT, unit_key("True")]


@kinds
def test_only_text_counts_in_a_column_of_texts(tmp_path: Path, kind: str) -> None:
    cells = ["one", 2, 2.5, True, date(2024, 1, 31), 1e16, None, ""]
    rows = [["text", "more"], *([cell, None] for cell in cells)]
    assert texts(written(tmp_path, kind, rows)) == ["one", *[Defect.NO_TEXT] * 7]
    rows = [["text", "more"], *([cell, "more"] for cell in cells)]
    assert texts(written(tmp_path, kind, rows), text_field=("text", "more")) == ["one\n\nmore", *["more"] * 7]


@kinds
def test_dates_name_groups(tmp_path: Path, kind: str) -> None:
    days = [date(2024, 1, 31), datetime(2024, 1, 31, 12, 30), "31.01.2024", 7, None]
    path = written(tmp_path, kind, [["text", "day"], *(["a", day] for day in days)])
    groups = [
        record.groups for record in source(path, group_fields=("day",)).records() if isinstance(record, TextRecord)
    ]
    assert groups == [("2024-01-31",), ("2024-01-31T12:30:00",), ("31.01.2024",), ("7",), (None,)]


@kinds
def test_line_breaks_markup_and_spaces_in_a_cell_are_kept(tmp_path: Path, kind: str) -> None:
    content = ["one\ntwo", "  a  b ", '<b> & "c"', "é漢😀", "=1+1", "_x0041_", "a" * 40_000]
    assert texts(written(tmp_path, kind, [["text"], *([text] for text in content)])) == content


def test_control_characters_are_read_as_excel_writes_them(tmp_path: Path) -> None:
    content = ["a\r\nb", "\0\x01\x1f", "_x000D_"]
    assert texts(written(tmp_path, "xlsx", [["text"], *([text] for text in content)])) == content


def test_a_formula_is_read_by_its_saved_result_and_an_error_as_empty(tmp_path: Path) -> None:
    raw = (
        '<row r="1"><c r="A1" t="str"><v>text</v></c></row>'
        '<row r="2"><c r="A2" t="str"><f>"a"</f><v>saved</v></c></row>'
        '<row r="3"><c r="A3"><f>"a"</f></c></row>'
        '<row r="4"><c r="A4" t="e"><f>NA()</f><v>#N/A</v></c></row>'
    )
    (tmp_path / "c.xlsx").write_bytes(xlsx({"Sheet": []}, raw={"Sheet": raw}))
    path = tmp_path / "c.xlsx"
    assert texts(path) == ["saved", Defect.NO_TEXT, Defect.NO_TEXT]


def test_merged_cells_have_a_value_in_the_first_row_only(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in (["who", "text"], ["u", "a"], [None, "b"], ["v", "c"]):
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    workbook.save(tmp_path / "c.xlsx")
    assert units(tmp_path / "c.xlsx") == [unit_key("u"), Defect.NO_UNIT, unit_key("v")]


# Rows.


@kinds
def test_every_row_to_the_last_with_a_value_is_a_record_even_if_it_is_empty(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, [[], [None, None], ["id", "text"], [1, "a"], [], [3, "c"], [None], []])
    assert source(path).total == 3
    assert texts(path) == ["a", Defect.NO_TEXT, "c"]
    assert [getattr(record, "id", None) for record in source(path).records()] == ["1", None, "3"]


@kinds
def test_a_value_beside_the_table_moves_no_column(tmp_path: Path, kind: str) -> None:
    rows: Rows = [[None, "who", None, "text"], [None, "u", None, "a"], ["beside", "v", "note", "b", "far"]]
    found = list(source(written(tmp_path, kind, rows), unit_field="who").records())
    assert found == [TextRecord("1", unit_key("u"), "a"), TextRecord("2", unit_key("v"), "b")]


@kinds
def test_numbers_and_dates_name_columns_and_columns_without_a_name_are_not_read(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, [[2024, date(2024, 1, 31), None, " text "], ["x", "y", "z", "a"]])
    assert texts(path, text_field="2024") == ["x"]
    assert texts(path, text_field="2024-01-31") == ["y"]
    assert texts(path) == ["a"]
    assert "Its columns: 2024, 2024-01-31, text." in refusal(path, text_field="")


@kinds
def test_what_names_no_columns_is_refused(tmp_path: Path, kind: str) -> None:
    assert "its first row must name the columns" in refusal(written(tmp_path, kind, []))
    assert "several columns called 'text'" in refusal(written(tmp_path, kind, [["text", "text"], ["a", "b"]]))
    assert texts(written(tmp_path, kind, [["text"]])) == []


@pytest.mark.full
def test_a_record_that_is_too_long_contributes_nothing(tmp_path: Path) -> None:
    for length in (26_000_000, 68_000_000):  # characters that a document may have, bytes that a record may have
        path = written(tmp_path, "ods", [["text"], ["a"], ["x" * length], ["b"]])
        assert texts(path) == ["a", Defect.TOO_LONG, "b"]


# Sheets.


@kinds
def test_the_only_sheet_that_is_not_hidden_is_read_unless_another_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"c.{kind}"
    path.write_bytes(KINDS[kind]({"Lists": [["text"], ["l"]], "Data": [["text"], ["d"]]}, hidden=["Lists"]))
    assert texts(path) == ["d"]
    assert texts(path, sheet="Lists") == ["l"]
    assert "has no sheet 'data'. Did you mean 'Data'? Its sheets: Lists, Data." in refusal(path, sheet="data")


@kinds
def test_of_several_sheets_one_must_be_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"c.{kind}"
    path.write_bytes(KINDS[kind]({"Lists": [["text"], ["l"]], "Data & more": [["text"], ["d"]]}))
    assert "has 2 sheets. Name one with --sheet (sheet). Its sheets: Lists, Data & more." in refusal(path)
    assert texts(path, sheet="Data & more") == ["d"]


def test_a_sheet_is_refused_where_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("text\na\n")
    assert "is not one. Leave it out." in refusal(tmp_path / "c.csv", sheet="Data")


# Files.


def test_several_workbooks_are_one_table(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in ("a.ods", "b.xlsx", "c.xlsx"))
    a.write_bytes(ods({"One": [["who", "text"], ["u", "a"], ["v", "b"]]}))
    b.write_bytes(xlsx({"Other": [["text", "who"], ["c", "w"]]}))
    c.write_bytes(xlsx({"Empty": []}))
    for paths in ([a, b, c], tmp_path):
        found = source(paths, unit_field="who")
        every = list(found.records())
        assert every == [
            TextRecord(str(n), unit_key(who), text) for n, who, text in [(1, "u", "a"), (2, "v", "b"), (3, "w", "c")]
        ]
        assert found.total == 3
        assert [list(found.records(skip)) for skip in range(5)] == [every[skip:] for skip in range(5)]
    c.write_bytes(xlsx({"Other": [["SECRET"], ["c"]]}))
    assert "SECRET" not in refusal([a, c])  # the first row of a later part may be a record


def test_workbooks_are_read_compressed_and_in_archives(tmp_path: Path) -> None:
    content = xlsx({"Data": [["text"], ["a"]]})
    (tmp_path / "c.xlsx.gz").write_bytes(gzip.compress(content))
    with zipfile.ZipFile(tmp_path / "parts.zip", "w") as archive:
        archive.writestr("one.xlsx", content)
        archive.writestr("two.xlsx", content)
    assert texts(tmp_path / "c.xlsx.gz") == ["a"]
    assert texts(tmp_path / "parts.zip") == ["a", "a"]


def without(content: bytes, part: str, instead: bytes | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            if name != part or instead is not None:
                new.writestr(name, instead if name == part and instead is not None else old.read(name))
    return stream.getvalue()


GOOD = xlsx({"Data": [["text"], ["SECRET"]]})
SHEET = "xl/worksheets/sheet1.xml"
DAMAGED = {
    "no archive": b"text\nSECRET\n",
    "another archive": without(GOOD, "xl/workbook.xml"),
    "cut off": GOOD[:-40],
    "no sheet": without(GOOD, SHEET),
    "XML cut off": without(GOOD, SHEET, b"<worksheet><sheetData><row r='1'><c r='A1' t='str'><v>SECRET</v>"),
    "a text that is not there": xlsx({"Data": []}, raw={"Data": '<row r="1"><c r="A1" t="s"><v>9</v></c></row>'}),
    "a changed byte": GOOD.replace(b"PK\1\2", b"PK\1\3", 1),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_workbook_is_refused_in_one_line(tmp_path: Path, damage: str) -> None:
    (tmp_path / "c.xlsx").write_bytes(DAMAGED[damage])
    told = refusal(tmp_path / "c.xlsx")
    assert "is not a whole workbook" in told
    assert "SECRET" not in told


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096)),
        ("c.ods", ods({"Data": [["text"], ["a"]]}, encrypted=True)),
    ],
)
def test_a_password_is_told(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert "is protected by a password" in refusal(tmp_path / name)


def cell(place: str, text: str) -> str:
    return f'<row r="{place.lstrip("ABCDEFXZ")}"><c r="{place}" t="str"><v>{text}</v></c></row>'


def test_a_value_far_from_the_table_takes_no_memory_but_is_refused(tmp_path: Path) -> None:
    raw = cell("A1", "text") + cell("A2", "a") + cell("XFD1048576", "SECRET")  # 17 billion cells
    (tmp_path / "c.xlsx").write_bytes(xlsx({"Data": []}, raw={"Data": raw}))
    told = refusal(tmp_path / "c.xlsx")
    assert "takes more than 4 GiB of memory" in told
    assert "SECRET" not in told


@pytest.mark.parametrize("place", ["A1048577", "XFE1"])
def test_a_sheet_larger_than_a_sheet_can_be_is_refused(tmp_path: Path, place: str) -> None:
    raw = cell("A1", "text") + cell(place, "a") if place != "XFE1" else cell(place, "text")
    (tmp_path / "c.xlsx").write_bytes(xlsx({"Data": []}, raw={"Data": raw}))
    assert "1,048,576 rows or 16,384 columns" in refusal(tmp_path / "c.xlsx")


def test_a_workbook_that_unpacks_to_far_more_than_its_size_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "xlsx", [["text"], ["a" * 2**21]])
    monkeypatch.setattr("dplda.text.compression._UNPACKED", 2**20)
    monkeypatch.setattr(spreadsheets, "start", lambda *given, **options: pytest.fail("was unpacked"))
    assert "unpacks to more than 256 times its size" in refusal(path)


def test_rows_that_end_too_early_are_no_whole_sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "xlsx", [["text"], ["a"], ["b"]])
    found = source(path)
    monkeypatch.setattr("dplda.text.spreadsheets.sheet_process.__name__", "dying_sheet")
    (tmp_path / "dying_sheet.py").write_text(
        "import os, sys\n"
        "def serve(request):\n"
        '    sys.stdout.write(\'{"sheet": "Sheet", "names": ["text"], "n_rows": 2}\\n["a", null, null]\\n["b\')\n'
        "    sys.stdout.flush()\n"
        "    os.abort()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    records = found.records()
    assert next(records) == TextRecord("1", document_key(1), "a")
    with pytest.raises(InputError, match="could not be read"):
        list(records)


def test_no_process_is_left_when_reading_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = source(written(tmp_path, "xlsx", [["text"], *[["a" * 1000]] * 1000]))
    processes = []
    start = spreadsheets.start
    monkeypatch.setattr(
        spreadsheets, "start", lambda *given, **options: processes.append(start(*given, **options)) or processes[-1]
    )
    records = found.records()
    next(records)
    records.close()
    assert [process.poll() is not None for process in processes] == [True]


@pytest.mark.parametrize("name", ["c.xls", "c.xlsb", "c.numbers"])
def test_other_workbooks_are_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert "save it as .xlsx, .ods or CSV" in refusal(tmp_path / name)


def test_a_workbook_among_documents_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "xlsx", [["text"], ["a"]])
    (tmp_path / "note.txt").write_text("note")
    assert "mixes kinds of files (1 spreadsheet, 1 other)" in refusal(tmp_path)
    with pytest.raises(InputError, match=r"have no reader \(1 \.xlsx\)"):
        open_source(tmp_path, ReadOptions(), "folder")


def test_a_sample_has_the_values_and_the_number_of_records(tmp_path: Path) -> None:
    rows = [["who", None, "text", "day"], *([n % 5, "x", f"one two {n}", date(2024, 1, 31)] for n in range(1200))]
    sample = read_sample(written(tmp_path, "xlsx", rows), ReadOptions())
    assert (sample.total, sample.names, len(sample.rows)) == (1200, ("who", "text", "day"), 1000)
    assert [(facts.type, facts.mean_words) for facts in column_facts(sample)] == [
        ("number", 0),
        ("text", 3),
        ("date", 0),
    ]
    assert "spreadsheet" in FORMATS
