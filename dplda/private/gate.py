"""The interface through which placements use the curator, and its releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dplda.private.propose_test_release import PtrResult
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import MASS_SHARE


@dataclass(frozen=True)
class Release:
    """A noisy clipped sum over units: its `total` (n_rows, width) and its `mass`.

    `mass` is the noisy sum, at least 1, of the units' clip factors. A unit's clip factor is min(1, clip / norm), where
    the norm includes the mass coordinate (`statistics.clipping`, which clips). `std` is the standard deviation of the
    noise of `total` in a column of weight 1. In a column of weight w it is `std` / sqrt(w); weights are the
    multiplicities of symmetric coordinates (`Contribution.weights`).
    """

    total: np.ndarray
    mass: float
    std: float

    @property
    def mean(self) -> np.ndarray:
        """The clipped mean `total` / `mass`, (n_rows, width)."""
        return self.total / self.mass

    @property
    def mean_std(self) -> float:
        """The standard deviation of the noise of `mean` in a column of weight 1."""
        return self.std / self.mass

    def mass_std(self, clip: float) -> float:
        """The standard deviation of the noise of `mass`, where units were clipped to `clip`."""
        return self.std / (MASS_SHARE * clip)


@dataclass(frozen=True)
class WordFrequencies:
    """Released words with noisy document frequencies: fractions that noise may move outside [0, 1]."""

    words: tuple[str, ...]
    frequencies: np.ndarray
    std: float


class Gate(Protocol):
    """The releases that every placement may request from the curator."""

    def choose_words(self) -> WordFrequencies:
        """Privately selected words of the documents, with noisy document frequencies."""

    def use_words(self, words: Sequence[str]) -> None:
        """Restrict all later releases to these words."""

    def word_frequencies(self) -> WordFrequencies:
        """Noisy document frequencies of the words in use."""

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """A clipping norm near the `quantile` of the units' norms, from a sample of about a `share` of them."""

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """The noisy sum of contributions, each unit clipped to norm `clip`."""

    def release_jointly(self, stages: Sequence[str], contribution: Contribution, clip: float) -> Release:
        """The noisy clipped sum that spends all events in `stages` at once.

        It is as precise as the best weighted average of separate releases, one for each event.
        """

    def size(self) -> float:
        """The noisy number of eligible units: those with a document of at least `config.MINIMUM_LENGTH` tokens.

        Tokens are counted among the words in use, or among all words before `use_words`.
        """


class OutputGate(Gate, Protocol):
    """A gate that can also release the noisy output of an exact computation.

    The placements ``config3`` and ``config4`` of `dplda.learning.placements` need it.
    """

    def decompose(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray, clip: float) -> PtrResult:
        """The noisy decomposition of the whitened third moment's clipped mean plus K, which is LDA's correction."""

    def final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """Noisy topics, computed from the exact moments of all units."""
