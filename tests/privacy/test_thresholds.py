"""Thresholds: the chance of releasing a word that one unit alone uses, and private clips."""

from __future__ import annotations

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dplda.compute.lattice import BOUND
from dplda.privacy.picks import MOST_WORDS
from dplda.privacy.thresholds import CLIP_GRID, clip_at_quantile, clip_bins, selection_threshold

SIZES = np.arange(1, MOST_WORDS + 1)


def leak(threshold: int, scale: float, weight: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Chance that one of `words` words of value `weight` passes; the tail is bounded as in the discrete law."""
    tail = norm.logsf((threshold - weight - 1) / scale)
    return -np.expm1(words * np.log1p(-np.exp(tail)))


def exact_leak(threshold: int, scale: float, weight: int, words: int) -> float:
    """The same for small scales, by summing the discrete Gaussian's masses."""
    z = np.arange(-int(60 * scale), int(60 * scale) + 1)
    mass = np.exp(-(z**2) / (2 * scale**2))
    return float(-np.expm1(words * np.log1p(-mass[z >= threshold - weight].sum() / mass.sum())))


@pytest.mark.parametrize("multiplier", [1.0, 5.0, 40.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_t7_holds_for_every_number_of_unique_words_in_every_set(multiplier, delta):
    scale = multiplier * BOUND
    threshold = selection_threshold(scale, delta, MOST_WORDS)
    unique, picked = np.meshgrid(SIZES, SIZES)
    possible = unique <= picked
    worst = leak(threshold, scale, np.floor(BOUND / np.sqrt(picked)), unique)[possible].max()
    assert worst <= delta * (1 + 1e-9)
    assert worst > 0.99 * delta  # and no higher than it must be


def test_looking_at_one_word_at_a_time_would_leak_many_times_delta():
    scale, delta = 5.0 * BOUND, 1e-9
    naive = selection_threshold(scale, delta, 1)
    assert leak(naive, scale, np.floor(BOUND / np.sqrt(100)), np.array(100)) > 30 * delta
    assert selection_threshold(scale, delta, 100) > naive


@pytest.mark.parametrize("scale", [1.0, 3.0, 30.0])
@pytest.mark.parametrize("words", [1, 7, 200])
def test_discrete_tails_are_inside_the_threshold_even_at_small_scales(scale, words):
    threshold = selection_threshold(scale, 1e-6, words)
    assert exact_leak(threshold, scale, int(BOUND / np.sqrt(words)), words) <= 1e-6


def test_continuous_tails_alone_would_not_be_enough():
    continuous = int(np.ceil(BOUND + norm.isf(1e-6)))
    assert exact_leak(continuous - 1, 1.0, BOUND, 1) > 1e-6
    assert selection_threshold(1.0, 1e-6, 1) > continuous


def test_opendp_computes_no_larger_failure_probability_for_equal_weights():
    scale, delta = 5.0 * BOUND, 1e-6
    counts = dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64"))
    metric = dp.l02inf_distance(dp.absolute_distance(T=float))
    threshold = selection_threshold(scale, delta, MOST_WORDS)
    mechanism = dp.m.make_gaussian_threshold(counts, metric, scale=scale, threshold=threshold)
    theirs = [mechanism.map((int(t), float(BOUND), float(BOUND // np.sqrt(t))))[1] for t in SIZES[::20]]
    assert max(theirs) <= delta * (1 + 1e-4)
    assert max(theirs) > 0.5 * delta


@given(scale=st.floats(1e5, 1e9), delta=st.floats(1e-15, 1e-3), words=st.integers(1, 300))
def test_thresholds_rise_with_words_and_with_caution(scale, delta, words):
    threshold = selection_threshold(scale, delta, words)
    assert selection_threshold(scale, delta, words + 1) >= threshold
    assert selection_threshold(scale, delta / 2, words) > threshold > BOUND


norms = st.one_of(
    st.floats(0, 1e9), st.just(-1.0), st.sampled_from([0.0, float("inf"), float("nan"), *CLIP_GRID])
)


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
