"""A question about documents under released topics: reserved, charged, answered, and kept by the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from dplda.accounting.accountant import run_epsilon
from dplda.accounting.budget_plan import Share, calibrate
from dplda.accounting.events import Event, PrivacyStatement, merged
from dplda.config import ExecutionSettings, PrivacySettings
from dplda.corpus import Corpus
from dplda.errors import InputError
from dplda.execution.compilation import compiling
from dplda.execution.engines import is_local, running_engine
from dplda.ledger import Ledger, new_name
from dplda.mechanisms.curator import Curator
from dplda.mechanisms.noise import ExactNoise, SimulatedNoise
from dplda.model.topic_model import TopicModel
from dplda.progress import NoProgress, Progress
from dplda.recording import Recorder, Stopwatch, Unrecorded, abandoned_on_failure, spent_text
from dplda.statistics import Statistic
from dplda.store.fingerprint import fingerprint

_SIMULATED = "NOT PRIVATE: simulated noise from a known seed"


class Answer(Protocol):
    """What a question releases."""

    def released(self) -> dict[str, Any]:
        """The released numbers as plain JSON."""


_Answer = TypeVar("_Answer", bound=Answer)


@dataclass(frozen=True)
class Question:
    """A question of a `kind` about `corpus` under the topics of `model`, with its plan. All of it is public.

    `shares` divide its budget, `facts` are what the ledger records of it. Raises `InputError` for a model that is not
    private, unless it is `public` or noise is simulated.
    """

    kind: str
    model: TopicModel
    corpus: Corpus
    privacy: PrivacySettings
    shares: tuple[Share, ...]
    dataset: str
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    facts: Mapping[str, Any] = field(default_factory=dict)
    public: bool = False
    events: tuple[Event, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not self.model.privacy.sound and not self.public and not self.reason:
            raise InputError(
                "the topics of this run are not private, and the answer would carry what they were learned from. Give "
                "a private run, or declare with public_topics=True (--public-topics) that its text is public."
            )
        object.__setattr__(self, "events", calibrate(self.shares, self.privacy.epsilon, self.privacy.delta))

    @property
    def of(self) -> str:
        """The run whose topics the question is about."""
        return str(self.model.parameters.get("run", ""))

    @property
    def reason(self) -> str:
        """See `Planned`."""
        return "" if self.privacy.simulate_seed is None else _SIMULATED

    def statement(self) -> PrivacyStatement:
        """See `Planned`."""
        p = self.privacy
        return PrivacyStatement(
            epsilon=float("inf") if self.reason else run_epsilon(self.events, p.delta),
            delta=p.delta,
            unit=self.corpus.unit,
            adjacency=p.adjacency,
            sound=not self.reason,
            events=merged(self.events),
            reason=self.reason,
        )

    def reserve(self, ledger: Ledger | Literal[False], run: str) -> Recorder:
        """Reserve the budget, on disk before anything private is read.

        Raises `InputError` if a private question has no ledger.
        """
        if ledger is False:
            if not self.reason:
                raise InputError("ledger=False is for runs that are not private: give simulate_seed, or use a ledger.")
            return Unrecorded(run)
        p = self.privacy
        return ledger.reserve(
            run=run,
            dataset=self.dataset,
            unit=self.corpus.unit,
            adjacency=p.adjacency,
            epsilon=p.epsilon,
            delta=p.delta,
            events=self.events,
            parameters={"kind": self.kind, "of": self.of, **self.facts},
            sound=not self.reason,
        )


@dataclass(frozen=True)
class Asking:
    """A question while it is answered: the run's id, its `curator`, and what was charged so far."""

    question: Question
    run: str
    curator: Curator
    recorder: Recorder
    charged: list[Event]

    @property
    def spent(self) -> str:
        """A sentence on what was spent."""
        return spent_text(self.question, self.recorder, self.charged)


def ask(
    question: Question,
    answer: Callable[[Asking], _Answer],
    statistics: Sequence[Statistic],
    *,
    ledger: Ledger | Literal[False] | None = None,
    passes: int | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> _Answer:
    """Reserve the budget of `question`, read the documents, let `answer` ask the curator, and keep what it releases.

    `passes` is how many of them it makes, if that is known. Raises `BudgetRefused` if the ledger does not allow it;
    then nothing is spent.
    """
    ledger = Ledger() if ledger is None else ledger
    run, privacy, charged = new_name(question.dataset), question.privacy, list[Event]()
    watch = Stopwatch(progress or NoProgress(), seconds if seconds is not None else {})
    with running_engine(question.execution, passes=passes) as passes_of:
        recorder = question.reserve(ledger, run)

        def charge(event: Event) -> None:
            recorder.charge(event)
            charged.append(event)

        with (
            abandoned_on_failure(question, recorder, ledger),
            compiling(tuple(statistics), here=is_local(passes_of)) as wait_for_kernels,
        ):
            watch.start("read")
            store = question.corpus.open(watch, key=None if ledger is False else ledger.key)
            if ledger is not False:
                recorder.bind(fingerprint(store, ledger.key))
            wait_for_kernels(watch)
            noise = ExactNoise() if privacy.simulate_seed is None else SimulatedNoise(privacy.simulate_seed)
            curator = Curator(
                passes_of(store), question.events, charge, noise, adjacency=privacy.adjacency, progress=watch
            )
            found = answer(Asking(question, recorder.run, curator, recorder, charged))
            watch.stop()
            recorder.finish(model=None, seconds=watch.seconds, result=found.released())
    return found
