"""Recording a run while it computes: what it charges, how long its stages take, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from dplda.accounting.accountant import Cost, cost
from dplda.accounting.events import Event, PrivacyStatement, at_least, base_of
from dplda.errors import DpldaError, UnsupportedByData
from dplda.ledger import Ledger, RunRecord, Status
from dplda.progress import Progress
from dplda.store.sketches import Fingerprint


class Planned(Protocol):
    """What a run plans to charge; all of it is public."""

    @property
    def events(self) -> tuple[Event, ...]:
        """Its events, fixed before any data are read."""

    @property
    def reason(self) -> str:
        """Why the run is not private; empty if it is."""

    def statement(self) -> PrivacyStatement:
        """The run's guarantee."""


class Recorder(Protocol):
    """Receives a run's events (its noisy releases): a ledger's reservation, or an object that ignores them."""

    run: str

    def charge(self, event: Event) -> None:
        """Record `event` durably, before its result is computed."""

    def bind(self, fingerprint: Fingerprint) -> None:
        """Attach the documents' fingerprint."""

    def finish(
        self, *, model: str | None, seconds: Mapping[str, float], result: Mapping[str, Any] | None = None
    ) -> None:
        """End the run."""

    def abandon(self, status: str, reason: str) -> None:
        """End the run without a model."""


@dataclass
class Unrecorded:
    """A recorder that writes nothing."""

    run: str

    def charge(self, event: Event) -> None:
        """Keep nothing."""

    def bind(self, fingerprint: Fingerprint) -> None:
        """Keep nothing."""

    def finish(
        self, *, model: str | None, seconds: Mapping[str, float], result: Mapping[str, Any] | None = None
    ) -> None:
        """Keep nothing."""

    def abandon(self, status: str, reason: str) -> None:
        """Keep nothing."""


@dataclass
class Stopwatch:
    """Measures the time of each stage, and forwards progress reports."""

    progress: Progress
    seconds: dict[str, float]
    _stage: str | None = None
    _since: float = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """End the previous stage and begin `stage`; choosing a clipping norm counts as time of its stage."""
        self.stop()
        self._stage, self._since = base_of(stage), time.perf_counter()
        self.progress.start(stage, total)

    def advance(self, amount: int = 1) -> None:
        """Forward `amount`."""
        self.progress.advance(amount)

    def estimate(self, share: float) -> None:
        """Forward `share`."""
        self.progress.estimate(share)

    def stop(self) -> None:
        """End the current stage."""
        if self._stage is not None:
            elapsed = time.perf_counter() - self._since
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + elapsed
        self._stage = None


def spent_text(request: Planned, recorder: Recorder, charged: Sequence[Event]) -> str:
    """A sentence on what a run without a model spent.

    The guarantee of such a run is that of its plan (docs/privacy.md, rule 7).
    """
    recorded = "" if isinstance(recorder, Unrecorded) else f"recorded as run {recorder.run}"
    if request.reason:
        return f"{request.reason}{recorded and f'; {recorded}'}."
    share, promise = _share_and_promise(request, cost(charged))
    return f"Spent: {share} of the run's budget, {recorded}. Its guarantee stays that of the whole run, {promise}."


def _share_and_promise(request: Planned, spent: Cost) -> tuple[str, str]:
    """The share of the run's budget that `spent` takes, and the guarantee of the whole run, in words."""
    promise = request.statement()
    share = spent.mu_squared / cost(request.events).mu_squared
    return f"{share:.1%}", f"epsilon {at_least(promise.epsilon)} at delta {promise.delta:g}"


@contextmanager
def abandoned_on_failure(request: Planned, recorder: Recorder, ledger: Ledger | Literal[False]) -> Iterator[None]:
    """End a failed run in the ledger, which refunds what was never charged. Reasons contain no private text.

    An interrupt propagates with a note on what was spent, which `dplda fit` prints.
    """
    try:
        yield
    except BaseException as error:
        recorder.abandon(*_ending(error))
        if isinstance(error, KeyboardInterrupt) and ledger is not False:
            error.add_note(_spent_when_stopped(request, ledger.run(recorder.run)))
        raise


def _spent_when_stopped(request: Planned, run: RunRecord) -> str:
    """What an interrupted run spent, according to the ledger."""
    if not run.is_charged:
        return f"Run {run.id} had charged nothing: the ledger has returned its whole budget."
    if request.reason:
        return f"Run {run.id} is {request.reason}; the ledger keeps a record of it."
    share, promise = _share_and_promise(request, run.cost)
    return (
        f"Run {run.id} had charged {share} of its budget (counted as the filter counts): the ledger keeps this as "
        f"spent and has returned the rest. What is promised stays {promise}."
    )


def _ending(error: BaseException) -> tuple[Status, str]:
    """Return the status and the reason of a run that `error` ended."""
    match error:
        case UnsupportedByData():
            return Status.UNSUPPORTED, error.reason
        case DpldaError():
            return Status.CANCELLED, error.reason
        case KeyboardInterrupt():
            return Status.CANCELLED, "interrupted"
    return Status.FAILED, f"unexpected {type(error).__name__}"
