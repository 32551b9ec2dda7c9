"""`tabulate`: releases tables of topics by groups, one charged event for each table (docs/privacy.md, T10).

The module also parses by what tables are grouped (`groupings`), and finds released tables in the ledger.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from difflib import get_close_matches
from typing import Any, TypeVar, Unpack

import numpy as np

from dplda.base.characters import is_name
from dplda.base.errors import DpldaError, InputError, UnsupportedByData
from dplda.budget import Ledger, RunRecord
from dplda.budget.accountant import Share
from dplda.budget.events import Event, Stage
from dplda.budget.ledger import usual_ledger
from dplda.budget.ledger_records import READ
from dplda.learning.estimates import Estimates
from dplda.learning.settings import DEFAULTS
from dplda.model.topic_model import TopicModel
from dplda.private import QueryGate
from dplda.private.attributes import BETWEEN, BOOLEAN, CATEGORY, OTHER, PERIODS, Attribute, Axis, TableRows, time_zone
from dplda.private.statistics import Statistic
from dplda.private.statistics.expected_counts import COUNT_SHARE, TABLE_CLIP, TABLE_PROPORTIONS, table_proportions
from dplda.runs.charged_query import QueryOptions, ask, noise_of_sums, plan_query
from dplda.runs.corpus import Corpus, check_corpus
from dplda.runs.indicator_tables import CountTable
from dplda.runs.plan_parts import with_parts
from dplda.runs.private_groups import would_be_found
from dplda.runs.released_table import ReleasedTable, Tables, least_noisy_shares, least_size
from dplda.runs.run import Run
from dplda.runs.series import UNNAMED
from dplda.text.categories import public_digest
from dplda.text.dates import check_date_format, date_ranges, days_of
from dplda.text.records import DOCUMENT, group_value

_Tables = TypeVar("_Tables", bound=Tables)
_PERIOD = re.compile(r"(?P<period>[A-Za-z]+)\((?P<column>[^()]+)\)")
MOST_CELLS = 1_000_000  # rows times topics of a table; more would be noise, and would not fit into memory
_MOST_DAYS = 100_000
EXAMPLE_RANGES = "such as 2024-01..2024-06 and 2024-07..2024-12"
_TABLE = "table"  # the kind of a run that makes tables, in its parameters
_GROUPS_WEIGHT = 0.15  # share of a private list of groups in mu^2, beside 1 for a table
_MOST_PRIVATE = 9  # lists of groups that one run finds privately: each may fail
_GROUPS_OF_UNIT = 10  # how many groups a unit that is no single document votes for


def tabulate(
    model: TopicModel,
    corpus: Corpus,
    by: str | Sequence[str] = (),
    epsilon: float = DEFAULTS.privacy.epsilon,
    delta: float = DEFAULTS.privacy.delta,
    *,
    groups: Mapping[str, Sequence[object]] | None = None,
    dates: tuple[str | date | None, str | date | None] = (None, None),
    between: tuple[str, str] | None = None,
    zone: str = "UTC",
    date_format: str = "",
    sampling: bool = False,
    check_groups: bool = True,
    **options: Unpack[QueryOptions],
) -> Tables:
    """Release noisy tables of topics by group under (epsilon, delta) differential privacy.

    A table has the number of units of `corpus` in each group, and the share of each topic in the group.

    `by` lists the tables: ``"product"``, ``"month(date)"``, or ``"product,month(date)"`` for every product and month;
    without it, there is one row of all documents. It may name the columns that `corpus` was read with
    (``group_fields``). `groups` maps columns to lists of their values that are public, and `dates`, the first and the
    last day, list all periods; other groups are found privately and cost a part of the budget. Offsets in dates are
    converted to `zone`. Dates are in ISO 8601 or in `date_format`, such as ``"%d.%m.%Y"`` (`datetime.strptime`).

    Before anything is charged, the first 1,000 documents are inspected, where they can be read again: with
    `check_groups`, a table into whose groups they hardly fit is refused.

    `between` adds a table of two groups, and compares the second with the first: ``("product=a", "product=b")`` or
    ``("date=2024-01..2024-03", "date=2024-07..2024-09")``.

    A unit is in the tables with its topic proportions under the topics of `model`, which are released or declared
    public. `epsilon` (nats) is for all tables together. With `sampling`, intervals also cover the sampling error, as if
    the units were a sample of a larger population. `options` are those of `dplda.runs.charged_query.QueryOptions`.

    Raises `InputError` for bad input and `BudgetRefused` if the ledger does not allow the run; neither spends any
    of the budget. Reports count a run that was refused after reading, since they do not say how runs ended.
    """
    if not isinstance(model, TopicModel):
        raise InputError(f"tabulate takes the model first, such as dplda.load('reviews'), got {type(model).__name__}.")
    tables = groupings(by, groups or {}, dates, zone, date_format, between)
    if check_groups:
        from dplda.runs.group_check import refuse_misfits  # it judges by the functions of this module

        refuse_misfits(tables, corpus)
    run = plan_tables(
        model, corpus, tables, epsilon, delta, zone=zone, date_format=date_format, sampling=sampling, **options
    )
    found, ledger = ask(run, options), options.get("ledger")
    return found if ledger is False else with_documents(found, usual_ledger(ledger).runs())


def plan_tables(
    model: TopicModel,
    corpus: Corpus,
    tables: Sequence[Sequence[Grouping]],
    epsilon: float,
    delta: float,
    *,
    zone: str = "UTC",
    date_format: str = "",
    sampling: bool = False,
    **options: Unpack[QueryOptions],
) -> Run[Tables]:
    """Plan `tables`, the result of `groupings`, of the topics of `model` in `corpus`; nothing is spent or read.

    Raises `InputError` for columns that `corpus` was read without, and for tables that are too large.
    """
    alpha, titles = float(np.mean(model.alpha)), tuple(model.titles())

    def release(gate: QueryGate, rows: TableRows, groups: dict[str, Any]) -> ReleasedTable:
        gate.use_words(model.vocabulary, rows)
        found = gate.release(Stage.TABLE, table_proportions(model.topics.T, alpha, len(rows)), TABLE_CLIP)
        return ReleasedTable(
            **groups,
            totals=found.total[:, :-1],
            counts=found.total[:, -1] / COUNT_SHARE,
            std=found.std,
            sampling=sampling,
            titles=titles,
        )

    planned = plan_by_group(
        _TABLE,
        Tables,
        release,
        corpus,
        tables,
        epsilon,
        delta,
        options,
        model=model,
        width=len(model.topics),
        statistic=TABLE_PROPORTIONS,
        facts=calendar_facts(zone, date_format),
    )
    least = least_group(tables, planned.events[-1], planned.privacy.adjacency, corpus.unit)
    return replace(planned, outlook=(*least, *planned.outlook))


def least_group(tables: Sequence[Sequence[Grouping]], event: Event, adjacency: str, unit: str) -> list[str]:
    """Say how large a group of `tables` of topics must be, with the noise of the `event` that releases them."""
    least = least_size(noise_of_sums(event, TABLE_CLIP, TABLE_PROPORTIONS, adjacency))
    return [f"A group with fewer than about {least:,.0f} {unit}s would be too small to tell."] if any(tables) else []


def calendar_facts(zone: str, date_format: str) -> dict[str, Any]:
    """Return what the ledger records of how dates are read."""
    return {
        **({} if zone == "UTC" else {"zone": zone}),
        **({"date_format": date_format} if date_format else {}),
    }


def prepare_tables(
    corpus: Corpus, tables: Sequence[Sequence[Grouping]], width: int = 1
) -> tuple[list[list[Grouping]], list[Share]]:
    """Return `tables` as `corpus` has them, and the shares of the budget that their releases take.

    Their rows have `width` numbers. Raises `InputError` for columns that `corpus` was read without, and for tables that
    are too large.
    """
    check_corpus(corpus)
    for column in stored_columns(tables):
        if column not in corpus.group_columns:
            kept = f" It keeps {', '.join(corpus.group_columns)}." if corpus.group_columns else ""
            close = get_close_matches(column, corpus.group_columns, n=1)
            read = f"Did you mean {close[0]!r}? If not, read" if close else "Read"
            raise InputError(
                f"The corpus was read without column {column!r}.{kept} {read} it with group_fields=[{column!r}], or "
                f"import it again: dplda corpus import --group-field {shlex.quote(column)}"
            )
    for table in tables:
        if len({each.attribute.name for each in table}) < len(table):
            raise InputError("a table is grouped twice by the same attribute. Name it once.")
        _check_rows(math.prod(len(each.groups or ()) + 1 for each in table), MOST_CELLS // width)
    found = [[_in_corpus(each, corpus) for each in table] for table in tables]
    hidden = _private(found)
    if len(hidden) > _MOST_PRIVATE:
        raise InputError(f"at most {_MOST_PRIVATE} attributes may have private groups. List the groups of the others.")
    shares = [Share(Stage.TABLE, float(len(tables)), len(tables))]
    if hidden:
        shares.insert(0, Share(Stage.GROUPS, _GROUPS_WEIGHT * len(hidden), len(hidden), selects_words=True))
    return found, shares


def _private(tables: Sequence[Sequence[Grouping]]) -> tuple[Grouping, ...]:
    """Return the attributes whose groups are found privately."""
    return tuple(dict.fromkeys(each for table in tables for each in table if each.groups is None))


def plan_by_group(
    kind: str,
    make: Callable[..., _Tables],
    release: Callable[[QueryGate, TableRows, dict[str, Any]], ReleasedTable],
    corpus: Corpus,
    tables: Sequence[Sequence[Grouping]],
    epsilon: float,
    delta: float,
    options: QueryOptions,
    *,
    model: TopicModel | None,
    width: int,
    statistic: Statistic,
    facts: Mapping[str, Any],
) -> Run[_Tables]:
    """Plan a query that releases `tables`, whose rows have `width` numbers of a `statistic`; nothing is spent or read.

    ``release(gate, rows, groups)`` releases one of them, whose fields ``by``, ``groups`` and ``private`` are in
    `groups`, and ``make(tables=..., dataset=..., **about)`` makes the result. For other parameters see `plan_query`.
    Raises `InputError` for columns that `corpus` was read without, and for tables that are too large.
    """
    tables, shares = prepare_tables(corpus, tables, width)
    hidden = _private(tables)
    most_rows = MOST_CELLS // width

    def answer(gate: QueryGate, about: dict[str, Any]) -> _Tables:
        """Find the private groups, and release the tables."""
        found = {each: gate.choose_groups(each.attribute, _most_groups(corpus.unit)) for each in hidden}
        all_rows = [
            TableRows(tuple(Axis(each.attribute, each.groups or found[each]) for each in table)) for table in tables
        ]
        for rows in all_rows:
            _check_rows(len(rows), most_rows, UnsupportedByData)
        released = [
            release(
                gate,
                rows,
                {
                    "by": tuple(axis.attribute.name for axis in rows.axes),
                    "groups": tuple(axis.names for axis in rows.axes),
                    "private": tuple(each.groups is None for each in table),
                },
            )
            for table, rows in zip(tables, all_rows, strict=True)
        ]
        return make(tables=tuple(released), dataset=options.get("dataset") or corpus.name or UNNAMED, **about)

    planned = plan_query(
        kind,
        model,
        corpus,
        epsilon,
        delta,
        options,
        shares=shares,
        statistics=[statistic],
        answer=answer,
        facts={
            "by": [",".join(each.attribute.name for each in table) for table in tables],
            "private_groups": [each.attribute.name for each in hidden],
            "groups_digest": public_digest([[each.groups for each in table] for table in tables]),
            **facts,
        },
        passes=len(tables),
    )
    return replace(planned, outlook=outlook_of_groups(tables, planned.events, planned.privacy.adjacency, corpus.unit))


def outlook_of_groups(
    tables: Sequence[Sequence[Grouping]], events: Sequence[Event], adjacency: str, unit: str
) -> tuple[str, ...]:
    """Say how large the groups of `tables` that the `events` of a run find privately must be."""
    names = [each.attribute.name for each in _private(tables)]
    return tuple(would_be_found(names, events, adjacency, unit, _most_groups(unit)))


def _most_groups(unit: str) -> int:
    """Return how many groups a unit votes for: a document is in one."""
    return 1 if unit == DOCUMENT else _GROUPS_OF_UNIT


def _check_rows(rows: int, most: int, error: type[DpldaError] = InputError) -> None:
    """Raise `error` if a table has too many rows."""
    if rows > most:
        raise error(f"A table would have {rows:,} rows, at most {most:,} are possible.")


@dataclass(frozen=True)
class Grouping:
    """An attribute with its public groups; None if they are to be found privately."""

    attribute: Attribute
    groups: tuple[str, ...] | None


def stored_columns(tables: Sequence[Sequence[Grouping]]) -> list[str]:
    """Return the columns that the groups of `tables` are values of; a category is in none."""
    attributes = [each.attribute for table in tables for each in table]
    return list(dict.fromkeys(each.column for each in attributes if each.period != CATEGORY))


def _in_corpus(grouping: Grouping, corpus: Corpus) -> Grouping:
    """Return a grouping by a category with the category's number. Raises `InputError` if documents were not asked."""
    attribute = grouping.attribute
    if attribute.period != CATEGORY:
        return grouping
    if attribute.column not in corpus.categories:
        names = ", ".join(corpus.categories)
        known = f"They are {names}" if names else "Nothing was asked of the documents: give categories or a question"
        raise InputError(f"{attribute.column!r} is no category. {known}.")
    return replace(grouping, attribute=replace(attribute, answer=corpus.categories.index(attribute.column) + 1))


def groupings(
    by: str | Sequence[str],
    public: Mapping[str, Sequence[object]],
    dates: tuple[str | date | None, str | date | None] = (None, None),
    zone: str = "UTC",
    date_format: str = "",
    between: tuple[str, str] | None = None,
) -> tuple[tuple[Grouping, ...], ...]:
    """Return the attributes of each table: ``["product", "month(date)", "product,month(date)"]`` are three tables.

    `between`, such as ``("product=a", "product=b")``, makes one more. Without it, an empty `by` is one table of a
    single row, of all documents.

    An attribute is a column, a period of a column (``day``, ``week``, ``month``, ``quarter`` or ``year``),
    ``bool(...)`` of a column, with the groups true and false, or ``category(...)``, with the groups yes and no.
    `public` maps columns to their public groups; `dates` are the public first and last day, which list the periods; the
    groups of any other attribute are found privately. Raises `InputError` for anything else.
    """
    by = [by] if isinstance(by, str) else by
    if not isinstance(by, Sequence) or not all(isinstance(table, str) for table in by):
        raise InputError("by must be a list such as ['product', 'month(date)'], one entry for each table.")
    if not isinstance(public, Mapping):
        raise InputError("groups must map columns to their groups, such as {'product': ['phone', 'tablet']}.")
    if not isinstance(dates, (tuple, list)) or len(dates) != 2:
        raise InputError(
            f"dates must be the first and the last day, such as ('2024-01-01', '2024-12-31'), got {dates!r}."
        )
    first, last = (_day(name, value) for name, value in zip(("first", "last"), dates, strict=True))
    if (first is None) != (last is None) or (first is not None and last is not None and first > last):
        raise InputError("give the first day and the last day of a range, in this order, or neither.")
    time_zone(zone)
    check_date_format(date_format)
    tables = tuple(
        tuple(_grouping(text.strip(), public, (first, last), zone, date_format) for text in table.split(","))
        for table in by
    )
    used = {each.attribute.column for table in tables for each in table}
    unused = [column for column in public if column not in used]
    if unused:
        without = [column for column in used if column not in public]
        meant = "".join(f" instead of {close!r}" for close in get_close_matches(unused[0], without, n=1))
        raise InputError(
            f"groups are given for {unused[0]!r}, by which no table is grouped. Leave them out, or group by "
            f"{unused[0]!r}{meant}."
        )
    if first is not None and not _dated(tables):
        raise InputError("a first and a last day are given, but no table is by period: group by month(COLUMN).")
    if between is not None:
        tables = *tables, (_comparison(between, _dated(tables), zone, date_format),)
    if (date_format or zone != "UTC") and not _dated(tables):
        given = "a date format" if date_format else "a time zone"
        ranges = "" if between is None else f", or compare ranges of dates, {EXAMPLE_RANGES}"
        raise InputError(f"{given} is given, but no table is by period: group by month(COLUMN){ranges}.")
    return tables or ((),)


def _dated(tables: Sequence[Sequence[Grouping]]) -> set[str]:
    """Return the columns that are read as dates."""
    return {each.attribute.column for table in tables for each in table if each.attribute.has_dates}


def _comparison(between: tuple[str, str], dated: set[str], zone: str, date_format: str) -> Grouping:
    """Return the two groups that `between` names; ranges without a column are of the only `dated` one."""
    if not isinstance(between, (tuple, list)) or [type(text) for text in between] != [str, str]:
        raise InputError("between must be two groups, such as ('product=phone', 'product=tablet').")
    named = [text.partition("=") if "=" in text else ("", "", text) for text in between]
    columns, names = {column.strip() for column, _, _ in named}, [name.strip() for _, _, name in named]
    ranges = date_ranges(names)
    if columns == {""}:
        if not ranges or len(dated) != 1:
            raise InputError(
                f"between must name the column of the two groups: COLUMN={names[0]} COLUMN={names[1]}. For parts of a "
                "year, name ranges of a column of dates: created=2024-06..2024-08 created=2024-12..2025-02."
            )
        columns = dated
    if len(columns) > 1 or not all(is_name(column) and not set("()") & set(column) for column in columns):
        raise InputError(
            "between needs two groups of one column, such as product=phone product=tablet, or "
            "created=2024-01..2024-03 created=2024-07..2024-09."
        )
    (column,) = columns
    if not ranges:
        return Grouping(Attribute(column, BETWEEN), _group_names(column, names))
    if ranges[0].overlaps(ranges[1]):
        raise InputError(f"{ranges[0].name} and {ranges[1].name} overlap: a document may be in one of them only.")
    return Grouping(Attribute(column, BETWEEN, zone, date_format, ranges), tuple(each.name for each in ranges))


def _grouping(
    text: str,
    public: Mapping[str, Sequence[object]],
    dates: tuple[date | None, date | None],
    zone: str,
    date_format: str,
) -> Grouping:
    match = _PERIOD.fullmatch(text)
    if match is None:
        if not is_name(text) or "(" in text or ")" in text:
            raise InputError("by must name columns, or periods of them such as month(date).")
        return Grouping(Attribute(text), _group_names(text, public[text]) if text in public else None)
    period, column = match["period"].lower(), match["column"].strip()
    if period == BOOLEAN:
        return Grouping(Attribute(column, BOOLEAN), ("true", "false"))
    if period == CATEGORY:
        return Grouping(Attribute(column, CATEGORY), ("yes", "no"))
    if period not in PERIODS:
        raise InputError(f"{text!r} is no period: use {', '.join(PERIODS)} or {BOOLEAN}, such as month({column}).")
    attribute = Attribute(column, period, zone, date_format)
    if column in public:
        return Grouping(attribute, _group_names(column, public[column]))
    first, last = dates
    if first is None or last is None:
        return Grouping(attribute, None)
    days = (last - first).days
    if days > _MOST_DAYS:
        raise InputError(f"the range from {first} to {last} is too long: at most {_MOST_DAYS:,} days.")
    period_of = PERIODS[period]
    return Grouping(attribute, tuple(dict.fromkeys(period_of(first + timedelta(days=day)) for day in range(days + 1))))


def _group_names(column: str, values: Iterable[object]) -> tuple[str, ...]:
    if isinstance(values, Iterable) and not isinstance(values, str | Mapping | Set) and getattr(values, "ndim", 1) == 1:
        values = list(values)  # also those of an array or a column
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise InputError(f"the groups of {column!r} must be a list of its values, and not {type(values).__name__}.")
    if any(isinstance(value, bool) for value in values):
        raise InputError(f"the groups of {column!r} are truth values: group by bool({column}), without a list.")
    names = [group_value(value) for value in values]
    for value, name in zip(values, names, strict=True):
        if name is None or name == OTHER:
            reserved = f" {OTHER!r} is the name of the row of all others." if name == OTHER else ""
            raise InputError(f"{value!r} cannot be a group of {column!r}: use short, printable names.{reserved}")
    if len(set(names)) < len(names):
        raise InputError(f"the groups of {column!r} name one of them twice.")
    return tuple(name for name in names if name is not None)


def _day(name: str, value: str | date | None) -> date | None:
    """Return the day that `value` names, or the `name` day of a period."""
    if isinstance(value, datetime):
        return value.date()
    try:
        if value is None or isinstance(value, date):
            return value
        return days_of(value)[name == "last"]
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            f"the {name} day must be a day such as 2024-03-01, or a month or another period, got {value!r}."
        ) from None


def tables_of(ledger: Ledger, of: str) -> list[RunRecord]:
    """Return the finished runs that made tables of the topics of the run `of`, oldest first."""
    return _tables_of(ledger.runs(), of)


def _tables_of(runs: Sequence[RunRecord], of: str) -> list[RunRecord]:
    made = [run for run in with_parts(runs) if run.parameters.get("kind") == _TABLE and run.result is not None]
    return [run for run in made if run.parameters.get("of") == of]


def topic_tables(run: RunRecord, runs: Sequence[RunRecord] = (), *, sampling: bool = False) -> Tables:
    """Return the tables that `run` released; `runs` are those of the ledger. Raises `InputError` if it made none."""
    if run.parameters.get("kind") != _TABLE or run.result is None:
        raise InputError(f"Run {run.id} made no tables. List runs with `dplda runs` (Ledger.runs).")
    of = str(run.parameters.get("of", ""))
    found = Tables.of_released(run.result, run=run.id, of=of, dataset=run.dataset, sampling=sampling)
    return with_documents(found, runs)


def with_documents(tables: _Tables, runs: Sequence[RunRecord], beside: Sequence[str] = ()) -> _Tables:
    """Return `tables` with `same_documents` as the `runs` of a ledger tell it.

    It is about the topics of the run that `tables` are of, or of all runs `beside` them.
    """
    read = {run.id: (run.dataset, run.parameters.get(READ)) for run in runs}
    own = read.get(tables.run, ("", None))
    known = own[1] is not None
    asked = beside or (tables.of,)
    alike = tuple(run for run in asked if run == tables.run or (known and read.get(run) == own))
    return replace(tables, same_documents=len(alike) == len(asked), same_as=alike)


def best_tables(ledger: Ledger, of: str) -> list[Tables]:
    """Return the tables of the topics of the run `of`, only the one with the least noise of several of the same groups.

    That is the latest one of several with equal noise. Tables of other files, or of another dataset, are other tables.
    """
    runs = ledger.runs()
    made = _tables_of(runs, of)
    loaded = [topic_tables(run, runs) for run in made]
    best: dict[tuple[object, ...], ReleasedTable] = {}
    for run, tables in zip(made, loaded, strict=True):
        for one in tables:
            key = tables.dataset, str(run.parameters.get(READ)), one.by, one.groups
            if key not in best or one.std <= best[key].std:
                best[key] = one
    kept = {id(one) for one in best.values()}
    found = [replace(each, tables=tuple(one for one in each if id(one) in kept)) for each in loaded]
    return [each for each in found if each.tables]


def subject(table: ReleasedTable) -> tuple[object, ...]:
    """Return what `table` is about; a later table of the same stands in for it."""
    counted: object = type(table)
    if isinstance(table, CountTable):
        counted = table.titles, table.persons, table.documents_per_person
    return (table.by, table.groups, counted) if table.compares_two else (table.by, counted)


def best_shares(ledger: Ledger, model: TopicModel) -> Estimates[np.ndarray] | None:
    """Return `least_noisy_shares` of the tables that the ledger has of the topics of `model`."""
    return least_noisy_shares(best_tables(ledger, model.facts.run or ""), model)
