"""A plan of questions: topics, tables, counts and words in one charged run, with one guarantee.

The questions share the budget of the run by their weights, in mu^2. Each is planned as a run of its own with its part,
and the run reserves the events of all of them (docs/privacy.md, section 4.2). They are answered in the order of the
plan, from one pass of reading. Each answer is kept as soon as it is released, so that it stays if the run is killed.
Where the released numbers do not support an answer, the others are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from dplda.base.errors import InputError, UnsupportedByData
from dplda.budget import Ledger, RunRecord
from dplda.budget.accountant import FAILURE_SHARE, calibrate, capacity, gaussian_epsilon, run_epsilon
from dplda.budget.database import default_path
from dplda.budget.events import Event, PrivacyStatement
from dplda.budget.ledger import usual_ledger
from dplda.budget.ledger_records import READ, released_in_words
from dplda.learning.settings import DEFAULTS
from dplda.model.topic_model import TopicModel
from dplda.private.statistics import Statistic
from dplda.private.statistics.expected_counts import TABLE_PROPORTIONS
from dplda.private.statistics.word_indicators import WORD_INDICATORS
from dplda.runs.charged_query import QueryOptions
from dplda.runs.corpus import Corpus
from dplda.runs.counting import is_count, load_counts, plan_counts
from dplda.runs.evaluation import is_evaluation
from dplda.runs.fit_options import FitOptions
from dplda.runs.fitting import plan_fit
from dplda.runs.group_words import is_words, least_groups, load_words, plan_words
from dplda.runs.indicator_tables import Counts, Words
from dplda.runs.plan_parts import PLAN, is_plan, parts_of, reasons_of, refuse_unanswered, with_parts
from dplda.runs.released_table import Tables
from dplda.runs.run import OpenRun, Run
from dplda.runs.series import load
from dplda.runs.tabulation import (
    Grouping,
    least_group,
    outlook_of_groups,
    plan_tables,
    prepare_tables,
    subject,
    tables_of,
    topic_tables,
    with_documents,
)
from dplda.text.categories import public_digest
from dplda.text.records import DOCUMENT

Kind = Literal["fit", "tabulate", "count", "words"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_NOT_REACHED = "the run has not come to this question, or was interrupted before."
_LEAST_SHARE = 1e-4  # of a question; its numbers would be noise alone
_WEIGHTS: dict[Kind, float] = {"fit": 4.0, "tabulate": 1.0, "count": 1.0, "words": 2.0}


@dataclass(frozen=True)
class Question:
    """A question in the user's words, and what answers it."""

    text: str
    kind: Kind
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of a fit (`FitOptions`), without those of the whole run; ``at_most``, ``persons`` and
    ``documents_per_person`` of a count, or the ``vocabulary`` of words, a public list."""
    tables: tuple[tuple[Grouping, ...], ...] = ()
    """What the answer is grouped by, except for a fit."""
    calendar: Mapping[str, str] = field(default_factory=dict)
    """The ``zone`` and the ``date_format`` of dates."""
    weight: float = 0.0
    """The share of the run's mu^2, times the sum of all weights; 0 stands for the default of the kind."""

    @property
    def about_topics(self) -> bool:
        """Whether the question is about topics or their words, which a fit finds before."""
        return self.kind == "tabulate" or (self.kind == "words" and "vocabulary" not in self.options)

    @property
    def share(self) -> float:
        """The weight, or the default of the kind."""
        return self.weight or _WEIGHTS[self.kind]

    def asks_for(self, unit: str) -> str:
        """What an answer releases about documents of this `unit`, in words."""
        most = self.options.get("documents_per_person")
        whole = unit == DOCUMENT or most
        counted = (
            "persons" if self.options.get("persons") else "documents" if whole else "documents, weighed by person,"
        )
        said = {
            "fit": "topics",
            "tabulate": "shares of the topics",
            "count": f"numbers of {counted} in each category{f' (up to {most} of a person in full)' if most else ''}",
            "words": "words that tell groups apart",
        }[self.kind]
        by = " and by ".join(", ".join(each.attribute.name for each in table) for table in self.tables if table)
        found = dict.fromkeys(each.attribute.name for table in self.tables for each in table if each.groups is None)
        privately = f" (groups by {', '.join(found)} found privately)" if found else ""
        return f"{said}{by and f' by {by}'}{privately}"


@dataclass(frozen=True)
class Findings:
    """The answers to the questions of a plan."""

    run: str
    privacy: PrivacyStatement
    questions: tuple[str, ...]
    model: TopicModel | None
    """The topics, if a question asks for them."""
    tables: tuple[Tables | None, ...]
    """The answer to each question; None if it is the topics, or there is none."""
    reasons: tuple[str, ...] = ()
    """Why each question has no answer: released numbers, or the run did not come to it; empty for one that has. Without
    any, all have one."""

    @property
    def topic_tables(self) -> list[Tables]:
        """The answers that are shares of topics."""
        return [each for each in self.tables if each is not None and not isinstance(each, Counts | Words)]

    @property
    def dataset(self) -> str:
        """The dataset that the answers are about."""
        named = [each.dataset for each in self.tables if each is not None]
        return named[0] if named else "" if self.model is None else self.model.facts.dataset or ""

    @property
    def answers(self) -> list[tuple[str, Tables | None, str]]:
        """Each question, its answer, and why there is none."""
        return list(zip(self.questions, self.tables, self.reasons or ("",) * len(self.questions), strict=True))

    def released(self) -> dict[str, Any]:
        """Return the released numbers as plain JSON, without the topics, which are in the folder of the model."""
        return {
            "answers": [None if each is None else each.released() for each in self.tables],
            "reasons": list(self.reasons),
            "privacy": self.privacy.to_json(),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the questions with their answers as plain JSON."""
        topics = None if self.model is None else {"topics": self.model.facts.run}
        return {
            "run": self.run,
            "answers": [
                {"question": question, "answer": None, "reason": reason}
                if reason
                else {"question": question, "answer": topics if answer is None else answer.to_json()}
                for question, answer, reason in self.answers
            ],
            "privacy": self.privacy.to_json(),
        }


def plan_questions(
    questions: Sequence[Question], corpus: Corpus, ledger: Ledger | Literal[False], options: FitOptions
) -> Run[Findings]:
    """Plan a run that answers `questions` about `corpus`; nothing is spent or read.

    `options` are those of the whole run: dataset, epsilon, delta, adjacency, series, batch, engine and seed of
    simulated noise. Questions about topics are about those of the fit in the plan. Raises `InputError` if there is no
    question, more than one fit, a series without one, or a question about topics before them, and for what the
    planning of any question refuses.
    """
    if not questions:
        raise InputError("the plan has no questions.")
    kinds = [question.kind for question in questions]
    if kinds.count("fit") > 1:
        raise InputError("the plan fits topics twice. Ask one question with `fit`.")
    if (options.series or options.batch) and "fit" not in kinds:
        raise InputError("a series continues topics: ask for them with `fit`, or leave series and batch out.")
    fitted = False
    for question in questions:
        fitted = fitted or question.kind == "fit"
        if question.about_topics and not fitted:
            listed = ", or give it a public list, such as vocabulary: english:2000" if question.kind == "words" else ""
            raise InputError(
                f"{question.text!r} needs the result of a fit, and no question before it asks for them: put "
                f"one with `fit` before it{listed}."
            )
    others = tuple(question.asks_for(corpus.unit) for question in questions if question.kind != "fit")
    total = math.fsum(question.share for question in questions)
    least = min(questions, key=lambda question: question.share)
    if least.share < _LEAST_SHARE * total:
        raise InputError(
            f"the weights differ too much: {least.text!r} would get less than a {1 / _LEAST_SHARE:,.0f}th of the "
            "budget. Give it a larger weight, or leave it out."
        )
    parts, events, statistics, outlook = list[_Part](), list[Event](), list[Statistic](), list[str]()
    hints = dict[str, list[str]]()  # which several questions may share
    for question in questions:
        share, epsilon, delta = _part_of_budget(question, questions, options)
        parts.append(_plan(question, corpus, ledger, options, epsilon, delta))
        outlook.append(" ".join([f"{share:.0%} of the run's budget for {question.text!r}.", *parts[-1].outlook[:1]]))
        for hint in parts[-1].outlook[1:]:
            hints.setdefault(hint, []).append(repr(question.text))
        events += parts[-1].events
        statistics += [each for each in parts[-1].statistics if each not in statistics]
    if run_epsilon(events, options.delta) > options.epsilon * (1 + 1e-9):
        raise AssertionError("the questions cost more than the run")

    of_run: dict[str, Any] = {"epsilon": options.epsilon, "delta": options.delta}  # and not of the part of the fit
    if others and (fit := fit_of(questions, options)) is not None:
        of_run |= {"budget_share": fit[1], "other_answers": others}

    def learn(opened: OpenRun) -> Findings:
        fitted: TopicModel | None = None
        answers, reasons = list[Tables | None](), list[str]()

        def found_so_far() -> Findings:
            texts = tuple(question.text for question in questions)
            left = len(questions) - len(answers)
            why = (*reasons, *[_NOT_REACHED] * left)
            tables = (*answers, *[None] * left)
            return Findings(opened.id, opened.privacy, texts, fitted, tables, why if any(why) else ())

        for question, part in zip(questions, parts, strict=True):
            opened.gate.use_all_words()  # not those of the question before
            found, reason = None, ""
            if question.about_topics and fitted is None:
                words = (
                    "the words that this compares are those of topics that were not found; name others: `vocabulary`."
                )
                reason = words if question.kind == "words" else "the topics that this is about were not found."
            else:
                try:
                    found = part.run(fitted).learn(opened)
                except UnsupportedByData as error:  # released numbers say so
                    reason = str(error)
                    if question.kind == "fit" and len(questions) > 1:
                        share = _part_of_budget(question, questions, options)[0]
                        reason += (
                            f" These numbers are of the fit alone, which has {share:.0%} of the budget: raise the "
                            f"epsilon of the plan ({options.epsilon:g}) in proportion, or the `weight` of the fit."
                        )
            if question.kind == "fit" and found is not None:
                fitted, found = replace(found, facts=replace(found.facts, **of_run)), None
            answers.append(found)
            reasons.append(reason)
            if not all(reasons):
                opened.keep(found_so_far())
        if all(reasons):
            raise UnsupportedByData(reasons[0])
        return found_so_far()

    asked = [
        {
            "question": question.text,
            "kind": question.kind,
            "by": [_names(table) for table in question.tables],
            "digest": public_digest(
                [
                    str(sorted(question.options.items())),
                    str(sorted(question.calendar.items())),
                    [[each.groups for each in table] for table in question.tables],
                    corpus.category_facts,
                ]
            ),
        }
        for question in questions
    ]
    base: Run[Any] = parts[kinds.index("fit") if "fit" in kinds else 0].run(None)
    return replace(
        base,
        privacy=replace(base.privacy, epsilon=options.epsilon, delta=options.delta),
        events=tuple(events),
        statistics=statistics,
        parameters={
            **base.parameters,
            **(of_run if "fit" in kinds else {"other_answers": others}),
            "kind": PLAN,
            "questions": asked,
        },
        learn=learn,
        outlook=(*outlook, *(f"{' and '.join(about)}: {hint}" for hint, about in hints.items())),
        passes=None if "fit" in kinds else sum(len(question.tables) for question in questions),
    )


def fit_of(questions: Sequence[Question], options: FitOptions) -> tuple[FitOptions, float] | None:
    """Return the options of the fit that is one of `questions`, with its part of the budget, and its share in mu^2.

    None without a fit.
    """
    for question in questions:
        if question.kind == "fit":
            share, epsilon, delta = _part_of_budget(question, questions, options)
            return replace(options, **question.options, epsilon=epsilon, delta=delta), share
    return None


def _part_of_budget(
    question: Question, questions: Sequence[Question], options: FitOptions
) -> tuple[float, float, float]:
    """Return the share of `question` in the budget of all, that of `options`, and its own epsilon and delta."""
    share = question.share / math.fsum(each.share for each in questions)
    delta = share * options.delta
    mu_squared = share * capacity(options.epsilon, options.delta).mu_squared
    return share, gaussian_epsilon(math.sqrt(mu_squared), (1 - FAILURE_SHARE) * delta), delta


def _names(table: Sequence[Grouping]) -> str:
    return ",".join(each.attribute.name for each in table)


@dataclass(frozen=True)
class _Part:
    """The plan of one question. Its events do not depend on the topics that it is about, which the run may learn."""

    events: Sequence[Event]
    statistics: Sequence[Statistic]
    run: Callable[[TopicModel | None], Run[Any]]
    """Plans the run that answers the question, given these topics."""
    outlook: tuple[str, ...] = ()


def _plan(
    question: Question,
    corpus: Corpus,
    ledger: Ledger | Literal[False],
    options: FitOptions,
    epsilon: float,
    delta: float,
) -> _Part:
    """Plan `question` with this part of the budget."""
    of_query: QueryOptions = {
        "dataset": options.series or options.dataset or corpus.name,
        "adjacency": options.adjacency,
        "engine": options.engine,
        "scheduler": options.scheduler,
        "simulate_seed": options.simulate_seed,
    }
    if question.kind == "fit":
        fit = plan_fit(corpus, ledger, replace(options, **question.options, epsilon=epsilon, delta=delta))
        return _Part(fit.events, fit.statistics, lambda model: fit)
    settings: dict[str, Any] = {**question.calendar, **of_query}
    if question.kind == "count":
        counts = plan_counts(corpus, question.tables, epsilon, delta, **question.options, **settings)
        return _Part(counts.events, counts.statistics, lambda model: counts, counts.outlook)
    tables, listed = question.tables, question.options.get("vocabulary")
    if question.kind == "words" and listed is not None:
        words = plan_words(listed, corpus, tables, epsilon, delta, **settings)
        return _Part(words.events, words.statistics, lambda model: words, words.outlook)
    width = DEFAULTS.vocabulary.max_vocabulary if question.kind == "words" else 1  # of topics, rows are few
    prepared, shares = prepare_tables(corpus, tables, width)
    events = calibrate(tuple(shares), epsilon, delta)
    groups = outlook_of_groups(prepared, events, options.adjacency, corpus.unit)
    if question.kind == "words":
        return _Part(
            events,
            [WORD_INDICATORS],
            lambda model: plan_words(_known(model), corpus, tables, epsilon, delta, **settings),
            (" ".join([least_groups(events[-1], options.adjacency, corpus.unit), *groups]),),
        )
    return _Part(
        events,
        [TABLE_PROPORTIONS],
        lambda model: plan_tables(_known(model), corpus, tables, epsilon, delta, **settings),
        (*least_group(prepared, events[-1], options.adjacency, corpus.unit), *groups),
    )


def _known(model: TopicModel | None) -> TopicModel:
    """Return the topics that a question is about, which `plan_questions` has seen to."""
    if model is None:
        raise AssertionError("a question is about topics that nobody asked for")
    return model


def load_findings(run: RunRecord, model: TopicModel | None, *, sampling: bool = False) -> Findings:
    """Return the answers that the `run` of a plan released; `model` are its topics, if it has any.

    Counts or words of a run of their own are the answer to one question, which says what they are. With `sampling`,
    intervals also cover the sampling error, as if the documents were drawn from a larger population.
    """
    refuse_unanswered(run)
    if is_count(run) or is_words(run):
        alone, what = load_indicators(run, sampling=sampling), released_in_words(run.parameters)
        return Findings(run.id, alone.privacy, (what[0].upper() + what[1:],), None, (alone,))
    if not is_plan(run) or run.result is None:
        raise InputError(f"Run {run.id} answered no plan. List runs with `dplda runs` (Ledger.runs).")
    kinds = {"tabulate": Tables, "count": Counts, "words": Words}
    asked = [(about["question"], about["kind"]) for about in run.parameters["questions"]]
    return Findings(
        run.id,
        PrivacyStatement.from_json(dict(run.result["privacy"])),
        tuple(question for question, _ in asked),
        model,
        tuple(
            None
            if answer is None
            else kinds[kind].of_released(answer, run=run.id, of=run.id, dataset=run.dataset, sampling=sampling)
            for (_, kind), answer in zip(asked, run.result["answers"], strict=True)
        ),
        tuple(reasons_of(run)),
    )


def load_tables(run: str, *, sampling: bool = False, ledger: Ledger | None = None) -> list[Tables]:
    """Load the tables that `Ledger.run` finds by `run` released, free of charge, as ``dplda tables`` shows them.

    They are tables of topics, counts or words (`tabulate`, `count`, `distinctive_words`), or all answers of a plan
    (``dplda ask``), in its order. Of a run that only fitted topics, they are the later tables of these topics, oldest
    first. With `sampling`, intervals of shares and counts also cover the sampling error. Tables of topics have the
    names of a saved model (``dplda label``). `ledger` is the default one if None. Raises `InputError` if there are
    none.
    """
    if ledger is None and not default_path().exists():
        raise InputError(f"{run!r} has no tables: there is no ledger that could know it.")
    ledger = usual_ledger(ledger)
    named, runs = ledger.run(run), ledger.runs()
    refuse_unanswered(named)
    made = parts_of(named) if named.result is not None else tables_of(ledger, named.id)
    if not made or is_evaluation(named):
        raise InputError(f"run {named.id} has no tables. List runs with `dplda runs` (Ledger.runs).")
    found: list[Tables] = []
    for each in made:
        if is_count(each) or is_words(each):
            found.append(load_indicators(each, sampling=sampling))
            continue
        tables = topic_tables(each, runs, sampling=sampling)
        with suppress(InputError):  # the model was not saved
            tables = tables.titled(load(tables.of, ledger=ledger).titles())
        found.append(tables)
    return found


def load_indicators(run: RunRecord, *, sampling: bool = False) -> Counts | Words:
    """Return the counts or words that `run` released; intervals of counts as in `load_tables`."""
    return load_counts(run, sampling=sampling) if is_count(run) else load_words(run)


def indicators_of(run: RunRecord) -> list[Counts | Words]:
    """Return the counts and words that `run` released, as answers of a plan or alone."""
    return [load_indicators(each) for each in parts_of(run) if is_count(each) or is_words(each)]


def beside_topics(answers: Tables, models: Sequence[TopicModel], runs: Sequence[RunRecord]) -> Tables:
    """Return counts or words with `same_documents` as `runs` tell it of the `models` of their dataset."""
    return with_documents(answers, runs, [str(m.facts.run) for m in models if m.facts.dataset == answers.dataset])


def latest_indicators(ledger: Ledger, dataset: str) -> list[Counts | Words]:
    """Return the counts and words of the documents of `dataset`; only the latest of several by the same attributes.

    Counts of other categories, of other files, or of another batch of a series, are other counts.
    """
    found: list[Counts | Words] = []
    seen = set[tuple[object, ...]]()
    for run in reversed(list(with_parts(ledger.runs()))):
        if run.dataset != dataset or not (is_count(run) or is_words(run)):
            continue
        loaded = load_indicators(run)
        of = run.batch, str(run.parameters.get(READ))
        subjects = {(*of, *subject(one)): one for one in loaded}
        new = tuple(one for key, one in subjects.items() if key not in seen)
        seen |= set(subjects)
        if new:
            found.append(replace(loaded, tables=new))
    return found[::-1]
