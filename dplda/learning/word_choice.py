"""Which words characterise a corpus: noisy document frequencies, with those of general text as the prior.

A run on few documents can tell the frequency of few words from noise. What general text says of the others is public,
so the estimate of a word's frequency combines both (empirical Bayes). The model: a word that is a share p of general
text is in a document with probability

    f = 1 - exp(-p exp(g)),    g = log(length of a document) + log(lift of the word).

The distribution of g is a vector on a grid, one for each of a few groups of words of similar p. Expectation
maximisation finds the distribution that makes the noisy frequencies likeliest, smoothed in every step; without the
smoothing, this is the nonparametric estimate of Kiefer and Wolfowitz (1956). Where noise dominates, estimates follow
general text; without noise, they are the frequencies of the corpus. All of it is post-processing of released numbers.
"""

from __future__ import annotations

import math

import numpy as np

from dplda.private import WordFrequencies

_G = np.linspace(math.log(0.05), math.log(2e6), 70)  # from a word that is missing to one that is everywhere
_WIDTH = 0.5  # standard deviation of the smoothing of the distribution of g
_RANKS = (500, 3000)  # in general text; they separate the groups of words
_STEPS, _SAMPLE = 40, 1500  # of expectation maximisation, and words of a group that are enough for it
_LEAST_WEIGHT = 0.02  # of a word that is rarer than in general text


def characteristic_scores(words: WordFrequencies) -> np.ndarray:
    """Return how much each word characterises the corpus, (n_words,): its frequency times 1 + its log lift.

    Both are `posterior_means`.
    """
    assert words.language is not None
    frequencies, counts = posterior_means(words)
    log_lifts = np.log(counts / words.language) - math.log(counts.sum() / words.language.sum())
    return np.asarray(frequencies * np.maximum(1 + log_lifts, _LEAST_WEIGHT))


def posterior_means(words: WordFrequencies) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior means of each word's document frequency and of its count in a document, both (n_words,).

    They follow from the noisy frequencies of the `words`, whose noise has a positive standard deviation, and from their
    frequencies in general text (`WordFrequencies.language`).
    """
    assert words.language is not None
    p = words.language
    expected = p[:, None] * np.exp(_G)
    contained = -np.expm1(-expected)
    log_likelihood = -0.5 * ((words.frequencies[:, None] - contained) / words.std) ** 2
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    frequencies, counts = np.empty(len(p)), np.empty(len(p))
    for group in np.split(np.argsort(-p, kind="stable"), _RANKS):
        if len(group):
            posterior = _posterior(likelihood[group])
            frequencies[group] = (posterior * contained[group]).sum(axis=1)
            counts[group] = (posterior * expected[group]).sum(axis=1)
    return frequencies, counts


def _posterior(likelihood: np.ndarray) -> np.ndarray:
    """Return each word's distribution over `_G`, (n, n_grid), given the `likelihood` of each value, (n, n_grid)."""
    kernel = np.exp(-0.5 * ((_G[:, None] - _G) / _WIDTH) ** 2)
    kernel /= kernel.sum(axis=0)
    prior = np.full(len(_G), 1 / len(_G))
    sample = likelihood[:: math.ceil(len(likelihood) / _SAMPLE)]
    for _ in range(_STEPS):
        prior = kernel @ _normalised(sample * prior).mean(axis=0)
    return _normalised(likelihood * prior)


def _normalised(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
