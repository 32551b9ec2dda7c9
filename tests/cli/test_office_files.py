"""What an office has: workbooks, and CSV as Excel and LibreOffice export it."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from full_helpers import full_after
from workbooks import ods, xlsx

from dplda.private.store.count_store import CountStore

THEMES = ("boiler pipe heating cold radiator", "invoice money payment bank refund")
COLUMNS = ["Kunde", "Team", "Datum", "Beschwerde", "Betrag"]
SECRET = "haemorrhage"


def tickets(n: int) -> list[list[Any]]:
    """Tickets with dates and numbers, and texts with line breaks, quotation marks and letters beyond ASCII."""
    rows: list[list[Any]] = []
    for i in range(n):
        words = random.Random(i).choices(THEMES[i % 2].split(), k=12)
        text = " ".join(words) + ('\n"größe", naïve; café' if i % 5 == 0 else "")
        rows.append([i % (n // 2), ("heat", "cash")[i % 2], date(2024, i % 3 + 1, 11), text, i + 0.5])
    return rows


def exported(delimiter: str = ";", *, end: str = "\r\n", point: str = ",") -> str:
    """The tickets as an office exports them: numbers with a decimal comma, days first."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerow(COLUMNS)
    for who, team, day, text, amount in tickets(300):
        writer.writerow([who, team, day.strftime("%d.%m.%Y"), text, str(amount).replace(".", point)])
    return out.getvalue()


def written_by_openpyxl(rows: list[list[Any]]) -> bytes:
    workbook, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        workbook.active.append(row)
    workbook.save(out)
    return out.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "excel.xlsx": lambda: xlsx({"Tabelle1": [COLUMNS, *tickets(300)]}),
    "openpyxl.xlsx": lambda: written_by_openpyxl([COLUMNS, *tickets(300)]),
    "libreoffice.ods": lambda: ods({"Tabelle1": [COLUMNS, *tickets(300)]}),
    "utf-8-with-mark.csv": lambda: exported().encode("utf-8-sig"),
    "windows-1252.csv": lambda: exported().encode("cp1252"),
    "libreoffice.csv": lambda: exported(",", end="\n", point=".").encode(),
    "tabs.csv": lambda: exported("\t").encode(),
    "tabs.tsv": lambda: exported("\t").encode("utf-8-sig"),
}


@pytest.mark.parametrize("name", full_after(3, FILES))
def test_each_is_read_by_check_and_by_an_import(dplda, home: Path, name: str) -> None:
    (home / name).write_bytes(FILES[name]())
    record = dplda("check", name, "--json").json
    assert record["problems"] == []
    assert [column["name"] for column in record["columns"]] == COLUMNS
    assert (record["records"] or record["estimated_records"]) == pytest.approx(300, rel=0.05)
    types = [column["type"] for column in record["columns"]]
    assert [types[0], types[3], types[4]] == ["number", "text", "number"]
    assert (record["text_field"], record["people"]) == ("Beschwerde", "Kunde")
    answer = dplda("corpus", "import", name, "store", "--text-field", "Beschwerde", "--unit-field", "Kunde")
    assert answer.status == 0, answer.err
    store = CountStore.open(home / "store")
    assert store.n_documents == 300
    assert {"größe", "naïve", "café", "boiler"} <= set(store.dictionary)


ONE_LINE = {
    "utf-16.csv": (exported("\t").encode("utf-16"), "is encoded as UTF-16. Save it as UTF-8"),
    "utf-16-be.tsv": (b"\xfe\xff" + exported("\t").encode("utf-16-be"), "is encoded as UTF-16. Save it as UTF-8"),
    "sep.csv": (b"\xef\xbb\xbfsep=;\r\n" + exported().encode(), "begins with a line for Excel (sep=). Delete it"),
    "old-mac.csv": (exported(end="\r").encode(), "that its lines end at LF or CR LF"),
    "comma-in-a-name.csv": (exported().replace("Betrag", "Betrag, EUR", 1).encode(), "more than one of comma, semic"),
    "several.xlsx": (xlsx({"Tickets": [["text"]], "Listen": [["x"]]}), "Name one with --sheet (sheet). Its sheets: Ti"),
    "old.xls": (b"\xd0\xcf\x11\xe0", "save it as .xlsx, .ods or CSV"),
    "locked.xlsx": (b"\xd0\xcf\x11\xe0" + bytes(999), "is protected by a password"),
}


@pytest.mark.parametrize("name", ONE_LINE)
def test_what_is_not_read_is_refused_in_one_line_that_says_what_to_do(dplda, home: Path, name: str) -> None:
    content, told = ONE_LINE[name]
    (home / name).write_bytes(content)
    answer = dplda("fit", name)
    assert (answer.status, len(answer.err.splitlines())) == (2, 1)
    assert told in answer.err
    assert told in " ".join(dplda("check", name, "--json").json["problems"])


@pytest.mark.full
def test_a_workbook_is_fitted_and_tabulated(dplda, home: Path) -> None:
    content = {"Hinweise": [["Stand: 2024"]], "Daten": [COLUMNS, *tickets(3000)]}
    (home / "t.xlsx").write_bytes(xlsx(content))
    read = ("t.xlsx", "--sheet", "Daten", "--text-field", "Beschwerde")
    assert f"dplda fit {' '.join(read[:3])}" in dplda("check", *read[:3]).out
    asked = ("--topics", "2", "--epsilon", "6", "--max-document-frequency", "0.9")
    run = dplda("fit", *read, *asked, "--json")
    assert run.status == 0, run.err
    days = ("--from", "2024-01-01", "--to", "2024-03-31")
    by = ("--by", "Team", "--by", "month(Datum)", *days, "--epsilon", "4", "--json")
    table = dplda("tabulate", run.json["run"], *read, *by)
    assert table.status == 0, table.err
    assert {group["group"] for group in table.json["groups"]} >= {"heat", "cash"}
    months = [group["group"] for group in table.json["others"][0]["groups"]]
    assert months == ["2024-01", "2024-02", "2024-03", "(all others)"]


# The column of the text, which a fit does not guess.


@pytest.mark.parametrize("command", full_after(1, ["fit", "corpus import"]))
@pytest.mark.parametrize("name", ["excel.xlsx", "windows-1252.csv"])
def test_the_only_column_of_long_text_is_proposed(dplda, home: Path, name: str, command: str) -> None:
    (home / name).write_bytes(FILES[name]())
    answer = dplda(*command.split(), name, *(["store"] if command != "fit" else []))
    assert answer.status == 2
    assert len(answer.err.splitlines()) == 1
    assert answer.err.endswith("holds long text (exact, not private): try --text-field Beschwerde.\n")
    assert not (home / "ledger.db").exists()
    assert dplda("fit", name, "--text-field", "Beschwerde", "--dry-run").status == 0


def lines(folder: Path, records: list[dict[str, Any]]) -> str:
    (folder / "c.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return "c.jsonl"


@pytest.mark.parametrize(
    ("records", "proposed"),
    [
        ([{"my note": "one two three four five", "name": "Ann Lee"}], "try --text-field 'my note'."),
        ([{"note": "one two three four five", "other": "six seven eight nine ten"}], None),  # two
        ([{"note": "one two", "name": "Ann Lee"}], None),  # none
        ([{"note": "one two three four five", SECRET: "a"}, {"note": "one two three four five"}], "--text-field note."),
        ([{SECRET: "one two three four five six seven"}, {"note": "a"}], None),  # a key that may be content
        ([{"note": "one two three four five", "What she said, then": "a"}], None),  # may be no name of a column
    ],
)
def test_one_column_or_none_is_proposed(dplda, home: Path, records: list[Any], proposed: str | None) -> None:
    answer = dplda("fit", lines(home, records * 3))
    assert answer.status == 2
    assert "Which column of c.jsonl holds the text?" in answer.err
    assert ("try --text-field" in answer.err) == (proposed is not None)
    assert (proposed or "") in answer.err
    assert SECRET not in answer.err


def test_nothing_is_proposed_for_standard_input(dplda, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'{"note": "one two three four five"}\n' * 9
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    answer = dplda("fit", "-", "--format", "jsonl")
    assert answer.status == 2
    assert "holds the text?" in answer.err
    assert "long text" not in answer.err
