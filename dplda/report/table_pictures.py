"""Pictures of the tables of a run's topics: topics over time, and a heat map of groups."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from dplda.budget.events import at_least
from dplda.learning.estimates import whole_number
from dplda.model import TopicModel
from dplda.private.attributes import BETWEEN, BOOLEAN, CATEGORY, PERIODS, period_after
from dplda.report import promise
from dplda.report.pictures import (
    COLOURS,
    Bar,
    Bars,
    Cell,
    Chart,
    Heat,
    Picture,
    Table,
    percent,
    shortened,
    shown,
    with_interval,
)
from dplda.report.wording import DIVIDED, ShownTopics, intervals_cover
from dplda.runs.private_groups import were_found
from dplda.runs.released_table import ReleasedTable, Tables, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PERIOD = re.compile(rf"(?P<period>{'|'.join([*PERIODS, BOOLEAN, BETWEEN, CATEGORY])})\((?P<column>.+)\)")
_PANEL, _ROOM = 110, 30  # height in CSS pixels of the small picture of a topic; characters that fit below it
_STEPS = (1, 2, 3, 6, 12)  # months between two that are named
_LONGEST = 12  # characters of a group's name on an axis
_TITLE = 34  # characters of a topic's title above its small picture
_MARKERS = ("", "o", "s", "^", "x", "D")  # of the lines, so that they differ in more than colour
_BAND = 0.25  # opacity of the band of a single line
_LONE = "o"  # marks a period between two that are too small to tell
_MOST_LINES = len(_MARKERS)  # groups in one small picture
_WITH_INTERVALS = 2  # groups of a heat map whose cells have room for intervals
_MOST_CHANGES = 5
_BESIDES = ", besides what the topics reveal"


def pictures(
    all_tables: Sequence[Tables],
    topics: ShownTopics,
    listed: Sequence[int],
    prefix: str,
    model: TopicModel | None = None,
    besides: str = _BESIDES,
) -> list[Picture]:
    """Draw released tables: a picture for each table, or for each attribute of a table with too many groups.

    A table has a single picture if it is by one attribute, or by a period and an attribute of at most `_MOST_LINES`
    groups. Any other table is drawn once for each of its attributes, summed over the others, except for attributes that
    a table of the same documents is by alone. A table without attributes has a bar for each topic. `listed` are the
    topics to show; `prefix` begins the pictures' names. `model` has the topics, if it is known. `besides` says of what
    else the guarantee of the tables does not hold.
    """
    drawn = list[tuple[str, Picture]]()
    documents = [tables.same_documents or tables.run for tables in all_tables]
    alone = {
        (of, table.by)
        for of, tables in zip(documents, all_tables, strict=True)
        for table in tables
        if len(table.by) == 1
    }
    for run, tables in enumerate(all_tables):
        for place, table in enumerate(tables):
            name = f"{prefix}-table-{run}-{place}"
            summed = [] if is_drawn_whole(table) else [table.over(axis) for axis in range(len(table.by))]
            parts = [part for part in summed if (documents[run], part.by) not in alone] if summed else [table]
            elsewhere = "" if model is None else _elsewhere(tables, model.facts.dataset or "")
            draw = _picture if table.by else _whole
            for number, part in enumerate(parts):
                picture = _divided(draw(part, tables, topics, listed, f"{name}-{number}", elsewhere), model)
                told = definition(part, tables, model, besides)
                drawn.append((tables.run, replace(picture, definition=told)))
    alike = Counter(title for _, title in {(run, each.title) for run, each in drawn})  # in how many runs
    return [
        replace(each, title=f"{each.title} (run {shown(run)})") if alike[each.title] > 1 else each
        for run, each in drawn
    ]


def _elsewhere(tables: Tables, dataset: str) -> str:
    """Say which documents `tables` are of; empty for those of `dataset` that the topics were learned from."""
    if tables.same_documents or tables.has_grown:
        return ""
    return shown(f" in {tables.dataset}" if tables.dataset != dataset else f" in the documents of run {tables.run}")


def _divided(picture: Picture, model: TopicModel | None) -> Picture:
    """Return `picture` with a note on what shares of the topics of a prior are."""
    if model is None or not model.facts.prior_used:
        return picture
    return replace(picture, note=f"Shares are of all known words: {DIVIDED}. {picture.note}")


def definition(table: ReleasedTable, tables: Tables, model: TopicModel | None, besides: str = _BESIDES) -> str:
    """Say what `table` counts, what it may reveal, and what its intervals cover; arguments are as in `pictures`."""
    unit = tables.privacy.unit
    told = f"{told_private(table, unit)}{told_counted(table, unit)}{promise.units_of_topics(model, tables)}"
    return (
        f"{told} Of one {unit}, this table and others of its run together reveal at most what "
        f"{guarantee_in_words(tables)} allows{besides}. {intervals_cover([table])}"
    )


def how_lines_read(small: str, table: ReleasedTable, share: str) -> str:
    """Say how to read the lines of `table` over time, after what a `small` picture is; bands contain a `share`.

    Where all groups are too small to tell, there is no picture.
    """
    if tells_nothing(table):
        return "Nothing is drawn."
    lines = "a band" if len(table.by) == 1 else "a line for each group, in a band"
    return (
        f"{small}, with {lines} that contains the {share} with 95 %. Periods that are too small to tell, or in no "
        f"list, are left out; one between two of them is a point with a bar.{without_lines(table)}"
        f"{table.outside_periods}"
    )


def without_lines(table: ReleasedTable) -> str:
    """Say, after a space, which groups of `table` over time have no line; empty if all have one, or none has."""
    drawn = {shown(", ".join(group)): table.tells[rows].any() for group, rows in _lines(table).items()}
    missing = [group for group, told in drawn.items() if not told]
    if not missing or tells_nothing(table):
        return ""
    only = f" Drawn is {next(group for group, told in drawn.items() if told)} alone." * (len(drawn) - len(missing) == 1)
    return f"{only} Not drawn, since too small to tell in each period: {', '.join(missing)}."


def drawing(table: ReleasedTable, names: dict[int, str]) -> Chart | Heat | Bars:
    """Draw `table`, over time if it has periods that are large enough; `names` has the topics to show."""
    if not _has_periods(table):
        return _heat(table, names)
    return Bars([]) if tells_nothing(table) else _over_time(table, names)


def tells_nothing(table: ReleasedTable) -> bool:
    """Whether all listed groups of `table` are too small to tell."""
    return all(rest or not tells for rest, tells in zip(table.rest, table.tells.tolist(), strict=True))


def heading(table: ReleasedTable, by: str) -> str:
    """Say what the drawing of `table` shows; `by` names its attributes."""
    return f"How {table.noun} {'change' if _has_periods(table) else 'differ'} {of_groups(table, by)}"


def of_groups(table: ReleasedTable, by: str) -> str:
    """Say ``between A and B`` of a `table` that compares two groups, of another by what it is; `by` names that."""
    return shown(f"between {table.groups[0][0]} and {table.groups[0][1]}") if table.compares_two else f"by {by}"


def _has_periods(table: ReleasedTable) -> bool:
    """Whether `table` has several periods, so that it can be drawn over time."""
    return table.period_axis is not None and len(table.groups[table.period_axis]) > 2  # one is that of all others


def is_drawn_whole(table: ReleasedTable) -> bool:
    """Whether one picture can show `table`: it is by one attribute, or by a period and one with few groups."""
    time = table.period_axis
    lines = [len(names) for axis, names in enumerate(table.groups) if axis != time]
    return len(table.by) == 1 or (time is not None and len(lines) == 1 and lines[0] <= _MOST_LINES)


def _picture(
    table: ReleasedTable,
    tables: Tables,
    topics: ShownTopics,
    listed: Sequence[int],
    name: str,
    elsewhere: str,
) -> Picture:
    """Draw a table by groups; `elsewhere` tells which ones if topics are of others."""
    names = {topic: f"{topic} {topics.title(topic)}" for topic in listed}
    over_time, by = _has_periods(table), in_words(table, tables)
    note = (
        how_lines_read("A small picture for each topic: its share in percent", table, "true share")
        if over_time
        else f"From none (pale) to {percent(largest_share(table, names))} (strong). Groups too small to tell have a ?; "
        "the row of all others is among the numbers."
    )
    return Picture(
        name=name,
        title=heading(table, by) + elsewhere,
        alt=f"The share of each of {len(listed)} topics in each of {len(table.rows)} groups by {by}.",
        note=f"{certain_differences(table, names)} {note}",
        further=further_differences(table, names),
        drawing=drawing(table, names),
        table=_numbers(table, names, by, tables.privacy.unit),
    )


def _whole(
    table: ReleasedTable, tables: Tables, topics: ShownTopics, listed: Sequence[int], name: str, elsewhere: str
) -> Picture:
    """Draw the shares of topics in all documents; `elsewhere` tells which ones if topics are of others."""
    found = table.shares()
    return Picture(
        name=name,
        title=f"How much of the text{elsewhere} each topic is",
        alt=f"The share of each of {len(listed)} topics.",
        note="The thin line across the end of a bar contains the true share with 95 %.",
        drawing=Bars(
            [
                Bar(
                    shown(f"{topic} {topics.title(topic)}"),
                    (float(found.value[0, topic]),),
                    with_interval(found.value[0, topic], found.low[0, topic], found.high[0, topic]),
                    (float(found.low[0, topic]), float(found.high[0, topic])),
                )
                for topic in sorted(listed, key=lambda topic: -found.value[0, topic])
            ]
        ),
    )


def guarantee_in_words(tables: Tables) -> str:
    """Return the epsilon and delta of the run that made `tables`, or why it has none."""
    privacy = tables.privacy
    return f"epsilon {at_least(privacy.epsilon)}, delta {privacy.delta:g}" if privacy.sound else shown(privacy.reason)


def told_private(table: ReleasedTable, unit: str) -> str:
    """Say, before a space, which groups of `table` were found privately; empty if none were."""
    found = were_found(table, unit)
    return shown(f"{found} ") if found else ""


def told_counted(table: ReleasedTable, unit: str) -> str:
    """Say how many units are counted."""
    return shown(f"Counted are about {table.whole().units().value[0]:,.0f} {counted(unit)}.")


def certain_differences(table: ReleasedTable, names: dict[int, str]) -> str:
    """Describe the largest differences between groups that are certain."""
    if tells_nothing(table):
        return "All listed groups are too small to tell."
    certain = _certain(table, names)
    if not certain:
        drawn = ", ".join(shown(name) for name in names.values())
        return f"No certain difference {table.since}: {drawn}." if table.changes() else table.no_changes
    more = f"; and {len(certain) - _MOST_CHANGES} more" if len(certain) > _MOST_CHANGES else ""
    return f"With 95 % probability, all of these hold: {'; '.join(certain[:_MOST_CHANGES])}{more}."


def further_differences(table: ReleasedTable, names: dict[int, str]) -> list[str]:
    """Describe the certain differences that `certain_differences` only counts, the largest first."""
    return [] if tells_nothing(table) else _certain(table, names)[_MOST_CHANGES:]


def _certain(table: ReleasedTable, names: dict[int, str]) -> list[str]:
    """Describe all certain differences between groups, the largest first."""
    certain = [change for change in table.changes() if change.topic in names]
    certain.sort(key=lambda change: -abs(change.value))
    return [shown(change.describe(names[change.topic])) for change in certain]


def _numbers(table: ReleasedTable, names: dict[int, str], by: str, unit: str) -> Table:
    units, shares, tells = table.units(), table.shares(), table.tells
    rows = []
    for index, row in enumerate(table.rows):
        number = whole_number(units, index)
        cells = [
            with_interval(shares.value[index, topic], shares.low[index, topic], shares.high[index, topic])
            if tells[index]
            else "too small to tell"
            for topic in names
        ]
        rows.append((shown(", ".join(row)), number, *cells))
    return Table((by, shown(counted(unit)), *map(shown, names.values())), rows)


def _heat(table: ReleasedTable, names: dict[int, str]) -> Heat:
    """Draw a row for each topic, a column for each listed group."""
    shares, groups = table.shares(), _drawn_rows(table)
    largest = largest_share(table, names)

    def cell(topic: int, row: int) -> Cell:
        place = f"{names[topic]}, {', '.join(table.rows[row])}"
        if not table.tells[row]:
            return Cell(None, "?", shown(f"{place}: too small to tell"))
        value, low, high = (float(part[row, topic]) for part in (shares.value, shares.low, shares.high))
        told = f"{place}: {with_interval(value, low, high)}"
        interval = f"\n({percent(low)} to {percent(high)})" if len(groups) <= _WITH_INTERVALS else ""
        return Cell(value / (largest or 1), f"{percent(value)}{interval}", shown(told))

    return Heat(
        rows=[shown(name) for name in names.values()],
        columns=[shortened(", ".join(table.rows[row])) for row in groups],
        cells=[[cell(topic, row) for row in groups] for topic in names],
        ends=(percent(0.0), percent(largest)),
    )


def _drawn_rows(table: ReleasedTable) -> list[int]:
    """Return the rows of listed groups; all if there are none."""
    listed = [index for index, is_rest in enumerate(table.rest) if not is_rest]
    return listed or list(range(len(table.rows)))


def largest_share(table: ReleasedTable, names: dict[int, str]) -> float:
    """Return the largest share that is drawn; 0 if no share is drawn."""
    rows = [row for row in _drawn_rows(table) if table.tells[row]]
    return float(table.shares().value[rows][:, list(names)].max()) if rows else 0.0


def _alone(values: Sequence[float]) -> list[int]:
    """Return the places of numbers that have no other number beside them; nan is no number."""
    known = [False, *(not math.isnan(value) for value in values), False]
    return [place for place in range(len(values)) if known[place + 1] and not known[place] and not known[place + 2]]


def category_of(attribute: str) -> str:
    """Return the category that an attribute such as ``category(refund)`` is about; empty for any other."""
    match = _PERIOD.fullmatch(attribute)
    return match["column"] if match is not None and match["period"] == CATEGORY else ""


def in_words(table: ReleasedTable, tables: Tables) -> str:
    """Name what a table is by: ``month and product``; a period's column only if the run has the period of several."""
    names = dict.fromkeys(name for each in tables for name in each.by)
    periods = [_PERIOD.fullmatch(name) for name in names]
    told = []
    for name in table.by:
        match = _PERIOD.fullmatch(name)
        if match is None:
            told.append(name)
        elif match["period"] in (BOOLEAN, BETWEEN, CATEGORY):
            told.append(match["column"])
        else:
            several = sum(other is not None and other["period"] == match["period"] for other in periods) > 1
            told.append(f"{match['period']} of {match['column']}" if several else match["period"])
    return shown(" and ".join(told))


def _places(period: str, names: Sequence[str]) -> list[int]:
    """Return the place of each of the periods `names` in a picture: one is left free where others are missing."""
    steps = (1 if period_after(period, earlier) == later else 2 for earlier, later in pairwise(names))
    return list(accumulate(steps, initial=0))


def _marked(period: str, names: Sequence[str]) -> range:
    """Return which of the periods `names` are named on an axis, so that their names do not touch.

    Of months without a gap, these are Januaries, and months at regular distances from them.
    """
    step = -(-len(names) // max(_ROOM // max(map(len, names)), 2))
    if period != "month" or _places(period, names)[-1] > len(names) - 1:
        return range(0, len(names), step)
    step = next((each for each in _STEPS if each >= step), -(-step // 12) * 12)
    first = next((place for place, name in enumerate(names) if (int(name[5:]) - 1) % min(step, 12) == 0), 0)
    return range(first, len(names), step)


def _lines(table: ReleasedTable) -> dict[tuple[str, ...], list[int]]:
    """Return the rows of the listed periods of each combination of the groups of the other attributes."""
    time, lines = table.period_axis, dict[tuple[str, ...], list[int]]()
    assert time is not None
    for index, row in enumerate(table.rows):
        if row[time] in table.groups[time][:-1]:
            lines.setdefault((*row[:time], *row[time + 1 :]), []).append(index)
    return lines


def _over_time(table: ReleasedTable, names: dict[int, str]) -> Chart:
    """Draw a small picture for each topic, with the periods from left to right."""
    time, lines = table.period_axis, _lines(table)
    assert time is not None
    periods, shares, tells = table.groups[time][:-1], table.shares(), table.tells
    place_of = _places(table.by[time].partition("(")[0], periods)
    places = range(place_of[-1] + 1)
    marked = _marked(table.by[time].partition("(")[0], periods)

    def draw(axes: Sequence[Axes]) -> None:
        for panel, (topic, name) in zip(axes, names.items(), strict=True):
            panel.set_title(shortened(name, _TITLE), fontsize="medium", loc="left")
            for number, (group, rows) in enumerate(lines.items()):
                if not tells[rows].any():
                    continue  # no line and no entry of the legend
                row_at = dict(zip(place_of, rows, strict=True))
                told = [row_at.get(place) for place in places]
                value, low, high = (
                    [math.nan if row is None or not tells[row] else 100 * float(numbers[row, topic]) for row in told]
                    for numbers in (shares.value, shares.low, shares.high)
                )
                colour = COLOURS[number % len(COLOURS)]
                panel.plot(places, value, color=colour, label=shown(", ".join(group)), marker=_MARKERS[number])
                panel.fill_between(places, low, high, color=colour, alpha=_BAND / len(lines) ** 0.5, linewidth=0)
                for place in _alone(value):  # neither a line nor a band is drawn at a single place
                    bar = [[value[place] - low[place]], [high[place] - value[place]]]
                    marker = _MARKERS[number] or _LONE
                    panel.errorbar([place], [value[place]], yerr=bar, fmt=marker, color=colour, markersize=3, capsize=3)
            ticks = [place_of[number] for number in marked]
            panel.set_xlim(-0.5, places[-1] + 0.5)  # of all periods, also if most are too small to tell
            panel.set_xticks(ticks, labels=[shortened(periods[number], _LONGEST) for number in marked])
        axes[0].set_ylim(bottom=0)  # of all panels

    rows = -(-len(names) // 2)
    return Chart(draw, height=70 + _PANEL * rows, narrow_height=70 + _PANEL * len(names), panels=len(names))
