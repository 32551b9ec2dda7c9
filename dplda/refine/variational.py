"""Private variational expectation-maximisation from the spectral topics (Park et al. 2020; Hoffman et al. 2010)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import digamma

EXCESS = 1.5  # frequencies are noisy and weigh documents otherwise than counts do
RETURNED = 0.5


def variational_rounds(
    expected_counts: Callable[[np.ndarray], tuple[np.ndarray, float]],
    start: np.ndarray,
    frequencies: np.ndarray,
    rounds: int,
    *,
    eta: float = 0.02,
    memory: float = 0.5,
    strength: float,
) -> np.ndarray:
    """Dirichlet parameters of the topics (n_words, k) after `rounds` noisy M-steps.

    `expected_counts` maps word weights exp(E log beta) (n_words, k) to noisy expected word-topic counts and their
    noise's standard deviation; `start` (n_words, k) are topics with columns on the simplex, given `strength`
    pseudo-tokens each; `frequencies` (n_words,) sum to one. Counts are averaged over rounds with weight `memory`
    on the past, which averages noise too, and denoised; `eta` is the topics' prior.
    """
    parameters = np.asarray(start * strength + eta)
    average, variance = np.zeros_like(parameters), 0.0
    for number in range(rounds):
        weights = np.exp(digamma(parameters) - digamma(parameters.sum(axis=0)))
        counts, std = expected_counts(weights)
        past = memory if number else 0.0
        average = past * average + (1 - past) * counts
        variance = past**2 * variance + (1 - past) ** 2 * std**2
        parameters = denoised(average, float(np.sqrt(variance)), frequencies) + eta
    return parameters


def denoised(counts: np.ndarray, std: float, frequencies: np.ndarray) -> np.ndarray:
    """Noisy word-topic counts (n_words, k), nonnegative again, with what is known of each word's total.

    Counts are shrunk by one standard deviation, and by up to two more where they exceed `EXCESS` times what the
    word's frequency allows in all topics together. `RETURNED` of what a word then lacks, as far as shrinking can
    have taken it, goes to the topics by their size: a word whose counts drown in noise is in every topic as it is
    in the corpus. Without noise nothing but negative counts changes.
    """
    expected = frequencies * max(float(counts.sum()), 0.0)
    shrunk = np.maximum(counts - std, 0.0)
    kept = np.minimum(shrunk, np.maximum(EXCESS * expected[:, None], shrunk - 2 * std))
    lacking = np.clip(expected - kept.sum(axis=1), 0.0, counts.shape[1] * std)
    sizes = np.maximum(counts.sum(axis=0), 0.0)
    return np.asarray(kept + RETURNED * lacking[:, None] * sizes / max(float(sizes.sum()), 1e-300))


def project_to_simplex(columns: np.ndarray) -> np.ndarray:
    """Euclidean projection of each column (n, r) on the probability simplex (Duchi et al. 2008, Figure 1)."""
    n, r = columns.shape
    columns = columns - columns.max(axis=0)  # changes no projection; far from zero the sum would lose the one
    ordered = -np.sort(-columns, axis=0)
    excess = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, n + 1)[:, None]
    support = (ordered > excess).sum(axis=0)
    return np.asarray(np.maximum(columns - excess[support - 1, np.arange(r)], 0.0))
