"""Clipping and rounding on the integer lattice, verified exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_units import squared_length

from dplda.compute.lattice import (
    BOUND,
    BOUND_SQUARED,
    MASS_SHARE,
    quantise,
    squared_norm,
    weighted_norm_squared,
)

brief = settings(max_examples=100, deadline=None)
WEIGHTS = np.array([1, 3, 6], np.int64)
rows_of_floats = st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=8).map(
    lambda rows: np.array(rows, np.float64)
)
any_rows = st.lists(st.lists(st.floats(), min_size=3, max_size=3), min_size=1, max_size=8).map(
    lambda rows: np.array(rows, np.float64)
)


def quantised(rows: np.ndarray, clip: float, mass: float = 1.0) -> tuple[np.ndarray, int]:
    z = np.full(rows.shape, -7, np.int64)
    return z, int(quantise(rows, len(rows), WEIGHTS, mass, clip, z))


@brief
@given(rows_of_floats, st.floats(1e-3, 1e7))
def test_rounding_stays_within_half_a_step_of_the_clipped_value(rows, clip):
    z, mass = quantised(rows, clip)
    norm = np.sqrt((rows**2 * WEIGHTS).sum() + (MASS_SHARE * clip) ** 2)
    exact, exact_mass = rows * (BOUND / max(norm, clip)), MASS_SHARE * clip * BOUND / max(norm, clip)
    nearest = np.rint(exact)
    fits = squared_length(nearest.astype(np.int64), round(exact_mass), WEIGHTS) <= BOUND_SQUARED
    assert (np.abs(z - exact) <= (0.5 if fits else 2.0) + 1e-6).all()
    assert abs(mass - exact_mass) <= (0.5 if fits else 2.0) + 1e-6
    if not fits:
        assert (np.abs(z) <= np.abs(nearest) + 1).all()


@brief
@given(any_rows, st.sampled_from([5e-324, 1e-300, 2.0**-12, 1.0, 2.0**24, 1e300]))
def test_no_floats_exceed_the_bound_in_exact_arithmetic(rows, clip):
    z, mass = quantised(rows, clip)
    if mass >= 0:
        assert squared_length(z, mass, WEIGHTS) <= BOUND_SQUARED


@brief
@given(rows_of_floats, st.floats(1e-3, 1e3))
def test_a_contribution_on_the_boundary_fills_the_bound(rows, clip):
    norm = np.sqrt((rows**2 * WEIGHTS).sum())
    z, mass = quantised(rows, clip)
    if norm > clip:
        assert squared_length(z, mass, WEIGHTS) >= (BOUND - 20) ** 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_contribution_without_a_finite_norm_is_refused(bad):
    rows = np.array([[1.0, bad, 2.0], [0.5, 0.5, 0.5]])
    assert quantised(rows, 1.0)[1] == -1


@pytest.mark.parametrize("clip", [0.0, np.nan, np.inf])
def test_a_clip_that_is_no_positive_number_lets_nothing_pass(clip):
    assert quantised(np.zeros((2, 3)), clip)[1] < 0


def test_the_mass_coordinate_is_the_clip_factor():
    small, large = np.full((1, 3), 1e-6), np.array([[30.0, 0.0, 0.0]])
    assert quantised(small, 1.0)[1] == round(MASS_SHARE * BOUND)
    factor = 1.0 / np.hypot(30.0, MASS_SHARE)
    assert quantised(large, 1.0)[1] == pytest.approx(MASS_SHARE * BOUND * factor, abs=2)
    assert quantised(small, 1.0, mass=0.5)[1] == round(0.5 * MASS_SHARE * BOUND)


def test_rounding_up_beyond_the_bound_is_taken_back():
    """Many coordinates just above half a step: nearest rounding alone would pass the bound by far."""
    n = 60_000
    rows = np.full((n, 1), 0.6)
    rows[0] = BOUND
    weights = np.ones(1, np.int64)
    z = np.empty((n, 1), np.int64)
    clip = float(BOUND)
    norm = np.sqrt((rows**2).sum() + (MASS_SHARE * clip) ** 2)
    nearest = np.rint(rows * (BOUND / norm)).astype(np.int64)
    extra = round(MASS_SHARE * clip * BOUND / norm)
    assert squared_length(nearest, extra, weights) > BOUND_SQUARED
    mass = quantise(rows, n, weights, 1.0, clip, z)
    assert mass >= 0
    assert BOUND_SQUARED - 4 * BOUND - n <= squared_length(z, mass, weights) <= BOUND_SQUARED


@brief
@given(st.lists(st.lists(st.integers(-BOUND, BOUND), min_size=3, max_size=3), min_size=1, max_size=6))
def test_the_integer_norm_is_exact_or_refused(rows):
    z = np.array(rows, np.int64)
    exact = squared_length(z, 0, WEIGHTS)
    assert weighted_norm_squared(z, len(z), WEIGHTS) == (exact if exact <= 4 * BOUND_SQUARED else -1)


@pytest.mark.parametrize("huge", [BOUND + 1, -BOUND - 1, 2**33, 2**62, -(2**63), 2**63 - 1])
def test_an_entry_that_could_overflow_when_squared_is_refused(huge):
    z = np.array([[0, huge, 0]], np.int64)
    assert weighted_norm_squared(z, 1, WEIGHTS) == -1


@brief
@given(rows_of_floats)
def test_only_the_rows_in_use_are_read(rows):
    padded = np.vstack([rows, np.full((3, 3), np.nan)])
    expected = (rows**2 * WEIGHTS).sum()
    assert squared_norm(padded, len(rows), WEIGHTS) == pytest.approx(expected, rel=1e-12)
