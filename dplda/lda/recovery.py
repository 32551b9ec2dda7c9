"""From released numbers to topics: word scale, whitening and unwhitening, number of topics, eigenpairs, prevalence.

Whitening follows Anandkumar et al. 2012 and 2014, with the constants of docs/privacy.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dplda.accounting.accountant import gaussian_budget
from dplda.config import DEFAULTS, NO_NOISE, FitSettings
from dplda.errors import UnsupportedByData
from dplda.mechanisms.curator import WordFrequencies
from dplda.numerics.arrays import to_device, to_numpy
from dplda.released_counts import ReleasedCounts
from dplda.statistics.coordinates import pairings
from dplda.statistics.lda_moments import coefficients
from dplda.tensor.eigenpairs import EigenPairs, robust_power_method

_AUTOMATIC_TOPICS = 40  # maximum number of topics that --topics auto can find
_USUAL_LIMIT = 0.1  # words in a larger share of the documents are left out, unless few words remain
_FEW_WORDS, _RAISED_LIMIT = 250, 0.2  # with fewer words, the subjects themselves are often in more than a tenth
_WORDS_PER_TOPIC = 8  # with fewer words for each topic, words of any frequency are kept
_LEAST_PER_TOPIC, _WORDS_PER_SIGNAL = 10, 2.0  # words that are learned for each topic, and for each unit of signal
_MANY = 40  # topics, from which on the power method takes most of the time of a fit
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
        """Topics (d, r) from eigenpairs of M3(W, W, W): mu_i = ((alpha0 + 2) / 2) lambda_i (W')^+ v_i."""
        return np.asarray((alpha0 + 2) / 2 * (self.basis * np.sqrt(self.values)) @ (vectors * values))


def corrected_second_moment(E2: np.ndarray, m: np.ndarray, alpha0: float) -> np.ndarray:
    """M2 = E2 - alpha0 / (alpha0 + 1) m m', LDA's correction, from (projected) averages E2 (p, p) and m (p,)."""
    return E2 - coefficients(alpha0)[0] * np.outer(m, m)


def corrected_third_moment(E3: np.ndarray, E2: np.ndarray, m: np.ndarray, alpha0: float) -> np.ndarray:
    """M3 = E3 + b P(E2, m) + c3 m^3, LDA's correction, with P as `pairings` and b, c3 as `coefficients`.

    The (projected) averages are E3 (k, k, k), E2 (k, k) and m (k,).
    """
    _, b, c3 = coefficients(alpha0)
    return np.asarray(E3 + b * pairings(E2, m) + c3 * np.einsum("a,b,c->abc", m, m, m))


def leading_eigenvalues(M2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (p,), descending, and the eigenvectors (p, p) of the symmetric M2."""
    values, vectors = np.linalg.eigh((M2 + M2.T) / 2)
    return values[::-1], vectors[:, ::-1]


def noise_level(std: float, p: int) -> float:
    """Expected spectral norm of symmetric Gaussian noise (p, p) of `std` on the diagonal and std / sqrt(2) off it."""
    return float(std * np.sqrt(2 * p))


def chosen_words_needed(settings: FitSettings) -> int:
    """The fewest privately chosen words from which a run learns topics: two for each, or two in all for ``"auto"``."""
    topics = settings.model.topics
    return 2 if topics == "auto" else min(max(2, 2 * int(topics)), settings.vocabulary.max_vocabulary)


def frequency_limit(frequencies: np.ndarray, settings: FitSettings) -> float:
    """The largest document frequency of a modelled word, from noisy `frequencies` (n_words,) of the released words.

    The user's limit; else 0.1, raised up to `_RAISED_LIMIT` until `_FEW_WORDS` words are left, and without bound until
    `_WORDS_PER_TOPIC` words for each topic are.
    """
    limit, topics = settings.vocabulary.max_document_frequency, settings.model.topics
    if limit is not None:
        return limit
    rising = np.sort(frequencies)
    least = _WORDS_PER_TOPIC * (DEFAULTS.model.topics if topics == "auto" else int(topics))
    for_few, for_topics = (float(rising[:words].max(initial=0.0)) for words in (_FEW_WORDS, least))
    return max(_USUAL_LIMIT, min(for_few, _RAISED_LIMIT), for_topics)


def modelled_words(released: WordFrequencies, settings: FitSettings) -> WordFrequencies:
    """The most frequent of the `released` words within the limits of `settings`.

    Raises `UnsupportedByData` if they are too few for the topics, unless a series goes on, whose words are known; the
    message depends on releases alone.
    """
    limit, needed = frequency_limit(released.frequencies, settings), chosen_words_needed(settings)
    kept = np.flatnonzero(released.frequencies <= limit)[: settings.vocabulary.max_vocabulary]
    if len(kept) >= needed or settings.goes_on:
        return WordFrequencies(tuple(released.words[i] for i in kept), released.frequencies[kept], released.std)
    if len(released.words) < needed:
        raise UnsupportedByData(
            f"only {len(released.words)} words passed the private vocabulary threshold, {needed} are needed. "
            "Ask for fewer topics, or use more documents, a larger epsilon, or a public word list (--vocabulary)."
        )
    raise UnsupportedByData(
        f"{len(released.words)} words passed the private vocabulary threshold, but only {len(kept)} of them "
        f"are in at most {limit:.0%} of the documents, {needed} are needed. Raise --max-document-frequency, or ask "
        "for fewer topics."
    )


def most_words(documents: float, settings: FitSettings) -> int:
    """How many words stand out from the noise of a run over `documents` units.

    A word in few documents adds noise and no topic: the quality of topics is best with a number of words proportional
    to documents * mu / topics, for the parameter mu of the run (Gaussian DP; docs/design-log.md).
    """
    topics = int(DEFAULTS.model.topics if settings.model.topics == "auto" else settings.model.topics)
    return math.ceil(max(_LEAST_PER_TOPIC * topics, _WORDS_PER_SIGNAL * signal_per_topic(documents, topics, settings)))


def signal_per_topic(documents: float, topics: int, settings: FitSettings) -> float:
    """The number of documents times mu (Gaussian DP) of the run over that of `topics`."""
    return documents * gaussian_budget(settings.privacy.epsilon, settings.privacy.delta) / topics


def supported_words(words: WordFrequencies, documents: float, settings: FitSettings) -> WordFrequencies:
    """The most frequent of `words`, at most `most_words`, and the seed words, in order; all words without noise."""
    if settings.model.placement == NO_NOISE:
        return words
    guiding = set(settings.model.guiding_words)
    always = [index for index, word in enumerate(words.words) if word in guiding]
    frequent = np.argsort(-words.frequencies, kind="stable")[: most_words(documents, settings)]
    kept = np.union1d(frequent, always).astype(np.int64)
    return WordFrequencies(tuple(words.words[i] for i in kept), words.frequencies[kept], words.std)


def word_scale(words: WordFrequencies) -> np.ndarray:
    """Word scaling s = 1 / sqrt(frequency + tau), (n_words,), with frequencies normalised to sum to one.

    An invertible change of basis that flattens Zipf's law. tau is at least the noise of a frequency, so that words
    whose frequency is mostly noise are not amplified.
    """
    positive = np.maximum(words.frequencies, 0.0)
    total = max(float(positive.sum()), 1e-12)
    tau = max(1e-5, words.std / total)
    return np.asarray(1 / np.sqrt(positive / total + tau))


def most_topics(settings: FitSettings) -> int:
    """The largest number of topics that a run can learn; public."""
    return _AUTOMATIC_TOPICS if settings.model.topics == "auto" else int(settings.model.topics)


def topic_count(settings: FitSettings, supported: int, most: int) -> int:
    """The number of topics requested; for ``--topics auto`` the number `supported` by the data, up to `most`.

    `supported` counts released eigenvalues above the noise level; for ``auto``, raises `UnsupportedByData` if it is 0.
    """
    if settings.model.topics != "auto":
        return int(settings.model.topics)
    if supported == 0:
        raise UnsupportedByData(
            "the noisy second moment supports no topic at all. Use more documents or a larger epsilon, "
            "or ask for a number of topics."
        )
    return min(supported, most_topics(settings), most)


def eigenpairs(T: np.ndarray, rng: np.random.Generator) -> EigenPairs:
    """The k eigenpairs of the symmetric T (k, k, k) by the robust power method, as float64 NumPy arrays.

    From `_MANY` topics on, steps are taken in float32, whose error of about 1e-6 is far below that of any moment.
    """
    dtype, tolerance = (np.float64, 1e-8) if len(T) < _MANY else (np.float32, 1e-6)
    found = robust_power_method(to_device(T.astype(dtype)), len(T), rng, starts=_STARTS * len(T), tolerance=tolerance)
    values, vectors, residuals = (to_numpy(x).astype(float) for x in (found.values, found.vectors, found.residuals))
    return EigenPairs(values, vectors, found.iterations, residuals)


def prevalence(values: np.ndarray, alpha0: float) -> np.ndarray:
    """Prevalence (k,) from the eigenvalues lambda_i = 2 / ((alpha0 + 2) sqrt(w_i)) of the whitened M3.

    w_i = prevalence_i / (alpha0 + 1) is at most 1 / (alpha0 + 1).
    """
    least = 2 * math.sqrt(alpha0 + 1) / (alpha0 + 2)
    shares = 1 / np.maximum(np.abs(values), least) ** 2
    return np.asarray(shares / shares.sum())


def to_topics(columns: np.ndarray) -> np.ndarray:
    """Topics on the simplex from unwhitened columns (n_words, k), which are known up to sign and scale."""
    sums = columns.sum(axis=0)
    safe = np.where(np.abs(sums) > 1e-9, sums, 1e-9)
    return project_to_simplex(columns / safe)


def project_to_simplex(columns: np.ndarray) -> np.ndarray:
    """Euclidean projection of each column (n, r) on the probability simplex (Duchi et al. 2008, Figure 1)."""
    n, r = columns.shape
    columns = columns - columns.max(axis=0)  # does not change the projection, and keeps the sums below exact
    ordered = -np.sort(-columns, axis=0)
    excess = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, n + 1)[:, None]
    support = (ordered > excess).sum(axis=0)
    return np.asarray(np.maximum(columns - excess[support - 1, np.arange(r)], 0.0))


@dataclass(frozen=True)
class Learned:
    """Released topics (n_topics, n_words), their prevalence (n_topics,), and released facts about the run.

    `documents` is the released number of units, or a lower bound on it (configuration 4). `words` (n_words,) are the
    words of the topics, if they are not all that were modelled. `counts` are the counts from which topics were
    estimated, if any were released.
    """

    topics: np.ndarray
    prevalence: np.ndarray
    documents: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] | None = None
    counts: ReleasedCounts | None = None


def by_prevalence(
    topics: np.ndarray,
    prevalence: np.ndarray,
    documents: float,
    facts: Mapping[str, Any] | None = None,
    **per_topic: Sequence[Any],
) -> Learned:
    """Topics given as columns (n_words, k) on the simplex, in descending order of `prevalence` (k,).

    `documents` is the released number of units, or a lower bound on it. Lists of k values in `per_topic` are reordered
    with the topics and added to the `facts`; empty ones are left out.
    """
    order = np.argsort(-prevalence, kind="stable")
    ordered = {fact: [values[topic] for topic in order] for fact, values in per_topic.items() if values}
    return Learned(topics.T[order], prevalence[order], documents, {**(facts or {}), **ordered})
