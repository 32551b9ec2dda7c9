"""The noisy power method against eigenvectors that are known."""

from __future__ import annotations

import numpy as np
import pytest

from dplda.spectral.power import noisy_power_method

D, P = 30, 4


def planted(values: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric matrix (D, D) with leading eigenvalues `values`, and its leading eigenvectors."""
    V = np.linalg.qr(np.random.default_rng(seed).standard_normal((D, D)))[0]
    rest = np.full(D - len(values), 0.02)
    return (V * np.concatenate([values, rest])) @ V.T, V[:, : len(values)]


def start(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((D, P))


def outside(X: np.ndarray, V: np.ndarray) -> float:
    """Spectral norm of the part of the columns of V that X does not reach."""
    return float(np.linalg.norm(V - X @ (X.T @ V), 2))


def test_without_noise_the_leading_subspace_is_found():
    A, V = planted(np.array([1.0, 0.8, 0.6, 0.5]))
    X = noisy_power_method(lambda X: A @ X, start(), 12)
    assert outside(X, V) < 1e-9
    np.testing.assert_allclose(X.T @ X, np.eye(P), atol=1e-12)


def test_more_rounds_come_closer():
    A, V = planted(np.array([1.0, 0.8, 0.6, 0.5]))
    errors = [outside(noisy_power_method(lambda X: A @ X, start(), rounds), V) for rounds in (0, 1, 2, 4)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3 < errors[0]


def test_small_noise_in_every_product_leaves_a_small_error():
    A, V = planted(np.array([1.0, 0.8, 0.6, 0.5]))
    random = np.random.default_rng(3)
    X = noisy_power_method(lambda X: A @ X + 1e-3 * random.standard_normal(X.shape), start(), 8)
    assert outside(X, V) < 0.05


def test_every_iterate_is_orthonormal_and_away_from_the_known_direction():
    A, V = planted(np.array([1.0, 0.8, 0.6, 0.5, 0.4]))
    known, seen = V[:, 0], []
    random = np.random.default_rng(3)

    def multiply(X: np.ndarray) -> np.ndarray:
        seen.append(X)
        return A @ X + 0.01 * random.standard_normal(X.shape)

    seen.append(noisy_power_method(multiply, start(), 10, away_from=known))
    assert len(seen) == 11
    for X in seen:
        assert np.abs(known @ X).max() < 1e-12
        np.testing.assert_allclose(X.T @ X, np.eye(P), atol=1e-12)
    assert outside(seen[-1], V[:, 1:]) < 0.5


def test_deflation_finds_the_directions_after_the_known_one():
    A, V = planted(np.array([1.0, 0.8, 0.6, 0.5, 0.4]))
    X = noisy_power_method(lambda X: A @ X, start(), 12, away_from=V[:, 0])
    assert outside(X, V[:, 1:]) < 1e-6


@pytest.mark.parametrize("rounds", [1, 5])
def test_the_matrix_is_asked_for_once_a_round(rounds):
    asked = []
    noisy_power_method(lambda X: asked.append(1) or X, start(), rounds)
    assert len(asked) == rounds
