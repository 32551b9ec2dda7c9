"""Charged queries of documents under released topics: what `dplda.tabulate` and `dplda.evaluate` have in common.

A query's budget is reserved, the documents are read, the events are charged, and the ledger keeps what is released.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar, Unpack

from dplda.base.config import ExecutionSettings, PrivacySettings
from dplda.base.errors import DpldaWarning, InputError
from dplda.base.progress import Progress
from dplda.budget import Ledger, new_name
from dplda.budget.accountant import Share, calibrate
from dplda.budget.events import Event
from dplda.learning.settings import DEFAULTS
from dplda.model.topic_model import TopicModel
from dplda.private.curator import Curator
from dplda.private.statistics import Statistic
from dplda.runs.corpus import Corpus
from dplda.runs.recording import charged_run, statement


class Asked(TypedDict, total=False):
    """Options that `dplda.tabulate` and `dplda.evaluate` share; defaults are in parentheses.

    - `dataset`: whose budget is charged (the name of the corpus).
    - `ledger`: the ledger that is charged, or False for a simulation that is not recorded (the default ledger).
    - `public_topics`: declare that the topics were learned from public documents (False).
    - `adjacency`: how neighbouring corpora differ, ``add-remove`` or ``replace`` (as for the model).
    - `engine`, `scheduler`, `simulate_seed`, `progress`, `seconds`: as in `dplda.fit`.
    """

    dataset: str | None
    ledger: Ledger | Literal[False] | None
    public_topics: bool
    adjacency: str | None
    engine: str
    scheduler: str | None
    simulate_seed: int | None
    progress: Progress | None
    seconds: dict[str, float] | None


class Answer(Protocol):
    """The released result of a query."""

    def released(self) -> dict[str, Any]:
        """The released numbers as plain JSON."""


_Answer = TypeVar("_Answer", bound=Answer)


@dataclass(frozen=True)
class Question:
    """A charged query of a `kind` on `corpus` under the topics of the run `of`, with its plan; all of it is public.

    `shares` divide its budget, and the ledger records the `facts`.
    """

    kind: str
    of: str
    corpus: Corpus
    dataset: str
    privacy: PrivacySettings
    execution: ExecutionSettings
    shares: tuple[Share, ...]
    facts: Mapping[str, Any]
    batch: str | None = None
    events: tuple[Event, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", calibrate(self.shares, self.privacy.epsilon, self.privacy.delta))

    @property
    def id_field(self) -> str | None:
        """See `dplda.runs.recording.Planned`."""
        return self.corpus.id_field

    @property
    def reason(self) -> str:
        """See `dplda.runs.recording.Planned`."""
        return self.privacy.reason

    def parameters(self) -> dict[str, Any]:
        """See `dplda.runs.recording.Planned`."""
        return {"kind": self.kind, "of": self.of, **self.facts}


@dataclass(frozen=True)
class QuestionPlan(Generic[_Answer]):
    """How to compute a charged query of one `kind`.

    ``answer(curator, about)`` makes the releases and returns the result. `about` maps names of fields of that result to
    their values: ``run``, ``of`` (the run that released the topics) and ``privacy`` (the statement). `shares` and
    `facts` go to `Question`, `statistics` and `passes` to `charged_run`.
    """

    kind: str
    shares: Sequence[Share]
    statistics: Sequence[Statistic]
    answer: Callable[[Curator, dict[str, Any]], _Answer]
    facts: Mapping[str, Any] = field(default_factory=dict)
    passes: int | None = None

    def question(
        self, model: TopicModel, corpus: Corpus, epsilon: float, delta: float, **asked: Unpack[Asked]
    ) -> Question:
        """The question about `corpus` under the topics of `model`, before anything is reserved or read.

        Raises `InputError` for a model that is not private, unless its topics are public or noise is simulated.
        """
        privacy = PrivacySettings(
            epsilon=epsilon,
            delta=delta,
            adjacency=asked.get("adjacency") or model.privacy.adjacency,
            simulate_seed=asked.get("simulate_seed"),
        )
        if not model.privacy.sound and not asked.get("public_topics") and not privacy.reason:
            raise InputError(
                "the topics of this run are not private, and the result would reveal what they were learned from. Give "
                "a private run, or declare with public_topics=True (--public-topics) that its text is public."
            )
        warn_of_other_words(model, corpus)
        engine = asked.get("engine", DEFAULTS.execution.engine)
        return Question(
            self.kind,
            model.facts.run or "",
            corpus,
            asked.get("dataset") or corpus.name or "unnamed",
            privacy,
            ExecutionSettings(engine=engine, scheduler=asked.get("scheduler")),
            tuple(self.shares),
            self.facts,
        )


def ask(
    plan: QuestionPlan[_Answer], model: TopicModel, corpus: Corpus, epsilon: float, delta: float, **asked: Unpack[Asked]
) -> _Answer:
    """Reserve the budget of a query, read the documents, and record what it releases.

    Raises `InputError` as `QuestionPlan.question` does, and `BudgetRefused`.
    """
    question = plan.question(model, corpus, epsilon, delta, **asked)
    ledger = asked.get("ledger")
    ledger = Ledger() if ledger is None else ledger
    run = new_name(question.dataset)
    with charged_run(
        question,
        ledger,
        run,
        plan.statistics,
        passes=plan.passes,
        progress=asked.get("progress"),
        seconds=asked.get("seconds"),
    ) as charged:
        found = plan.answer(charged.gate, {"run": run, "of": question.of, "privacy": statement(question)})
        charged.finish(result=found.released())
    return found


def warn_of_other_words(model: TopicModel, corpus: Corpus) -> None:
    """Warn if `corpus` is tokenised with other settings than the documents of `model`.

    The settings are language, lemmas, tokenizer and ngrams.
    """
    for name in ("language", "lemmas", "tokenizer", "ngrams"):
        asked, learned = corpus.reading.get(name), model.facts.reading.get(name)
        if corpus.reading and asked != learned and {asked, learned} - {None, False}:
            warnings.warn(
                f"The documents are read with {name} {asked}, and those of the topics were read with {learned}. Read "
                f"them alike, or words that differ are not found.",
                DpldaWarning,
                stacklevel=5,
            )
