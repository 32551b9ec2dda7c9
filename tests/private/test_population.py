"""Exact population moments, held against integrals over the Dirichlet prior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from dplda.learning.recovery import corrected_second_moment, corrected_third_moment
from dplda.private.statistics.lda_moments import population_moments

PRIORS = [np.array([0.05, 0.05]), np.array([0.3, 0.7, 1.5]), np.array([2.0, 1.0, 1.5, 0.5])]


def random_topics(k: int, d: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(d, 0.7), size=k)


def test_moments_are_integrals_over_the_prior():
    topics, a, b = random_topics(2), 1.3, 2.1
    moments = population_moments(topics, np.array([a, b]))

    def integral(*words: int) -> float:
        def density(t: float) -> float:
            return beta.pdf(t, a, b) * np.prod([t * topics[0, w] + (1 - t) * topics[1, w] for w in words])

        return quad(density, 0, 1, epsabs=1e-13)[0]

    assert moments.m[3] == pytest.approx(integral(3), rel=1e-9)
    assert moments.E2[1, 1] == pytest.approx(integral(1, 1), rel=1e-9)
    assert moments.E2[0, 4] == pytest.approx(integral(0, 4), rel=1e-9)
    assert moments.E3[2, 2, 5] == pytest.approx(integral(2, 2, 5), rel=1e-9)
    assert moments.E3[0, 1, 3] == pytest.approx(integral(0, 1, 3), rel=1e-9)


@pytest.mark.parametrize("alpha", PRIORS)
def test_moments_are_symmetric_distributions_with_consistent_margins(alpha):
    moments = population_moments(random_topics(len(alpha)), alpha)
    assert moments.m.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(moments.E2.sum(axis=1), moments.m, rtol=1e-12)
    np.testing.assert_allclose(moments.E3.sum(axis=2), moments.E2, rtol=1e-12)
    for order in [(0, 2, 1), (2, 1, 0), (1, 2, 0)]:
        np.testing.assert_allclose(moments.E3.transpose(order), moments.E3, rtol=1e-12)


@pytest.mark.parametrize("alpha", PRIORS)
def test_corrections_of_the_averages_are_sums_of_topics(alpha):
    moments = population_moments(random_topics(len(alpha)), alpha)
    alpha0 = float(alpha.sum())
    np.testing.assert_allclose(corrected_second_moment(moments.E2, moments.m, alpha0), moments.M2, atol=1e-15)
    np.testing.assert_allclose(
        corrected_third_moment(moments.E3, moments.E2, moments.m, alpha0), moments.M3, atol=1e-15
    )


@pytest.mark.parametrize(
    ("topics", "alpha"),
    [
        (np.full((2, 4), 0.25), np.ones(3)),
        (np.full(4, 0.25), np.ones(4)),
        (np.full((2, 4), 0.3), np.ones(2)),
        (np.array([[1.5, -0.5], [0.5, 0.5]]), np.ones(2)),
        (np.full((2, 4), 0.25), np.array([1.0, 0.0])),
        (np.full((2, 4), 0.25), np.array([1.0, np.nan])),
    ],
)
def test_wrong_parameters_are_refused(topics, alpha):
    with pytest.raises(ValueError, match=r"need topics|distribution|Dirichlet"):
        population_moments(topics, alpha)
