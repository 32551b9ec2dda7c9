"""Variational rounds and the projection on the simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from dplda.learning.recovery import project_to_simplex
from dplda.learning.refinement import SMOOTHING, posterior, variational_rounds

columns = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.floats(-1e3, 1e3))
far_columns = arrays(np.float64, (5, 2), elements=st.floats(-1e300, 1e300))
START = np.array([[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]])
SHARES = np.array([0.5, 0.3, 0.2])


def noisy_counts(seed: int):
    """Counts that depend on the topics, as an E-step's do, some of them negative."""
    random = np.random.default_rng(seed)
    return lambda topics: (40 * topics + random.normal(0, 5, topics.shape), np.full(len(topics), 5.0))


@settings(deadline=None)
@given(st.one_of(columns, far_columns))
def test_projection_lies_on_the_simplex_and_stays_there(X):
    P = project_to_simplex(X)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=0), 1.0, atol=1e-9)
    np.testing.assert_allclose(project_to_simplex(P), P, atol=1e-12)


@settings(deadline=None)
@given(columns, st.integers(0, 2**32 - 1))
def test_no_other_point_of_the_simplex_is_nearer(X, seed):
    P = project_to_simplex(X)
    random = np.random.default_rng(seed)
    corners = np.eye(len(X))
    others = np.concatenate([corners, random.dirichlet(np.full(len(X), 0.3), size=30)])
    for x, p in zip(X.T, P.T, strict=True):
        assert ((others - p) @ (x - p) <= 1e-6 * (1 + np.abs(x).max())).all()  # the obtuse angle criterion


def test_projection_is_the_solution_of_the_quadratic_programme():
    x = np.random.default_rng(0).standard_normal((6, 1))
    solved = minimize(
        lambda p: ((p - x[:, 0]) ** 2).sum(),
        np.full(6, 1 / 6),
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(project_to_simplex(x)[:, 0], solved.x, atol=1e-5)


def test_projection_far_from_the_simplex_keeps_the_sum():
    np.testing.assert_allclose(project_to_simplex(np.full((4, 1), 1e17)), 0.25)


def test_without_noise_or_memory_a_round_is_the_plain_update():
    seen = []

    def expected(topics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(topics)
        return 30 * topics**2, np.zeros(3)

    found = variational_rounds(expected, START, SHARES, 3, memory=0.0).counts
    topics = START
    for asked in seen:
        np.testing.assert_allclose(asked, topics)
        counts = 30 * topics**2 + SMOOTHING
        topics = counts / counts.sum(axis=0)
    np.testing.assert_allclose(found, counts)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_memory_averages_the_counts_and_the_noise_of_all_rounds(memory):
    counts = [np.array([[8.0, 9.0], [7.0, 0.0], [-5.0, 3.0]]) + shift for shift in (0.0, 2.0, -4.0)]
    stds = np.array([[0.5, 1.0, 0.25], [1.0, 1.0, 1.0], [0.1, 3.0, 2.0]])  # by round and word
    answers = iter(zip(counts, stds, strict=True))
    found = variational_rounds(lambda _: next(answers), START, SHARES, 3, memory=memory).counts
    weight = np.array([memory**2, memory, 1.0])
    weight /= weight.sum()
    average, left = np.einsum("t,tij->ij", weight, counts), np.sqrt((weight[:, None] ** 2 * stds**2).sum(axis=0))
    np.testing.assert_allclose(found, posterior(average, left, SHARES)[1] + SMOOTHING)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_counts_stay_at_or_above_the_prior_whatever_the_noise(seed):
    found = variational_rounds(noisy_counts(seed), START, SHARES, 4).counts
    assert np.isfinite(found).all()
    assert (found >= SMOOTHING).all()
