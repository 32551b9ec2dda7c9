"""Topics from a prior: whether it explains the documents, and which of its topics they hold.

gain     noisy sum of the documents' log-likelihood gains of the prior topics over their own word frequencies
start,   noisy sums of the documents' proportions of the topics that are left; after each sum the fewest held are left
refine   out, until as many are left as were asked for

The gain is released first. If it is too small, the prior is about something else: then the default placement spends the
same events on its own stages. A query may be chosen from earlier releases, and no noise depends on the choice, so both
ways have the run's guarantee (docs/privacy.md, T12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dplda import statistics
from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage
from dplda.config import FitSettings
from dplda.lda import verdicts
from dplda.lda.guided import PULL, seed_distributions
from dplda.lda.recovery import Learned, by_prevalence
from dplda.mechanisms.curator import Gate, WordFrequencies
from dplda.prior_topics import PriorTopics
from dplda.statistics.topic_proportions import LIKELIHOOD_GAIN, MOST_GAIN, TOPIC_PROPORTIONS

STATISTICS = LIKELIHOOD_GAIN, TOPIC_PROPORTIONS

# Least gain, in nats a token over the logarithm of the number of topics. Measured: 0.15 to 0.29 for 5 to 80 topics of
# public text about the same things, at most 0.09 for other text (docs/benchmarks.md).
_LEAST_GAIN = 0.14
_DEVIATIONS = 3.0  # standard deviations of the noise by which the sum must exceed 0
_SHARE_NORM = 1.0  # largest norm of a document's proportions
_LEAST_WORDS = 2  # common words for each topic, below which the prior is about something else


def shares(public_vocabulary: bool) -> tuple[Share, ...]:
    """The shares of the test of a prior; without a public vocabulary, also of the frequencies of the prior's words."""
    frequencies = () if public_vocabulary else (Share(Stage.FREQUENCY, 0.03), Share(Stage.VOTE_TOTAL, 0.002))
    return *frequencies, Share(Stage.PRIOR_GAIN, 0.01)


def explains(gate: Gate, words: WordFrequencies, prior: PriorTopics, settings: FitSettings) -> bool:
    """Whether the topics of `prior` explain the documents; False, without a release, if it knows too few `words`.

    One noisy sum decides, that of the documents' gains less the least gain: it must be above 0 by more than its noise,
    because it is all noise if the documents hold none of the words.
    """
    known = set(prior.words)
    common = [index for index, word in enumerate(words.words) if word in known]
    if len(common) < _LEAST_WORDS * int(settings.model.topics):
        return False
    names = tuple(words.words[index] for index in common)
    frequencies = np.maximum(words.frequencies[common], max(words.std, 1e-9))
    reference = frequencies / frequencies.sum() * len(prior) ** _LEAST_GAIN
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
    """The prior topics that the documents hold most, over `words`, by one noisy sum for each event in `stages`.

    Sums are added with the weights of their precision; the number of topics left falls geometrically.
    """
    prior = settings.prior
    assert prior is not None
    gate.use_words(words)
    topics, wanted = prior.over(words), int(settings.model.topics)
    seed_words = settings.model.seed_words or {}
    topics = np.column_stack([_guided_topics(topics, seed_words, words), topics])
    left, total, precision = np.arange(topics.shape[1]), np.zeros(topics.shape[1]), 0.0
    for number, stage in enumerate(stages, 1):
        contribution = statistics.topic_proportions(topics[:, left], settings.model.alpha0 / len(left))
        answer = gate.release(stage, contribution, _SHARE_NORM)
        weight = 1 / answer.std**2 if answer.std else 1.0
        total[left] += weight * answer.total[0]
        precision += weight
        keep = round(len(total) * (wanted / len(total)) ** (number / len(stages)))
        ranked = np.where(left < len(seed_words), np.inf, total[left])  # guided topics stay
        left = np.sort(left[np.argsort(-ranked, kind="stable")[: max(keep, wanted)]])
    held, std = total[left] / precision, precision**-0.5 if answer.std else 0.0
    shares = np.maximum(held, max(std, 1e-9))
    judged, given = verdicts.of_columns(held[None], std), list(seed_words)
    names = [given[topic] if topic < len(given) else "" for topic in left] if given else []
    return by_prevalence(topics[:, left], shares / shares.sum(), documents, verdicts=judged, names=names)


def _guided_topics(topics: np.ndarray, seed_words: Mapping[str, Sequence[str]], words: tuple[str, ...]) -> np.ndarray:
    """A topic for each list of seed words, (n_words, n_guided): prior `topics` (n_words, a) mixed, and the words.

    A prior topic weighs as the square of the mean lift that it gives to the words of the list.
    """
    frequencies = topics.mean(axis=1)
    seeds = seed_distributions(seed_words, words, frequencies)
    held = seeds > 0
    weights = (held.T @ (topics / frequencies[:, None]) / np.maximum(held.sum(axis=0), 1)[:, None]) ** 2
    mixtures = topics @ (weights / weights.sum(axis=1, keepdims=True)).T
    return np.asarray((1 - PULL) * mixtures + PULL * seeds)
