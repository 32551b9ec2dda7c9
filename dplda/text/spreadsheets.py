"""Sheets of workbooks, as Excel (.xlsx, .xlsm) and LibreOffice (.ods) write them.

The first row that is not empty names the columns, and each row below it, to the last one with a value, is one record.
A cell is read as it was saved, a formula by its saved result, whatever other cells hold. A workbook that cannot be
read in full is refused before any of its records is read.

The rows come from a process of its own (`dplda.text.sheet_process`), because a small file can take any memory and time.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

from dplda.base.errors import InputError
from dplda.text import sheet_process
from dplda.text.compression import check_unpacked, reading
from dplda.text.confinement import start
from dplda.text.files import open_bytes
from dplda.text.records import (
    Columns,
    Defect,
    ReadOptions,
    Row,
    TextSource,
    choose_columns,
    rows_after,
    shorten,
    text_source,
)

_SPOOLED_BYTES = 1 << 20
_OLD = b"\xd0\xcf\x11\xe0"  # begins workbooks of Excel 97, and those of today that are encrypted
_MANIFEST, _ENCRYPTED = "META-INF/manifest.xml", b"encryption-data"  # of an .ods file
_MANIFEST_BYTES = 1 << 20
_GIB = sheet_process.MEMORY >> 30
_Cells = list[Any]


@dataclass(frozen=True)
class _Sheet:
    """A sheet of the workbook at `path`, with its records `n_rows` below the header that holds the `names`."""

    path: Path
    name: str
    names: list[str]  # empty for a column without a name
    n_rows: int

    @property
    def columns(self) -> list[str]:
        """The names of the columns that have one."""
        return [name for name in self.names if name]

    def records(self, places: Sequence[int | None]) -> Iterator[_Cells | Defect]:
        """Yield the cells at `places` of each record, as they are in JSON; None for an empty cell."""
        with _opened(self.path, self.name, places) as (sheet, lines):
            for _ in range(sheet.n_rows):
                cells = _parsed(self.path, lines)
                yield Defect.TOO_LONG if cells == sheet_process.TOO_LONG else cells

    def rows(self, columns: Columns, skip: int) -> Generator[Row | Defect, None, int]:
        """Return the rows after the first `skip`; see `RowReader`."""
        if skip >= self.n_rows:
            return skip - self.n_rows
        n_texts = len(columns.text)

        def row(cells: _Cells) -> Row:
            texts = (cell if isinstance(cell, str) else None for cell in cells[:n_texts])
            return columns.row([*texts, *map(_value, cells[n_texts:])])

        places = [None if name is None else self.names.index(name) for name in columns.wanted]
        return (yield from rows_after(skip, self.records(places), row))


def spreadsheet_source(files: Sequence[Path], options: ReadOptions) -> TextSource:
    """Return a source of one sheet of each of `files`, each with a header, as one table. Skips empty sheets.

    Raises `InputError` for a workbook that cannot be read, or that has several sheets without `options.sheet`, and if
    a column is missing.
    """
    sheets = _sheets(files, options)
    chosen = [choose_columns(sheets[0].path, sheets[0].columns, options)]
    options = replace(options, text_field=chosen[0].text)  # the same columns in every sheet
    chosen += [choose_columns(sheet.path, sheet.columns, options, first=False) for sheet in sheets[1:]]
    parts = [partial(sheet.rows, columns) for sheet, columns in zip(sheets, chosen, strict=True)]
    return text_source(files, options, parts, sum(sheet.n_rows for sheet in sheets))


def sheet_records(
    files: Sequence[Path], options: ReadOptions
) -> tuple[tuple[str, ...], int, Iterator[dict[str, Any] | Defect]]:
    """Return the columns of the first sheet, the number of records, and all records with all values.

    Raises `InputError` as `spreadsheet_source` does.
    """
    sheets = _sheets(files, options)

    def records() -> Iterator[dict[str, Any] | Defect]:
        for sheet in sheets:
            places = [place for place, name in enumerate(sheet.names) if name]
            for cells in sheet.records(places):
                if isinstance(cells, Defect):
                    yield cells
                else:
                    yield dict(zip(sheet.columns, map(_value, cells), strict=True))

    return tuple(sheets[0].columns), sum(sheet.n_rows for sheet in sheets), records()


def _sheets(files: Sequence[Path], options: ReadOptions) -> list[_Sheet]:
    sheets = []
    for path in files:
        with _opened(path, options.sheet, ()) as (sheet, _):
            sheets.append(sheet)
    if not any(sheet.names for sheet in sheets):
        raise InputError(f"Sheet {sheets[0].name!r} of {files[0]} is empty: its first row must name the columns.")
    return [sheet for sheet in sheets if sheet.names]


@contextmanager
def _opened(path: Path, name: str | None, places: Sequence[int | None]) -> Iterator[tuple[_Sheet, IO[bytes]]]:
    """Open the sheet called `name`, or the only one; yield it, and its cells at `places` as lines of JSON.

    Raises `InputError` if the workbook cannot be read. All of it was read when this yields.
    """
    with reading(path), tempfile.TemporaryFile() as spool:
        with open_bytes(path) as stream:
            while part := stream.read(_SPOOLED_BYTES):
                check_unpacked(path, spool.tell() + len(part))
                spool.write(part)
        _check_file(path, spool)
        spool.seek(0)
        with start(sheet_process.__name__, json.dumps([name, list(places)]), stdin=spool) as process:
            try:
                assert process.stdout is not None
                head = _parsed(path, process.stdout)
                if "error" in head:
                    _refuse(path, name, head)
                yield _Sheet(path, head["sheet"], head["names"], head["n_rows"]), process.stdout
            finally:
                process.kill()


def _check_file(path: Path, file: IO[bytes]) -> None:
    """Raise `InputError` for a file that is encrypted, or no workbook, or that unpacks to far more than its size."""
    file.seek(0)
    encrypted = file.read(len(_OLD)) == _OLD
    if not encrypted:
        try:
            with zipfile.ZipFile(file) as packed:
                check_unpacked(path, sum(member.file_size for member in packed.infolist()))
                if _MANIFEST in packed.namelist():
                    with packed.open(_MANIFEST) as manifest:
                        encrypted = _ENCRYPTED in manifest.read(_MANIFEST_BYTES)
        except InputError:
            raise
        except Exception:  # whatever a damaged file makes zipfile raise
            raise _broken(path) from None
    if encrypted:
        raise InputError(
            f"{path} is protected by a password, or was written by Excel 97. Open it and save it as .xlsx or .ods "
            "without a password."
        )


def _parsed(path: Path, lines: IO[bytes]) -> Any:
    """Return the next of `lines`. Raises `InputError` if the process that writes them ended before."""
    line = lines.readline()
    if not line.endswith(b"\n"):
        raise InputError(
            f"{path} could not be read: it is damaged, or its sheet takes more than {_GIB} GiB of memory, as it does "
            "with a value far below or beside the table. Delete such values, or save the sheet as CSV."
        )
    return json.loads(line)


def _refuse(path: Path, name: str | None, head: sheet_process.NoHead) -> NoReturn:
    listed = f"Its sheets: {shorten(head['sheets'])}."
    if head["error"] == sheet_process.SEVERAL_SHEETS:
        raise InputError(f"{path} has {len(head['sheets'])} sheets. Name one with --sheet (sheet). {listed}")
    if head["error"] == sheet_process.NO_SUCH_SHEET:
        meant = "".join(f"Did you mean {close!r}? " for close in get_close_matches(str(name), head["sheets"], n=1))
        raise InputError(f"{path} has no sheet {name!r}. {meant}{listed}")
    if head["error"] == sheet_process.TOO_LARGE:
        raise InputError(
            f"{path} has a sheet of more than {sheet_process.MAX_ROWS:,} rows or {sheet_process.MAX_COLUMNS:,} "
            "columns, which Excel would not open. Save it as CSV."
        )
    raise _broken(path)


def _broken(path: Path) -> InputError:
    return InputError(
        f"{path} is not a whole workbook of Excel (.xlsx) or LibreOffice (.ods). Save it again, or save its sheet as "
        "CSV."
    )


def _value(cell: Any) -> Any:
    """Return the value of a cell that came as JSON."""
    if not isinstance(cell, list):
        return cell
    kind, spelling = cell
    if kind == sheet_process.ROUNDED:
        return spelling
    return datetime.fromisoformat(spelling) if "T" in spelling else date.fromisoformat(spelling)
