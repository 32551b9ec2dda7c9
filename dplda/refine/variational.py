"""Private variational expectation-maximisation from the spectral topics (Park et al. 2020; Hoffman et al. 2010)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import digamma


def variational_rounds(
    expected_counts: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    rounds: int,
    *,
    eta: float = 0.1,
    memory: float = 0.5,
    strength: float,
) -> np.ndarray:
    """Dirichlet parameters of the topics (n_words, k) after `rounds` noisy M-steps.

    `expected_counts` maps word weights exp(E log beta) (n_words, k) to noisy expected word-topic counts; `start`
    (n_words, k) are topics with columns on the simplex, given `strength` pseudo-tokens each. Counts are averaged
    over rounds with weight `memory` on the past, which averages noise too; `eta` is the topics' prior.
    """
    parameters = np.asarray(start * strength + eta)
    average: np.ndarray | None = None
    for _ in range(rounds):
        weights = np.exp(digamma(parameters) - digamma(parameters.sum(axis=0)))
        counts = expected_counts(weights)
        average = counts if average is None else memory * average + (1 - memory) * counts
        parameters = np.asarray(np.maximum(average, 0.0) + eta)
    return parameters


def project_to_simplex(columns: np.ndarray) -> np.ndarray:
    """Euclidean projection of each column (n, r) on the probability simplex (Duchi et al. 2008, Figure 1)."""
    n, r = columns.shape
    ordered = -np.sort(-columns, axis=0)
    excess = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, n + 1)[:, None]
    support = (ordered > excess).sum(axis=0)
    return np.asarray(np.maximum(columns - excess[support - 1, np.arange(r)], 0.0))
