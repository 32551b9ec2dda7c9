"""Pictures that compare the topics of several runs, and the distances behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dplda.errors import InputError
from dplda.model import TopicModel
from dplda.model.topic_groups import hellinger
from dplda.report.pictures import LONGEST, SCALE, Picture, Table, figure, label, rows_axis, shown
from dplda.report.wording import ShownTopics

_READABLE_CELLS = 12  # maximum number of columns of a heat map that prints its numbers
_SCALE = "The same topic has similarity 1, topics without a word in common have 0."
_DEFINITION = (
    "Similarity is 1 minus the Hellinger distance. A word that only one of two runs has lowers it. Topics are matched "
    "one to one so that their summed similarity is largest."
)


def pictures(models: Sequence[TopicModel], names: Sequence[str], topics: Sequence[ShownTopics]) -> list[Picture]:
    """Heat maps of matched topics, which show words of `topics`; none for a single run.

    Raises `InputError` if two runs share no word.
    """
    if len(models) < 2:
        return []
    if len(models) == 2:
        return [_pair(models, names, topics)]
    table = _agreements(models)
    reference = int(table.sum(axis=0).argmax())
    return [_overview(table, names), _against(models, names, topics, reference)]


def _pair(models: Sequence[TopicModel], names: Sequence[str], topics: Sequence[ShownTopics]) -> Picture:
    """Similarities of all topics of two runs, ordered so that matched topics are on the diagonal."""
    first, second = models
    matched = _match(first, second)
    order = _order(matched)
    row_words, column_words = ([each.few(t) for t in range(len(each.words))] for each in topics)
    drawn = _heat(
        matched.similarity[:, order],
        rows=_topics(topics[0]),
        columns=[str(topic) for topic in order],
        hover=[
            [f"{label(f'{t} {row_words[t]}')}<br>{label(f'{o} {column_words[o]}')}" for o in order]
            for t in range(len(row_words))
        ],
    )
    rows = []
    for topic, partner in enumerate(matched.partner):
        has_partner = partner >= 0
        other = f"{partner} {shown(column_words[partner])}" if has_partner else "–"
        value = f"{matched.similarity[topic, partner]:.2f}" if has_partner else "–"
        rows.append((f"{topic} {shown(row_words[topic])}", other, value))
    shared = len(_shared_words(first, second))
    return Picture(
        name="matched-topics",
        title="Topics of the two runs, matched",
        alt=f"Heat map of {len(row_words)} by {len(order)} topics. Matched topics have a mean similarity of "
        f"{matched.agreement:.2f}.",
        note=f"Rows are topics of {shown(names[0])}, columns those of {shown(names[1])}; the topics that are most "
        f"alike are matched on the diagonal. {_SCALE} {_in_words(matched)}",
        definition=f"{_DEFINITION} The runs share {shared} words.",
        figure=drawn,
        table=Table((f"topic of {shown(names[0])}", f"matched topic of {shown(names[1])}", "similarity"), rows),
    )


def _in_words(matched: _Matched) -> str:
    """How high the agreement of two runs is, against that of topics that do not belong together."""
    if matched.background is None:
        return f"The matched topics have {matched.agreement:.2f}."
    return (
        f"Matched topics have {matched.agreement:.2f} on average, and topics that do not belong together "
        f"{matched.background:.2f}: the farther the first number is above the second, the better the runs agree."
    )


def _overview(table: np.ndarray, names: Sequence[str]) -> Picture:
    """Agreement of every two runs."""
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
        note=f"Mean similarity of the two runs' topics, matched one to one. {_SCALE}",
        definition=_DEFINITION,
        figure=drawn,
        table=Table(("run", *(str(i + 1) for i in range(len(names)))), rows),
    )


def _against(
    models: Sequence[TopicModel], names: Sequence[str], topics: Sequence[ShownTopics], reference: int
) -> Picture:
    """Similarity of each topic of the `reference` run to its match in every other run."""
    base = models[reference]
    others = [i for i in range(len(models)) if i != reference]
    matches = [_match(base, models[i]) for i in others]
    values = np.full((len(base.topics), len(others)), np.nan)
    labels = [topics[reference].few(topic) for topic in range(len(base.topics))]
    hover = [["no topic left"] * len(others) for _ in base.topics]
    for column, (i, matched) in enumerate(zip(others, matches, strict=True)):
        for topic, partner in enumerate(matched.partner):
            if partner >= 0:
                values[topic, column] = matched.similarity[topic, partner]
                hover[topic][column] = (
                    f"{label(f'{topic} {labels[topic]}')}<br>{label(f'{names[i]}: {partner} {topics[i].few(partner)}')}"
                )
    drawn = _heat(values, rows=_topics(topics[reference]), columns=[str(i + 1) for i in others], hover=hover)
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
        f"columns are the other runs, by number. {_SCALE}",
        definition=_DEFINITION,
        figure=drawn,
        table=Table(("topic", *(f"run {i + 1}" for i in others)), rows),
    )


@dataclass(frozen=True)
class TopicMap:
    """Topics as `points` (n_topics, 2); `kept` is the share of their squared distances that the plane shows."""

    points: NDArray[np.float64]
    kept: float


@dataclass(frozen=True)
class _Matched:
    """Matched topics of two runs: `partner` maps each topic of the first to one of the second, or to -1.

    `similarity` is ``(n_topics of the first, n_topics of the second)``: 1 for equal topics, 0 for topics without
    a word in common.
    """

    similarity: NDArray[np.float64]
    partner: NDArray[np.intp]

    @property
    def agreement(self) -> float:
        """Mean similarity of the matched pairs."""
        return float(self.similarity[self._pairs].mean())

    @property
    def background(self) -> float | None:
        """Mean similarity of all other pairs; None if there is none."""
        others = np.ones(self.similarity.shape, dtype=bool)
        others[self._pairs] = False
        return float(self.similarity[others].mean()) if others.any() else None

    @property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        rows = np.flatnonzero(self.partner >= 0)
        return rows, self.partner[rows]


def topic_map(topics: NDArray[np.float64]) -> TopicMap:
    """Project `topics` (n_topics, n_words) to the plane that keeps most of their squared Hellinger distances.

    Principal components of the square roots, which is classical scaling of these distances (Gower 1966). Signs are
    fixed so that the topic farthest out on an axis lies on its positive side.
    """
    roots = np.sqrt(topics / 2)
    left, values, _ = np.linalg.svd(roots - roots.mean(axis=0), full_matrices=False)
    plane = np.zeros((len(topics), 2))
    width = min(2, len(values))
    plane[:, :width] = left[:, :width] * values[:width]
    farthest = plane[np.abs(plane).argmax(axis=0), [0, 1]]
    energy = float((values**2).sum())
    kept = float((values[:width] ** 2).sum()) / energy if energy > 0 else 1.0
    return TopicMap(plane * np.where(farthest < 0, -1.0, 1.0), kept)


def _shared_words(first: TopicModel, second: TopicModel) -> list[str]:
    """The common words of two models, in alphabetical order. Raises `InputError` if there are none."""
    shared = sorted(set(first.vocabulary) & set(second.vocabulary))
    if not shared:
        raise InputError(
            "two of these runs have no word in common, so their topics cannot be compared. "
            "Report runs on the same kind of text, or each run by itself."
        )
    return shared


def _match(first: TopicModel, second: TopicModel) -> _Matched:
    """The one-to-one matching with the greatest total similarity, 1 - Hellinger distance (Kuhn 1955).

    A word that only one run has lowers the similarity. Raises `InputError` if no word is shared.
    """
    words = _shared_words(first, second)
    similarity = 1 - hellinger(_columns(first, words), _columns(second, words))
    rows, columns = linear_sum_assignment(-similarity)
    partner = np.full(len(similarity), -1, dtype=np.intp)
    partner[rows] = columns
    return _Matched(similarity, partner)


def _agreements(models: Sequence[TopicModel]) -> NDArray[np.float64]:
    """`_Matched.agreement` of every two models, (n_models, n_models): symmetric, with 1 on the diagonal."""
    table = np.eye(len(models))
    for i, first in enumerate(models):
        for j in range(i):
            table[i, j] = table[j, i] = _match(first, models[j]).agreement
    return table


def _columns(model: TopicModel, words: Sequence[str]) -> NDArray[np.float64]:
    place = {word: column for column, word in enumerate(model.vocabulary)}
    return model.topics[:, [place[word] for word in words]]


def _order(matched: _Matched) -> list[int]:
    """The second run's topics: partners in the order of the first run's topics, then those without a partner."""
    partners = [int(topic) for topic in matched.partner if topic >= 0]
    return partners + [topic for topic in range(matched.similarity.shape[1]) if topic not in partners]


def _topics(topics: ShownTopics) -> list[str]:
    return [label(f"{topic} {topics.few(topic, 2)}", LONGEST - 6) for topic in range(len(topics.words))]


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
        texttemplate="%{z:.2f}" if len(columns) <= _READABLE_CELLS else None,
        colorbar={"orientation": "h", "thickness": 12, "y": 1.02, "yanchor": "bottom", "len": 1, "xpad": 0, "ypad": 4},
    )
    x = {"tickvals": list(range(len(columns))), "ticktext": columns, "showgrid": False}
    return figure([trace], height=150 + 24 * len(rows), x=x, y=rows_axis(rows))
