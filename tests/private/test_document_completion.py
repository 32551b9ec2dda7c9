"""Held-out halves of documents, against the E-step that they share with proportions, and the bound of a unit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiny_units import as_document, contribution_of, lattice_sum, make_units

from dplda.private import statistics
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.private.statistics.expected_counts import _MIXED, COMPLETION_CLIP, MOST, document_completion

D, ALPHA = 9, 0.05
documents = st.lists(st.integers(0, D - 1), min_size=3, max_size=40).map(
    lambda tokens: np.bincount(tokens, minlength=D)
)
seeds = st.integers(0, 2**32 - 1)


def some_topics(seed: int, k: int, concentration: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(D, concentration), size=k).T + 1e-6
    return topics / topics.sum(axis=0), rng.dirichlet(np.full(D, 5.0))


def by_hand(counts: np.ndarray, topics: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    tokens = np.repeat(np.arange(D), counts)
    given, held = (np.bincount(tokens[start::2], minlength=D) for start in (0, 1))
    shares = contribution_of(statistics.topic_proportions(topics, ALPHA), as_document(given))[0]
    theta = shares * given.sum() + ALPHA
    gain = np.log((1 - _MIXED) * (topics @ theta) / theta.sum() / frequencies + _MIXED)
    surprise = -np.log(frequencies) + frequencies @ np.log(frequencies)
    means = np.array([held @ gain, held @ surprise]) / held.sum()
    return np.asarray(np.clip(means / MOST, -1, 1))


@given(documents, seeds, st.integers(1, 20))
def test_every_second_token_is_predicted_from_the_others(counts, seed, k):
    topics, frequencies = some_topics(seed, k)
    found = contribution_of(document_completion(topics, ALPHA, frequencies), as_document(counts))
    np.testing.assert_allclose(found[0], by_hand(counts, topics, frequencies), atol=1e-4)


@given(documents, seeds, st.integers(1, 5))
def test_no_unit_is_clipped_however_bad_the_topics_are(counts, seed, k):
    topics, frequencies = some_topics(seed, k, 0.01)
    f = document_completion(topics, ALPHA, frequencies)
    total, mass = lattice_sum(f, make_units([[as_document(counts), as_document(counts[::-1])]]), COMPLETION_CLIP)
    assert (total.astype(float) ** 2).sum() + mass**2 <= BOUND**2
    assert mass == round(MASS_SHARE * BOUND)


def test_the_clip_holds_the_worst_document():
    """Both coordinates at their bounds: a document of words that are rare, and that its topics hold rarer still."""
    frequencies = np.full(D, 1e-6)
    frequencies[0] = 1 - 1e-6 * (D - 1)
    topics = np.full((D, 1), 1e-12)
    topics[0] = 1 - 1e-12 * (D - 1)
    document = [(word, 4) for word in range(1, D)]
    found = contribution_of(document_completion(topics, ALPHA, frequencies), document)
    np.testing.assert_allclose(found[0], [-1.0, 1.0])
    _, mass = lattice_sum(document_completion(topics, ALPHA, frequencies), make_units([[document]]), COMPLETION_CLIP)
    assert mass == round(MASS_SHARE * BOUND)
