"""The exact baseline: the default algorithm through a gate without noise, which marks the run as not private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dplda.moments.contributions import Contribution
from dplda.privacy.curator import Curator, Release, WordFrequencies
from dplda.privacy.events import EXACT, Event
from dplda.privacy.plan import Share


def events(shares: tuple[Share, ...]) -> tuple[Event, ...]:
    """One exact event per question of `shares`; clips and the vote total are not charged, nothing is clipped."""
    return tuple(
        Event(stage=share.stage, mechanism=EXACT)
        for share in shares
        if not share.stage.endswith(" clip") and share.stage != "vote total"
        for _ in range(share.count)
    )


@dataclass(frozen=True)
class ExactGate:
    """A gate without noise, for the same algorithm as the default placement."""

    curator: Curator
    max_vocabulary: int

    def choose_words(self) -> WordFrequencies:
        """Exact frequencies of the most frequent words, twice as many as are kept after the frequency limit."""
        return self.curator.exact_words(2 * self.max_vocabulary)

    def use_words(self, words: Sequence[str]) -> None:
        """See `Curator.use_words`."""
        self.curator.use_words(words)

    def word_frequencies(self) -> WordFrequencies:
        """See `Curator.exact_frequencies`."""
        return self.curator.exact_frequencies()

    def size(self) -> float:
        """See `Curator.exact_size`."""
        return self.curator.exact_size()

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        """No clip."""
        return float("inf")

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        """See `Curator.exact_sum`."""
        return self.curator.exact_sum(stage, contribution)
