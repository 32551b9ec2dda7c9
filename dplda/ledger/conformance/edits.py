"""Edits of stored files, as a person or a faulty disk makes them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from dplda.ledger.conformance.harness import spread

_NUMBER = re.compile(rb"\d[\d.]*")
_EACH = 10  # edits of one kind for each file
_HEADER = b"SQLite format 3\0"

_Edit = tuple[str, Callable[[], None]]  # what is changed, and the change


def is_database(file: Path) -> bool:
    """Whether `file` is an SQLite database."""
    with file.open("rb") as opened:
        return opened.read(len(_HEADER)) == _HEADER


def edits_of(folder: Path) -> Iterator[_Edit]:
    """Edits of each file in `folder`, each of them to be made on the original files.

    Numbers in text become zero, lines and rows are removed, columns of numbers are emptied, bytes are changed, and the
    end is cut off.
    """
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        numbers = list(_NUMBER.finditer(content))
        for number in _some(numbers):
            changed = content[: number.start()] + _zero(len(number[0])) + content[number.end() :]
            yield _written(f"the number at byte {number.start()} of {file.name} became zero", file, changed)
        for i in spread(len(content), _EACH):
            changed = content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :]
            yield _written(f"byte {i} of {file.name} was changed", file, changed)
        if content:
            yield _written(f"half of {file.name} was cut off", file, content[: len(content) // 2])
        if is_database(file):
            yield from _database_edits(file)
        else:
            lines = content.splitlines(keepends=True)
            for i in spread(len(lines), _EACH):
                changed = b"".join(lines[:i] + lines[i + 1 :])
                yield _written(f"line {i + 1} of {file.name} was removed", file, changed)


def _zero(length: int) -> bytes:
    """Zero in so many bytes, as JSON has it."""
    return b"0." + b"0" * (length - 2) if length > 2 else b"0 "[:length]


def _some(values: list[re.Match[bytes]]) -> list[re.Match[bytes]]:
    return [values[i] for i in spread(len(values), _EACH)]


def _written(what: str, file: Path, content: bytes) -> _Edit:
    def write() -> None:
        file.write_bytes(content)

    return what, write


def _database_edits(file: Path) -> Iterator[_Edit]:
    """Columns of numbers emptied and tables emptied; a copy of an old file knows nothing of these tables."""
    with closing(sqlite3.connect(file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            yield _executed(f"the rows of table {table} were removed", file, f'DELETE FROM "{table}"')
            for _, column, *_ in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
                number = (
                    f'SELECT 1 FROM "{table}" WHERE typeof("{column}") IN (\'integer\', \'real\') AND "{column}" != 0'
                )
                if connection.execute(number).fetchone():
                    what = f"column {column} of table {table} became zero"
                    yield _executed(what, file, f'UPDATE OR REPLACE "{table}" SET "{column}" = 0')


def _executed(what: str, file: Path, statement: str) -> _Edit:
    def execute() -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute(statement)

    return what, execute
