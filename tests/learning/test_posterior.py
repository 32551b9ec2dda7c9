"""The empirical-Bayes posterior of noisy counts whose true values are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplda.learning.refinement import posterior

SHARES = np.array([0.5, 0.3, 0.2])


def corpus(seed: int, sparse: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True counts (600, 8), their noise's standard deviations (600,), and the words' frequencies (600,)."""
    random = np.random.default_rng(seed)
    frequencies = 1 / np.arange(1, 601)
    frequencies /= frequencies.sum()
    lifts = random.gamma(0.1 if sparse else 2.0, 10.0 if sparse else 0.5, (600, 8))
    lifts /= lifts.mean(axis=1, keepdims=True)
    return lifts * np.outer(frequencies, np.full(8, 5000.0)), np.full(600, 6.0), frequencies


@pytest.mark.parametrize("sparse", [False, True])
def test_the_mean_has_less_squared_error_and_the_median_less_l1_error_than_cutting_at_zero(sparse):
    true, std, frequencies = corpus(3, sparse)
    noisy = true + np.random.default_rng(4).normal(0, 6.0, true.shape)
    (mean, median), cut = posterior(noisy, std, frequencies), np.maximum(noisy, 0)
    assert ((mean - true) ** 2).sum() < 0.6 * ((cut - true) ** 2).sum()
    assert np.abs(median - true).sum() < 0.65 * np.abs(cut - true).sum()
    assert ((mean - true) ** 2).sum() <= ((median - true) ** 2).sum()
    if sparse:
        assert np.abs(median - true).sum() <= 0.95 * np.abs(mean - true).sum()


def test_each_word_is_judged_by_its_own_noise():
    true, std, frequencies = corpus(5, sparse=True)
    std = np.where(np.arange(600) % 2, 0.01, 50.0)
    noisy = true + np.random.default_rng(6).normal(size=true.shape) * std[:, None]
    mean, _ = posterior(noisy, std, frequencies)
    np.testing.assert_allclose(mean[1::2], np.maximum(noisy[1::2], 0), atol=0.05)
    assert np.abs(mean[::2] - true[::2]).mean() < 0.5 * np.abs(noisy[::2] - true[::2]).mean()


def test_without_noise_only_negative_counts_change():
    counts = np.array([[3.0, -1.0], [0.0, 2.5], [7.0, 1.0]])
    mean, median = posterior(counts, np.zeros(3), SHARES)
    np.testing.assert_array_equal(mean, np.maximum(counts, 0))
    np.testing.assert_array_equal(median, np.maximum(counts, 0))


@settings(deadline=None, max_examples=50)
@given(arrays(np.float64, (3, 2), elements=st.floats(-1e6, 1e6)), st.floats(1e-3, 1e6))
def test_answers_are_finite_and_nonnegative_whatever_the_counts(counts, std):
    mean, median = posterior(counts, np.full(3, std), SHARES)
    for values in (mean, median):
        assert values.shape == counts.shape
        assert np.isfinite(values).all()
        assert (values >= 0).all()
