"""The attacker of the definition of differential privacy: knows every document but one, and sees every release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dplda.accounting.events import Event, Stage
from dplda.mechanisms.gate import OutputGate, Release, WordFrequencies
from dplda.mechanisms.local_sensitivity import PtrResult
from dplda.statistics import NONNEGATIVE, Contribution

Numbers = np.ndarray | float
CERTAIN = 1e6  # the evidence of a word that one corpus alone can release
MOST = 3.0  # evidence that one output of an exact computation is trusted with
GROWN = 1.001  # factor of W that stands for a normaliser smaller by its cube


class NoNoise:
    """A noise source that returns zeros, with which the attacker computes exact answers."""

    private = False

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        """Zeros."""
        return np.zeros(size, np.int64)

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        """All of them."""
        return dict(values)

    def coins(self, share: float, size: int) -> np.ndarray:
        """All true."""
        return np.ones(size, bool)


class Attacker:
    """A gate that forwards every question and weighs the answers: do they come from `less` or from `more`?

    `less` and `more` answer without noise for the two neighbouring corpora. With Gaussian noise of the claimed scale
    the sum of evidence is the log likelihood ratio of all weighed answers, however they depend on each other: by the
    lemma of Neyman and Pearson no test of them has more power. Not weighed are clips and the masses of sums, and what
    configurations 3 and 4 find about the data before they release anything else, but for the number of units.
    """

    def __init__(
        self, gate: OutputGate, less: OutputGate, more: OutputGate, events: Sequence[Event], adjacency: str
    ) -> None:
        self.evidence = 0.0
        self._gate, self._less, self._more = gate, less, more
        self._multipliers = {event.stage: event.noise_multiplier or 0.0 for event in events}
        self._votes = NONNEGATIVE if adjacency == "replace" else 1.0
        self._sums: dict[str, tuple[Contribution, float, Release, Release]] = {}
        self._known: dict[str, tuple[Any, Any]] = {}  # exact answers that are the same in every run

    def choose_words(self) -> WordFrequencies:
        """See `OutputGate`."""
        return self._weigh_words(self._gate.choose_words(), *self._once("choose_words"))

    def use_words(self, words: Sequence[str]) -> None:
        """See `OutputGate`."""
        for gate in (self._gate, self._less, self._more):
            gate.use_words(words)

    def word_frequencies(self) -> WordFrequencies:
        """See `OutputGate`."""
        return self._weigh_words(self._gate.word_frequencies(), *self._once("word_frequencies"))

    def size(self) -> float:
        """See `OutputGate`."""
        seen = self._gate.size()
        self._weigh(seen, *self._once("size"), self._multipliers[Stage.SIZE])
        return seen

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """See `OutputGate`; not weighed."""
        return self._gate.clip(stage, contribution, quantile, share)

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """See `OutputGate`."""
        seen = self._gate.release(stage, contribution, clip)
        less, more = self._exact(stage, contribution, clip)
        root = np.sqrt(contribution.weights)  # coordinates of one standard deviation
        self._weigh(root * seen.total, root * less.total, root * more.total, seen.std)
        return seen

    def decompose(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray, clip: float) -> PtrResult:
        """See `OutputGate`; what a change of the normaliser, which is not seen, would look like is left out."""
        seen, less, more = (gate.decompose(W, K, theta, clip) for gate in (self._gate, self._less, self._more))
        smaller = self._less.decompose(GROWN * W, K, theta, GROWN**3 * clip)
        return self._weigh_value(seen, less, more, smaller)

    def final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """See `OutputGate`."""
        seen, less, more = (gate.final_topics(alpha0, h, r, topics) for gate in (self._gate, self._less, self._more))
        units, fewer, further = (tested.tests[0].bound for tested in (seen, less, more))
        self._weigh(units, fewer, further, self._multipliers[Stage.SIZE_LOWER_BOUND])
        return self._weigh_value(seen, less, more)

    def _once(self, question: str) -> tuple[Any, Any]:
        """Both exact answers to a question without parameters."""
        if question not in self._known:
            self._known[question] = getattr(self._less, question)(), getattr(self._more, question)()
        return self._known[question]

    def _exact(self, stage: str, contribution: Contribution, clip: float) -> tuple[Release, Release]:
        """Both exact answers, kept in case the next question is the same."""
        known = self._sums.get(stage)
        if known is None or known[0] is not contribution or known[1] != clip:
            less, more = (gate.release(stage, contribution, clip) for gate in (self._less, self._more))
            known = self._sums[stage] = (contribution, clip, less, more)
        return known[2:]

    def _weigh_words(self, seen: WordFrequencies, less: WordFrequencies, more: WordFrequencies) -> WordFrequencies:
        """Frequencies over their standard deviation are votes over theirs, and that deviation tells the vote total."""
        votes = [dict(zip(found.words, found.frequencies / found.std, strict=True)) for found in (seen, less, more)]
        shared = [word for word in seen.words if word in votes[1] and word in votes[2]]
        of_seen, of_less, of_more = (np.array([known[word] for word in shared]) for known in votes)
        self._weigh(of_seen, of_less, of_more, 1.0)
        self.evidence += CERTAIN * sum((word in votes[2]) - (word in votes[1]) for word in seen.words)
        stage = Stage.FREQUENCY if Stage.FREQUENCY in self._multipliers else Stage.VOCABULARY
        scale = self._votes * self._multipliers[stage] / self._multipliers[Stage.VOTE_TOTAL]
        self._weigh(scale / seen.std, scale / less.std, scale / more.std, 1.0)
        return seen

    def _weigh_value(
        self, seen: PtrResult, less: PtrResult, more: PtrResult, other: PtrResult | None = None
    ) -> PtrResult:
        """Weigh values, if there are, but for what points from `less` to `other`; what is weighed is cut at `MOST`."""
        if seen.value is None or less.value is None or more.value is None:
            return seen
        away = np.zeros_like(less.value) if other is None or other.value is None else other.value - less.value
        before = self.evidence
        self._weigh(seen.value, less.value, more.value, seen.std, away)
        self.evidence = before + min(max(self.evidence - before, -MOST), MOST)
        return seen

    def _weigh(self, seen: Numbers, less: Numbers, more: Numbers, std: float, away: Numbers = 0.0) -> None:
        """Add the log likelihood ratio of `seen`, with normal noise of `std`, for a mean `more` against `less`.

        What is seen in the direction `away` is not weighed.
        """
        change, middle = np.asarray(more) - less, (np.asarray(more) + less) / 2
        change = change - away * (change * away).sum() / max(float(np.square(away).sum()), 1e-300)
        self.evidence += float((change * (seen - middle)).sum()) / std**2
