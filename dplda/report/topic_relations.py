"""How the topics of a run relate: a dendrogram of their distances, cut into groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dplda.model import TopicModel
from dplda.model.labels import group_labels
from dplda.model.topic_groups import TopicTree, hellinger, topic_tree
from dplda.report.pictures import Picture, Table, Tree, TreeRow, percent, shown
from dplda.report.wording import ShownTopics

_FAR = 0.8  # Hellinger distance from which on topics have too little in common for groups to mean anything
_NAMED_BY = 3  # words of a group without a label, one from each of its most common topics


def relations(model: TopicModel, topics: ShownTopics, prefix: str) -> Picture | None:
    """The listed topics in groups of similar ones, as `dplda tree` shows them; None for fewer than three topics."""
    tree = topic_tree(model)
    if len(tree.topics) < 3:
        return None
    listed = list(tree.topics)
    distances = hellinger(model.topics[listed], model.topics[listed]) + np.diag(np.full(len(listed), np.inf))
    related = bool(distances.min() < _FAR)
    groups = [list(group) for group in tree.groups(None if related else 1)]
    rows, place = list[TreeRow](), dict[int, float]()
    for number, group in enumerate(groups, start=1):
        if len(groups) > 1:
            share = percent(float(model.prevalence[group].sum()))
            rows.append(TreeRow(shown(f"Group {number}: {_named(model, topics, group)}"), share, heading=True))
        for topic in group:
            place[topic] = len(rows) + 0.5
            rows.append(TreeRow(shown(f"{topic} {topics.title(topic)}"), percent(float(model.prevalence[topic]))))
    nearest = distances.argmin(axis=1)
    one, other = np.unravel_index(distances.argmin(), distances.shape)
    numbers = [
        (
            f"{topic} {topics.title(topic)}",
            f"{listed[near]} {topics.title(listed[near])}",
            f"{distances[row, near]:.2f}",
        )
        for row, (topic, near) in enumerate(zip(listed, nearest, strict=True))
    ]
    return Picture(
        name=f"{prefix}-relations",
        title="How the topics relate",
        alt=f"Dendrogram of {len(listed)} topics in {len(groups)} groups. The two most alike are topics {listed[one]} "
        f"and {listed[other]}.",
        note="Topics that use the same words are joined: the farther to the right two lines meet, the more alike their "
        "topics are. "
        + (
            "Groups are a cut through the tree, and their shares are the sums of those of their topics."
            if related
            else "No two of these topics have many words in common, so that they are not put into groups."
        ),
        drawing=Tree(rows, _paths(tree, place)),
        table=Table(("topic", "nearest topic", "distance"), [(shown(a), shown(b), c) for a, b, c in numbers]),
        definition="Distance is that of Hellinger between the topics' word probabilities: 0 for equal topics, 1 for "
        "topics without a word in common. The tree is made by Ward's method.",
    )


def _named(model: TopicModel, topics: ShownTopics, group: Sequence[int]) -> str:
    """The label of a group of topics, or the first words of its most common ones."""
    label = group_labels(model).get(tuple(sorted(group)))
    common = sorted(group, key=lambda topic: -model.prevalence[topic])[:_NAMED_BY]
    return label.name if label is not None else ", ".join(topics.title(topic, 1) for topic in common)


def _paths(tree: TopicTree, place: dict[int, float]) -> list[str]:
    """SVG paths of the merges: two children, joined at their height; `place` is that of each topic from the top."""
    highest = float(tree.merges[:, 2].max()) or 1.0
    at = [(100.0, place[topic]) for topic in tree.topics]
    paths = []
    for first, second, height, _ in tree.merges:
        (x, y), (other_x, other_y) = at[int(first)], at[int(second)]
        joint = 100 * (1 - float(height) / highest)
        paths.append(f"M{x:.1f} {y:.2f}H{joint:.1f}V{other_y:.2f}H{other_x:.1f}")
        at.append((joint, (y + other_y) / 2))
    return paths
