"""What algorithms may request from the curator, and what it releases to them. Nothing here is private.

A placement holds a `Gate`; the curator and its stand-ins in tests and audits implement it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dplda.private.attributes import Attribute, TableRows
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import MASS_SHARE


@dataclass(frozen=True)
class Release:
    """A noisy clipped sum over units."""

    total: np.ndarray
    """(n_rows, width)."""
    mass: float
    """The noisy sum, at least 1, of the units' clip factors min(1, clip / norm); the norm includes the mass coordinate
    (`statistics.clipping.quantise`)."""
    std: float
    """Standard deviation of the noise of `total` in a column of weight 1, and sqrt(w) times less in one of weight w;
    weights are the multiplicities of symmetric coordinates (`Contribution.weights`)."""

    @property
    def mean(self) -> np.ndarray:
        """The clipped mean `total` / `mass`, (n_rows, width)."""
        return self.total / self.mass

    @property
    def mean_std(self) -> float:
        """The standard deviation of the noise of `mean` in a column of weight 1."""
        return self.std / self.mass

    def mass_std(self, clip: float) -> float:
        """Return the standard deviation of the noise of `mass`, where units were clipped to `clip`."""
        return self.std / (MASS_SHARE * clip)


@dataclass(frozen=True)
class WordFrequencies:
    """Released words with noisy document frequencies: fractions that noise may move outside [0, 1]."""

    words: tuple[str, ...]
    frequencies: np.ndarray
    std: float
    language: np.ndarray | None = None
    """Public frequencies of the words in general text, (n_words,); None if they are not compared to it."""

    def at(self, places: Sequence[int] | np.ndarray) -> WordFrequencies:
        """Return the words at these `places`, in this order."""
        language = None if self.language is None else self.language[places]
        return WordFrequencies(tuple(self.words[i] for i in places), self.frequencies[places], self.std, language)


@dataclass(frozen=True)
class StabilityTest:
    """A released bound of a private quantity."""

    name: str
    bound: float
    above: float | None = None  # the threshold that the bound must exceed to pass, if any

    @property
    def passed(self) -> bool:
        """Whether the run may continue."""
        return self.above is None or self.bound > self.above

    def __str__(self) -> str:
        needed = "" if self.above is None else f" (needed: more than {self.above:.3g})"
        return f"{self.name} {self.bound:.3g}{needed}"


@dataclass(frozen=True)
class PtrResult:
    """An output that is released only if its tests pass. All fields are released."""

    value: np.ndarray | None  # None if a test failed
    std: float  # standard deviation of the noise in each entry
    tests: tuple[StabilityTest, ...]  # in the order in which they were made

    @property
    def findings(self) -> str:
        """All tests and their bounds, in one line."""
        return "; ".join(map(str, self.tests))


class Gate(Protocol):
    """The releases that every placement may request from the curator."""

    def choose_words(self, listed: Sequence[str] = ()) -> WordFrequencies:
        """Return noisy document frequencies of all public words `listed`, and of other words that are frequent."""

    def use_words(self, words: Sequence[str]) -> None:
        """Restrict all later releases to these words."""

    def word_frequencies(self) -> WordFrequencies:
        """Return noisy document frequencies of the words in use."""

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """Return a clipping norm near the `quantile` of the units' norms, from a sample of about a `share` of them."""

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """Return the noisy sum of contributions, each unit clipped to norm `clip`."""

    def release_jointly(self, stages: Sequence[str], contribution: Contribution, clip: float) -> Release:
        """Return the noisy clipped sum that spends all events in `stages` at once.

        It is as precise as the best weighted average of separate releases, one for each event.
        """

    def size(self) -> float:
        """Return the noisy number of eligible units: those with a document of at least `config.MINIMUM_LENGTH` tokens.

        Tokens are counted among the words in use, or among all words before `use_words`.
        """


class OutputGate(Gate, Protocol):
    """A gate that can also release the noisy output of an exact computation.

    The placements ``config3`` and ``config4`` of `dplda.learning.placements` need it.
    """

    def decompose(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray, clip: float) -> PtrResult:
        """Return the noisy decomposition of the whitened third moment's clipped mean plus K, LDA's correction."""

    def final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """Return noisy topics, computed from the exact moments of all units."""


class QueryGate(Gate, Protocol):
    """A gate that can also find groups of documents, sum by the rows of a table, and clip within public limits."""

    def use_words(self, words: Sequence[str], rows: TableRows | None = None) -> None:
        """Restrict all later releases to these words; with `rows`, documents fall into the rows of a table."""

    def use_all_words(self) -> None:
        """Undo `use_words` and `use_answers`."""

    def use_answers(self, answers: Sequence[str], rows: TableRows, *, most_of_unit: int = 0, n_rest: int = 0) -> None:
        """Let the documents' answers take the place of words in later releases, after one word that all documents hold.

        The possible `answers` are public. With `most_of_unit`, a unit is one document, and its words are cells: the
        answers that its documents in each row have, or how many have them; of the last `n_rest`, at most one.
        """

    def choose_groups(self, attribute: Attribute, most: int) -> tuple[str, ...]:
        """Select groups of documents by `attribute` privately, sorted (`sorted_groups`); a unit votes for `most`."""

    def clip_within(
        self, stage: str, contribution: Contribution, quantile: float, limits: tuple[float, float]
    ) -> float:
        """Return a clipping norm, as `clip` does, for norms that are 0 or within the public `limits`."""
