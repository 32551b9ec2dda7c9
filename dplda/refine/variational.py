"""Private variational expectation-maximisation from the spectral topics (Park et al. 2020; Hoffman et al. 2010)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dplda.refine.posterior import posterior

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
