"""Rules about several processes: what is charged survives them, and what is left is given away once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection

from dplda.audit.conformance.harness import (
    Broken,
    Harness,
    NotApplicable,
    Place,
    StorageCalls,
    admits,
    kill,
    succeeds,
    wait_for_others,
)
from dplda.audit.conformance.interface import BudgetLedger, Factory, Handle, Request

_PROCESSES, _THREADS = 3, 8
_ROUNDS = 3  # races


def crash_keeps_charges(harness: Harness) -> None:
    """A process that is killed at any moment gives back nothing that it may have released.

    Charges are on disk when `charge` returns. When the ledger is opened again, they count, whether the run was still
    going on, was being charged again, or was being finished or abandoned. Only what was surely not released may come
    back. If a ledger breaks this rule, killing the program after each answer gives any number of answers for one.
    """
    if os.name != "posix":
        raise NotApplicable("processes are killed by a POSIX signal")
    plan = harness.plan()
    for ending in (_charge_and_finish, _abandon):
        with harness.open(harness.new_place()) as ledger:
            handle = ledger.reserve(plan)
            handle.charge(0)
            with StorageCalls() as calls:
                ending(handle)
        for moment in (*map(calls.moments.index, dict.fromkeys(calls.moments)), None):
            place = harness.new_place()
            if harness.result(_killed_run, harness.factory, place, plan, ending, moment) is None:
                raise Broken("a run could not be reserved and charged in another process")
            if harness.holds_another(place):
                when = "when it had ended" if moment is None else f"at storage call {moment} of {len(calls.moments)} in"
                raise Broken(f"a process was killed {when} the call after a charge, and what was charged came back")


def _charge_and_finish(handle: Handle) -> None:
    handle.charge(1)
    handle.finish()


def _abandon(handle: Handle) -> None:
    handle.abandon()


def _killed_run(
    connection: Connection,
    factory: Factory,
    place: Place,
    request: Request,
    ending: Callable[[Handle], None],
    moment: int | None,
) -> None:
    handle = factory(place.folder, place.outside).reserve(request)
    handle.charge(0)
    connection.send("charged")
    with StorageCalls(moment):
        ending(handle)
    kill()


def open_reservations_count(harness: Harness) -> None:
    """What a running process has reserved is not given to another one.

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
