"""The plans of all placements, priced by the accountants of Google (dp_accounting) and OpenDP."""

from __future__ import annotations

import math

import opendp.prelude as opendp
import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from full_helpers import full_after
from placement_lists import PRIVATE

from dplda.budget.accountant import calibrate, cost, run_epsilon
from dplda.budget.events import PURE, Event, merge_events
from dplda.learning.placements.registry import find
from dplda.learning.settings import FitSettings, ModelSettings

BUDGETS = [(0.5, 1e-6), (2.0, 1e-6), (8.0, 1e-5)]


def plan(placement: str, epsilon: float, delta: float) -> tuple[Event, ...]:
    """The events of a run of `placement` that chooses its words privately."""
    shares = find(placement).plan(FitSettings(model=ModelSettings(placement=placement, topics=5)))
    return merge_events(calibrate(shares, epsilon, delta))


def gaussian_events(placement: str, epsilon: float, delta: float) -> list[Event]:
    return [event for event in plan(placement, epsilon, delta) if event.mechanism != PURE]


@pytest.mark.parametrize("placement", PRIVATE)
@pytest.mark.parametrize(("epsilon", "delta"), full_after(1, BUDGETS))
def test_googles_accountant_agrees_on_the_gaussian_events_of_each_plan(placement, epsilon, delta):
    events = gaussian_events(placement, epsilon, delta)
    # Composed by dp_accounting itself, event by event, and never by the sum that dplda uses.
    composed = ComposedDpEvent(
        [SelfComposedDpEvent(GaussianDpEvent(event.noise_multiplier), event.count) for event in events]
    )
    remaining = delta - math.fsum(event.count * event.delta for event in events)
    theirs = PLDAccountant().compose(composed).get_epsilon(remaining)
    assert theirs == pytest.approx(run_epsilon(events, delta), rel=0, abs=1e-6)


@pytest.mark.parametrize("placement", PRIVATE)
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_opendps_gaussian_measurements_cost_the_same_zcdp_as_each_plan(placement, epsilon, delta):
    events = gaussian_events(placement, epsilon, delta)
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="f64")
    sensitivity = 1000.0
    rho = 0.0
    for event in events:
        measurement = opendp.m.make_gaussian(*space, scale=event.noise_multiplier * sensitivity)
        rho += event.count * measurement.map(sensitivity)
    # A mu-GDP Gaussian mechanism is mu^2 / 2-zCDP, so that the cost of the filter is twice rho.
    assert 2 * rho == pytest.approx(cost(events).mu_squared, rel=1e-6)


@pytest.mark.parametrize("placement", PRIVATE)
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_opendps_conversion_from_zcdp_is_never_below_the_exact_epsilon(placement, epsilon, delta):
    events = gaussian_events(placement, epsilon, delta)
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="f64")
    mu = math.sqrt(cost(events).mu_squared)
    profile = opendp.c.make_zCDP_to_approxDP(opendp.m.make_gaussian(*space, scale=1000.0 / mu)).map(1000.0)
    remaining = delta - math.fsum(event.count * event.delta for event in events)
    theirs = profile.epsilon(remaining)
    assert run_epsilon(events, delta) <= theirs <= 1.5 * run_epsilon(events, delta)
