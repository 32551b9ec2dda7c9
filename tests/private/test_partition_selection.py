"""Thresholds: the chance of releasing a word that one unit alone uses, and private clips."""

from __future__ import annotations

import math

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dplda.private import noise
from dplda.private.noise import selection_threshold
from dplda.private.statistics.clipping import BOUND, CLIP_GRID, MOST_WORDS, clip_at_quantile, clip_bins, clip_in_range


def leak(threshold: int, scale: float, weights: np.ndarray) -> float:
    """Chance that a word passes, one for each of `weights`; the tail is bounded as in the discrete law."""
    passes = np.exp(norm.logsf((threshold - weights - 1) / scale))
    return float(-np.expm1(np.log1p(-passes).sum()))


def exact_leak(threshold: int, scale: float, weights: tuple[int, ...]) -> float:
    """The same for small scales, by summing the discrete Gaussian's masses."""
    z = np.arange(-int(60 * scale), int(60 * scale) + 1)
    mass = np.exp(-(z**2) / (2 * scale**2)) / np.exp(-(z**2) / (2 * scale**2)).sum()
    return float(-np.expm1(sum(np.log1p(-mass[z >= threshold - weight].sum()) for weight in weights)))


multipliers = st.sampled_from([1.0, 3.0, 5.0, 40.0])
failures = st.sampled_from([1e-12, 1e-9, 1e-6, 1e-2])


@given(multipliers, failures, st.integers(1, MOST_WORDS), st.integers(0, 10**6), st.floats(0.05, 20.0))
def test_t7_holds_for_votes_of_any_shape_within_the_norm(multiplier, delta, unique, seed, evenness):
    scale = multiplier * BOUND
    shape = np.random.default_rng(seed).gamma(evenness, size=unique) + 1e-12
    weights = BOUND * shape / np.linalg.norm(shape)
    assert leak(selection_threshold(scale, delta, MOST_WORDS), scale, weights) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("multiplier", [1.0, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_t7_holds_for_one_heavy_word_beside_equal_ones_and_is_no_higher_than_it_must_be(multiplier, delta):
    scale = multiplier * BOUND
    threshold = selection_threshold(scale, delta, MOST_WORDS)
    worst = 0.0
    for share in np.linspace(0, 1, 101):
        others = np.full(MOST_WORDS - 1, np.sqrt((1 - share) / (MOST_WORDS - 1)))
        worst = max(worst, leak(threshold, scale, BOUND * np.append(others, np.sqrt(share))))
    assert worst <= delta * (1 + 1e-9)
    assert worst > 0.9 * delta or threshold == 2 * BOUND + 2


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("multiplier", [2.0, 5.0])
@pytest.mark.parametrize("failure", [1e-9, 1e-4])
@pytest.mark.parametrize("unlisted", [1, MOST_WORDS])
def test_t7_holds_for_a_unit_with_listed_and_unlisted_words(epsilon, multiplier, failure, unlisted):
    """The exact divergence of the releases with and without the unit, for every way to divide its norm.

    Nobody else uses its words. With the probability r one of the unlisted words is released, which never happens
    without the unit; otherwise the noisy vote for its listed word has the mean a, or 0 without the unit.
    """
    threshold = selection_threshold(multiplier * BOUND, failure, MOST_WORDS) / BOUND
    for a in np.sqrt(np.linspace(0, 1, 101)):
        of_other = math.sqrt((1 - a**2) / unlisted)
        log_kept = unlisted * float(norm.logcdf((threshold - of_other) / multiplier))
        r, allowed = -math.expm1(log_kept), gaussian_delta(epsilon, 1 / multiplier) + failure
        with_unit = r + math.exp(log_kept) * gaussian_delta(epsilon - log_kept, a / multiplier)
        assert with_unit <= allowed * (1 + 1e-9)
        assert gaussian_delta(epsilon + log_kept, a / multiplier) <= allowed * (1 + 1e-9)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(epsilon) of Gaussian noise for which a neighbour moves the mean by `mu` deviations (Balle, Wang 2018)."""
    if mu == 0:
        return max(0.0, -math.expm1(epsilon))
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def test_looking_at_one_word_at_a_time_would_leak_many_times_delta():
    scale, delta = 5.0 * BOUND, 1e-9
    naive = selection_threshold(scale, delta, 1)
    assert leak(naive, scale, np.full(100, BOUND / 10)) > 30 * delta
    assert selection_threshold(scale, delta, 100) > naive


WITHIN_FOUR = [(4,), (3, 2, 1, 1), (2, 2, 2, 2), (1,) * 16, (3, *(1,) * 7), (2, *(1,) * 12)]


@pytest.mark.parametrize("scale", [1.0, 2.0, 10.0])
@pytest.mark.parametrize("weights", WITHIN_FOUR)
def test_discrete_tails_are_inside_the_threshold_even_at_small_scales(scale, weights, monkeypatch):
    monkeypatch.setattr(noise, "BOUND", 4)
    assert exact_leak(selection_threshold(scale, 1e-6, 16), scale, weights) <= 1e-6


def test_continuous_tails_alone_would_not_be_enough(monkeypatch):
    monkeypatch.setattr(noise, "BOUND", 4)
    continuous = math.ceil(4 + norm.isf(1e-6))
    assert exact_leak(continuous, 1.0, (4,)) > 1e-6
    assert selection_threshold(1.0, 1e-6, 1) > continuous


def test_opendp_computes_no_larger_failure_probability_for_equal_weights():
    scale, delta = 5.0 * BOUND, 1e-6
    counts = dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64"))
    metric = dp.l02inf_distance(dp.absolute_distance(T=float))
    threshold = selection_threshold(scale, delta, MOST_WORDS)
    mechanism = dp.m.make_gaussian_threshold(counts, metric, scale=scale, threshold=threshold)
    theirs = [mechanism.map((t, float(BOUND), float(BOUND // np.sqrt(t))))[1] for t in range(1, MOST_WORDS + 1, 20)]
    assert 0.01 * delta < max(theirs) <= delta * (1 + 1e-4)


@given(scale=st.floats(1e5, 1e9), delta=st.floats(1e-15, 1e-3), words=st.integers(1, 300))
def test_thresholds_rise_with_words_and_with_caution(scale, delta, words):
    threshold, slack = selection_threshold(scale, delta, words), 1 - 1e-8
    assert threshold > 2 * BOUND  # where T7' holds
    assert selection_threshold(scale, delta, words + 1) >= threshold * slack
    assert selection_threshold(scale, delta / 2, words) >= threshold * slack


norms = st.one_of(st.floats(0, 1e9), st.just(-1.0), st.sampled_from([0.0, float("inf"), float("nan"), *CLIP_GRID]))


@given(others=st.lists(norms, max_size=20), one=norms)
def test_a_unit_is_in_one_bin_and_ineligible_units_are_in_none(others, one):
    change = clip_bins(np.array([*others, one])) - clip_bins(np.array(others))
    assert sorted(change[change != 0]) == ([BOUND] if one >= 0 else [])
    assert len(change) == len(CLIP_GRID) + 1


def test_bins_hold_norms_up_to_and_including_their_grid_value():
    for place, value in enumerate(CLIP_GRID):
        assert clip_bins(np.array([value]))[place] == BOUND
    assert clip_bins(np.array([0.0]))[0] == BOUND
    assert clip_bins(np.array([np.inf, 1e12]))[-1] == 2 * BOUND


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=60), st.floats(0.05, 0.95))
def test_without_noise_the_clip_is_the_least_grid_value_that_covers_the_quantile(found, quantile):
    found = np.array(found)
    clip = clip_at_quantile(clip_bins(found), quantile)
    assert (found <= clip).mean() >= quantile
    below = CLIP_GRID[clip > CLIP_GRID]
    assert not len(below) or (found <= below[-1]).mean() < quantile


def test_a_clip_is_always_a_grid_value_whatever_the_noise():
    for bins in (
        np.zeros(146),
        np.full(146, -5.0),
        np.r_[np.zeros(145), 1e9],
        np.random.default_rng(0).normal(size=146),
    ):
        assert clip_at_quantile(bins, 0.5) in CLIP_GRID


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_a_clip_within_limits_ignores_units_of_norm_zero(share):
    rng = np.random.default_rng(0)
    norms = np.where(rng.random(20_000) < share, 1 + rng.gamma(2.0, 3.0, size=20_000), 0.0)
    clip = clip_in_range(clip_bins(norms).astype(float), 0.0, 0.95, 1.0, 100.0)
    found = (norms[norms > 0] > clip).mean()
    assert found <= 0.05 < (norms[norms > 0] > clip / 2**0.25).mean()


def test_noise_does_not_raise_a_clip_within_limits_and_a_heavy_tail_does():
    rng = np.random.default_rng(1)
    small, heavy = np.full(5_000, 2.0), np.r_[np.full(4_000, 2.0), np.full(1_000, 60.0)]
    std = 20.0 * BOUND
    for norms, expected in ((small, 2.0), (heavy, 64.0)):
        noisy = [clip_bins(norms) + std * rng.standard_normal(len(CLIP_GRID) + 1) for _ in range(50)]
        clips = [clip_in_range(bins, std, 0.99, 1.0, 100.0) for bins in noisy]
        assert np.median(clips) == expected
        assert max(clips) <= 100.0


def test_a_clip_within_limits_of_noise_alone_is_within_them():
    rng = np.random.default_rng(2)
    for limits in ((1.0, 1.05), (1.0, 6.7), (4.0, 500.0)):
        for _ in range(20):
            bins = 1e6 * BOUND * rng.standard_normal(len(CLIP_GRID) + 1)
            assert limits[0] <= clip_in_range(bins, 1e6 * BOUND, 0.95, *limits) <= limits[1]
