"""Bounds hold as often as they say, against exact laws, and reach what theory lets them reach."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from dplda.audit.bounds import Claim, _lower_bound, epsilon_shown, lower_bounds, mu_shown, upper_limit
from dplda.budget.accountant import gaussian_delta, gaussian_epsilon

rates = st.floats(0.0, 1.0)


@given(runs=st.integers(1, 500), share=rates, level=st.floats(1e-4, 0.3))
def test_limits_are_those_of_clopper_and_pearson(runs, share, level):
    errors = round(share * runs)
    exact = binomtest(errors, runs).proportion_ci(1 - 2 * level, method="exact").high
    assert float(upper_limit(np.array(errors), runs, level)) == pytest.approx(exact, rel=1e-9)


@given(positives=rates, negatives=rates, mu=st.floats(0.05, 4.0), threshold=st.floats(-5.0, 5.0))
def test_no_test_shows_more_of_a_gaussian_than_there_is(positives, negatives, mu, threshold):
    """Its own error rates show mu itself at any threshold, and at no delta more than its epsilon there."""
    p, n = norm.sf(threshold), norm.cdf(threshold - mu)
    assert float(mu_shown(p, n, 0.0)) == pytest.approx(mu, rel=1e-6)
    assert float(mu_shown(min(p + positives, 1.0), min(n + negatives, 1.0), 0.01)) <= mu * (1 + 1e-9)
    for epsilon in (0.1, 1.0, 5.0):
        assert float(epsilon_shown(p, n, gaussian_delta(mu, epsilon))) <= epsilon + 1e-6


def test_the_best_threshold_shows_all_of_an_epsilon():
    """Randomised response errs with 1 / (1 + e^epsilon) on either side."""
    rate = 1 / (1 + math.exp(2.0))
    assert float(epsilon_shown(rate, rate, 0.0)) == pytest.approx(2.0)
    assert float(epsilon_shown(rate, rate, 0.1)) < 2.0


def test_a_bound_exceeds_the_truth_as_seldom_as_it_says():
    """Randomised response, which has no slack: what is shown is wrong in at most one of ten audits, and not in none."""
    random, epsilon, audits, runs = np.random.default_rng(0), 1.0, 1500, 400
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    wrong = 0
    for _ in range(audits):
        less, more = random.random(runs) >= truth, random.random(runs) < truth
        shown = _lower_bound(less.astype(float), more.astype(float), lambda p, n: epsilon_shown(p, n, 0.0), 0.1)
        wrong += shown > epsilon
    assert 0 < wrong < 0.1 * audits


def ratios(random, mu, runs) -> tuple[np.ndarray, np.ndarray]:
    """Log likelihood ratios of a Gaussian mechanism on either corpus."""
    return random.normal(-(mu**2) / 2, mu, runs), random.normal(mu**2 / 2, mu, runs)


def test_a_gaussian_is_shown_for_the_most_part_and_never_beyond():
    random, mu = np.random.default_rng(1), 1.0
    claim = Claim(gaussian_epsilon(mu, 1e-6), 1e-6, mu)
    all_shown = [lower_bounds(*ratios(random, mu, 4000), claim, 0.05) for _ in range(50)]
    assert not any(shown.refutes(claim) for shown in all_shown)
    assert np.mean([shown.gaussian for shown in all_shown]) > 0.8 * claim.epsilon
    assert min(shown.epsilon for shown in all_shown) > 1.0
    twice = lower_bounds(*ratios(random, 2 * mu, 4000), claim, 0.05)
    assert twice.refutes(claim)


@given(st.integers(8, 60), st.integers(0, 99))
def test_what_cannot_be_told_apart_shows_nothing(runs, seed):
    evidence = np.random.default_rng(seed).integers(0, 2, runs) - 0.5
    shown = lower_bounds(evidence, evidence, Claim(1.0, 1e-6, 0.3, 1e-8), 0.05)
    assert shown.epsilon == shown.mu == shown.gaussian == 0.0


@pytest.mark.full
def test_a_bound_on_mu_exceeds_the_truth_as_seldom_as_it_says():
    random, audits, claim = np.random.default_rng(2), 2000, Claim(4.0, 1e-6, 1.0)
    wrong = sum(lower_bounds(*ratios(random, 1.0, 200), claim, 0.4).refutes(claim) for _ in range(audits))
    assert 0 < wrong < 0.2 * audits


def test_a_failure_probability_explains_errors_of_its_size():
    """A mechanism that gives itself away in one of ten runs shows nothing where that was claimed."""
    less, more = np.full(4000, -1.0), np.where(np.arange(4000) % 10 == 0, 1.0, -1.0)
    certain, failing = Claim(1.0, 1e-6, 0.3), Claim(1.0, 0.2, 0.3, 0.15)
    assert lower_bounds(less, more, certain, 0.05).refutes(certain)
    assert not lower_bounds(less, more, failing, 0.05).refutes(failing)
