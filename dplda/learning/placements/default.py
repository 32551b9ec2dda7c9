"""The default placement: noise on the subspace, the core, the whitened tensor and the refinement.

size     noisy number of units
words    the most frequent or most characteristic ones, as many as stand out from the noise
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

Two other ways spend the same events on other stages. `learn_from_pairs` learns from pairs of words where few documents,
or short ones, tell little beyond them (`uses_pairs`). `from_prior` chooses among the topics of a prior, if the prior
explains the documents. Released numbers decide which way a run takes, and the noise of an event does not depend on the
decision, so that a run has the guarantee of its plan either way (docs/privacy.md, T12 and sections 4.1, 4.2 and 9.13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dplda.base.threads import one_blas_thread
from dplda.budget.accountant import Share
from dplda.budget.events import Stage, clip_of
from dplda.learning import verdicts
from dplda.learning.model_size import (
    PAIRED_PER_AUTOMATIC_TOPIC,
    most_paired_words,
    most_topics,
    most_words,
    noise_level,
    run_mu,
    signal_per_topic,
    spectrum_facts,
    supported_words,
    topic_count,
)
from dplda.learning.pair_mixture import NoisyPairs, agreement, fit_mixture
from dplda.learning.placements import from_prior, next_batch
from dplda.learning.placements.registry import Placement
from dplda.learning.placements.stages import (
    LOW_QUANTILE,
    POWER_ROUNDS,
    REFINE_ROUNDS,
    StageReleaser,
    clip_quantile,
    first_shares,
    noisy_counts,
    proportions,
    word_power,
)
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
from dplda.learning.refinement import Guide, guide, seed_distributions, seen_lists, variational_rounds
from dplda.learning.settings import FitSettings
from dplda.model.prior_topics import ReleasedCounts
from dplda.private import Gate, Release, WordFrequencies, statistics
from dplda.private.statistics.expected_counts import EXPECTED_COUNTS
from dplda.private.statistics.lda_moments import unpack, unpack_matrix, unpack_offsets
from dplda.private.statistics.moments import CORE, FIRST_MOMENT, SECOND_MOMENT, SECOND_MOMENT_TIMES
from dplda.private.statistics.third_moment import THIRD_MOMENT

_FREQUENCY_ROUNDS = 1  # of REFINE_ROUNDS; its budget goes to the words' frequencies if pairs of words are counted
# Without noise, rounds cost only time, and a small corpus needs many. Counts are then smoothed, and not averaged.
EXACT_ROUNDS, _EXACT_SMOOTHING = 50, 0.1
_FEW_DOCUMENTS = 40  # times the squared number of topics
OVERSAMPLING = 5  # number of columns in the power rounds beyond the number of topics
MEAN_QUANTILE = 0.5  # quantile of the units' norms that is the clipping norm of m
BACKGROUND = 0.005  # weight of the corpus's word frequencies in the topics that the refinement starts from
_ROW_NOISE = 0.3  # factor on the energy of the noise in the filter of rows; below 1, rows are shrunk less

# Of pairs of words.
_FEW, _FEW_SHORT = 3e3, 3e4  # documents * mu, below which a run has few documents, or few short ones
_SHORT = 10.0  # words of a short document, on average ...
_SPARSE = 0.1  # ... if that is less than this part of all words
_MOST_PAIRED, _MOST_TOPICS = 1000, 100  # words whose pairs are counted, and topics of a mixture of pairs
_LEAST_FREQUENCY = 1e-4  # of a word, relative to the sum of all


def shares(
    public_vocabulary: bool, topics: int | str, refine_rounds: int = REFINE_ROUNDS, *, with_prior: bool = False
) -> tuple[Share, ...]:
    """Return the stages of a run with their parts of its mu^2; at most `refine_rounds` rounds of the refinement.

    With a prior, there are also the shares of its test; without a public vocabulary, the test includes the frequencies
    of the prior's words.

    Only the noise of the spectral stages grows with the number of topics, and not the noise of the refinement.
    Therefore the spectral stages get less for fewer than 20 topics.
    """
    spectral = 1.0 if topics == "auto" else min(1.0, int(topics) / 20)
    subspace, core, tensor = _spectral_stages(with_prior)
    prior: tuple[Share, ...] = ()
    if with_prior:
        words = () if public_vocabulary else (Share(Stage.FREQUENCY, 0.03), Share(Stage.VOTE_TOTAL, 0.002))
        prior = *words, Share(Stage.PRIOR_GAIN, 0.08, 2)
    return (
        *first_shares(public_vocabulary),
        *prior,
        Share(clip_of(subspace), 0.004),
        Share(subspace, 0.38 * spectral, POWER_ROUNDS),
        Share(clip_of(core), 0.004),
        Share(core, 0.07 * spectral),
        Share(clip_of(tensor), 0.004),
        Share(tensor, 0.20 * spectral),
        Share(clip_of(Stage.REFINE), 0.004),
        Share(Stage.REFINE, 0.50, refine_rounds),
    )


def _spectral_stages(with_prior: bool) -> tuple[Stage, Stage, Stage]:
    """Return the names of the stages of the subspace, the core and the tensor.

    With a prior, all are named ``start``, because `from_prior` spends their events if the prior explains the
    documents.
    """
    return (Stage.START,) * 3 if with_prior else (Stage.SUBSPACE, Stage.CORE, Stage.TENSOR)


@one_blas_thread()
def learn(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size (`documents`) and the vocabulary; `rng` draws public starting points only.

    For few documents `learn_from_pairs` takes the place of these stages.
    """
    way = learn_from_pairs if uses_pairs(documents, words, settings) else learn_from_moments
    return way(gate, documents, words, settings, rng)


def learn_from_moments(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage of the list above after the words."""
    subspace_stage, core_stage, tensor_stage = _spectral_stages(settings.prior is not None)
    words = supported_words(words, most_words(documents, settings), settings)
    gate.use_words(words.words)
    alpha0, s, d = settings.model.alpha0, word_scale(words), len(words.words)
    most = most_topics(settings)
    release = StageReleaser(gate, documents)
    m = release(Stage.MEAN, statistics.first_moment(s), MEAN_QUANTILE).mean[:, 0]

    X, last_round = _subspace(release, subspace_stage, words, s, m, min(d - 1, most + OVERSAMPLING), rng)
    core = release(core_stage, statistics.core(s, X), clip_quantile(*_signal_and_noise(last_round, most)))
    E2, noise = unpack_matrix(core.mean[0], X.shape[1]), noise_level(core.mean_std, X.shape[1])
    values, vectors = leading_eigenvalues(corrected_second_moment(E2, X.T @ m, alpha0))
    facts = spectrum_facts(values, noise)
    k = topic_count(settings, facts["supported_topics"], X.shape[1])

    floor = max(noise, 1e-3 * values[0], 1e-12)
    whitening = Whitening(X @ vectors[:, :k], np.maximum(values[:k], floor))
    W = whitening.W
    tensor = release(tensor_stage, statistics.third_moment(s[:, None] * W), clip_quantile(values[k - 1], noise))
    A = X.T @ W
    T = corrected_third_moment(unpack(tensor.mean[0], k), A.T @ E2 @ A, W.T @ m, alpha0)
    pairs = eigenpairs(T, rng)
    topics = to_topics(whitening.unwhiten(pairs.values, pairs.vectors, alpha0) / s[:, None])

    frequencies = proportions(m / s)
    start = topics + BACKGROUND * frequencies[:, None]
    start /= start.sum(axis=0)
    seen, unseen = seen_lists(settings.model.seed_words, words.words, words.frequencies, words.std)
    guided, facts = guide(seen, words.words, frequencies, start), facts | unseen
    start = guided.start(start)
    power = word_power(documents, k, settings)
    expected = guided.pull(noisy_counts(release, alpha0 / k, frequencies, power))
    if settings.model.noiseless and documents < _FEW_DOCUMENTS * k**2:  # the rounds that ordinary inference needs
        refined = variational_rounds(expected, start, frequencies, EXACT_ROUNDS, memory=0.0, smoothing=_EXACT_SMOOTHING)
    else:
        refined = variational_rounds(expected, start, frequencies, REFINE_ROUNDS)

    tokens, budget = float(words.frequencies.sum()), signal_per_topic(documents, k, settings)
    size = verdicts.RunSize(words.words, tokens, budget, facts["supported_topics"])
    sure = verdicts.of_refinement(refined, start, frequencies, size, guided=guided.columns)
    if settings.series is not None:
        facts |= {"share_std": min(refined.sums.shares[1], 1.0)}
    counts = guided.counts(refined.counts)
    sizes, names = counts.sum(axis=0), guided.names(tuple(seen), k)
    learned = by_prevalence(counts / sizes, sizes / sizes.sum(), documents, facts, topic_names=names, **sure)
    released = refined.sums.of_topics(np.argsort(-sizes, kind="stable"))
    std = np.full(len(words.words), words.std)
    return replace(learned, words=words.words, counts=ReleasedCounts(released, words.frequencies, std))


def _subspace(
    release: StageReleaser,
    stage: Stage,
    words: WordFrequencies,
    s: np.ndarray,
    m: np.ndarray,
    p: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, Release]:
    """Return orthonormal X (d, p + 1), and the release of the last round's E2 X (d, p), whose rows are not shrunk.

    X contains the direction of the noisy mean `m` (d,), then p directions of power rounds. `s` (d,) is the word scale.
    """
    mean_direction = m / max(float(np.linalg.norm(m)), 1e-300)
    energy = (s * np.maximum(words.frequencies, 1e-9)) ** 2  # energy of a word's row of E2 X, up to a common factor
    rounds: list[Release] = []

    def multiply(X: np.ndarray) -> np.ndarray:
        """Return E2 X with rows scaled by signal / (signal + `_ROW_NOISE` * noise), a weak Wiener filter.

        The signals of the rows are proportional to their `energy` and sum to the squared norm of E2 X less the squared
        norm of its noise.
        """
        answer = release(stage, statistics.second_moment_times(s, X), LOW_QUANTILE)
        rounds.append(answer)
        Y, noise = answer.mean, X.shape[1] * answer.mean_std**2
        signal = energy * max(float((Y**2).sum() - noise * len(Y)), 0.0) / float(energy.sum())
        return Y * (signal / (signal + _ROW_NOISE * noise))[:, None] if signal.any() else Y

    start = rng.standard_normal((len(s), p))
    X = noisy_power_method(multiply, start, POWER_ROUNDS, away_from=mean_direction).components
    return np.asarray(np.linalg.qr(np.column_stack([mean_direction, X]))[0]), rounds[-1]


def _signal_and_noise(block: Release, topics: int) -> tuple[float, float]:
    """Return estimates of the core's signal and noise, from the release of the last round's `block` E2 X (d, p).

    The block's noise has spectral norm std (sqrt(d) + sqrt(p)). The signal is the block's (`topics` - 1)-th singular
    value less that norm: the block leaves out the direction of the mean, which stands for one topic. The noise is a
    third of that norm, an upper estimate for the core's.
    """
    d, p = block.total.shape
    values, noise = np.linalg.svd(block.mean, compute_uv=False), block.mean_std * (np.sqrt(d) + np.sqrt(p))
    return float(values[min(max(topics - 1, 1), p) - 1]) - noise, noise / 3


def uses_pairs(documents: float, words: WordFrequencies, settings: FitSettings) -> bool:
    """Return whether a run over `documents` units of these `words` learns from pairs; all numbers are released.

    False for a batch of a series, because later batches continue the counts of words in topics. Also false for a run
    with so many topics or seed words that fitting their pairs would take minutes (docs/privacy.md, section 9.13).
    """
    paired = most_paired_words(documents, settings) + len(settings.model.guiding_words)
    many = paired > _MOST_PAIRED or most_topics(settings) > _MOST_TOPICS
    if settings.model.noiseless or settings.series is not None or many:
        return False
    held = float(words.frequencies.sum())  # words of a document, on average
    short = held < min(_SHORT, _SPARSE * len(words.frequencies))
    return documents * run_mu(settings) < (_FEW_SHORT if short else _FEW)


def learn_from_pairs(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Learn topics of `words` from two releases, which spend the events of `learn_from_moments`; `rng` is not used.

    m        noisy mean word proportions, averaged with the noisy frequencies of the words
    words    the most frequent ones, as many as have pairs that stand out from the noise
    E2       noisy second moment of the words, all pairs of words in one release
    k        the number of topics requested, or the number of eigenvalues of M2 above the noise level
    topics   the mixture of pairs of words that is likeliest given E2 (`dplda.learning.pair_mixture`)
    """
    subspace, core, tensor = _spectral_stages(settings.prior is not None)
    frequency_stages = [Stage.MEAN, *[Stage.REFINE] * _FREQUENCY_ROUNDS]
    pair_stages = [
        *[subspace] * POWER_ROUNDS,  # first, because the plan has an event for its clipping norm
        core,
        tensor,
        *[Stage.REFINE] * (REFINE_ROUNDS - _FREQUENCY_ROUNDS),
        *[clip_of(stage) for stage in (core, tensor, Stage.REFINE)],
    ]
    release = StageReleaser(gate, documents)
    words = _averaged_frequencies(release, words, frequency_stages)
    words = supported_words(words, most_paired_words(documents, settings), settings)
    gate.use_words(words.words)
    d = len(words.words)
    moment = release.jointly(pair_stages, statistics.second_moment(np.ones(d)), LOW_QUANTILE)
    E2 = unpack_offsets(moment.total)

    share = np.maximum(words.frequencies / max(float(words.frequencies.sum()), 1e-12), _LEAST_FREQUENCY)
    frequencies = share / share.sum()
    alpha0, total = settings.model.alpha0, max(float(E2.sum()), d * moment.std, 1e-12)
    values, _ = leading_eigenvalues(corrected_second_moment(E2 / total, frequencies, alpha0))
    facts = spectrum_facts(values[: min(d, most_topics(settings) + 5)], noise_level(moment.std / total, d))
    facts |= {"learned_from": "pairs of words"}
    k = topic_count(settings, facts["supported_topics"], max(1, d // PAIRED_PER_AUTOMATIC_TOPIC))

    seen, unseen = seen_lists(settings.model.seed_words, words.words, words.frequencies, words.std)
    guided, facts = Guide(seed_distributions(seen, words.words, frequencies), np.arange(len(seen))), facts | unseen
    pairs = NoisyPairs(E2, moment.std / np.sqrt(2), frequencies)
    found = fit_mixture(pairs, k, alpha0, guided)
    halves = [fit_mixture(half, k, alpha0, guided, stream) for stream, half in enumerate(pairs.halves(), start=1)]
    tokens, budget = float(words.frequencies.sum()), signal_per_topic(documents, k, settings)
    size = verdicts.RunSize(words.words, tokens, budget, facts["supported_topics"])
    sure = verdicts.of_pairs(found, *agreement(found, halves), size, guided.columns)
    names = guided.names(tuple(seen), k)
    learned = by_prevalence(found.topics, found.prevalence, documents, facts, topic_names=names, **sure)
    return replace(learned, words=words.words)


def _averaged_frequencies(release: StageReleaser, words: WordFrequencies, stages: Sequence[str]) -> WordFrequencies:
    """Return the `words` with frequencies averaged with their noisy mean proportions, scaled to the same sum."""
    release.gate.use_words(words.words)
    mean = release.jointly(stages, statistics.first_moment(np.ones(len(words.words))), LOW_QUANTILE)
    scale = max(float(words.frequencies.sum()), words.std) / max(float(mean.total.sum()), mean.std)
    precisions = words.std**-2, (scale * mean.std) ** -2
    averaged = np.average([words.frequencies, scale * mean.total[:, 0]], axis=0, weights=precisions)
    return replace(words, frequencies=averaged, std=sum(precisions) ** -0.5)


def _shares_of_run(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
    if settings.continues_series:
        return next_batch.shares(public_vocabulary)
    rounds = EXACT_ROUNDS if settings.model.noiseless else REFINE_ROUNDS
    return shares(public_vocabulary, settings.model.topics, rounds, with_prior=settings.prior is not None)


_STATISTICS = EXPECTED_COUNTS, THIRD_MOMENT, CORE, SECOND_MOMENT_TIMES, FIRST_MOMENT  # slow to compile first

PLACEMENT = Placement(
    shares=_shares_of_run,
    learn=learn,
    learn_from_prior=from_prior.learn_from_prior,
    learn_next=next_batch.learn,
    statistics=(*_STATISTICS, SECOND_MOMENT),
    takes_seed_words=True,
    compares_words=True,
)
WITHOUT_NOISE = replace(
    PLACEMENT,
    statistics=_STATISTICS,
    noiseless=True,
    compares_words=False,
    reason="NOT PRIVATE: exact statistics, no noise at all",
)
