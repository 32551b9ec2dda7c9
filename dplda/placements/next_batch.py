"""The next batch of a series: the topics of the batch before, refined by noisy variational rounds over new documents.

size     noisy number of units
words    this batch's words: those of the public list, or those that are chosen privately and those of the series
new      a topic whose words have become more frequent than the shares of the known topics explain, if there are any
counts   noisy variational rounds that start at the topics of the batch before, and go on from its sums of counts

Everything that was released for earlier batches is known when this batch is asked, and costs nothing
(docs/privacy.md, T11). So no budget is spent on spectral stages. Topics keep their numbers: a new one gets the next,
and one that the batch does not hold keeps its words.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dplda import statistics
from dplda.accounting.budget_plan import Share
from dplda.accounting.events import Stage, clip_of
from dplda.config import FitSettings
from dplda.lda import verdicts
from dplda.lda.guided import guide
from dplda.lda.recovery import Learned, supported_words
from dplda.lda.refinement import cosines, estimated_topics, smoothed_topics, variational_rounds
from dplda.mechanisms.curator import Gate, WordFrequencies
from dplda.numerics.threads import one_blas_thread
from dplda.placements.default import REFINE_QUANTILE, proportions, word_power
from dplda.placements.stages import SIZE_SHARE, StageReleaser, word_shares
from dplda.prior_topics import PriorTopics
from dplda.released_counts import CountSums, ReleasedCounts

ROUNDS, MEMORY = 4, 0.7  # rounds of a batch, and the weight of a round relative to the next one
_FREQUENCY_MEMORY = 0.9  # factor on the precision of the frequencies of earlier batches
_KNOWN_WORDS = 2.0  # factor on the number of documents when words are limited: their noise is averaged over batches
# A new topic needs this many words whose unexplained rise exceeds its standard deviation so many times.
_NEW_WORDS, _DEVIATIONS, _SOME_DEVIATIONS = 5, 5.0, 2.0
_DRIFT = 0.25  # standard deviation of a word's frequency from batch to batch, relative to it, if nothing happens
# A topic has faded, and its words stay as they were, if its share is below so many standard deviations of the noise, or
# below this part of an average share.
_DEVIATIONS_HELD, _LEAST_HELD = 3.0, 0.1
_SAME = 0.5  # cosine from which on a topic is not new


def shares(public_vocabulary: bool) -> tuple[Share, ...]:
    """The stages of a batch with their parts of its mu^2."""
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
    """Run every stage after the size (`documents`) and the words. The prior holds what the batch before released."""
    prior = settings.prior
    assert prior is not None
    assert prior.counts is not None
    averaged = supported_words(_averaged(words, prior), _KNOWN_WORDS * documents, settings)
    gate.use_words(averaged.words)
    release = StageReleaser(gate, documents)

    frequencies = proportions(averaged.frequencies)
    earlier = prior.counts.over(prior.words, averaged.words)
    known = np.isin(averaged.words, prior.words)
    start = _start(earlier.sums, known, frequencies)
    new = _new_topic(_of(words, averaged.words), earlier, known, start, documents)
    start = np.column_stack([start, *(0.9 * topic + 0.1 * frequencies for topic in new)])
    k = start.shape[1]
    sums = CountSums(np.pad(earlier.sums.total, ((0, 0), (0, len(new)))), earlier.sums.variance, earlier.sums.weight)

    guided = guide(settings.model.seed_words or {}, averaged.words, frequencies, start)
    scale = (frequencies + 1e-5) ** -word_power(documents, k, settings)
    scale /= scale.mean()

    def unguided(topics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        contribution = statistics.expected_counts(topics, settings.model.alpha0 / k, scale)
        answer = release(Stage.REFINE, contribution, REFINE_QUANTILE)
        return answer.total / scale[:, None], answer.std / scale

    expected = guided.pulled(unguided)
    refined = variational_rounds(expected, start, frequencies, ROUNDS, memory=MEMORY, earlier=sums)
    found = refined.counts / refined.counts.sum(axis=0)
    judged = verdicts.of_refinement(found, start, refined.agreement, refined.signal)
    judged = verdicts.no_clearer(judged, prior.verdicts)
    kept = [topic for topic in range(k) if topic < len(prior) or judged[topic] != verdicts.NOISE]
    share, share_std = refined.sums.since(sums, MEMORY**ROUNDS).of_topics(kept).shares
    faded = np.flatnonzero(share < max(_DEVIATIONS_HELD * share_std, _LEAST_HELD / k))
    topics = smoothed_topics(guided.counts(refined.counts)[:, kept], 0.0)
    topics[:, faded] = start[:, kept][:, faded]
    held = np.maximum(share, max(share_std, 1e-9))
    facts = {
        "verdicts": [judged[topic] for topic in kept],
        "new_topics": kept[len(prior) :],
        "faded_topics": faded.tolist(),
        "share_std": share_std,
        **_named(prior.names, guided.names(tuple(settings.model.seed_words or ()), k), kept),
    }
    return Learned(
        topics=topics.T,
        prevalence=held / held.sum(),
        documents=documents,
        facts=facts,
        words=averaged.words,
        counts=ReleasedCounts(refined.sums.of_topics(kept).keeping(sums, faded), averaged.frequencies, averaged.std),
    )


def _start(sums: CountSums, known: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Topics (n_words, k) from `sums` of counts; words that are not `known` (n_words,) are in all, by `frequencies`."""
    start = np.repeat(frequencies[:, None], sums.total.shape[1], axis=1)
    if known.any():
        shares = frequencies[known] / frequencies[known].sum()
        start[known] = frequencies[known].sum() * estimated_topics(sums.of_words(known), shares)
    return start


def _averaged(words: WordFrequencies, prior: PriorTopics) -> WordFrequencies:
    """This batch's frequencies, averaged with those of the batches before by their precision.

    Words that are new have this batch's frequencies only.
    """
    assert prior.counts is not None
    if words.std == 0:
        return words
    earlier = prior.counts.over(prior.words, words.words)
    precision = 1 / words.std**2
    known = np.where(np.isin(words.words, prior.words), _FREQUENCY_MEMORY / max(earlier.frequency_std, 1e-12) ** 2, 0.0)
    frequencies = (precision * words.frequencies + known * earlier.frequencies) / (precision + known)
    return WordFrequencies(words.words, frequencies, float((precision + known.max()) ** -0.5))


def _of(words: WordFrequencies, others: tuple[str, ...]) -> WordFrequencies:
    """The frequencies of the `others`, which are among `words`."""
    frequency = dict(zip(words.words, words.frequencies.tolist(), strict=True))
    return WordFrequencies(others, np.array([frequency[word] for word in others]), words.std)


def _new_topic(
    words: WordFrequencies, earlier: ReleasedCounts, known: np.ndarray, topics: np.ndarray, documents: float
) -> list[np.ndarray]:
    """A topic (n_words,) of words that rose, if there are enough; none otherwise.

    A word's rise is its frequency less that of the batches before, of which those that are not `known` (n_words,) had
    at most the least frequency of the others. Rises that other shares of the known `topics` (n_words, k) explain do not
    count: the part in their span is removed by least squares.
    """
    if not known.any():
        return []
    before = np.where(known, np.maximum(earlier.frequencies, 0.0), np.maximum(earlier.frequencies[known].min(), 0.0))
    rise = words.frequencies - before
    sampling = before * (1 - np.minimum(before, 1.0)) / max(documents, 1.0)
    noise = words.std**2 + earlier.frequency_std**2
    std = np.sqrt(np.maximum(noise + sampling + (_DRIFT * before) ** 2, 1e-18))
    expected = (topics * (before / np.maximum(topics.mean(axis=1), 1e-12))[:, None])[known]
    shares = np.linalg.lstsq(expected / std[known, None], rise[known] / std[known], rcond=None)[0]
    rise[known] -= expected @ shares
    deviations = rise / std
    if (deviations > _DEVIATIONS).sum() < _NEW_WORDS:
        return []
    topic = np.where(deviations > _SOME_DEVIATIONS, rise, 0.0)
    topic /= topic.sum()
    return [topic] if cosines(topics, topic[:, None]).max() < _SAME else []


def _named(names: Mapping[int, str], guided: list[str], kept: list[int]) -> dict[str, list[str]]:
    """The fact that names the topics `kept`: the names of the batch before, and those of `guided` topics over them."""
    found = [(guided[topic] if guided else "") or names.get(topic, "") for topic in kept]
    return {"topic_names": found} if any(found) else {}
