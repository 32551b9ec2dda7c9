"""Parsing of ``--by``, by which tables are grouped, and of the public lists of groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from dplda.base.characters import is_name
from dplda.base.errors import InputError
from dplda.private.store.attributes import BOOLEAN, OTHER, PERIODS, Attribute, time_zone
from dplda.text.records import group_value

_PERIOD = re.compile(r"(?P<period>[A-Za-z]+)\((?P<column>[^()]+)\)")
MOST_CELLS = 1_000_000  # rows times topics of a table; more would be noise, and would not fit into memory
_MOST_DAYS = 100_000


@dataclass(frozen=True)
class Grouping:
    """An attribute with its public groups; None if they are to be found privately."""

    attribute: Attribute
    groups: tuple[str, ...] | None


def groupings(
    by: str | Sequence[str],
    public: Mapping[str, Sequence[object]],
    dates: tuple[str | date | None, str | date | None] = (None, None),
    zone: str = "UTC",
) -> tuple[tuple[Grouping, ...], ...]:
    """The attributes of each table: ``["product", "month(date)", "product,month(date)"]`` are three tables.

    An empty `by` is one table of a single row, of all documents.

    An attribute is a column, a period of a column (``day``, ``week``, ``month``, ``quarter`` or ``year``), or
    ``bool(...)`` of a column, with the groups true and false. `public` maps columns to their public groups; `dates` are
    the public first and last day, which list the periods; the groups of any other attribute are found privately. Raises
    `InputError` for anything else.
    """
    by = [by] if isinstance(by, str) else by
    if not all(isinstance(table, str) for table in by):
        raise InputError("by must be a list such as ['product', 'month(date)'], one entry for each table.")
    first, last = (_day(name, value) for name, value in zip(("from", "to"), dates, strict=True))
    if (first is None) != (last is None) or (first is not None and last is not None and first > last):
        raise InputError("give the first day (--from) and the last day (--to) of a range, in this order, or neither.")
    time_zone(zone)
    tables = tuple(
        tuple(_grouping(text.strip(), public, (first, last), zone) for text in table.split(",")) for table in by
    ) or ((),)
    used = {each.attribute.column for table in tables for each in table}
    unused = [column for column in public if column not in used]
    if unused:
        raise InputError(f"groups are given for {unused[0]!r}, by which no table is grouped. Leave them out.")
    if first is not None and not any(each.attribute.period for table in tables for each in table):
        raise InputError("a first and a last day are given, but no table is by period: group by month(COLUMN).")
    return tables


def _grouping(
    text: str, public: Mapping[str, Sequence[object]], dates: tuple[date | None, date | None], zone: str
) -> Grouping:
    match = _PERIOD.fullmatch(text)
    if match is None:
        if not is_name(text) or "(" in text or ")" in text:
            raise InputError("by must name columns, or periods of them such as month(date).")
        return Grouping(Attribute(text), _listed(text, public[text]) if text in public else None)
    period, column = match["period"].lower(), match["column"].strip()
    if period == BOOLEAN:
        return Grouping(Attribute(column, BOOLEAN), ("true", "false"))
    if period not in PERIODS:
        raise InputError(f"{text!r} is no period: use {', '.join(PERIODS)} or {BOOLEAN}, such as month({column}).")
    attribute = Attribute(column, period, zone)
    if column in public:
        return Grouping(attribute, _listed(column, public[column]))
    first, last = dates
    return Grouping(attribute, None if first is None or last is None else _periods(period, first, last))


def _listed(column: str, values: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str) or not values:
        raise InputError(f"the groups of {column!r} must be a list of its values.")
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
    if isinstance(value, datetime):
        return value.date()
    try:
        if value is None or isinstance(value, date):
            return value
        return date.fromisoformat(value)
    except (ValueError, TypeError):
        raise InputError(f"--{name} must be a day such as 2024-03-01, got {value!r}.") from None


def _periods(period: str, first: date, last: date) -> tuple[str, ...]:
    """The periods from `first` to `last`, in order."""
    days = (last - first).days
    if days > _MOST_DAYS:
        raise InputError(f"the range from {first} to {last} is too long: at most {_MOST_DAYS:,} days.")
    name = PERIODS[period]
    return tuple(dict.fromkeys(name(first + timedelta(days=day)) for day in range(days + 1)))
