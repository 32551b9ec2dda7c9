"""Stages that several placements share: budget shares, clipped releases, whitening, and expected counts.

`whiten` is the first part of config1, config2, config3 and tensor-power:

words    those that documents are sure to contain, by their noisy frequencies
m        noisy mean word proportions
E2       noisy second moment of scaled words, all d x d coordinates: one release for the edges e4 and e8
M2       E2 - a m m', LDA's correction, with a = alpha0 / (alpha0 + 1)
k        the number of topics requested, or the number of eigenvalues of M2 above its noise level
W        whitening by the k leading eigenpairs of M2; the same pairs unwhiten

M2, k and W are post-processing of the releases m and E2, so they cost no budget (docs/privacy.md, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg

from dplda.base.errors import UnsupportedByData
from dplda.budget.accountant import Share
from dplda.budget.events import Stage, clip_of
from dplda.learning import verdicts
from dplda.learning.eigenpairs import EigenPairs
from dplda.learning.model_size import (
    certain_words,
    most_topics,
    noise_level,
    run_mu,
    signal_per_topic,
    spectrum_facts,
    topic_count,
)
from dplda.learning.recovery import (
    Learned,
    Whitening,
    by_prevalence,
    corrected_second_moment,
    corrected_third_moment,
    prevalence,
    to_topics,
    word_scale,
)
from dplda.learning.refinement import ExpectedCounts
from dplda.learning.settings import FitSettings
from dplda.private import Gate, PtrResult, Release, WordFrequencies, statistics
from dplda.private.statistics import Contribution
from dplda.private.statistics.lda_moments import unpack_offsets

MOST_DENSE_WORDS = 5000  # largest vocabulary for a dense second moment, which then has 25 million numbers
SIZE_SHARE = Share(Stage.SIZE, 0.001)  # released before everything else: a run on too few units ends there
EDGES_WEIGHT = 0.9  # total budget weight of a placement's edges; the placement's split divides it among them
# The clipping norm is this quantile of the units' norms for a weak and for a strong signal.
LOW_QUANTILE, HIGH_QUANTILE = 0.1, 0.9
POWER_ROUNDS, REFINE_ROUNDS = 3, 4  # of the default placement
REFINE_QUANTILE = 0.3  # of the refinement, whatever its signal
_LOW_SIGNAL, _HIGH_SIGNAL = 3.0, 10.0  # signal-to-noise ratios between which the quantile rises from low to high
_NEGLIGIBLE_NOISE = 100.0  # above this signal-to-noise ratio, the share of clipped units is proportional to the noise
_CLIP_UNITS = 20_000  # expected sample size for estimating a clipping norm
# Discounts the clipping bias of m and E2 against their noise, by dividing their signal-to-noise ratio: most of the bias
# is a common factor, which normalisation removes.
_CLIP_BIAS = 100.0
_FLOOR = 1e-3  # smallest eigenvalue used for whitening, as a share of the largest
_WORD_POWER, _WORD_SIGNAL = 1 / 3, 1000.0  # largest exponent of the refinement's word scaling; signal that reaches it


def word_shares(public_vocabulary: bool) -> tuple[Share, ...]:
    """Return the shares of the words or their frequencies, and of the vote total, in every placement.

    The vote total is the divisor of votes that gives document frequencies (`Curator.choose_words`).
    """
    words = Share(Stage.FREQUENCY, 0.06) if public_vocabulary else Share(Stage.VOCABULARY, 0.10, selects_words=True)
    return words, Share(Stage.VOTE_TOTAL, 0.002)


def first_shares(public_vocabulary: bool) -> tuple[Share, ...]:
    """Return the shares of the number of units and the words, and of m and its clipping norm."""
    return (
        SIZE_SHARE,
        *word_shares(public_vocabulary),
        Share(clip_of(Stage.MEAN), 0.003),
        Share(Stage.MEAN, 0.03),
    )


def shares_before_tensor(public_vocabulary: bool, split: Mapping[str, float]) -> tuple[Share, ...]:
    """Return `first_shares`, then the shares of E2 on the edges e4 and e8, and of the tensor's clipping norm."""
    return (
        *first_shares(public_vocabulary),
        Share(clip_of(Stage.MOMENT), 0.004),
        Share(Stage.MOMENT, EDGES_WEIGHT * (split.get("e4", 0.0) + split["e8"])),
        Share(clip_of(Stage.TENSOR), 0.004),
    )


@dataclass
class StageReleaser:
    """Releases clipped sums through `gate`, with one clipping norm for each stage and statistic.

    The norm is chosen at the first release of its kind from a sample of about `_CLIP_UNITS` units; `documents` is the
    noisy number of all units.
    """

    gate: Gate
    documents: float
    clips: dict[tuple[str, str], float] = field(default_factory=dict)

    def __call__(self, stage: str, contribution: Contribution, quantile: float) -> Release:
        return self.gate.release(stage, contribution, self.clip(stage, contribution, quantile))

    def jointly(self, stages: Sequence[str], contribution: Contribution, quantile: float) -> Release:
        """Release once and spend `stages`; the first of them has an event for the clipping norm."""
        return self.gate.release_jointly(stages, contribution, self.clip(stages[0], contribution, quantile))

    def clip(self, stage: str, contribution: Contribution, quantile: float) -> float:
        """Return the clipping norm of `stage`, near the `quantile` of the units' norms."""
        key = stage, contribution.statistic.name
        if key not in self.clips:
            share = min(1.0, _CLIP_UNITS / self.documents)
            self.clips[key] = self.gate.clip(stage, contribution, quantile, share)
        return self.clips[key]


def clip_quantile(signal: float, noise: float) -> float:
    """Return the quantile of the units' norms at which to clip, from released estimates of `signal` and `noise`.

    A low clip reduces noise and a high clip reduces bias, so the quantile rises with the signal-to-noise ratio. As
    `noise` goes to zero, nothing is clipped.
    """
    ratio = signal / max(noise, 1e-300)
    if ratio > _NEGLIGIBLE_NOISE:
        return 1 - (1 - HIGH_QUANTILE) * _NEGLIGIBLE_NOISE / ratio
    position = (ratio - _LOW_SIGNAL) / (_HIGH_SIGNAL - _LOW_SIGNAL)
    return LOW_QUANTILE + (HIGH_QUANTILE - LOW_QUANTILE) * min(max(position, 0.0), 1.0)


@dataclass(frozen=True)
class Whitened:
    """Released first and second moments of scaled words, and the whitening W (d, k) that they give.

    `words` (d,) are those in use, and `scale` (d,) is their scaling; `m` (d,) and `E2` (d, d) are noisy clipped means;
    `documents` is the noisy number of units. `noise` is the expected spectral norm of the noise of M2, and `facts` are
    its `spectrum_facts`.
    """

    documents: float
    alpha0: float
    words: tuple[str, ...]
    scale: np.ndarray
    m: np.ndarray
    E2: np.ndarray
    whitening: Whitening
    noise: float
    facts: Mapping[str, Any]

    @property
    def k(self) -> int:
        """Number of topics."""
        return len(self.whitening.values)

    @property
    def scaled_W(self) -> np.ndarray:
        """diag(scale) W, (d, k): whitens the proportions of unscaled words."""
        return np.asarray(self.scale[:, None] * self.whitening.W)

    def clip_quantile(self, at_least: float = 0.0) -> float:
        """Return the quantile at which to clip the tensor, at least `at_least`.

        It follows from the least eigenvalue of M2 that whitening uses, and from the noise of M2.
        """
        return max(at_least, clip_quantile(float(self.whitening.values[-1]), self.noise))

    def corrected(self, E3: np.ndarray) -> np.ndarray:
        """Return M3(W, W, W) from E3(W, W, W), both (k, k, k): LDA's correction by the released m and E2."""
        W = self.whitening.W
        return corrected_third_moment(E3, W.T @ self.E2 @ W, W.T @ self.m, self.alpha0)

    @property
    def correction(self) -> np.ndarray:
        """The tensor (k, k, k) that LDA's correction adds to E3(W, W, W)."""
        return self.corrected(np.zeros((self.k,) * 3))

    def learned(self, pairs: EigenPairs) -> Learned:
        """Return topics and prevalence from the eigenpairs of M3(W, W, W)."""
        columns = self.whitening.unwhiten(pairs.values, pairs.vectors, self.alpha0) / self.scale[:, None]
        topics, weights = to_topics(columns), prevalence(pairs.values, self.alpha0)
        judged = verdicts.of_spectrum(topics, self.facts["supported_topics"])
        learned = by_prevalence(topics, weights, self.documents, self.facts, verdicts=judged)
        return replace(learned, words=self.words)


def whiten(release: StageReleaser, words: WordFrequencies, settings: FitSettings) -> Whitened:
    """Release m and E2 of `certain_words`, and whiten by the M2 that they give."""
    words = certain_words(words, settings)
    release.gate.use_words(words.words)
    d = len(words.words)
    scale, alpha0 = word_scale(words), settings.model.alpha0
    signal = release.documents * run_mu(settings)
    mean = release(Stage.MEAN, statistics.first_moment(scale), clip_quantile(signal, _CLIP_BIAS * math.sqrt(d)))
    m = mean.mean[:, 0]
    quantile = clip_quantile(signal, _CLIP_BIAS * math.sqrt(2 * d))
    moment = release(Stage.MOMENT, statistics.second_moment(scale), quantile)
    E2, noise = unpack_offsets(moment.mean), noise_level(moment.mean_std, d)
    shown = min(d, most_topics(settings) + 5)
    values, vectors = scipy.linalg.eigh(corrected_second_moment(E2, m, alpha0), subset_by_index=(d - shown, d - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    facts = spectrum_facts(values, noise)
    k = topic_count(settings, facts["supported_topics"], d)
    floored = np.maximum(values[:k], max(noise, _FLOOR * values[0], 1e-12))
    whitening = Whitening(vectors[:, :k], floored)
    return Whitened(release.documents, alpha0, words.words, scale, m, E2, whitening, noise, facts)


def released_value(result: PtrResult, subject: str, settings: FitSettings) -> np.ndarray:
    """Return the value of `result`; raises `UnsupportedByData` with the findings of the tests if one of them failed.

    `subject` begins the message, for example "the topics are".
    """
    if result.value is None:
        raise UnsupportedByData(
            f"{subject} not stable enough to be released (placement {settings.model.placement}): {result.findings}. "
            "Use far more documents, fewer topics, or another placement."
        )
    return result.value


def proportions(means: np.ndarray) -> np.ndarray:
    """Return the noisy mean word proportions as a distribution over the words, (n_words,)."""
    positive = np.maximum(means, 0.0) + 1e-12
    return np.asarray(positive / positive.sum())


def word_power(documents: float, topics: int, settings: FitSettings) -> float:
    """Return the exponent p of the refinement's word scaling s = frequency^-p, at most 1/3.

    The l1 error that noise causes is proportional to sum(1/s) sqrt(sum(s^2 c^2)) for a word's mean squared count c^2 in
    a document. It is least at s = (c^2)^(-1/3). Most words occur once in a document, so c^2 is proportional to the
    frequency. The exponent is smaller where few words stand above the noise.
    """
    return _WORD_POWER * min(1.0, signal_per_topic(documents, topics, settings) / _WORD_SIGNAL)


def noisy_counts(release: StageReleaser, prior: float, frequencies: np.ndarray, power: float) -> ExpectedCounts:
    """Return a function that releases the expected word-topic counts of topics.

    It maps topics (n_words, k) to noisy counts (n_words, k) and standard deviations (n_words,); each call is one
    release. `prior` is each topic's Dirichlet parameter. Words are scaled by frequency^-`power` (`word_power`) for the
    release.
    """
    scale = (frequencies + 1e-5) ** -power
    scale /= scale.mean()

    def expected(topics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        answer = release(Stage.REFINE, statistics.expected_counts(topics, prior, scale), REFINE_QUANTILE)
        return answer.total / scale[:, None], answer.std / scale

    return expected
