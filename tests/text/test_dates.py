"""Formats of dates are recognised where only one fits, and several are named where several do."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from dplda.base.errors import InputError
from dplda.text.dates import check_date_format, date_formats, say_formats

DAYS = [date(2024, 1, 1) + timedelta(days=5 * i) for i in range(70)]


@pytest.mark.parametrize("format", ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%y", "%Y/%m/%d", "%d %b %Y", "%d.%m.%Y %H:%M"])
def test_the_only_format_that_fits_is_found(format):
    check_date_format(format)
    assert date_formats([day.strftime(format) for day in DAYS]) == (format,)
    assert date_formats([*(day.strftime(format) for day in DAYS), "unknown 1"]) == (format,)


def test_days_and_months_that_may_change_places_are_said_to():
    found = date_formats([f"{day.month:02}/{day.month:02}/2024" for day in DAYS])
    assert found == ("%d/%m/%Y", "%m/%d/%Y")
    assert say_formats(found).startswith("--date-format %d/%m/%Y or --date-format %m/%d/%Y (the dates fit both")


@pytest.mark.parametrize("values", [[], ["a", "b"], ["20240101"] * 5, ["12:30"], ["7,5", "3.25"], ["1.5.1"] * 3])
def test_other_values_are_no_dates(values):
    assert date_formats(values) is None


def test_dates_in_iso_8601_need_no_format():
    assert date_formats([day.isoformat() for day in DAYS]) == ("",)


@pytest.mark.parametrize("format", ["%d.%m", "%m/%Y", "DD.MM.YYYY", "%", "%Q", "%Y", 3])
def test_a_format_without_day_month_and_year_is_refused(format):
    with pytest.raises(InputError, match="where day, month and year are"):
        check_date_format(format)
