"""The accountant against dp_accounting's own, independent integration, and the filter's promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from full_helpers import full_after
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from dplda.budget.accountant import (
    FAILURE_SHARE,
    NOTHING,
    Cost,
    calibrate,
    capacity,
    cost,
    gaussian_budget,
    gaussian_delta,
    gaussian_epsilon,
    run_epsilon,
)
from dplda.budget.events import EXACT, GAUSSIAN_THRESHOLD, PURE, Event, merge_events
from dplda.learning.placements.default import shares

BUDGETS = [(0.5, 1e-6), (2.0, 1e-6), (4.0, 1e-5), (1.0, 1e-9)]


def gaussian(multiplier: float, count: int = 1) -> Event:
    return Event(stage="sum", noise_multiplier=multiplier, count=count)


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize(("epsilon", "delta"), full_after(2, BUDGETS))
def test_a_calibrated_run_recomputed_by_dp_accounting_meets_its_epsilon_and_wastes_little(public, epsilon, delta):
    events = merge_events(calibrate(shares(public, 20), epsilon, delta))
    accountant = PLDAccountant()
    for event in events:
        accountant.compose(GaussianDpEvent(event.noise_multiplier), event.count)
    recomputed = accountant.get_epsilon(delta - sum(event.count * event.delta for event in events))
    assert recomputed == pytest.approx(run_epsilon(events, delta), rel=1e-5)
    assert 0.97 * epsilon <= recomputed <= epsilon


@given(mu=st.floats(0.05, 6.0), epsilon=st.floats(0.0, 8.0))
def test_gaussian_delta_is_the_hockey_stick_divergence_of_two_shifted_normals(mu, epsilon):
    def excess(x):
        return max(norm.pdf(x, mu) - math.exp(epsilon) * norm.pdf(x), 0.0)

    crossing = epsilon / mu + mu / 2  # the likelihood ratio exceeds e^epsilon from here on
    integral, _ = quad(excess, crossing, crossing + mu + 12, epsabs=1e-14, limit=200)
    assert gaussian_delta(mu, epsilon) == pytest.approx(integral, rel=1e-6, abs=1e-12)


@given(mu=st.floats(1e-3, 10.0), delta=st.floats(1e-12, 0.1))
def test_gaussian_epsilon_is_the_least_that_meets_delta(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, epsilon) <= delta * (1 + 1e-6)
    if epsilon > 0:
        assert gaussian_delta(mu, epsilon * (1 - 1e-6)) >= delta * (1 - 1e-6)


def test_the_ends_of_the_gaussian_conversions():
    assert gaussian_delta(0.0, 1.0) == 0.0
    assert gaussian_delta(math.inf, 1.0) == 1.0
    assert gaussian_epsilon(0.0, 1e-6) == 0.0
    assert gaussian_epsilon(1.0, 0.9) == 0.0
    assert gaussian_epsilon(math.inf, 1e-6) == math.inf
    assert gaussian_epsilon(1.0, 0.0) == math.inf


@given(epsilon=st.floats(1e-3, 100.0), delta=st.floats(1e-12, 0.1))
def test_capacity_never_exceeds_the_grant(epsilon, delta):
    room = capacity(epsilon, delta)
    assert gaussian_delta(math.sqrt(room.mu_squared), epsilon) + room.delta <= delta * (1 + 1e-9)
    assert gaussian_delta(math.sqrt(room.mu_squared), epsilon) >= 0.98 * delta
    assert gaussian_budget(epsilon, delta) ** 2 == pytest.approx(room.mu_squared)


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_run_that_asks_for_a_whole_grant_fits_into_it_once(public, epsilon, delta):
    run, grant = cost(calibrate(shares(public, 20), epsilon, delta)), capacity(epsilon, delta)
    assert run.fits(grant)
    assert not (run + run).fits(grant)


def test_ten_runs_of_epsilon_two_fit_into_the_default_grant_but_not_any_number():
    run, grant = cost(calibrate(shares(False, 20), 2.0, 1e-6)), capacity(10.0, 1e-5)
    totals = [Cost(n * run.mu_squared, n * run.delta) for n in range(1, 40)]
    fitting = sum(total.fits(grant) for total in totals)
    assert 10 <= fitting < 39
    best_claim = gaussian_epsilon(math.sqrt(totals[fitting - 1].mu_squared), 1e-5 - totals[fitting - 1].delta)
    assert best_claim <= 10.0


def test_failure_probabilities_fill_their_own_filter():
    grant = capacity(10.0, 1e-5)
    assert Cost(0.0, FAILURE_SHARE * 1e-5).fits(grant)
    assert not Cost(0.0, FAILURE_SHARE * 1e-5 * 1.001).fits(grant)


def test_failure_probabilities_come_off_delta_before_converting():
    threshold = Event(stage="v", mechanism=GAUSSIAN_THRESHOLD, noise_multiplier=4.0, delta=5e-7)
    assert run_epsilon([threshold], 1e-6) == pytest.approx(run_epsilon([gaussian(4.0)], 5e-7), rel=1e-12)
    assert run_epsilon([threshold], 5e-7) == math.inf
    assert cost([threshold, threshold]) == Cost(2 / 16, 1e-6)


def test_exact_events_are_infinitely_expensive():
    exact = Event(stage="mean", mechanism=EXACT)
    assert run_epsilon([gaussian(5.0), exact], 1e-6) == math.inf
    assert cost([exact]).mu_squared == math.inf
    assert not cost([exact]).fits(capacity(100.0, 0.1))


def test_no_events_cost_nothing():
    assert run_epsilon([], 1e-6) == 0.0
    assert cost([]) == NOTHING


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_pure_event_costs_its_epsilon_and_its_gaussian_cover_dominates_it(epsilon):
    pure = Event(stage="test", mechanism=PURE, epsilon=epsilon)
    assert run_epsilon([pure], 1e-9) == pytest.approx(epsilon, rel=1e-3)
    mu = math.sqrt(cost([pure]).mu_squared)
    for at in np.linspace(0, epsilon, 9):
        randomised_response = max(0.0, (math.exp(epsilon) - math.exp(at)) / (1 + math.exp(epsilon)))
        assert gaussian_delta(mu, float(at)) >= randomised_response - 1e-12


def test_pure_and_gaussian_events_compose_to_more_than_either_and_less_than_their_sum():
    pure = Event(stage="test", mechanism=PURE, epsilon=0.5)
    both = run_epsilon([gaussian(5.0), pure], 1e-6)
    assert max(0.5, run_epsilon([gaussian(5.0)], 1e-6)) < both < 0.5 + run_epsilon([gaussian(5.0)], 1e-6)


def test_a_count_is_that_many_events():
    assert run_epsilon([gaussian(6.0, 3)], 1e-6) == pytest.approx(run_epsilon([gaussian(6.0)] * 3, 1e-6), rel=1e-6)
    assert cost([gaussian(6.0, 3)]).mu_squared == pytest.approx(cost([gaussian(6.0)] * 3).mu_squared)
