"""Topics from pairs of words, for few documents, above all short ones.

size     noisy number of units
m        noisy mean word proportions, averaged with the noisy frequencies of the words
words    the most frequent ones, as many as have pairs that stand out from the noise
E2       noisy second moment of the words, all pairs of words in one release
k        the number of topics requested, or the number of eigenvalues of M2 above the noise level
topics   the mixture of pairs of words that is likeliest given E2 (`dplda.learning.pair_mixture`)

The default placement learns from pairs where its usual stages would find little (`applies`). The usual stages divide
the budget among m and nine other releases, and short documents tell little beyond their pairs. This module spends the
events of all these stages on two releases, m and E2. Released numbers decide which stages run, and the noise of an
event does not depend on the decision, so that a run has the guarantee of its plan either way (docs/privacy.md, sections
4.1, 4.2 and 9.13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dplda.base.config import NO_NOISE
from dplda.learning import verdicts
from dplda.learning.pair_mixture import NoisyPairs, agreement, fit_mixture
from dplda.learning.placements.stages import LOW_QUANTILE, StageReleaser
from dplda.learning.recovery import Learned, by_prevalence, corrected_second_moment, leading_eigenvalues
from dplda.learning.refinement import Guide, seed_distributions
from dplda.learning.settings import FitSettings
from dplda.learning.vocabulary_size import (
    most_paired_words,
    most_topics,
    noise_level,
    run_mu,
    signal_per_topic,
    spectrum_facts,
    supported_words,
    topic_count,
)
from dplda.private import Gate, WordFrequencies, statistics
from dplda.private.statistics.lda_moments import unpack_offsets

_FEW, _FEW_SHORT = 1e3, 3e4  # documents * mu, below which a run has few documents, or few short ones
_SHORT = 10.0  # words of a short document, on average ...
_SPARSE = 0.1  # ... if that is less than this part of all words
_MOST_WORDS = 1000  # whose pairs are counted
_LEAST_FREQUENCY = 1e-4  # of a word, relative to the sum of all


def applies(documents: float, words: WordFrequencies, settings: FitSettings) -> bool:
    """Whether a run over `documents` units of these `words` learns its topics from pairs; all numbers are released.

    False for a batch of a series, because later batches continue the counts of words in topics. Also false for a run
    with so many topics or seed words that fitting their pairs would take minutes (docs/privacy.md, section 9.13).
    """
    many = most_paired_words(documents, settings) + len(settings.model.guiding_words) > _MOST_WORDS
    if settings.model.placement == NO_NOISE or settings.series is not None or many:
        return False
    held = float(words.frequencies.sum())  # words of a document, on average
    short = held < min(_SHORT, _SPARSE * len(words.frequencies))
    return documents * run_mu(settings) < (_FEW_SHORT if short else _FEW)


def learn(
    gate: Gate,
    documents: float,
    words: WordFrequencies,
    settings: FitSettings,
    frequency_stages: Sequence[str],
    pair_stages: Sequence[str],
) -> Learned:
    """Learn topics of `words` from two releases.

    The first spends the events of `frequency_stages`, the second those of `pair_stages`. For the first stage of each
    list, the plan must have an event that chooses the clipping norm.
    """
    release = StageReleaser(gate, documents)
    words = _averaged_frequencies(release, words, frequency_stages)
    words = supported_words(words, most_paired_words(documents, settings), settings)
    gate.use_words(words.words)
    contribution = statistics.second_moment(np.ones(len(words.words)))
    moment = release.jointly(pair_stages, contribution, LOW_QUANTILE)

    share = np.maximum(words.frequencies / max(float(words.frequencies.sum()), 1e-12), _LEAST_FREQUENCY)
    frequencies = share / share.sum()
    E2 = unpack_offsets(moment.total)
    facts = _spectrum(E2, moment.std, frequencies, settings) | {"learned_from": "pairs of words"}
    k = topic_count(settings, facts["supported_topics"], len(frequencies))
    seed_words = settings.model.seed_words or {}
    guided = Guide(seed_distributions(seed_words, words.words, frequencies), np.arange(len(seed_words)))
    pairs = NoisyPairs(E2, moment.std / np.sqrt(2), frequencies)
    alpha0 = settings.model.alpha0
    found = fit_mixture(pairs, k, alpha0, guided)
    halves = [fit_mixture(half, k, alpha0, guided, stream) for stream, half in enumerate(pairs.halves(), start=1)]
    budget = signal_per_topic(documents, k, settings)
    sure = verdicts.of_pairs(found.topics, *agreement(found, halves), words.words, budget)
    names = guided.names(tuple(seed_words), k)
    learned = by_prevalence(found.topics, found.prevalence, documents, facts, topic_names=names, **sure)
    return replace(learned, words=words.words)


def _averaged_frequencies(release: StageReleaser, words: WordFrequencies, stages: Sequence[str]) -> WordFrequencies:
    """The `words` with frequencies averaged with their noisy mean proportions, scaled to the same sum."""
    release.gate.use_words(words.words)
    mean = release.jointly(stages, statistics.first_moment(np.ones(len(words.words))), LOW_QUANTILE)
    scale = max(float(words.frequencies.sum()), words.std) / max(float(mean.total.sum()), mean.std)
    precisions = words.std**-2, (scale * mean.std) ** -2
    averaged = np.average([words.frequencies, scale * mean.total[:, 0]], axis=0, weights=precisions)
    return WordFrequencies(words.words, averaged, sum(precisions) ** -0.5)


def _spectrum(E2: np.ndarray, std: float, frequencies: np.ndarray, settings: FitSettings) -> dict[str, Any]:
    """The `spectrum_facts` (`lda.topic_count`) of M2 of unscaled words, from noisy sums E2 (d, d).

    `std` is the standard deviation of the noise in a diagonal entry. E2 and `std` are first divided by the sum of E2.
    `frequencies` (d,) are the mean m.
    """
    d = len(frequencies)
    total = max(float(E2.sum()), d * std, 1e-12)
    values, _ = leading_eigenvalues(corrected_second_moment(E2 / total, frequencies, settings.model.alpha0))
    return spectrum_facts(values[: min(d, most_topics(settings) + 5)], noise_level(std / total, d))
