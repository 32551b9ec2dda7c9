"""Topics from a prior: whether the prior explains the documents, and which of its topics they contain.

gain           noisy sum of the documents' log-likelihood gains of the prior topics over the corpus's word frequencies
start, refine  noisy sum of the documents' proportions of all prior topics; those with the largest sums are chosen

A prior *explains* the documents if their mean gain exceeds a public threshold by more than its noise (`explains`).
The gain is released first. If it is too small, the prior is about something else: then the default placement spends the
same events on its own stages. A query may be chosen from earlier releases, and no noise depends on the choice, so both
ways have the run's guarantee (docs/privacy.md, T12).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dplda.budget.accountant import Share
from dplda.budget.events import Stage
from dplda.learning import verdicts
from dplda.learning.recovery import Learned, by_prevalence
from dplda.learning.refinement import PULL, seed_distributions
from dplda.learning.settings import FitSettings
from dplda.model.prior_topics import PriorTopics
from dplda.private import Gate, WordFrequencies, statistics
from dplda.private.statistics.expected_counts import LIKELIHOOD_GAIN, MOST_GAIN, TOPIC_PROPORTIONS

STATISTICS = LIKELIHOOD_GAIN, TOPIC_PROPORTIONS

# Least gain of k prior topics, in nats a token: slope * log(k) + intercept, or the minimum. It is midway between text
# about the same things (0.24, 0.76, 1.25 for 5, 20, 80 topics) and other text (-0.6, -0.3, 0.2; docs/design-log.md).
_GAIN_SLOPE, _GAIN_INTERCEPT, _LEAST_GAIN = 0.25, -0.45, 0.05
_SAME = 0.5  # weight in a guided topic from which on a prior topic is taken to be the same
_DEVIATIONS = 3.0  # standard deviations of the noise by which the sum must exceed 0
_SHARE_NORM = 1.0  # largest norm of a document's proportions
_LEAST_WORDS = 2  # common words for each topic, below which the prior is about something else


def shares(public_vocabulary: bool) -> tuple[Share, ...]:
    """The shares of the test of a prior; without a public vocabulary, also of the frequencies of the prior's words."""
    frequencies = () if public_vocabulary else (Share(Stage.FREQUENCY, 0.03), Share(Stage.VOTE_TOTAL, 0.002))
    return *frequencies, Share(Stage.PRIOR_GAIN, 0.01)


def explains(gate: Gate, words: WordFrequencies, prior: PriorTopics, settings: FitSettings) -> bool:
    """Whether the topics of `prior` explain the documents; False, without a release, if it has too few of `words`.

    One noisy sum over documents decides. A document adds its gain minus a public threshold (`_LEAST_GAIN` or more,
    growing with log k for k prior topics). The sum must exceed 0 by `_DEVIATIONS` standard deviations of its noise,
    because it is pure noise if the documents contain none of the words.
    """
    known = set(prior.words)
    common = [index for index, word in enumerate(words.words) if word in known]
    if len(common) < _LEAST_WORDS * int(settings.model.topics):
        return False
    names = tuple(words.words[index] for index in common)
    frequencies = np.maximum(words.frequencies[common], max(words.std, 1e-9))
    least = max(_LEAST_GAIN, _GAIN_SLOPE * math.log(len(prior)) + _GAIN_INTERCEPT)
    reference = frequencies / frequencies.sum() * math.exp(least)
    gate.use_words(names)
    contribution = statistics.likelihood_gain(prior.over(names), settings.model.alpha0 / len(prior), reference)
    answer = gate.release(Stage.PRIOR_GAIN, contribution, MOST_GAIN)
    return float(answer.total[0, 0]) > _DEVIATIONS * answer.std


def choose_topics(
    gate: Gate,
    documents: float,
    words: tuple[str, ...],
    settings: FitSettings,
    stages: tuple[Stage, ...],
) -> Learned:
    """The prior topics that the documents contain most, over `words`, by one noisy sum that spends the `stages`.

    The sum is of the documents' proportions of all prior topics, so that text about another topic does not count for
    the chosen topics.
    """
    prior, seed_words = settings.prior, settings.model.seed_words or {}
    assert prior is not None
    gate.use_words(words)
    topics = _with_guided(prior.over(words), seed_words, words)
    contribution = statistics.topic_proportions(topics, settings.model.alpha0 / topics.shape[1])
    answer = gate.release_jointly(stages, contribution, _SHARE_NORM)
    held, std = answer.total[0], answer.std

    guided, wanted = len(seed_words), int(settings.model.topics)
    order = np.argsort(np.where(np.arange(len(held)) < guided, -np.inf, -held), kind="stable")
    left = np.sort(order[:wanted])
    shares = np.maximum(held, max(std, 1e-9))
    sure = np.append(
        verdicts.of_choice(held[:guided], np.zeros(0), std),
        verdicts.of_choice(held[left[left >= guided]], held[order[wanted:]], std),
    )
    names = [*seed_words, *[""] * (wanted - guided)] if guided else []
    chosen = float(shares[left].sum())
    facts = {"prior_share": chosen / max(chosen, float(np.maximum(held, 0.0).sum()))}
    if settings.series is not None:
        facts["share_std"] = min(std / chosen, 1.0)
    return by_prevalence(
        topics[:, left],
        shares[left] / chosen,
        documents,
        facts,
        verdicts=verdicts.named(sure),
        topic_probabilities=[round(float(p), 4) for p in sure],
        topic_names=names,
    )


def _with_guided(topics: np.ndarray, seed_words: Mapping[str, Sequence[str]], words: tuple[str, ...]) -> np.ndarray:
    """A guided topic for each list of seed words, then the prior `topics` (n_words, a) that none of them replaces.

    A guided topic is a mixture of its seed words and the prior topics. A prior topic's weight in it is proportional to
    the squared mean lift of the seed words in that prior topic. A prior topic with more than half of the weight is
    replaced.
    """
    if not seed_words:
        return topics
    frequencies = topics.mean(axis=1)
    seeds = seed_distributions(seed_words, words, frequencies)
    held = seeds > 0
    weights = (held.T @ (topics / frequencies[:, None]) / held.sum(axis=0)[:, None]) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    mixtures = (1 - PULL) * (topics @ weights.T) + PULL * seeds
    return np.column_stack([mixtures, topics[:, (weights <= _SAME).all(axis=0)]])
