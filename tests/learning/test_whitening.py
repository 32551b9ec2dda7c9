"""Whitening and unwhitening: exact population moments give back exact topics."""

from __future__ import annotations

import numpy as np
import pytest

from dplda.learning.eigenpairs import robust_power_method
from dplda.learning.model_size import noise_level
from dplda.learning.recovery import Whitening, corrected_second_moment, corrected_third_moment, leading_eigenvalues
from dplda.private.statistics.lda_moments import coefficients, population_moments

K, D = 3, 8
PRIORS = [np.full(K, alpha0 / K) for alpha0 in (0.1, 1.0, 5.0)] + [np.array([0.2, 0.5, 1.3])]


def planted_topics() -> np.ndarray:
    return np.random.default_rng(11).dirichlet(np.full(D, 0.4), size=K)


@pytest.mark.parametrize("alpha", PRIORS, ids=lambda alpha: f"alpha0={alpha.sum():g}")
def test_exact_moments_give_back_exact_topics(alpha):
    topics, alpha0 = planted_topics(), float(alpha.sum())
    exact = population_moments(topics, alpha)
    values, vectors = leading_eigenvalues(corrected_second_moment(exact.E2, exact.m, alpha0))
    whitening = Whitening(vectors[:, :K], values[:K])
    W = whitening.W
    np.testing.assert_allclose(W.T @ exact.M2 @ W, np.eye(K), atol=1e-10)

    E3 = np.einsum("ijl,ia,jb,lc->abc", exact.E3, W, W, W)
    T = corrected_third_moment(E3, W.T @ exact.E2 @ W, W.T @ exact.m, alpha0)
    pairs = robust_power_method(T, K, np.random.default_rng(0))
    found = whitening.unwhiten(pairs.values, pairs.vectors, alpha0).T
    order = np.argsort([int(np.argmin(np.abs(topics - row).sum(axis=1))) for row in found])
    np.testing.assert_allclose(found[order], topics, atol=1e-6)

    shares = alpha / (alpha0 * (alpha0 + 1))
    np.testing.assert_allclose(pairs.values[order], 2 / ((alpha0 + 2) * np.sqrt(shares)), rtol=1e-7)


def test_projected_averages_give_the_projected_moment():
    topics, alpha = planted_topics(), np.array([0.2, 0.5, 1.3])
    exact, alpha0 = population_moments(topics, alpha), 2.0
    W = np.random.default_rng(1).standard_normal((D, 2))
    E3 = np.einsum("ijl,ia,jb,lc->abc", exact.E3, W, W, W)
    expected = np.einsum("ijl,ia,jb,lc->abc", exact.M3, W, W, W)
    np.testing.assert_allclose(
        corrected_third_moment(E3, W.T @ exact.E2 @ W, W.T @ exact.m, alpha0), expected, atol=1e-13
    )


def test_coefficients_are_those_of_the_proof():
    assert coefficients(1.0) == pytest.approx((1 / 2, -1 / 3, 1 / 3))
    assert coefficients(0.0) == (0.0, 0.0, 0.0)


def test_eigenvalues_descend_with_their_vectors():
    A = np.random.default_rng(0).standard_normal((6, 6))
    values, vectors = leading_eigenvalues(A)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose((vectors * values) @ vectors.T, (A + A.T) / 2, atol=1e-12)


def test_noise_level_is_the_norm_of_symmetric_noise():
    random, p, std = np.random.default_rng(0), 60, 0.3
    norms = []
    for _ in range(20):
        Z = random.standard_normal((p, p)) * std
        noise = (Z + Z.T) / 2  # std / sqrt(2) off the diagonal
        noise[np.diag_indices(p)] = random.standard_normal(p) * std
        norms.append(np.linalg.norm(noise, 2))
    assert np.mean(norms) == pytest.approx(noise_level(std, p), rel=0.08)
