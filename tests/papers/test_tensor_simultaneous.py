"""Simultaneous power iteration against components that are known and against the method with deflation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_tensors import LIBRARIES, planted, symmetrized

from dplda.base.errors import InputError
from dplda.papers import Implicit, robust_power_method, simultaneous_power_method


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_orthogonal_components_are_recovered_with_sign(seed, k):
    values = np.linspace(2.0, 1.0, k)
    T, V = planted(values, k + 2, seed)
    found = simultaneous_power_method(T, k, np.random.default_rng(seed))
    order = np.argsort(-found.values)
    np.testing.assert_allclose(found.values[order], values, rtol=1e-8)
    np.testing.assert_allclose(found.vectors[:, order], V, atol=1e-7)
    assert found.residuals.max() < 1e-7


def test_libraries_and_implicit_agree():
    T, _ = planted(np.array([2.0, 1.6, 1.2]), 6, seed=3)
    T = T + 0.005 * symmetrized(np.random.default_rng(4).standard_normal(T.shape))
    tensors = [library(T) for library in LIBRARIES.values()]
    tensors.append(Implicit(lambda U: np.einsum("abc,bl,cl->al", T, U, U), 6))
    found = [simultaneous_power_method(tensor, 3, np.random.default_rng(5)) for tensor in tensors]
    for one in found:
        np.testing.assert_allclose(np.asarray(one.values), found[0].values, rtol=1e-9)
        np.testing.assert_allclose(np.asarray(one.vectors), found[0].vectors, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_a_tensor_does_not_matter(scale):
    T, _ = planted(np.array([2.0, 1.6, 1.2]), 5, seed=3)
    found = simultaneous_power_method(scale * T, 3, np.random.default_rng(0), iterations=1)
    once = simultaneous_power_method(T, 3, np.random.default_rng(0), iterations=1)
    np.testing.assert_allclose(found.values / scale, once.values, rtol=1e-9)
    np.testing.assert_allclose(found.vectors, once.vectors, atol=1e-9)


def test_as_many_products_are_asked_for_as_are_stated():
    T, _ = planted(np.array([2.0, 1.6, 1.2]), 5, seed=3)
    widths = []

    def along(U):
        widths.append(U.shape[1])
        return np.einsum("abc,bl,cl->al", T, U, U)

    simultaneous_power_method(
        Implicit(along, 5), 3, np.random.default_rng(0), probes=7, rounds=4, iterations=6, tolerance=-1.0
    )
    assert widths[1:] == [7, *[6] * (4 + 1), *[3] * (6 + 1)]  # after the test of symmetry
    assert sum(widths[1:]) == 7 + 3 * (2 * 4 + 6 + 3)


def test_equal_values_are_separated():
    T, V = planted(np.ones(4), 6, seed=8)
    found = simultaneous_power_method(T, 4, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(found.vectors.T @ V).max(axis=1), 1.0, atol=1e-7)


def test_noise_moves_it_no_more_than_the_method_with_deflation():
    T, V = planted(np.array([2.0, 1.5, 1.0]), 12, seed=1)
    errors = []
    for seed in range(5):
        noisy = T + 0.01 * symmetrized(np.random.default_rng(seed).standard_normal(T.shape))
        for method in (simultaneous_power_method, robust_power_method):
            found = method(noisy, 3, np.random.default_rng(seed))
            errors.append(np.linalg.norm(found.vectors[:, np.argsort(-found.values)] - V))
    together, deflated = errors[::2], errors[1::2]
    assert np.mean(together) < 1.2 * np.mean(deflated) < 0.5


def test_vectors_are_orthonormal_and_residuals_those_of_the_tensor():
    T, _ = planted(np.array([2.0, 1.6, 1.2]), 5, seed=1)
    T = T + 0.02 * symmetrized(np.random.default_rng(2).standard_normal(T.shape))
    found = simultaneous_power_method(T, 3, np.random.default_rng(0), iterations=3)
    Q = found.vectors
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    products = np.einsum("abc,br,cr->ar", T, Q, Q)
    np.testing.assert_allclose(found.values, (Q * products).sum(axis=0))
    np.testing.assert_allclose(found.residuals, np.linalg.norm(products - found.values * Q, axis=0))
    assert found.iterations == 3


def test_steps_end_when_no_column_moves_further_than_the_tolerance():
    T, V = planted(np.array([2.0, 1.5]), 4, seed=1)
    found = simultaneous_power_method(T, 2, np.random.default_rng(0), iterations=100, tolerance=1e-8)
    assert found.iterations < 10
    np.testing.assert_allclose(found.vectors, V, atol=1e-7)


def test_a_zero_tensor_has_zero_values():
    found = simultaneous_power_method(np.zeros((3, 3, 3)), 2, np.random.default_rng(0))
    assert not found.values.any()
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=0), 1.0)


@pytest.mark.parametrize("more", [{"probes": 0}, {"rounds": 0}, {"iterations": 0}, {"rank": 4}])
def test_what_cannot_be_done_is_refused(more):
    with pytest.raises(InputError, match=r"at least 1|rank 4"):
        simultaneous_power_method(**{"T": np.zeros((3, 3, 3)), "rank": 1, "rng": None, **more})
