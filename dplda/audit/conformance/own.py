"""Adapter of dplda's own ledger: ``python -m dplda.audit.conformance dplda.audit.conformance.own:factory``."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from unittest import mock

from dplda.audit.conformance.interface import DELTA, EPSILON, Feature, Measure, Request
from dplda.base.config import ADJACENCIES, PrivacySettings
from dplda.base.errors import DpldaError, GateError
from dplda.budget.database import SETTING
from dplda.budget.events import Event
from dplda.budget.ledger import Ledger
from dplda.budget.ledger_records import Status
from dplda.budget.reservation import Reservation
from dplda.budget.sketches import Fingerprint, Sketch


class _OwnHandle:
    """The `Handle` of a reservation in dplda's ledger.

    Release number `position` is the event at this position in the reservation's plan.
    """

    def __init__(self, reservation: Reservation) -> None:
        self._reservation = reservation

    def charge(self, position: int) -> None:
        """Charge the event at `position`."""
        self._reservation.charge(self._reservation.events[position])

    def finish(self) -> None:
        """End the run as done."""
        self._reservation.finish(model=None, seconds={})

    def abandon(self) -> None:
        """End the run as cancelled."""
        self._reservation.abandon(Status.CANCELLED, "abandoned")


class _OwnLedger:
    """dplda's ledger in one folder."""

    measure = Measure.NOISE_MULTIPLIER
    features = frozenset(Feature)
    refusals = (DpldaError, GateError, ValueError)

    def __init__(self, folder: Path, outside: Path) -> None:
        with mock.patch.dict(os.environ, {SETTING: str(outside)}):  # read when a ledger is opened
            self._ledger = Ledger(folder / "ledger.db")

    def grant(self, dataset: str, epsilon: float, delta: float) -> None:
        """Grant (epsilon, delta), without larger epsilons to which the grant may be raised later."""
        self._ledger.grant(dataset, epsilon, delta)

    def spent(self, dataset: str) -> float:
        """Return the sum of squared Gaussian-DP parameters."""
        return self._ledger.dataset(dataset).spent.mu_squared

    def guaranteed(self, dataset: str) -> tuple[float, float]:
        """Return the guarantee of all outputs on the dataset and on the datasets linked to it."""
        guarantee = self._ledger.dataset(dataset).guaranteed
        return guarantee.epsilon, guarantee.delta

    def reserve(self, request: Request) -> _OwnHandle:
        """Reserve a Gaussian event for each cost, and bind the documents."""
        reservation = self._ledger.reserve(
            dataset=request.dataset,
            unit=request.unit,
            privacy=PrivacySettings(epsilon=EPSILON, delta=DELTA, adjacency=ADJACENCIES[0]),
            events=[Event(stage=f"release {i}", noise_multiplier=cost) for i, cost in enumerate(request.costs)],
            parameters={},
            sound=True,
            batch=request.batch,
        )
        hashes = [int.from_bytes(hashlib.blake2b(b"%d" % i, digest_size=8).digest(), "big") for i in request.documents]
        digest = hashlib.sha256(repr(request.documents).encode()).hexdigest()
        reservation.bind(Fingerprint(digest, Sketch(hashes)))
        return _OwnHandle(reservation)


def factory(folder: Path, outside: Path) -> _OwnLedger:
    """Open or create dplda's ledger in `folder`.

    Its witness, the marks that reveal an older copy of the ledger, is in `outside`.
    """
    return _OwnLedger(folder, outside)
