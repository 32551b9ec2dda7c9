"""How coherent topics are and how well they predict words, with intervals, from released numbers; not charged.

NPMI (Bouma 2009; Lau, Newman and Baldwin 2014) of a pair of words with document frequencies p and q, and r together, is
log(r / p q) / -log r. The coherence of a topic is the mean NPMI of the pairs of its ten first words, or C_v. The noisy
count of a rare pair has a large relative error, and its logarithm a larger one. Therefore lifts r / p q are estimated
together: in topic z, the log lift of pair i is normal with mean m_z + b x_i and standard deviation s, where x_i is the
log lift that the released topics predict. The number of all pairs of a topic gives m_z; it is released separately, with
little noise and little clipping. The slope b and s are fitted to all pairs (empirical Bayes by expectation
maximisation). Pair counts come from clipped contributions. For each topic, the sum of the pair counts divided by the
number of all pairs estimates the clip factor. A count below 1 is the probability that the pair occurs once: words too
rare to be expected together usually never are.

`CompletedHalves` measures how well the topics predict half of a document's words from the other half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from dplda.learning.estimates import Estimates, within
from dplda.model.topic_model import TopicModel
from dplda.private import Release
from dplda.private.statistics.expected_counts import COMPLETION_CLIP, MOST, document_completion
from dplda.private.statistics.word_pairs import FIRST, PAIRS

# Measured (docs/design-log.md, Coherence): the error of the estimate at little noise, how it grows with the squared
# noise of a pair relative to an average count, and the factor by which the noise of the clips widens intervals.
APPROXIMATION, _GROWTH, _CLIPS = 0.01, 2.0, 1.6
_LEAST_LIFT, _MOST_LIFT = -5.0, 6.0  # of log lifts that are thought possible
_POINTS, _SPAN, _LEAST_SPAN = 67, 6.0, 0.02  # of the grid of a pair's log lifts: its reach in deviations of the noise
_NEVER = 0.003  # prior probability that a pair never occurs together
_STEPS, _REDRAWN = 30, 40
_LEAST_STD, _LEAST_CLIP = 0.1, 0.05
_SLOPE, _SPREAD = 0.6, 0.5  # of the prior at the start
_SURE = 3.0  # standard deviations of noise: less than that from zero, or from all documents, says nothing
_PLACES = np.triu_indices(FIRST, 1)  # of a topic's pairs
_UNIFORM = 0.01  # weight of equal probabilities in the word frequencies, so that none is 0
_LEAST_UNITS = 3.0  # in standard deviations of their noise; fewer say nothing


@dataclass(frozen=True)
class PairCounts:
    """Released document counts, each with the standard deviation of its noise."""

    pairs: np.ndarray  # (k, 45): documents with each pair
    pairs_std: float
    totals: np.ndarray  # (k,): the pairs of a topic, summed over documents
    totals_std: float
    words: np.ndarray  # (n_listed,): documents with each listed word
    words_std: float
    documents: float  # the number of all documents
    documents_std: float

    @property
    def relative_noise(self) -> float:
        """Noise standard deviation of a pair count, divided by a lower estimate of the average pair count.

        The estimate is the mean minus its noise. The result is infinite if the mean number of pairs, the mean number of
        words or the number of documents is less than three standard deviations of its noise.
        """
        known = (
            (self.totals.mean(), self.totals_std / math.sqrt(len(self.totals))),
            (self.words.mean(), self.words_std / math.sqrt(len(self.words))),
            (self.documents, self.documents_std),
        )
        if any(value < _SURE * std for value, std in known):
            return math.inf
        (pairs, pairs_std), *_ = known
        return float(self.pairs_std * PAIRS / max(pairs - pairs_std, 1e-9))


@dataclass(frozen=True)
class Coherence:
    """Coherence with intervals: the NPMI of each of `topics` (k,), its `mean` over them, and their mean `c_v`."""

    topics: Estimates[np.ndarray]
    mean: Estimates[float]
    c_v: Estimates[float]


def paired_words(model: TopicModel, topics: Sequence[int]) -> list[list[int]]:
    """Return the ten most probable words of each of `topics`."""
    return [np.argsort(-model.topics[topic], kind="stable")[:FIRST].tolist() for topic in topics]


def c_v(npmi: np.ndarray) -> np.ndarray:
    """Return the coherence C_v of topics, (...), from the NPMI of the pairs of their ten words, (..., 45).

    A word's vector is its NPMI with all ten words. C_v is the mean cosine between a word's vector and the sum of the
    ten vectors (Roeder, Both and Hinneburg 2015), with documents for windows.
    """
    vectors = np.zeros((*npmi.shape[:-1], FIRST, FIRST))
    vectors[..., *_PLACES] = npmi
    vectors += np.swapaxes(vectors, -1, -2) + np.eye(FIRST)
    total = vectors.sum(axis=-2, keepdims=True)
    lengths = np.linalg.norm(vectors, axis=-1) * np.maximum(np.linalg.norm(total, axis=-1), 1e-12)
    return np.asarray(((vectors * total).sum(axis=-1) / lengths).mean(axis=-1))


def estimate_coherence(model: TopicModel, topics: Sequence[int], counts: PairCounts, level: float = 0.95) -> Coherence:
    """Return the coherence of `topics` from the released `counts`, with intervals of probability `level`.

    Intervals cover the noise, by a parametric bootstrap that draws counts with fresh noise, and the error of the
    approximation, by an allowance that grows with the relative noise.
    """
    problem = _Problem(model, topics)
    posterior = problem.posterior(counts)
    draws = [problem.redraw(counts, posterior, np.random.default_rng(seed)) for seed in range(_REDRAWN)]
    found = [(problem.posterior(redrawn).npmi, truth) for redrawn, truth in draws]
    z = _CLIPS * -ndtri((1 - level) / 2)
    error = APPROXIMATION * (1 + _GROWTH * counts.relative_noise**2)

    def estimates(
        measure: Callable[[np.ndarray], np.ndarray], error: float
    ) -> tuple[Estimates[np.ndarray], Estimates[float]]:
        """Return the measure of each topic, and its mean."""
        errors = np.array([measure(npmi) - measure(truth) for npmi, truth in found])
        value = measure(posterior.npmi) - errors.mean(axis=0)
        half = z * errors.std(axis=0) + 2 * error  # errors of topics are larger than that of their mean
        mean_half = float(z * errors.mean(axis=1).std() + error)
        ends = (np.clip(value + step, -1, 1) for step in (0.0, -half, half))
        return Estimates(*ends), within(float(value.mean()), mean_half, -1.0, 1.0)

    topics_npmi, npmi = estimates(lambda pairs: pairs.mean(axis=-1), error)
    return Coherence(topics_npmi, npmi, estimates(c_v, 2 * error)[1])  # never-occurring pairs weigh more in C_v


@dataclass(frozen=True)
class _Posterior:
    """The posterior of each pair, over index 0 (it never occurs) and the points of its grid.

    Weights, counts and NPMI of these cases are (k, 45, 1 + n_points); `factors` (k,) are the clip factors. A count
    below 1 is the probability of one document, whose NPMI is given; without one NPMI is -1.
    """

    weights: np.ndarray
    counts: np.ndarray
    values: np.ndarray
    factors: np.ndarray

    @property
    def npmi(self) -> np.ndarray:
        """The mean NPMI of each pair, (k, 45)."""
        return np.asarray((self.weights * (np.minimum(self.counts, 1.0) * (self.values + 1) - 1)).sum(axis=2))


class _Problem:
    """The pairs of `topics`, and what the model predicts of them."""

    def __init__(self, model: TopicModel, topics: Sequence[int]) -> None:
        words = paired_words(model, topics)
        listed = {word: index for index, word in enumerate(sorted({word for each in words for word in each}))}
        pairs = np.array([[(each[a], each[b]) for a, b in zip(*_PLACES, strict=True)] for each in words])
        self._first, self._second = (
            np.array([[listed[word] for word in row] for row in pairs[:, :, end]]) for end in range(2)
        )
        overall = model.prevalence @ model.topics
        first, second = model.topics[:, pairs[:, :, 0]], model.topics[:, pairs[:, :, 1]]
        together = np.einsum("t,tij,tij->ij", model.prevalence, first, second)
        apart = overall[pairs[:, :, 0]] * overall[pairs[:, :, 1]]
        known = (together > 0) & (apart > 0)  # words of no listed topic predict nothing
        predicted = np.where(known, np.log(np.where(known, together, 1.0) / np.where(known, apart, 1.0)), 0.0)
        middle = predicted.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
        self._x = np.where(known, predicted - middle, 0.0)

    def posterior(self, counts: PairCounts) -> _Posterior:
        """Return the posterior of the pairs' lifts given the released `counts`."""
        documents = max(counts.documents, 1.0)
        frequencies = np.clip(counts.words / documents, 1.0 / documents, 1.0)
        p, q = frequencies[self._first], frequencies[self._second]
        expected, most = documents * p * q, documents * np.minimum(p, q)
        factors = np.clip(counts.pairs.sum(axis=1) / np.maximum(counts.totals, 1.0), _LEAST_CLIP, None)

        # Equally spaced log lifts, (k, 45, n_points): those that the noisy count of each pair leaves possible.
        reach, scale = _SPAN * counts.pairs_std, factors[:, None] * expected
        ends = (np.log(np.maximum(counts.pairs + step, 1e-300) / scale) for step in (-reach, reach))
        low, high = (np.clip(end, _LEAST_LIFT, _MOST_LIFT) for end in ends)
        low = np.minimum(low, _MOST_LIFT - _LEAST_SPAN)
        grid = np.linspace(low, np.maximum(high, low + _LEAST_SPAN), _POINTS, axis=2)
        at = np.minimum(expected[:, :, None] * np.exp(grid), most[:, :, None])
        at = np.concatenate([np.zeros((*p.shape, 1)), at], axis=2)  # the pair never occurs, or so often
        fit = -0.5 * ((counts.pairs[:, :, None] - factors[:, None, None] * at) / counts.pairs_std) ** 2

        # The prior of log lifts, by expectation maximisation: how they grow with the predicted ones, and their spread.
        slope, spread = _SLOPE, _SPREAD
        for _ in range(_STEPS):
            prior = expected * np.exp(slope * self._x)
            mean = np.log(np.maximum(counts.totals, PAIRS) / prior.sum(axis=1)) - spread**2 / 2
            middle = mean[:, None] + slope * self._x
            weights = _weights(fit, grid, middle, spread)
            sometimes = np.maximum(1 - weights[:, :, 0], 1e-12)
            found = (weights[:, :, 1:] * grid).sum(axis=2) / sometimes
            variance = (weights[:, :, 1:] * (grid - found[:, :, None]) ** 2).sum(axis=2) / sometimes
            own = found - np.average(found, axis=1, weights=sometimes)[:, None]
            slope = float((sometimes * self._x * own).sum() / max((sometimes * self._x**2).sum(), 1e-12))
            errors = variance + (own - slope * self._x) ** 2
            spread = max(float(np.sqrt(np.average(errors, weights=sometimes))), _LEAST_STD)

        r = np.clip(np.maximum(at, 1.0) / documents, 1e-12, 1 - 1e-9)
        npmi = np.clip(np.log(r / (p * q)[:, :, None]) / -np.log(r), -1.0, 1.0)
        npmi[r > 1 - _SURE * counts.words_std / documents] = 0.0  # in all documents, as far as is known
        return _Posterior(weights, at, npmi, factors)

    def redraw(
        self, counts: PairCounts, posterior: _Posterior, rng: np.random.Generator
    ) -> tuple[PairCounts, np.ndarray]:
        """Return counts as they might have been released, with lifts of the posterior and new noise, and their NPMI."""
        places = (posterior.weights.cumsum(axis=2) < rng.random(posterior.weights.shape[:2])[:, :, None]).sum(axis=2)
        places = np.minimum(places, _POINTS)[:, :, None]
        drawn, values = (np.take_along_axis(x, places, axis=2)[:, :, 0] for x in (posterior.counts, posterior.values))
        occurs = rng.random(drawn.shape) < drawn
        drawn, truth = np.where(occurs, np.maximum(drawn, 1.0), 0.0), np.where(occurs, values, -1.0)
        pairs = drawn * posterior.factors[:, None] + counts.pairs_std * rng.standard_normal(drawn.shape)
        totals = drawn.sum(axis=1) + counts.totals_std * rng.standard_normal(len(drawn))
        words = counts.words + counts.words_std * rng.standard_normal(len(counts.words))
        documents = counts.documents + counts.documents_std * rng.standard_normal()
        return replace(counts, pairs=pairs, totals=totals, words=words, documents=documents), truth


def _weights(fit: np.ndarray, grid: np.ndarray, middle: np.ndarray, spread: float) -> np.ndarray:
    """Return the posterior of a pair: that it never occurs, then each point of its `grid`, (k, 45, 1 + n_points).

    `fit`, of the same shape, is the log likelihood of the pair's noisy count in each case, up to a constant. Log lifts
    of pairs that occur are normal around `middle` (k, 45) with standard deviation `spread`.
    """
    step = (grid[:, :, -1] - grid[:, :, 0]) / (_POINTS - 1)
    log = np.empty_like(fit)
    log[:, :, 0] = math.log(_NEVER)
    log[:, :, 1:] = math.log((1 - _NEVER) / (spread * math.sqrt(2 * math.pi))) + np.log(step)[:, :, None]
    log[:, :, 1:] -= 0.5 * ((grid - middle[:, :, None]) / spread) ** 2
    log += fit
    weights = np.exp(log - log.max(axis=2, keepdims=True))
    return np.asarray(weights / weights.sum(axis=2, keepdims=True))


@dataclass(frozen=True)
class Prediction:
    """The `perplexity` of words given others of their document, and the `gain` of topics over word frequencies.

    The gain is the mean of log(p / r), in nats a token, where p is the probability of a word under the topics and r its
    frequency.
    """

    perplexity: Estimates[float]
    gain: Estimates[float]


class CompletedHalves:
    """The document-completion contribution for the topics of `model`, and its release converted to a `Prediction`.

    It measures how well the topics predict half of a document's tokens from the other half.
    """

    def __init__(self, model: TopicModel) -> None:
        frequencies = model.prevalence @ model.topics
        reference = (1 - _UNIFORM) * frequencies / frequencies.sum() + _UNIFORM / len(frequencies)
        self._entropy = float(-reference @ np.log(reference))
        self.contribution = document_completion(model.topics.T, float(np.mean(model.alpha)), reference)

    def prediction(self, release: Release, level: float = 0.95) -> Prediction:
        """Return the `Prediction` from the `release` of the contribution, with intervals of probability `level`."""
        z, units = -ndtri((1 - level) / 2), release.mass
        units_std = release.mass_std(COMPLETION_CLIP)
        gain, surprise = (MOST * float(total) / units for total in release.total[0])
        std = MOST * release.std / units

        def estimate(value: float, noises: int, most: float) -> Estimates[float]:
            """Return a sum of `noises` released numbers, divided by the number of units."""
            half = z * math.hypot(math.sqrt(noises) * std, value * units_std / units)
            return within(value, half if units > _LEAST_UNITS * units_std else math.inf, -most, most)

        loss = estimate(surprise - gain, 2, 2 * MOST)
        perplexity = Estimates(*(math.exp(self._entropy + each) for each in (loss.value, loss.low, loss.high)))
        return Prediction(perplexity, estimate(gain, 1, MOST))
