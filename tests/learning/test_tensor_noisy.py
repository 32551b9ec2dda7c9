"""Power iterations on a tensor that answers with noise."""

from __future__ import annotations

import numpy as np
import pytest
from known_tensors import LIBRARIES, planted, symmetrized

from dplda.base.errors import InputError
from dplda.learning.eigenpairs import along_itself, implicit
from dplda.papers import Implicit, noisy_tensor_power_method


def test_without_noise_the_components_are_found_with_sign():
    T, V = planted(np.array([3.0, 2.0, 1.0]), 6, seed=1)
    for library in LIBRARIES.values():
        tensor = implicit(library(T), 3)
        found = noisy_tensor_power_method(tensor, 3, np.random.default_rng(0), starts=20, iterations=12)
        np.testing.assert_allclose(np.asarray(found.values), [3.0, 2.0, 1.0], rtol=1e-6)
        np.testing.assert_allclose(np.asarray(found.vectors), V, atol=1e-5)
        assert float(found.residuals[0]) < 1e-5
        assert found.iterations == 36


def by_the_book(T, rank, generator, iterations):
    """Algorithm 2 of Wang and Anandkumar with one start, in their order."""
    values, vectors = [], []
    for _ in range(rank):
        u = generator.standard_normal(len(T))
        u /= np.linalg.norm(u)
        for _ in range(iterations):
            product, value = np.einsum("abc,b,c->a", T, u, u), np.einsum("abc,a,b,c->", T, u, u, u)
            for known, v in zip(values, vectors, strict=True):
                product = product - known * (v @ u) ** 2 * v
                value -= known * (v @ u) ** 3
            u = product / np.linalg.norm(product)
        values.append(value)
        vectors.append(u)
    return np.array(values), np.array(vectors).T


def test_one_start_takes_the_steps_of_the_paper_and_the_value_one_step_before():
    T, _ = planted(np.array([3.0, 2.0, 1.0]), 6, seed=2)
    values, vectors = by_the_book(T, 3, np.random.default_rng(5), 4)
    found = noisy_tensor_power_method(implicit(T, 3), 3, np.random.default_rng(5), iterations=4)
    np.testing.assert_allclose(found.values, values, rtol=1e-9)
    np.testing.assert_allclose(found.vectors, vectors, atol=1e-9)


def test_a_value_asked_for_is_that_of_the_last_vector_in_the_deflated_tensor():
    T, _ = planted(np.array([3.0, 2.0, 1.0]), 6, seed=2)
    T = T + symmetrized(np.random.default_rng(1).standard_normal(T.shape))
    tensor = implicit(T, 3)
    found = noisy_tensor_power_method(
        tensor, 2, np.random.default_rng(5), iterations=3, value=lambda U: along_itself(U, tensor.along(U))
    )
    first, second = found.vectors.T
    assert abs(first @ second) > 0.05
    deflated = T - found.values[0] * np.einsum("a,b,c->abc", first, first, first)
    assert found.values[0] == pytest.approx(np.einsum("abc,a,b,c->", T, first, first, first))
    assert found.values[1] == pytest.approx(np.einsum("abc,a,b,c->", deflated, second, second, second))


def test_every_step_asks_afresh_so_that_noise_does_not_repeat():
    T, V = planted(np.array([3.0]), 8, seed=3)
    random, exact, asked = np.random.default_rng(0), implicit(T, 1), []

    def along(U):
        asked.append(U.shape)
        return exact.along(U) + 0.05 * random.standard_normal(U.shape)

    found = noisy_tensor_power_method(Implicit(along, 8), 1, np.random.default_rng(1), starts=10, iterations=9)
    assert asked == [(8, 10)] * 9
    assert found.vectors[:, 0] @ V[:, 0] > 0.99
    assert 0.02 < found.residuals[0] < 0.5


def test_the_start_with_the_largest_value_is_kept():
    T, V = planted(np.array([3.0, 1.0]), 2, seed=4)
    found = [
        noisy_tensor_power_method(implicit(T, 1), 1, np.random.default_rng(s), starts=30, iterations=12)
        for s in range(5)
    ]
    assert min(one.vectors[:, 0] @ V[:, 0] for one in found) > 1 - 1e-9


@pytest.mark.parametrize("counts", [{"rank": 0}, {"starts": 0}, {"iterations": 0}, {"starts": 2.0}])
def test_nothing_to_do_is_refused(counts):
    with pytest.raises(InputError, match="at least 1"):
        noisy_tensor_power_method(**{"T": Implicit(abs, 2), "rank": 1, "rng": None, "iterations": 1, **counts})
