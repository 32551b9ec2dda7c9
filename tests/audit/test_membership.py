"""The attack on released topics: its statistic is the maximum it says, and it finds members where there is a trace."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm

from benchmarks.audit import membership
from dplda.accounting.accountant import gaussian_delta, gaussian_epsilon

GRID = np.array([share for share in itertools.product(np.linspace(0, 1, 61), repeat=3) if abs(sum(share) - 1) < 1e-9])


@given(st.integers(0, 99))
def test_the_statistic_is_the_largest_likelihood_over_mixtures(seed):
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(6, 0.5), 3)
    counts = random.integers(0, 4, (4, 6))
    counts[0] = 0
    found = membership.log_likelihoods(sparse.csr_matrix(counts), topics, steps=400)
    with np.errstate(divide="ignore"):
        of_words = np.maximum(np.log(np.maximum(GRID @ topics, membership.LEAST)), -1e9)
    best = np.array([(of_words @ row).max() for row in counts])
    assert found[0] == 0
    assert (found >= best - 1e-3).all()
    assert (found <= best + 0.05 * counts.sum(axis=1) + 1e-9).all()  # the grid is coarse


def test_a_trace_is_found_and_its_absence_is_guessing():
    random, shape = np.random.default_rng(0), (60, 300)
    inside = random.random(shape) < 0.5
    for shift, least, most in ((3.0, 0.6, 1.0), (0.0, 0.0, 0.03)):
        said = random.normal(random.normal(0, 5, shape[1]) + shift * inside, 1)
        positives, hits = membership.roc(membership.scores(said, inside).ravel(), inside.ravel())
        assert least <= membership.rate_at(positives, hits, 0.01) <= most


def test_a_model_does_not_fit_the_laws_it_is_judged_by():
    random = np.random.default_rng(1)
    said, inside = random.normal(size=(20, 4)), np.arange(20)[:, None] % 2 * np.ones(4) > 0
    changed = said.copy()
    changed[3] += 100
    one, other = membership.scores(said, inside), membership.scores(changed, inside)
    mean, std = (f(np.delete(said[1::2], 1, axis=0), axis=0) for f in (np.mean, np.std))
    without = norm.logpdf(said[3], said[::2].mean(axis=0), said[::2].std(axis=0))
    np.testing.assert_allclose(one[3], norm.logpdf(said[3], mean, std) - without)
    assert not np.allclose(one[5], other[5])


def test_rates_are_counted_from_the_highest_score():
    positives, hits = membership.roc(np.array([4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False]))
    assert positives.tolist() == [0, 0.5, 0.5, 1]
    assert hits.tolist() == [0.5, 0.5, 1, 1]
    assert membership.rate_at(positives, hits, 0.1) == 0.5
    assert membership.rate_at(positives, hits, 0.5) == 1


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_what_is_allowed_lies_within_the_definition(epsilon):
    positives = np.geomspace(1e-6, 1, 50)
    allowed = membership.allowed(epsilon, positives)
    assert (allowed <= np.exp(epsilon) * positives + membership.DELTA).all()
    assert (allowed >= positives).all()
    mu = membership.gaussian_budget(epsilon, membership.DELTA)
    assert gaussian_epsilon(mu, 0.99 * membership.DELTA) == pytest.approx(epsilon, rel=1e-6)
    assert gaussian_delta(mu, epsilon) < membership.DELTA


def test_canaries_have_words_of_their_own_and_half_of_all_are_members():
    counts = membership.documents()
    own = counts[:, membership.WORDS :].toarray()
    assert (own.sum(axis=0) == membership.REPEATED).all()
    assert (own[: membership.CANARIES] == membership.REPEATED * np.eye(membership.CANARIES)).all()
    assert abs(membership.members(3).mean() - 0.5) < 0.05
    assert (membership.members(3) != membership.members(4)).any()
