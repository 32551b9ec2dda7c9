"""The private peer: variational inference for LDA from a random start (Park, Foulds, Chaudhuri and Welling 2020).

Every round releases the expected word-topic counts of all documents, each document's clipped in norm, with Gaussian
noise; the whole budget goes to these rounds. For benchmarks only: the noise is floating-point, not the exact noise of
`dplda`.
"""

from __future__ import annotations

import dp_accounting
import numba
import numpy as np
from scipy import sparse
from scipy.special import digamma

DOCUMENT_PRIOR, TOPIC_PRIOR = 0.1, 0.1
STEPS = 15  # coordinate-ascent steps within a document
ROUNDS, CLIP = 10, 5.0  # tuned, see docs/design-log.md


def noise_multiplier(epsilon: float, delta: float, rounds: int) -> float:
    """Standard deviation over clip at which `rounds` are (epsilon, delta)-private; one document added or removed.

    Rounds of Gaussian noise compose exactly to one Gaussian whose multiplier is sqrt(rounds) times smaller.
    """
    return float(np.sqrt(rounds) * dp_accounting.get_sigma_gaussian(epsilon, delta))


def fit(
    counts: sparse.csr_matrix, n_topics: int, multiplier: float, seed: int, rounds: int = ROUNDS, clip: float = CLIP
) -> np.ndarray:
    """Topics (n_topics, n_words) of `counts` (n_documents, n_words); noise of `multiplier` * `clip`, 0 for none."""
    generator = np.random.default_rng(seed)
    shape = counts.shape[1], n_topics
    parameters = generator.gamma(100.0, 0.01, shape)
    for _ in range(rounds):
        weights = np.exp(digamma(parameters) - digamma(parameters.sum(axis=0)))
        noise = generator.normal(0.0, multiplier * clip, shape)
        parameters = np.maximum(expected_counts(counts, weights, clip) + noise, 0.0) + TOPIC_PRIOR
    return (parameters / parameters.sum(axis=0)).T


def expected_counts(counts: sparse.csr_matrix, weights: np.ndarray, clip: float) -> np.ndarray:
    """Sum over documents of the clipped expected counts (n_words, k) under weights exp(E log beta) (n_words, k)."""
    total = np.zeros(weights.shape)
    data, weights = counts.data.astype(np.float32), weights.astype(np.float32)
    _add_documents(counts.indptr, counts.indices, data, weights, clip, total)
    return total


@numba.njit(cache=True, fastmath=True)
def _exp_digamma(x: float) -> float:
    """exp(digamma(x)) for x > 0: recurrence to x >= 6, then the asymptotic series."""
    shift = 0.0
    while x < 6.0:
        shift += 1.0 / x
        x += 1.0
    f = 1.0 / (x * x)
    return np.exp(np.log(x) - 0.5 / x - f * (1 / 12 - f * (1 / 120 - f / 252)) - shift)


@numba.njit(cache=True, fastmath=True)
def _add_share(row, theta, occurrences, out):
    """Add one word's expected occurrences by topic to `out`; returns the sum of their squares."""
    total, squares = np.float32(1e-30), np.float32(0.0)
    for z in range(len(theta)):
        total += theta[z] * row[z]
    share = occurrences / total
    for z in range(len(theta)):
        expected = share * theta[z] * row[z]
        out[z] += expected
        squares += expected * expected
    return squares


@numba.njit(cache=True, fastmath=True)
def _add_documents(indptr, indices, data, weights, clip, total):
    k = weights.shape[1]
    theta, gamma = np.empty(k, np.float32), np.empty(k, np.float32)
    for n in range(len(indptr) - 1):
        entries = range(indptr[n], indptr[n + 1])
        theta[:] = 1.0
        squares = 0.0
        for _ in range(STEPS):
            gamma[:] = DOCUMENT_PRIOR
            for e in entries:
                _add_share(weights[indices[e]], theta, data[e], gamma)
            for z in range(k):
                theta[z] = _exp_digamma(gamma[z])
        for e in entries:
            squares += _add_share(weights[indices[e]], theta, data[e], gamma)
        factor = clip / max(np.sqrt(squares), clip)
        for e in entries:
            _add_share(weights[indices[e]], theta, factor * data[e], total[indices[e]])
