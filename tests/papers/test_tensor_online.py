"""The online tensor power method: a stream gives what its moment gives."""

from __future__ import annotations

import itertools
import tracemalloc
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_tensors import LIBRARIES
from scipy import sparse

from dplda.base.errors import InputError
from dplda.learning.eigenpairs import implicit
from dplda.papers import noisy_tensor_power_method, online_power_method

VALUES = np.array([4.0, 3.0, 2.0])


def components(d: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(d).standard_normal((d, len(VALUES))))[0]


def draw(random: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Samples (n, d) with third moment sum of VALUES v^3: independent skewed loads, E a = 0 and E a^3 = 2."""
    loads = np.where(random.random((n, len(VALUES))) < 1 / 3, 2.0, -1.0)
    return loads * np.cbrt(VALUES / 2) @ components(d).T


def moment(X: np.ndarray) -> np.ndarray:
    return np.einsum("na,nb,nc->abc", X, X, X) / len(X)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 120), max_size=5))
def test_however_a_stream_is_cut_it_gives_what_the_moment_of_its_samples_gives(seed, cuts):
    X = draw(np.random.default_rng(seed), 40, 6)
    wanted = noisy_tensor_power_method(implicit(moment(X), 2), 2, np.random.default_rng(3), starts=4, iterations=3)
    blocks = np.split(np.tile(X, (6, 1)), sorted(cuts))
    found = online_power_method(blocks, 2, np.random.default_rng(3), samples=40, starts=4, iterations=3)
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-8)
    np.testing.assert_allclose(found.vectors, wanted.vectors, atol=1e-8)
    np.testing.assert_allclose(found.residuals, wanted.residuals, atol=1e-8)


def test_every_step_reads_the_next_samples():
    random = np.random.default_rng(0)
    parts = [draw(random, 30, 5) for _ in range(4)]
    moments = iter(implicit(moment(X), 1).along for X in parts)
    tensor = implicit(moment(parts[0]), 1)
    fresh = type(tensor)(lambda U: next(moments)(U), 5)
    wanted = noisy_tensor_power_method(fresh, 2, np.random.default_rng(3), starts=4, iterations=2)
    found = online_power_method(parts, 2, np.random.default_rng(3), samples=30, starts=4, iterations=2)
    np.testing.assert_allclose(found.vectors, wanted.vectors, atol=1e-9)


def _one_block(library, X):
    return [library(X)]


KINDS = {
    **{name: partial(_one_block, library) for name, library in LIBRARIES.items()},
    "single samples": list,
    "sparse": lambda X: [sparse.csr_matrix(X[:13]), sparse.coo_array(X[13:])],
    "whole numbers": lambda X: [X.astype(np.int64)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_block_gives_the_same(kind):
    X = np.random.default_rng(1).poisson(1.0, (60, 4)).astype(np.float64)
    wanted = online_power_method([X], 1, np.random.default_rng(0), samples=20, starts=3, iterations=3)
    found = online_power_method(KINDS[kind](X), 1, np.random.default_rng(0), samples=20, starts=3, iterations=3)
    np.testing.assert_allclose(np.asarray(found.vectors), wanted.vectors, atol=1e-12)
    np.testing.assert_allclose(np.asarray(found.values), wanted.values, rtol=1e-9)


def test_more_samples_come_closer_as_their_root():
    errors = []
    for samples in (2000, 32000):
        random = np.random.default_rng(7)
        stream = (draw(random, 1000, 10) + random.choice([-1.0, 1.0], (1000, 10)) for _ in itertools.count())
        found = online_power_method(stream, 3, np.random.default_rng(0), samples=samples, starts=10, iterations=8)
        order = np.argsort(-found.values)
        errors.append(np.linalg.norm(found.vectors[:, order] - components(10)))
    assert errors[1] < 0.1
    assert 2 < errors[0] / errors[1] < 8  # theory: 4


def test_memory_does_not_grow_with_the_samples():
    def peak(samples: int) -> int:
        random = np.random.default_rng(0)
        tracemalloc.start()
        stream = (draw(random, 100, 50) for _ in itertools.count())
        online_power_method(stream, 1, np.random.default_rng(0), samples=samples, starts=5, iterations=2)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(5000) < 1.2 * peak(500) < 50**3 * 8


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "ended after 0 samples"),
        ([np.ones((25, 3))], "ended after 25 samples"),
        ([np.ones((5, 3)), np.ones((5, 4))], r"must have shape \(n, 3\), got \(5, 4\) after 5 samples"),
        ([np.ones((2, 3, 4))], "must have shape"),
        ([np.full((40, 3), np.nan)], "finite"),
        ([np.ones((40, 1))], "rank must be a whole number in"),
        ([np.ones((40, 3)) * 1j], "real numbers"),
        ([sparse.csr_array(np.ones((40, 3)) * 1j)], "real numbers"),
    ],
)
def test_streams_that_end_early_change_or_hold_no_numbers_are_refused(blocks, message):
    with pytest.raises(InputError, match=message):
        online_power_method(blocks, 2, np.random.default_rng(0), samples=10, starts=2, iterations=2)


def test_no_samples_to_a_step_and_parts_of_a_pair_are_refused():
    for samples in (0, 2.0):
        with pytest.raises(InputError, match="samples must be"):
            online_power_method([np.ones((4, 2))], 1, np.random.default_rng(0), samples=samples)
    with pytest.raises(InputError, match=r"rank must be .*\[1, 2\]"):
        online_power_method([np.ones((4, 2))], 1.0, np.random.default_rng(0), samples=1)
