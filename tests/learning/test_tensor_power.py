"""The robust tensor power method on tensors whose components are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_tensors import LIBRARIES, planted, symmetrized

from dplda.base.errors import InputError
from dplda.learning.eigenpairs import implicit
from dplda.papers import Implicit, robust_power_method


@pytest.mark.parametrize("screen", [True, False])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 6))
def test_orthogonal_components_are_recovered_with_sign(screen, seed, k):
    values = np.linspace(1.0, 2.0, k)
    T, V = planted(values, k, seed)
    found = robust_power_method(T, k, np.random.default_rng(seed), screen=screen)
    order = np.argsort(found.values)
    np.testing.assert_allclose(found.values[order], values, rtol=1e-8)
    np.testing.assert_allclose(found.vectors[:, order], V, atol=1e-7)
    assert found.residuals.max() < 1e-7
    assert found.events == ()


def test_libraries_implicit_and_dense_agree():
    T, _ = planted(np.array([2.0, 1.6, 1.2]), 6, seed=3)
    T = T + 0.005 * symmetrized(np.random.default_rng(4).standard_normal(T.shape))
    tensors = [library(T) for library in LIBRARIES.values()]
    tensors.append(Implicit(lambda U: np.einsum("abc,bl,cl->al", T, U, U), 6))
    found = [robust_power_method(tensor, 3, np.random.default_rng(5)) for tensor in tensors]
    for one in found:
        np.testing.assert_allclose(np.asarray(one.values), found[0].values, rtol=1e-9)
        np.testing.assert_allclose(np.asarray(one.vectors), found[0].vectors, atol=1e-7)


def test_the_strongest_components_come_first_when_fewer_are_asked_for():
    T, V = planted(np.array([1.0, 3.0, 2.0]), 5, seed=4)
    found = robust_power_method(T, 2, np.random.default_rng(0))
    np.testing.assert_allclose(found.values, [3.0, 2.0], rtol=1e-8)
    np.testing.assert_allclose(found.vectors, V[:, [1, 2]], atol=1e-7)


def test_a_little_noise_moves_the_components_a_little():
    T, V = planted(np.array([2.0, 1.6, 1.2]), 3, seed=1)
    noise = np.random.default_rng(2).standard_normal(T.shape)
    found = robust_power_method(T + 0.005 * symmetrized(noise), 3, np.random.default_rng(0))
    assert np.abs(found.vectors - V).max() < 0.1


def test_vectors_are_eigenvectors_of_the_deflated_tensor_and_residuals_tell_how_nearly():
    T, _ = planted(np.array([2.0, 1.6, 1.2]), 4, seed=1)
    T = T + 0.02 * symmetrized(np.random.default_rng(2).standard_normal(T.shape))
    found = robust_power_method(T, 3, np.random.default_rng(0), iterations=4)
    for value, v, residual in zip(found.values, found.vectors.T, found.residuals, strict=True):
        product = np.einsum("abc,b,c->a", T, v, v)
        assert value == pytest.approx(product @ v)
        assert residual == pytest.approx(np.linalg.norm(product - value * v), abs=1e-12)
        T = T - value * np.einsum("a,b,c->abc", v, v, v)


def test_steps_end_when_no_vector_moves_further_than_the_tolerance():
    T, V = planted(np.array([2.0, 1.5]), 4, seed=1)
    steps = []
    for tolerance in (1e-2, 1e-6, 0.0):
        found = robust_power_method(T, 2, np.random.default_rng(0), screen=False, tolerance=tolerance, iterations=500)
        steps.append(found.iterations)
        assert np.abs(found.vectors - V).max() <= max(tolerance, 1e-7)
    assert steps == sorted(steps)
    assert steps[0] < steps[1] < 100


def test_the_number_of_steps_is_that_of_the_products_asked_for():
    T, _ = planted(np.array([2.0, 1.5]), 4, seed=1)
    T = T + 0.05 * symmetrized(np.random.default_rng(2).standard_normal(T.shape))
    widths = []

    def along(U):
        widths.append(U.shape[1])
        return np.einsum("abc,bl,cl->al", T, U, U)

    found = robust_power_method(Implicit(along, 4), 1, np.random.default_rng(0), starts=16, iterations=8)
    assert found.iterations == 2 + 8 + 8
    assert widths[1:] == [16] * 3 + [2] * 9 + [1] * 9  # after the test of symmetry: steps, then T(u, u, u)
    widths.clear()
    robust_power_method(Implicit(along, 4), 1, np.random.default_rng(0), starts=16, iterations=8, screen=False)
    assert widths[1:] == [16] * 9 + [1] * 9


def test_steps_go_on_until_the_slowest_vector_settles_and_are_counted():
    T, _ = planted(np.array([2.0, 1.5]), 4, seed=1)
    U, steps, moved, widths = implicit(T, 1).directions(np.random.default_rng(0), 6), 0, 1.0, []
    while moved > 1e-3:
        V = np.einsum("abc,bl,cl->al", T, U, U)
        V /= np.linalg.norm(V, axis=0)
        U, steps, moved = V, steps + 1, np.abs(V - U).max()

    def along(U):
        widths.append(U.shape[1])
        return np.einsum("abc,bl,cl->al", T, U, U)

    found = robust_power_method(
        Implicit(along, 4), 1, np.random.default_rng(0), starts=6, screen=False, tolerance=1e-3, iterations=100
    )
    assert 3 < steps < 100
    assert widths.count(6) == steps + 1  # T(u, u, u) of every start; then that of the polished one
    assert found.iterations == steps + widths.count(1) - 1


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


@pytest.mark.parametrize("counts", [{"starts": 0}, {"iterations": 0}])
def test_nothing_to_do_is_refused(counts):
    with pytest.raises(InputError, match="at least 1"):
        robust_power_method(np.zeros((2, 2, 2)), 1, np.random.default_rng(0), **counts)
