"""Variational rounds and the projection on the simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.special import digamma

from dplda.refine.variational import EXCESS, RETURNED, denoised, project_to_simplex, variational_rounds

columns = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.floats(-1e3, 1e3))
far_columns = arrays(np.float64, (5, 2), elements=st.floats(-1e300, 1e300))
START = np.array([[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]])
SHARES = np.array([0.5, 0.3, 0.2])


def noisy_counts(seed: int):
    """Counts that depend on the weights, as an E-step's do, some of them negative."""
    random = np.random.default_rng(seed)
    return lambda weights: (40 * weights + random.normal(0, 5, weights.shape), 5.0)


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


def test_without_memory_a_round_is_the_plain_update():
    seen = []

    def expected(weights: np.ndarray) -> tuple[np.ndarray, float]:
        seen.append(weights)
        return 30 * weights, 0.0

    found = variational_rounds(expected, START, SHARES, 3, eta=0.2, memory=0.0, strength=50.0)
    parameters = START * 50.0 + 0.2
    for weights in seen:
        np.testing.assert_allclose(weights, np.exp(digamma(parameters) - digamma(parameters.sum(axis=0))))
        parameters = 30 * weights + 0.2
    np.testing.assert_allclose(found, parameters)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_memory_averages_the_counts_and_the_noise_of_all_rounds(memory):
    counts = [np.array([[8.0, 9.0], [7.0, 0.0], [-5.0, 3.0]]) + shift for shift in (0.0, 2.0, -4.0)]
    stds = [0.5, 1.0, 0.25]
    answers = iter(zip(counts, stds, strict=True))
    found = variational_rounds(lambda _: next(answers), START, SHARES, 3, eta=0.1, memory=memory, strength=1.0)
    share = np.array([memory**2, memory * (1 - memory), 1 - memory])
    average = np.einsum("t,tij->ij", share, counts)
    left = np.sqrt((share**2 * np.square(stds)).sum())
    np.testing.assert_allclose(found, denoised(average, left, SHARES) + 0.1)


def test_no_round_returns_the_start_as_parameters():
    found = variational_rounds(noisy_counts(0), START, SHARES, 0, eta=0.1, strength=20.0)
    np.testing.assert_allclose(found, START * 20 + 0.1)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_parameters_stay_at_or_above_the_prior_whatever_the_noise(seed):
    found = variational_rounds(noisy_counts(seed), START, SHARES, 4, eta=0.1, strength=20.0)
    assert np.isfinite(found).all()
    assert (found >= 0.1).all()


def test_without_noise_only_negative_counts_change():
    counts = np.array([[8.0, -1.0], [0.0, 3.0], [90.0, 1.0]])
    np.testing.assert_allclose(denoised(counts, 0.0, SHARES), np.maximum(counts, 0.0))


def test_a_count_above_what_its_word_allows_gives_way_by_three_deviations_at_most():
    counts = np.array([[30.0, 0.0], [50.0, 0.0], [20.0, 0.0]])
    rare = np.array([0.01, 0.5, 0.49])  # allows 1 * EXCESS of 100 counts for the first word
    assert denoised(counts, 2.0, rare)[0, 0] == pytest.approx(30 - 3 * 2)
    assert denoised(counts, 20.0, rare)[0, 0] == pytest.approx(EXCESS)


def test_what_drowned_in_noise_comes_back_in_proportion_to_the_topics():
    counts = np.array([[60.0, 20.0], [0.5, -0.5], [15.0, 5.0]])
    found = denoised(counts, 2.0, np.array([0.78, 0.02, 0.2]))
    np.testing.assert_allclose(found[1], RETURNED * 2.0 * np.array([75.5, 24.5]) / 100)


@settings(deadline=None)
@given(arrays(np.float64, (3, 2), elements=st.floats(-1e6, 1e6)), st.floats(0, 1e5))
def test_denoised_counts_are_finite_and_nonnegative(counts, std):
    found = denoised(counts, std, SHARES)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
