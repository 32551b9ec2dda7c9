"""A run from its reservation to its end: what it charges, how long its stages take, and how it is recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dplda.base.config import ExecutionSettings, PrivacySettings
from dplda.base.errors import DpldaError, InputError, UnsupportedByData
from dplda.base.progress import NoProgress, Progress
from dplda.base.software import software
from dplda.budget import Ledger, Reservation, RunRecord, Status
from dplda.budget.accountant import Cost, cost, run_epsilon
from dplda.budget.events import Event, PrivacyStatement, at_least, base_of, merged
from dplda.budget.sketches import Fingerprint
from dplda.private.curator import Curator
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.private.passes.engines import compiling, is_local, running_engine
from dplda.private.statistics import Statistic
from dplda.private.store.fingerprint import fingerprint
from dplda.private.store.preparation import ById
from dplda.runs.corpus import Corpus


class Planned(Protocol):
    """The plan of a run and what it will charge; all of it is public."""

    @property
    def corpus(self) -> Corpus:
        """The documents of the run, which are not read yet."""

    @property
    def dataset(self) -> str:
        """The dataset that is charged."""

    @property
    def batch(self) -> str | None:
        """The batch to which the documents belong; None if `dataset` is not a series."""

    @property
    def id_field(self) -> str | None:
        """The column of ids that tell documents apart; None without one."""

    @property
    def privacy(self) -> PrivacySettings:
        """The requested guarantee."""

    @property
    def execution(self) -> ExecutionSettings:
        """Settings of where the run computes."""

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the run, fixed before any data are read."""

    @property
    def reason(self) -> str:
        """Why the run is not private; empty if it is private."""

    def parameters(self) -> dict[str, Any]:
        """The parameters that the ledger records, as plain JSON."""


def statement(plan: Planned) -> PrivacyStatement:
    """The guarantee of a run of this `plan`."""
    return PrivacyStatement(
        epsilon=float("inf") if plan.reason else run_epsilon(plan.events, plan.privacy.delta),
        delta=plan.privacy.delta,
        unit=plan.corpus.unit,
        adjacency=plan.privacy.adjacency,
        sound=not plan.reason,
        events=merged(plan.events),
        reason=plan.reason,
    )


@dataclass
class _Unrecorded:
    """Takes the place of a `Reservation` for a run without a ledger, and writes nothing."""

    run: str

    def charge(self, event: Event) -> None:
        """Keep nothing."""

    def bind(self, fingerprint: Fingerprint) -> None:
        """Keep nothing."""

    def of_this_batch(self, ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """All documents."""
        return np.ones(len(ids), np.bool_)

    def finish(
        self, *, model: str | None, seconds: Mapping[str, float], result: Mapping[str, Any] | None = None
    ) -> None:
        """Keep nothing."""

    def abandon(self, status: str, reason: str) -> None:
        """Keep nothing."""


_Recorder = Reservation | _Unrecorded


@dataclass
class _Stopwatch:
    """Measures the time of each stage, and forwards progress reports."""

    progress: Progress
    seconds: dict[str, float]
    _stage: str | None = None
    _since: float = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """End the previous stage and begin `stage`.

        The time of choosing a clipping norm is added to the time of the stage whose contributions are clipped to it.
        """
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


@dataclass(frozen=True)
class ChargedRun:
    """A run whose budget is reserved: its `id`, the `gate` for its queries of the documents, and its `watch`.

    `software`, the code and library versions, is also in the run's record in the ledger.
    """

    id: str
    software: Mapping[str, Any]
    gate: Curator
    watch: _Stopwatch
    _recorder: _Recorder

    def finish(self, *, model: str | None = None, result: Mapping[str, Any] | None = None) -> None:
        """End the run; see `Reservation.finish`."""
        self.watch.stop()
        self._recorder.finish(model=model, seconds=self.watch.seconds, result=result)


@contextmanager
def charged_run(
    plan: Planned,
    ledger: Ledger | Literal[False],
    run: str,
    statistics: Sequence[Statistic],
    *,
    exact: bool = False,
    passes: int | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> Iterator[ChargedRun]:
    """Context manager: reserve the budget of the run with id `run`, read its documents, and yield a `ChargedRun`.

    The body queries the documents through the gate of the `ChargedRun`. The fingerprint of the documents is recorded
    with the reservation. The gate is without noise if the run is `exact`. The kernels of `statistics` are compiled
    while documents are read; `passes` is how many passes the run makes over the counts, if that is known. An exception
    in the body ends the run in the ledger. Raises `InputError` if a private run has no ledger, and `BudgetRefused` if
    the ledger does not allow the run.
    """
    charged = list[Event]()
    watch = _Stopwatch(progress or NoProgress(), seconds if seconds is not None else {})
    seed = plan.privacy.simulate_seed
    noise: ExactNoise | SimulatedNoise = ExactNoise() if seed is None else SimulatedNoise(seed)
    made_by = software("none" if exact else noise.source)
    with running_engine(plan.execution, passes=passes) as engine:
        recorder = _reserved(plan, ledger, run, made_by)

        def charge(event: Event) -> None:
            recorder.charge(event)
            charged.append(event)

        with (
            _abandoned_on_failure(plan, recorder, ledger),
            compiling(tuple(statistics), here=is_local(engine)) as wait_for_kernels,
        ):
            watch.start("read")
            by_id = None if plan.id_field is None else ById(plan.dataset, recorder.of_this_batch)
            store = plan.corpus.open(watch, key=None if ledger is False else ledger.key, by_id=by_id)
            if ledger is not False:
                recorder.bind(fingerprint(store, ledger.key, ids_of=None if by_id is None else by_id.dataset))
            wait_for_kernels(watch)
            gate = (ExactGate if exact else Curator)(
                engine(store), plan.events, charge, noise, adjacency=plan.privacy.adjacency, progress=watch
            )
            try:
                yield ChargedRun(recorder.run, made_by, gate, watch, recorder)
            except UnsupportedByData as error:
                raise UnsupportedByData(f"{error} {_spent(plan, recorder, charged)}") from None


def _reserved(plan: Planned, ledger: Ledger | Literal[False], run: str, made_by: Mapping[str, Any]) -> _Recorder:
    """The reservation of the run, on disk before anything private is read."""
    if ledger is False:
        if not plan.reason:
            raise InputError("ledger=False is for runs that are not private: give simulate_seed, or use a ledger.")
        return _Unrecorded(run)
    return ledger.reserve(
        run=run,
        dataset=plan.dataset,
        unit=plan.corpus.unit,
        privacy=plan.privacy,
        events=plan.events,
        parameters=plan.parameters() | {"software": made_by},
        sound=not plan.reason,
        batch=plan.batch,
        id_field=plan.id_field,
    )


def _spent(plan: Planned, recorder: _Recorder, charged: Sequence[Event]) -> str:
    """A sentence on what a run without a model spent.

    Such a run has the guarantee of its plan (docs/privacy.md, rule 7).
    """
    recorded = "" if isinstance(recorder, _Unrecorded) else f"recorded as run {recorder.run}"
    if plan.reason:
        return f"{plan.reason}{recorded and f'; {recorded}'}."
    share, promise = _share_and_promise(plan, cost(charged))
    return (
        f"Spent: {share} of the run's budget, {recorded}. If you tell others how the run ended, quote its whole "
        f"budget, which was fixed before it began: {promise}."
    )


def _share_and_promise(plan: Planned, spent: Cost) -> tuple[str, str]:
    """The share of the run's budget that `spent` takes, and the guarantee of the whole run, in words."""
    promise = statement(plan)
    share = spent.mu_squared / cost(plan.events).mu_squared
    return f"{share:.1%}", f"epsilon {at_least(promise.epsilon)} at delta {promise.delta:g}"


@contextmanager
def _abandoned_on_failure(plan: Planned, recorder: _Recorder, ledger: Ledger | Literal[False]) -> Iterator[None]:
    """End a failed run in the ledger, which refunds what was never charged. Reasons contain no private text.

    An interrupt propagates with a note on what was spent, which `dplda fit` prints.
    """
    try:
        yield
    except BaseException as error:
        recorder.abandon(*_ending(error))
        if isinstance(error, KeyboardInterrupt) and ledger is not False:
            error.add_note(_spent_when_stopped(plan, ledger.run(recorder.run)))
        raise


def _spent_when_stopped(plan: Planned, run: RunRecord) -> str:
    """What an interrupted run spent, according to the ledger."""
    if not run.is_charged:
        return f"Run {run.id} had charged nothing: the ledger has returned its whole budget."
    if plan.reason:
        return f"Run {run.id} is {plan.reason}; the ledger keeps a record of it."
    share, promise = _share_and_promise(plan, run.cost)
    return (
        f"Run {run.id} had charged {share} of its budget (counted as the filter counts): the ledger keeps this as "
        f"spent and has returned the rest. The guarantee is still that of the whole run, {promise}."
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
