"""How columns write dates: in ISO 8601, or in another format, which is declared and never guessed.

A column may hold both: cells of a workbook that are dates arrive in ISO 8601, beside others that were typed as text. So
a value that is in ISO 8601 is read as that whatever the format, and a format that would read it as another day is
refused: each value stands for one day.

The module also reads the ranges of days that are compared.
"""

from __future__ import annotations

import re
import shlex
from calendar import monthrange
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product

from dplda.base.errors import InputError

_DAYS = (
    *(f"%d{mark}%m{mark}%{year}" for mark, year in product("./-", "Yy")),
    *(f"%m{mark}%d{mark}%{year}" for mark, year in product("./-", "Yy")),
    *("%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_FORMATS = (
    *(day + time for day, time in product(_DAYS, _TIMES)),
    *("%a, %d %b %Y %H:%M:%S %z", "%a, %d %b %Y %H:%M:%S", "%a, %d %b %Y"),  # as mail and news feeds write dates
)
_LONGEST = 40  # characters of a date
_SHARE = 0.3  # of the values that a format reads, for it to be that of the column: many dates may be wrong
_MOST = 0.9  # of the values that look like dates, for a column of dates in no known format
_TRIED, _TRIED_SHARE = 60, 0.2  # values that rule out most formats, and the share that a format must read of them
_PROBES = tuple(datetime(*day, hour=12, tzinfo=UTC) for day in ((2024, 12, 31), (1999, 1, 2)))
_LIKE_DATE = re.compile(r"\D*\d{1,2}\D.*\b(19|20)\d\d\b|\D*(19|20)\d\d\D+\d{1,2}\D.*\d")  # a day and a year
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?")  # as `isoformat` writes dates and times
_PERIOD = re.compile(
    r"(?P<year>\d{4})(-H(?P<half>[12])|-Q(?P<quarter>[1-4])|-W(?P<week>\d\d)|-(?P<month>\d\d)(-(?P<day>\d\d))?)?",
    re.ASCII,
)
_TO = ".."  # between the first and the last period of a range


@dataclass(frozen=True)
class DateRange:
    """The days from `first` to `last`, both included; `name` is how the range was written."""

    name: str
    first: date
    last: date

    def contains(self, days: tuple[date, date]) -> bool:
        """Whether all days from the first to the second one are in the range."""
        return self.first <= days[0] and days[1] <= self.last

    def overlaps(self, other: DateRange) -> bool:
        """Whether a day is in both ranges."""
        return self.first <= other.last and other.first <= self.last


_ONE_COLUMN = " Ranges are of one column: to compare them within a group, read a file of that group's rows."


def date_ranges(texts: Sequence[str]) -> tuple[DateRange, ...]:
    """Read ``2024-01..2024-03``, or one period such as ``2024-Q1``; an empty result if `texts` are not all dates.

    Raises `InputError` if one of them is written as a range and is none.
    """
    if not any(_TO in text for text in texts) and not all(map(_PERIOD.fullmatch, texts)):
        return ()
    return tuple(map(_date_range, texts))


def _date_range(text: str) -> DateRange:
    start, to, end = (part.strip() for part in text.partition(_TO))
    try:
        first, last = days_of(start)[0], days_of(end if to else start)[1]
    except (ValueError, OverflowError):
        raise InputError(
            f"{text!r} is no range of dates: write 2024-01..2024-03, 2024-01-15..2024-02-10, or one period such as "
            f"2024-01, 2024-Q1, 2024-H1 or 2024.{_ONE_COLUMN if '=' in text else ''}"
        ) from None
    if first > last:
        raise InputError(f"the range {text!r} ends before it begins.")
    return DateRange(f"{start}{to}{end}", first, last)


def days_of(period: str) -> tuple[date, date]:
    """Return the first and the last day of ``2024``, ``2024-H1`` (its first half), ``2024-Q1`` and so on.

    Others are ``2024-01``, ``2024-W05`` and ``2024-01-31``.

    Raises `ValueError` or `OverflowError` for anything else.
    """
    match = _PERIOD.fullmatch(period)
    if match is None:
        raise ValueError("this is no period")
    year, month = int(match["year"]), match["month"]
    if match["day"]:
        day = date(year, int(month), int(match["day"]))
        return day, day
    if match["week"]:
        monday = date.fromisocalendar(year, int(match["week"]), 1)
        return monday, monday + timedelta(days=6)
    part, months = next(((match[part], n) for part, n in (("half", 6), ("quarter", 3)) if match[part]), (None, 1))
    end = months * int(part) if part else int(month or 12)
    start = end - months + 1 if part else int(month or 1)
    return date(year, start, 1), date(year, end, monthrange(year, end)[1])


def read_date(value: str, format: str = "") -> datetime:
    """Read a date in `format` (`datetime.strptime`), or in ISO 8601 if it is empty. Raises `ValueError`.

    Values such as 2024-12-31 and 2024-12-31T23:59 are read in ISO 8601 with any format.
    """
    if format and _ISO.fullmatch(value):
        with suppress(ValueError):
            return datetime.fromisoformat(value)
    return datetime.strptime(value, format) if format else datetime.fromisoformat(value)


def have_offset(values: Sequence[str | None], format: str = "") -> bool:
    """Whether one of the dates in `values` is written with a UTC offset."""
    for value in values:
        with suppress(ValueError, OverflowError):
            if value is not None and read_date(value, format).tzinfo is not None:
                return True
    return False


def check_date_format(format: str) -> None:
    """Raise `InputError` if `format` is not empty, and does not read day, month and year or reads ISO 8601 wrongly."""
    if not format:
        return
    try:
        written = [day.strftime(format) for day in _PROBES]
        read = [datetime.strptime(text, format) for text in written]
        whole = [each.date() for each in read] == [each.date() for each in _PROBES]
    except (ValueError, TypeError):
        whole = False
    if not whole:
        raise InputError(
            "the date format must say where day, month and year are, such as %d.%m.%Y for 31.12.2024 or %m/%d/%Y for "
            f"12/31/2024, got {format!r}."
        )
    if [read_date(text, format).date() for text in written] != [day.date() for day in _PROBES]:
        raise InputError(
            f"the date format {format!r} reads days in ISO 8601, such as 1999-01-02, as other days. Write the dates "
            "in ISO 8601 (year-month-day), or with other marks than hyphens."
        )


def date_formats(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return the formats that read as dates most of `values`, but for mistakes; an empty text is ISO 8601.

    There are several if days and months could change places in all of them. Where some values are in ISO 8601, these
    are the formats of the others. An empty tuple if the values look like dates, in no format that is known; None if
    they are no dates.
    """
    if not values or sum(map(_may_be_date, values)) < _SHARE * len(values):
        return None
    others = [value for value in values if not _is_date(value, "")]
    tried = others[:: max(len(others) // _TRIED, 1)]
    likely = [format for format in _FORMATS if tried and _count(tried, format) >= _TRIED_SHARE * len(tried)]
    counts = {format: _count(values, format) for format in likely or [""]}
    most = max(counts.values())
    if most >= _SHARE * len(values):
        return tuple(format for format, count in counts.items() if count == most)
    return () if sum(map(bool, map(_LIKE_DATE.match, others))) >= _MOST * len(values) else None


def share_unread(values: Sequence[str], format: str) -> float:
    """Return the share of `values` that are no dates in `format`, nor in ISO 8601."""
    return sum(not (_is_date(value, format) or _is_date(value, "")) for value in values) / len(values)


def say_formats(formats: Sequence[str], given_by: str = "date_format=") -> str:
    """Put `formats`, as `date_formats` returns them, into words: the option that reads such dates.

    `given_by` is what is written before a format: in Python, ``date_format=``.
    """
    option, quote = given_by.rstrip(" =:"), shlex.quote if given_by.startswith("--") else repr
    if not formats:
        return f"{option} with the format that their writer used, such as '%d.%m.%Y' for 31.12.2024"
    named = [f"{given_by}{quote(format)}" if format else f"no {option} (ISO 8601)" for format in formats]
    which = " (the dates fit both: you must know which is right)" if len(formats) > 1 else ""
    return f"{' or '.join(named)}{which}"


def _may_be_date(value: str) -> bool:
    """Whether `value` is short and has digits and something else: a plain number is none."""
    return len(value) <= _LONGEST and any(map(str.isdigit, value)) and not value.isdigit()


def _count(values: Sequence[str], format: str) -> int:
    return sum(_is_date(value, format) for value in values)


def _is_date(value: str, format: str) -> bool:
    try:
        read_date(value, format)
    except (ValueError, OverflowError):
        return False
    return True
