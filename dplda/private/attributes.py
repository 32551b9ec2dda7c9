"""Attributes that group documents, such as product or month, and the rows of the resulting table.

Attributes, groups and rows are public or released; a document's own values are private.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from dplda.base.errors import InputError
from dplda.text.dates import DateRange, days_of, read_date

OTHER = "(all others)"  # the row of documents in no listed group; no likely name of a group
PERIODS: dict[str, Callable[[date], str]] = {  # names of periods; their alphabetical order is chronological
    "day": date.isoformat,
    "week": lambda day: f"{day.isocalendar().year:04}-W{day.isocalendar().week:02}",
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month - 1) // 3 + 1}",
    "year": lambda day: f"{day.year:04}",
}
BOOLEAN, CATEGORY = "bool", "category"
OTHER_WORDS = ""  # as the last of the words in use, stands for all words of a document that are not among the others
HOW_MANY = 1 << 29  # of a unit's documents are told apart in a cell: times `MINIMUM_LENGTH`, it is within 32 bits
ANSWERS = "(answers)"  # the column of a store that holds the documents' answers (`dplda.text.categories`)
BETWEEN = "between"  # two groups that are compared with each other
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_TRUTH = {"true": "true", "false": "false", "1": "true", "0": "false", "yes": "true", "no": "false"}


def sorted_groups(names: Iterable[str]) -> tuple[str, ...]:
    """Sort the groups of an attribute: by their values if all are decimal numbers, else alphabetically."""
    listed = sorted(names)
    if all(_NUMBER.fullmatch(name) for name in listed):
        listed.sort(key=Decimal)
    return tuple(listed)


def in_words(name: str) -> str:
    """Return the `name` of an attribute for a heading: of two groups that are compared, that of their column."""
    return name[len(BETWEEN) + 1 : -1] if name.startswith(f"{BETWEEN}(") else name


def period_after(period: str, name: str) -> str:
    """Return the name of the period after the one called `name`: ``2025-01`` for the month ``2024-12``."""
    return PERIODS[period](days_of(name)[1] + timedelta(days=1))


@dataclass(frozen=True)
class Attribute:
    """An attribute that groups documents: the values of a `column`, or the `period` of its dates.

    With `BOOLEAN` (``bool``) as `period`, the groups are ``true`` and ``false``, and the truth values of the column
    (true, false, yes, no, 1, 0) are mapped to them. With `CATEGORY`, ``yes`` and ``no`` say whether the document has
    the `answer` whose name is the `column`. With `BETWEEN`, the groups are two values, or two `ranges` of dates. Dates
    are in ISO 8601 or in `date_format`. Dates with an offset are converted to the time zone `zone`; other dates are
    taken as they are.
    """

    column: str
    period: str | None = None
    zone: str = "UTC"
    date_format: str = ""
    """The format of dates that are not in ISO 8601, as for `datetime.strptime`; empty if all are (`read_date`)."""
    ranges: tuple[DateRange, ...] = ()
    """The groups, if they are ranges of dates. They do not overlap."""
    answer: int = 0
    """With `CATEGORY`, the number of the category, from 1."""

    @property
    def stored_column(self) -> str:
        """The column of the store whose values decide the group."""
        return ANSWERS if self.period == CATEGORY else self.column

    @property
    def name(self) -> str:
        """The attribute as written in ``--by``: ``product`` or ``month(date)``."""
        return self.column if self.period is None else f"{self.period}({self.column})"

    @property
    def has_dates(self) -> bool:
        """Whether the values of the column are read as dates."""
        return self.period in PERIODS or bool(self.ranges)

    def group(self, value: str) -> str | None:
        """Return the group of a document with this `value` in the column; None if the value names no group.

        A date in none of the `ranges` is in `OTHER`.
        """
        if self.period == BOOLEAN:
            return _TRUTH.get(value.casefold())
        if self.period == CATEGORY:
            return "yes" if str(self.answer) in value.split() else "no"
        if not self.has_dates:
            return None if value == OTHER else value  # OTHER is the name of a row
        days = self.days(value)
        if days is None:
            return None
        if self.period in PERIODS:
            return PERIODS[self.period](days[0])
        return next((each.name for each in self.ranges if each.contains(days)), OTHER)

    def days(self, value: str) -> tuple[date, date] | None:
        """Return the first and the last day of the date `value`; None if it is no date.

        Where dates are in a range, a value may also name a month or another period, which has several days.
        """
        if self.ranges and not self.date_format:
            with suppress(ValueError, OverflowError):
                return days_of(value)
        zone = time_zone(self.zone)
        try:
            moment = read_date(value, self.date_format)
            day = (moment if moment.tzinfo is None else moment.astimezone(zone)).date()
        except (ValueError, OverflowError):
            return None
        return day, day


@lru_cache(maxsize=8)
def time_zone(name: str) -> tzinfo:
    """Return the time zone `name` of the package tzdata, whatever the system's own data are. Raises `InputError`."""
    if name == "UTC":
        return UTC
    try:
        with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
            return ZoneInfo.from_file(file, name)
    except (OSError, ValueError, AttributeError):
        raise InputError(f"zone must be a time zone such as Europe/Berlin, got {name!r}.") from None


@dataclass(frozen=True)
class Axis:
    """An attribute and its listed `groups`, which are public or released; a document in none of them is in `OTHER`."""

    attribute: Attribute
    groups: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, and `OTHER` at the end."""
        return *self.groups, OTHER


@dataclass(frozen=True)
class TableRows:
    """The rows of a table: one for every combination of groups of its `axes`, the last axis varying fastest."""

    axes: tuple[Axis, ...]

    def __len__(self) -> int:
        return math.prod(len(axis.names) for axis in self.axes)


@dataclass(frozen=True)
class Answers:
    """The possible answers of each document, which take the place of its words, by the numbers 1 to `n`.

    The "word" 0 occurs `MINIMUM_LENGTH` times in every document, so that an eligible document is eligible here, too.
    """

    n: int
    most_of_unit: int = 0
    """If positive, a unit is one document, whose words are cells: word w of row r, with 0 for being in the row, is
    r * (n + 1) + w. It occurs `MINIMUM_LENGTH` times for each of the unit's documents in the row that have it, and for
    no more than so many of them: with 1, the cells tell whether a document has it, and with `HOW_MANY`, how many do."""
    n_rest: int = 0
    """How many of the answers, the last ones, are of documents that have no other. Of them, a unit has in a row the
    first that a document has, and only if its documents in the row have none of the others. 0 for documents alone."""
