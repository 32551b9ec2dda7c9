"""Power cuts between any two things that the disk was told, and disks that are full at any of them.

What a cut leaves is everything that was synced and any part of what was not (`disk.Disk`).
"""

from __future__ import annotations

import random
import shutil
from functools import partial
from operator import le
from pathlib import Path

import pytest
from disk import REACHABLE, Disk, watched
from ledger_helpers import gaussian, reserve, sample, spend
from sqlalchemy import event

from dplda.base.errors import DpldaError, LedgerError
from dplda.budget import Ledger
from dplda.budget.sketches import Fingerprint

pytestmark = pytest.mark.skipif(not REACHABLE, reason="this Python hides its SQLite")
PLAN = [gaussian("count", 0.5), gaussian("core", 1.0)]
DOCUMENTS = Fingerprint("part", sample(range(40)))
PARTS = 1  # random outcome tried for each moment, besides the best and the worst


def run(ledger: Ledger, disk: Disk) -> None:
    """A run on documents that another dataset has as well, marking what has happened after each call."""
    reservation = reserve(ledger, events=PLAN)
    disk.mark("reserved")
    reservation.bind(DOCUMENTS)
    disk.mark("bound")
    for planned in PLAN:
        reservation.charge(planned)
        disk.mark("answered")
    reservation.finish(model=None, seconds={})
    disk.mark("finished")


@pytest.fixture(autouse=True)
def unwitnessed(monkeypatch):
    """No witness: these tests try many pasts of one ledger."""
    monkeypatch.setenv("DPLDA_WITNESS", "off")


@pytest.fixture
def used(tmp_path, unwitnessed):
    """A ledger with a run on documents that share some with `DOCUMENTS`; its folder holds nothing else."""
    (tmp_path / "used").mkdir()
    ledger = Ledger(tmp_path / "used" / "ledger.db")
    spend(ledger, "whole", Fingerprint("whole", sample(range(80))), events=[gaussian(mu_squared=0.1)])
    return ledger


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def left_behind(folder, files):
    """A ledger whose disk holds `files` when the power is back."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return Ledger(folder / "ledger.db")


def check(ledger: Ledger, happened: list[str]) -> None:
    """The record is intact and counts at least what `happened`."""
    assert ledger.verify().ok
    runs = [run for run in ledger.runs() if run.dataset == "reviews"]
    assert len(runs) >= ("reserved" in happened)
    for found in runs:
        assert found.status in (("done",) if "finished" in happened else ("reserved", "done"))
        assert sum(planned.charged for planned in found.plan) >= happened.count("answered")
        assert found.status == "reserved" or all(planned.charged for planned in found.plan)
        assert found.cost.mu_squared == pytest.approx(1.5)
    whole = ledger.dataset("whole")
    assert whole.linked == ("reviews", "whole") or "bound" not in happened
    assert whole.spent.mu_squared == pytest.approx(1.6 if len(whole.linked) == 2 else 0.1)


def cuts(disk: Disk, files: dict[str, bytes]):
    """(what happened, what the disk holds) for all cuts to try, beginning with `files`, each once."""
    dice, seen = random.Random(5), set()
    for time in range(len(disk.steps) + 1):
        for luck in (True, False, *[dice] * PARTS):
            left, marks = disk.after(time, files, luck), happened(disk, time)
            case = (len(marks), tuple(sorted(left.items())))
            if case not in seen and not (time < len(disk.steps) and disk.steps[time].kind == "mark"):
                seen.add(case)
                yield marks, left


def check_all(disk: Disk, files: dict[str, bytes], folder: Path) -> None:
    for marks, left in cuts(disk, files):
        check(left_behind(folder, left), marks)


def happened(disk: Disk, time: int) -> list[str]:
    return [step.name for step in disk.steps[:time] if step.kind == "mark"]


@pytest.mark.full
def test_no_power_cut_loses_what_was_answered_or_damages_the_record(used, tmp_path):
    before, disk = contents(used.path.parent), Disk()
    with watched(disk):
        run(used, disk)
    assert sum(step.kind == "sync" for step in disk.steps) >= 3 * 5  # journal, journal, ledger: for each transaction
    check_all(disk, before, tmp_path / "cut")


def test_the_last_moment_is_what_is_on_the_disk_now(used):
    """The recording is whole: replayed, it gives the file that SQLite wrote."""
    before, disk = contents(used.path.parent), Disk()
    with watched(disk):
        run(used, disk)
    assert disk.after(len(disk.steps), before, luck=False) == contents(used.path.parent)


@pytest.mark.full
@pytest.mark.parametrize("weaker", ["OFF", "FULL"])
def test_a_ledger_that_did_not_wait_for_the_disk_would_be_caught(used, tmp_path, weaker):
    @event.listens_for(used._store._engine, "before_cursor_execute", retval=True)
    def weaken(_connection, _cursor, statement, parameters, _context, _many):
        return statement.replace("synchronous = EXTRA", f"synchronous = {weaker}"), parameters

    before, disk = contents(used.path.parent), Disk()
    with watched(disk):
        run(used, disk)
    with pytest.raises((AssertionError, DpldaError)):
        check_all(disk, before, tmp_path / "cut")


def test_a_power_cut_while_a_ledger_is_created_leaves_one_that_can_be_used(tmp_path):
    folder, disk = tmp_path / "new", Disk()
    folder.mkdir()
    with watched(disk):
        key = Ledger(folder / "ledger.db").key
    for _, left in cuts(disk, {"ledger.db": b""}):
        ledger = left_behind(tmp_path / "cut", left | {"ledger.db.key.new": key})
        assert ledger.verify().ok
        assert reserve(ledger).run


def survives(work) -> bool:
    """Whether `work` ends well; otherwise its one line must say that the disk is full."""
    try:
        work()
    except LedgerError as error:
        if "cannot be written: the disk is full" not in str(error):
            raise
        return False
    return True


@pytest.mark.full
def test_a_disk_that_is_full_at_any_write_ends_in_one_line_and_loses_nothing(used, tmp_path):
    before, number, survived = contents(used.path.parent), 0, False
    while not survived:
        ledger = left_behind(tmp_path / "full", before)
        disk = Disk(refuse=partial(le, number))
        with watched(disk):
            survived = survives(partial(run, ledger, disk))
        check(Ledger(ledger.path), happened(disk, len(disk.steps)))
        number += 1 if number < 12 else 5
    assert number > 50


def test_a_disk_that_is_full_while_a_ledger_is_created_ends_in_one_line(tmp_path):
    number, survived = 0, False
    while not survived:
        disk, path = Disk(refuse=partial(le, number)), tmp_path / str(number) / "ledger.db"
        path.parent.mkdir()
        with watched(disk):
            survived = survives(lambda path=path: Ledger(path))
        assert reserve(Ledger(path)).run
        number += 1
    assert number > 10
