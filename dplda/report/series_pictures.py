"""Pictures of a series: the share of each topic in each batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from dplda.model import TopicModel
from dplda.report.pictures import GREY, SCALE, Picture, Table, figure, label, percent, rows_axis, shown, wrapped
from dplda.report.wording import ShownTopics
from dplda.series import share_of

_LONGEST = 12  # characters of a batch's name on the axis


def pictures(batches: Mapping[str, TopicModel], topics: Sequence[ShownTopics]) -> list[Picture]:
    """The topics' shares over the `batches`; none for fewer than two. The last batch has the `topics`."""
    if len(batches) < 2:
        return []
    last = list(batches.values())[-1]
    listed = last.listed_topics
    names = [f"{topic} {topics[0].title(topic)}" for topic in listed]
    values = np.full((len(listed), len(batches)), np.nan)
    for column, model in enumerate(batches.values()):
        known = [row for row, topic in enumerate(listed) if topic < len(model.topics)]
        values[known, column] = [model.prevalence[listed[row]] for row in known]
    hover = [
        [f"{label(name)}<br>{label(batch)}: {share_of(model, topic)}" for batch, model in batches.items()]
        for topic, name in zip(listed, names, strict=True)
    ]
    heat = go.Heatmap(
        z=[[None if np.isnan(value) else float(value) for value in row] for row in values],
        colorscale=SCALE,
        zmin=0,
        zmax=float(np.nanmax(values)),
        showscale=False,
        hovertext=hover,
        hoverinfo="text",
        xgap=1,
        ygap=1,
    )
    drawn = figure(
        [heat],
        height=120 + 34 * len(listed),
        x={
            "tickvals": list(range(len(batches))),
            "ticktext": [label(batch, _LONGEST) for batch in batches],
            "side": "top",
            "linecolor": GREY,
        },
        y=rows_axis([wrapped(name) for name in names]),
    )
    rows = [
        (shown(name), *(share_of(model, topic) for model in batches.values()))
        for topic, name in zip(listed, names, strict=True)
    ]
    stds = [float(model.parameters.get("share_std") or 0.0) for model in batches.values()]
    return [
        Picture(
            name="shares-over-batches",
            title="How much of each batch is about each topic",
            alt=f"A heat map: a row for each of {len(listed)} topics, a column for each of {len(batches)} batches.",
            note=f"From none (dark) to {percent(float(np.nanmax(values)))} (bright) of a batch. A topic keeps its "
            "number and its row. It is new in the batch in which its words first stood out, and has faded in a batch "
            "that does not hold it.",
            figure=drawn,
            table=Table(("topic", *map(shown, batches)), rows),
            definition=f"The noise has a standard deviation of {percent(max(stds), upwards=True)} of a share or less.",
        )
    ]
