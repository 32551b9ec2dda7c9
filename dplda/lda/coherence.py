"""Coherence of topics from noisy counts of word pairs, with an interval. It costs nothing: the counts are released.

NPMI (Bouma 2009; Lau, Newman and Baldwin 2014) of a pair with document frequencies p, q and r together is
log(r / p q) / -log r; the coherence of a topic is its mean over the pairs of its ten first words. A noisy count of a
rare pair says little, and its logarithm nothing. Therefore lifts r / p q are estimated together: in topic z, the log
lift of pair i is normal with mean m_z + b x_i and standard deviation s, where x_i is the log lift that the released
topics predict. The number of all pairs of a topic, which is released with little noise, gives m_z; b and s are fitted
to all pairs (empirical Bayes by expectation maximisation). Noisy counts of pairs are those of clipped documents; their
sum over a topic, divided by the number of all its pairs, says by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from dplda.model.topic_model import TopicModel
from dplda.statistics.word_pairs import FIRST, PAIRS

# Measured (docs/benchmarks.md, Coherence): the error of the estimate at little noise, how it grows with the squared
# noise of a pair relative to an average count, and the factor by which the noise of the clips widens intervals.
APPROXIMATION, _GROWTH, _CLIPS = 0.02, 2.0, 2.0
_GRID = np.linspace(-5.0, 6.0, 67)  # of log lifts
_STEPS, _REDRAWN = 30, 40
_LEAST_STD, _LEAST_CLIP = 0.1, 0.05
_SLOPE, _SPREAD = 0.6, 0.5  # of the prior at the start


@dataclass(frozen=True)
class PairCounts:
    """Released counts: `pairs` (k, 45) of `clipped` documents, `totals` (k,) of each topic's, and `words` (n_listed,).

    Each comes with the standard deviation of its noise. `documents` is the number of documents.
    """

    pairs: np.ndarray
    pairs_std: float
    words: np.ndarray
    clipped: float
    totals: np.ndarray
    totals_std: float
    documents: float


@dataclass(frozen=True)
class Coherence:
    """The coherence of each topic, (k,), and its mean over topics, with intervals."""

    topics: np.ndarray
    topics_low: np.ndarray
    topics_high: np.ndarray
    mean: float
    low: float
    high: float


def first_words(model: TopicModel, topics: Sequence[int]) -> list[list[int]]:
    """The ten most probable words of each of `topics`."""
    return [np.argsort(-model.topics[topic], kind="stable")[:FIRST].tolist() for topic in topics]


def estimated(model: TopicModel, topics: Sequence[int], counts: PairCounts, level: float = 0.95) -> Coherence:
    """The coherence of `topics` from the released `counts`, with intervals of probability `level`.

    An interval holds the noise, which is redrawn, and the error of the approximation.
    """
    problem = _Problem(model, topics, counts.words / counts.clipped, counts.documents)
    posterior = problem.posterior(counts)
    value, rng = posterior.coherence, np.random.default_rng(0)
    errors = np.empty((_REDRAWN, len(topics)))
    for draw in range(_REDRAWN):
        redrawn, truth = problem.redrawn(counts, posterior, rng)
        errors[draw] = problem.posterior(redrawn).coherence - truth
    z, bias = _CLIPS * norm.isf((1 - level) / 2), errors.mean(axis=0)
    noise = counts.pairs_std / max(float(counts.totals.mean()) / PAIRS, 1e-9)
    error = APPROXIMATION * (1 + _GROWTH * noise**2)
    half = z * errors.std(axis=0) + 2 * error  # errors of topics are larger than that of their mean
    mean = min(max(float((value - bias).mean()), -1.0), 1.0)
    mean_half = float(z * errors.mean(axis=1).std() + error)
    topics_value = np.clip(value - bias, -1, 1)
    return Coherence(
        topics_value,
        np.clip(topics_value - half, -1, 1),
        np.clip(topics_value + half, -1, 1),
        mean,
        max(mean - mean_half, -1.0),
        min(mean + mean_half, 1.0),
    )


@dataclass(frozen=True)
class _Posterior:
    """The posterior of log lifts, (k, 45, n_grid), what it says of the coherence, (k,), and the clip factors (k,)."""

    weights: np.ndarray
    coherence: np.ndarray
    factors: np.ndarray


class _Problem:
    """The pairs of `topics`, with the frequencies of their words (n_listed,) and what the model predicts of them."""

    def __init__(self, model: TopicModel, topics: Sequence[int], frequencies: np.ndarray, documents: float) -> None:
        words = first_words(model, topics)
        listed = {word: index for index, word in enumerate(sorted({word for each in words for word in each}))}
        low, high = np.triu_indices(FIRST, 1)
        pairs = np.array([[(each[a], each[b]) for a, b in zip(low, high, strict=True)] for each in words])
        floor = np.maximum(frequencies, 1.0 / documents)
        p, q = (floor[[[listed[w] for w in row] for row in pairs[:, :, i]]] for i in range(2))
        overall = model.prevalence @ model.topics
        first, second = model.topics[:, pairs[:, :, 0]], model.topics[:, pairs[:, :, 1]]
        together = np.einsum("t,tij,tij->ij", model.prevalence, first, second)
        predicted = np.log(np.maximum(together, 1e-300) / (overall[pairs[:, :, 0]] * overall[pairs[:, :, 1]]))
        self._x = predicted - predicted.mean(axis=1, keepdims=True)
        self._expected = documents * p * q
        most = documents * np.minimum(p, q)
        self._counts = np.minimum(self._expected[:, :, None] * np.exp(_GRID), most[:, :, None])
        r = np.minimum(self._counts / documents, 1 - 1e-9)
        self._npmi = np.clip(np.log(r / (p * q)[:, :, None]) / -np.log(r), -1.0, 1.0)

    def posterior(self, counts: PairCounts) -> _Posterior:
        """What the released `counts` say."""
        factors = np.clip(counts.pairs.sum(axis=1) / np.maximum(counts.totals, 1.0), _LEAST_CLIP, None)
        fit = -0.5 * ((counts.pairs[:, :, None] - factors[:, None, None] * self._counts) / counts.pairs_std) ** 2
        slope, spread = _SLOPE, _SPREAD
        for _ in range(_STEPS):
            prior = self._expected * np.exp(slope * self._x)
            mean = np.log(np.maximum(counts.totals, PAIRS) / prior.sum(axis=1)) - spread**2 / 2
            middle = mean[:, None] + slope * self._x
            log = fit - 0.5 * ((_GRID - middle[:, :, None]) / spread) ** 2
            weights = np.exp(log - log.max(axis=2, keepdims=True))
            weights /= weights.sum(axis=2, keepdims=True)
            found = weights @ _GRID
            variance = weights @ _GRID**2 - found**2
            own = found - found.mean(axis=1, keepdims=True)
            slope = float((self._x * own).sum() / max((self._x**2).sum(), 1e-12))
            spread = max(float(np.sqrt((variance + (own - slope * self._x) ** 2).mean())), _LEAST_STD)
        coherence = (weights * self._npmi).sum(axis=2).mean(axis=1)
        return _Posterior(weights, coherence, factors)

    def redrawn(
        self, counts: PairCounts, posterior: _Posterior, rng: np.random.Generator
    ) -> tuple[PairCounts, np.ndarray]:
        """Counts as they might have been released, with lifts of the posterior and new noise, and their coherence."""
        places = (posterior.weights.cumsum(axis=2) < rng.random(posterior.weights.shape[:2])[:, :, None]).sum(axis=2)
        places = np.minimum(places, len(_GRID) - 1)[:, :, None]
        drawn = np.take_along_axis(self._counts, places, axis=2)[:, :, 0]
        truth = np.take_along_axis(self._npmi, places, axis=2)[:, :, 0].mean(axis=1)
        pairs = drawn * posterior.factors[:, None] + counts.pairs_std * rng.standard_normal(drawn.shape)
        totals = drawn.sum(axis=1) + counts.totals_std * rng.standard_normal(len(drawn))
        return replace(counts, pairs=pairs, totals=totals), truth
