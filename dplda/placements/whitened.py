"""The stages that the paper's placements share: noisy M2 (edges e4 and e8, one release), whitening and unwhitening.

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
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dplda import statistics
from dplda.accounting.accountant import gaussian_budget
from dplda.accounting.plan import Share
from dplda.accounting.stages import Stage, clip_of
from dplda.mechanisms.curator import WordFrequencies
from dplda.placements.result import Learned, by_prevalence, prevalence, to_topics
from dplda.placements.stage_release import StageReleaser, clip_quantile
from dplda.placements.topic_count import most_topics, topic_count
from dplda.placements.vocabulary import word_scale
from dplda.settings import FitSettings
from dplda.spectral.whitening import Whitening, noise_level, second_moment, third_moment
from dplda.tensor.power import EigenPairs
from dplda.tensor.symmetric import unpack_offsets

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
    signal = release.documents * gaussian_budget(settings.epsilon, settings.delta)
    answer = release(Stage.MEAN, statistics.first_moment(scale), clip_quantile(signal, CLIP_BIAS * math.sqrt(d)))
    m = answer.mean[:, 0]
    answer = release(Stage.MOMENT, statistics.second_moment(scale), clip_quantile(signal, CLIP_BIAS * math.sqrt(2 * d)))
    E2 = unpack_offsets(answer.mean)
    noise = noise_level(answer.mean_std, d)
    shown = min(d, most_topics(settings) + 5)
    values, vectors = scipy.linalg.eigh(second_moment(E2, m, settings.alpha0), subset_by_index=(d - shown, d - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    k = topic_count(settings, int((values > noise).sum()), d)
    floored = np.maximum(values[:k], max(noise, FLOOR * values[0], 1e-12))
    return Whitened(
        documents=release.documents,
        alpha0=settings.alpha0,
        scale=scale,
        m=m,
        E2=E2,
        whitening=Whitening(vectors[:, :k], floored),
        eigenvalues=values,
        noise=noise,
    )
