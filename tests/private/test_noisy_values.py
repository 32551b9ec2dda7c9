"""Noisy real numbers: their lattice, the law of their noise, and how often bounds drawn from them fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gate_helpers import NoNoise, gaussian
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from dplda.base.errors import GateError
from dplda.budget.events import Event
from dplda.private.noise import ExactNoise, NoisyValues, SimulatedNoise, lattice_scale, release_values
from dplda.private.propose_test_release import (
    ROOT2,
    TopicStability,
    decompose,
    decomposition_sensitivity,
    moment_changes,
    release_decomposition,
    release_topics,
    spectral_topics,
)
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.lda_moments import pack, unpack

sensitivities = st.sampled_from([1e-9, 0.37, 1.0, 1e6])


@given(seed=st.integers(0, 999), size=st.integers(1, 30), sensitivity=sensitivities, far=st.sampled_from([1, 1e6]))
def test_neighbours_stay_within_the_sensitivity_that_the_noise_is_scaled_to(seed, size, sensitivity, far):
    random = np.random.default_rng(seed)
    change = random.standard_normal(size)
    values = far * sensitivity * random.standard_normal(size)
    moved = values + change * (sensitivity * (1 - 1e-9) / np.linalg.norm(change))
    noise = NoNoise()
    one, other = (release_values(gaussian("s", 2.0), noise, v, sensitivity) for v in (values, moved))
    allowed = BOUND + math.ceil(math.sqrt(size))
    assert noise.asked == [(lattice_scale(2.0, allowed), size)] * 2
    assert np.linalg.norm((one.values - other.values) / one.step) <= allowed
    assert np.abs(one.values - values).max() <= one.step / 2 * (1 + 1e-6)
    assert one.std == pytest.approx(2.0 * sensitivity, rel=1e-4)


def test_numbers_beyond_the_lattice_are_cut_and_what_is_no_number_is_zero():
    found = release_values(gaussian("s"), NoNoise(), np.array([math.inf, -math.inf, math.nan, 1e300]), 1.0)
    assert found.values.tolist() == [2.0**42, -(2.0**42), 0.0, 2.0**42]


@pytest.mark.parametrize("noise", [ExactNoise(), SimulatedNoise(3)])
def test_the_noise_is_gaussian_with_the_multiplier_of_its_event(noise):
    found = release_values(gaussian("s", 3.0), noise, np.full((50, 40), 7.0), 0.01)
    assert found.values.shape == (50, 40)
    assert kstest((found.values.ravel() - 7.0) / 0.03, "norm").pvalue > 1e-4
    assert found.std == pytest.approx(0.03, rel=1e-4)


@pytest.mark.parametrize("scale", [1.0, 3.0, 20.0])
def test_a_discrete_gaussian_is_stochastically_below_a_continuous_one_plus_a_step(scale):
    z = np.arange(-round(40 * scale), round(40 * scale) + 1)
    mass = np.exp(-(z**2) / (2 * scale**2))
    tail = np.cumsum((mass / mass.sum())[::-1])[::-1]
    inside = np.abs(z) < 8 * scale  # where float64 can tell
    assert (tail <= norm.sf((z - 1) / scale) * (1 + 1e-9))[inside].all()


@pytest.mark.parametrize(("bounds", "terms"), [(1, 1), (4, 1), (4, 2)])
def test_bounds_fail_as_often_as_they_may(bounds, terms):
    failure, n = 0.2, 40_000
    random = np.random.default_rng(1)
    values = random.uniform(-1, 1, (n, terms))
    step, scale = 1e-3, 1e4
    noisy = (np.rint(values / step) + SimulatedNoise(2).gaussian(scale, n * terms).reshape(n, terms)) * step
    margin = NoisyValues(noisy, step, scale, failure).margin(bounds, terms)
    signs = np.array([1, -1])[:terms]
    failed = np.mean((noisy @ signs) - margin > values @ signs)
    allowed = failure / bounds
    assert 0.9 * allowed < failed < allowed + 4 * math.sqrt(allowed / n)


def test_a_bound_needs_a_failure_probability():
    with pytest.raises(GateError, match="failure probability"):
        release_values(gaussian("s"), NoNoise(), np.zeros(1), 1.0).margin()


@pytest.mark.full
def test_the_tests_of_a_decomposition_fail_as_seldom_as_they_say():
    failure, runs, change = 0.1, 3000, 1e-3
    T, theta = unpack(np.random.default_rng(0).standard_normal(10), 3), np.array([0.8, 0.6, 0.0])
    exact = decompose(T, theta, 1e9)
    true = decomposition_sensitivity(exact.gap, exact.norm, change)
    noise, wrong, small = SimulatedNoise(0), 0, 0

    def ask(stage, values, sensitivity):
        failing = 0.0 if stage == "decomposition" else failure
        return release_values(Event(stage=stage, noise_multiplier=4.0, delta=failing), noise, values, sensitivity)

    for _ in range(runs):
        tested = release_decomposition(ask, pack(T), np.zeros((3, 3, 3)), theta, change)
        gap, norm_up = (test.bound for test in tested.tests)
        wrong += gap > exact.gap or norm_up < exact.norm
        small += tested.std < 4.0 * true
    assert failure < wrong / runs <= 2 * failure
    assert small / runs <= 2 * failure


@pytest.mark.full
def test_the_chain_of_tests_shows_a_smaller_sensitivity_than_the_true_one_as_seldom_as_its_failures_say():
    random = np.random.default_rng(5)
    mu, alpha = random.dirichlet(np.full(5, 0.2), 2).T, np.array([0.5, 0.5])
    h, r, units, failure, runs = random.uniform(size=5), np.ones(5), 10**6, 0.04, 3000
    exact = spectral_topics((mu * alpha / 2) @ mu.T, (mu * alpha / 3 * (h @ mu)) @ mu.T, r, 2)
    change2, change3 = moment_changes(1.0, units)
    first, kth, after = exact.eigenvalues
    true = TopicStability(
        first=first, least=kth, most=kth, gap=kth - after, norm=exact.norm, change2=change2, change3=change3
    )
    noise, wrong, small = SimulatedNoise(0), 0, 0

    def ask(stage, values, sensitivity):
        multiplier = 100.0 if stage == "spectrum" else 4.0  # its margins then matter to what follows
        event = Event(stage=stage, noise_multiplier=multiplier, delta=0.0 if stage == "topics" else failure)
        answers[stage] = found = release_values(event, noise, values, sensitivity)
        return found

    for _ in range(runs):
        answers = {}
        tested = release_topics(ask, ask("size lower bound", np.array([float(units)]), 1.0), exact, 1.0)
        found = {test.name: test.bound for test in tested.tests}
        spectrum = answers["spectrum"]
        wrong += (
            found["units at least"] > units
            or found["last topic's eigenvalue at least"] > kth
            or spectrum.values[1] + spectrum.margin(4) < kth
            or found["first eigenvalue at most"] < first
            or found["its gap to the next at least"] > kth - after
            or found["contracted third moment's norm at most"] < exact.norm
            or found["least gap of whitened eigenvalues at least"] > exact.gap
        )
        assert found["first eigenvalue at most"] == pytest.approx(spectrum.values[0] + spectrum.margin(4))
        shown = TopicStability(
            first=found["first eigenvalue at most"],
            least=found["last topic's eigenvalue at least"],
            most=spectrum.values[1] + spectrum.margin(4),
            gap=found["its gap to the next at least"],
            norm=found["contracted third moment's norm at most"],
            change2=(changes := moment_changes(1.0, found["units at least"]))[0],
            change3=changes[1],
        )
        proven = shown.sensitivity(found["least gap of whitened eigenvalues at least"])
        assert answers["topics"].step * BOUND == pytest.approx(proven, rel=1e-5)
        small += proven < true.sensitivity(exact.gap)
        assert found["its gap to the next at least"] > ROOT2 * change2
    assert 0.5 * 4 * failure < wrong / runs <= 4 * failure + 4 * math.sqrt(4 * failure / runs)
    assert small / runs <= 4 * failure
