"""The streaming power method: blocks do not matter, memory stays small, spiked covariances are found."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import LIBRARIES, outside
from scipy import sparse

from dplda.base.arrays import to_numpy
from dplda.base.errors import InputError
from dplda.papers import Subspace, noisy_power_method, random_basis, streaming_power_method

D, P, N = 12, 3, 100
Z = np.random.default_rng(0).standard_normal((N, D)) * np.linspace(2, 0.5, D)
START = random_basis(np.random.default_rng(1), D, P)


def batch(samples: int, rounds: int) -> Subspace:
    """The same by whole matrices."""
    parts = iter(np.split(Z[: samples * rounds], rounds))

    def product(X: np.ndarray) -> np.ndarray:
        part = next(parts)
        return part.T @ part @ X

    return noisy_power_method(product, START, rounds)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, N), max_size=6), st.integers(P, N), st.booleans())
def test_any_blocks_give_what_the_batch_gives(cuts, samples, as_sparse):
    blocks = np.split(Z, sorted(cuts))
    found = streaming_power_method(map(sparse.csr_array, blocks) if as_sparse else blocks, START, samples)
    rounds = N // samples
    assert found.iterations == len(found.residuals) == rounds
    expected = batch(samples, rounds)
    np.testing.assert_allclose(found.components, expected.components, atol=1e-9)
    np.testing.assert_allclose(found.residuals, expected.residuals, atol=1e-7)


@LIBRARIES
def test_rounds_end_the_stream_and_values_are_eigenvalues_of_the_last_covariance(xp):
    taken = []
    blocks = (taken.append(i) or xp.asarray(Z[i : i + 10]) for i in range(0, N, 10))
    found = streaming_power_method(blocks, xp.asarray(START), 20, rounds=3)
    assert found.iterations == 3
    assert len(taken) == 6
    before, last = batch(20, 2).components, Z[40:60]
    expected = np.linalg.svd(last.T @ last @ before, compute_uv=False) / 20
    np.testing.assert_allclose(to_numpy(found.values), expected)


def test_any_basis_of_a_start_gives_the_same_subspace_and_values():
    mixed = START @ np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [1.0, 0.0, 5.0]])
    found = [streaming_power_method([Z], start, N) for start in (START, mixed)]
    np.testing.assert_allclose(found[1].values, found[0].values)
    assert outside(found[1].components, found[0].components) < 1e-12


def test_single_samples_are_blocks_of_one():
    found = [streaming_power_method(blocks, START, 20) for blocks in ([Z], list(Z))]
    np.testing.assert_allclose(found[1].components, found[0].components, atol=1e-9)


def test_a_spiked_covariance_is_found():
    random, d, k, samples = np.random.default_rng(2), 60, 3, 8000
    U = random_basis(random, d, k)

    def stream():
        while True:
            yield random.standard_normal((500, k)) * 2 @ U.T + random.standard_normal((500, d))

    found = streaming_power_method(stream(), random_basis(random, d, 2 * k), samples, rounds=8)
    assert outside(found.components, U) < 0.1
    np.testing.assert_allclose(found.values[:k], 5.0, rtol=0.15)


def test_memory_is_that_of_one_block_and_one_basis():
    d, p, n = 2000, 4, 60
    block = sparse.random_array((n, d), density=0.01, format="csr", random_state=0)
    start = random_basis(np.random.default_rng(0), d, p)
    streaming_power_method([block], start, n)
    tracemalloc.start()
    streaming_power_method((block.copy() for _ in range(200)), start, 10 * n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * d * p * 8 < d * d * 8 / 10


def test_streams_that_cannot_serve_are_refused():
    with pytest.raises(InputError, match="ended after 100 samples"):
        streaming_power_method([Z], START, N + 1)
    for bad in (Z[:, 1:], Z[None], sparse.csr_array(Z[:, 1:])):
        with pytest.raises(InputError, match=rf"\(n, {D}\)"):
            streaming_power_method([bad], START, 5)
    with pytest.raises(InputError, match="real numbers"):
        streaming_power_method([sparse.csr_array(Z * 1j)], START, 5)
    for bad in (np.full((2, D), np.nan), sparse.csr_array(np.full((2, D), np.inf))):
        with pytest.raises(InputError, match="finite"):
            streaming_power_method([bad], START, P)
    for wrong in ({"samples": P - 1}, {"samples": 5.0}, {"samples": 5, "rounds": 0}, {"samples": 5, "rounds": 1.0}):
        with pytest.raises(InputError, match="a whole number of at least"):
            streaming_power_method([Z], START, **wrong)


def test_small_whole_numbers_do_not_overflow():
    counts = np.full((N, D), 100, dtype=np.int8)
    found = [streaming_power_method([form(counts)], START, N) for form in (np.asarray, sparse.csr_array)]
    for one in found:
        np.testing.assert_allclose(one.values[0], 100**2 * np.linalg.norm(START.sum(axis=0)) * np.sqrt(D))
