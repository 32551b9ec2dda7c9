"""The private peer is private as claimed, and is variational inference."""

from __future__ import annotations

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from scipy import sparse
from scipy.special import digamma

from benchmarks import variational as baseline
from dplda.runs.corpus import synthetic
from dplda.runs.grid import matched_error

CLIP = 5.0


@pytest.fixture
def weights():
    return np.random.default_rng(3).gamma(0.3, 1.0, (40, 4)) + 1e-3


def one_document(counts, weights):
    """Expected counts (n_words, k) of one document by the textbook's updates, not clipped."""
    theta = np.ones(weights.shape[1])
    for _ in range(baseline.STEPS):
        share = theta * weights
        theta = np.exp(digamma(baseline.DOCUMENT_PRIOR + counts @ (share / share.sum(axis=1, keepdims=True))))
    share = theta * weights
    return counts[:, None] * share / share.sum(axis=1, keepdims=True)


def test_documents_contribute_their_expected_counts_clipped(weights):
    generator = np.random.default_rng(0)
    documents = generator.poisson(generator.choice([0.02, 0.3, 5.0], (30, 1)), (30, 40)).astype(np.float64)
    wanted = np.zeros(weights.shape)
    for counts in documents:
        expected = one_document(counts, weights)
        wanted += expected * min(1.0, CLIP / max(np.linalg.norm(expected), 1e-30))
    found = baseline.expected_counts(sparse.csr_matrix(documents), weights, CLIP)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("occurrences", [0, 1, 7, 10_000])
def test_no_document_changes_the_sum_by_more_than_the_clip(weights, occurrences):
    documents = np.random.default_rng(1).poisson(0.5, (20, 40))
    documents[0] = 0
    documents[0, :3] = occurrences
    difference = baseline.expected_counts(sparse.csr_matrix(documents), weights, CLIP)
    difference -= baseline.expected_counts(sparse.csr_matrix(documents[1:]), weights, CLIP)
    assert np.linalg.norm(difference) <= CLIP * (1 + 1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_all_rounds_together_cost_the_epsilon_asked_for(epsilon):
    multiplier = baseline.noise_multiplier(epsilon, 1e-6, 7)
    accountant = PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(multiplier), 7)
    assert accountant.get_epsilon(1e-6) == pytest.approx(epsilon, rel=1e-3)


def test_the_noise_is_the_multiplier_times_the_clip_that_documents_are_held_to(monkeypatch):
    clips = []

    def expected(counts, weights, clip):
        clips.append(clip)
        return np.full(weights.shape, 1e6)

    monkeypatch.setattr(baseline, "expected_counts", expected)
    topics = baseline.fit(sparse.csr_matrix((1, 5000)), 2, 3.0, seed=0, rounds=4, clip=2.0)
    assert clips == [2.0] * 4
    # a topic is proportional to 10^6 and its noise
    assert np.std(topics * 5000) * 1e6 == pytest.approx(3.0 * 2.0, rel=0.05)


def test_planted_topics_come_back_without_noise():
    counts, planted, _ = synthetic(3000, 200, 4, seed=2)
    topics = baseline.fit(counts, 4, 0.0, seed=0)
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    assert matched_error(topics, planted).mean() < 0.3
