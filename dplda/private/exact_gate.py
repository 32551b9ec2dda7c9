"""The gate without noise, for the baseline and for placements that add noise to exact results. Never private.

These placements, in `dplda.learning.placements.published`, draw the noise of DeCarolis et al. 2020 themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dplda.budget.events import EXACT, Stage
from dplda.private import statistics
from dplda.private.attributes import Attribute, sorted_groups
from dplda.private.curator import Curator
from dplda.private.gate import PtrResult, Release, WordFrequencies
from dplda.private.propose_test_release import decompose, spectral_topics
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.private.statistics.lda_moments import unpack

_ROOM = 1 / 64  # of a clip that clips nothing: sums of any statistic keep to a smaller margin


class ExactGate(Curator):
    """A curator that releases exact, unclipped results.

    It charges only ``exact`` events, which mark the run as not private (`exact_events` plans them). It refuses a
    private plan, which has no exact events.
    """

    def choose_words(self, listed: Sequence[str] = ()) -> WordFrequencies:
        """Return all words that some unit votes for, `listed` or not, by descending document frequency."""
        self._charge(Stage.VOCABULARY, EXACT)
        self.use_all_words()
        names = self._passes.dictionary
        votes, full = self._passes.count_votes()
        ranked = sorted((-int(votes[index]), names[index]) for index in np.flatnonzero(votes))
        values = np.array([-value for value, _ in ranked], np.float64)
        return WordFrequencies(tuple(word for _, word in ranked), values / max(full, 1), 0.0)

    def word_frequencies(self) -> WordFrequencies:
        """Return the document frequencies of the words in use."""
        self._charge(Stage.FREQUENCY, EXACT)
        votes, full = self._passes.count_votes()
        return WordFrequencies(self._words_in_use(), votes / max(full, 1), 0.0)

    def choose_groups(self, attribute: Attribute, most: int) -> tuple[str, ...]:
        """Return all groups that some unit votes for, sorted."""
        self._charge(Stage.GROUPS, EXACT)
        votes, _ = self._passes.count_group_votes(attribute, most)
        return sorted_groups(name for name, count in votes.items() if count)

    def size(self) -> float:
        """Return the number of eligible units, at least 1."""
        self._charge(Stage.SIZE, EXACT)
        return float(max(self._passes.count_units(), 1))

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """Return infinity, since nothing is clipped; nothing is charged."""
        return math.inf

    def clip_within(
        self, stage: str, contribution: Contribution, quantile: float, limits: tuple[float, float]
    ) -> float:
        """Return infinity, since nothing is clipped; nothing is charged."""
        return math.inf

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """Return the sum of unclipped contributions and their number; ignore `clip`."""
        return self.release_jointly([stage], contribution, clip)

    def release_jointly(self, stages: Sequence[str], contribution: Contribution, clip: float) -> Release:
        """Charge all `stages` and return the exact sum; ignore `clip`."""
        for stage in stages:
            self._charge(stage, EXACT)
        return self._unclipped(contribution)

    def decompose(self, W: np.ndarray, K: np.ndarray, theta: np.ndarray, clip: float) -> PtrResult:
        """See `Curator.decompose`, of the unclipped mean and without tests."""
        self._charge(Stage.DECOMPOSITION, EXACT)
        T = unpack(self._unclipped(statistics.third_moment(W)).mean[0], len(K)) + K
        return PtrResult(decompose(T, theta, math.inf).columns, 0.0, ())

    def final_topics(self, alpha0: float, h: np.ndarray, r: np.ndarray, topics: int) -> PtrResult:
        """See `Curator.final_topics`, without tests."""
        self._charge(Stage.TOPICS, EXACT)
        moments = self._exact_moments(h, r, topics).corrected(alpha0, h)
        return PtrResult(spectral_topics(*moments, r, topics).topics, 0.0, ())

    def _unclipped(self, contribution: Contribution) -> Release:
        largest = self._passes.largest_norm(self._check_fit(contribution)) or 1.0
        unclipped = largest / math.sqrt(1 - MASS_SHARE**2)  # includes the mass coordinate
        clip = unclipped / (1 - _ROOM) * (1 + 1e-9)
        total, mass = self._passes.clipped_sum(contribution, clip)
        return Release(total * (clip / BOUND), max(mass / (MASS_SHARE * BOUND), 1.0), 0.0)
