"""Which released words are modelled, and how they are scaled: post-processing of noisy frequencies."""

from __future__ import annotations

import numpy as np

from dplda.errors import UnsupportedByData
from dplda.privacy.curator import WordFrequencies


def within_limits(found: WordFrequencies, most: int, limit: float) -> WordFrequencies:
    """The `most` most frequent released words whose noisy document frequency is at most `limit`."""
    kept = np.flatnonzero(found.frequencies <= limit)[:most]
    return WordFrequencies(tuple(found.words[i] for i in kept), found.frequencies[kept], found.std)


def require_words(found: WordFrequencies, topics: int | str, chosen_privately: bool) -> None:
    """Raise `UnsupportedByData` when too few words were released for the topics asked for."""
    needed = 2 if topics == "auto" else int(topics)
    if len(found.words) >= needed:
        return
    reason = "passed the private vocabulary threshold" if chosen_privately else "are in the vocabulary"
    raise UnsupportedByData(
        f"only {len(found.words)} words {reason}, {needed} are needed. "
        "Use more documents, a larger epsilon, a higher --max-document-frequency, or a public --vocabulary."
    )


def word_scale(found: WordFrequencies) -> np.ndarray:
    """Word scaling s = 1 / sqrt(frequency + tau), normalised so that frequencies sum to one; (n_words,).

    An invertible change of basis that flattens Zipf's law. tau is at least the noise in a frequency, so that a
    word whose frequency is mostly noise is not blown up.
    """
    positive = np.maximum(found.frequencies, 0.0)
    total = max(float(positive.sum()), 1e-12)
    tau = max(1e-5, found.std / total)
    return np.asarray(1 / np.sqrt(positive / total + tau))


def proportions(found: WordFrequencies) -> np.ndarray:
    """Noisy frequencies as a distribution over the words, (n_words,)."""
    positive = np.maximum(found.frequencies, 0.0) + 1e-12
    return np.asarray(positive / positive.sum())
