"""Pictures that compare the topics of several runs, or their shares in the batches of a series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dplda.base.distributions import on_words
from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.model.topic_groups import hellinger
from dplda.report.pictures import Bar, Bars, Cell, Heat, Picture, Table, percent, shortened, shown
from dplda.report.wording import ShownTopics
from dplda.runs.series import share_of

_BATCH_NAME = 12  # characters of a batch's name on the axis
_SCALE = "The same topic has similarity 1, topics without a word in common have 0."
_DEFINITION = (
    "Similarity is 1 minus the Hellinger distance. A word that only one of two runs has lowers it. Topics are matched "
    "one to one so that their summed similarity is largest."
)


def pictures(models: Sequence[TopicModel], names: Sequence[str], topics: Sequence[ShownTopics]) -> list[Picture]:
    """Draw matched topics, with words of `topics`; nothing for a single run.

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
    """Draw each pair of matched topics of two runs, with its similarity."""
    first, second = models
    matched = _match(first, second)
    row_words, column_words = ([each.few(t) for t in range(len(each.words))] for each in topics)
    pairs = [(topic, int(partner)) for topic, partner in enumerate(matched.partner) if partner >= 0]
    bars = [
        Bar(
            shown(f"{topic} {row_words[topic]} ↔ {partner} {column_words[partner]}"),
            parts=(float(matched.similarity[topic, partner]),),
            value=f"{matched.similarity[topic, partner]:.2f}",
            mark=matched.background,
        )
        for topic, partner in sorted(pairs, key=lambda pair: -matched.similarity[pair])
    ]
    alone = [
        f"topic {topic} of {name}"
        for name, n_topics, partners in zip(names, matched.similarity.shape, zip(*pairs, strict=True), strict=True)
        for topic in range(n_topics)
        if topic not in partners
    ]
    agreement = f"The matched topics have {matched.agreement:.2f}."
    if matched.background is not None:
        agreement = (
            f"Matched topics have {matched.agreement:.2f} on average, and topics that do not belong together "
            f"{matched.background:.2f} (the upright marks): the farther the first number is above the second, the "
            "better the runs agree."
        )
    left = f" Without a partner: {', '.join(alone)}." if alone else ""
    shared = len(_shared_words(first, second))
    return Picture(
        name="matched-topics",
        title="Topics of the two runs, matched",
        alt=f"Bar chart of {len(bars)} pairs of topics. They have a mean similarity of {matched.agreement:.2f}.",
        note=f"Each topic of {shown(names[0])} beside the topic of {shown(names[1])} that it is matched with. {_SCALE} "
        f"{agreement}{shown(left)}",
        drawing=Bars(bars, longest=1.0),
        definition=f"{_DEFINITION} The runs share {shared} words.",
    )


def _overview(table: np.ndarray, names: Sequence[str]) -> Picture:
    """Draw how far every two runs agree."""
    titles = [shown(f"{i + 1} {name}") for i, name in enumerate(names)]
    cells = [
        [Cell(float(table[i, j]), f"{table[i, j]:.2f}", f"{one}, {other}") for j, other in enumerate(titles)]
        for i, one in enumerate(titles)
    ]
    apart = table[~np.eye(len(table), dtype=bool)]
    numbers = [f"run {i + 1}" for i in range(len(names))]
    rows = [(title, *(f"{value:.2f}" for value in table[i])) for i, title in enumerate(titles)]
    return Picture(
        name="agreement",
        title="How far the runs agree",
        alt=f"Heat map of {len(names)} runs. Similarity of matched topics is between {apart.min():.2f} and "
        f"{apart.max():.2f}.",
        note=f"Mean similarity of the two runs' topics, matched one to one. {_SCALE}",
        definition=_DEFINITION,
        drawing=Heat(titles, numbers, cells),
        table=Table(("run", *numbers), rows),
    )


def _against(
    models: Sequence[TopicModel], names: Sequence[str], topics: Sequence[ShownTopics], reference: int
) -> Picture:
    """Draw the similarity of each topic of the `reference` run to its match in every other run."""
    base = models[reference]
    others = [i for i in range(len(models)) if i != reference]
    matches = [_match(base, models[i]) for i in others]
    values = np.full((len(base.topics), len(others)), np.nan)
    labels = [topics[reference].few(topic) for topic in range(len(base.topics))]
    cells = [[Cell(None, "–", "no topic left")] * len(others) for _ in base.topics]
    for column, (i, matched) in enumerate(zip(others, matches, strict=True)):
        for topic, partner in enumerate(matched.partner):
            if partner >= 0:
                value = values[topic, column] = matched.similarity[topic, partner]
                told = f"{topic} {labels[topic]}; {names[i]}: {partner} {topics[i].few(partner)}: {value:.2f}"
                cells[topic][column] = Cell(float(value), f"{value:.2f}", shown(told))
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
        drawing=Heat(
            [shown(f"{topic} {words}") for topic, words in enumerate(labels)], [f"run {i + 1}" for i in others], cells
        ),
        table=Table(("topic", *(f"run {i + 1}" for i in others)), rows),
    )


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
        """Mean similarity of all other pairs; None if there are no other pairs."""
        others = np.ones(self.similarity.shape, dtype=bool)
        others[self._pairs] = False
        return float(self.similarity[others].mean()) if others.any() else None

    @property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        rows = np.flatnonzero(self.partner >= 0)
        return rows, self.partner[rows]


def _shared_words(first: TopicModel, second: TopicModel) -> list[str]:
    """Return the common words of two models, in alphabetical order. Raises `InputError` if there are none."""
    shared = sorted(set(first.vocabulary) & set(second.vocabulary))
    if not shared:
        raise InputError(
            "two of these runs have no word in common, so their topics cannot be compared. "
            "Report runs on the same kind of text, or each run by itself."
        )
    return shared


def _match(first: TopicModel, second: TopicModel) -> _Matched:
    """Match topics one to one with the greatest total similarity, 1 - Hellinger distance (Kuhn 1955).

    A word that only one run has lowers the similarity. Raises `InputError` if no word is shared.
    """
    words = _shared_words(first, second)
    similarity = 1 - hellinger(*(on_words(model.topics, model.vocabulary, words) for model in (first, second)))
    rows, columns = linear_sum_assignment(-similarity)
    partner = np.full(len(similarity), -1, dtype=np.intp)
    partner[rows] = columns
    return _Matched(similarity, partner)


def _agreements(models: Sequence[TopicModel]) -> NDArray[np.float64]:
    """Return `_Matched.agreement` of every two models, (n_models, n_models), with 1 on the diagonal."""
    table = np.eye(len(models))
    for i, first in enumerate(models):
        for j in range(i):
            table[i, j] = table[j, i] = _match(first, models[j]).agreement
    return table


def batch_pictures(batches: Mapping[str, TopicModel], topics: Sequence[ShownTopics]) -> list[Picture]:
    """Draw each topic's share in each of `batches`; nothing for fewer than two.

    `topics` are the topics of the last batch's model.
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
    stds = [model.facts.share_std or 0.0 for model in batches.values()]
    return [
        Picture(
            name="shares-over-batches",
            title="How much of each batch is about each topic",
            alt=f"A heat map: a row for each of {len(listed)} topics, a column for each of {len(batches)} batches.",
            note=f"From none (pale) to {percent(most)} (strong) of a batch. A topic keeps its "
            "number and its row. It is new in the batch in which its words first stood out, and has faded in a batch "
            "that does not contain it.",
            drawing=Heat([shown(name) for name in names], [shortened(batch, _BATCH_NAME) for batch in batches], cells),
            table=Table(("topic", *map(shown, batches)), rows),
            definition=f"The noise has a standard deviation of {percent(max(stds), upwards=True)} of a share or less.",
        )
    ]
