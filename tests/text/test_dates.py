"""Formats of dates are recognised where only one fits, and several are named where several do."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.private.attributes import PERIODS
from dplda.text.dates import check_date_format, date_formats, date_ranges, days_of, read_date, say_formats

DAYS = [date(2024, 1, 1) + timedelta(days=5 * i) for i in range(70)]


@pytest.mark.parametrize(
    "format",
    ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%y", "%Y/%m/%d", "%d %b %Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%a, %d %b %Y"],
)
def test_the_only_format_that_fits_is_found(format):
    check_date_format(format)
    assert date_formats([day.strftime(format) for day in DAYS]) == (format,)
    assert date_formats([*(day.strftime(format) for day in DAYS), "unknown 1"]) == (format,)


def test_dates_that_cannot_be_read_do_not_hide_the_format_of_the_others():
    """Dates of which some are wrong were taken for names, and `check` proposed their column as that of persons."""
    written = [day.strftime("%d/%m/%Y") for day in DAYS]
    assert date_formats(["31/31/2024", "n/a", "32/12/2024", *written]) == ("%d/%m/%Y",)
    assert date_formats([*["99/99/9999"] * 9, *written, *["spring 2024"] * 10]) == ("%d/%m/%Y",)
    mixed = [*["2024-05-01"] * 15, *["no date"] * 40, *["31/31/24"] * 20, *written]
    assert date_formats(mixed) == ("%d/%m/%Y",)


def test_days_and_months_that_may_change_places_are_said_to():
    found = date_formats([f"{day.month:02}/{day.month:02}/2024" for day in DAYS])
    assert found == ("%d/%m/%Y", "%m/%d/%Y")
    assert say_formats(found).startswith("date_format='%d/%m/%Y' or date_format='%m/%d/%Y' (the dates fit both")
    assert say_formats(found, "--date-format ").startswith("--date-format %d/%m/%Y or --date-format %m/%d/%Y (the")
    assert say_formats(found, "date_format: ").startswith("date_format: '%d/%m/%Y' or date_format: '%m/%d/%Y' (the")


@pytest.mark.parametrize("value", ["29-FEB-2024 at 10", "2024 March 5, 7h", "5th of March 2024", "5/Mar/2024"])
def test_dates_in_no_known_format_are_told_apart_from_other_values(value):
    assert date_formats([value] * 5) == ()
    assert "the format that their writer used" in say_formats(())


@pytest.mark.parametrize("format", ["%a, %d %b %Y %H:%M:%S %z", "%d.%m.%Y %H:%M %z", "%d.%m.%Y %H:%M%z"])
def test_a_format_may_have_an_offset(format):
    check_date_format(format)
    assert read_date(datetime(2024, 2, 1, 23, tzinfo=UTC).strftime(format), format) == datetime(
        2024, 2, 1, 23, tzinfo=UTC
    )


@pytest.mark.parametrize("values", [["T-2024-00017"] * 3, ["2024-17"] * 3])
def test_numbers_with_a_year_are_no_dates(values):
    assert date_formats(values) is None


@pytest.mark.parametrize("values", [[], ["a", "b"], ["20240101"] * 5, ["12:30"], ["7,5", "3.25"], ["1.5.1"] * 3])
def test_other_values_are_no_dates(values):
    assert date_formats(values) is None


def test_dates_in_iso_8601_need_no_format():
    assert date_formats([day.isoformat() for day in DAYS]) == ("",)
    assert date_formats([*(day.isoformat() for day in DAYS), "unknown 1"]) == ("",)


def test_beside_dates_in_iso_8601_the_format_of_the_others_is_found():
    iso = [day.isoformat() for day in DAYS]
    assert date_formats([*iso, "24.12.2024"]) == ("%d.%m.%Y",)
    assert date_formats([*(day.strftime("%m/%d/%Y") for day in DAYS), *iso]) == ("%m/%d/%Y",)


@pytest.mark.parametrize("format", ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%d-%m-%Y", "%y-%m-%d", "%Y-%m-%dT%H.%M"])
@pytest.mark.parametrize(
    "moment", [datetime(2024, 2, 1), datetime(2024, 12, 31, 23, 59), datetime(2024, 2, 1, 5, 6, 7)]
)
def test_what_is_in_iso_8601_is_read_as_that_with_any_format(format, moment):
    check_date_format(format)
    assert read_date(moment.isoformat(), format) == moment
    assert read_date(moment.date().isoformat(), format).date() == moment.date()
    assert read_date(moment.strftime(format), format).date() == moment.date()


@pytest.mark.parametrize("format", ["%Y-%d-%m", "%Y-%d-%mT%H:%M"])
def test_a_format_that_would_misread_iso_8601_is_refused(format):
    with pytest.raises(InputError, match="1999-01-02, as other days"):
        check_date_format(format)


@pytest.mark.parametrize("format", ["%d.%m", "%m/%Y", "DD.MM.YYYY", "%", "%Q", "%Y", 3])
def test_a_format_without_day_month_and_year_is_refused(format):
    with pytest.raises(InputError, match="where day, month and year are"):
        check_date_format(format)


SOME_DAY = st.dates(date(1000, 1, 1), date(9998, 12, 31))


@given(SOME_DAY, st.sampled_from(sorted(PERIODS)))
def test_a_period_has_exactly_the_days_that_it_is_the_name_of(day, period):
    name = PERIODS[period](day)
    first, last = days_of(name)
    assert first <= day <= last
    assert PERIODS[period](first) == PERIODS[period](last) == name
    assert name not in {PERIODS[period](first - timedelta(days=1)), PERIODS[period](last + timedelta(days=1))}


@given(SOME_DAY, SOME_DAY, st.sampled_from(sorted(PERIODS)), st.sampled_from(sorted(PERIODS)))
def test_a_range_goes_from_the_first_day_of_one_period_to_the_last_of_another(one, other, period, second):
    one, other = sorted((one, other))
    start, end = PERIODS[period](one), PERIODS[second](other)
    (found,) = date_ranges([f" {start} .. {end} "])
    assert (found.name, found.first, found.last) == (f"{start}..{end}", days_of(start)[0], days_of(end)[1])


def test_a_range_may_be_one_period_and_other_names_are_no_ranges():
    first, second = date_ranges(["2024-H1", "2024-H2"])
    assert (first.last, second.first, second.last) == (date(2024, 6, 30), date(2024, 7, 1), date(2024, 12, 31))
    quarter, day = date_ranges(["2024-Q1", "2024-02-29"])
    assert (quarter.first, quarter.last) == (date(2024, 1, 1), date(2024, 3, 31))
    assert day.first == day.last == date(2024, 2, 29)
    assert quarter.overlaps(day)
    assert day.overlaps(quarter)
    for names in (["phone", "tablet"], ["2024", "later"], ["20240101", "20240201"], ["v2024-01", "v2024-02"]):
        assert date_ranges(names) == ()


@pytest.mark.parametrize(
    "text",
    ["2024-13", "2024-01..2024-13", "2024-02-30", "2024..", "..2024", "a..b", "2024-W60", "0000", "2024-01..5",
     "\u0662024", "2024...2025", "9999-W52"],
)  # fmt: skip
def test_what_is_written_like_a_range_and_is_none_is_refused(text):
    with pytest.raises(InputError, match="is no range of dates"):
        date_ranges([text if ".." in text else f"{text}..{text}", "2024"])


def test_ranges_of_two_columns_are_refused():
    with pytest.raises(InputError, match="Ranges are of one column: to compare them within a group"):
        date_ranges(["Desktop,created=2026-03..2026-05", "Desktop,created=2026-06..2026-08"])


def test_a_range_does_not_end_before_it_begins():
    with pytest.raises(InputError, match=r"'2024-03\.\.2024-01' ends before it begins"):
        date_ranges(["2024-03..2024-01", "2023"])
