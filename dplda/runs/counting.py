"""`count`: how many documents match each category, by groups and periods, in one charged run (docs/privacy.md, T16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Unpack

from scipy.special import ndtri

from dplda.base.config import ADJACENCIES, MINIMUM_LENGTH, plain_number
from dplda.base.errors import InputError
from dplda.budget import RunRecord
from dplda.budget.events import Stage
from dplda.learning.settings import DEFAULTS
from dplda.private import QueryGate
from dplda.private.attributes import TableRows
from dplda.private.statistics.word_indicators import (
    CELL_INDICATORS,
    INDICATOR_CLIP,
    WORD_INDICATORS,
    answer_indicators,
    answer_weights,
    person_indicators,
)
from dplda.runs.charged_query import QueryOptions, ask
from dplda.runs.corpus import Corpus, check_corpus
from dplda.runs.group_check import refuse_misfits
from dplda.runs.indicator_tables import Counts, CountTable
from dplda.runs.run import Run
from dplda.runs.tabulation import Grouping, calendar_facts, groupings, plan_by_group
from dplda.text.categories import (
    NO_ANSWER,
    NONE,
    Categories,
    category_digest,
    classified_categories,
    listed_categories,
    rules_in_words,
    try_function,
)
from dplda.text.records import DOCUMENT

_COUNT = "count"  # the kind of such a run, in its parameters
MOST_ANSWERS = 3  # of a document, by default
_MOST_IN_GROUPS = 10  # of a person, in all groups together
_LARGEST_IN_GROUPS = 1000


def count(
    corpus: Corpus,
    categories: Categories | Mapping[str, Any] | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    epsilon: float = DEFAULTS.privacy.epsilon,
    delta: float = DEFAULTS.privacy.delta,
    *,
    classify: Callable[[str], Any] | None = None,
    at_most: int | None = None,
    groups: Mapping[str, Sequence[object]] | None = None,
    dates: tuple[str | date | None, str | date | None] = (None, None),
    between: tuple[str, str] | None = None,
    zone: str = "UTC",
    date_format: str = "",
    sampling: bool = False,
    check_groups: bool = True,
    persons: bool = False,
    **options: Unpack[QueryOptions],
) -> Counts:
    """Release how many documents of `corpus` match each of `categories` under (epsilon, delta) differential privacy.

    `categories` maps names to rules, such as ``{"refund": ["refund", "money back"]}``
    (`dplda.text.categories.listed_categories`), or lists the possible answers of ``classify(text)``
    (`dplda.text.categories.classified_categories`). Without them, `corpus` must have been imported with categories.

    `classify` is tried on a made-up public text first: a function that cannot work is refused before anything is spent.

    A document with more than `at_most` answers counts less, so that one document moves the counts by no more than so
    many answers; the default is the number of categories, at most 3, or 1 for `classify`. The documents of a person
    share the weight of one document. With `persons`, a person counts 1 in each category of at least one of their
    documents, in each group that these are in. `at_most` is for the answers of a person in all groups, by default 10,
    or as for documents without groups. Such a table is by one attribute. `by`, `groups`, `dates`,
    `between`, `zone`, `date_format`, `sampling`, `check_groups` and `options` are as in `dplda.tabulate`.

    Raises `InputError` for bad input and `BudgetRefused` if the ledger does not allow the run; neither spends anything.
    """
    asked = _asked(corpus, categories, classify)
    tables = groupings(by, groups or {}, dates, zone, date_format, between)
    if check_groups:
        refuse_misfits(tables, corpus)
    if classify is not None and at_most is None and not persons:
        at_most = 1
    run = plan_counts(
        asked,
        tables,
        epsilon,
        delta,
        at_most=at_most,
        persons=persons,
        zone=zone,
        date_format=date_format,
        sampling=sampling,
        **options,
    )
    return ask(run, options)


def _asked(
    corpus: Corpus,
    categories: Categories | Mapping[str, Any] | Sequence[str] | None,
    classify: Callable[[str], Any] | None,
) -> Corpus:
    """Return `corpus` with the answers of each document to `categories`."""
    check_corpus(corpus)
    if isinstance(categories, Mapping) and classify is None:
        language = str(corpus.reading.get("language", "en"))
        return corpus.asking(listed_categories(categories, language=language))
    if isinstance(categories, Categories) and classify is None:
        return corpus.asking(categories)
    if categories is None and classify is None:
        return corpus
    if isinstance(categories, str | Mapping | Categories | None) or classify is None:
        raise InputError(
            "categories must map names to rules, or list the possible answers of the function classify=..., such as "
            "['yes', 'no']."
        )
    asked = corpus.asking(classified_categories(tuple(categories), classify))
    try_function(classify, tuple(categories))
    return asked


def plan_counts(
    corpus: Corpus,
    tables: Sequence[Sequence[Grouping]],
    epsilon: float,
    delta: float,
    *,
    at_most: int | None = None,
    persons: bool = False,
    zone: str = "UTC",
    date_format: str = "",
    sampling: bool = False,
    **options: Unpack[QueryOptions],
) -> Run[Counts]:
    """Plan `tables`, the result of `groupings`, of the answers of `corpus`; nothing is spent or read.

    Raises `InputError` if documents were not asked, for columns that `corpus` was read without, for tables that are too
    large, and for `persons` that are single documents or by several attributes.
    """
    names = corpus.categories
    if not names:
        raise InputError(
            "the documents were not asked anything: give categories, or import them with categories: "
            "dplda corpus import --categories FILE"
        )
    if persons:
        _check_persons(corpus, tables)
    n_given = sum(name not in (NONE, NO_ANSWER) for name in names)
    one_answer = "by" in corpus.category_facts and not persons  # of a question
    given = at_most
    at_most = 1 if one_answer and at_most is None else min(n_given, MOST_ANSWERS) if at_most is None else at_most
    largest, what = n_given, ", the number of categories"
    if persons and any(tables):
        largest, what = _LARGEST_IN_GROUPS, ", the answers of a person in all groups"
        at_most = _MOST_IN_GROUPS if given is None else given
    at_most = plain_number(at_most)
    if not isinstance(at_most, int) or not 1 <= at_most <= largest:
        raise InputError(f"at_most must be a whole number from 1 to {largest}{what}.")
    answer_weight, size_weight = answer_weights(at_most)
    statistic = CELL_INDICATORS if persons else WORD_INDICATORS

    def release(gate: QueryGate, rows: TableRows, groups: dict[str, Any]) -> CountTable:
        gate.use_answers(names, rows, of_units=persons, n_rest=len(names) - n_given)
        indicators = person_indicators if persons else answer_indicators
        found = gate.release(Stage.TABLE, indicators(len(names), at_most, len(rows)), INDICATOR_CLIP)
        totals, sizes = found.total[:, 1:-1], found.total[:, -1]
        if persons:
            cells = found.total.reshape(len(rows), 1 + len(names))
            totals, sizes = cells[:, 1:], cells[:, 0]
        return CountTable(
            **groups,
            totals=totals / answer_weight,
            counts=sizes / size_weight,
            std=found.std / answer_weight,
            sampling=sampling,
            titles=names,
            size_precision=size_weight / answer_weight,
            exclusive=one_answer or n_given == 1,
            at_most=at_most,
            persons=persons,
            rules=rules_in_words(corpus.category_facts),
        )

    planned = plan_by_group(
        _COUNT,
        Counts,
        release,
        corpus,
        tables,
        epsilon,
        delta,
        options,
        model=None,
        width=len(names),
        statistic=statistic,
        facts={
            "categories": list(names),
            "at_most": at_most,
            **({"persons": True} if persons else {}),
            "categories_digest": category_digest(corpus.category_facts),
            **calendar_facts(zone, date_format),
        },
    )
    noise = INDICATOR_CLIP / answer_weight * (planned.events[-1].noise_multiplier or 0.0)
    if planned.privacy.adjacency != ADJACENCIES[0]:
        noise *= statistic.replace_factor
    half = -float(ndtri(0.025)) * noise
    outlook = f"Numbers would be told to within {half:,.0f} {corpus.unit}s (95 %), however large a group is."
    return replace(planned, outlook=(outlook,))


def _check_persons(corpus: Corpus, tables: Sequence[Sequence[Grouping]]) -> None:
    """Raise `InputError` unless units are persons of whom documents are known, by one attribute at a time."""
    if corpus.unit == DOCUMENT:
        raise InputError(
            "persons are counted only where the unit is a person, and here it is a document: name their column with "
            "--unit-field (in Python, unit_field=), or leave persons out to count documents."
        )
    if any(len(table) > 1 for table in tables):
        raise InputError(
            "persons are counted by one attribute in each table, since one may be in several groups, which do not add "
            "up: repeat by for each attribute, or leave persons out to count documents."
        )


def counted_units(unit: str) -> str:
    """Name what counts are of, such as ``documents of at least three words``."""
    what = "documents of" if unit == DOCUMENT else f"{unit}s with a document of"
    return f"{what} at least {MINIMUM_LENGTH} words"


def counted_in(table: CountTable, unit: str) -> str:
    """Name what `table` counts, with how many there are: persons in several groups do not add up to a number."""
    if table.persons and table.by:
        return f"{counted_units(unit)}, in each group that they have one in"
    size = table.whole().units()
    value, low, high = (float(numbers[0]) for numbers in (size.value, size.low, size.high))
    return f"{counted_units(unit)}: {value:,.0f} ({low:,.0f} to {high:,.0f}) in all"


def what_counts(table: CountTable, unit: str) -> str:
    """Say, after a space, what the documents of a person count for; empty if the unit is a document."""
    if unit == DOCUMENT:
        return ""
    if table.persons:
        return f" Numbers are of {unit}s with at least one such document."
    return (
        f" The documents of one {unit} share the weight of one: who has two, one of them in a category, counts there "
        f"as a half. So numbers are of {unit}s' texts, and not of how many {unit}s ever were in a category."
    )


def who_counts_less(table: CountTable, unit: str) -> str:
    """Say what counts less than 1 in `table` (T16); empty if nothing does."""
    if table.persons and table.by:
        return (
            f"A {unit} in more than {table.at_most} categories, over all groups, counts less in each of them, and so "
            "may one in many groups"
        )
    who = unit if table.persons else DOCUMENT
    several = f"A {who} in more than {table.at_most} categories counts less in each of them"
    return several if table.at_most < table.n_topics - 1 else ""


def is_count(run: RunRecord) -> bool:
    """Whether `run` is a finished run of `count`."""
    return run.parameters.get("kind") == _COUNT and run.result is not None


def load_counts(run: RunRecord, *, sampling: bool = False) -> Counts:
    """Return the counts that `run` released. Raises `InputError` if it made none."""
    if not is_count(run) or run.result is None:
        raise InputError(f"Run {run.id} made no counts. List runs with `dplda runs`.")
    return Counts.of_released(run.result, run=run.id, of="", dataset=run.dataset, sampling=sampling)
