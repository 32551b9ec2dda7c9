"""The default placement: noise on the subspace, the core, the whitened tensor and the refinement.

size     noisy number of units
words    the most frequent ones, as many as stand out from the noise
m        noisy mean word proportions
X        the direction of m, and a subspace orthogonal to it by noisy power rounds X <- orth(E2 X); each unit is clipped
         by the exact norm of its own part of E2 X, and rows of E2 X are shrunk as far as noise is expected to dominate
         them
core     noisy X' E2 X; with LDA's correction it is X' M2 X
k        the number of topics requested, or the number of eigenvalues of X' M2 X above the noise level
W        whitening by the k leading eigenpairs of X' M2 X
T        noisy E3(W, W, W) with LDA's correction
topics   eigenpairs of T by the robust tensor power method, unwhitened
counts   noisy variational rounds that start at these topics; they give the final topics and their prevalence

Words are scaled by 1 / sqrt(frequency) before the refinement, which has a scaling of its own. DeCarolis et al. 2020
have neither the subspace nor the refinement.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dplda.base.config import NO_NOISE
from dplda.base.threads import one_blas_thread
from dplda.budget.accountant import Share
from dplda.budget.events import Stage, clip_of
from dplda.learning import verdicts
from dplda.learning.placements import from_pairs, prior_start
from dplda.learning.placements.stages import LOW_QUANTILE, StageReleaser, clip_quantile, first_shares
from dplda.learning.power_method import noisy_power_method
from dplda.learning.recovery import (
    Learned,
    Whitening,
    by_prevalence,
    corrected_second_moment,
    corrected_third_moment,
    eigenpairs,
    leading_eigenvalues,
    to_topics,
    word_scale,
)
from dplda.learning.refinement import ExpectedCounts, Guide, Refined, guide, variational_rounds
from dplda.learning.settings import FitSettings
from dplda.learning.vocabulary_size import (
    most_topics,
    most_words,
    noise_level,
    signal_per_topic,
    spectrum_facts,
    supported_words,
    topic_count,
)
from dplda.model.prior_topics import ReleasedCounts
from dplda.private import Gate, Release, WordFrequencies, statistics
from dplda.private.statistics.lda_moments import unpack, unpack_matrix

POWER_ROUNDS = 3
REFINE_ROUNDS = 4
_FREQUENCY_ROUNDS = 1  # of REFINE_ROUNDS, whose budget goes to the words' frequencies if pairs of words are counted
# Without noise, rounds cost only time, and a small corpus needs many. Counts are then smoothed, and not averaged.
EXACT_ROUNDS, _EXACT_SMOOTHING = 50, 0.1
_FEW_DOCUMENTS = 40  # times the squared number of topics
OVERSAMPLING = 5  # number of columns in the power rounds beyond the number of topics
MEAN_QUANTILE, REFINE_QUANTILE = 0.5, 0.3  # quantiles of unit norms: the clipping norms of m and the refinement
BACKGROUND = 0.005  # weight of the corpus's word frequencies in the topics that the refinement starts from
_ROW_NOISE = 0.3  # factor on the energy of the noise in the filter of rows; below 1, rows are shrunk less
_WORD_POWER, _WORD_SIGNAL = 1 / 3, 1000.0  # largest exponent of the refinement's word scaling; signal that reaches it


class _SpectralStages(NamedTuple):
    """The names of the spectral stages."""

    subspace: Stage
    core: Stage
    tensor: Stage


def _spectral_stages(with_prior: bool) -> _SpectralStages:
    if with_prior:
        return _SpectralStages(Stage.START, Stage.START, Stage.START)
    return _SpectralStages(Stage.SUBSPACE, Stage.CORE, Stage.TENSOR)


def shares(
    public_vocabulary: bool, topics: int | str, refine_rounds: int = REFINE_ROUNDS, *, with_prior: bool = False
) -> tuple[Share, ...]:
    """The stages of a run with their parts of its mu^2; at most `refine_rounds` rounds of the refinement.

    With a prior, all spectral stages are named ``start``, because `prior_start` spends their events if the prior
    explains the documents.

    Only the noise of the spectral stages grows with the number of topics, and not the noise of the refinement.
    Therefore the spectral stages get less for fewer than 20 topics.
    """
    spectral = 1.0 if topics == "auto" else min(1.0, int(topics) / 20)
    stages = _spectral_stages(with_prior)
    return (
        *first_shares(public_vocabulary),
        *(prior_start.shares(public_vocabulary) if with_prior else ()),
        Share(clip_of(stages.subspace), 0.004),
        Share(stages.subspace, 0.38 * spectral, POWER_ROUNDS),
        Share(clip_of(stages.core), 0.004),
        Share(stages.core, 0.07 * spectral),
        Share(clip_of(stages.tensor), 0.004),
        Share(stages.tensor, 0.20 * spectral),
        Share(clip_of(Stage.REFINE), 0.004),
        Share(Stage.REFINE, 0.50, refine_rounds),
    )


@one_blas_thread()
def learn(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size (`documents`) and the vocabulary; `rng` draws public starting points only.

    For few documents `from_pairs` takes the place of these stages, and spends their events on two releases.
    """
    if from_pairs.applies(documents, words, settings):
        return learn_from_pairs(gate, documents, words, settings, rng)
    return learn_from_moments(gate, documents, words, settings, rng)


def learn_from_pairs(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """`from_pairs.learn` with the events of `learn_from_moments`; nothing is drawn from `rng`."""
    subspace, core, tensor = _spectral_stages(settings.prior is not None)
    refine = [Stage.REFINE] * REFINE_ROUNDS
    frequencies, pairs = refine[:_FREQUENCY_ROUNDS], refine[_FREQUENCY_ROUNDS:]
    clips = [clip_of(stage) for stage in (core, tensor, Stage.REFINE)]
    stages = [subspace] * POWER_ROUNDS + [core, tensor, *pairs, *clips]
    return from_pairs.learn(gate, documents, words, settings, [Stage.MEAN, *frequencies], stages)


def learn_from_moments(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage of the list above after the words."""
    stages = _spectral_stages(settings.prior is not None)
    words = supported_words(words, most_words(documents, settings), settings)
    gate.use_words(words.words)
    alpha0, s, d = settings.model.alpha0, word_scale(words), len(words.words)
    most = most_topics(settings)
    release = StageReleaser(gate, documents)
    m = release(Stage.MEAN, statistics.first_moment(s), MEAN_QUANTILE).mean[:, 0]

    X, last_round = _subspace(release, stages.subspace, words, s, m, min(d - 1, most + OVERSAMPLING), rng)
    core = release(stages.core, statistics.core(s, X), clip_quantile(*_signal_and_noise(last_round, most)))
    E2, noise = unpack_matrix(core.mean[0], X.shape[1]), noise_level(core.mean_std, X.shape[1])
    values, vectors = leading_eigenvalues(corrected_second_moment(E2, X.T @ m, alpha0))
    facts = spectrum_facts(values, noise)
    k = topic_count(settings, facts["supported_topics"], X.shape[1])

    floor = max(noise, 1e-3 * values[0], 1e-12)
    whitening = Whitening(X @ vectors[:, :k], np.maximum(values[:k], floor))
    W = whitening.W
    tensor = release(stages.tensor, statistics.third_moment(s[:, None] * W), clip_quantile(values[k - 1], noise))
    A = X.T @ W
    T = corrected_third_moment(unpack(tensor.mean[0], k), A.T @ E2 @ A, W.T @ m, alpha0)
    pairs = eigenpairs(T, rng)
    topics = to_topics(whitening.unwhiten(pairs.values, pairs.vectors, alpha0) / s[:, None])

    frequencies = proportions(m / s)
    start = _started(topics, frequencies)
    guided = guide(settings.model.seed_words or {}, words.words, frequencies, start)
    start = guided.started(start)
    exact = settings.model.placement == NO_NOISE and documents < _FEW_DOCUMENTS * k**2
    power = word_power(documents, k, settings)
    refined = _refine(release, start, alpha0 / k, frequencies, power, guided, until_converged=exact)
    sure = verdicts.of_refinement(refined, start, frequencies, words.words, signal_per_topic(documents, k, settings))
    if settings.series is not None:
        facts |= {"share_std": min(refined.sums.shares[1], 1.0)}
    counts = guided.counts(refined.counts)
    sizes, names = counts.sum(axis=0), guided.names(tuple(settings.model.seed_words or ()), k)
    learned = by_prevalence(counts / sizes, sizes / sizes.sum(), documents, facts, topic_names=names, **sure)
    released = refined.sums.of_topics(np.argsort(-sizes, kind="stable"))
    std = np.full(len(words.words), words.std)
    return replace(learned, words=words.words, counts=ReleasedCounts(released, words.frequencies, std))


def learn_from_prior(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """The prior topics that the documents contain most, over `words`, for a prior that explains the documents.

    Spends the events that `learn` would spend on its own stages.
    """
    stages = (Stage.START,) * (POWER_ROUNDS + 2) + (Stage.REFINE,) * REFINE_ROUNDS
    return prior_start.choose_topics(gate, documents, words.words, settings, stages)


def _subspace(
    release: StageReleaser,
    stage: Stage,
    words: WordFrequencies,
    s: np.ndarray,
    m: np.ndarray,
    p: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, Release]:
    """Orthonormal X (d, p + 1), and the release of the last round's E2 X (d, p), whose rows are not shrunk.

    X contains the direction of the noisy mean `m` (d,), then p directions of power rounds. `s` (d,) is the word scale.
    """
    mean_direction = m / max(float(np.linalg.norm(m)), 1e-300)
    energy = (s * np.maximum(words.frequencies, 1e-9)) ** 2  # energy of a word's row of E2 X, up to a common factor
    rounds: list[Release] = []

    def multiply(X: np.ndarray) -> np.ndarray:
        rounds.append(release(stage, statistics.second_moment_times(s, X), LOW_QUANTILE))
        return _shrunk_rows(rounds[-1].mean, rounds[-1].mean_std, energy)

    start = rng.standard_normal((len(s), p))
    X = noisy_power_method(multiply, start, POWER_ROUNDS, away_from=mean_direction).components
    return np.asarray(np.linalg.qr(np.column_stack([mean_direction, X]))[0]), rounds[-1]


def _shrunk_rows(Y: np.ndarray, std: float, energy: np.ndarray) -> np.ndarray:
    """Y (d, p) with noise of `std`, rows scaled by signal / (signal + `_ROW_NOISE` * noise): a weak Wiener filter.

    The signals of the rows are proportional to `energy` (d,) and sum to the squared norm of Y less the squared norm of
    its noise.
    """
    noise = Y.shape[1] * std**2
    signal = energy * max(float((Y**2).sum() - noise * len(Y)), 0.0) / float(energy.sum())
    return Y * (signal / (signal + _ROW_NOISE * noise))[:, None] if signal.any() else Y


def _signal_and_noise(block: Release, topics: int) -> tuple[float, float]:
    """Estimates of the core's signal and noise, from the release of the last round's `block` E2 X (d, p).

    The block's noise has spectral norm std (sqrt(d) + sqrt(p)). The signal is the block's (`topics` - 1)-th singular
    value less that norm: the block leaves out the direction of the mean, which stands for one topic. The noise is a
    third of that norm, an upper estimate for the core's.
    """
    d, p = block.total.shape
    values, noise = np.linalg.svd(block.mean, compute_uv=False), block.mean_std * (np.sqrt(d) + np.sqrt(p))
    return float(values[min(max(topics - 1, 1), p) - 1]) - noise, noise / 3


def proportions(means: np.ndarray) -> np.ndarray:
    """Noisy mean word proportions as a distribution over the words, (n_words,)."""
    positive = np.maximum(means, 0.0) + 1e-12
    return np.asarray(positive / positive.sum())


def word_power(documents: float, topics: int, settings: FitSettings) -> float:
    """The exponent p of the refinement's word scaling s = frequency^-p, at most 1/3.

    The l1 error that noise causes is proportional to sum(1/s) sqrt(sum(s^2 c^2)) for a word's mean squared count c^2 in
    a document. It is least at s = (c^2)^(-1/3). Most words occur once in a document, so c^2 is proportional to the
    frequency. The exponent is smaller where few words stand above the noise.
    """
    return _WORD_POWER * min(1.0, signal_per_topic(documents, topics, settings) / _WORD_SIGNAL)


def _started(topics: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """The topics (n_words, k) from which the refinement starts: spectral `topics` mixed with word `frequencies`."""
    start = topics + BACKGROUND * frequencies[:, None]
    return np.asarray(start / start.sum(axis=0))


def noisy_counts(release: StageReleaser, prior: float, frequencies: np.ndarray, power: float) -> ExpectedCounts:
    """A function that releases the expected word-topic counts of topics, and the standard deviation of their noise.

    It maps topics (n_words, k) to noisy counts (n_words, k) and standard deviations (n_words,); each call is one
    release. `prior` is each topic's Dirichlet parameter. Words are scaled by frequency^-`power` (`word_power`) for the
    release.
    """
    scale = (frequencies + 1e-5) ** -power
    scale /= scale.mean()

    def expected(topics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        answer = release(Stage.REFINE, statistics.expected_counts(topics, prior, scale), REFINE_QUANTILE)
        return answer.total / scale[:, None], answer.std / scale

    return expected


def _refine(
    release: StageReleaser,
    start: np.ndarray,
    prior: float,
    frequencies: np.ndarray,
    power: float,
    guided: Guide,
    *,
    until_converged: bool,
) -> Refined:
    """Noisy variational rounds from the topics `start` (n_words, k); `prior` is each topic's Dirichlet parameter.

    `until_converged` is for few documents without noise: as many rounds as ordinary variational inference needs.
    """
    expected = guided.pulled(noisy_counts(release, prior, frequencies, power))
    if until_converged:
        return variational_rounds(expected, start, frequencies, EXACT_ROUNDS, memory=0.0, smoothing=_EXACT_SMOOTHING)
    return variational_rounds(expected, start, frequencies, REFINE_ROUNDS)
