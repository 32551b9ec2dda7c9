"""The default placement: noise on the subspace, the core, the whitened tensor and the refinement.

size, m          noisy number of units and mean proportions; the mean direction is deflated
X                noisy power rounds X <- orth(E2 X), each unit clipped by its exact norm
core             X' E2 X; its eigenvalues over the noise level say how many topics the data supports
W                whitening from the core alone
T = M3(W, W, W)  noisy whitened tensor, LDA correction, robust tensor power method, unwhitening
refine           private variational rounds started at the spectral topics
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dplda.errors import UnsupportedByData
from dplda.moments import contributions
from dplda.placements.vocabulary import word_scale
from dplda.privacy.curator import Gate, Release, WordFrequencies
from dplda.privacy.plan import Share
from dplda.refine.variational import project_to_simplex, variational_rounds
from dplda.settings import FitSettings
from dplda.spectral.power import noisy_power_method
from dplda.spectral.whitening import (
    Whitening,
    leading_eigenvalues,
    noise_level,
    second_moment,
    third_moment,
)
from dplda.tensor.power import robust_power_method
from dplda.tensor.symmetric import unpack, unpack_matrix

POWER_ROUNDS = 4
REFINE_ROUNDS = 5
OVERSAMPLING = 10  # extra columns of the block beyond the topics asked for
AUTOMATIC_TOPICS = 40  # the most topics that --topics auto can find
MEAN_QUANTILE, PAIRS_QUANTILE, TRIPLES_QUANTILE = 0.5, 0.1, 0.1  # of the units' norms, where clips are placed
REFINE_CLIP = 1.0  # every unit's expected counts are scaled to norm one
DOCUMENT_PRIOR = 0.1  # per topic, of the E-step


@dataclass(frozen=True)
class Learned:
    """Released topics (n_topics, n_words), their prevalence, and released facts about the run."""

    topics: np.ndarray
    prevalence: np.ndarray
    documents: float
    facts: Mapping[str, Any] = field(default_factory=dict)


def shares(public_vocabulary: bool, topics: int | str) -> tuple[Share, ...]:
    """How the run's mu^2 is divided; relative parts.

    The noise of the spectral stages grows with the number of topics k and the refinement's does not: few topics
    need less there and leave more to the refinement.
    """
    spectral = 1.0 if topics == "auto" else min(1.0, int(topics) / 20)
    words = Share("frequency", 0.03) if public_vocabulary else Share("vocabulary", 0.10, selects_words=True)
    return (
        words,
        Share("reach", 0.002),
        Share("size", 0.001),
        Share("mean clip", 0.003),
        Share("mean", 0.03),
        Share("subspace clip", 0.004),
        Share("subspace", 0.38 * spectral, POWER_ROUNDS),
        Share("core clip", 0.004),
        Share("core", 0.07 * spectral),
        Share("tensor clip", 0.004),
        Share("tensor", 0.20 * spectral),
        Share("refine", 0.30, REFINE_ROUNDS),
    )


def learn(gate: Gate, words: WordFrequencies, settings: FitSettings, generator: np.random.Generator) -> Learned:
    """Run every stage after the vocabulary; `generator` draws public starting points only."""
    alpha0, s, d = settings.alpha0, word_scale(words), len(words.words)
    documents = gate.size()
    m = _ask(gate, "mean", contributions.first_moment(s), MEAN_QUANTILE).mean[:, 0]

    X = _subspace(gate, s, m, min(d - 1, most_topics(settings) + OVERSAMPLING), generator)
    core = _ask(gate, "core", contributions.core(s, X), PAIRS_QUANTILE)
    E2, mx = unpack_matrix(core.mean[0], X.shape[1]), X.T @ m
    values, vectors = leading_eigenvalues(second_moment(E2, mx, alpha0))
    noise = noise_level(core.mean_std, X.shape[1])
    supported = int((values > noise).sum())
    k = _automatic(supported, X.shape[1]) if settings.topics == "auto" else int(settings.topics)

    floor = max(noise, 1e-3 * values[0], 1e-12)
    whitening = Whitening(X @ vectors[:, :k], np.maximum(values[:k], floor))
    W = whitening.W
    tensor = _ask(gate, "tensor", contributions.third_moment(s[:, None] * W), TRIPLES_QUANTILE)
    A = X.T @ W
    T = third_moment(unpack(tensor.mean[0], k), A.T @ E2 @ A, W.T @ m, alpha0)
    pairs = robust_power_method(T, k, generator, starts=5 * k)
    spectral = _to_topics(whitening.unwhiten(pairs.values, pairs.vectors, alpha0) / s[:, None])

    parameters = _refine(gate, spectral, _proportions(m / s), documents)
    prevalence = parameters.sum(axis=0) / parameters.sum()
    order = np.argsort(-prevalence, kind="stable")
    facts = {
        "supported_topics": supported,
        "core_eigenvalues": [float(x) for x in values],
        "core_noise_level": noise,
    }
    return Learned((parameters / parameters.sum(axis=0)).T[order], prevalence[order], documents, facts)


def _automatic(supported: int, width: int) -> int:
    """The number of topics for ``--topics auto``: the core's eigenvalues above the noise level, all released."""
    if supported == 0:
        raise UnsupportedByData(
            "the noisy second moment supports no topic at all. Use more documents or a larger epsilon, "
            "or ask for a number of topics."
        )
    return min(supported, AUTOMATIC_TOPICS, width)


def most_topics(settings: FitSettings) -> int:
    """The most topics that the run can end with; public."""
    return AUTOMATIC_TOPICS if settings.topics == "auto" else int(settings.topics)


def _ask(gate: Gate, stage: str, contribution: contributions.Contribution, quantile: float) -> Release:
    return gate.release(stage, contribution, gate.clip(stage, contribution, quantile))


def _subspace(gate: Gate, s: np.ndarray, m: np.ndarray, p: int, generator: np.random.Generator) -> np.ndarray:
    """Orthonormal basis (d, p + 1): the mean direction and p directions found by noisy power rounds."""
    mean_direction = m / max(float(np.linalg.norm(m)), 1e-300)
    clip: list[float] = []

    def multiply(X: np.ndarray) -> np.ndarray:
        contribution = contributions.second_moment_times(s, X)
        if not clip:
            clip.append(gate.clip("subspace", contribution, PAIRS_QUANTILE))
        return gate.release("subspace", contribution, clip[0]).mean

    start = generator.standard_normal((len(s), p))
    X = noisy_power_method(multiply, start, POWER_ROUNDS, away_from=mean_direction)
    return np.asarray(np.linalg.qr(np.column_stack([mean_direction, X]))[0])


def _to_topics(columns: np.ndarray) -> np.ndarray:
    """Unwhitened columns (d, k), up to sign and scale, as distributions over words."""
    sums = columns.sum(axis=0)
    safe = np.where(np.abs(sums) > 1e-9, sums, 1e-9)
    return project_to_simplex(columns / safe)


def _proportions(means: np.ndarray) -> np.ndarray:
    """Noisy mean word proportions as a distribution over the words, (n_words,)."""
    positive = np.maximum(means, 0.0) + 1e-12
    return np.asarray(positive / positive.sum())


def _refine(gate: Gate, topics: np.ndarray, frequencies: np.ndarray, documents: float) -> np.ndarray:
    def expected(weights: np.ndarray) -> tuple[np.ndarray, float]:
        answer = gate.release("refine", contributions.expected_counts(weights, DOCUMENT_PRIOR), REFINE_CLIP)
        return answer.total, answer.std

    start = topics + 0.1 * frequencies[:, None]
    tokens = 5.0 * documents / topics.shape[1]  # a unit's counts have norm one and about this sum
    return variational_rounds(expected, start / start.sum(axis=0), frequencies, REFINE_ROUNDS, strength=tokens)
