"""Runs and events for the ledger's tests."""

from __future__ import annotations

import hashlib
import multiprocessing
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dplda.base.config import DEFAULT_GRANT, PrivacySettings
from dplda.budget import Ledger, PlannedEvent, Reservation, RunRecord
from dplda.budget.accountant import capacity
from dplda.budget.events import Event
from dplda.budget.sketches import Fingerprint, Sketch

# What runs may cost together, less what the rounding of a noise multiplier may add to the cost of an event.
WHOLE = (1 - 1e-12) * capacity(*DEFAULT_GRANT).mu_squared
DEFAULT_TOTAL = "epsilon {:g} at delta {:g}".format(*DEFAULT_GRANT)  # as texts and reports write it


def gaussian(stage: str = "core", mu_squared: float = 1.0, **changes: Any) -> Event:
    """A Gaussian event that costs `mu_squared`."""
    return Event(stage=stage, noise_multiplier=mu_squared**-0.5, **changes)


def reserve(ledger: Ledger, dataset: str = "reviews", **changes: Any) -> Reservation:
    """Reserve one event of cost 1, unless told otherwise."""
    privacy = {name: changes.pop(name) for name in ("adjacency", "epsilon", "delta") if name in changes}
    given = {"unit": "document", "events": [gaussian()], "parameters": {"topics": 20}, "sound": True}
    return ledger.reserve(dataset=dataset, privacy=PrivacySettings(**privacy), **{**given, **changes})


def grant(ledger: Ledger, dataset: str = "reviews") -> None:
    """The smallest change of a ledger."""
    ledger.grant(dataset, 9.0, 1e-5)


def contents(ledger: Ledger) -> dict[Path, bytes]:
    """The files in the folder of `ledger`, which holds nothing else."""
    return {file: file.read_bytes() for file in ledger.path.parent.iterdir()}


def put_back(files: dict[Path, bytes]) -> None:
    """Write `contents` again."""
    for file, content in files.items():
        file.write_bytes(content)


def in_processes(target: Callable[..., None], arguments: Iterable[tuple[Any, ...]]) -> list[int | None]:
    """Run `target` once for each tuple of arguments, all at once; returns the exit codes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dplda.budget"])
    processes = [context.Process(target=target, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    return [process.exitcode for process in processes]


def sample(documents: Iterable[int]) -> Sketch:
    """The sketch of these documents, whose hashes spread them evenly and without order."""
    return Sketch([int.from_bytes(hashlib.blake2b(b"%d" % i, digest_size=8).digest(), "big") for i in documents])


def spend(
    ledger: Ledger, dataset: str = "reviews", fingerprint: str | Fingerprint = "f", **changes: Any
) -> Reservation:
    """A whole run: reserve, bind, ask all, finish."""
    reservation = reserve(ledger, dataset, **changes)
    reservation.bind(Fingerprint(fingerprint) if isinstance(fingerprint, str) else fingerprint)
    for event in reservation.events:
        reservation.charge(event)
    reservation.finish(model=None, seconds={})
    return reservation


def interrupt(ledger: Ledger, dataset: str = "reviews", **changes: Any) -> Reservation:
    """A run that was interrupted after the first of its events."""
    reservation = reserve(ledger, dataset, **changes)
    reservation.bind(Fingerprint("f"))
    reservation.charge(reservation.events[0])
    reservation.abandon("failed", "interrupted")
    return reservation


def a_run(number: int = 1, dataset: str = "a", mu_squared: float = 1.0, **changes: Any) -> RunRecord:
    """A finished run of one asked event, without a ledger."""
    given = {
        "id": f"{dataset}-{number}",
        "number": number,
        "dataset": dataset,
        "unit": "document",
        "adjacency": "add-remove",
        "epsilon": 2.0,
        "delta": 1e-6,
        "sound": True,
        "status": "done",
        "created": datetime(2026, 1, 1, tzinfo=UTC),
        "plan": (PlannedEvent(event=gaussian(mu_squared=mu_squared), charged=True),),
    }
    return RunRecord(**{**given, **changes})
