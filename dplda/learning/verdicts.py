"""How certain topics and their words are: probabilities and verdicts, from released numbers alone.

A topic is *real* if the same fit without noise has it. It is *clear* if that is probable, *noise* if that is
improbable, and *weak* in between. After the refinement, the probability is a logistic function of five numbers and
their products. The probability that a word is among its topic's first ten is a logistic function of three numbers and
their products: the word's posterior probability, its rank and the topic's probability. The coefficients were estimated
from 360 simulated fits of ten corpora, and checked on others (`docs/design-log.md`). Nothing is charged: all of it is
post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr

from dplda.learning.refinement import Refined, cosines, first_words, smoothed_topics, top_word_probabilities

CLEAR, WEAK, NOISE = "clear", "weak", "noise"
_CLEAR_FROM, _NOISE_UNTIL = 0.8, 0.2  # probabilities
# Of -log10(1 - agreement), kept, log(signal), nearest and log(budget) (`evidence`): the ranges that were observed, the
# coefficients, and those of the products of each with itself and the later ones.
_RANGES = np.array([(0.295, 6.0), (0.021, 0.999), (-2.303, 5.074), (0.056, 1.0), (1.86, 7.336)])
_INTERCEPT, _LINEAR = 0.4883, (1.692, -6.918, 0.6716, -1.717, -0.6677)
_PRODUCTS = (
    *(-0.3124, -0.0617, 0.08837, -1.626, 0.07294),
    *(4.072, -0.2858, 6.592, 0.5841),
    *(0.4528, 1.051, -0.2342),
    *(1.575, -0.5914),
    -0.02059,
)
# Of the log odds a of a word's posterior probability, the log odds b of its topic's, its rank r in [0, 1], and the
# products a b, a r, b r, a a and b b.
_WORD_INTERCEPT, _WORD = -1.6754, (0.8677, 0.005295, -0.1266, 0.1022, -0.6067, 0.2495, -0.07852, 0.01573)
_WORD_LIMITS = 0.02, 0.995  # of both probabilities
# A mixture of pairs of words (`of_pairs`): of -log10(1 - cosine) with the worse half, with the better one, nearest and
# log(budget). Its words: of the number n of halves with the word, n = 2, the rank r, the topic's log odds b, n b, r b.
_PAIR_RANGES = np.array([(0.0, 4.0), (0.0, 4.0), (0.0, 1.0), (1.6, 7.5)])
_PAIR_INTERCEPT, _PAIR = -3.9594, (0.4085, 1.1634, 2.163, 0.3186)
_PAIR_LIMIT = 0.98  # of a topic's probability
_PAIR_WORD_INTERCEPT, _PAIR_WORD = -0.233, (0.3347, 0.5454, -1.8096, 0.4396, 0.0149, -0.1849)
_LEAST = 1e-6  # bound on logarithms
_COPY = 0.9  # least cosine at which two topics count as one


def evidence(
    topics: np.ndarray, start: np.ndarray, agreement: np.ndarray, signal: np.ndarray, budget: float
) -> np.ndarray:
    """Return five numbers (k, 5) that tell real refined `topics` (n_words, k) from noise.

    They are -log10(1 - agreement), the cosine with the topic of `start`, log signal, the largest cosine with another
    topic, and log budget, limited to the ranges that the coefficients were estimated on (`_RANGES`).

    `start` (n_words, k) are the spectral topics that the refinement started from. `agreement` (k,) is
    `Refined.agreement`: the cosine of the topics at the start of the last two rounds. `signal` (k,) is the mean
    quotient of the counts of a topic's top words and their noise. `budget` is documents * mu / topics for the run's GDP
    parameter mu (`signal_per_topic`).
    """
    columns = (
        -np.log10(np.maximum(1 - agreement, _LEAST)),
        cosines(topics, start),
        np.log(np.maximum(signal, _LEAST)),
        _nearest(topics),
        np.full(topics.shape[1], math.log(max(budget, _LEAST))),
    )
    return np.asarray(np.clip(np.column_stack(columns), _RANGES[:, 0], _RANGES[:, 1]))


def of_evidence(numbers: np.ndarray) -> np.ndarray:
    """Return the probability (k,) that each topic is real, from its `evidence` (k, 5)."""
    first, second = np.triu_indices(numbers.shape[1])
    products = numbers[:, first] * numbers[:, second]
    return np.asarray(expit(_INTERCEPT + numbers @ np.array(_LINEAR) + products @ np.array(_PRODUCTS)))


def of_words(posterior: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """Return the calibrated probability (k, n) that each of a topic's n words is among its first ten.

    The words are the columns, in the order of their rank. `posterior` (k, n) is the probability from the noisy counts
    alone, and `topics` (k,) the probability that each topic is real. For a topic that is not real, "its first ten" are
    the first ten of the most similar topic of the fit without noise.
    """
    a, b = logit(np.clip(posterior, *_WORD_LIMITS)), logit(np.clip(topics, *_WORD_LIMITS))[:, None]
    r = np.arange(posterior.shape[1]) / 9
    terms = (a, b + 0 * a, r + 0 * a, a * b, a * r, b * r, a * a, b * b + 0 * a)
    return np.asarray(expit(_WORD_INTERCEPT + sum(c * term for c, term in zip(_WORD, terms, strict=True))))


def of_refinement(
    refined: Refined,
    start: np.ndarray,
    frequencies: np.ndarray,
    words: Sequence[str],
    budget: float,
    earlier: Sequence[float] = (),
) -> dict[str, list[Any]]:
    """Return the probability that each topic is real, its verdict, and the probabilities of its first ten `words`.

    `start` and `budget` are arguments of `evidence`, and `refined` gives its other arguments; `frequencies` (n_words,)
    sum to one. No topic of a series gets a higher probability than in the previous batch (`earlier`): each batch starts
    from the topics of the previous one, so that a topic that was noise is kept, and agrees with itself from then on.
    """
    k = start.shape[1]
    if np.isinf(refined.signal).all():
        probabilities = np.ones(k)
    else:
        numbers = evidence(smoothed_topics(refined.counts, 0.0), start, refined.agreement, refined.signal, budget)
        probabilities = of_evidence(numbers)
    known = min(len(earlier), k)
    probabilities[:known] = np.minimum(probabilities[:known], earlier[:known])
    top, posterior = top_word_probabilities(refined.sums, frequencies)
    chances = posterior if np.isinf(refined.signal).all() else of_words(posterior, probabilities)
    return _verdict_facts(probabilities, top, chances, words)


def of_probabilities(probabilities: np.ndarray) -> list[str]:
    """Return the verdicts on topics that are real with these `probabilities` (k,)."""
    return [CLEAR if p >= _CLEAR_FROM else NOISE if p <= _NOISE_UNTIL else WEAK for p in probabilities]


def of_pairs(
    topics: np.ndarray, cosines: np.ndarray, common: np.ndarray, words: Sequence[str], budget: float
) -> dict[str, list[Any]]:
    """Return the same as `of_refinement`, for the `topics` (n_words, k) of a mixture of pairs of words.

    `cosines` (2, k) and `common` (k, n) are the result of `pair_mixture.agreement`. For `budget` see `evidence`.
    """
    apart = -np.log10(np.maximum(1 - np.sort(cosines, axis=0), _LEAST))
    numbers = np.column_stack([*apart, _nearest(topics), np.full(topics.shape[1], math.log(max(budget, _LEAST)))])
    probabilities = expit(_PAIR_INTERCEPT + np.clip(numbers, _PAIR_RANGES[:, 0], _PAIR_RANGES[:, 1]) @ np.array(_PAIR))
    n, r = common, np.arange(common.shape[1]) / 9
    b = logit(np.clip(probabilities, 1 - _PAIR_LIMIT, _PAIR_LIMIT))[:, None]
    terms = (n, n == len(cosines), r + 0 * n, b + 0 * n, n * b, r * b)
    chances = expit(_PAIR_WORD_INTERCEPT + sum(c * term for c, term in zip(_PAIR_WORD, terms, strict=True)))
    return _verdict_facts(probabilities, first_words(topics), np.asarray(chances), words)


def _verdict_facts(
    probabilities: np.ndarray, top: np.ndarray, chances: np.ndarray, words: Sequence[str]
) -> dict[str, list[Any]]:
    """Return the facts of topics with `probabilities` (k,), and of their words `top` (k, n) with `chances` (k, n)."""
    return {
        "verdicts": of_probabilities(probabilities),
        "topic_probabilities": [round(float(p), 4) for p in probabilities],
        "word_probabilities": [
            {words[word]: round(float(p), 4) for word, p in zip(row, chance, strict=True)}
            for row, chance in zip(top, chances, strict=True)
        ],
    }


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


def of_choice(chosen: np.ndarray, others: np.ndarray, std: float) -> np.ndarray:
    """Return the probability (k,) that topics are rightly chosen, as their noisy sums `chosen` exceed `others` (r,).

    It is the probability that a topic's sum without noise exceeds a cutoff: midway between the smallest chosen sum and
    the largest other one, or, if there is no other, two standard deviations of the noise.
    """
    if std == 0 or not len(chosen):
        return np.ones(len(chosen))
    end = (chosen.min() + others.max()) / 2 if len(others) else 2 * std
    return np.asarray(ndtr((chosen - end) / std))


def _nearest(topics: np.ndarray) -> np.ndarray:
    """Return the largest cosine of each topic (n_words, k) with another one, (k,); 0 for a single topic."""
    unit = topics / np.maximum(np.linalg.norm(topics, axis=0), 1e-300)
    cosines = unit.T @ unit - 2 * np.eye(topics.shape[1])
    return np.asarray(np.maximum(cosines.max(axis=1), 0.0))
