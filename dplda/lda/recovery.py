"""The words modelled and their scale, the number of topics, eigenpairs, and topics with their prevalence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dplda.config import FitSettings
from dplda.errors import UnsupportedByData
from dplda.lda.refinement import project_to_simplex
from dplda.mechanisms.curator import WordFrequencies
from dplda.numerics.arrays import to_device, to_numpy
from dplda.tensor.eigenpairs import EigenPairs, robust_power_method


def within_limits(found: WordFrequencies, most: int, limit: float) -> WordFrequencies:
    """The `most` most frequent released words whose noisy document frequency is at most `limit`."""
    kept = np.flatnonzero(found.frequencies <= limit)[:most]
    return WordFrequencies(tuple(found.words[i] for i in kept), found.frequencies[kept], found.std)


def require_words(modelled: WordFrequencies, released: WordFrequencies, needed: int, limit: float) -> None:
    """Raise `UnsupportedByData` when too few words are left for the topics asked for; says why from releases alone."""
    if len(modelled.words) >= needed:
        return
    if len(released.words) < needed:
        raise UnsupportedByData(
            f"only {len(released.words)} words passed the private vocabulary threshold, {needed} are needed. "
            "Use more documents, a larger epsilon, or a public word list (--vocabulary)."
        )
    raise UnsupportedByData(
        f"{len(released.words)} words passed the private vocabulary threshold, but only {len(modelled.words)} of them "
        f"are in at most {limit:.0%} of the documents, {needed} are needed. Raise --max-document-frequency."
    )


def word_scale(found: WordFrequencies) -> np.ndarray:
    """Word scaling s = 1 / sqrt(frequency + tau), normalised so that frequencies sum to one; (n_words,).

    An invertible change of basis that flattens Zipf's law. tau is at least the noise in a frequency, so that a
    word whose frequency is mostly noise is not blown up.
    """
    positive = np.maximum(found.frequencies, 0.0)
    total = max(float(positive.sum()), 1e-12)
    tau = max(1e-5, found.std / total)
    return np.asarray(1 / np.sqrt(positive / total + tau))


AUTOMATIC_TOPICS = 40  # the most topics that --topics auto can find


def most_topics(settings: FitSettings) -> int:
    """The most topics that the run can end with; public."""
    return AUTOMATIC_TOPICS if settings.model.topics == "auto" else int(settings.model.topics)


def topic_count(settings: FitSettings, supported: int, most: int) -> int:
    """The topics asked for; for ``--topics auto`` those `supported` by eigenvalues above the noise, all released."""
    if settings.model.topics != "auto":
        return int(settings.model.topics)
    if supported == 0:
        raise UnsupportedByData(
            "the noisy second moment supports no topic at all. Use more documents or a larger epsilon, "
            "or ask for a number of topics."
        )
    return min(supported, most_topics(settings), most)


STARTS = 5  # random starts of each pair, for every topic


def eigenpairs(T: np.ndarray, rng: np.random.Generator) -> EigenPairs:
    """The k pairs of the symmetric T (k, k, k), in NumPy's arrays, by the robust power method."""
    found = robust_power_method(to_device(T), len(T), rng, starts=STARTS * len(T))
    return EigenPairs(to_numpy(found.values), to_numpy(found.vectors), found.iterations, to_numpy(found.residuals))


@dataclass(frozen=True)
class Learned:
    """Released topics (n_topics, n_words), their prevalence, and released facts about the run."""

    topics: np.ndarray
    prevalence: np.ndarray
    documents: float
    facts: Mapping[str, Any] = field(default_factory=dict)


def by_prevalence(
    topics: np.ndarray, prevalence: np.ndarray, documents: float, facts: Mapping[str, Any] | None = None
) -> Learned:
    """Topics as columns (n_words, k) of the simplex, ordered by falling prevalence (k,)."""
    order = np.argsort(-prevalence, kind="stable")
    return Learned(topics.T[order], prevalence[order], documents, facts or {})


def prevalence(values: np.ndarray, alpha0: float) -> np.ndarray:
    """Prevalence (k,) from the whitened M3's values lambda_i = 2 / ((alpha0 + 2) sqrt(w_i)).

    w_i = prevalence_i / (alpha0 + 1) is at most 1 / (alpha0 + 1).
    """
    least = 2 * math.sqrt(alpha0 + 1) / (alpha0 + 2)
    shares = 1 / np.maximum(np.abs(values), least) ** 2
    return np.asarray(shares / shares.sum())


def to_topics(columns: np.ndarray) -> np.ndarray:
    """Unwhitened columns (n_words, k), up to sign and scale, as distributions over words."""
    sums = columns.sum(axis=0)
    safe = np.where(np.abs(sums) > 1e-9, sums, 1e-9)
    return project_to_simplex(columns / safe)
