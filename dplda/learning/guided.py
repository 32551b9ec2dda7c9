"""Guided topics: topics that start from words of the user, and are kept near them while they are refined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from dplda.base.errors import UnsupportedByData

_START = 0.5  # weight of the seed words in a topic with which the refinement starts
PULL = 0.15  # weight of the seed words in a topic in every round, and in the result
_LEAST = 1e-6  # bound on frequencies

ExpectedCounts = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Guide:
    """Distributions over the seed words (n_words, n_guided), and the topic that each of them guides, (n_guided,)."""

    seeds: np.ndarray
    columns: np.ndarray

    def started(self, topics: np.ndarray) -> np.ndarray:
        """`topics` (n_words, k) with the guided ones mixed with their seed words."""
        return self._mixed(topics, _START)

    def pulled(self, expected: ExpectedCounts) -> ExpectedCounts:
        """A function that pulls the guided ones of its topics towards their seed words, and then calls `expected`."""
        return lambda topics: expected(self._mixed(topics, PULL))

    def counts(self, counts: np.ndarray) -> np.ndarray:
        """Word-topic `counts` (n_words, k) with the guided topics pulled towards their seed words."""
        return self._mixed(counts, PULL)

    def names(self, names: Sequence[str], k: int) -> list[str]:
        """The name of each of `k` topics, empty for a topic that is not guided; an empty list without `names`."""
        if not names:
            return []
        given = dict(zip(self.columns.tolist(), names, strict=True))
        return [given.get(topic, "") for topic in range(k)]

    def _mixed(self, columns: np.ndarray, weight: float) -> np.ndarray:
        """`columns` with a share `weight` of each guided one replaced by its seed words; sums stay the same."""
        if not len(self.columns):
            return columns
        mixed = columns.copy()
        guided = columns[:, self.columns]
        mixed[:, self.columns] = (1 - weight) * guided + weight * self.seeds * guided.sum(axis=0)
        return mixed


def guide(
    seed_words: Mapping[str, Sequence[str]], words: Sequence[str], frequencies: np.ndarray, topics: np.ndarray
) -> Guide:
    """The guide of `topics` (n_words, k) over `words`: each list of seed words guides the topic that fits it best.

    Within a list, words weigh as much as their `frequencies` (n_words,). Lists and topics are matched so that the sum
    of log(1 + lift), averaged over the words of a list, is largest. Raises `UnsupportedByData` for a list without a
    word among `words`.
    """
    seeds = seed_distributions(seed_words, words, frequencies)
    if not seed_words:
        return Guide(seeds, np.zeros(0, np.int64))
    lifts = topics / np.maximum(frequencies, _LEAST)[:, None]
    held = seeds > 0
    fits = held.T @ np.log1p(lifts) / held.sum(axis=0)[:, None]
    return Guide(seeds, linear_sum_assignment(fits, maximize=True)[1])


def seed_distributions(
    seed_words: Mapping[str, Sequence[str]], words: Sequence[str], frequencies: np.ndarray
) -> np.ndarray:
    """For each list of seed words, a distribution over the words that `words` also contains, (n_words, n_guided)."""
    place = {word: index for index, word in enumerate(words)}
    seeds = np.zeros((len(words), len(seed_words)))
    for column, (name, listed) in enumerate(seed_words.items()):
        rows = [place[word] for word in listed if word in place]
        if not rows:
            raise UnsupportedByData(
                f"none of the seed words of topic {name!r} is among the {len(words)} words of the run. Give others, or "
                "leave the topic out."
            )
        seeds[rows, column] = np.maximum(frequencies[rows], _LEAST)
    return np.asarray(seeds / seeds.sum(axis=0))
