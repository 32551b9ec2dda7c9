"""From released numbers to topics: word scale, whitening and unwhitening, eigenpairs, prevalence.

Whitening follows Anandkumar et al. 2012 and 2014, with the constants of docs/privacy.md. How many words are modelled
and how many topics are learned is decided in `dplda.learning.model_size`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dplda.base.arrays import to_device, to_numpy
from dplda.learning.eigenpairs import EigenPairs, robust_power_method
from dplda.model.prior_topics import ReleasedCounts
from dplda.private import WordFrequencies
from dplda.private.statistics.lda_moments import coefficients, pairings

_MANY = 40  # least number of topics at which the power method takes most of the time of a fit
_STARTS = 5  # random starts of the power method per eigenpair and per topic


@dataclass(frozen=True)
class Whitening:
    """The whitening W = U diag(values)^(-1/2) of M2, for orthonormal `basis` U (d, k) and `values` (k,) > 0."""

    basis: np.ndarray
    values: np.ndarray

    @property
    def W(self) -> np.ndarray:
        """The whitening matrix (d, k): W' M2 W = I."""
        return np.asarray(self.basis / np.sqrt(self.values))

    def unwhiten(self, values: np.ndarray, vectors: np.ndarray, alpha0: float) -> np.ndarray:
        """Return the topics (d, r) from eigenpairs of M3(W, W, W): mu_i = ((alpha0 + 2) / 2) lambda_i (W')^+ v_i."""
        return np.asarray((alpha0 + 2) / 2 * (self.basis * np.sqrt(self.values)) @ (vectors * values))


def corrected_second_moment(E2: np.ndarray, m: np.ndarray, alpha0: float) -> np.ndarray:
    """Return M2 = E2 - alpha0 / (alpha0 + 1) m m', LDA's correction, from (projected) averages E2 (p, p) and m (p,)."""
    return E2 - coefficients(alpha0)[0] * np.outer(m, m)


def corrected_third_moment(E3: np.ndarray, E2: np.ndarray, m: np.ndarray, alpha0: float) -> np.ndarray:
    """Return M3 = E3 + b P(E2, m) + c3 m^3, LDA's correction, with P as `pairings` and b, c3 as `coefficients`.

    The (projected) averages are E3 (k, k, k), E2 (k, k) and m (k,).
    """
    _, b, c3 = coefficients(alpha0)
    return np.asarray(E3 + b * pairings(E2, m) + c3 * np.einsum("a,b,c->abc", m, m, m))


def leading_eigenvalues(M2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (p,), descending, and the eigenvectors (p, p) of the symmetric M2."""
    values, vectors = np.linalg.eigh((M2 + M2.T) / 2)
    return values[::-1], vectors[:, ::-1]


def word_scale(words: WordFrequencies) -> np.ndarray:
    """Return the word scaling s = 1 / sqrt(frequency + tau), (n_words,), with frequencies normalised to sum to one.

    An invertible change of basis that flattens Zipf's law. tau is at least the noise of a frequency, so that words
    whose frequency is mostly noise are not amplified.
    """
    positive = np.maximum(words.frequencies, 0.0)
    total = max(float(positive.sum()), 1e-12)
    tau = max(1e-5, words.std / total)
    return np.asarray(1 / np.sqrt(positive / total + tau))


def eigenpairs(T: np.ndarray, rng: np.random.Generator) -> EigenPairs:
    """Return the k eigenpairs of the symmetric T (k, k, k) by the robust power method, as float64 NumPy arrays.

    From `_MANY` topics on, steps are taken in float32, whose error of about 1e-6 is far below the error of any moment.
    """
    dtype, tolerance = (np.float64, 1e-8) if len(T) < _MANY else (np.float32, 1e-6)
    found = robust_power_method(to_device(T.astype(dtype)), len(T), rng, starts=_STARTS * len(T), tolerance=tolerance)
    values, vectors, residuals = (to_numpy(x).astype(float) for x in (found.values, found.vectors, found.residuals))
    return EigenPairs(values, vectors, found.iterations, residuals)


def prevalence(values: np.ndarray, alpha0: float) -> np.ndarray:
    """Return the prevalence (k,) from the eigenvalues lambda_i = 2 / ((alpha0 + 2) sqrt(w_i)) of the whitened M3.

    w_i = prevalence_i / (alpha0 + 1) is at most 1 / (alpha0 + 1).
    """
    least = 2 * math.sqrt(alpha0 + 1) / (alpha0 + 2)
    shares = 1 / np.maximum(np.abs(values), least) ** 2
    return np.asarray(shares / shares.sum())


def to_topics(columns: np.ndarray) -> np.ndarray:
    """Project unwhitened columns (n_words, k), known up to sign and scale, on the simplex of topics."""
    sums = columns.sum(axis=0)
    safe = np.where(np.abs(sums) > 1e-9, sums, 1e-9)
    return project_to_simplex(columns / safe)


def project_to_simplex(columns: np.ndarray) -> np.ndarray:
    """Project each column (n, r) on the probability simplex, by least squares (Duchi et al. 2008, Figure 1)."""
    n, r = columns.shape
    columns = columns - columns.max(axis=0)  # does not change the projection, and keeps the sums below exact
    ordered = -np.sort(-columns, axis=0)
    excess = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, n + 1)[:, None]
    support = (ordered > excess).sum(axis=0)
    return np.asarray(np.maximum(columns - excess[support - 1, np.arange(r)], 0.0))


@dataclass(frozen=True)
class Learned:
    """What a run has learned; all of it is released."""

    topics: np.ndarray  # (n_topics, n_words)
    prevalence: np.ndarray  # (n_topics,)
    documents: float  # the released number of units, or a lower bound on it (placement ``config4``)
    facts: Mapping[str, Any] = field(default_factory=dict)  # about the run, for its parameters
    words: tuple[str, ...] | None = None  # (n_words,), the words of the topics, if these are not all modelled words
    counts: ReleasedCounts | None = None  # from which topics were estimated, if any were released


def by_prevalence(
    topics: np.ndarray,
    prevalence: np.ndarray,
    documents: float,
    facts: Mapping[str, Any] | None = None,
    **per_topic: Sequence[Any],
) -> Learned:
    """Order topics, given as columns (n_words, k) on the simplex, by descending `prevalence` (k,).

    `documents` is the released number of units, or a lower bound on it. Lists of k values in `per_topic` are reordered
    with the topics and added to the `facts`; empty ones are left out.
    """
    order = np.argsort(-prevalence, kind="stable")
    ordered = {fact: [values[topic] for topic in order] for fact, values in per_topic.items() if values}
    return Learned(topics.T[order], prevalence[order], documents, {**(facts or {}), **ordered})
