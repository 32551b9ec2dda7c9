"""How many words and topics a run has: as many as are requested, or as stand out from the noise.

1. A private vocabulary starts with every word whose noisy votes pass a threshold (`Curator.choose_words`); words of a
   list of general text need no threshold.
2. Words above a limit on document frequencies are dropped (`frequency_limit` without such a list, and then
   `modelled_words` keeps at most ``max_vocabulary`` of them).
3. The default placement then keeps as many words, private or public, as stand out from its noise (`supported_words`).
   With a list, these are the words that characterise the corpus (`dplda.learning.word_choice`). The other placements
   keep the words that some documents are sure to contain (`certain_words`).
4. `topic_count` decides on the number of topics. With ``auto`` it is the number of eigenvalues of the noisy second
   moment that exceed `noise_level`; where pairs of words are counted, at most one for every 15 words.

Steps 2 to 4 are post-processing of releases.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from dplda.base.errors import UnsupportedByData
from dplda.budget.accountant import gaussian_budget
from dplda.learning.settings import DEFAULTS, FitSettings
from dplda.learning.word_choice import characteristic_scores
from dplda.private import WordFrequencies

USUAL_LIMIT = 0.1  # words in a larger share of the documents are left out, unless few words remain
_FEW_WORDS, _RAISED_LIMIT = 250, 0.2  # with fewer words, the subjects themselves are often in more than a tenth
_WORDS_PER_TOPIC = 8  # with fewer words for each topic, words of any frequency are kept
_LEAST_PER_TOPIC, _WORDS_PER_SIGNAL = 10, 2.0  # words that are learned for each topic, and for each unit of signal
_WORDS_IN_ALL = 0.15  # the most words that are learned, for documents * mu: it counts for a few topics
_PAIRED_PER_SIGNAL = 0.05  # words whose pairs are counted, for documents * mu (docs/privacy.md, section 9.13)
_LEAST_PAIRED_PER_TOPIC, _LEAST_PAIRED, _MOST_PAIRED = 5, 50, 500
_WRONG_WORD = 0.05  # probability that `certain_words` keeps a word that no document contains
_AUTOMATIC_TOPICS = 40  # maximum number of topics that --topics auto can find
PAIRED_PER_AUTOMATIC_TOPIC = 15  # least number of words for each of them if pairs are counted; fewer repeat each other


def frequency_limit(frequencies: np.ndarray, settings: FitSettings) -> float:
    """Return the largest document frequency of a modelled word, from noisy `frequencies` (n_words,) of all words.

    The user's limit if there is one. Otherwise 0.1; it is raised to at most 0.2 if fewer than 250 words would be left,
    and without bound if fewer than 8 words for each topic would be left.
    """
    limit = settings.vocabulary.max_document_frequency
    if limit is not None:
        return limit
    rising = np.sort(frequencies)
    least = _WORDS_PER_TOPIC * number_of_topics(settings)
    for_few, for_topics = (float(rising[:words].max(initial=0.0)) for words in (_FEW_WORDS, least))
    return max(USUAL_LIMIT, min(for_few, _RAISED_LIMIT), for_topics)


def chosen_words_needed(settings: FitSettings) -> int:
    """Return the least number of privately chosen words that a run needs to learn topics."""
    return min(settings.model.words_needed, settings.vocabulary.max_vocabulary)


def modelled_words(released: WordFrequencies, settings: FitSettings) -> WordFrequencies:
    """Return the most frequent of the `released` words within the limits of `settings`.

    Raises `UnsupportedByData` if they are too few for the topics, except in a run that continues a series, which also
    has the words of earlier batches. The message depends on releases alone.
    """
    limit, needed = frequency_limit(released.frequencies, settings), chosen_words_needed(settings)
    kept = np.flatnonzero(released.frequencies <= limit)[: settings.vocabulary.max_vocabulary]
    if len(kept) >= needed or settings.continues_series:
        return WordFrequencies(tuple(released.words[i] for i in kept), released.frequencies[kept], released.std)
    if len(released.words) < needed:
        raise UnsupportedByData(
            f"only {len(released.words)} words are frequent enough to be released, and {needed} are needed. "
            "Ask for fewer topics, or use more documents, a larger epsilon, or a public word list (--vocabulary)."
        )
    raise UnsupportedByData(
        f"{len(released.words)} words are frequent enough to be released, but only {len(kept)} of them are in at most "
        f"{limit:.0%} of the documents, and {needed} are needed. Raise --max-document-frequency, or ask "
        "for fewer topics."
    )


def most_words(documents: float, settings: FitSettings) -> int:
    """Return the number of words that stand out from the noise of a run over `documents` units.

    A word in few documents adds noise and no topic: the quality of topics is best with a number of words proportional
    to documents * mu / topics, for the parameter mu of the run (Gaussian DP; docs/design-log.md). Fewer topics than 14
    do not have more words for that.
    """
    topics, signal = number_of_topics(settings), documents * run_mu(settings)
    words = math.ceil(min(_WORDS_PER_SIGNAL / topics, _WORDS_IN_ALL) * signal)
    return max(least_words(topics, paired=False), words)


def most_paired_words(documents: float, settings: FitSettings) -> int:
    """Return the number of words whose pairs stand out from the noise of `default.learn_from_pairs`.

    The number of noisy pairs grows with the square of the number of words, and hardly with the number of topics. The
    result is therefore proportional to documents * mu alone (docs/design-log.md).
    """
    paired = math.ceil(_PAIRED_PER_SIGNAL * documents * run_mu(settings))
    return max(least_words(number_of_topics(settings), paired=True), min(paired, _MOST_PAIRED))


def least_words(topics: int | str, *, paired: bool) -> int:
    """Return how many words a run learns from at least, whether or not so many stand out from its noise."""
    number = int(DEFAULTS.model.topics if topics == "auto" else topics)
    return max(_LEAST_PAIRED_PER_TOPIC * number, _LEAST_PAIRED) if paired else _LEAST_PER_TOPIC * number


def number_of_topics(settings: FitSettings) -> int:
    """Return the number of topics requested; the default number for ``auto``, whose number is not known yet."""
    return int(DEFAULTS.model.topics if settings.model.topics == "auto" else settings.model.topics)


def run_mu(settings: FitSettings) -> float:
    """Return the parameter mu of the run under Gaussian DP."""
    return gaussian_budget(settings.privacy.epsilon, settings.privacy.delta)


def signal_per_topic(documents: float, topics: int, settings: FitSettings) -> float:
    """Return documents * mu / topics, where mu is the parameter of the run under Gaussian DP."""
    return documents * run_mu(settings) / topics


def supported_words(words: WordFrequencies, most: int, settings: FitSettings) -> WordFrequencies:
    """Return the first of `words` by frequency, at most `most` of them, and the seed words, in the order of `words`.

    If their frequencies in general text are known, words are ordered by how much they characterise the corpus
    (`characteristic_scores`) instead, and are at most ``max_vocabulary``. `most` is, for instance, the result of
    `most_words`. A placement without noise keeps all words.
    """
    if settings.model.noiseless:
        return words
    guiding = set(settings.model.guiding_words)
    always = [index for index, word in enumerate(words.words) if word in guiding]
    order = words.frequencies
    if words.language is not None:
        order, most = characteristic_scores(words), min(most, settings.vocabulary.max_vocabulary)
    first = np.argsort(-order, kind="stable")[:most]
    return words.at(np.union1d(first, always).astype(np.int64))


def certain_words(words: WordFrequencies, settings: FitSettings) -> WordFrequencies:
    """Return those of `words` that documents are sure to contain, and at least ten for each topic, in their order.

    A word of a public list may be in no document, and unwhitening then leaves nothing but noise on it. Words are kept
    if their noisy frequency is so many standard deviations above 0 that, with a probability of 95 %, none of them is a
    word without documents. Chosen words passed a higher threshold. Fewer words also mean less noise in dense moments
    (docs/design-log.md).
    """
    least = -ndtri(_WRONG_WORD / len(words.words)) * words.std
    first = np.argsort(-words.frequencies, kind="stable")
    kept = max(int((words.frequencies > least).sum()), _LEAST_PER_TOPIC * number_of_topics(settings))
    return words.at(np.sort(first[:kept]))


def most_topics(settings: FitSettings) -> int:
    """Return the largest number of topics that a run can learn; public."""
    return _AUTOMATIC_TOPICS if settings.model.topics == "auto" else int(settings.model.topics)


def noise_level(std: float, p: int) -> float:
    """Return the expected norm of symmetric Gaussian noise (p, p): `std` on the diagonal, std / sqrt(2) off it."""
    return float(std * np.sqrt(2 * p))


def spectrum_facts(eigenvalues: np.ndarray, noise: float) -> dict[str, Any]:
    """Return released facts about the `eigenvalues` of a noisy M2, whose noise has spectral norm `noise`."""
    return {
        "supported_topics": int((eigenvalues > noise).sum()),
        "core_eigenvalues": [float(value) for value in eigenvalues],
        "core_noise_level": noise,
    }


def topic_count(settings: FitSettings, supported: int, most: int) -> int:
    """Return the number of topics requested; for ``--topics auto`` the number `supported` by the data, up to `most`.

    `supported` counts released eigenvalues above the noise level; for ``auto``, raises `UnsupportedByData` if it is 0.
    """
    if settings.model.topics != "auto":
        return int(settings.model.topics)
    if supported == 0:
        raise UnsupportedByData(
            "the noisy second moment supports no topic at all. Use more documents or a larger epsilon, "
            "or ask for a number of topics."
        )
    return min(supported, most_topics(settings), most)
