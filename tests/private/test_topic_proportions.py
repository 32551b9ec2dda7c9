"""Topic proportions and likelihood gains against the E-step that they share, and their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_units import as_document, contribution_of, lattice_sum, make_units

from dplda.private import statistics
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.expected_counts import MOST_GAIN

D = 9
documents = st.lists(st.integers(0, D - 1), min_size=3, max_size=40).map(
    lambda tokens: np.bincount(tokens, minlength=D)
)
seeds = st.integers(0, 2**32 - 1)
ALPHA = 0.05


def some_topics(seed: int, k: int) -> np.ndarray:
    topics: np.ndarray = np.random.default_rng(seed).dirichlet(np.full(D, 0.3), size=k).T + 1e-6
    return topics / topics.sum(axis=0)


def proportions(counts: np.ndarray, topics: np.ndarray) -> np.ndarray:
    found: np.ndarray = contribution_of(statistics.topic_proportions(topics, ALPHA), as_document(counts))[0]
    return found


@given(documents, seeds, st.integers(1, 40))
def test_proportions_are_shares_of_the_tokens_and_never_longer_than_one(counts, seed, k):
    found = proportions(counts, some_topics(seed, k))
    assert found.shape == (k,)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0, abs=1e-4)
    assert np.linalg.norm(found) <= 1 + 1e-4


@given(st.integers(0, D - 1))
def test_a_document_of_one_topic_is_held_by_it(word):
    topics = np.full((D, D), 1e-6) + np.eye(D)
    found = proportions(np.bincount([word] * 5, minlength=D), topics / topics.sum(axis=0))
    assert found[word] == pytest.approx(1.0, abs=1e-3)


@given(documents, seeds, st.integers(1, 20))
def test_the_gain_is_the_mean_log_ratio_of_held_out_tokens_within_its_limits(counts, seed, k):
    topics, frequencies = some_topics(seed, k), np.random.default_rng(seed).dirichlet(np.full(D, 5.0))
    held = np.bincount(np.repeat(np.arange(D), counts)[1::2], minlength=D)
    theta = proportions(counts - held, topics) * (counts - held).sum() + ALPHA
    ratio = np.log(0.99 * topics @ (theta / theta.sum()) / frequencies + 0.01)
    expected = np.clip(held @ ratio / held.sum(), -MOST_GAIN, MOST_GAIN)
    found = contribution_of(statistics.likelihood_gain(topics, ALPHA, frequencies), as_document(counts))
    assert found.shape == (1, 1)
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-4, atol=1e-4)


def test_units_of_many_documents_count_once():
    topics, one, other = some_topics(1, 3), np.arange(D), np.arange(D)[::-1]
    units = make_units([[as_document(one), as_document(other), as_document(one)]])
    for f in (
        statistics.topic_proportions(topics, ALPHA),
        statistics.likelihood_gain(topics, ALPHA, np.full(D, 1 / D)),
    ):
        total, _ = lattice_sum(f, units, 64.0)
        mean = (2 * contribution_of(f, as_document(one)) + contribution_of(f, as_document(other))) / 3
        np.testing.assert_allclose(total * (64.0 / BOUND), mean, atol=1e-3)
