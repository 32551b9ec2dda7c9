"""Pictures that compare the topics of several runs, or their shares in the batches of a series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from dplda.model import TopicModel
from dplda.model.topic_groups import APART, SAME, ComparedTopics, contrast
from dplda.report.pictures import Bar, Bars, Cell, Heat, Picture, Table, percent, shortened, shown
from dplda.report.wording import ShownTopics
from dplda.runs.series import share_of

_BATCH_NAME = 12  # characters of a batch's name on the axis
_AGREEMENT = "0.00", "1.00"  # the ends of the scale of a heat map
_SCALE = (
    "Topics that collect the same documents have 1, topics that have nothing to do with each other about 0. This is of "
    "documents that were generated: in yours, which are often shorter, topics that are alike have less in common."
)
_DEFINITION = (
    "The numbers are correlations of the topics' shares in documents that were generated, half from each of two runs, "
    f"over the words that both runs have. Topics are called alike from {SAME} on, and partly alike from {APART} on. "
    "They are matched one to one so that the sum for alike topics is largest, then that for the others."
)


def pictures(models: Sequence[TopicModel], names: Sequence[str], topics: Sequence[ShownTopics]) -> list[Picture]:
    """Draw matched topics, with words of `topics`; nothing for a single run. Topics called noise are left out.

    Raises `InputError` if two runs share no word.
    """
    if len(models) < 2:
        return []
    known = [shown(name) for model, name in zip(models, names, strict=True) if model.facts.prior_used]
    before = (
        f" The topics of {' and '.join(known)} are those of a prior, known before: that they agree with topics of "
        "this prior, in another run too, says nothing about the documents."
        if known
        else ""
    )
    given = [shown(name) for model, name in zip(models, names, strict=True) if model.facts.seed_words]
    if given:
        before += (
            f" Some topics of {' and '.join(given)} have names that were given with seed words: these drew them there, "
            "and they may be of a wider subject, of a part of it, or of another one."
        )
    if len(models) == 2:
        pair = _pair(models, names, topics)
        return [replace(pair, note=pair.note + before)]
    compared = {(i, j): contrast(models[i], models[j]) for i, j in combinations(range(len(models)), 2)}
    table = np.eye(len(models))
    for (i, j), each in compared.items():
        table[i, j] = table[j, i] = np.nan if each.too_few_words else each.agreement
    reference = int(np.nansum(table, axis=0).argmax())
    few = ", ".join(f"{i + 1} and {j + 1}" for (i, j), each in compared.items() if each.too_few_words)
    unsure = f" A question mark: runs {few} have too few words in common to tell." if few else ""
    drawn = [_overview(table, names), _against(models, names, topics, reference, compared)]
    return [replace(picture, note=picture.note + unsure + before) for picture in drawn]


def _pair(models: Sequence[TopicModel], names: Sequence[str], topics: Sequence[ShownTopics]) -> Picture:
    """Draw the topics that two runs have both, and say which only one has."""
    compared = contrast(*models)
    few = [
        {topic: shown(f"{topic} {each.title(topic)}") for topic in listed} for each, listed in _listed(topics, models)
    ]
    bars = [
        Bar(
            f"{few[0][pair.first]} ↔ {few[1][pair.second]}",
            parts=(max(pair.correlation, 0.0),),
            value=f"{pair.correlation:.2f}",
        )
        for pair in sorted(compared.same, key=lambda pair: -pair.correlation)
    ]
    left = ""
    rows = [(few[0][pair.first], "both", few[1][pair.second], f"{pair.correlation:.2f}") for pair in compared.same]
    for side, name in enumerate(names):
        only = [few[side][pair.topics[side]] for pair in compared.only[side]]
        near, unclear = list[str](), list[str]()
        for pair in compared.unclear[side]:
            topic, partner = pair.topics[side], pair.topics[1 - side]
            if pair.correlation >= APART:
                near.append(f"{few[side][topic]} (“{few[1 - side][partner]}”, {pair.correlation:.2f})")
            else:
                unclear.append(few[side][topic])
        rows += [
            (few[side][pair.topics[side]], shown(name), few[1 - side][pair.topics[1 - side]], f"{pair.correlation:.2f}")
            for pair in (*compared.only[side], *compared.unclear[side])
        ]
        if only:
            left += f" Only in {shown(name)}: {'; '.join(only)}."
        if near:
            left += (
                f" In {shown(name)}, and partly like a topic of the other run, which may blend several: "
                f"{'; '.join(near)}."
            )
        if unclear:
            left += (
                f" In {shown(name)}, and perhaps in the other run too, where noise or other topics may hide it: "
                f"{'; '.join(unclear)}."
            )
    left += f" {compared.never_only}" * bool(compared.never_only)
    if any(len(model.listed_topics) < len(model.topics) for model in models):
        left += " Topics called noise are not compared; one of them may be the better match."
    nearest = "The numbers below tell which are nearest."
    same = (
        f"{len(bars)} topic{'s are' if len(bars) != 1 else ' is'} alike in both runs. Each is shown as in "
        f"{shown(names[0])} beside the one in {shown(names[1])}. {_SCALE}"
        if bars
        else f"{compared.too_few_words or 'No topic is alike in both runs.'} {nearest}"
    )
    return Picture(
        name="matched-topics",
        title="Topics that both runs have",
        alt=f"Bar chart of {len(bars)} pairs of topics that are alike.",
        note=same if compared.too_few_words else f"{same}{left}",
        drawing=Bars(bars, longest=1.0),
        table=Table(("topic", "in", "nearest in the other run", "correlation"), rows) if rows else None,
        definition=f"{_DEFINITION} The runs share {len(compared.words):,} words, of {len(models[0].vocabulary):,} and "
        f"{len(models[1].vocabulary):,}.",
    )


def _listed(topics: Sequence[ShownTopics], models: Sequence[TopicModel]) -> Iterator[tuple[ShownTopics, Sequence[int]]]:
    return zip(topics, (model.listed_topics for model in models), strict=True)


def _overview(table: np.ndarray, names: Sequence[str]) -> Picture:
    """Draw how far every two runs agree."""
    titles = [shown(f"{i + 1} {name}") for i, name in enumerate(names)]
    cells = [
        [_cell(float(table[i, j]), f"{one}, {other}") for j, other in enumerate(titles)] for i, one in enumerate(titles)
    ]
    known = table[~np.eye(len(table), dtype=bool) & np.isfinite(table)]
    told = f" Matched topics agree by {known.min():.2f} to {known.max():.2f}." if len(known) else ""
    numbers = [f"run {i + 1}" for i in range(len(names))]
    rows = [(title, *(_number(value) for value in table[i])) for i, title in enumerate(titles)]
    return Picture(
        name="agreement",
        title="How far the runs agree",
        alt=f"Heat map of {len(names)} runs.{told}",
        note=f"How far the two runs' topics, matched one to one, collect the same documents, on average. {_SCALE}",
        definition=_DEFINITION,
        drawing=Heat(titles, numbers, cells, _AGREEMENT),
        table=Table(("run", *numbers), rows),
    )


def _cell(value: float, told: str) -> Cell:
    return Cell(None if np.isnan(value) else max(value, 0.0), _number(value), told)


def _number(value: float) -> str:
    """Format a correlation; a question mark stands for one over too few words."""
    return "?" if np.isnan(value) else f"{value:.2f}"


def _against(
    models: Sequence[TopicModel],
    names: Sequence[str],
    topics: Sequence[ShownTopics],
    reference: int,
    compared: Mapping[tuple[int, int], ComparedTopics],
) -> Picture:
    """Draw how far each topic of the `reference` run agrees with its match in every other run."""
    listed = models[reference].listed_topics
    others = [i for i in range(len(models)) if i != reference]
    labels = {topic: shown(f"{topic} {topics[reference].title(topic)}") for topic in listed}
    values: dict[int, dict[int, float]] = {topic: {} for topic in listed}
    cells = {topic: [Cell(None, "–", "the other run has fewer topics")] * len(others) for topic in listed}
    for column, i in enumerate(others):
        side, of_two = 0 if reference < i else 1, compared[min(reference, i), max(reference, i)]
        if of_two.too_few_words:
            for topic in listed:
                values[topic][i], cells[topic][column] = np.nan, _cell(np.nan, "too few words in common")
            continue
        for pair in of_two.pairs:
            topic, partner = pair.topics[side], pair.topics[1 - side]
            values[topic][i] = pair.correlation
            told = f"{labels[topic]}; {names[i]}: {partner} {topics[i].title(partner)}: {pair.correlation:.2f}"
            cells[topic][column] = _cell(pair.correlation, shown(told))
    rows = [
        (labels[topic], *(_number(values[topic][i]) if i in values[topic] else "–" for i in others)) for topic in listed
    ]
    fewer = any(len(found) < len(others) for found in values.values())
    dash = " A dash: the other run has fewer topics, and none is left to match." if fewer else ""
    summed = {topic: float(np.nansum(list(found.values()))) for topic, found in values.items()}
    firm, loose = max(listed, key=summed.__getitem__), min(listed, key=summed.__getitem__)
    return Picture(
        name="matched-topics",
        title="Which topics every run finds",
        alt=f"Heat map of {len(listed)} topics in {len(others)} other runs. Topic {firm} is found most alike, topic "
        f"{loose} least.",
        note=f"Rows are topics of run {reference + 1}, {shown(names[reference])}, which agrees most with the others; "
        f"columns are the other runs, by number. A number is of the topic that a topic is matched with; another may be "
        f"nearer, as `dplda contrast` of two runs tells. {_SCALE}{dash}",
        definition=_DEFINITION,
        drawing=Heat(
            list(labels.values()), [f"run {i + 1}" for i in others], [cells[topic] for topic in listed], _AGREEMENT
        ),
        table=Table(("topic", *(f"run {i + 1}" for i in others)), rows),
    )


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
            drawing=Heat(
                rows=[shown(name) for name in names],
                columns=[shortened(batch, _BATCH_NAME) for batch in batches],
                cells=cells,
                ends=(percent(0.0), percent(most)),
            ),
            table=Table(("topic", *map(shown, batches)), rows),
            definition=f"The noise has a standard deviation of {percent(max(stds), upwards=True)} of a share or less.",
        )
    ]
