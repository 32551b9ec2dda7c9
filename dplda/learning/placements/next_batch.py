"""The next batch of a series: the topics of the previous batch, refined by noisy rounds over new documents.

size     noisy number of units
words    this batch's words: the public list, or the privately chosen words and the words of the series
new      a topic of words that rose more than a changed prevalence of the known topics explains, if there are any
counts   noisy variational rounds that start at the topics of the previous batch, and continue its sums of counts

Releases of earlier batches are available before this batch is queried, and using them costs nothing (docs/privacy.md,
T11'). So no budget is spent on spectral stages. Topics keep their numbers. A new topic gets the next number. A topic
that the batch does not contain keeps its words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dplda.base.distributions import SAME
from dplda.base.threads import one_blas_thread
from dplda.budget.accountant import Share
from dplda.budget.events import Stage, clip_of
from dplda.learning import verdicts
from dplda.learning.model_size import most_words, signal_per_topic, supported_words
from dplda.learning.placements.stages import (
    SIZE_SHARE,
    StageReleaser,
    noisy_counts,
    proportions,
    word_power,
    word_shares,
)
from dplda.learning.recovery import Learned
from dplda.learning.refinement import (
    SMOOTHING,
    cosines,
    guide,
    posterior,
    seen_lists,
    smoothed_topics,
    variational_rounds,
)
from dplda.learning.settings import FitSettings
from dplda.model.prior_topics import CountSums, PriorTopics, ReleasedCounts
from dplda.private import Gate, WordFrequencies

ROUNDS, MEMORY = 4, 0.7  # rounds of a batch, and the weight of a round relative to the next one
_FREQUENCY_MEMORY = 0.9  # factor on the precision of the frequencies of earlier batches
_KNOWN_WORDS = 2.0  # factor on the documents in the limit on the number of words: noise is averaged over batches
# A new topic needs 5 words whose unexplained rise exceeds 5 standard deviations; then it takes all words above 2.
_NEW_WORDS, _DEVIATIONS, _SOME_DEVIATIONS = 5, 5.0, 2.0
_DRIFT = 0.25  # relative standard deviation of a word's frequency from batch to batch if nothing happens
# A topic has faded, and keeps its words, if its share is below this many standard deviations of the noise, or below
# this fraction of an average share.
_DEVIATIONS_HELD, _LEAST_HELD = 3.0, 0.1
_LEAST_STD = 1e-9  # of a frequency


def shares(public_vocabulary: bool) -> tuple[Share, ...]:
    """Return the stages of a batch with their parts of its mu^2."""
    return (
        SIZE_SHARE,
        *word_shares(public_vocabulary),
        Share(clip_of(Stage.REFINE), 0.004),
        Share(Stage.REFINE, 0.90, ROUNDS),
    )


@one_blas_thread()
def learn(
    gate: Gate, documents: float, words: WordFrequencies, settings: FitSettings, rng: np.random.Generator
) -> Learned:
    """Run every stage after the size (`documents`) and the words; the prior holds the previous batch's releases."""
    prior = settings.prior
    assert prior is not None
    assert prior.counts is not None
    batch = _words_of_batch(words, prior, documents, settings)
    gate.use_words(batch.words)
    release = StageReleaser(gate, documents)

    frequencies = proportions(batch.frequencies)
    earlier = prior.counts.over(prior.words, batch.words)
    known = batch.known
    start = np.repeat(frequencies[:, None], earlier.sums.total.shape[1], axis=1)  # in every topic, for new words
    if known.any():
        weight, sums = frequencies[known].sum(), earlier.sums.of_words(known)
        mean, _ = posterior(sums.counts, sums.std, frequencies[known] / weight)
        start[known] = weight * smoothed_topics(mean, SMOOTHING)
    new = _new_topic(batch, words.std, earlier, start, documents)
    start = np.column_stack([start, *(0.9 * topic + 0.1 * frequencies for topic in new)])
    k = start.shape[1]
    sums = CountSums(np.pad(earlier.sums.total, ((0, 0), (0, len(new)))), earlier.sums.variance, earlier.sums.weight)

    seen, unseen = seen_lists(settings.model.seed_words, batch.words, batch.frequencies, batch.std)
    guided = guide(seen, batch.words, frequencies, start)
    power = word_power(documents, k, settings)
    expected = guided.pull(noisy_counts(release, settings.model.alpha0 / k, frequencies, power))
    refined = variational_rounds(expected, start, frequencies, ROUNDS, memory=MEMORY, earlier=sums)
    tokens, budget = float(batch.frequencies.sum()), signal_per_topic(documents, k, settings)
    size = verdicts.RunSize(batch.words, tokens, budget, supported=k)
    sure = verdicts.of_refinement(refined, start, frequencies, size, prior.probabilities, guided.columns)
    share, share_std = refined.sums.since(sums, MEMORY**ROUNDS).shares
    held = share >= max(_DEVIATIONS_HELD * share_std, _LEAST_HELD / k)
    kept = [
        topic for topic in range(k) if topic < len(prior) or (held[topic] and sure["verdicts"][topic] != verdicts.NOISE)
    ]
    faded = np.flatnonzero(~held[kept])
    topics = smoothed_topics(guided.counts(refined.counts)[:, kept], 0.0)
    topics[:, faded] = start[:, kept][:, faded]
    prevalence = np.maximum(share[kept], max(share_std, 1e-9))
    names = guided.names(tuple(seen), k)  # of guided topics, in place of earlier names
    named = [(names[topic] if names else "") or prior.names.get(topic, "") for topic in kept]
    made = [(new,) for new, topic in enumerate(kept) if topic in prior.made_names and named[new] == prior.names[topic]]
    facts = {
        **{fact: [values[topic] for topic in kept] for fact, values in sure.items()},
        **unseen,
        "new_topics": kept[len(prior) :],
        "faded_topics": faded.tolist(),
        "share_std": min(share_std, 1.0),
        **({"topic_names": named} if any(named) else {}),
        **({"made_names": made} if made else {}),
    }
    return Learned(
        topics=topics.T,
        prevalence=prevalence / prevalence.sum(),
        documents=documents,
        facts=facts,
        words=batch.words,
        counts=ReleasedCounts(refined.sums.of_topics(kept).keeping(sums, faded), batch.frequencies, batch.std),
    )


@dataclass(frozen=True)
class _BatchWords:
    """The words of a batch; all arrays are (n_words,)."""

    words: tuple[str, ...]
    frequencies: np.ndarray  # averaged over batches
    std: np.ndarray  # of the frequencies
    now: np.ndarray  # released by this batch; NaN for a word of the series that was not chosen in this batch
    known: np.ndarray  # whether the series had the word before
    frequent: np.ndarray  # whether the series left the word out as too frequent


def _words_of_batch(words: WordFrequencies, prior: PriorTopics, documents: float, settings: FitSettings) -> _BatchWords:
    """Return the words of this batch and, if they are chosen privately, of the series, up to `supported_words`.

    Frequencies are averaged over batches by their precision. The frequency of a word that was not chosen in this batch
    is lowered instead, so that the word leaves the list in time.
    """
    assert prior.counts is not None
    names = tuple(dict.fromkeys((*words.words, *(prior.words if settings.vocabulary.public is None else ()))))
    earlier, known = prior.counts.over(prior.words, names), np.isin(names, prior.words)
    now = np.append(words.frequencies, np.full(len(names) - len(words.words), np.nan))
    fresh = 1 / max(words.std, _LEAST_STD) ** 2
    old = np.where(known, _FREQUENCY_MEMORY / np.maximum(earlier.frequency_std, _LEAST_STD) ** 2, 0.0)
    measured = np.isfinite(now)
    averaged = (fresh * np.where(measured, now, 0.0) + old * earlier.frequencies) / (fresh + old)
    frequencies = np.where(measured, averaged, _FREQUENCY_MEMORY * earlier.frequencies)
    std = np.where(measured, (fresh + old) ** -0.5, earlier.frequency_std)
    place = {word: index for index, word in enumerate(names)}
    most = most_words(_KNOWN_WORDS * documents, settings)
    limited = supported_words(WordFrequencies(names, frequencies, words.std), most, settings)
    kept = np.array([place[word] for word in limited.words])
    frequent = np.isin(limited.words, prior.too_frequent)
    return _BatchWords(limited.words, frequencies[kept], std[kept], now[kept], known[kept], frequent)


def _new_topic(
    batch: _BatchWords, std: float, earlier: ReleasedCounts, topics: np.ndarray, documents: float
) -> list[np.ndarray]:
    """Return a topic (n_words,) of words that rose, if there are enough; none otherwise.

    A word's rise is its frequency in this `batch`, which has noise of `std`, minus its frequency in earlier batches.
    For a new word, the frequency in earlier batches is taken to be the least frequency of the known words. A word that
    was too frequent for earlier batches has no rise. A change in the prevalence of the known `topics` (n_words, k) may
    explain a part of the rises: the part in the span of the topics. Least squares remove this part, which does not
    count.
    """
    known = batch.known
    if not known.any():
        return []
    least = max(float(earlier.frequencies[known].min()), 0.0)
    before = np.where(known, np.maximum(earlier.frequencies, 0.0), least)
    rise = np.where(np.isfinite(batch.now) & ~batch.frequent, batch.now - before, 0.0)
    sampling = before * (1 - np.minimum(before, 1.0)) / max(documents, 1.0)
    deviation = np.sqrt(std**2 + earlier.frequency_std**2 + sampling + (_DRIFT * before) ** 2 + _LEAST_STD**2)
    expected = (topics * (before / np.maximum(topics.mean(axis=1), 1e-12))[:, None])[known]
    shares = np.linalg.lstsq(expected / deviation[known, None], rise[known] / deviation[known], rcond=None)[0]
    rise[known] -= expected @ shares
    if (rise > _DEVIATIONS * deviation).sum() < _NEW_WORDS:
        return []
    topic = np.where(rise > _SOME_DEVIATIONS * deviation, rise, 0.0)
    topic /= topic.sum()
    return [topic] if cosines(topics, topic[:, None]).max() < SAME else []
