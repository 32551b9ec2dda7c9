"""The compiled E-step against an independent implementation with SciPy's digamma."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma
from tiny_units import contribution_of

from dplda.moments.contributions import expected_counts
from dplda.moments.kernels import E_STEPS, exp_digamma, posterior

brief = settings(max_examples=40, deadline=None)


def reference(words, counts, topics, alpha):
    """Coordinate ascent of Blei, Ng, Jordan (2003), section 5.2, with phi held as a table (n, k)."""
    log_theta = np.zeros(topics.shape[1])
    for _ in range(E_STEPS):
        phi = np.exp(log_theta) * topics[words]
        phi /= phi.sum(axis=1, keepdims=True)
        gamma = alpha + counts @ phi
        log_theta = digamma(gamma)
    phi = np.exp(log_theta) * topics[words]
    return gamma, np.exp(log_theta), phi / phi.sum(axis=1, keepdims=True)


@brief
@given(st.floats(2e-3, 1e6))
def test_exp_digamma_is_accurate_to_nine_digits(x):
    assert exp_digamma(x) == pytest.approx(np.exp(digamma(x)), rel=1e-9, abs=0)


def test_exp_digamma_is_accurate_on_a_grid_across_its_whole_range():
    for x in np.geomspace(1e-3, 1e6, 2000):
        assert exp_digamma(x) == pytest.approx(np.exp(digamma(x)), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("x", [0.0, -2.0, -1.5, -1e300, -np.inf, np.nan])
def test_exp_digamma_outside_its_domain_is_nan_and_returns_at_once(x):
    assert np.isnan(exp_digamma(x))


@brief
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 8), st.floats(0.01, 5.0))
def test_posterior_and_expected_counts_agree_with_the_reference(seed, k, n, prior):
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(10, 0.5), size=k).T + 1e-9
    words = np.sort(random.permutation(10)[:n]).astype(np.int32)
    counts = random.integers(1, 9, size=n).astype(np.int32)
    alpha = np.full(k, prior)
    gamma, theta, phi = reference(words, counts, topics, alpha)
    found_theta, found_gamma = np.empty(k), np.empty(k)
    posterior(words, counts, topics, alpha, found_theta, found_gamma)
    np.testing.assert_allclose(found_gamma, gamma, rtol=1e-6)
    np.testing.assert_allclose(found_theta, theta, rtol=1e-6, atol=1e-300)
    document = list(zip(words.tolist(), counts.tolist(), strict=True))
    found = contribution_of(expected_counts(topics, prior), document)
    np.testing.assert_allclose(found[words], counts[:, None] * phi, rtol=1e-5, atol=1e-12)


def test_expected_counts_of_words_that_no_topic_has_are_finite_and_no_larger_than_the_counts():
    found = contribution_of(expected_counts(np.zeros((4, 3)), 0.1), [(0, 2), (3, 5)])
    assert np.isfinite(found).all()
    assert (found.sum(axis=1) <= [2, 0, 0, 5]).all()
