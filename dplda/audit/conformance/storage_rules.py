"""Rules about the ledger's files: edits are noticed, and nothing is released that could not be recorded."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from dplda.audit.conformance.harness import (
    Broken,
    Harness,
    NotApplicable,
    Place,
    admits,
    received,
    restore,
    spread,
    succeeds,
)
from dplda.audit.conformance.interface import Factory, Request

_LOCKED_SECONDS = 10.0  # how long a lock is held at most, for ledgers that wait
_NUMBER = re.compile(rb"(?<![\w.])\d[\d.]*(?!\w)")  # not the digits of identifiers
_EACH = 10  # edits of one kind for each file
_HEADER = b"SQLite format 3\0"

_Edit = tuple[str, Callable[[], None]]  # what is changed, and the change


def edits_are_noticed(harness: Harness) -> None:
    """Edits of the stored files give nothing back.

    Numbers set to zero, lines and rows removed, bytes changed, the end cut off: the ledger refuses, or the change does
    not concern what is spent. If a ledger breaks this rule, a text editor or a faulty disk lifts the limit, and no
    audit of the file means anything. (Edits by someone who has the ledger's key, if it has one, are another matter.)
    """
    place = harness.new_place()
    plan, open_run = harness.plan(), harness.request(0.01 * harness.size)
    with harness.open(place) as ledger:
        handle = ledger.reserve(plan)
        handle.charge(0)
        handle.finish()
        if not admits(ledger, open_run):
            raise Broken("a release was refused although there was room for it")
    original = harness.copy_of(place)
    for what, edit in edits_of(place.folder):
        edit()
        if harness.holds_another(place):
            raise Broken(f"{what}, and what was charged came back")
        restore(original.folder, place.folder)
        restore(original.outside, place.outside)


def full_disk_releases_nothing(harness: Harness) -> None:
    """If a disk takes no more data, `charge` raises.

    The caller releases as soon as `charge` returns. If a ledger breaks this rule, a full disk gives answers for free.
    """
    if os.name != "posix":
        raise NotApplicable("the size of files is limited by POSIX")
    for planned in (True, False):
        place = harness.new_place()
        released = harness.result(_run_on_full_disk, harness.factory, place, harness.plan(), planned)
        if released is None:
            raise Broken("a run could not be reserved in another process")
        _check_recorded(harness, place, released, "no file could grow")


def _run_on_full_disk(connection: Connection, factory: Factory, place: Place, request: Request, planned: bool) -> None:
    """Reserve before or after writing becomes impossible, then charge. Sends whether the charge returned."""
    import resource

    ledger = factory(place.folder, place.outside)
    handle = ledger.reserve(request) if planned else None
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    released = admits(ledger, request, (Exception,)) if handle is None else succeeds(handle.charge, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    if handle is not None:
        succeeds(handle.abandon)
    connection.send(released)


def missing_folder_releases_nothing(harness: Harness) -> None:
    """If the ledger's folder is gone, `charge` raises, and no new ledger takes its place.

    Disks are unmounted, and folders renamed. If a ledger breaks this rule, a run that cannot find its ledger releases
    without one.
    """
    place, plan = harness.new_place(), harness.plan()
    with harness.open(place) as ledger:
        handle = ledger.reserve(plan)
        with _moved_away(place.folder):
            released = succeeds(handle.charge, 0)
        succeeds(handle.abandon)
    _check_recorded(harness, place, released, "its folder was gone")


@contextmanager
def _moved_away(folder: Path) -> Iterator[None]:
    elsewhere = folder.with_name("moved")
    folder.rename(elsewhere)
    try:
        yield
    finally:
        restore(elsewhere, folder)


def locked_file_releases_nothing(harness: Harness) -> None:
    """If another program holds the ledger's locks, `charge` waits or raises.

    If a ledger breaks this rule, a backup program or a second process that is at work makes answers free.
    """
    if os.name != "posix":
        raise NotApplicable("files are locked by POSIX")
    place, plan = harness.new_place(), harness.plan()
    with harness.open(place) as ledger:
        handle = ledger.reserve(plan)
        process, connection = harness.start(_hold_locks, place.folder)
        received(connection)
        released = succeeds(handle.charge, 0)
        connection.send("done")
        process.join()
        succeeds(handle.abandon)
    _check_recorded(harness, place, released, "its files were locked")


def _hold_locks(connection: Connection, folder: Path) -> None:
    """Lock every file in `folder` in every way that a program might, until told that the test is over."""
    import fcntl

    with ExitStack() as stack:
        for file in (path for path in folder.rglob("*") if path.is_file()):
            if _is_database(file):
                database = stack.enter_context(closing(sqlite3.connect(file, isolation_level=None)))
                database.execute("BEGIN EXCLUSIVE")
            else:
                opened = stack.enter_context(file.open("r+b"))
                fcntl.flock(opened, fcntl.LOCK_EX)
                fcntl.lockf(opened, fcntl.LOCK_EX)
        connection.send("locked")
        connection.poll(_LOCKED_SECONDS)


def _check_recorded(harness: Harness, place: Place, released: bool, fault: str) -> None:
    if released and harness.holds_another(place):
        raise Broken(f"{fault}, and a release was permitted without a record of its charge")


def _is_database(file: Path) -> bool:
    """Whether `file` is an SQLite database."""
    with file.open("rb") as opened:
        return opened.read(len(_HEADER)) == _HEADER


def edits_of(folder: Path) -> Iterator[_Edit]:
    """Edits of each file in `folder`, each of them to be made on the original files.

    Numbers in text become zero, lines and rows are removed, columns of numbers become zero, bytes are changed, and the
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
        if _is_database(file):
            yield from _database_edits(file)
        else:
            lines = content.splitlines(keepends=True)
            for i in spread(len(lines), _EACH):
                changed = b"".join(lines[:i] + lines[i + 1 :])
                yield _written(f"line {i + 1} of {file.name} was removed", file, changed)


def _zero(length: int) -> bytes:
    """The number zero in exactly `length` bytes, as valid JSON: ``0``, ``0`` and a space, or ``0.0``, ``0.00``, ..."""
    return b"0." + b"0" * (length - 2) if length > 2 else b"0 "[:length]


def _some(values: list[re.Match[bytes]]) -> list[re.Match[bytes]]:
    return [values[i] for i in spread(len(values), _EACH)]


def _written(what: str, file: Path, content: bytes) -> _Edit:
    def write() -> None:
        file.write_bytes(content)

    return what, write


def _database_edits(file: Path) -> Iterator[_Edit]:
    """Edits of a database, one by one: a table loses its rows, or a column of numbers becomes zero."""
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
