"""Charged queries of documents: what `dplda.tabulate`, `dplda.evaluate` and `dplda.count` have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypedDict, TypeVar

from dplda.base.config import ADJACENCIES, ExecutionSettings, PrivacySettings
from dplda.base.errors import InputError, warn
from dplda.base.progress import Progress
from dplda.budget import Ledger, new_name
from dplda.budget.accountant import Share, calibrate
from dplda.budget.events import Event
from dplda.learning.settings import DEFAULTS
from dplda.model.topic_model import TopicModel
from dplda.private import QueryGate
from dplda.private.statistics import Statistic
from dplda.runs.corpus import Corpus, check_corpus
from dplda.runs.run import Answer, OpenRun, Run
from dplda.runs.series import UNNAMED

_Answer = TypeVar("_Answer", bound=Answer)


class QueryOptions(TypedDict, total=False):
    """Options that `dplda.tabulate`, `dplda.evaluate` and `dplda.count` share; defaults are in parentheses.

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


def plan_query(
    kind: str,
    model: TopicModel | None,
    corpus: Corpus,
    epsilon: float,
    delta: float,
    options: QueryOptions,
    *,
    shares: Sequence[Share],
    statistics: Sequence[Statistic],
    answer: Callable[[QueryGate, dict[str, Any]], _Answer],
    facts: Mapping[str, Any] | None = None,
    passes: int | None = None,
) -> Run[_Answer]:
    """Plan a query of this `kind` on `corpus`, under the topics of a `model` if there is one; nothing is spent or read.

    `shares` divide its budget, and the ledger records the `facts`. ``answer(gate, about)`` makes the releases and
    returns the result. `about` maps names of fields of that result to their values: ``run``, ``of`` (the run that
    released the topics) and ``privacy`` (the statement). Raises `InputError` for a model that is not private, unless
    its topics are public or noise is simulated.
    """
    check_corpus(corpus)
    for name in options:
        if name not in QueryOptions.__annotations__:
            near = get_close_matches(name, [*QueryOptions.__annotations__, "by", "groups", "dates", "between"], n=1)
            others = f"{', '.join(QueryOptions.__annotations__)}, and the parameters of the function"
            hint = f": did you mean {near[0]!r}?" if near else f". There are {others}."
            raise InputError(f"there is no option {name!r}{hint}")
    privacy = PrivacySettings(
        epsilon=epsilon,
        delta=delta,
        adjacency=options.get("adjacency") or (DEFAULTS.privacy if model is None else model.privacy).adjacency,
        simulate_seed=options.get("simulate_seed"),
    )
    if model is not None and not model.privacy.sound and not options.get("public_topics") and not privacy.reason:
        raise InputError(
            "the topics of this run are not private, and the result would reveal what they were learned from. Give "
            "a private run, or declare with public_topics=True (--public-topics) that its text is public."
        )
    if model is not None:
        warn_of_other_words(model, corpus)
    engine = options.get("engine", DEFAULTS.execution.engine)
    of = "" if model is None else model.facts.run or ""
    dataset = options.get("dataset") or corpus.name or UNNAMED

    def learn(run: OpenRun) -> _Answer:
        return answer(run.gate, {"run": run.id, "of": of, "privacy": run.privacy})

    return Run(
        id=new_name(dataset),
        corpus=corpus,
        dataset=dataset,
        privacy=privacy,
        execution=ExecutionSettings(engine=engine, scheduler=options.get("scheduler")),
        events=calibrate(tuple(shares), privacy.epsilon, privacy.delta),
        statistics=statistics,
        parameters={"kind": kind, "of": of, **(facts or {})},
        learn=learn,
        reason=privacy.reason,
        passes=passes,
    )


def noise_of_sums(event: Event, clip: float, statistic: Statistic, adjacency: str) -> float:
    """Return the standard deviation of the sums of a `statistic` with this `clip`, as the `event` releases them."""
    return clip * (event.noise_multiplier or 0.0) * (1.0 if adjacency == ADJACENCIES[0] else statistic.replace_factor)


def ask(run: Run[_Answer], options: QueryOptions) -> _Answer:
    """Carry out the query `run`, and return its answer. Raises `BudgetRefused` if the ledger does not allow it."""
    return run.execute_warned(options.get("ledger"), progress=options.get("progress"), seconds=options.get("seconds"))


def warn_of_other_words(model: TopicModel, corpus: Corpus) -> None:
    """Warn if the settings that tokenise `corpus` are not those of the documents of `model`.

    The settings are language, lemmas, tokenizer and ngrams.
    """
    if corpus.reading and not model.facts.reading:
        warn(
            "The topics were learned from counts, so that it is not known how their words were found: words that this "
            "corpus writes otherwise are not found. Counts of these words (Corpus.from_counts) are surely alike."
        )
        return
    for name in ("language", "lemmas", "tokenizer", "ngrams"):
        asked, learned = corpus.reading.get(name), model.facts.reading.get(name)
        if corpus.reading and asked != learned and {asked, learned} - {None, False}:
            warn(
                f"The documents are read with {name} {asked}, and those of the topics were read with {learned}. Read "
                "them alike, or words that differ are not found."
            )
