"""A charged run: planned, reserved, read, released, learned, saved.

A `Run` is the plan; all of it is public. A dry run plans and asks what that would cost (`Run.quote`); a real one goes
on (`Run.execute`). The order of effects is a law (docs/ledger.md):

1. planned: settings are checked and events are fixed; nothing was read or spent.
2. reserved: the ledger has the whole plan on disk.
3. read: the documents are opened, and the ledger has their fingerprint.
4. released: the ledger has each event on disk before the gate computes what it pays for.
5. learned: the result is computed from releases and public facts alone.
6. saved: the model is on disk, or the ledger has the released numbers; then the ledger closes the run.
"""

from __future__ import annotations

import shlex
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplda.base.config import ExecutionSettings, PrivacySettings
from dplda.base.errors import (
    DefaultGrantWarning,
    DpldaError,
    DpldaWarning,
    InputError,
    SharedDocumentsWarning,
    SmallDeltaWarning,
    UnsupportedByData,
    warn,
)
from dplda.base.progress import Progress, following
from dplda.base.software import installed_software
from dplda.budget import Ledger, Quote, Reservation, RunRecord, Status
from dplda.budget.accountant import Cost, cost, run_epsilon
from dplda.budget.events import Event, PrivacyStatement, at_least, base_of, merge_events
from dplda.budget.ledger_records import PLACES, READ
from dplda.budget.quotes import fixed_by_default, larger_delta
from dplda.budget.sketches import Fingerprint
from dplda.learning.settings import FitSettings
from dplda.model.topic_model import TEXT_FILE, TopicModel, release_space, reserve_space
from dplda.private.curator import Curator
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.private.passes.engines import compiling, is_local, running_engine
from dplda.private.statistics import Statistic
from dplda.private.store.fingerprint import fingerprint
from dplda.private.store.preparation import ById
from dplda.runs.corpus import Corpus

_said = set[tuple[str, ...]]()  # of shared documents, by the path of the ledger and the names


class Answer(Protocol):
    """A result that the ledger keeps."""

    def released(self) -> dict[str, Any]:
        """Return the released numbers as plain JSON."""


Result = TypeVar("Result", bound=TopicModel | Answer)


@dataclass(frozen=True, kw_only=True)
class Run(Generic[Result]):
    """The plan of a run, fixed before any data are read, and its course."""

    id: str
    """The name of the run in the ledger."""
    corpus: Corpus
    """The documents. `execute` reads them."""
    dataset: str
    """The dataset whose budget is charged."""
    batch: str | None = None
    """The batch that the documents belong to; None if `dataset` is not a series."""
    privacy: PrivacySettings
    """The requested guarantee."""
    execution: ExecutionSettings
    """Where the run computes."""
    events: tuple[Event, ...]
    """What the run may release, with the noise of each release."""
    statistics: Sequence[Statistic]
    """The statistics that these events release. Their kernels are compiled while documents are read."""
    parameters: Mapping[str, Any]
    """What the ledger records, as plain JSON."""
    learn: Callable[[OpenRun], Result]
    """Query the gate of an `OpenRun`, and compute the result."""
    reason: str = ""
    """Why the run is not private; empty if it is private."""
    exact: bool = False
    """Whether statistics are released without noise."""
    fit: FitSettings | None = None
    """The settings of the fit that the run is, or has among its questions."""
    outlook: tuple[str, ...] = ()
    """What its answers will be like, in sentences; it follows from the plan alone."""
    passes: int | None = None
    """How many passes the run makes over the counts, if that is known."""
    most_bytes: int = 0
    """An upper estimate of the size on disk of what is saved."""

    @property
    def statement(self) -> PrivacyStatement:
        """The guarantee of the whole run."""
        return PrivacyStatement(
            epsilon=float("inf") if self.reason else run_epsilon(self.events, self.privacy.delta),
            delta=self.privacy.delta,
            unit=self.corpus.unit,
            adjacency=self.privacy.adjacency,
            sound=not self.reason,
            events=merge_events(self.events),
            reason=self.reason,
        )

    def quote(self, ledger: Ledger) -> Quote:
        """Return what the run would cost. Raises `BudgetRefused` if the budget does not allow it."""
        return ledger.quote(
            dataset=self.dataset,
            unit=self.corpus.unit,
            adjacency=self.privacy.adjacency,
            delta=self.privacy.delta,
            plans=[self.events],
            sound=not self.reason,
            batch=self.batch,
            id_field=self.corpus.id_field,
            parameters=self.parameters,
        )

    def execute_warned(
        self,
        ledger: Ledger | Literal[False] | None,
        *,
        folder: Path | None = None,
        progress: Progress | None = None,
        seconds: dict[str, float] | None = None,
    ) -> Result:
        """Warn of what cannot be undone, and `execute` the run.

        The warnings are `DefaultGrantWarning` if it fixes the total of its dataset, `SmallDeltaWarning` if its delta is
        larger than that of the grant, and `DpldaWarning` if it ends a guarantee. For programs; the command line has
        words of its own. Without a `ledger`, it is the usual one.
        """
        named, ledger = ("dplda.Ledger()", Ledger()) if ledger is None else ("ledger", ledger)
        if isinstance(ledger, Ledger) and not self.reason:
            records = ledger.datasets()
            if told := fixed_by_default(self.dataset, records):
                warn(f"{told} {named}.grant({self.dataset!r}, epsilon=E, delta=D)", DefaultGrantWarning)
            if told := larger_delta(self.dataset, self.privacy.delta, self.events, records, "delta="):
                warn(told, SmallDeltaWarning)
        if isinstance(ledger, Ledger) and (told := self.quote(ledger).warning):
            warn(told)
        return self.execute(ledger, folder=folder, progress=progress, seconds=seconds)

    def execute(
        self,
        ledger: Ledger | Literal[False],
        *,
        folder: Path | None = None,
        progress: Progress | None = None,
        seconds: dict[str, float] | None = None,
    ) -> Result:
        """Reserve the budget, read the documents, release, learn, and save; return the result.

        A model is saved in `folder` (None: not at all); the ledger keeps any other result. `seconds` receives the time
        of each stage. An exception ends the run in the ledger. Raises `InputError` if a private run has no ledger or
        the disk no space, `BudgetRefused` if the ledger does not allow the run, and `UnsupportedByData`, with what was
        spent, if the released numbers do not support the result.
        """
        seed = self.privacy.simulate_seed
        noise: ExactNoise | SimulatedNoise = ExactNoise() if seed is None else SimulatedNoise(seed)
        made_by = installed_software("none" if self.exact else noise.source)
        if progress is not None and not hasattr(progress, "start"):
            raise InputError(f"progress must be an object with the methods of a Progress, got {progress!r}.")
        if ledger is not False and not hasattr(ledger, "reserve"):
            raise InputError(f"ledger must be a Ledger, such as dplda.Ledger({str(ledger)!r}), or False to simulate.")
        with (
            following(progress) as shown,
            _space_for_model(folder, self.most_bytes),
            running_engine(self.execution, passes=self.passes) as engine,
            self._reserved(ledger, made_by) as recorder,
            compiling(tuple(self.statistics), here=is_local(engine)) as wait_for_kernels,
        ):
            # Reserved. Read:
            watch = _Stopwatch(shown, {} if seconds is None else seconds)
            watch.start("read")
            by_id = None if self.corpus.id_field is None else ById(self.dataset, recorder.of_this_batch)
            store = self.corpus.open(watch, key=None if ledger is False else ledger.key, by_id=by_id)
            if ledger is not False:
                others = recorder.bind(fingerprint(store, ledger.key, ids_of=None if by_id is None else by_id.dataset))
                _tell_shared(ledger, self.dataset, others)
            wait_for_kernels(watch)

            # Released and learned: the gate calls `charge`, which returns when the event is on disk, and then computes.
            charged = list[Event]()

            def charge(event: Event) -> None:
                recorder.charge(event)
                charged.append(event)

            gate = (ExactGate if self.exact else Curator)(
                engine(store), self.events, charge, noise, adjacency=self.privacy.adjacency, progress=watch
            )

            def save(result: Result | Answer) -> tuple[str | None, dict[str, Any] | None]:
                """Save the model of `result`, if it has one; return its path, and what the ledger keeps."""
                # the answers to a plan of questions (`dplda.runs.questions`) may have topics among them
                model = result if isinstance(result, TopicModel) else getattr(result, "model", None)
                if model is not None and folder is not None and not (folder / TEXT_FILE).is_file():
                    watch.start("save")
                    model.save(folder)
                saved = None if model is None or folder is None else str(folder.resolve())
                return saved, None if isinstance(result, TopicModel) else result.released()

            def keep(answers: Answer) -> None:
                saved, released = save(answers)
                recorder.keep(model=saved, result=released or {})

            try:
                result = self.learn(OpenRun(self.id, made_by, gate, watch, self.statement, keep))
            except UnsupportedByData as error:
                raise UnsupportedByData(f"{error} {self._spent(charged, recorded=ledger is not False)}") from None

            # Saved:
            saved, released = save(result)
            if saved is None and folder is not None:
                release_space(folder)
            watch.stop()
            recorder.finish(model=saved, seconds=watch.seconds, result=released)
        return result

    @contextmanager
    def _reserved(
        self, ledger: Ledger | Literal[False], made_by: Mapping[str, Any]
    ) -> Iterator[Reservation | _Unrecorded]:
        """Context manager: reserve the budget; a failure in the body ends the run and refunds what was never charged.

        The reasons that the ledger keeps contain no private text. An interrupt propagates with a note on what was
        spent, which the command line prints.
        """
        if ledger is False:
            if not self.reason:
                raise InputError("ledger=False is for runs that are not private: give simulate_seed, or use a ledger.")
            yield _Unrecorded()
            return
        recorder: Reservation | None = None
        try:
            recorder = ledger.reserve(
                run=self.id,
                dataset=self.dataset,
                unit=self.corpus.unit,
                privacy=self.privacy,
                events=self.events,
                parameters={
                    **self.parameters,
                    "software": made_by,
                    PLACES: ledger.place_codes(self.corpus.named_places),
                    READ: ledger.place_codes([self.corpus.identity]),
                },
                sound=not self.reason,
                batch=self.batch,
                id_field=self.corpus.id_field,
            )
            yield recorder
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt)
            if stopped and recorder is None:  # while it was reserved: the ledger may have it already
                recorder = ledger.reservation(self.id)
            if recorder is not None:
                recorder.abandon(*_ending(error))
                if stopped:
                    error.add_note(self._spent_when_stopped(ledger.run(self.id)))
            raise

    def _spent(self, charged: Sequence[Event], *, recorded: bool) -> str:
        """Return a sentence on what a run without a result spent.

        It has the guarantee of its plan (docs/privacy.md, rule 7), which is a part of its dataset's total.
        """
        record = f"recorded as run {self.id}" if recorded else ""
        if self.reason:
            return f"{self.reason}{record and f'; {record}'}."
        share, _ = self._share_and_promise(cost(charged))
        return (
            f"Spent: {share} of the run's budget (counted as the filter counts), {record}. To others, quote the total "
            f"of dataset {self.dataset} (dplda budget show {shlex.quote(self.dataset)})."
        )

    def _spent_when_stopped(self, record: RunRecord) -> str:
        """Return what an interrupted run spent, according to the ledger."""
        room = f"What may be run again, so that reports still state a total: dplda budget show {self.dataset}"
        if not record.is_charged:
            return (
                f"Run {self.id} had charged nothing: the ledger has returned its whole budget, but reports count it in "
                f"full, since how it ended is not for publication. {room}"
            )
        again = "" if record.result is None else f" Its answers so far: dplda tables {self.id}"
        if self.reason:
            return f"Run {self.id} is {self.reason}; the ledger keeps a record of it.{again}"
        share, promise = self._share_and_promise(record.cost)
        return (
            f"Run {self.id} had charged {share} of its budget (counted as the filter counts): the ledger keeps this as "
            f"spent and has returned the rest. The guarantee is still that of the whole run, {promise}, and reports "
            f"count it in full. {room}.{again}"
        )

    def _share_and_promise(self, spent: Cost) -> tuple[str, str]:
        """Return the share of the run's budget that `spent` takes, and the guarantee of the whole run, in words."""
        promise = self.statement
        share = spent.mu_squared / cost(self.events).mu_squared
        return f"{share:.1%}", f"epsilon {at_least(promise.epsilon)} at delta {promise.delta:g}"


@dataclass(frozen=True)
class OpenRun:
    """A run whose budget is reserved and whose documents are read, as `Run.learn` sees it."""

    id: str
    """The name of the run in the ledger."""
    software: Mapping[str, Any]
    """The versions of code and libraries, which the ledger records, too."""
    gate: Curator
    """Answers the queries of the documents, and charges them."""
    watch: _Stopwatch
    """Measures the time of each stage."""
    privacy: PrivacyStatement
    """The guarantee of the whole run."""
    keep: Callable[[Answer], None]
    """Saves what was released so far, so that it stays if the run is killed."""


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


class _Unrecorded:
    """Takes the place of a `Reservation` for a run without a ledger, and keeps nothing."""

    def charge(self, event: Event) -> None: ...

    def bind(self, fingerprint: Fingerprint) -> tuple[str, ...]:
        """Know no other datasets."""
        return ()

    def of_this_batch(self, ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return all documents."""
        return np.ones(len(ids), np.bool_)

    def keep(self, *, model: str | None, result: Mapping[str, Any]) -> None: ...

    def finish(
        self, *, model: str | None, seconds: Mapping[str, float], result: Mapping[str, Any] | None = None
    ) -> None: ...


def _tell_shared(ledger: Ledger, dataset: str, others: Sequence[str]) -> None:
    """Warn, before anything is charged, if `others` are names of datasets that share the documents of `dataset`.

    A process says the same of a ledger once: a notebook asks many questions of the same documents.
    """
    said = (str(ledger.path), dataset, *others)
    if others and said not in _said:
        _said.add(said)
        _warn(
            f"Recognised (exact, not for publication): the documents of {dataset} are, at least in part, those of "
            f"{', '.join(others)}. What this run spends is charged to all of these names together, and the grant of "
            "each limits it.",
            SharedDocumentsWarning,
        )


def _warn(text: str, category: type[DpldaWarning]) -> None:
    """Warn, and never raise an error, whatever the filter: whether a run fails must not depend on the documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", category)
        warn(text, category)


@contextmanager
def _space_for_model(folder: Path | None, most_bytes: int) -> Iterator[None]:
    """Context manager: reserve `most_bytes` of disk space in `folder`, and give it back if the body fails."""
    if folder is None:
        yield
        return
    reserve_space(folder, most_bytes)
    try:
        yield
    except BaseException:
        release_space(folder)
        raise


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
