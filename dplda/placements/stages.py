"""The stages that placements share: clipped releases, and the whitening of the paper's configurations by a noisy M2.

The stages that the paper's placements share: noisy M2 (edges e4 and e8, one release), whitening and unwhitening.

size      noisy number of units
m         noisy mean word proportions
E2        dense noisy second moment of scaled words, so that M2 = E2 - a m m'
W         whitening by the leading eigenpairs of the noisy M2 alone; the same pairs unwhiten

Everything behind these releases is post-processing, which is why whitening costs nothing more (docs/privacy.md,
section 3). Words are scaled as in the default placement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from dplda import statistics
from dplda.accounting.accountant import gaussian_budget
from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage, clip_of
from dplda.config import FitSettings
from dplda.lda.recovery import Learned, by_prevalence, most_topics, prevalence, to_topics, topic_count, word_scale
from dplda.lda.whitening import Whitening, noise_level, second_moment, third_moment
from dplda.mechanisms.curator import Gate, Release, WordFrequencies
from dplda.statistics import Contribution
from dplda.statistics.coordinates import unpack_offsets
from dplda.tensor.eigenpairs import EigenPairs

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


MOST_WORDS = 5000  # of a dense second moment: 25 million numbers
EDGES = 0.9  # part of the run's mu^2 that is split over the edges
CLIP_BIAS = (
    100.0  # units' worth of noise at which a clip is placed low: of a clip's bias most is scale, which is undone
)
FLOOR = 1e-3  # of the largest eigenvalue, under every whitened one


def moment_shares(split: Mapping[str, float]) -> tuple[Share, ...]:
    """The second moment, on edges e4 and e8 together."""
    return Share(clip_of(Stage.MOMENT), 0.004), Share(Stage.MOMENT, EDGES * (split.get("e4", 0.0) + split["e8"]))


@dataclass(frozen=True)
class Whitened:
    """Released first and second moments of scaled words, and the whitening W (d, k) they give.

    `scale` (d,), `m` (d,) and `E2` (d, d) are averages over `documents`; `eigenvalues` are the leading ones of the
    noisy M2 and `noise` is the spectral norm to expect of its noise.
    """

    documents: float
    alpha0: float
    scale: np.ndarray
    m: np.ndarray
    E2: np.ndarray
    whitening: Whitening
    eigenvalues: np.ndarray
    noise: float

    @property
    def k(self) -> int:
        """Number of topics."""
        return len(self.whitening.values)

    @property
    def strength(self) -> tuple[float, float]:
        """The last whitened eigenvalue and the noise beside it."""
        return float(self.whitening.values[-1]), self.noise

    def corrected(self, E3: np.ndarray) -> np.ndarray:
        """The whitened M3 (k, k, k) from the whitened E3: LDA's correction by first and second moments."""
        W = self.whitening.W
        return third_moment(E3, W.T @ self.E2 @ W, W.T @ self.m, self.alpha0)

    def learned(self, pairs: EigenPairs) -> Learned:
        """Topics and prevalence from the pairs of the whitened M3."""
        columns = self.whitening.unwhiten(pairs.values, pairs.vectors, self.alpha0) / self.scale[:, None]
        facts = {
            "supported_topics": int((self.eigenvalues > self.noise).sum()),
            "core_eigenvalues": [float(value) for value in self.eigenvalues],
            "core_noise_level": self.noise,
        }
        return by_prevalence(to_topics(columns), prevalence(pairs.values, self.alpha0), self.documents, facts)


def whiten(release: StageReleaser, words: WordFrequencies, settings: FitSettings) -> Whitened:
    """Release m and M2 and whiten by them."""
    d = len(words.words)
    scale = word_scale(words)
    signal = release.documents * gaussian_budget(settings.privacy.epsilon, settings.privacy.delta)
    answer = release(Stage.MEAN, statistics.first_moment(scale), clip_quantile(signal, CLIP_BIAS * math.sqrt(d)))
    m = answer.mean[:, 0]
    answer = release(Stage.MOMENT, statistics.second_moment(scale), clip_quantile(signal, CLIP_BIAS * math.sqrt(2 * d)))
    E2 = unpack_offsets(answer.mean)
    noise = noise_level(answer.mean_std, d)
    shown = min(d, most_topics(settings) + 5)
    values, vectors = scipy.linalg.eigh(second_moment(E2, m, settings.model.alpha0), subset_by_index=(d - shown, d - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    k = topic_count(settings, int((values > noise).sum()), d)
    floored = np.maximum(values[:k], max(noise, FLOOR * values[0], 1e-12))
    return Whitened(
        documents=release.documents,
        alpha0=settings.model.alpha0,
        scale=scale,
        m=m,
        E2=E2,
        whitening=Whitening(vectors[:, :k], floored),
        eigenvalues=values,
        noise=noise,
    )
