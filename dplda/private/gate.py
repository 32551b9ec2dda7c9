"""What algorithms may request from the curator, and what it releases to them. Nothing here is private.

A placement holds a `Gate`; the curator and its stand-ins in tests and audits implement it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

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


@dataclass(frozen=True)
class StabilityTest:
    """A released `bound` of a private quantity. If there is a threshold `above`, the bound must exceed it to pass."""

    name: str
    bound: float
    above: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the run may continue."""
        return self.above is None or self.bound > self.above

    def __str__(self) -> str:
        needed = "" if self.above is None else f" (needed: more than {self.above:.3g})"
        return f"{self.name} {self.bound:.3g}{needed}"


@dataclass(frozen=True)
class PtrResult:
    """An output that is released only if its tests pass: `value`, or None.

    `std` is the standard deviation of the noise in each entry. `tests` are in the order in which they were made;
    without a value, at least one of them failed. All fields are released.
    """

    value: np.ndarray | None
    std: float
    tests: tuple[StabilityTest, ...]

    @property
    def findings(self) -> str:
        """All tests and their bounds, in one line."""
        return "; ".join(map(str, self.tests))


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
