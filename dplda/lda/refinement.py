"""Refinement of spectral topics by private variational rounds (Park et al. 2020; Hoffman et al. 2010).

Each round takes the posterior of the true word-topic counts given noisy ones.

The empirical-Bayes posterior of true word-topic counts, given noisy ones.

A count (n_words, k) is e rho + noise, where e = f n is what its topic, of n tokens in all, would hold of a word of
frequency f if it were like the whole corpus, and rho is the word's lift in the topic. The law of the lifts is not
assumed but estimated from the noisy counts themselves, as a mixture on a grid (Kiefer and Wolfowitz 1956; Efron
2014), separately for words of low and of high signal to noise. Nothing here sees private data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

GROUPS = 4  # of words, by signal to noise
LIFTS = 40  # components of the mixture
LEAST_LIFT = 0.02
WIDTH = 0.25  # standard deviation of a component over its lift
STEPS = 25  # of expectation-maximisation for the weights of the mixture
SAMPLE = 4000  # counts of a group that these look at


@dataclass(frozen=True)
class Posterior:
    """Posterior `mean` and `median` of the counts, (n_words, k), nonnegative."""

    mean: np.ndarray
    median: np.ndarray


def posterior(counts: np.ndarray, std: np.ndarray, frequencies: np.ndarray) -> Posterior:
    """Posterior of the counts (n_words, k) that were seen with Gaussian noise of `std` (n_words,).

    `frequencies` (n_words,) sum to one. Without noise (`std` zero) counts are cut at zero and otherwise kept.
    """
    if not std.any():
        kept = np.maximum(counts, 0.0)
        return Posterior(kept, kept)
    sizes = np.maximum(counts.sum(axis=0), 0.0)
    sizes = np.maximum(sizes, 1e-3 * max(float(sizes.sum()), 1e-9))
    expected = np.outer(frequencies, sizes)
    lifts = np.concatenate([[0.0], np.geomspace(LEAST_LIFT, 4 * sizes.sum() / sizes.min(), LIFTS - 1)])
    mean, median = np.empty_like(counts), np.empty_like(counts)
    for words in np.array_split(np.argsort(-frequencies / std, kind="stable"), GROUPS):
        if len(words):
            noise = np.broadcast_to(std[words, None], (len(words), counts.shape[1]))
            found = _estimate(counts[words].ravel(), noise.ravel(), expected[words].ravel(), lifts)
            mean[words], median[words] = (values.reshape(len(words), -1) for values in found)
    return Posterior(mean, median)


def _estimate(x: np.ndarray, std: np.ndarray, expected: np.ndarray, lifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and median of the counts `x` (n,) of one group."""
    x, std, expected = (np.asarray(values, np.float32)[:, None] for values in (x, std, expected))
    centres = expected * lifts.astype(np.float32)
    spread = (np.float32(WIDTH) * centres) ** 2
    variance = spread + std**2
    log = (x - centres) ** 2 / variance + np.log(variance)
    likelihood = np.exp(np.float32(-0.5) * (log - log.min(axis=1, keepdims=True)))
    sample = likelihood[:: max(1, len(x) // SAMPLE)]
    weights = np.full(len(lifts), 1 / len(lifts), np.float32)
    for _ in range(STEPS):
        weights *= (1 / (sample @ weights)) @ sample / np.float32(len(sample))
        weights = np.maximum(weights, np.float32(1e-12))  # no count may be impossible
    likelihood *= weights
    within = np.maximum(centres + spread / variance * (x - centres), 0)
    whole = likelihood.sum(axis=1)
    middle = (np.cumsum(likelihood, axis=1) < whole[:, None] / 2).sum(axis=1).clip(max=len(lifts) - 1)
    return np.einsum("ij,ij->i", likelihood, within) / whole, within[np.arange(len(x)), middle]


PRIOR = 0.02  # pseudo-tokens of every word in every topic


def variational_rounds(
    expected_counts: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    frequencies: np.ndarray,
    rounds: int,
    *,
    memory: float = 0.5,
) -> np.ndarray:
    """Word-topic counts (n_words, k), positive, after `rounds` noisy M-steps.

    `expected_counts` maps topics (n_words, k), columns on the simplex, to noisy expected word-topic counts and the
    standard deviation of their noise, (n_words,); `start` are the first topics; `frequencies` (n_words,) sum to one.
    Counts are averaged over rounds with weight `memory` on the past, which averages noise too. A round starts from
    the posterior mean of the averaged counts; the answer is their posterior median, which has the least l1 error.
    """
    topics = start
    total, variance, weight = np.zeros_like(start), np.zeros(len(start)), 0.0
    for _ in range(rounds):
        counts, std = expected_counts(topics)
        total, variance, weight = memory * total + counts, memory**2 * variance + std**2, memory * weight + 1
        found = posterior(total / weight, np.sqrt(variance) / weight, frequencies)
        topics = _normalised(found.mean + PRIOR)
    return found.median + PRIOR


def _normalised(columns: np.ndarray) -> np.ndarray:
    return np.asarray(columns / columns.sum(axis=0))


def project_to_simplex(columns: np.ndarray) -> np.ndarray:
    """Euclidean projection of each column (n, r) on the probability simplex (Duchi et al. 2008, Figure 1)."""
    n, r = columns.shape
    columns = columns - columns.max(axis=0)  # changes no projection; far from zero the sum would lose the one
    ordered = -np.sort(-columns, axis=0)
    excess = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, n + 1)[:, None]
    support = (ordered > excess).sum(axis=0)
    return np.asarray(np.maximum(columns - excess[support - 1, np.arange(r)], 0.0))
