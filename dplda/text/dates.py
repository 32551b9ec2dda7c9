"""How columns write dates: in ISO 8601, or in another format, which is declared and never guessed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import date, datetime
from itertools import product

from dplda.base.errors import InputError

_DAYS = (
    *(f"%d{mark}%m{mark}%{year}" for mark, year in product("./-", "Yy")),
    *(f"%m{mark}%d{mark}%{year}" for mark, year in product("./-", "Yy")),
    *("%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_FORMATS = tuple(day + time for day, time in product(_DAYS, ("", " %H:%M", " %H:%M:%S")))
_LONGEST = 40  # characters of a date
_SHARE = 0.9  # of the values that a format reads, for it to be one of the column
_FIRST = 20  # values that rule out most formats
_PROBES = (date(2024, 12, 31), date(1999, 1, 2))


def read_date(value: str, format: str = "") -> datetime:
    """Read a date in `format` (`datetime.strptime`), or in ISO 8601 if it is empty. Raises `ValueError`."""
    return datetime.strptime(value, format) if format else datetime.fromisoformat(value)


def check_date_format(format: str) -> None:
    """Raise `InputError` if `format` is not empty and does not read day, month and year."""
    try:
        reads = not format or all(read_date(day.strftime(format), format).date() == day for day in _PROBES)
    except (ValueError, TypeError):
        reads = False
    if not reads:
        raise InputError(
            "the date format must say where day, month and year are, such as %d.%m.%Y for 31.12.2024 or %m/%d/%Y for "
            f"12/31/2024, got {format!r}."
        )


def date_formats(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return the formats in which most of `values` may be dates; an empty text is ISO 8601.

    There are several if days and months could change places. None if the values are no dates.
    """
    if not values or sum(map(_may_be_date, values)) < _SHARE * len(values):
        return None
    found = tuple(format for format in ("", *_FORMATS) if _reads(values[:_FIRST], format) and _reads(values, format))
    return found or None


def say_formats(formats: Sequence[str]) -> str:
    """Put `formats`, as `date_formats` returns them, into words: the option that reads such dates."""
    named = [f"--date-format {shlex.quote(format)}" if format else "no --date-format (ISO 8601)" for format in formats]
    which = " (the dates fit both: you must know which is right)" if len(formats) > 1 else ""
    return f"{' or '.join(named)}{which}"


def _may_be_date(value: str) -> bool:
    """Whether `value` is short and has digits and something else: a plain number is none."""
    return len(value) <= _LONGEST and any(map(str.isdigit, value)) and not value.isdigit()


def _reads(values: Sequence[str], format: str) -> bool:
    return sum(_is_date(value, format) for value in values) >= _SHARE * len(values)


def _is_date(value: str, format: str) -> bool:
    try:
        read_date(value, format)
    except (ValueError, OverflowError):
        return False
    return True
