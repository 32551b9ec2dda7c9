"""The process that reads one sheet of a workbook (.xlsx, .ods) and passes its rows on, one JSON value a line.

The library calamine holds a whole sheet in memory, empty cells included, and aborts if there is not enough: two cells
in opposite corners of a sheet would take 400 GB. So it runs in a process of its own, which `dplda.text.spreadsheets`
starts.

The first line is a `Head`, or says why there is none (`NoHead`). The others are the rows after the header: lists of
cells, or `TOO_LONG`. A cell is a string, a truth value, a number or null; a date, or a number that may be rounded, is a
list of its kind and spelling.
"""

from __future__ import annotations

import json
import math
import sys
from datetime import date
from typing import TYPE_CHECKING, Any, TypedDict

from dplda.text.compression import MAX_BYTES
from dplda.text.confinement import confine

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

MEMORY = 4 << 30  # bytes of address space
MAX_ROWS, MAX_COLUMNS = 1 << 20, 1 << 14  # of a sheet in Excel and LibreOffice
BROKEN, TOO_LARGE, NO_SUCH_SHEET, SEVERAL_SHEETS = "broken", "too large", "no such sheet", "several sheets"
DATE, ROUNDED = "date", "rounded"
TOO_LONG = "too long"
_CPU_SECONDS = 600
_HEADER_CHARACTERS = 1 << 20
_ROUNDED = 1e15  # Excel keeps 15 digits, so whole numbers from here on may be rounded


class Head(TypedDict):
    """What precedes the records of a sheet."""

    sheet: str
    names: list[str]  # of the columns; empty for a column without a name
    n_rows: int  # number of rows below the header, to the last one that has a value


class NoHead(TypedDict):
    """Why no sheet can be read."""

    error: str
    sheets: list[str]  # the sheets to choose from


def serve(request: str) -> None:
    """Write the rows of the workbook on standard input to standard output.

    `request` is JSON: the name of the sheet, or null for the only one that is not hidden, and the positions of the
    columns to read, where null stands for a cell without a value; or null for all columns.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    name, places = json.loads(request)
    workbook = sys.stdin.buffer
    confine(MEMORY, _CPU_SECONDS)
    try:
        sheet = _find_sheet(CalamineWorkbook.from_filelike(workbook), name)
    except CalamineError:
        sheet = NoHead(error=BROKEN, sheets=[])
    if isinstance(sheet, dict):
        _write(sheet)
        return

    end_row, end_column = sheet.end or (-1, -1)
    if end_row >= MAX_ROWS or end_column >= MAX_COLUMNS:
        _write(NoHead(error=TOO_LARGE, sheets=[]))
        return
    rows, names = sheet.iter_rows(), list[str]()
    n_rows = end_row + 1
    for row in rows:
        n_rows -= 1
        if any(cell != "" for cell in row):
            names = [_name(cell) for cell in row]
            break
    if sum(map(len, names)) > _HEADER_CHARACTERS:
        _write(NoHead(error=TOO_LARGE, sheets=[]))
        return
    _write(Head(sheet=sheet.name, names=names, n_rows=n_rows))
    for row in rows:  # each is a record, even if it is empty, so that no row changes the number of another
        cells = row if places is None else [None if place is None else row[place] for place in places]
        _write(list(map(_cell, cells)))
    sys.stdout.buffer.flush()


def _find_sheet(workbook: CalamineWorkbook, name: str | None) -> CalamineSheet | NoHead:
    """Return the sheet called `name`, or the only one that is not hidden."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    names = [sheet.name for sheet in sheets]
    visible = [sheet.name for sheet in sheets if sheet.visible == SheetVisibleEnum.Visible] or names
    if name is not None and name not in names:
        return NoHead(error=NO_SUCH_SHEET, sheets=names)
    if name is None and len(visible) != 1:
        return NoHead(error=SEVERAL_SHEETS if visible else BROKEN, sheets=visible)
    return workbook.get_sheet_by_name(visible[0] if name is None else name)


def _name(cell: Any) -> str:
    """Return the name of a column, as the header's `cell` shows it."""
    value = _cell(cell)
    return "" if value is None else str(value[1] if isinstance(value, list) else value).strip()


def _cell(value: Any) -> Any:
    """Return a cell as JSON. It depends on this cell alone. Times of day and durations are left out."""
    if isinstance(value, (str, bool)):
        return value if value != "" else None
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            return None
        if abs(value) >= _ROUNDED:
            return [ROUNDED, f"{value:.14e}"]
        return int(value) if float(value).is_integer() else value
    return [DATE, value.isoformat()] if isinstance(value, date) else None


def _write(line: Any) -> None:
    content = json.dumps(line).encode()
    sys.stdout.buffer.write((content if len(content) <= MAX_BYTES else json.dumps(TOO_LONG).encode()) + b"\n")
