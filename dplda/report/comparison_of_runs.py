"""Pictures of several runs side by side: did they find the same topics?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dplda.model import TopicModel
from dplda.report.pictures import LONGEST, SCALE, Picture, Table, figure, label, rows_axis, shown
from dplda.report.topic_similarity import Matched, agreements, match, shared_words

READABLE_CELLS = 12  # a cell's number is written into it up to so many columns
HOW = "Similarity is 1 minus the Hellinger distance: 1 for equal topics, 0 for topics without a word in common."


def pictures(models: Sequence[TopicModel], names: Sequence[str]) -> list[Picture]:
    """Heat maps of matched topics; none for one run. Raises `InputError` if two runs share no word."""
    if len(models) < 2:
        return []
    if len(models) == 2:
        return [pair(models[0], models[1], names)]
    table = agreements(models)
    reference = int(table.sum(axis=0).argmax())
    return [overview(table, names), against(models, names, reference)]


def pair(first: TopicModel, second: TopicModel, names: Sequence[str]) -> Picture:
    """Every topic of one run beside every topic of the other, in the order that puts matched topics on the diagonal."""
    matched = match(first, second)
    order = _order(matched)
    own, words = _few_words(first), _few_words(second)
    drawn = _heat(
        matched.similarity[:, order],
        rows=_topics(first),
        columns=[str(topic) for topic in order],
        hover=[[f"{label(f'{t} {own[t]}')}<br>{label(f'{o} {words[o]}')}" for o in order] for t in range(len(own))],
    )
    rows = []
    for topic, partner in enumerate(matched.partner):
        met = partner >= 0
        value = f"{matched.similarity[topic, partner]:.2f}" if met else "–"
        rows.append((f"{topic} {shown(own[topic])}", f"{partner} {shown(words[partner])}" if met else "–", value))
    shared = len(shared_words(first, second))
    return Picture(
        name="matched-topics",
        title="Topics of the two runs, matched",
        alt=f"Heat map of {len(own)} by {len(order)} topics. Matched topics have a mean similarity of "
        f"{matched.agreement:.2f}.",
        note=f"Rows are topics of {shown(names[0])}, columns those of {shown(names[1])}, matched one to one on the "
        f"diagonal; mean similarity {matched.agreement:.2f}. {HOW} Over {shared} shared words; a word that only one "
        "run has counts against likeness.",
        figure=drawn,
        table=Table((f"topic of {shown(names[0])}", f"matched topic of {shown(names[1])}", "similarity"), rows),
    )


def overview(table: np.ndarray, names: Sequence[str]) -> Picture:
    """How far every two runs agree."""
    drawn = _heat(
        table,
        rows=[label(f"{i + 1} {name}", LONGEST) for i, name in enumerate(names)],
        columns=[str(i + 1) for i in range(len(names))],
        hover=[[f"{label(one)}<br>{label(other)}" for other in names] for one in names],
    )
    apart = table[~np.eye(len(table), dtype=bool)]
    rows = [(f"{i + 1} {shown(name)}", *(f"{value:.2f}" for value in table[i])) for i, name in enumerate(names)]
    return Picture(
        name="agreement",
        title="How far the runs agree",
        alt=f"Heat map of {len(names)} runs. Similarity of matched topics is between {apart.min():.2f} and "
        f"{apart.max():.2f}.",
        note=f"Mean similarity of the two runs' topics, matched one to one. {HOW}",
        figure=drawn,
        table=Table(("run", *(str(i + 1) for i in range(len(names)))), rows),
    )


def against(models: Sequence[TopicModel], names: Sequence[str], reference: int) -> Picture:
    """Each topic of the run that agrees most with all others, and how like its match in each other run is."""
    base = models[reference]
    others = [i for i in range(len(models)) if i != reference]
    found = [match(base, models[i]) for i in others]
    values = np.full((len(base.topics), len(others)), np.nan)
    labels = _few_words(base)
    hover = [["no topic left"] * len(others) for _ in base.topics]
    for column, (i, matched) in enumerate(zip(others, found, strict=True)):
        words = _few_words(models[i])
        for topic, partner in enumerate(matched.partner):
            if partner >= 0:
                values[topic, column] = matched.similarity[topic, partner]
                hover[topic][column] = (
                    f"{label(f'{topic} {labels[topic]}')}<br>{label(f'{names[i]}: {partner} {words[partner]}')}"
                )
    drawn = _heat(values, rows=_topics(base), columns=[str(i + 1) for i in others], hover=hover)
    rows = [
        (f"{t} {shown(labels[t])}", *("–" if np.isnan(value) else f"{value:.2f}" for value in values[t]))
        for t in range(len(values))
    ]
    means = np.nanmean(np.where(np.isnan(values), 0.0, values), axis=1)
    firm, loose = int(means.argmax()), int(means.argmin())
    return Picture(
        name="matched-topics",
        title="Which topics every run finds",
        alt=f"Heat map of {len(values)} topics in {len(others)} other runs. Topic {firm} is found most alike, topic "
        f"{loose} least.",
        note=f"Rows are topics of run {reference + 1}, {shown(names[reference])}, which agrees most with the others; "
        f"columns are the other runs, by number. {HOW}",
        figure=drawn,
        table=Table(("topic", *(f"run {i + 1}" for i in others)), rows),
    )


def _order(matched: Matched) -> list[int]:
    """The second run's topics: partners in the order of the first run's topics, then those left over."""
    partners = [int(topic) for topic in matched.partner if topic >= 0]
    return partners + [topic for topic in range(matched.similarity.shape[1]) if topic not in partners]


def _topics(model: TopicModel) -> list[str]:
    few = model.top_words(2)
    return [label(f"{topic} {', '.join(word for word, _ in words)}", LONGEST - 6) for topic, words in enumerate(few)]


def _few_words(model: TopicModel) -> list[str]:
    return [", ".join(word for word, _ in few) for few in model.top_words(3)]


def _heat(values: np.ndarray, *, rows: list[str], columns: list[str], hover: list[list[str]]) -> go.Figure:
    cells = [[None if np.isnan(value) else float(value) for value in row] for row in values]
    trace = go.Heatmap(
        z=cells,
        x=list(range(len(columns))),
        y=list(range(len(rows))),
        customdata=hover,
        zmin=0,
        zmax=1,
        colorscale=SCALE,
        xgap=1,
        ygap=1,
        hovertemplate="%{customdata}<br>similarity %{z:.2f}<extra></extra>",
        texttemplate="%{z:.2f}" if len(columns) <= READABLE_CELLS else None,
        colorbar={"orientation": "h", "thickness": 12, "y": 1.02, "yanchor": "bottom", "len": 1, "xpad": 0, "ypad": 4},
    )
    x = {"tickvals": list(range(len(columns))), "ticktext": columns, "showgrid": False}
    return figure([trace], height=150 + 24 * len(rows), x=x, y=rows_axis(rows))
