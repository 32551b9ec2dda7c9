"""The interface of the curator for placements, and what it releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dplda.mechanisms.local_sensitivity import PtrResult
from dplda.statistics import Contribution


@dataclass(frozen=True)
class Release:
    """A noisy clipped sum. `total` (n_rows, width) and `mass`, the noisy sum of clip factors over units; `std` is the
    noise's standard deviation in a coordinate of weight 1, in the units of `total`."""

    total: np.ndarray
    mass: float
    std: float

    @property
    def mean(self) -> np.ndarray:
        """The self-normalised clipped mean, (n_rows, width)."""
        return self.total / self.mass

    @property
    def mean_std(self) -> float:
        """Noise standard deviation of `mean` in a coordinate of weight 1."""
        return self.std / self.mass


@dataclass(frozen=True)
class WordFrequencies:
    """Released words with their noisy document frequencies (fractions; may exceed 1 or fall below 0 by noise)."""

    words: tuple[str, ...]
    frequencies: np.ndarray
    std: float


class Gate(Protocol):
    """The questions that every placement may put to the curator."""

    def choose_words(self) -> WordFrequencies:
        """Words from an unknown key set, with noisy frequencies."""

    def use_words(self, words: Sequence[str]) -> None:
        """Make later questions about these words."""

    def word_frequencies(self) -> WordFrequencies:
        """Noisy frequencies of the words in use."""

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """A clip threshold near the `quantile` of the units' norms, of which about a `share` is looked at."""

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """The sum of contributions, each unit clipped to norm `clip`."""

    def size(self) -> float:
        """Number of units with at least one eligible document."""


class OutputGate(Gate, Protocol):
    """A gate that can also release the noisy output of an exact computation (configurations 3 and 4)."""

    def decompose(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray, clip: float) -> PtrResult:
        """The decomposition of the whitened third moment's clipped mean plus K."""

    def final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """Topics computed from the exact moments of all units."""
