"""What is told of values that are in no group of a table."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from handmade import make_model, with_facts
from hypothesis import given
from hypothesis import strategies as st

import dplda
from dplda import Corpus, Ledger
from dplda.base.errors import InputError
from dplda.private.attributes import in_words
from dplda.runs.group_check import look_at_groups, misfits
from dplda.runs.tabulation import Grouping, groupings


def by(text: str, groups: dict[str, Any] | None = None, dates=(None, None), zone="UTC") -> Grouping:
    ((grouping,),) = groupings(text, groups or {}, dates, zone)
    return grouping


def between(*pair: str, date_format: str = "") -> Grouping:
    ((grouping,),) = groupings((), {}, date_format=date_format, between=pair)
    return grouping


RANGES = "day=2024-01..2024-03", "day=2024-07"


@pytest.mark.parametrize(
    ("grouping", "values", "told", "doubtful"),
    [
        (by("month(day)"), ["26-FEB-1987"] * 3, "100 % hold no date in ISO 8601, such as 2024-03-31", True),
        (by("month(day)"), ["2024-02-26", "2024-02-26T10:00Z", "x"], "33 % hold no date in ISO 8601", False),
        (by("team"), [None, None, "a"], "67 % have no value", True),
        (by("team"), ["(all others)", "a"], "50 % hold a reserved name", False),
        (by("time"), [f"2024-03-01T10:{m:02}" for m in range(50)], "are dates: group by month(time).", True),
        (by("ticket"), [*map(str, range(20)), "a", "a"], "91 % have a value of their own.", True),
        (
            by("team", {"team": ["a", "b"]}),
            ["a", "a", "c"],
            "33 % are in none of the listed groups, none is in b",
            False,
        ),
        (by("team", {"team": ["a", 7]}), ["A", "7", "b", "c"], "75 % are in none of the listed groups", True),
        (
            by("team", {"team": ["Heat"]}),
            ["heat", "heat"],
            "2 of these values differ from a listed group in capital",
            True,
        ),
        (by("month(day)", zone="Europe/Oslo"), ["2024-02-26"], "can be grouped. No date has a UTC offset", False),
        (by("bool(paid)"), ["yes", "0", "perhaps"], "33 % hold no truth value", False),
        (by("year(day)", dates=("2024-01-01", "2024-12-31")), ["2023-01-01", "2024-01-01"], "50 % are in none", False),
        (by("year(day)", {"day": ["2024"]}), ["2023-01-01", None, "2024-01-01"], "33 % are in none of the l", True),
        (between("team=a", "team=b"), ["a", "b", *"cdefghij"], "80 % are in neither group", False),
        (between("team=a", "team=B"), ["a", "a"], "by team: none is in B.", True),
        (between("team=A", "team=B"), ["a"], "100 % are in neither group, none is in A, none is in B.", True),
        (between(*RANGES), ["2024-01-05", "2023-01-01"], "50 % are in neither group, none is in 2024-07.", False),
        (between(*RANGES), ["2023-01-01", "2024-01-05", "2023-06-01"], "67 % are in neither group, none is", True),
        (between(*RANGES), ["2023-01-01"] * 3, "100 % are in neither group", True),
        (between(*RANGES), ["25.01.2024", "2024-07-01"], "50 % hold no date in ISO 8601", True),
        (between(*RANGES), ["25.01.2024", *["2024-07-01"] * 9], "read with date_format='%d.%m.%Y'.", False),
        (between(*RANGES), ["15.01.2024", "15.07.2024"], "read with date_format='%d.%m.%Y'.", True),
        (between(*RANGES, date_format="%d.%m.%Y"), ["2024.07.01", "5.1.2024"], "date in the format %d.%m.%Y", False),
    ],
)
def test_shares_are_told_by_reason(grouping: Grouping, values: list[str | None], told: str, doubtful: bool) -> None:
    found = misfits(grouping, values)
    assert told in str(found)
    assert str(found).startswith(f"Of the first {len(values)} records, by {in_words(grouping.attribute.name)}: ")
    assert found.doubtful == doubtful


def test_values_that_are_in_a_group_or_whose_groups_are_found_privately_fit() -> None:
    assert not misfits(by("team"), ["a", "b"]).shares
    assert not misfits(by("team"), [*map(str, range(20)), *["a"] * 20]).shares
    assert not misfits(by("team", {"team": ["a"]}), ["a"]).shares
    assert not misfits(by("month(day)"), ["2024-03-31"]).shares
    fits = misfits(between(*RANGES), ["2024-03-31", "2024-07"])
    assert (fits.shares, fits.absent) == ({}, ())


def test_listed_values_without_documents_are_told_and_listed_periods_if_all_documents_were_looked_at() -> None:
    assert misfits(by("team", {"team": ["a", "b"]}), ["a"]).absent == ("b",)
    months = by("month(day)", dates=("2024-01-01", "2024-02-28"))
    assert misfits(months, ["2024-01-05"]).absent == ()
    assert misfits(months, ["2024-01-05"], whole=True).absent == ("2024-02",)


def test_a_slip_in_a_list_is_doubted() -> None:
    values = [*["Store"] * 16, *["Desktop"] * 84]
    assert misfits(by("product", {"product": ["Desktop", "Stor"]}), values).doubtful
    assert not misfits(by("product", {"product": ["Desktop", "Tablet"]}), values).doubtful
    assert not misfits(by("product", {"product": ["Desktop", "Store"]}), values).absent


def test_dates_may_be_in_order_but_for_slips() -> None:
    days = [f"2024-{month:02}-{day:02}" for month in (1, 2, 3) for day in range(1, 29)]
    assert not misfits(between(*RANGES), days).doubtful  # the file goes on
    assert not misfits(between(*RANGES), [*days[:4], "2026-06-15", *days[5:]]).doubtful
    assert not misfits(between(*RANGES), days[::-1]).doubtful
    assert misfits(between(*RANGES), [days[(29 * n) % 84] for n in range(84)]).doubtful


def test_values_may_be_listed_in_an_array() -> None:
    expected = by("team", {"team": ["a", "b"]})
    assert by("team", {"team": np.array(["a", "b"])}) == by("team", {"team": pd.Series(["a", "b"])}) == expected
    for listed in ({"a"}, np.array(1), {"a": 1}, "a", []):
        with pytest.raises(InputError, match="must be a list of its values, and not"):
            by("team", {"team": listed})


def test_a_rare_misfit_is_not_rounded_to_none_nor_a_rare_fit_to_all() -> None:
    assert " less than 1 % have no value" in str(misfits(by("team"), [None, *["a"] * 999]))
    assert " more than 99 % have no value" in str(misfits(by("team"), [*[None] * 999, "a"]))


@given(values=st.lists(st.none() | st.text(alphabet="QXZ", min_size=4), min_size=1))
def test_no_value_is_told(values: list[str | None]) -> None:
    for grouping in (by("month(day)"), by("day", {"day": ["abc"]}), by("bool(day)")):
        assert not re.search("[QXZ]{4}", str(misfits(grouping, values)))


def test_a_table_into_whose_groups_documents_hardly_fit_is_refused_before_it_is_charged(tmp_path):
    records = [{"text": f"heating boiler radiator w{i}", "platform": "app"} for i in range(50)]
    corpus = Corpus.from_texts(records, text_field="text", group_fields=["platform"], name="c")
    model = with_facts(make_model(), language="en", lemmas=False, tokenizer="fast")
    ledger = Ledger(tmp_path / "l.db")
    for by, groups in (("month(platform)", None), ("platform", {"platform": ["APP"]})):
        with pytest.raises(InputError, match=r"app|platform.*nothing was charged.*check_groups=False"):
            dplda.tabulate(model, corpus, by=by, groups=groups, ledger=ledger)
    with pytest.raises(InputError, match="nothing was charged"):
        dplda.count(corpus, {"x": ["heating"]}, by="month(platform)", ledger=ledger)
    assert ledger.runs() == []
    once = Corpus.from_texts(iter(records), text_field="text", group_fields=["platform"], name="c")
    assert once.first_groups() == [], "it can be read only once"
    dplda.count(corpus, {"x": ["heating"]}, by="month(platform)", ledger=ledger, check_groups=False)
    assert len(ledger.runs()) == 1


def test_all_files_of_a_folder_are_looked_at_by_their_names(tmp_path):
    """A folder is read one subfolder after another: the first thousand files are in the first ones."""
    for ward, n in (("a", 1100), ("b", 3)):
        (tmp_path / "letters" / ward).mkdir(parents=True)
        for i in range(n):
            (tmp_path / "letters" / ward / f"{i}.txt").write_text("heating boiler radiator")
    corpus = dplda.read_corpus(tmp_path / "letters", group_fields=["folder"])
    grouped = groupings("folder", {"folder": ["b", "c"]}), groupings([], {}, between=("folder=a", "folder=b"))
    listed, compared = (look_at_groups(tables, corpus) for tables in grouped)
    assert str(listed[0]).startswith(
        "Of all 1,103 records, by folder: more than 99 % are in none of the listed groups, "
    )
    assert str(listed[0]).endswith("none is in c.")
    assert compared == []


def test_the_first_and_the_last_day_may_be_periods():
    by_day = groupings("month(day)", {}, ("2023-11-01", "2024-02-29"))
    assert groupings("month(day)", {}, ("2023-11", "2024-02")) == by_day
    assert groupings("quarter(day)", {}, ("2023", "2024")) == groupings(
        "quarter(day)", {}, ("2023-01-01", "2024-12-31")
    )
    with pytest.raises(InputError, match="the last day must be a day such as"):
        groupings("month(day)", {}, ("2024-01", "2024-13"))
