"""Pictures of a series: the share of each topic in each batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dplda.model import TopicModel
from dplda.report.pictures import Cell, Heat, Picture, Table, percent, shortened, shown
from dplda.report.wording import ShownTopics
from dplda.series import share_of

_LONGEST = 12  # characters of a batch's name on the axis


def pictures(batches: Mapping[str, TopicModel], topics: Sequence[ShownTopics]) -> list[Picture]:
    """A heat map of each topic's share in each of `batches`; none for fewer than two.

    `topics` are those of the last batch's model.
    """
    if len(batches) < 2:
        return []
    last = list(batches.values())[-1]
    listed = last.listed_topics
    names = [f"{topic} {topics[0].title(topic)}" for topic in listed]
    values = np.full((len(listed), len(batches)), np.nan)
    for column, model in enumerate(batches.values()):
        known = [row for row, topic in enumerate(listed) if topic < len(model.topics)]
        values[known, column] = [model.prevalence[listed[row]] for row in known]
    most = float(np.nanmax(values)) or 1.0
    told = [[share_of(model, topic) for model in batches.values()] for topic in listed]
    cells = [
        [
            Cell(None if np.isnan(value) else float(value) / most, share, shown(f"{name}, {batch}: {share}"))
            for value, share, batch in zip(line, shares, batches, strict=True)
        ]
        for line, shares, name in zip(values, told, names, strict=True)
    ]
    rows = [(shown(name), *shares) for name, shares in zip(names, told, strict=True)]
    stds = [float(model.parameters.get("share_std") or 0.0) for model in batches.values()]
    return [
        Picture(
            name="shares-over-batches",
            title="How much of each batch is about each topic",
            alt=f"A heat map: a row for each of {len(listed)} topics, a column for each of {len(batches)} batches.",
            note=f"From none (pale) to {percent(most)} (strong) of a batch. A topic keeps its "
            "number and its row. It is new in the batch in which its words first stood out, and has faded in a batch "
            "that does not contain it.",
            drawing=Heat([shown(name) for name in names], [shortened(batch, _LONGEST) for batch in batches], cells),
            table=Table(("topic", *map(shown, batches)), rows),
            definition=f"The noise has a standard deviation of {percent(max(stds), upwards=True)} of a share or less.",
        )
    ]
