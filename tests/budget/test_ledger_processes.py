"""Several processes at once, and processes that die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from full_helpers import full_after
from ledger_helpers import WHOLE, gaussian, in_processes, reserve

from dplda.base.config import DEFAULT_GRANT
from dplda.base.errors import BudgetRefused
from dplda.budget import Ledger
from dplda.budget.accountant import capacity
from dplda.budget.sketches import Fingerprint

SHARE = WHOLE / 5.5  # five fit
PLAN = [gaussian("count", 0.5), gaussian("core", 1.0), gaussian("tensor", 0.25)]


def reserve_until_refused(path: Path, dataset: str, fingerprint: str | None) -> None:
    ledger = Ledger(path)
    try:
        while True:
            run = reserve(ledger, dataset, events=[gaussian(mu_squared=SHARE)])
            if fingerprint:
                run.bind(Fingerprint(fingerprint))
                run.charge(run.events[0])
    except BudgetRefused:
        return


def die(path: Path, point: str) -> None:
    """Kill the process, without any clean-up, at `point` of a run."""
    run = reserve(Ledger(path), events=PLAN)
    if point != "reserve":
        run.bind(Fingerprint("f"))
        run.charge(PLAN[0])
    if point == "write":
        with run._store.writing() as session:
            session.connection().exec_driver_sql("UPDATE events SET asked = 0")
            os.kill(os.getpid(), signal.SIGKILL)
    if point == "finish":
        run.finish(model=None, seconds={})
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("processes", full_after(1, [2, 20]))
def test_processes_that_reserve_at_once_never_exceed_the_grant(tmp_path, processes):
    path = tmp_path / "ledger.db"
    assert in_processes(reserve_until_refused, [(path, "reviews", None)] * processes) == [0] * processes
    ledger = Ledger(path)
    assert len(ledger.runs()) == 5
    assert ledger.dataset("reviews").spent.fits(capacity(*DEFAULT_GRANT))
    assert ledger.verify().ok


@pytest.mark.full
def test_processes_that_name_the_same_documents_differently_never_exceed_the_grant(tmp_path):
    path = tmp_path / "ledger.db"
    assert in_processes(reserve_until_refused, [(path, name, "same") for name in "abcd"]) == [0] * 4
    ledger = Ledger(path)
    assert 1 <= sum(run.is_charged for run in ledger.runs()) <= 5
    for dataset in ledger.datasets():
        assert dataset.spent.fits(capacity(*DEFAULT_GRANT))
    assert ledger.verify().ok


@pytest.mark.parametrize(
    ("point", "status", "spent"),
    full_after(
        2,
        [
            ("write", "reserved", 1.75),
            ("finish", "done", 0.5),
            ("reserve", "reserved", 1.75),
            ("ask", "reserved", 1.75),
        ],
    ),
)
def test_a_killed_process_leaves_an_intact_ledger_that_counts_what_it_may_have_released(tmp_path, point, status, spent):
    path = tmp_path / "ledger.db"
    assert in_processes(die, [(path, point)]) == [-signal.SIGKILL]
    ledger = Ledger(path)
    assert ledger.verify().ok
    assert ledger.runs()[0].status == status
    assert [planned.charged for planned in ledger.runs()[0].plan] == [point != "reserve", False, False]
    assert ledger.dataset("reviews").spent.mu_squared == pytest.approx(spent)
