"""The robust tensor power method on tensors whose components are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.tensor.power import robust_power_method


def planted(values: np.ndarray, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A tensor with orthonormal components (k, len(values)), and those components."""
    V = np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))[0][:, : len(values)]
    return np.einsum("r,ar,br,cr->abc", values, V, V, V), V


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_orthogonal_components_are_recovered_with_sign(seed, k):
    values = np.linspace(1.0, 2.0, k)
    T, V = planted(values, k, seed)
    found = robust_power_method(T, k, np.random.default_rng(seed))
    order = np.argsort(found.values)
    np.testing.assert_allclose(found.values[order], values, rtol=1e-8)
    np.testing.assert_allclose(found.vectors[:, order], V, atol=1e-7)


def test_the_strongest_components_come_first_when_fewer_are_asked_for():
    T, V = planted(np.array([1.0, 3.0, 2.0]), 5, seed=4)
    found = robust_power_method(T, 2, np.random.default_rng(0))
    np.testing.assert_allclose(found.values, [3.0, 2.0], rtol=1e-8)
    np.testing.assert_allclose(found.vectors, V[:, [1, 2]], atol=1e-7)


def test_a_little_noise_moves_the_components_a_little():
    T, V = planted(np.array([2.0, 1.6, 1.2]), 3, seed=1)
    noise = np.random.default_rng(2).standard_normal(T.shape)
    noisy = T + 0.01 * sum(noise.transpose(p) for p in [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
    found = robust_power_method(noisy, 3, np.random.default_rng(0))
    assert np.abs(found.vectors - V).max() < 0.1


def test_the_tensor_given_is_left_alone():
    T, _ = planted(np.array([2.0, 1.0]), 3, seed=1)
    before = T.copy()
    robust_power_method(T, 2, np.random.default_rng(0))
    assert np.array_equal(T, before)


def test_a_zero_tensor_has_zero_values_and_unit_vectors():
    found = robust_power_method(np.zeros((3, 3, 3)), 3, np.random.default_rng(0))
    assert not found.values.any()
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=0), 1.0)


def test_the_same_starts_give_the_same_answer():
    T, _ = planted(np.array([2.0, 1.0]), 4, seed=1)
    one, two = (robust_power_method(T, 2, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one.vectors, two.vectors)


@pytest.mark.parametrize(
    ("T", "rank"),
    [
        (np.zeros((3, 3, 2)), 1),
        (np.zeros((3, 3)), 1),
        (np.zeros(()), 1),
        (np.zeros((0, 0, 0)), 0),
        (np.full((2, 2, 2), np.nan), 1),
        (np.full((2, 2, 2), np.inf), 1),
        (np.zeros((2, 2, 2)), 0),
        (np.zeros((2, 2, 2)), 3),
    ],
)
def test_what_is_no_finite_cube_or_no_possible_rank_is_refused(T, rank):
    with pytest.raises(ValueError, match="need a finite"):
        robust_power_method(T, rank, np.random.default_rng(0))
