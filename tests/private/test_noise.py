"""Noise has exactly the law that the proofs assume, at least as wide as the accountant was told."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant as pld
from full_helpers import full_after
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare, kstest, norm

from dplda.private.noise import _CHUNK, ExactNoise, SimulatedNoise, joint_multiplier, lattice_scale
from dplda.private.statistics.clipping import BOUND

UNLIKELY = 1e-6  # a true claim fails one run in a million


def fit_to_discrete_gaussian(samples: np.ndarray, scale: float) -> float:
    """p-value of `samples` under mass proportional to exp(-z^2 / (2 scale^2)), tails pooled."""
    far = np.arange(-60, 61)
    mass = np.exp(-(far**2) / (2 * scale**2))
    mass /= mass.sum()
    reach = max(1, int(3 * scale))
    clipped, cells = np.clip(samples, -reach, reach), np.arange(-reach, reach + 1)
    expected = np.array([mass[np.clip(far, -reach, reach) == cell].sum() for cell in cells])
    observed = np.array([(clipped == cell).sum() for cell in cells])
    return float(chisquare(observed, expected * len(samples)).pvalue)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 8.0])
def test_exact_noise_follows_the_discrete_gaussian_law(scale):
    assert fit_to_discrete_gaussian(ExactNoise().gaussian(scale, 20_000), scale) > UNLIKELY


def test_noise_over_an_unknown_key_set_follows_the_same_law():
    noisy = ExactNoise().above_threshold(dict.fromkeys(range(20_000), 1000), 2.5, 1)
    assert fit_to_discrete_gaussian(np.array(list(noisy.values())) - 1000, 2.5) > UNLIKELY


def test_the_law_test_can_fail():
    assert fit_to_discrete_gaussian(ExactNoise().gaussian(2.3, 20_000), 2.5) < UNLIKELY


def tail(z: int, scale: float) -> float:
    """P(Z >= z) of the discrete Gaussian."""
    far = np.arange(-100, 101)
    mass = np.exp(-(far**2) / (2 * scale**2))
    return float(mass[far >= z].sum() / mass.sum())


@pytest.mark.parametrize("scale", full_after(1, [0.7, 3.0]))
@pytest.mark.parametrize("above", [0, 1, 4])
def test_keys_pass_a_threshold_as_often_as_the_exact_law_says(scale, above):
    """Rule 9: at small scales the tail of the continuous Gaussian would be another, and so would > for >=."""
    n = 20_000
    kept = ExactNoise().above_threshold(dict.fromkeys(range(n), 50), scale, 50 + above)
    assert binomtest(len(kept), n, tail(above, scale)).pvalue > UNLIKELY
    assert binomtest(len(kept), n, tail(above + 1, scale)).pvalue < UNLIKELY or tail(above, scale) < 1e-4


@pytest.fixture(scope="module")
def wide() -> tuple[np.ndarray, float]:
    """Samples at a scale in use, where neighbouring integers cannot be told apart by frequency, and the scale."""
    scale = lattice_scale(0.7, BOUND)
    return ExactNoise().gaussian(scale, 30_000), scale


def test_wide_noise_has_the_whole_shape_of_the_law(wide):
    """At 10^5 steps the discrete and the continuous law differ by less than 10^-5: 30,000 samples cannot tell."""
    samples, scale = wide
    assert kstest(samples / scale, "norm").pvalue > UNLIKELY
    assert kstest(samples / (1.1 * scale), "norm").pvalue < UNLIKELY
    for z in (1, 2, 3):
        assert binomtest(int((np.abs(samples) > z * scale).sum()), len(samples), 2 * norm.sf(z)).pvalue > UNLIKELY


@pytest.mark.parametrize("modulus", [2, 3, 64, 1000])
def test_the_last_digits_of_wide_noise_are_uniform(wide, modulus):
    """By Poisson summation, to within e^(-2 pi^2 (scale / modulus)^2); noise from floats has gaps (Mironov 2012)."""
    digits = np.bincount(wide[0] % modulus, minlength=modulus)
    assert chisquare(digits).pvalue > UNLIKELY
    gaps = np.bincount((wide[0] // 2 * 2) % modulus, minlength=modulus)
    assert modulus % 2 or chisquare(gaps).pvalue < UNLIKELY


def test_samples_of_one_chunk_and_of_chunks_drawn_side_by_side_are_uncorrelated(wide):
    samples = wide[0] / wide[1]
    for lag in (1, 2, _CHUNK):
        assert abs((samples[lag:] * samples[:-lag]).mean()) < 6 / np.sqrt(len(samples) - lag)


def test_keys_are_kept_where_the_noisy_value_reaches_the_threshold():
    assert ExactNoise().above_threshold({1: 9, 2: 10, 3: 11}, 0.01, 10) == {2: 10, 3: 11}
    assert ExactNoise().above_threshold({}, 1e6, 10) == {}


def test_exact_noise_at_lattice_scale_has_the_variance_asked_for():
    n, scale = 20_000, lattice_scale(3.0, BOUND)
    samples = ExactNoise().gaussian(scale, n).astype(float)
    assert samples.var() == pytest.approx(scale**2, rel=6 * np.sqrt(2 / n))
    assert abs(samples.mean()) < 6 * scale / np.sqrt(n)


def test_noise_drawn_in_chunks_has_its_length_and_no_sample_twice():
    samples = ExactNoise().gaussian(1e15, 2 * _CHUNK + 1)
    assert samples.dtype == np.int64
    assert len(np.unique(samples)) == len(samples) == 2 * _CHUNK + 1


@pytest.mark.parametrize("source", [ExactNoise(), SimulatedNoise(5)], ids=["exact", "simulated"])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
def test_coins_are_independent_and_fall_as_often_as_asked(source, share):
    n = 100_000
    coins = source.coins(share, n)
    assert coins.shape == (n,)
    assert coins.dtype == np.bool_
    spread = np.sqrt(share * (1 - share))
    assert abs(coins.mean() - share) <= 5 * spread / np.sqrt(n)
    assert abs((coins[1:] & coins[:-1]).mean() - share**2) <= 10 * spread / np.sqrt(n)
    if spread:
        assert not np.array_equal(coins, source.coins(share, n))


def test_exact_noise_is_never_the_same_twice():
    noise = ExactNoise()
    assert noise.private
    assert not np.array_equal(noise.gaussian(1e6, 20), noise.gaussian(1e6, 20))
    assert not np.array_equal(noise.gaussian(1e6, 20), ExactNoise().gaussian(1e6, 20))
    assert noise.gaussian(1e6, 0).shape == (0,)


multipliers = st.floats(0.1, 1e6)
sensitivities = st.sampled_from([BOUND, BOUND * 2.0, BOUND * float(np.sqrt(2.0))])


@given(multiplier=multipliers, sensitivity=sensitivities, weight=st.sampled_from([1, 2, 3, 6]))
def test_the_lattice_scale_covers_its_multiplier_and_the_cost_of_discreteness(multiplier, sensitivity, weight):
    scale = Fraction(lattice_scale(multiplier, sensitivity, weight))
    asked = (Fraction(multiplier) * Fraction(sensitivity)) ** 2 / weight
    assert scale**2 - 4 >= asked  # T8 with tau = 2, in exact arithmetic
    assert scale**2 <= asked * (1 + Fraction(1, 10**6))


def test_noise_too_small_for_the_lattice_is_refused():
    with pytest.raises(ValueError, match="outside the use of T8"):
        lattice_scale(1e-3, BOUND)
    with pytest.raises(ValueError, match="outside the use of T8"):
        lattice_scale(0.0, BOUND)


def test_simulated_noise_repeats_itself_and_says_that_it_is_not_private():
    one, two = SimulatedNoise(7), SimulatedNoise(7)
    assert not one.private
    assert np.array_equal(one.gaussian(1e5, 50), two.gaussian(1e5, 50))
    assert one.above_threshold({1: 0, 2: 10**9}, 10.0, 10**8) == two.above_threshold({1: 0, 2: 10**9}, 10.0, 10**8)
    assert not np.array_equal(SimulatedNoise(8).gaussian(1e5, 50), SimulatedNoise(7).gaussian(1e5, 50))


def test_simulated_noise_is_independent_of_the_public_starts_of_the_same_seed():
    for seed in range(5):
        noise, starts = SimulatedNoise(seed).gaussian(1e5, 20_000), np.random.default_rng(seed).standard_normal(20_000)
        assert abs(np.corrcoef(noise, starts)[0, 1]) < 5 / np.sqrt(20_000)


def test_simulated_noise_has_the_asked_scale_and_threshold():
    samples = SimulatedNoise(1).gaussian(1e5, 20_000)
    assert samples.dtype == np.int64
    assert samples.std() == pytest.approx(1e5, rel=0.03)
    kept = SimulatedNoise(1).above_threshold({1: 0, 2: 10**6, 3: 2 * 10**6}, 1.0, 10**6 - 100)
    assert sorted(kept) == [2, 3]


@given(st.lists(st.floats(0.5, 500.0), min_size=1, max_size=6))
def test_a_joint_release_is_worth_what_its_events_are_worth_by_dp_accounting(multipliers):
    joint = joint_multiplier(multipliers)
    accountant = pld.PLDAccountant().compose(dp_event.GaussianDpEvent(joint))
    each = pld.PLDAccountant()
    for multiplier in multipliers:
        each.compose(dp_event.GaussianDpEvent(multiplier))
    for delta in (1e-9, 1e-5, 1e-2):
        # the accountant rounds losses up once for each event
        assert accountant.get_epsilon(delta) == pytest.approx(each.get_epsilon(delta), rel=1e-3, abs=3e-4)


@given(st.lists(st.fractions(Fraction(1, 2), Fraction(500)), min_size=2, max_size=12))
def test_a_joint_multiplier_is_rounded_up_and_hardly_larger(multipliers):
    exact = sum(1 / multiplier**2 for multiplier in multipliers)  # sigma^-2
    joint = Fraction(joint_multiplier([float(multiplier) for multiplier in multipliers]))
    assert (1 - Fraction(3, 10**12)) * exact < 1 / joint**2 <= exact
    assert joint_multiplier([0.3]) == 0.3
