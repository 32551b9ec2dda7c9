"""Pictures of tables: no period is lost, attributes are named in words, and a topic has one share on a page."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from handmade import with_facts
from report_data import Page, run_model, tables

from dplda.base.errors import InputError
from dplda.budget.events import Stage
from dplda.private.attributes import OTHER
from dplda.report import table_pictures
from dplda.report.page import _render
from dplda.report.pictures import Bars, Chart, Heat, Picture, Tree
from dplda.report.run_pictures import pictures as pictures_of_run
from dplda.report.wording import Wording, shown_topics
from dplda.runs.released_table import Change, Tables, least_noisy_shares, tables_about

MODEL = run_model()
TOPICS = shown_topics([MODEL], Wording())[0]
LEFT_OUT = "Periods that are too small to tell, or in no list, are left out"
LONELY = (2000, 1500, 2, 1800, 2, 2, 900, 2, 1500, 1600)  # the fourth and the seventh month are alone


def drawn(*args: object, **changes: object) -> list[Picture]:
    return table_pictures.pictures([tables(MODEL, *args, **changes)], TOPICS, MODEL.listed_topics, "r")


def axes_of(picture: Picture) -> list:
    from matplotlib.figure import Figure

    assert isinstance(picture.drawing, Chart)
    axes = Figure().subplots(1, picture.drawing.panels).tolist()
    picture.drawing.draw(axes)
    return axes


def test_a_month_between_two_that_are_too_small_is_a_point_with_a_bar() -> None:
    (picture,) = drawn(LONELY)
    for panel in axes_of(picture):
        points = [line.get_xdata()[0] for line in panel.lines if line.get_marker() == "o"]
        assert points == [3, 6]
        bars = [bar for bar in panel.collections if hasattr(bar, "get_segments")]
        segments = [segment for bar in bars for segment in bar.get_segments()]
        assert [segment[0][0] for segment in segments] == [3, 6]
        assert all(segment[0][1] < segment[1][1] for segment in segments), "a bar has the length of the interval"


def test_months_that_are_beside_each_other_are_no_points() -> None:
    for panel in axes_of(drawn((2000, 1500, 900))[0]):
        assert [line.get_marker() for line in panel.lines] == [""]


@pytest.mark.parametrize(("n_topics", "narrow"), [(1, False), (2, False), (3, False), (3, True)])
def test_the_last_small_picture_of_each_column_names_its_periods(n_topics: int, narrow: bool) -> None:
    from matplotlib.figure import Figure

    (table,), figure = tables(MODEL, (2000, 1500, 900)).tables, Figure()
    chart = table_pictures.drawing(table, {topic: f"topic {topic}" for topic in range(n_topics)})
    assert isinstance(chart, Chart)
    chart.draw_on(figure, narrow=narrow)
    columns = 1 if narrow or n_topics == 1 else 2
    named = [any(label.get_visible() for label in each.get_xticklabels()) for each in figure.axes[:n_topics]]
    assert named == [place >= n_topics - columns for place in range(n_topics)]


def test_where_months_are_missing_no_line_joins_the_others() -> None:
    """Months that were found privately: neither those between April and July nor the year before them were."""
    found = tables(MODEL, (2000, 1500, 900, 1800, 1700))
    months = ("2022-12", "2024-03", "2024-04", "2024-07", "2024-08", OTHER)
    found = replace(found, tables=(replace(found.tables[0], groups=(months,)),))
    (picture,) = table_pictures.pictures([found], TOPICS, MODEL.listed_topics, "r")
    for panel in axes_of(picture):
        (line, *points) = panel.lines
        assert np.isnan(line.get_ydata()).tolist() == [False, True, False, False, True, False, False]
        assert [point.get_xdata()[0] for point in points if point.get_marker() == "o"] == [0]
        assert panel.get_xticks().tolist() == [0, 3, 6]
        assert [label.get_text() for label in panel.get_xticklabels()] == ["2022-12", "2024-04", "2024-08"]


def months(first: int, number: int) -> tuple[str, ...]:
    return tuple(f"{2022 + month // 12}-{month % 12 + 1:02}" for month in range(first, first + number))


@pytest.mark.parametrize(
    ("period", "names", "marked"),
    [
        ("month", months(0, 24), "2022-01 2022-07 2023-01 2023-07"),
        ("month", months(8, 24), "2023-01 2023-07 2024-01 2024-07"),
        ("month", months(8, 6), "2022-09 2022-11 2023-01"),
        ("month", months(2, 3), "2022-03 2022-04 2022-05"),
        ("month", months(5, 60), "2023-01 2025-01 2027-01"),
        ("week", tuple(f"2024-W{week:02}" for week in range(1, 25)), "2024-W01 2024-W09 2024-W17"),
        ("day", tuple(f"2024-01-{day:02}" for day in range(1, 29)), "2024-01-01 2024-01-11 2024-01-21"),
        ("year", tuple(str(year) for year in range(2018, 2026)), "2018 2020 2022 2024"),
    ],
)
def test_the_periods_that_are_named_are_far_apart_and_months_begin_with_the_year(period, names, marked) -> None:
    groups = (*names, OTHER)
    found = tables(MODEL, range(1000, 1000 + len(names)))
    found = replace(found, tables=(replace(found.tables[0], by=(f"{period}(day)",), groups=(groups,)),))
    (picture,) = table_pictures.pictures([found], TOPICS, MODEL.listed_topics, "r")
    for panel in axes_of(picture):
        assert [label.get_text() for label in panel.get_xticklabels()] == marked.split()


@pytest.mark.parametrize("n_groups", [8, 9, 12, 13])
def test_a_page_has_a_scale_where_a_heat_map_has_no_room_for_numbers(n_groups: int) -> None:
    page = _render([MODEL], tables=[tables(MODEL, (900,) * n_groups, ["desk"])])
    (size,) = {8: [""], 13: ["small"]}.get(n_groups, ["many"])
    assert (f'class="heat turned{" " * bool(size)}{size}"' in page) is True
    assert (f'<div class="scale {size}"><span>0.0%</span>' in page) is bool(size)


def test_a_single_month_does_not_change() -> None:
    (picture,) = drawn((2000,))
    assert isinstance(picture.drawing, Heat)
    assert picture.title == "How topics differ by month"
    assert list(picture.drawing.columns) == ["2024-01"]


def test_a_table_by_two_attributes_is_not_summed_to_one_that_is_there() -> None:
    one = tables(MODEL, (100,) * 7, ["desk"])
    (desks,) = one.tables
    months = tables(MODEL, (700, 900)).tables[0].groups[0]
    shape = (len(desks.rows), len(months))
    both = replace(
        desks,
        by=("desk", "month(created_at)"),
        groups=(desks.groups[0], months),
        private=(True, True),
        totals=np.repeat(desks.totals, shape[1], axis=0),
        counts=np.repeat(desks.counts, shape[1]),
    )
    cross = replace(one, tables=(both,))

    def titles(*runs: Tables) -> list[str]:
        return [picture.title for picture in table_pictures.pictures(runs, TOPICS, MODEL.listed_topics, "r")]

    (desk, _) = table_pictures.pictures([cross], TOPICS, MODEL.listed_topics, "r")
    told = f"The groups by desk were found privately: those of too few documents are in '{OTHER}'. Counted are"
    assert desk.definition.startswith(told)
    assert titles(cross) == ["How topics differ by desk", "How topics change by month"]
    assert titles(one, cross) == ["How topics differ by desk", "How topics change by month"]
    assert len(titles(replace(one, same_documents=False), cross)) == 3, "tables of other documents"
    assert titles(one, replace(one, run="later")) == [
        "How topics differ by desk (run toys-table)",
        "How topics differ by desk (run later)",
    ]


def test_a_group_that_is_too_small_in_every_period_has_no_line_and_no_entry_in_the_legend() -> None:
    one = tables(MODEL, (900, 800))
    (months,) = one.tables
    both = replace(
        months,
        by=("desk", "month(created_at)"),
        groups=(("news", OTHER), months.groups[0]),
        private=(True, True),
        totals=np.concatenate([months.totals, months.totals / 1000]),
        counts=np.concatenate([months.counts, months.counts / 1000]),
    )
    (picture,) = table_pictures.pictures([replace(one, tables=(both,))], TOPICS, MODEL.listed_topics, "r")
    for panel in axes_of(picture):
        assert panel.get_legend_handles_labels()[1] == ["news"]
        assert len(panel.collections) == 1, "its band"
        assert panel.get_xlim() == (-0.5, 1.5), "of all periods"
    told = f"Drawn is news alone. Not drawn, since too small to tell in each period: {OTHER}."
    assert f"with a line for each group, in a band that contains the true share with 95 %. {LEFT_OUT}" in picture.note
    assert told in picture.note
    assert told in both.plot().get_suptitle()
    large = replace(both, totals=np.tile(months.totals, (2, 1)), counts=np.tile(months.counts, 2))
    (picture,) = table_pictures.pictures([replace(one, tables=(large,))], TOPICS, MODEL.listed_topics, "r")
    assert "Not drawn" not in picture.note
    for panel in axes_of(picture):
        assert len(panel.collections) == len(panel.get_legend_handles_labels()[1]) == 2


@pytest.mark.parametrize(
    ("by", "titles"),
    [
        (["month(created_at)"], ["How topics change by month"]),
        (
            ["month(created_at)", "month(closed)"],
            ["How topics change by month of created_at", "How topics change by month of closed"],
        ),
        (["desk"], ["How topics differ by desk"]),
    ],
)
def test_a_heading_names_the_attribute_in_words(by: list[str], titles: list[str]) -> None:
    assert [picture.title for picture in drawn((2000, 1500, 900), by)] == titles


def test_a_group_that_is_really_called_other_is_a_group() -> None:
    (picture,) = drawn((2000, 1500, 900), ["desk"])
    assert isinstance(picture.drawing, Heat)
    assert list(picture.drawing.columns) == ["other", "g1", "g2"]
    assert picture.table is not None
    assert [row[0] for row in picture.table.rows] == ["other", "g1", "g2", "(all others)"]
    assert picture.table.columns[:2] == ("desk", "documents with at least 3 known words")


def test_two_groups_that_are_compared_are_in_the_heading() -> None:
    (picture,) = drawn((2000, 1500), ["between(desk)"])
    assert isinstance(picture.drawing, Heat)
    assert picture.title == "How topics differ between other and g1"
    assert list(picture.drawing.columns) == ["other", "g1"]
    assert picture.table is not None
    assert picture.table.columns[0] == "desk"
    assert "more in g1 than in other" in picture.note
    assert tables(MODEL, (2000, 1500), ["between(desk)"])[0].plot().get_suptitle().startswith(f"{picture.title}\n")


def test_from_how_many_documents_topics_were_learned_is_told_beside_the_number_of_those_that_are_counted() -> None:
    """A later run reads the files again, which may have changed."""
    model = with_facts(MODEL, documents=5000)
    made = tables(model, (2000, 1500, 900))
    of_plan = replace(made, run=made.of)
    others = replace(made, same_documents=False)
    authors = replace(made, privacy=replace(made.privacy, unit="author"))
    cases = (
        (of_plan, " In all there are about 5,000 documents."),
        (
            made,
            " The topics were learned from about 5,000 documents; if the files changed since, these are not the same.",
        ),
        (others, ""),
        (authors, ""),
    )
    for of, told in cases:
        (picture,) = table_pictures.pictures([of], TOPICS, MODEL.listed_topics, "r", model)
        assert f"at least 3 known words.{told} Of one {of.privacy.unit}, this table" in picture.definition


def test_tables_that_certainly_count_more_than_the_topics_were_learned_from_are_of_other_documents() -> None:
    sizes = [event for event in MODEL.privacy.events if event.stage == Stage.SIZE]
    noise = sizes[0].noise_multiplier
    for documents, same in ((4403, True), (4350, True), (4403 - 8 * noise - 100, False)):
        model = with_facts(MODEL, documents=int(documents))
        made = tables(model, (2000, 1500, 900))
        assert [each.same_documents for each in tables_about([made], model)] == [same]
        assert (least_noisy_shares([made], model) is not None) == same
    of_plan = replace(made, run=made.of)
    assert tables_about([of_plan], model)[0].same_documents
    (grown,) = tables_about([replace(made, same_as=(made.of,))], model)
    (picture,) = table_pictures.pictures([grown], TOPICS, MODEL.listed_topics, "r", model)
    assert picture.title == table_pictures.pictures([of_plan], TOPICS, MODEL.listed_topics, "r", model)[0].title
    assert " of this path, which has grown since." in picture.definition


def test_shares_of_topics_of_a_prior_are_explained_beside_each_picture() -> None:
    told = "Shares are of all known words: the known words of each document are divided among these topics"
    for prior, expected in ((True, True), (False, False)):
        model = with_facts(MODEL, prior_used=prior)
        made = tables(model, (2000, 1500, 900))
        (picture,) = table_pictures.pictures([made], TOPICS, model.listed_topics, "r", model)
        whole = replace(made, tables=(made[0].whole(),))
        (bars,) = table_pictures.pictures([whole], TOPICS, model.listed_topics, "r", model)
        assert [told in each.note for each in (picture, bars)] == [expected] * 2
        of_run = pictures_of_run(model, TOPICS, "r", least_noisy_shares([made], model))
        assert [told in each.note for each in of_run if "prevalence" in each.name] == [expected]


def test_a_topic_has_one_share_on_a_page_and_bars_are_sorted_by_it() -> None:
    model = replace(MODEL, prevalence=np.array([0.2, 0.5, 0.3]))
    made = tables(model, (2000, 1500, 900))
    shares = least_noisy_shares([made], model)
    assert shares is not None
    drawings = {type(p.drawing): p.drawing for p in pictures_of_run(model, TOPICS, "r", shares)}
    bars, tree = drawings[Bars], drawings[Tree]
    told = {row.label: row.value for row in tree.rows if not row.heading}
    prevalence = next(p.drawing for p in pictures_of_run(model, TOPICS, "r", shares) if p.name == "r-prevalence")
    assert {row.label: row.value.split(" ")[0] for row in prevalence.rows} == told
    assert bars is not None
    values = [row.parts[0] for row in prevalence.rows]
    assert values == sorted(values, reverse=True)
    page = _render([model], tables=[made])
    cards = re.findall(r'class="share">([0-9.]+%) of the average document', page)
    assert sorted(cards) == sorted(told.values())


def test_tables_of_other_documents_do_not_change_a_topics_share() -> None:
    others = tables(MODEL, (2000, 1500), same_documents=False)
    assert least_noisy_shares([others], MODEL) is None
    page = _render([MODEL], tables=[others])
    assert "How topics change by month in the documents of run toys-table" not in _render(
        [MODEL], tables=[tables(MODEL, (2000, 1500))]
    )
    assert "How topics change by month in the documents of run toys-table" in page
    assert "topics were learned from about" not in page
    assert least_noisy_shares([tables(MODEL, (2000, 1500), of="another")], MODEL) is None


@pytest.mark.usefixtures("without_charts")
def test_a_table_without_groups_is_in_the_first_picture_alone() -> None:
    found = tables(MODEL, (2000, 1500, 900))
    whole = replace(found, tables=(found[0].whole(),))
    text = Page(_render([MODEL], tables=[whole])).text
    assert "Groups and time" not in text
    assert "differ by" not in text
    first = text[text.index("How common the topics are") : text.index("How the topics relate")]
    assert "They are of the documents that were tabulated." in first
    assert re.search(r"Counted are about 4,4\d\d documents .* this table and others of its run", first)
    elsewhere = Page(_render([MODEL], tables=[replace(whole, dataset="elsewhere", same_documents=False)])).text
    assert "How much of the text in elsewhere each topic is" in elsewhere
    both = Page(_render([MODEL], tables=[replace(found, tables=(*found, *whole))])).text
    assert "How topics change by month" in both
    assert "differ by" not in both


@pytest.mark.usefixtures("without_charts")
def test_every_certain_difference_is_on_the_page() -> None:
    found = tables(MODEL, range(20_000, 30_000, 1000), ["desk"])
    names = {topic: f"{topic} {TOPICS.title(topic)}" for topic in MODEL.listed_topics}
    told = [change.describe(names[change.topic]) for change in found[0].changes() if change.topic in names]
    (picture,) = drawn(range(20_000, 30_000, 1000), ["desk"])
    assert len(told) > 5
    assert len(picture.further) == len(told) - 5
    assert f"; and {len(told) - 5} more." in picture.note
    text = Page(_render([MODEL], tables=[found])).text
    assert f"{len(told) - 5} more certain differences: How topics differ by desk" in text
    assert all(each in text for each in told)
    assert not drawn((2000, 1500))[0].further


@pytest.mark.parametrize(
    ("value", "low", "high", "points"),
    [
        (0.4, 0.315, 1.0, "at least 31.5 points more"),
        (-0.4, -1.0, -0.2, "at least 20.0 points less"),
        (0.4, 0.3, 0.5, "30.0 to 50.0 points more"),
    ],
)
def test_a_difference_without_an_upper_end_is_told_without_one(
    value: float, low: float, high: float, points: str
) -> None:
    assert points in Change(0, None, ("a",), value, low, high).describe("0 x")


def test_a_table_of_counts_is_about_categories_in_its_name_and_its_picture() -> None:
    from answer_data import BY_TEAM

    assert repr(BY_TEAM) == "CountTable(by team: 2 groups, 3 categories)"
    assert repr(BY_TEAM.whole()) == "CountTable(3 categories)"
    figure = BY_TEAM.plot()
    assert figure.get_suptitle().startswith("How categories differ by team\n")
    drawn = {label.get_text() for axes in figure.axes for label in axes.get_yticklabels()}
    assert BY_TEAM.titles[0] in drawn


def test_periods_that_are_all_too_small_are_said_to_be_so_and_not_drawn() -> None:
    made = tables(MODEL, (2, 1, 2))
    (picture,) = table_pictures.pictures([made], TOPICS, MODEL.listed_topics, "r", MODEL)
    assert picture.drawing == Bars([])
    assert picture.note == "All listed groups are too small to tell. Nothing is drawn."
    with pytest.raises(InputError, match="too small to tell: nothing to draw"):
        made[0].plot()
