"""Runs and events for the ledger's tests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from dplda.accounting.events import Event
from dplda.ledger import Ledger, PlannedEvent, Reservation, RunRecord
from dplda.store.sketches import Fingerprint, Sketch


def gaussian(stage: str = "core", mu_squared: float = 1.0, **changes: Any) -> Event:
    """A Gaussian event that costs `mu_squared`."""
    return Event(stage=stage, noise_multiplier=mu_squared**-0.5, **changes)


def reserve(ledger: Ledger, dataset: str = "reviews", **changes: Any) -> Reservation:
    """Reserve one event of cost 1, unless told otherwise."""
    given = {
        "unit": "document",
        "adjacency": "add-remove",
        "epsilon": 2.0,
        "delta": 1e-6,
        "events": [gaussian()],
        "parameters": {"topics": 20},
        "sound": True,
    }
    return ledger.reserve(dataset=dataset, **{**given, **changes})


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
