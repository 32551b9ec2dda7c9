"""Rules about what is stored: it survives crashes, races and old copies, edits are noticed, and faults give nothing."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from multiprocessing.connection import Connection
from operator import methodcaller
from pathlib import Path

from dplda.audit.conformance.harness import (
    Broken,
    Harness,
    NotApplicable,
    Place,
    admits,
    kill,
    receive,
    restore,
    spread,
    storage_calls,
    succeeds,
    wait_for_others,
)
from dplda.audit.conformance.interface import BudgetLedger, Factory, Handle, Request

_LOCKED_SECONDS = 10.0  # how long a lock is held at most, for ledgers that wait
_NUMBER = re.compile(rb"(?<![\w.])\d[\d.]*(?!\w)")  # not the digits of identifiers
_EACH = 10  # edits of one kind for each file
_HEADER = b"SQLite format 3\0"

_PROCESSES, _THREADS = 3, 8
_ROUNDS = 3  # races
_Edit = tuple[str, Callable[[], object]]  # what is changed, and the change


def crash_keeps_charges(harness: Harness) -> None:
    """A process that is killed at any moment gives back nothing that it may have released.

    Charges are on disk when `charge` returns. When the ledger is opened again, they count, whether the run was still
    going on, was being charged again, or was being finished or abandoned. Only what was surely not released may come
    back. If a ledger breaks this rule, killing the program after each answer gives any number of answers for one.
    """
    if os.name != "posix":
        raise NotApplicable("processes are killed by a POSIX signal")
    plan = harness.plan()
    for ending in (_charge_and_finish, methodcaller("abandon")):
        with harness.open(harness.new_place()) as ledger:
            handle = ledger.reserve(plan)
            handle.charge(0)
            with storage_calls() as moments:
                ending(handle)
        for moment in (*map(moments.index, dict.fromkeys(moments)), None):
            place = harness.new_place()
            if harness.result(_killed_run, harness.factory, place, plan, ending, moment) is None:
                raise Broken("a run could not be reserved and charged in another process")
            if harness.holds_another(place):
                when = "when it had ended" if moment is None else f"at storage call {moment} of {len(moments)} in"
                raise Broken(f"a process was killed {when} the call after a charge, and what was charged came back")


def _charge_and_finish(handle: Handle) -> None:
    handle.charge(1)
    handle.finish()


def _killed_run(
    connection: Connection,
    factory: Factory,
    place: Place,
    request: Request,
    ending: Callable[[Handle], object],
    moment: int | None,
) -> None:
    handle = factory(place.folder, place.outside).reserve(request)
    handle.charge(0)
    connection.send("charged")
    with storage_calls(moment):
        ending(handle)
    kill()


def open_reservations_count(harness: Harness) -> None:
    """A budget that a running process has reserved is not given to another one.

    A ledger that clears up unfinished runs when it is opened must know that their processes have died. If a ledger
    breaks this rule, two processes spend the same budget.
    """
    whole, place = harness.request(harness.size), harness.new_place()
    with harness.open(place) as ledger:
        handle = ledger.reserve(whole)
        taken = harness.result(_take_once, harness.factory, place, whole)
        if taken and succeeds(handle.charge, 0):
            raise Broken("a process reserved the budget, another one reserved it again, and both charged it")


def _take_once(connection: Connection, factory: Factory, place: Place, request: Request) -> None:
    connection.send(admits(factory(place.folder, place.outside), request, (Exception,)))


def processes_share_one_budget(harness: Harness) -> None:
    """If several processes ask for the last of a budget at the same time, at most one gets it.

    The check and the record are one step that excludes all others. If a ledger breaks this rule, each of several
    processes finds room before the others have written, and the grant is exceeded as often as there are processes.
    """
    whole = harness.request(harness.size)
    places = [harness.new_place() for _ in range(_ROUNDS)]
    arguments = (harness.factory, places, whole)
    charged = harness.race(_compete, *arguments, processes=_PROCESSES, rounds=2 * _ROUNDS)
    most = max(map(sum, zip(*charged, strict=True)))
    if most > 1:
        raise Broken(f"{most} of {_PROCESSES} processes spent, at the same time, what there was once")


def _compete(connection: Connection, factory: Factory, places: Sequence[Place], request: Request) -> None:
    charged = []
    for place in places:
        ledger = factory(place.folder, place.outside)
        charged.append(_spend(ledger, request, lambda: wait_for_others(connection)))
    connection.send(charged)


def _spend(ledger: BudgetLedger, request: Request, wait: Callable[[], object]) -> bool:
    """Reserve `request`, then charge it, each at the same moment as other processes. Returns whether both succeeded."""
    wait()
    try:
        charge = ledger.reserve(request).charge
    except Exception:
        charge = None
    wait()
    return charge is not None and succeeds(charge, 0)


def threads_share_one_budget(harness: Harness) -> None:
    """If several threads use one open ledger, at most one gets the last of a budget, and at most one charges a release.

    A server answers each caller in a thread. If a ledger breaks this rule, two callers spend the same budget, or get
    two answers for one charge.
    """
    whole = harness.request(harness.size)
    for _ in range(_ROUNDS):
        barrier = threading.Barrier(_THREADS)
        with harness.open(harness.new_place()) as ledger:
            charged = _in_threads(partial(_spend, ledger, whole, barrier.wait))
        if charged > 1:
            raise Broken(f"{charged} of {_THREADS} threads spent, at the same time, what there was once")
    with harness.open(harness.new_place()) as ledger:
        charge = ledger.reserve(whole).charge
        charged = _in_threads(partial(succeeds, charge, 0))
    if charged > 1:
        raise Broken(f"{charged} of {_THREADS} threads charged the same release")


def _in_threads(work: Callable[[], bool]) -> int:
    """Run a call in several threads at once. Returns how many succeed."""
    with ThreadPoolExecutor(_THREADS) as threads:
        return sum(done.result() for done in [threads.submit(work) for _ in range(_THREADS)])


def old_copy_is_noticed(harness: Harness) -> None:
    """An old copy that replaces the ledger's files is noticed, and gives nothing back.

    Backups, synchronised folders and snapshots of machines put old files in place of newer ones. An old file is intact
    in itself, so that the ledger must keep something elsewhere (in the folder `outside`): how far it had come. It then
    refuses, or counts what is missing. If a ledger breaks this rule, whoever can copy a file has a new budget whenever
    they like.
    """
    plan, place = harness.plan(), harness.new_place()
    copies = {"the copy from before the first run": harness.copy_of(place)}
    with harness.open(place) as ledger:
        handle = ledger.reserve(plan)
        copies["the copy from between reservation and charge"] = harness.copy_of(place)
        handle.charge(0)
        handle.finish()
    latest = harness.copy_of(place)
    for name, copy in copies.items():
        restore(latest.outside, place.outside)
        restore(copy.folder, place.folder)
        if harness.holds_another(place):
            raise Broken(f"{name} was put back, and the budget could be spent again")


def old_copy_charges_nothing_again(harness: Harness) -> None:
    """After an old copy was put back, a run in progress cannot charge a release again.

    The files may be replaced while a process has the ledger open. If a ledger breaks this rule, the process charges the
    same release for each answer, and restores the old file in between.
    """
    plan, place = harness.plan(), harness.new_place()
    with harness.open(place) as ledger:
        handle = ledger.reserve(plan)
        copy = harness.copy_of(place)
        handle.charge(0)
        restore(copy.folder, place.folder)
        if succeeds(handle.charge, 0):
            raise Broken("an old copy was put back while a run was going on, and its release was charged again")


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
        elsewhere = place.folder.with_name("moved")
        place.folder.rename(elsewhere)
        released = succeeds(handle.charge, 0)
        restore(elsewhere, place.folder)
        succeeds(handle.abandon)
    _check_recorded(harness, place, released, "its folder was gone")


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
        receive(connection)
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
    """Yield edits of each file in `folder`; apply each one to the original files.

    Numbers in text become zero, lines and rows are removed, columns of numbers become zero, bytes are changed, and the
    end is cut off.
    """
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        numbers = list(_NUMBER.finditer(content))
        for i in spread(len(numbers), _EACH):
            first, last = numbers[i].span()
            length = last - first  # kept: "0", "0 ", "0.0", "0.00", ... are valid JSON
            zero = b"0." + b"0" * (length - 2) if length > 2 else b"0 "[:length]
            changed = content[:first] + zero + content[last:]
            yield f"the number at byte {first} of {file.name} became zero", partial(file.write_bytes, changed)
        for i in spread(len(content), _EACH):
            changed = content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :]
            yield f"byte {i} of {file.name} was changed", partial(file.write_bytes, changed)
        if content:
            yield f"half of {file.name} was cut off", partial(file.write_bytes, content[: len(content) // 2])
        if _is_database(file):
            yield from _database_edits(file)
        else:
            lines = content.splitlines(keepends=True)
            for i in spread(len(lines), _EACH):
                changed = b"".join(lines[:i] + lines[i + 1 :])
                yield f"line {i + 1} of {file.name} was removed", partial(file.write_bytes, changed)


def _database_edits(file: Path) -> Iterator[_Edit]:
    """Yield edits of a database, one by one: a table loses its rows, or a column of numbers becomes zero."""
    with closing(sqlite3.connect(file)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            yield f"the rows of table {table} were removed", partial(_execute, file, f'DELETE FROM "{table}"')
            for _, column, *_ in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
                number = (
                    f'SELECT 1 FROM "{table}" WHERE typeof("{column}") IN (\'integer\', \'real\') AND "{column}" != 0'
                )
                if connection.execute(number).fetchone():
                    what = f"column {column} of table {table} became zero"
                    yield what, partial(_execute, file, f'UPDATE OR REPLACE "{table}" SET "{column}" = 0')


def _execute(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(statement)
