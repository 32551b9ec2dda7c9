"""Rules about the ledger's files: edits are noticed, and nothing is released that could not be recorded."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from dplda.ledger.conformance.edits import edits_of, is_database
from dplda.ledger.conformance.harness import Broken, Harness, NotApplicable, Place, admits, restore, succeeds
from dplda.ledger.conformance.interface import Factory, Request

_LOCKED_SECONDS = 10.0  # how long a lock is held at most, for ledgers that wait


def edits_are_noticed(harness: Harness) -> None:
    """Edits of the stored files give nothing back.

    Numbers set to zero, lines and rows removed, bytes changed, the end cut off: the ledger refuses, or the change does
    not concern what is spent. Otherwise, a text editor or a faulty disk lifts the limit, and no audit of the file means
    anything. (Edits by someone who has the ledger's key, if it has one, are another matter.)
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

    The caller releases as soon as `charge` returns. Otherwise, a full disk gives answers for free.
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
    """Reserve before or while no file may be written, then charge; sends whether that returned."""
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

    Disks are unmounted, and folders renamed. Otherwise, a run that cannot find its ledger releases without one.
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

    Otherwise, a backup program or a second process that is at work makes answers free.
    """
    if os.name != "posix":
        raise NotApplicable("files are locked by POSIX")
    place, plan = harness.new_place(), harness.plan()
    with harness.open(place) as ledger:
        handle = ledger.reserve(plan)
        process, connection = harness.start(_hold_locks, place.folder)
        connection.recv()
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
            if is_database(file):
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
