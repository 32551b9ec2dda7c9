"""Pictures of the tables of a run's topics: topics over time, and a heat map of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dplda.accounting.events import at_least
from dplda.attributes import OTHER
from dplda.report.pictures import (
    BLUE,
    COLOURS,
    FAINT,
    GREY,
    SCALE,
    Picture,
    Table,
    figure,
    label,
    percent,
    rows_axis,
    shown,
    wrapped,
)
from dplda.report.wording import ShownTopics
from dplda.tables.released_table import ReleasedTable, Tables

_BAND = "rgba(0,114,178,0.25)"  # BLUE
_COLUMNS, _PANEL = 2, 120  # of the small pictures, one for each topic; height of each in CSS pixels
_LONGEST = 12  # characters of a group's name on an axis
_MOST_LINES = len(COLOURS)  # groups in one small picture
_MOST_CHANGES = 5


def pictures(all_tables: Sequence[Tables], topics: ShownTopics, listed: Sequence[int], prefix: str) -> list[Picture]:
    """A picture of each table by one attribute, or by a few groups and a period, and of what others add up to.

    `listed` are the topics to show; `prefix` begins the pictures' names.
    """
    drawn = []
    for run, tables in enumerate(all_tables):
        for place, table in enumerate(tables):
            name = f"{prefix}-table-{run}-{place}"
            for part, one in enumerate(_parts(table)):
                drawn.append(_picture(one, tables, topics, listed, f"{name}-{part}"))
    return drawn


def _parts(table: ReleasedTable) -> list[ReleasedTable]:
    """The table, or the tables by each of its attributes if it cannot be drawn; none without attributes."""
    time = table.period_axis
    lines = [len(names) for axis, names in enumerate(table.groups) if axis != time]
    if len(table.by) == 1 or (time is not None and len(lines) == 1 and lines[0] <= _MOST_LINES):
        return [table]
    return [table.over(axis) for axis in range(len(table.by))]


def _picture(table: ReleasedTable, tables: Tables, topics: ShownTopics, listed: Sequence[int], name: str) -> Picture:
    names = {topic: f"{topic} {topics.title(topic)}" for topic in listed}
    over_time = table.period_axis is not None
    drawn = _over_time(table, names) if over_time else _heat(table, names)
    what = "How topics change" if over_time else "How topics differ"
    unit = tables.privacy.unit
    promise = (
        f"epsilon {at_least(tables.privacy.epsilon)}, delta {tables.privacy.delta:g}"
        if tables.privacy.sound
        else tables.privacy.reason
    )
    note = (
        "A small picture for each topic: its share in percent, with a band that holds the true share with 95 %."
        if over_time and len(table.by) == 1
        else "A small picture for each topic: its share in percent, with a line for each group; the numbers below have "
        "intervals."
        if over_time
        else f"From none (dark) to {_largest(table, names)} (bright). Groups that are too small to tell are left out."
    )
    return Picture(
        name=name,
        title=f"{what} by {label(table.name)}",
        alt=f"The share of each of {len(listed)} topics in each of {len(table.rows)} groups by {shown(table.name)}.",
        note=f"{note} {_certain(table, names)}",
        figure=drawn,
        table=_numbers(table, names),
        definition=f"Of one {unit}, this table and others of its run together tell at most what {promise} allows, "
        "besides what the topics tell. Intervals hold the noise, and not the error of a sample.",
    )


def _certain(table: ReleasedTable, names: dict[int, str]) -> str:
    """The largest differences that are certain, in a sentence."""
    certain = [change for change in table.changes() if change.topic in names]
    if not certain:
        return "No difference is certain."
    largest = sorted(certain, key=lambda change: -abs(change.value))[:_MOST_CHANGES]
    told = shown("; ".join(change.described(names[change.topic]) for change in largest))
    more = f"; and {len(certain) - len(largest)} more" if len(certain) > len(largest) else ""
    return f"Certain, all together with 95 %: {told}{more}."


def _numbers(table: ReleasedTable, names: dict[int, str]) -> Table:
    units, shares, tells = table.units(), table.shares(), table.tells
    rows = []
    for index, row in enumerate(table.rows):
        number = f"{units.value[index]:,.0f} ({units.low[index]:,.0f} to {units.high[index]:,.0f})"
        cells = [
            f"{percent(shares.value[index, topic])} ({percent(shares.low[index, topic])} to "
            f"{percent(shares.high[index, topic])})"
            if tells[index]
            else "too small to tell"
            for topic in names
        ]
        rows.append((shown(", ".join(row)), number, *cells))
    return Table((shown(table.name), "number", *map(shown, names.values())), rows)


def _heat(table: ReleasedTable, names: dict[int, str]) -> go.Figure:
    """A row for each listed group, a column for each topic."""
    shares, listed = table.shares(), list(names)
    rows = _drawn_rows(table)
    z = [[float(shares.value[row, topic]) if table.tells[row] else None for topic in listed] for row in rows]
    hover = [
        [
            f"{label(', '.join(table.rows[row]))}<br>{label(names[topic])}: {percent(float(shares.value[row, topic]))}"
            f" ({percent(float(shares.low[row, topic]))} to {percent(float(shares.high[row, topic]))})"
            for topic in listed
        ]
        for row in rows
    ]
    heat = go.Heatmap(
        z=z,
        colorscale=SCALE,
        zmin=0,
        showscale=False,
        hovertext=hover,
        hoverinfo="text",
        xgap=1,
        ygap=1,
    )
    return figure(
        [heat],
        height=200 + 30 * len(rows),
        x={
            "tickvals": list(range(len(listed))),
            "ticktext": [label(names[topic], _LONGEST) for topic in listed],
            "tickangle": -60,
            "side": "top",
            "linecolor": GREY,
        },
        y=rows_axis([wrapped(", ".join(table.rows[row])) for row in rows]),
    )


def _drawn_rows(table: ReleasedTable) -> list[int]:
    """The rows of listed groups; all if there are none."""
    listed = [index for index, row in enumerate(table.rows) if OTHER not in row]
    return listed or list(range(len(table.rows)))


def _largest(table: ReleasedTable, names: dict[int, str]) -> str:
    """The largest share that is drawn."""
    rows = [row for row in _drawn_rows(table) if table.tells[row]]
    return percent(float(table.shares().value[rows][:, list(names)].max())) if rows else "most"


def _over_time(table: ReleasedTable, names: dict[int, str]) -> go.Figure:
    """A small picture for each topic, with the periods from left to right."""
    time = table.period_axis
    assert time is not None
    periods, lines = table.groups[time][:-1], dict[tuple[str, ...], list[int]]()
    for index, row in enumerate(table.rows):
        if row[time] in periods:
            lines.setdefault((*row[:time], *row[time + 1 :]), []).append(index)
    n_rows = -(-len(names) // _COLUMNS)
    drawn = make_subplots(
        n_rows,
        _COLUMNS,
        shared_xaxes=True,
        shared_yaxes="all",
        subplot_titles=[label(name, 22) for name in names.values()],
        horizontal_spacing=0.06,
        vertical_spacing=min(0.3 / n_rows, 0.2),
    )
    shares, tells = table.shares(), table.tells
    for place, topic in enumerate(names):
        at: dict[str, Any] = {"row": place // _COLUMNS + 1, "col": place % _COLUMNS + 1}
        for number, (group, rows) in enumerate(lines.items()):
            value, low, high = (
                [100 * float(numbers[row, topic]) if tells[row] else None for row in rows]
                for numbers in (shares.value, shares.low, shares.high)
            )
            if len(lines) == 1:
                drawn.add_trace(_line(periods, low, BLUE, width=0), **at)
                drawn.add_trace(_line(periods, high, BLUE, width=0, fill="tonexty", fillcolor=_BAND), **at)
            legend: dict[str, Any] = {"name": label(", ".join(group)), "showlegend": place == 0 and len(lines) > 1}
            colour = COLOURS[number % len(COLOURS)]
            drawn.add_trace(_line(periods, value, colour, legendgroup=str(number), **legend), **at)
    style = figure([], height=90 + _PANEL * n_rows, x={}, y={}).layout.to_plotly_json()
    axes = {"gridcolor": FAINT, "zeroline": False, "linecolor": GREY, "fixedrange": True}
    drawn.update_layout({key: style[key] for key in style if key not in ("xaxis", "yaxis")})
    drawn.update_layout(margin={"l": 30, "r": 12, "t": 40, "b": 30})
    drawn.update_xaxes(type="category", nticks=4, **axes)
    drawn.update_yaxes(rangemode="tozero", nticks=4, **axes)
    drawn.update_annotations(font={"size": 12, "color": GREY})
    return drawn


def _line(periods: Sequence[str], values: Sequence[float | None], colour: str, width: int = 2, **more: Any) -> Any:
    options: dict[str, Any] = {"showlegend": False, "hoverinfo": "skip" if width == 0 else "x+y", **more}
    return go.Scatter(x=list(periods), y=values, mode="lines", line={"color": colour, "width": width}, **options)
