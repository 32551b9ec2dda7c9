"""The noisy power method against eigenvectors that are known."""

from __future__ import annotations

import numpy as np
import pytest
from libraries import LIBRARIES, outside, planted
from scipy import sparse

from dplda.base.arrays import to_numpy
from dplda.base.errors import InputError
from dplda.papers import noisy_power_method, random_basis

D, P = 30, 4
SPECTRUM = [1.0, 0.8, 0.6, 0.5]


def start(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((D, P))


@LIBRARIES
def test_without_noise_the_leading_subspace_and_its_values_are_found(xp):
    A, V = planted(SPECTRUM)
    found = noisy_power_method(xp.asarray(A), xp.asarray(start()), 40)
    X = to_numpy(found.components)
    assert outside(X, V) < 1e-12
    np.testing.assert_allclose(X.T @ X, np.eye(P), atol=1e-12)
    np.testing.assert_allclose(to_numpy(found.values), SPECTRUM, rtol=1e-10)
    assert found.iterations == len(found.residuals) == 40
    assert found.residuals[-1] < 1e-12 < found.residuals[0] <= 1
    assert found.events == ()


def test_arrays_sparse_matrices_and_callables_are_one_operator():
    A, _ = planted(SPECTRUM)
    forms = (A, sparse.csr_array(A), sparse.coo_matrix(A), lambda X: A @ X)
    found = [noisy_power_method(form, start(), 3).components for form in forms]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-12)


def test_more_rounds_come_closer():
    A, V = planted(SPECTRUM)
    errors = [outside(noisy_power_method(A, start(), rounds).components, V) for rounds in (1, 2, 4, 8)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-6 < errors[0]


def test_noise_within_corollary_1_1_leaves_no_more_than_its_error():
    A, V = planted(SPECTRUM)
    random, error, gap = np.random.default_rng(3), 0.1, 0.48
    allowed = gap * (np.sqrt(P) - np.sqrt(P - 1)) / (5 * np.sqrt(D))

    def noise(X: np.ndarray) -> np.ndarray:
        G = random.standard_normal(X.shape)
        return G * min(error * gap / 5 / np.linalg.norm(G, 2), allowed / np.linalg.norm(V.T @ G, 2))

    errors = [outside(noisy_power_method(A, start(seed), 12, noise=noise).components, V) for seed in range(40)]
    assert np.mean(np.array(errors) <= error) > 0.9


def test_noise_may_look_at_the_iterate_and_is_added_once_a_round():
    A, _ = planted(SPECTRUM)
    seen = []
    found = noisy_power_method(A, start(), 5, noise=lambda X: seen.append(X) or -A @ X + start(len(seen)))
    assert len(seen) == 5
    np.testing.assert_allclose(found.components, np.linalg.qr(start(5))[0], atol=1e-12)


@LIBRARIES
def test_every_iterate_is_orthonormal_and_away_from_the_known_direction(xp):
    A, V = planted([1.0, 0.8, 0.6, 0.5, 0.4])
    random, seen = np.random.default_rng(3), []

    def multiply(X):
        seen.append(to_numpy(X))
        return xp.asarray(A @ seen[-1] + 0.01 * random.standard_normal(X.shape))

    found = noisy_power_method(multiply, xp.asarray(start()), 10, away_from=xp.asarray(V[:, 0].copy()))
    seen.append(to_numpy(found.components))
    assert len(seen) == 11
    for X in seen:
        assert np.abs(V[:, 0] @ X).max() < 1e-12
        np.testing.assert_allclose(X.T @ X, np.eye(P), atol=1e-12)
    assert outside(seen[-1], V[:, 1:]) < 0.5


@pytest.mark.parametrize("angle", [1e-7, 0.3, np.pi / 2])
def test_residuals_are_sines_of_the_largest_angle(angle):
    """One round turns the second column of a basis by `angle` and mixes both."""
    X, turned = np.eye(D)[:, :2], np.eye(D)[:, :2]
    turned[1:3, 1] = np.cos(angle), np.sin(angle)
    found = noisy_power_method(lambda _: turned @ np.array([[1.0, 2.0], [0.5, -1.0]]), X, 1)
    assert found.residuals[0] == pytest.approx(np.sin(angle))


def test_deflation_finds_the_directions_after_the_known_one():
    A, V = planted([1.0, 0.8, 0.6, 0.5, 0.4])
    found = noisy_power_method(A, start(), 12, away_from=V[:, 0])
    assert outside(found.components, V[:, 1:]) < 1e-6


@LIBRARIES
def test_a_random_start_is_orthonormal_and_uniform(xp):
    random = np.random.default_rng(0)
    X = random_basis(random, 6, 3, xp.ones(1))
    assert type(X) is type(xp.ones(1))
    np.testing.assert_allclose(to_numpy(X.T @ X), np.eye(3), atol=1e-12)
    for column in (0, 2):
        drawn = np.array([random_basis(random, 6, 3)[:, column] for _ in range(4000)])
        np.testing.assert_allclose(drawn.T @ drawn / 4000, np.eye(6) / 6, atol=0.1 / 6)
    for p in (0, 7, 2.0):
        with pytest.raises(InputError, match=r"\[1, 6\]"):
            random_basis(random, 6, p)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.triu(np.ones((D, D))), "symmetric"),
        (sparse.csr_array(np.triu(np.ones((D, D)))), "symmetric"),
        (np.full((D, D), np.nan), "finite"),
        (sparse.csr_array(np.full((D, D), np.inf)), "finite"),
        (np.ones((D, D - 1)), "square"),
        (sparse.csr_array(np.ones((D, D - 1))), "square"),
        (np.eye(D - 1), "to go with X"),
        (lambda X: X[1:], "shape of X"),
        (lambda X: X * np.nan, "A X must be finite"),
        (sparse.csr_array(np.eye(D) * 1j), "real numbers"),
        (np.eye(D).tolist(), "one library"),
    ],
)
def test_what_is_no_symmetric_finite_matrix_is_refused(A, message):
    with pytest.raises(InputError, match=message):
        noisy_power_method(A, start(), 2)


def test_wrong_starts_and_rounds_are_refused():
    for X in (np.ones(D), np.ones((2, 3)), np.ones((D, 0))):
        with pytest.raises(InputError, match=r"shape \(d, p\)"):
            noisy_power_method(np.eye(D), X, 2)
    with pytest.raises(InputError, match=r"^X must be finite"):
        noisy_power_method(np.eye(D), np.full((D, P), np.nan), 2)
    for rounds in (0, 2.0, np.nan):
        with pytest.raises(InputError, match="rounds"):
            noisy_power_method(np.eye(D), start(), rounds)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_single_precision_is_symmetric_but_for_its_own_rounding(form):
    A, V = planted(SPECTRUM)
    rounded = (A * (1 + 1e-7 * np.tri(D))).astype(np.float32)
    assert (rounded != rounded.T).any()
    assert outside(noisy_power_method(form(rounded), start().astype(np.float32), 40).components, V) < 1e-5
    with pytest.raises(InputError, match="symmetric"):
        noisy_power_method(form((A * (1 + 1e-4 * np.tri(D))).astype(np.float32)), start(), 2)


def test_small_whole_numbers_do_not_overflow():
    A = np.full((D, D), -128, dtype=np.int8)
    found = noisy_power_method(sparse.csr_array(A), start(), 3)
    np.testing.assert_allclose(found.values[0], 128 * D)
