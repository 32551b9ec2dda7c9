"""The default placement: noise on the subspace, the core, the whitened tensor and the refinement.

size, m          noisy number of units and mean proportions; the mean direction is deflated
X                noisy power rounds X <- orth(E2 X), each unit clipped by its exact norm, each row trusted as
                 far as its word's frequency lets it stand above the noise
core             X' E2 X; its eigenvalues over the noise level say how many topics the data supports
W                whitening from the core alone
T = M3(W, W, W)  noisy whitened tensor, LDA correction, robust tensor power method, unwhitening
refine           private variational rounds started at the spectral topics
"""

from __future__ import annotations

import numpy as np

from dplda import statistics
from dplda.accounting.accountant import gaussian_budget
from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage, clip_of
from dplda.config import FitSettings
from dplda.lda.recovery import Learned, by_prevalence, eigenpairs, most_topics, to_topics, topic_count, word_scale
from dplda.lda.refinement import variational_rounds
from dplda.lda.whitening import (
    Whitening,
    leading_eigenvalues,
    noise_level,
    second_moment,
    third_moment,
)
from dplda.mechanisms.curator import Gate, Release, WordFrequencies
from dplda.numerics.threads import one_blas_thread
from dplda.placements.stages import LOW_QUANTILE, StageReleaser, clip_quantile, first_shares
from dplda.spectral.power_method import noisy_power_method
from dplda.statistics.coordinates import unpack, unpack_matrix

POWER_ROUNDS = 3
REFINE_ROUNDS = 4
OVERSAMPLING = 5  # extra columns of the block beyond the topics asked for
MEAN_QUANTILE, REFINE_QUANTILE = 0.5, 0.3  # of the units' norms, where these clips are placed
ROW_NOISE = 0.3  # part of the noise's energy that a row's signal is weighed against
BACKGROUND = 0.005  # of the corpus, mixed into the spectral topics
WORD_POWER, WORD_SIGNAL = 1 / 3, 1000.0  # words are scaled in the refinement by frequency^-power at this signal


def shares(public_vocabulary: bool, topics: int | str) -> tuple[Share, ...]:
    """How the run's mu^2 is divided; relative parts.

    The noise of the spectral stages grows with the number of topics k and the refinement's does not: few topics
    need less there and leave more to the refinement.
    """
    spectral = 1.0 if topics == "auto" else min(1.0, int(topics) / 20)
    return (
        *first_shares(public_vocabulary),
        Share(clip_of(Stage.SUBSPACE), 0.004),
        Share(Stage.SUBSPACE, 0.38 * spectral, POWER_ROUNDS),
        Share(clip_of(Stage.CORE), 0.004),
        Share(Stage.CORE, 0.07 * spectral),
        Share(clip_of(Stage.TENSOR), 0.004),
        Share(Stage.TENSOR, 0.20 * spectral),
        Share(clip_of(Stage.REFINE), 0.004),
        Share(Stage.REFINE, 0.50, REFINE_ROUNDS),
    )


@one_blas_thread()
def learn(gate: Gate, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator) -> Learned:
    """Run every stage after the vocabulary; `rng` draws public starting points only."""
    alpha0, s, d = settings.model.alpha0, word_scale(words), len(words.words)
    documents = gate.size()
    release = StageReleaser(gate, documents)
    m = release(Stage.MEAN, statistics.first_moment(s), MEAN_QUANTILE).mean[:, 0]

    most = most_topics(settings)
    X, last = _subspace(release, words, s, m, min(d - 1, most + OVERSAMPLING), rng)
    core = release(Stage.CORE, statistics.core(s, X), clip_quantile(*_strength(last, most)))
    E2, mx = unpack_matrix(core.mean[0], X.shape[1]), X.T @ m
    values, vectors = leading_eigenvalues(second_moment(E2, mx, alpha0))
    noise = noise_level(core.mean_std, X.shape[1])
    supported = int((values > noise).sum())
    k = topic_count(settings, supported, X.shape[1])

    floor = max(noise, 1e-3 * values[0], 1e-12)
    whitening = Whitening(X @ vectors[:, :k], np.maximum(values[:k], floor))
    W = whitening.W
    tensor = release(Stage.TENSOR, statistics.third_moment(s[:, None] * W), clip_quantile(values[k - 1], noise))
    A = X.T @ W
    T = third_moment(unpack(tensor.mean[0], k), A.T @ E2 @ A, W.T @ m, alpha0)
    pairs = eigenpairs(T, rng)
    spectral = to_topics(whitening.unwhiten(pairs.values, pairs.vectors, alpha0) / s[:, None])

    power = _word_power(documents, k, settings)
    parameters = _refine(release, spectral, alpha0 / k, _proportions(m / s), power)
    prevalence = parameters.sum(axis=0) / parameters.sum()
    facts = {
        "supported_topics": supported,
        "core_eigenvalues": [float(x) for x in values],
        "core_noise_level": noise,
    }
    return by_prevalence(parameters / parameters.sum(axis=0), prevalence, documents, facts)


def _strength(block: Release, topics: int) -> tuple[float, float]:
    """The last singular value of a block (d, p) that topics have beside the mean, and the noise to expect of its core.

    The block's noise has the spectral norm std (sqrt(d) + sqrt(p)); a core of p columns has less than a third of it.
    """
    d, p = block.total.shape
    values, noise = np.linalg.svd(block.mean, compute_uv=False), block.mean_std * (np.sqrt(d) + np.sqrt(p))
    return float(values[min(max(topics - 1, 1), p) - 1]) - noise, noise / 3


def _word_power(documents: float, topics: int, settings: FitSettings) -> float:
    """Exponent of the refinement's word scaling: what has the least l1 noise, less where few words stand above it.

    With scales s the noise of all words together goes with sum(1/s) sqrt(sum(s^2 c^2)), least at s = (c^2)^(-1/3),
    and c^2, of mostly single occurrences, goes with the frequency.
    """
    signal = documents * gaussian_budget(settings.privacy.epsilon, settings.privacy.delta) / topics
    return WORD_POWER * min(1.0, signal / WORD_SIGNAL)


def _subspace(
    release: StageReleaser, words: WordFrequencies, s: np.ndarray, m: np.ndarray, p: int, rng: np.random.Generator
) -> tuple[np.ndarray, Release]:
    """Orthonormal basis (d, p + 1), the mean direction and p directions of noisy power rounds; the last round."""
    mean_direction = m / max(float(np.linalg.norm(m)), 1e-300)
    energy = (s * np.maximum(words.frequencies, 1e-9)) ** 2  # of a word's row of E2 X, up to a factor
    answers: list[Release] = []

    def multiply(X: np.ndarray) -> np.ndarray:
        answers.append(release(Stage.SUBSPACE, statistics.second_moment_times(s, X), LOW_QUANTILE))
        return trusted_rows(answers[-1].mean, answers[-1].mean_std, energy)

    start = rng.standard_normal((len(s), p))
    X = noisy_power_method(multiply, start, POWER_ROUNDS, away_from=mean_direction).components
    return np.asarray(np.linalg.qr(np.column_stack([mean_direction, X]))[0]), answers[-1]


def trusted_rows(Y: np.ndarray, std: float, energy: np.ndarray) -> np.ndarray:
    """Rows of Y (d, p), seen with noise `std`, shrunk by signal / (signal + noise) in energy (Wiener's filter).

    Their signal goes with `energy` (d,), by a factor that makes all rows together as large as they are.
    """
    noise = Y.shape[1] * std**2
    signal = energy * max(float((Y**2).sum() - noise * len(Y)), 0.0) / float(energy.sum())
    return Y * (signal / (signal + ROW_NOISE * noise))[:, None] if signal.any() else Y


def _proportions(means: np.ndarray) -> np.ndarray:
    """Noisy mean word proportions as a distribution over the words, (n_words,)."""
    positive = np.maximum(means, 0.0) + 1e-12
    return np.asarray(positive / positive.sum())


def _refine(
    release: StageReleaser, topics: np.ndarray, prior: float, frequencies: np.ndarray, power: float
) -> np.ndarray:
    scale = (frequencies + 1e-5) ** -power
    scale /= scale.mean()

    def expected(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        answer = release(Stage.REFINE, statistics.expected_counts(weights, prior, scale), REFINE_QUANTILE)
        return answer.total / scale[:, None], answer.std / scale

    start = topics + BACKGROUND * frequencies[:, None]
    return variational_rounds(expected, start / start.sum(axis=0), frequencies, REFINE_ROUNDS)
