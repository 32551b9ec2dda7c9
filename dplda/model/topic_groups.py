"""Groups of topics: a hierarchy by Hellinger distance, topics merged into one, and topics that two models share.

All of it is free of charge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage

from dplda.base.distributions import match_topics, on_words
from dplda.base.errors import InputError
from dplda.model.topic_model import TopicModel

_T = TypeVar("_T")
SAME = 0.5  # least cosine at which topics of two models are the same


def hellinger(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Hellinger distances of distributions over the same words, in [0, 1]: sqrt(1 - sum sqrt(p q)).

    `first` is (a, n_words), `second` (b, n_words) and the result (a, b).
    """
    overlap = np.sqrt(first) @ np.sqrt(second).T
    return np.asarray(np.sqrt(np.clip(1 - overlap, 0.0, 1.0)))


def plane(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Place n points in a plane by their `distances` (n, n), by classical multidimensional scaling (Torgerson 1952).

    Returns the points (n, 2), around the origin, and the share of the variance that the plane keeps, from 0 to 1. Of
    the two directions of each axis, the one with the larger farthest coordinate is positive.
    """
    squares = distances**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    kept = np.maximum(values[::-1][:2], 0.0)
    points = vectors[:, ::-1][:, :2] * np.sqrt(kept)
    farthest = points[np.abs(points).argmax(axis=0), (0, 1)]
    whole = np.maximum(values, 0.0).sum()
    return points * np.where(farthest < 0, -1.0, 1.0), float(kept.sum() / whole) if whole else 1.0


@dataclass(frozen=True, eq=False)
class TopicTree:
    """A hierarchy of some topics of a model."""

    topics: tuple[int, ...]
    """Their numbers in the model."""
    merges: NDArray[np.float64]
    """SciPy's linkage, (len(topics) - 1, 4)."""

    def groups(self, count: int | None = None) -> list[tuple[int, ...]]:
        """Return the topics in `count` groups, near ones next to each other.

        By default there are about as many groups as the square root of the number of topics. Raises `InputError` for a
        wrong number.
        """
        count = round(math.sqrt(len(self.topics))) if count is None else count
        if not 1 <= count <= len(self.topics):
            raise InputError(f"topics can be in 1 to {len(self.topics)} groups, got {count}.")
        if len(self.topics) == 1:
            return [self.topics]
        rising = self.merges.copy()
        rising[:, 2] = np.arange(1, len(rising) + 1)  # no two are equal: every number of groups exists
        labels = fcluster(rising, count, criterion="maxclust")
        found: dict[int, list[int]] = {}
        for leaf in leaves_list(self.merges):
            found.setdefault(int(labels[leaf]), []).append(self.topics[leaf])
        return [tuple(group) for group in found.values()]


def topic_tree(model: TopicModel, topics: Sequence[int] | None = None) -> TopicTree:
    """Return the hierarchy of `topics`, by default the listed ones (`TopicModel.listed_topics`).

    By Ward's method on Hellinger distances. Up to a constant factor, these are Euclidean distances between the square
    roots of probabilities.
    """
    chosen = tuple(model.listed_topics if topics is None else topics)
    roots = np.sqrt(model.topics[list(chosen)])
    merges = linkage(roots, "ward", optimal_ordering=True) if len(chosen) > 1 else np.zeros((0, 4))
    return TopicTree(chosen, np.asarray(merges))


def merge_topics(model: TopicModel, groups: Sequence[Sequence[int]]) -> TopicModel:
    """Merge the topics of each of `groups` into one, which gets the number of the group's first topic.

    A merged topic is the average of its topics by prevalence, and its share is the sum of their shares. Later topics
    get smaller numbers, so that there are no gaps; the fact ``merged`` lists which earlier numbers each topic
    contains. Raises `InputError` for groups that overlap, or that name topics which do not exist.
    """
    n = len(model.topics)
    named = [topic for group in groups for topic in group]
    wrong = next((topic for topic in named if not 0 <= topic < n), None)
    twice = next((topic for topic in named if named.count(topic) > 1), None)
    problem = ""
    if wrong is not None:
        problem = f"{wrong} is no topic; they are 0 to {n - 1}"
    elif twice is not None:
        problem = f"{twice} is named twice"
    elif any(len(group) < 2 for group in groups):
        problem = "a single topic cannot be merged"
    if problem:
        raise InputError(f"{problem}. Give two or more different topics to merge, with commas, such as 3,7.")
    into = {topic: min(group) for group in groups for topic in group}
    parts = [[t for t in range(n) if into.get(t, t) == first] for first in range(n) if into.get(first, first) == first]
    weights = np.maximum(model.prevalence, 1e-12)
    topics = np.array([np.average(model.topics[part], axis=0, weights=weights[part]) for part in parts])
    prevalence = np.array([model.prevalence[part].sum() for part in parts])
    firsts = [part[0] for part in parts]
    facts = replace(
        model.facts,
        alpha=tuple(float(model.alpha[part].sum()) for part in parts),
        verdicts=_at(firsts, model.facts.verdicts),
        topic_names=_at(firsts, model.facts.topic_names),
        topic_sentences=_at(firsts, model.facts.topic_sentences),
        topic_probabilities=None,
        word_probabilities=None,
        merged=tuple(map(tuple, parts)),
        group_labels=(),
        made_names=tuple(
            (firsts.index(topic),)
            for (topic, *others) in model.facts.made_names or ()
            if not others and topic in firsts
        ),
    )
    return replace(model, topics=topics, prevalence=prevalence, facts=facts, counts=None)


def _at(places: Sequence[int], values: tuple[_T, ...] | None) -> tuple[_T, ...] | None:
    return None if values is None else tuple(values[place] for place in places)


def words_of_group(model: TopicModel, group: Sequence[int], n: int) -> list[str]:
    """Return the `n` most relevant words of the topics of `group` taken together."""
    if len(group) == 1:
        return [word for word, _ in model.relevant_words(n)[group[0]]]
    together = merge_topics(model, [group])
    return [word for word, _ in together.relevant_words(n)[min(group)]]


@dataclass(frozen=True)
class SameTopic:
    """A topic of one model and the topic of another that is the same."""

    first: int
    second: int
    cosine: float
    """The cosine of their word probabilities."""


def same_topics(first: TopicModel, second: TopicModel) -> list[SameTopic]:
    """Match the listed topics of two models one to one so that the sum of cosines is largest.

    A pair counts if its cosine is at least `SAME`; a word that one model lacks has probability 0 there. Pairs are
    sorted by the larger prevalence of their two topics, largest first.
    """
    ours, theirs = first.listed_topics, second.listed_topics
    words = list(dict.fromkeys([*first.vocabulary, *second.vocabulary]))
    matched = match_topics(
        on_words(first.topics[ours], first.vocabulary, words), on_words(second.topics[theirs], second.vocabulary, words)
    )
    found = [
        SameTopic(ours[row], theirs[column], float(cosine))
        for row, column, cosine in zip(*matched, strict=True)
        if cosine >= SAME
    ]
    return sorted(found, key=lambda pair: -max(first.prevalence[pair.first], second.prevalence[pair.second]))
