"""`count`: how many documents match each category, by groups and periods, in one charged run (docs/privacy.md, T16)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Unpack

from scipy.special import ndtri

from dplda.base.config import MINIMUM_LENGTH, plain_number
from dplda.base.errors import InputError
from dplda.budget import RunRecord
from dplda.budget.events import Stage
from dplda.learning.settings import DEFAULTS
from dplda.private import QueryGate
from dplda.private.attributes import HOW_MANY, PERIODS, TableRows
from dplda.private.statistics.expected_counts import COUNT_SHARE
from dplda.private.statistics.word_indicators import (
    CELL_COUNTS,
    INDICATOR_CLIP,
    WORD_INDICATORS,
    answer_indicators,
    answer_weights,
    person_counts,
)
from dplda.runs.charged_query import QueryOptions, ask, noise_of_sums
from dplda.runs.corpus import Corpus, check_corpus
from dplda.runs.group_check import refuse_misfits
from dplda.runs.indicator_tables import Counts, CountTable
from dplda.runs.released_table import least_size
from dplda.runs.run import Run
from dplda.runs.tabulation import Grouping, calendar_facts, groupings, plan_by_group
from dplda.text.categories import (
    NO_ANSWER,
    NONE,
    Categories,
    classified_categories,
    listed_categories,
    public_digest,
    rules_in_words,
    try_function,
)
from dplda.text.records import DOCUMENT

_COUNT = "count"  # the kind of such a run, in its parameters
MOST_ANSWERS = 3  # of a document, by default
_MOST_IN_GROUPS = 10  # of a person, in all groups together
_LARGEST_IN_GROUPS = 1000
_MOST_DOCUMENTS = 1000  # of a person that may count in full


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
    documents_per_person: int | None = None,
    **options: Unpack[QueryOptions],
) -> Counts:
    """Release how many documents of `corpus` match each of `categories` under (epsilon, delta) differential privacy.

    `categories` maps names to rules, such as ``{"refund": ["refund", "money back"]}``
    (`dplda.text.categories.listed_categories`), or lists the possible answers of ``classify(text)``
    (`dplda.text.categories.classified_categories`). Without them, `corpus` must have been imported with categories.

    `classify` is tried on a made-up public text first: a function that cannot work is refused before anything is spent.

    A document with more than `at_most` answers counts less, so that one document moves the counts by no more than so
    many answers; the default is the number of categories, at most 3, or 1 for `classify`. If the unit is a person,
    there are three ways to count. By default, the documents of a person share the weight of one document. With
    `documents_per_person`, documents count 1 each, those of a person with more than so many documents less; the noise
    is so many times that of one document for each person. With `persons`, a person counts 1 in each category of at
    least one of their documents, in each group that these are in. `at_most` is then for the answers of a person in all
    groups, by default 10, or as for documents without groups; who has more counts less in the numbers of persons, too.
    Such a table is by one attribute. `by`, `groups`, `dates`, `between`, `zone`, `date_format`, `sampling`,
    `check_groups` and `options` are as in `dplda.tabulate`.

    Raises `InputError` for bad input and `BudgetRefused` if the ledger does not allow the run; neither spends any
    of the budget. Reports count a run that was refused after reading, since they do not say how runs ended.
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
        documents_per_person=documents_per_person,
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
    documents_per_person: int | None = None,
    zone: str = "UTC",
    date_format: str = "",
    sampling: bool = False,
    **options: Unpack[QueryOptions],
) -> Run[Counts]:
    """Plan `tables`, the result of `groupings`, of the answers of `corpus`; nothing is spent or read.

    Raises `InputError` if documents were not asked, for columns that `corpus` was read without, for tables that are too
    large, for `persons` or `documents_per_person` where units are documents, and for `persons` by several attributes.
    """
    names = corpus.categories
    if not names:
        raise InputError(
            "the documents were not asked anything: give categories, or import them with categories: "
            "dplda corpus import --categories FILE"
        )
    per_person = plain_number(documents_per_person)
    _check_persons(corpus, tables, persons, per_person)
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
        allowed = "1" if largest == 1 else f"a whole number from 1 to {largest}"
        raise InputError(f"at_most must be {allowed}{what}.")
    answer_weight, size_weight = (weight / (per_person or 1) for weight in answer_weights(at_most))
    statistic = CELL_COUNTS if persons or per_person else WORD_INDICATORS
    exclusive = n_given == 1 or (one_answer and "question" in corpus.category_facts)

    def release(gate: QueryGate, rows: TableRows, groups: dict[str, Any]) -> CountTable:
        if persons or per_person:
            most, n_rest = (1, len(names) - n_given) if persons else (HOW_MANY, 0)
            gate.use_answers(names, rows, most_of_unit=most, n_rest=n_rest)
            cells = person_counts(len(names), at_most, len(rows), per_person or 1)
            found = gate.release(Stage.TABLE, cells, INDICATOR_CLIP)
            by_row = found.total.reshape(len(rows), 1 + len(names))
            totals, sizes = by_row[:, 1:], by_row[:, 0]
        else:
            gate.use_answers(names, rows)
            found = gate.release(Stage.TABLE, answer_indicators(len(names), at_most, len(rows)), INDICATOR_CLIP)
            totals, sizes = found.total[:, 1:-1], found.total[:, -1]
        return CountTable(
            **groups,
            totals=totals / answer_weight,
            counts=sizes / size_weight,
            std=found.std / answer_weight,
            sampling=sampling,
            titles=names,
            size_precision=size_weight / answer_weight,
            exclusive=exclusive,
            at_most=at_most,
            persons=persons,
            documents_per_person=per_person,
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
            **({"documents_per_person": per_person} if per_person else {}),
            "categories_digest": public_digest(corpus.category_facts),
            **calendar_facts(zone, date_format),
        },
    )
    noise = noise_of_sums(planned.events[-1], INDICATOR_CLIP / answer_weight, statistic, planned.privacy.adjacency)
    half = -float(ndtri(0.025)) * noise
    of_size = half * answer_weight / size_weight
    if exclusive:  # the answers of a group tell its size, too
        of_size = 1 / math.hypot(1 / of_size, 1 / (half * math.sqrt(len(names))))
    unit = corpus.unit
    counted = DOCUMENT if per_person else unit
    within = f"Numbers would be told to within {half:,.0f} {counted}s (95 %) for each category"
    within += (
        f" in one group, however large it is, and the size of a group to within {of_size:,.0f}"
        f"{'' if persons else '; sums of several groups less exactly'}."
        if any(tables)
        else f", and the number of all {counted}s to within {of_size:,.0f}."
    )
    if any(tables):
        within += f" A group with fewer than about {least_size(noise):,.0f} {counted}s would be too small to tell."
    outlook = [" ".join([within, *planned.outlook])]
    if not one_answer:
        outlook += _who_would_count_less(unit, n_given, at_most, tables, persons=persons, per_person=per_person)
    if unit != DOCUMENT and not (persons or per_person):
        outlook.append(
            f"Numbers would be of {unit}s' texts, the documents of one {unit} sharing the weight of one. "
            f"{_other_counts(unit)} In a plan, that is persons: true or documents_per_person: N."
        )
    if per_person:
        outlook.append(
            f"Documents of a {unit} with more than {per_person:,} would count less: numbers would be too small by what "
            f"is missing, and differ between tables. Where few {unit}s have most of the documents, take a larger "
            "number, with which the noise grows, or count persons."
        )
    return replace(planned, outlook=tuple(outlook))


def _who_would_count_less(
    unit: str,
    n_given: int,
    at_most: int,
    tables: Sequence[Sequence[Grouping]],
    *,
    persons: bool,
    per_person: int | None,
) -> list[str]:
    """Say which documents or persons with several of `n_given` categories would count less, if any may (T16)."""
    if persons and any(tables):
        asked = {each.attribute.name: len(each.groups or ()) + 1 for table in tables for each in table}
        rows = {name: math.inf if number == 1 else number for name, number in asked.items()}  # one is of all others
        less = _in_many_groups(unit, n_given, at_most, rows, "would count less")
        more = "A larger --at-most (in a plan, at_most) counts more in full; the noise grows with its square root."
        return [f"{less}. {more}"] if less else []
    if at_most >= n_given:
        return []
    factor = math.sqrt(at_most / n_given)
    categories = f"in more than {at_most} of the {n_given} categories"
    less = f"A {DOCUMENT} {categories} would count less in each of them"
    if persons or per_person:
        factor = math.sqrt((1 + COUNT_SHARE**2) / (n_given / at_most + COUNT_SHARE**2))
        less = f"A {unit} {categories} would count less, in each of them and in the number of {unit}s"
    if per_person:
        less = (
            f"Of {DOCUMENT}s {categories}, fewer than {per_person:,} of a {unit} would count in full, also in the "
            f"number of {DOCUMENT}s"
        )
    each = f"each of {per_person:,} " if per_person else ""
    return [
        f"{less}: {each}in all {n_given}, as {factor:.2f}. --at-most {n_given} (in a plan, at_most: {n_given}) counts "
        f"them in full, with {math.sqrt(n_given / at_most):.2f} times the noise."
    ]


def _in_many_groups(unit: str, n_given: int, at_most: int, rows: Mapping[str, float], less: str) -> str:
    """Say in how many groups a person counts `less`; empty if in no table, by the number of its `rows` (T16).

    In each group, a person has at least one answer, which is *(none of these)* without a category.
    """
    full, of_all = (_groups_in_full(answers, at_most) for answers in (1, n_given))
    lowered = f"{less}, in each of them and in the numbers of {unit}s"
    several = f"more than {_groups(of_all)}" if of_all else "a group"
    from_on = "already in one" if not of_all else f"from {_groups(of_all + 1)} on"
    if names := [name for name, number in rows.items() if number > full]:
        many = " or ".join(_groups(full, name) for name in names)
        sooner = f"; one in all {n_given} categories of a group does so {from_on}" * (n_given > 1)
        return (
            f"A {unit} with {DOCUMENT}s in more than {many} {lowered}, since each group takes some of the {at_most:,} "
            f"answers that count in full, also where {NONE} is the only one{sooner}"
        )
    return f"A {unit} in all {n_given} categories of {several} {lowered}" if max(rows.values()) > of_all else ""


def _groups(number: int, name: str = "") -> str:
    """Name so many groups by the attribute `name`: ``7 months`` by month(created), ``7 groups by product``."""
    period, is_made, _ = name.partition("(")
    what = period if is_made and period in PERIODS else "group"
    return f"{number:,} {what}{'' if number == 1 else 's'}{f' by {name}' if name and not is_made else ''}"


def _groups_in_full(answers: int, at_most: int) -> int:
    """Return in how many groups a person with so many `answers` in each of them still counts in full (T16)."""
    return int((1 + COUNT_SHARE**2) / (answers / at_most + COUNT_SHARE**2))


def _check_persons(
    corpus: Corpus, tables: Sequence[Sequence[Grouping]], persons: bool, documents_per_person: Any
) -> None:
    """Raise `InputError` unless these can be counted: units are persons then, and `persons` are by one attribute."""
    if documents_per_person is not None:
        whole = isinstance(documents_per_person, int) and not isinstance(documents_per_person, bool)
        if not whole or not 1 <= documents_per_person <= _MOST_DOCUMENTS:
            raise InputError(
                f"documents_per_person must be a whole number from 1 to {_MOST_DOCUMENTS:,}, got "
                f"{documents_per_person!r}."
            )
        if persons:
            raise InputError(
                "persons and documents_per_person exclude each other: give persons to count persons, or "
                "documents_per_person to count documents."
            )
        if corpus.unit == DOCUMENT:
            raise InputError(
                "documents_per_person is for documents of persons, and here the unit is a document: name the column of "
                "persons with --unit-field (in Python, unit_field=), or leave it out, since each document counts."
            )
    if persons and corpus.unit == DOCUMENT:
        raise InputError(
            "persons are counted only where the unit is a person, and here it is a document: name their column with "
            "--unit-field (in Python, unit_field=), or leave persons out to count documents."
        )
    if persons and any(len(table) > 1 for table in tables):
        raise InputError(
            "persons are counted by one attribute in each table, since one may be in several groups, which do not add "
            "up: repeat by for each attribute, or count documents with documents_per_person."
        )


def _other_counts(unit: str) -> str:
    """Say what else than the texts of units can be counted."""
    return (
        f"--persons counts the {unit}s with at least one document in a category, and --documents-per-person N the "
        f"documents, of which a {unit} with at most N counts in full."
    )


def counted_units(unit: str) -> str:
    """Name what counts are of, such as ``documents of at least three words``."""
    what = "documents of" if unit == DOCUMENT else f"{unit}s with a document of"
    return f"{what} at least {MINIMUM_LENGTH} words"


def counted_as(table: CountTable, unit: str) -> str:
    """Name what the numbers of `table` are of: documents, persons, or shares of persons' texts."""
    if unit == DOCUMENT or table.persons:
        return f"{unit}s"
    return f"{DOCUMENT}s of {unit}s" if table.documents_per_person else f"shares of {unit}s' texts"


def counted_in(table: CountTable, unit: str) -> str:
    """Name what `table` counts, with how many there are: persons in several groups do not add up to a number."""
    counted = counted_units(table.counted(unit))
    if table.persons and table.by:
        return f"{counted}, in each group that they have one in"
    if table.documents_per_person:
        counted += f", of each {unit} up to {table.documents_per_person:,} in full"
    size = table.whole().units()
    value, low, high = (float(numbers[0]) for numbers in (size.value, size.low, size.high))
    return f"{counted}: {value:,.0f} ({low:,.0f} to {high:,.0f}) in all{', as counted' * sizes_count_less(table, unit)}"


def what_counts(table: CountTable, unit: str) -> str:
    """Say, after a space, what the documents of a person count for; empty if the unit is a document."""
    if unit == DOCUMENT:
        return ""
    if table.documents_per_person:
        less = f" Documents of a {unit} with more than {table.documents_per_person:,} may count less"
        spread = ", but more of them count where they are in several groups, so that tables with groups may count more"
        return f"{less}{spread if table.by else ''}."
    if table.persons:
        numbers = f" Numbers are of {unit}s with at least one such document."
        if not (table.by and table.against_rest):
            return numbers
        return (
            f"{numbers} A group is compared with the other groups together, where a {unit} counts once in each of them."
        )
    return (
        f" The documents of one {unit} share the weight of one: who has two, one of them in a category, counts there "
        f"as a half. So numbers are of {unit}s' texts, and not of how many documents are in a category, or how many "
        f"{unit}s ever were."
    )


def what_else_counts(table: CountTable, unit: str) -> str:
    """Say what else could be counted; empty if that was chosen, or if the unit is a document."""
    return "" if unit == DOCUMENT or table.persons or table.documents_per_person else _other_counts(unit)


def who_counts_less(table: CountTable, unit: str) -> str:
    """Say what counts less than 1 in `table` (T16); empty if nothing does."""
    n_given = sum(name not in (NONE, NO_ANSWER) for name in table.titles)
    if table.persons and table.by:
        return _in_many_groups(unit, n_given, table.at_most, {table.by[0]: len(table.rows)}, "counts less")
    categories = "category" if table.at_most == 1 else "categories"
    several = f"A {DOCUMENT} in more than {table.at_most} {categories} counts less in each of them"
    if table.persons:
        several = (
            f"A {unit} in more than {table.at_most} {categories} counts less, in each of them and in the number of all "
            f"{unit}s"
        )
    if most := table.documents_per_person:
        several = (
            f"Of documents in more than {table.at_most} {categories}, fewer than {most:,} of a {unit} count in full, "
            "also in the number of all documents"
        )
    return "" if table.exclusive or table.at_most >= n_given else several


def count_less(table: CountTable, unit: str) -> bool:
    """Whether documents or persons may count less than 1 in `table`, so that its numbers may be too small (T16)."""
    return bool(who_counts_less(table, unit)) or (unit != DOCUMENT and not table.persons)


def sizes_count_less(table: CountTable, unit: str) -> bool:
    """Whether the numbers of all documents or persons may be too small, too: where all of a person's weigh less."""
    return (table.persons or table.documents_per_person is not None) and count_less(table, unit)


def size_heading(table: CountTable, unit: str) -> str:
    """Name the column of the numbers of all documents or persons in each group."""
    parts = " (in parts)" if table.by and table.weighs_texts(unit) else ""
    return f"{table.counted(unit)}s{parts}{' as counted' * sizes_count_less(table, unit)}"


def what_intervals_hold(table: CountTable, unit: str) -> str:
    """Say, after a space, of which numbers the intervals are if some may be too small; empty if none is."""
    if not count_less(table, unit):
        return ""
    true = unit if table.persons else DOCUMENT if unit == DOCUMENT or table.documents_per_person else ""
    numbers = (
        f"the true number of {true}s is"
        if true
        else f"the true numbers of documents, and of {unit}s with one of these, are"
    )
    what = "Intervals and differences" if table.by else "Intervals"
    return (
        f" {what} are of the numbers as counted here, without the noise: {numbers} not smaller than these, and may be "
        "larger; true shares may differ, too."
    )


def is_count(run: RunRecord) -> bool:
    """Whether `run` is a finished run of `count`."""
    return run.parameters.get("kind") == _COUNT and run.result is not None


def load_counts(run: RunRecord, *, sampling: bool = False) -> Counts:
    """Return the counts that `run` released. Raises `InputError` if it made none."""
    if not is_count(run) or run.result is None:
        raise InputError(f"Run {run.id} made no counts. List runs with `dplda runs` (Ledger.runs).")
    return Counts.of_released(run.result, run=run.id, of="", dataset=run.dataset, sampling=sampling)
