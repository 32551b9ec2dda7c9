"""How certain topics and their words are: probabilities and verdicts, from released numbers alone.

A topic is *real* if an ordinary fit of the same texts, without noise and with the 2,000 most frequent words, has a
topic that collects the same documents. It is *clear* if that is probable, *noise* if that is improbable, and *weak* in
between. The probability is a logistic function of released numbers: how well the topic agrees with itself in parts of
the noise, and how much the run could see (`RunSize`). The probability that a word is among its topic's first ten is a
logistic function, too. The coefficients were estimated from simulated fits and checked on collections left out
(`docs/design-log.md`, "Verdicts"). Nothing is charged: all of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, rel_entr
from scipy.stats import norm

from dplda.learning.pair_mixture import PairMixture
from dplda.learning.refinement import Refined, cosines, first_words, smoothed_topics, top_word_probabilities
from dplda.model.run_facts import CLEAR_FROM, NOISE_UNTIL

CLEAR, WEAK, NOISE = "clear", "weak", "noise"
_REAL_OF_PRIOR = 0.39  # of 760 chosen topics of priors, for every kind of text (docs/design-log.md)
_LEAST = 1e-6  # bound on logarithms
_COPY = 0.9  # least cosine at which two topics count as one
_WORD_LIMITS = 0.02, 0.98  # of the probabilities whose log odds tell of words


@dataclass(frozen=True)
class Logistic:
    """A probability as a logistic function of numbers, each within the range that was observed.

    `coefficients` (n + 1,) begin with the intercept; `least` and `most` are the ranges (n,).
    """

    coefficients: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        """Return the probability (r,) for each row of `numbers` (r, n)."""
        intercept, *linear = self.coefficients
        return np.asarray(expit(intercept + np.clip(numbers, self.least, self.most) @ np.array(linear)))


# Printed by `scripts/benchmarks sureness --estimate`.
TOPICS_OF_PAIRS = Logistic(
    (-8.259, 0.2701, 0.3499, -1.383, 0.1586, 0.5421, -0.007344, 0.6704, 1.566, 0.6598, 0.7408),
    (0.04449, 0.2303, 0.08724, 3.6, 2.708, 1.386, -1.003, 0.1173, 0.0, 0.452),
    (2.614, 2.985, 0.9679, 7.289, 6.064, 2.996, 0.6493, 1.178, 1.0, 2.675),
)
TOPICS_OF_MOMENTS = Logistic(
    (-9.417, -0.5203, 3.061, 1.813, -5.09, -0.7709, 0.7617, -1.087, 3.193, 2.342, 2.162, 0.9451),
    (1.036, 0.3356, 1.951, 0.09107, 5.404, 5.069, 1.386, -1.667, 0.07498, 0.35, 2.035),
    (2.834, 0.9821, 4.453, 0.8635, 7.337, 7.601, 2.996, 0.8251, 1.416, 1.0, 3.576),
)
TOPICS_WITH_SEEDS = Logistic(
    (-1.61, 0.6529, 0.2036, 3.912, -0.3307, 1.267),
    (-3.892, -7.262, 0.0, -3.892, -7.262),
    (3.892, 1.275, 1.0, 2.055, 0.0),
)
WORDS_OF_PAIRS = Logistic(
    (0.3078, 0.4715, 0.4731, -2.068, 0.1432, 0.08276, -0.2565),
    (0.0, 0.0, 0.0, -3.892, -7.784, -3.892),
    (2.0, 1.0, 1.0, -0.1546, 0.0, 0.0),
)
WORDS_OF_MOMENTS = Logistic(
    (-0.3994, 0.3291, 0.3553, -0.898, 0.02161, -0.3001, -0.03031, -0.006027, -0.0108),
    (-0.3162, -3.892, 0.0, -15.15, -0.3161, -3.892, 9.026e-05, 7.717e-05),
    (3.892, 3.892, 1.0, 15.15, 3.798, 3.459, 15.15, 15.15),
)


@dataclass(frozen=True)
class RunSize:
    """Released numbers that say how much a run could see."""

    words: tuple[str, ...]
    tokens: float  # of these words in a document, on average
    budget: float  # documents * mu / topics for the run's GDP parameter mu (`signal_per_topic`)
    supported: int  # topics that the released eigenvalues support

    def numbers(self, topics: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return seven numbers (k, 7) about `topics` (n_words, k) and the `sizes` (k,) of their parts of the text.

        They are log budget, log number of words, log k, the log of k times the topic's share, the Kullback-Leibler
        divergence of the topic from the mean topic, the supported part of the k topics, and log tokens.
        """
        k, share = topics.shape[1], np.maximum(sizes / sizes.sum(), 1e-4)
        return np.column_stack(
            [
                np.full(k, math.log(max(self.budget, _LEAST))),
                np.full(k, math.log(len(self.words))),
                np.full(k, math.log(k)),
                np.log(k * share),
                rel_entr(topics, topics.mean(axis=1, keepdims=True)).sum(axis=0),
                np.full(k, min(self.supported / k, 1.0)),
                np.full(k, math.log(max(self.tokens, 0.05))),
            ]
        )


def of_refinement(
    refined: Refined,
    start: np.ndarray,
    frequencies: np.ndarray,
    size: RunSize,
    earlier: Sequence[float] = (),
    guided: Sequence[int] | np.ndarray = (),
) -> dict[str, list[Any]]:
    """Return the probability that each topic is real, its verdict, and the probabilities of its first ten words.

    `start` (n_words, k) are the spectral topics that the refinement started from; `frequencies` (n_words,) sum to one.
    No topic of a series gets a higher probability than in the previous batch (`earlier`): each batch starts from the
    topics of the previous one, so that a topic that was noise is kept, and agrees with itself from then on. `guided`
    are the topics that seed words guide.
    """
    k, exact = start.shape[1], np.isinf(refined.signal).all()
    top, posterior = top_word_probabilities(refined.sums, frequencies)
    if exact:
        return _verdict_facts(np.ones(k), top, posterior, size.words)
    probabilities = TOPICS_OF_MOMENTS(evidence_of_moments(refined, start, size))
    probabilities = _with_seeds(probabilities, refined.counts.sum(axis=0), guided)
    known = min(len(earlier), k)
    probabilities[:known] = np.minimum(probabilities[:known], earlier[:known])
    return _verdict_facts(probabilities, top, of_words(posterior, probabilities), size.words)


def evidence_of_moments(refined: Refined, start: np.ndarray, size: RunSize) -> np.ndarray:
    """Return the numbers (k, 11) that tell real `refined` topics from noise.

    They are -log10(1 - agreement) for the cosine of the topics of the last two rounds, the cosine with the topic of
    `start` (n_words, k), the log of `Refined.signal`, the largest cosine with another topic, and those of `RunSize`.
    """
    topics = smoothed_topics(refined.counts, 0.0)
    numbers = (
        -np.log10(np.maximum(1 - refined.agreement, _LEAST)),
        cosines(topics, start),
        np.log(np.maximum(refined.signal, _LEAST)),
        _nearest(topics),
    )
    return np.column_stack([*numbers, size.numbers(topics, refined.counts.sum(axis=0))])


def of_words(posterior: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """Return the calibrated probability (k, n) that each of a topic's n words is among its first ten.

    The words are the columns, in the order of their rank. `posterior` (k, n) is the probability from the noisy counts
    alone, and `topics` (k,) the probability that each topic is real. For a topic that is not real, "its first ten" are
    the first ten of the most similar topic of the fit without noise.
    """
    a, b, r = np.broadcast_arrays(_log_odds(posterior), _log_odds(topics)[:, None], _ranks(posterior))
    return _of_rows(WORDS_OF_MOMENTS, a, b, r, a * b, a * r, b * r, a * a, b * b)


def of_pairs(
    mixture: PairMixture,
    cosines: np.ndarray,
    common: np.ndarray,
    size: RunSize,
    guided: Sequence[int] | np.ndarray = (),
) -> dict[str, list[Any]]:
    """Return the same as `of_refinement`, for the topics of a `mixture` of pairs of words.

    `cosines` (2, k) and `common` (k, n) are the result of `pair_mixture.agreement`.
    """
    probabilities = TOPICS_OF_PAIRS(evidence_of_pairs(mixture, cosines, size))
    probabilities = _with_seeds(probabilities, mixture.prevalence, guided)
    n, b, r = np.broadcast_arrays(common, _log_odds(probabilities)[:, None], _ranks(common))
    chances = _of_rows(WORDS_OF_PAIRS, n, n == len(cosines), r, b, n * b, r * b)
    return _verdict_facts(probabilities, first_words(mixture.topics), chances, size.words)


def evidence_of_pairs(mixture: PairMixture, cosines: np.ndarray, size: RunSize) -> np.ndarray:
    """Return the numbers (k, 10) that tell real topics of a `mixture` of pairs of words from noise.

    They are -log10(1 - cosine) with the worse half of the noise and with the better one (`cosines`, (2, k)), the
    largest cosine with another topic, and those of `RunSize`.
    """
    apart = -np.log10(np.maximum(1 - np.sort(cosines, axis=0), _LEAST))
    return np.column_stack([*apart, _nearest(mixture.topics), size.numbers(mixture.topics, mixture.prevalence)])


def _with_seeds(probabilities: np.ndarray, sizes: np.ndarray, guided: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the `probabilities` (k,) that topics with these `sizes` (k,) are real, corrected for `guided` topics.

    Seed words hold their topics in place, so that these agree with themselves in any noise. The other topics of such a
    run are left with all other text: large mixtures, which agree with themselves, too, and which no ordinary fit has.
    """
    if not len(guided):
        return probabilities
    k = len(sizes)
    odds, share = _log_odds(probabilities), np.log(k * np.maximum(sizes / sizes.sum(), 1e-4))
    held = np.isin(np.arange(k), guided).astype(float)
    return TOPICS_WITH_SEEDS(np.column_stack([odds, share, held, odds * held, share * held]))


def of_prior(signal: np.ndarray, known: int, given: int = 0) -> dict[str, list[Any]]:
    """Return the probability that each topic that was chosen among `known` ones of a prior is real, and its verdict.

    The first `given` topics were guided and not chosen: their probability is not known, and they are listed in the fact
    ``given``. Their verdict says as of the others whether their sum stands out from the noise.

    `signal` (k,) are the quotients of the topics' noisy sums of proportions and the standard deviation of the noise.
    The probability is `_REAL_OF_PRIOR` times a bound on the probability that the noise alone did not exceed such a sum
    for any of the known topics. Whether a word is among its topic's first ten is not known.
    """
    probabilities = _REAL_OF_PRIOR * np.clip(1 - known * norm.sf(signal), 0.0, 1.0)
    facts: dict[str, list[Any]] = {
        "verdicts": of_probabilities(probabilities),
        "topic_probabilities": [*[None] * given, *_rounded(probabilities[given:])],
    }
    return facts | ({"given": [topic < given for topic in range(len(signal))]} if given else {})


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(probabilities, *_WORD_LIMITS)))


def _ranks(words: np.ndarray) -> np.ndarray:
    """Return the rank of each column, 0 for the first and 1 for the tenth."""
    return np.arange(words.shape[1]) / 9


def _of_rows(probability: Logistic, *terms: np.ndarray) -> np.ndarray:
    """Return the `probability` (k, n) of numbers that are each (k, n)."""
    return probability(np.column_stack([term.ravel() for term in terms])).reshape(terms[0].shape)


def of_probabilities(probabilities: np.ndarray) -> list[str]:
    """Return the verdicts on topics that are real with these `probabilities` (k,)."""
    return [CLEAR if p >= CLEAR_FROM else NOISE if p <= NOISE_UNTIL else WEAK for p in probabilities]


def _verdict_facts(
    probabilities: np.ndarray, top: np.ndarray, chances: np.ndarray, words: Sequence[str]
) -> dict[str, list[Any]]:
    """Return the facts of topics with `probabilities` (k,), and of their words `top` (k, n) with `chances` (k, n)."""
    return {
        "verdicts": of_probabilities(probabilities),
        "topic_probabilities": _rounded(probabilities),
        "word_probabilities": [
            {words[word]: round(float(p), 4) for word, p in zip(row, chance, strict=True)}
            for row, chance in zip(top, chances, strict=True)
        ],
    }


def _rounded(probabilities: np.ndarray) -> list[float]:
    return [round(float(p), 4) for p in probabilities]


def of_spectrum(topics: np.ndarray, supported: int) -> list[str]:
    """Return verdicts on spectral `topics` (n_words, k), if the released eigenvalues support `supported` of them.

    Eigenvalues do not say which topics they support. If they support fewer than k, every topic is weak; if none, all
    are noise.
    """
    k = topics.shape[1]
    if supported == 0:
        return [NOISE] * k
    return [CLEAR if supported >= k and near < _COPY else WEAK for near in _nearest(topics)]


def of_columns(columns: np.ndarray, std: float) -> list[str]:
    """Return verdicts on topics released as noisy `columns` (n_words, k), by their norms over that of the noise."""
    noise = std * math.sqrt(len(columns))
    ratios = np.linalg.norm(columns, axis=0) / noise if noise > 0 else np.full(columns.shape[1], np.inf)
    return [CLEAR if ratio >= 3 else WEAK if ratio >= 1.5 else NOISE for ratio in ratios]


def _nearest(topics: np.ndarray) -> np.ndarray:
    """Return the largest cosine of each topic (n_words, k) with another one, (k,); 0 for a single topic."""
    unit = topics / np.maximum(np.linalg.norm(topics, axis=0), 1e-300)
    cosines = unit.T @ unit - 2 * np.eye(topics.shape[1])
    return np.asarray(np.maximum(cosines.max(axis=1), 0.0))
