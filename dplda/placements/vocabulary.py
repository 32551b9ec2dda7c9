"""Which released words are modelled, and their scale: post-processing of noisy frequencies."""

from __future__ import annotations

import numpy as np

from dplda.errors import UnsupportedByData
from dplda.mechanisms.curator import WordFrequencies


def within_limits(found: WordFrequencies, most: int, limit: float) -> WordFrequencies:
    """The `most` most frequent released words whose noisy document frequency is at most `limit`."""
    kept = np.flatnonzero(found.frequencies <= limit)[:most]
    return WordFrequencies(tuple(found.words[i] for i in kept), found.frequencies[kept], found.std)


def require_words(modelled: WordFrequencies, released: WordFrequencies, topics: int | str, limit: float) -> None:
    """Raise `UnsupportedByData` when too few words are left for the topics asked for; says why from releases alone."""
    needed = 2 if topics == "auto" else int(topics)
    if len(modelled.words) >= needed:
        return
    if len(released.words) < needed:
        raise UnsupportedByData(
            f"only {len(released.words)} words passed the private vocabulary threshold, {needed} are needed. "
            "Use more documents, a larger epsilon, or a public word list (--vocabulary)."
        )
    raise UnsupportedByData(
        f"{len(released.words)} words passed the private vocabulary threshold, but only {len(modelled.words)} of them "
        f"are in at most {limit:.0%} of the documents, {needed} are needed. Raise --max-document-frequency."
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
