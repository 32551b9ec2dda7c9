"""Clipping and rounding on the integer lattice, verified exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.private.statistics.clipping import _BOUND_SQUARED, BOUND, MARGIN, MASS_SHARE, quantise, squared_norm

brief = settings(max_examples=100, deadline=None)
WEIGHTS = np.array([1.0, 3.0, 6.0] * 8)
NO_WEIGHTS = np.zeros(0)


def rows_of(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[np.ndarray]:
    return st.lists(numbers, min_size=1, max_size=24).map(lambda row: np.array(row, np.float32))


ordinary = rows_of(st.floats(-1e6, 1e6, width=32))


def quantised(
    rows: np.ndarray, clip: float, weights: np.ndarray = WEIGHTS, bound: float = 0.0
) -> tuple[np.ndarray, int]:
    z = rows.copy()
    return z, int(quantise(z, len(z), weights, clip, bound))


def square(z: np.ndarray, mass: int = 0, weights: np.ndarray = WEIGHTS) -> int:
    """Squared norm in exact arithmetic; fails unless `z` holds whole numbers."""
    assert all(float(x).is_integer() for x in z)
    return sum(int(w) * int(x) ** 2 for w, x in zip(weights, z, strict=False)) + mass**2


def exactly(rows: np.ndarray, clip: float) -> tuple[np.ndarray, float]:
    """The clipped lattice values before rounding, and the mass coordinate."""
    norm = np.sqrt((rows.astype(float) ** 2 * WEIGHTS[: len(rows)]).sum() + (MASS_SHARE * clip) ** 2)
    factor = min(BOUND / clip, (BOUND - MARGIN) / norm)
    return rows * factor, MASS_SHARE * clip * factor


@brief
@given(ordinary, st.floats(1e-3, 1e7))
def test_rounding_stays_within_half_a_step_of_the_clipped_value(rows, clip):
    z, mass = quantised(rows, clip)
    exact, exact_mass = exactly(rows, clip)
    assert (np.abs(z - exact) <= 0.5 + 2e-7 * BOUND).all()  # the product is float32
    assert abs(mass - exact_mass) <= 0.5 + 1e-6


@brief
@given(rows_of(st.floats(width=32)), st.sampled_from([5e-324, 1e-300, 1e-30, 2.0**-12, 1.0, 2.0**24, 1e300]))
def test_no_floats_exceed_the_bound_in_exact_arithmetic(rows, clip):
    z, mass = quantised(rows, clip)
    if mass >= 0:
        assert square(z, mass) <= _BOUND_SQUARED


@brief
@given(ordinary, st.floats(1e-3, 1e3))
def test_a_contribution_beyond_the_clip_fills_the_bound(rows, clip):
    norm = np.sqrt((rows.astype(float) ** 2 * WEIGHTS[: len(rows)]).sum())
    z, mass = quantised(rows, clip)
    if norm > clip:
        assert square(z, mass) >= (BOUND - MARGIN - 20) ** 2


@brief
@given(ordinary, st.floats(1e-3, 1e7), st.floats(0, 1e9))
def test_a_larger_bound_on_the_norm_takes_its_place(rows, clip, bound):
    norm = np.sqrt((rows.astype(float) ** 2 * WEIGHTS[: len(rows)]).sum())
    z, mass = quantised(rows, clip, bound=bound)
    factor = min(BOUND / clip, (BOUND - MARGIN) / np.hypot(max(norm, bound), MASS_SHARE * clip))
    assert (np.abs(z - rows * factor) <= 0.5 + 2e-7 * BOUND).all()
    assert abs(mass - MASS_SHARE * clip * factor) <= 0.5 + 1e-6


@brief
@given(rows_of(st.floats(width=32)), st.floats(), st.sampled_from([1e-30, 2.0**-12, 1.0, 2.0**24]))
def test_no_bound_however_wrong_lets_integers_exceed_theirs(rows, bound, clip):
    z, mass = quantised(rows, clip, bound=bound)
    if mass >= 0:
        assert square(z, mass) <= _BOUND_SQUARED


def magnitudes(random: np.random.Generator, n: int) -> np.ndarray:
    """Random signs and magnitudes from below the smallest float32 to near the largest; some zeros."""
    low, high = np.sort(random.uniform(-47, 38, 2))
    values = random.choice([-1.0, 1.0], n) * 10.0 ** random.uniform(low, high, n)
    return (values * (random.random(n) < 0.9)).astype(np.float32)


@pytest.mark.parametrize("seed", range(8))
def test_vectors_of_all_magnitudes_at_once_stay_within_the_bound_in_exact_arithmetic(seed):
    """Denormals beside 10^38, thousands of coordinates, clips from 10^-300 to 10^300: none passes B."""
    random, passed = np.random.default_rng(seed), 0
    for _ in range(40):
        rows = magnitudes(random, int(random.integers(1, 3000)))
        weights = random.choice([1.0, 3.0, 6.0], len(rows))
        clip = 10.0 ** random.uniform(-300, 300) if random.random() < 0.5 else 10.0 ** random.uniform(-46, 38)
        z, mass = quantised(rows, clip, weights)
        if mass >= 0:
            passed += int(z.any())
            assert square(z, mass, weights) <= _BOUND_SQUARED
    assert passed


@pytest.mark.parametrize("n", [1, 2, 24, 2000])
def test_vectors_within_a_rounding_error_of_the_clip_stay_within_the_bound(n):
    """Where the clip begins to act, every neighbouring clip and a vector of norm equal to it, to the last digit."""
    random = np.random.default_rng(n)
    weights = random.choice([1.0, 3.0, 6.0], n)
    for scale in (1e-30, 1e-12, 1.0, 1e18):
        rows = (scale * random.standard_normal(n)).astype(np.float32)
        clip = float(np.sqrt((rows.astype(float) ** 2 * weights).sum() / (1 - MASS_SHARE**2)))
        for steps in range(-40, 41):
            z, mass = quantised(rows, clip * (1 + steps * 2.0**-52), weights)
            assert mass > 0
            assert (BOUND - MARGIN - 30 - n**0.5) ** 2 <= square(z, mass, weights) <= _BOUND_SQUARED


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_a_bound_that_is_not_finite_refuses_the_contribution(bad):
    assert quantised(np.array([1.0, 0.5, 2.0], np.float32), 1.0, bound=bad)[1] == -1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_contribution_without_a_finite_norm_is_refused(bad):
    assert quantised(np.array([1.0, bad, 2.0], np.float32), 1.0)[1] == -1


@pytest.mark.parametrize("clip", [0.0, np.nan, np.inf])
def test_a_clip_that_is_no_positive_number_lets_nothing_pass(clip):
    assert quantised(np.zeros(3, np.float32), clip)[1] < 0


def test_the_mass_coordinate_is_the_clip_factor():
    small, large = np.full(3, 1e-6, np.float32), np.array([30.0, 0.0, 0.0], np.float32)
    assert quantised(small, 1.0)[1] == round(MASS_SHARE * BOUND)
    factor = 1.0 / np.hypot(30.0, MASS_SHARE)
    assert quantised(large, 1.0)[1] == pytest.approx(MASS_SHARE * BOUND * factor, abs=2)


@pytest.mark.parametrize("weights", [np.ones(60_000), NO_WEIGHTS], ids=["weighted", "plain"])
def test_rounding_up_beyond_the_bound_is_taken_back(weights):
    """Many coordinates that come to just above half a step: nearest rounding alone passes the bound by far."""
    n, full, clip = 60_000, (BOUND - MARGIN) ** 2, float(BOUND)
    scaled = np.floor(np.sqrt(0.985 * full / n)) + 0.52
    factor = np.sqrt(full - n * scaled**2) / (MASS_SHARE * BOUND)
    rows, ones = np.full(n, scaled / factor, np.float32), np.ones(n)
    assert factor < 1
    assert square(np.rint(rows * factor), round(MASS_SHARE * BOUND * factor), ones) > _BOUND_SQUARED
    z, mass = quantised(rows, clip, weights)
    assert mass >= 0
    assert 0.999 * _BOUND_SQUARED <= square(z, mass, ones) <= _BOUND_SQUARED


@brief
@given(st.lists(st.integers(-4 * BOUND, 4 * BOUND), min_size=1, max_size=24))
def test_the_norm_of_whole_numbers_is_exact(row):
    z = np.array(row, np.float32)
    assert squared_norm(z, len(z), WEIGHTS) == square(z)
    assert squared_norm(z, len(z), NO_WEIGHTS) == square(z, 0, np.ones(len(z)))


@pytest.mark.parametrize("huge", [2.0**33, -(2.0**62), 3e38])
def test_the_norm_of_numbers_beyond_the_lattice_is_never_taken_for_a_small_one(huge):
    z = np.array([1.0, huge, 0.0] + [2.0**30] * 21, np.float32)
    assert squared_norm(z, len(z), WEIGHTS) > _BOUND_SQUARED


@brief
@given(ordinary)
def test_only_the_numbers_in_use_are_read(rows):
    padded = np.concatenate([rows, np.full(3, np.nan, np.float32)])
    weights = np.ones(len(padded))
    assert squared_norm(padded, len(rows), weights) == pytest.approx((rows.astype(float) ** 2).sum(), rel=1e-12)
