"""Topics from a prior: the default placement of documents that known topics explain.

present  words and topics of the prior that the documents hardly contain are left out, by the released frequencies of
         words, and topics that become alike are merged
gain     two noisy sums over documents say whether these topics explain the documents (`explains`)
choice   one noisy sum, of the documents' proportions of all these topics, spends the events of `default.learn`; the
         topics with the largest sums are chosen

All topics are functions of the prior and of released frequencies (docs/privacy.md, T12 and 9.9).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dplda.budget.events import Stage
from dplda.learning import verdicts
from dplda.learning.placements.stages import POWER_ROUNDS, REFINE_ROUNDS
from dplda.learning.recovery import Learned, by_prevalence
from dplda.learning.refinement import PULL, seed_distributions
from dplda.learning.settings import FitSettings
from dplda.learning.word_choice import posterior_means
from dplda.model.prior_topics import PriorTopics
from dplda.private import Gate, Release, WordFrequencies, statistics
from dplda.private.statistics.expected_counts import LIKELIHOOD_GAIN, MOST_GAIN, TOPIC_PROPORTIONS

STATISTICS = LIKELIHOOD_GAIN, TOPIC_PROPORTIONS

# The least gain of prior topics, in nats a token: for text about the same things it is 0.3 to 0.5, for other text up to
# 0.2 (docs/design-log.md).
_LEAST_GAIN = 0.3
_GAIN_DEVIATIONS = 3.0  # standard deviations of the noise by which the sum of gains must exceed 0
# The least gain over topics of which the words were exchanged, in nats a token: for text about the same things it is
# 0.13 to 0.47, for other text up to 0.16 and mostly below 0.1 (docs/design-log.md).
_LEAST_OVER_EXCHANGED = 0.12
_OVER_DEVIATIONS = 2.0  # as _GAIN_DEVIATIONS, of the difference of the two sums
_LEAST_COMMON_WORDS = 2  # for each topic; with fewer, the prior is about something else
_ABSENT = 0.1  # of a word's frequency in the prior, and of a topic's words; with less, it is left out
_ALIKE = 0.9  # least cosine of topics that are merged
_SAME = 0.5  # a prior topic is the same as a guided topic if it has at least this weight in it
_SHARE_NORM = 1.0  # largest norm of a document's proportions


@dataclass(frozen=True, eq=False)
class PresentTopics:
    """The topics of a prior without words and topics that the documents hardly contain."""

    words: tuple[str, ...]
    topics: np.ndarray
    """(n_words, a), positive columns on the simplex."""
    frequencies: np.ndarray
    """The estimated probability of each word in the documents, (n_words,), positive; they sum to one."""


def present(prior: PriorTopics, words: WordFrequencies, always: Collection[str] = ()) -> PresentTopics:
    """Return what the documents contain of `prior`, by the released frequencies of `words`.

    A word's frequency in the documents is the posterior mean given its noisy value, with the one in the prior's topics
    together in the place of general text (`posterior_means`). Left out are words that the documents have less than
    `_ABSENT` times as often as the prior, unless they are in `always`, and topics that consist of such words. Topics
    whose cosine is then at least `_ALIKE` are merged.
    """
    known = set(prior.words)
    words = words.at(np.array([index for index, word in enumerate(words.words) if word in known], dtype=np.int64))
    topics = prior.over(words.words)
    expected = topics.mean(axis=1)
    found = expected
    if words.std > 0 and (words.frequencies > 0).any():
        counts = posterior_means(replace(words, language=expected))[1]
        found = counts / counts.sum()
    kept = (found >= _ABSENT * expected) | np.isin(words.words, list(always))
    left = np.flatnonzero(topics[kept].sum(axis=0) >= _ABSENT)
    topics, found = topics[np.ix_(kept, left)], found[kept]
    names = tuple(word for word, keep in zip(words.words, kept, strict=True) if keep)
    return PresentTopics(names, _merged(topics / topics.sum(axis=0)), found / found.sum())


def _merged(topics: np.ndarray) -> np.ndarray:
    """Return the mean of each group of `topics` (n_words, a) that are alike, in the order of their first members."""
    if topics.size == 0:
        return topics
    unit = topics / np.linalg.norm(topics, axis=0)
    first = (unit.T @ unit >= _ALIKE).argmax(axis=1)  # the first topic that is like this one
    return np.column_stack([topics[:, first == group].mean(axis=1) for group in np.unique(first)])


def explains(gate: Gate, words: WordFrequencies, prior: PriorTopics, settings: FitSettings) -> bool:
    """Return whether the topics of `prior` explain the documents; False, unreleased, if too little of it is left.

    A noisy sum over documents says how much better the `present` topics predict every second token of a document from
    the others than the frequencies of the words do. A document adds its gain minus `_LEAST_GAIN`. The sum must exceed 0
    by `_GAIN_DEVIATIONS` standard deviations of its noise, because it is pure noise if the documents contain none of
    the words.

    Any topics gain over frequencies that noise has made wrong, since a document's own words then tell more than these.
    So a second sum, released if the first is large enough, is the gain of topics that tell nothing about the documents
    and else are like those of the prior: the lifts of each topic are at other words. The first sum must exceed the
    second by `_LEAST_OVER_EXCHANGED` for each document and `_OVER_DEVIATIONS` standard deviations.
    """
    found, wanted = present(prior, words, settings.model.guiding_words), int(settings.model.topics)
    k = found.topics.shape[1]
    if len(found.words) < _LEAST_COMMON_WORDS * wanted or k < wanted:
        return False
    gate.use_words(found.words)

    reference = found.frequencies * math.exp(_LEAST_GAIN)

    def gain(topics: np.ndarray) -> Release:
        contribution = statistics.likelihood_gain(topics, settings.model.alpha0 / k, reference)
        return gate.release(Stage.PRIOR_GAIN, contribution, MOST_GAIN)

    own = gain(found.topics)
    if own.total[0, 0] <= _GAIN_DEVIATIONS * own.std:
        return False
    exchanged = gain(_exchanged(found.topics))
    over = float((own.total - exchanged.total)[0, 0]) - _LEAST_OVER_EXCHANGED * own.mass
    return over > _OVER_DEVIATIONS * math.hypot(own.std, exchanged.std)


def _exchanged(topics: np.ndarray) -> np.ndarray:
    """Return `topics` (n_words, a) with the lifts of each topic at other words, scaled to sum to one."""
    mean = topics.mean(axis=1, keepdims=True)
    exchanged = np.random.default_rng(0).permuted(topics / mean, axis=0) * mean
    return np.asarray(exchanged / exchanged.sum(axis=0))


def learn_from_prior(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Choose the prior topics that the documents contain most; the prior must explain them. `rng` is not used.

    The topics with the largest sums are chosen. Text about another topic does not count for them.
    """
    prior, seed_words = settings.prior, settings.model.seed_words or {}
    assert prior is not None
    found = present(prior, words, settings.model.guiding_words)
    gate.use_words(found.words)
    topics = _with_guided(found.topics, seed_words, found.words)
    contribution = statistics.topic_proportions(topics, settings.model.alpha0 / topics.shape[1])
    stages = (Stage.START,) * (POWER_ROUNDS + 2) + (Stage.REFINE,) * REFINE_ROUNDS
    answer = gate.release_jointly(stages, contribution, _SHARE_NORM)
    held, std = answer.total[0], answer.std
    guided, wanted = len(seed_words), int(settings.model.topics)
    order = np.argsort(np.where(np.arange(len(held)) < guided, -np.inf, -held), kind="stable")
    left = np.sort(order[:wanted])
    topics, shares, signal = topics[:, left], np.maximum(held, max(std, 1e-9)), held[left] / max(std, 1e-9)
    chosen = float(shares[left].sum())
    facts = {"prior_share": chosen / max(chosen, float(np.maximum(held, 0.0).sum()))}
    if settings.series is not None:
        facts["share_std"] = min(std / chosen, 1.0)
    sure = verdicts.of_prior(signal, len(held), guided)
    names = [*seed_words, *[""] * (wanted - guided)] if guided else []
    learned = by_prevalence(topics, shares[left] / chosen, documents, facts, topic_names=names, **sure)
    return replace(learned, words=found.words)


def _with_guided(topics: np.ndarray, seed_words: Mapping[str, Sequence[str]], words: tuple[str, ...]) -> np.ndarray:
    """Return a guided topic for each list of seed words, then the prior `topics` (n_words, a) that are not replaced.

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
