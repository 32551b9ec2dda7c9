"""Similarity of topics: Hellinger distances, a map of one run's topics, and the matching of two runs' topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dplda.errors import InputError
from dplda.model import TopicModel


@dataclass(frozen=True)
class TopicMap:
    """Topics as points (n_topics, 2); `kept` is the share of their squared distances that the plane shows."""

    points: NDArray[np.float64]
    kept: float


@dataclass(frozen=True)
class Matched:
    """Matched topics of two runs: each topic of the first has a `partner` of the second, or -1.

    `similarity` is ``(n_topics of the first, n_topics of the second)``: 1 for equal topics, 0 for topics without
    a word in common.
    """

    similarity: NDArray[np.float64]
    partner: NDArray[np.intp]

    @property
    def agreement(self) -> float:
        """Mean similarity of the matched pairs."""
        found = self.partner >= 0
        return float(self.similarity[found, self.partner[found]].mean())


def hellinger(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Hellinger distances of distributions over the same words, each in [0, 1]: sqrt(1 - sum sqrt(p q)).

    `first` (a, n_words), `second` (b, n_words); the answer is (a, b).
    """
    overlap = np.sqrt(first) @ np.sqrt(second).T
    return np.asarray(np.sqrt(np.clip(1 - overlap, 0.0, 1.0)))


def topic_map(topics: NDArray[np.float64]) -> TopicMap:
    """`topics` (n_topics, n_words) in the plane that keeps most of their squared Hellinger distances.

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


def shared_words(first: TopicModel, second: TopicModel) -> list[str]:
    """The words that both models have, in alphabetical order; raises `InputError` if there are none."""
    shared = sorted(set(first.vocabulary) & set(second.vocabulary))
    if not shared:
        raise InputError(
            "two of these runs have no word in common, so their topics cannot be compared. "
            "Report runs on the same kind of text, or each run by itself."
        )
    return shared


def match(first: TopicModel, second: TopicModel) -> Matched:
    """The one-to-one matching with the greatest total similarity, 1 - Hellinger distance (Kuhn 1955).

    A word that only one run has counts with probability 0 in the other. Raises `InputError` if no word is shared.
    """
    words = shared_words(first, second)
    similarity = 1 - hellinger(_columns(first, words), _columns(second, words))
    rows, columns = linear_sum_assignment(-similarity)
    partner = np.full(len(similarity), -1, dtype=np.intp)
    partner[rows] = columns
    return Matched(similarity, partner)


def agreements(models: Sequence[TopicModel]) -> NDArray[np.float64]:
    """`Matched.agreement` of every two models, (n_models, n_models), symmetric, 1 on the diagonal."""
    table = np.eye(len(models))
    for i, first in enumerate(models):
        for j in range(i):
            table[i, j] = table[j, i] = match(first, models[j]).agreement
    return table


def _columns(model: TopicModel, words: Sequence[str]) -> NDArray[np.float64]:
    place = {word: column for column, word in enumerate(model.vocabulary)}
    return model.topics[:, [place[word] for word in words]]
