"""Release of clipped sums: one clipping norm for each stage, placed where noise and the clip's bias meet."""

from __future__ import annotations

from dataclasses import dataclass, field

from dplda.accounting.plan import Share
from dplda.accounting.stages import Stage, clip_of
from dplda.mechanisms.curator import Gate, Release
from dplda.statistics import Contribution

CLIP_UNITS = 20_000  # expected sample size for estimating a clipping norm
LOW_QUANTILE, HIGH_QUANTILE = 0.1, 0.9  # of the units' norms, where a moment is clipped: noise or bias matters more
LOW_SIGNAL, HIGH_SIGNAL = 3.0, 10.0  # of the last topic to the noise: between these lies the change
NO_NOISE = 100.0  # above this, units beyond the clip count by their part of what noise there is


def word_shares(public_vocabulary: bool) -> tuple[Share, ...]:
    """The first stages of every placement: the words, or the frequencies of public ones, and the sum of all votes."""
    words = Share(Stage.FREQUENCY, 0.03) if public_vocabulary else Share(Stage.VOCABULARY, 0.10, selects_words=True)
    return words, Share(Stage.VOTE_TOTAL, 0.002)


def first_shares(public_vocabulary: bool) -> tuple[Share, ...]:
    """`word_shares`, then the number of units and their mean."""
    return (
        *word_shares(public_vocabulary),
        Share(Stage.SIZE, 0.001),
        Share(clip_of(Stage.MEAN), 0.003),
        Share(Stage.MEAN, 0.03),
    )


@dataclass
class StageReleaser:
    """Releases clipped sums; a stage keeps its first clip, placed by about `CLIP_UNITS` of the `documents`."""

    gate: Gate
    documents: float
    clips: dict[str, float] = field(default_factory=dict)

    def __call__(self, stage: str, contribution: Contribution, quantile: float) -> Release:
        return self.gate.release(stage, contribution, self.clip(stage, contribution, quantile))

    def clip(self, stage: str, contribution: Contribution, quantile: float) -> float:
        """The clipping norm of `stage`, near the `quantile` of the units' norms."""
        if stage not in self.clips:
            share = min(1.0, CLIP_UNITS / self.documents)
            self.clips[stage] = self.gate.clip(stage, contribution, quantile, share)
        return self.clips[stage]


def clip_quantile(signal: float, noise: float) -> float:
    """Where to clip a moment: high where little noise lets the clip's bias matter, by what stages before showed.

    Without noise nothing is clipped.
    """
    ratio = signal / max(noise, 1e-300)
    if ratio > NO_NOISE:
        return 1 - (1 - HIGH_QUANTILE) * NO_NOISE / ratio
    position = (ratio - LOW_SIGNAL) / (HIGH_SIGNAL - LOW_SIGNAL)
    return LOW_QUANTILE + (HIGH_QUANTILE - LOW_QUANTILE) * min(max(position, 0.0), 1.0)
