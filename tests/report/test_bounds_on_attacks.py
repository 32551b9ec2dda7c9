from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dplda.budget.accountant import capacity, run_epsilon
from dplda.budget.events import EXACT, PURE, Event, PrivacyStatement
from dplda.report import promise

epsilons = st.floats(0.01, 8)
deltas = st.floats(0, 1e-4)


def statement(epsilon: float = math.inf, delta: float = 1e-6, *events: Event) -> PrivacyStatement:
    return PrivacyStatement(
        epsilon=epsilon, delta=delta, unit="document", adjacency="add-remove", sound=True, events=events
    )


def gaussian(multiplier: float, stage: str = "size", **more: float) -> Event:
    return Event(stage=stage, noise_multiplier=multiplier, **more)


LOUD = gaussian(1e-3)  # so little noise that only (epsilon, delta) says anything


def worst_pair(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """The pair of laws on four answers that every (epsilon, delta)-private pair is a blurred copy of."""
    high, low = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))
    inside = np.array([delta, (1 - delta) * high, (1 - delta) * low, 0.0])
    return inside, inside[::-1]


@given(epsilons, deltas, st.floats(0.001, 0.9))
def test_no_conclusion_against_the_worst_mechanism_is_believed_more_than_told(
    epsilon: float, delta: float, prior: float
) -> None:
    inside, outside = worst_pair(epsilon, delta)
    most = promise.belief_at_most(prior, epsilon, delta)
    for fires in itertools.product((False, True), repeat=4):
        found, false = inside[list(fires)].sum(), outside[list(fires)].sum()
        if found >= promise._RARE:
            assert prior * found / (prior * found + (1 - prior) * false) <= most + 1e-12
    pure = inside[1] * prior / (inside[1] * prior + outside[1] * (1 - prior))
    assert pure - 1e-12 <= most <= pure + delta / promise._RARE + 1e-12


def test_without_a_bound_the_attacker_may_be_certain() -> None:
    assert promise.belief_at_most(0.01, math.inf, 0.0) == 1
    assert promise.belief_at_most(0.01, 1.0, promise._RARE) == 1
    assert promise.success_at_most(statement()) == 1
    assert promise.detected_at_most(np.array([0.01]), statement(math.inf, 1e-6, Event(stage="x", mechanism=EXACT))) == 1


@given(epsilons, deltas)
def test_success_and_detection_are_attained_by_the_worst_mechanism(epsilon: float, delta: float) -> None:
    inside, outside = worst_pair(epsilon, delta)
    told = statement(epsilon, delta, LOUD)
    even = 0.5 + 0.25 * np.abs(inside - outside).sum()
    assert promise.success_at_most(told) == pytest.approx(even, abs=1e-12)
    rates, found = np.r_[0, np.cumsum(outside)], np.r_[0, np.cumsum(inside)]  # likelihood ratios fall: optimal tests
    at = np.linspace(0.001, 0.999, 50)
    assert promise.epsilon_curve(at, told) == pytest.approx(np.interp(at, rates, found), abs=1e-9)


@pytest.mark.parametrize("multipliers", [(1.0,), (0.5, 3.0), (4.0, 4.0, 9.0), (30.0,)])
def test_gaussian_detection_is_the_dual_of_the_privacy_curve(multipliers: tuple[float, ...]) -> None:
    events = [gaussian(m) for m in multipliers]
    mu = math.sqrt(sum(1 / m**2 for m in multipliers))
    e = np.linspace(-12, 12, 2001) * max(mu, mu**2)
    privacy = norm.cdf(mu / 2 - e / mu) - np.exp(e) * norm.cdf(-mu / 2 - e / mu)  # Balle and Wang 2018, Theorem 8
    at = np.array([0.001, 0.01, 0.1, 0.5])
    dual = (np.exp(e) * at[:, None] + privacy).min(axis=1)
    assert promise.gaussian_curve(at, statement(1.0, 1e-6, *events)) == pytest.approx(dual, abs=1e-4)


def test_success_against_gaussian_noise_is_that_of_telling_two_normals_apart() -> None:
    x = np.linspace(-20, 20, 400_001)
    apart = 0.5 * np.abs(norm.pdf(x) - norm.pdf(x - 0.5)).sum() * (x[1] - x[0])
    assert promise.success_at_most(statement(3.0, 1e-6, gaussian(2.0))) == pytest.approx((1 + apart) / 2, abs=1e-6)


def test_failure_probabilities_are_added_to_what_can_be_found() -> None:
    at = np.array([0.01, 0.1])
    plain, failing = gaussian(4.0), gaussian(4.0, delta=0.003, count=2)
    more = promise.gaussian_curve(at, statement(1.0, 0.1, failing)) - promise.gaussian_curve(
        at, statement(1.0, 0.1, plain, plain)
    )
    assert more == pytest.approx(0.006)
    success = [promise.success_at_most(statement(5.0, 0.1, e)) for e in (failing, gaussian(4.0, count=2))]
    assert success[0] - success[1] == pytest.approx(0.003)


def test_what_noise_allows_never_exceeds_what_epsilon_allows_by_more_than_the_accountant_rounds() -> None:
    events = (gaussian(3.0), gaussian(8.0, count=3), Event(stage="test", mechanism=PURE, epsilon=0.1))
    told = statement(run_epsilon(events, 1e-6), 1e-6, *events)
    at = np.geomspace(1e-5, 1, 40)
    assert np.all(promise.gaussian_curve(at, told) <= promise.epsilon_curve(at, told) + 1e-3)
    assert np.all(promise.detected_at_most(at, told) >= at - 1e-12)


def test_runs_together_cost_what_the_accountant_says_of_their_events() -> None:
    one, other = (gaussian(2.0, count=2), gaussian(5.0, delta=1e-9)), (gaussian(3.0),)
    epsilon, delta = promise.spent_together([statement(1.0, 1e-6, *one), statement(1.0, 2e-6, *other)])
    assert delta == pytest.approx(3e-6)
    assert epsilon == pytest.approx(run_epsilon((*one, *other), delta), rel=1e-3)


def test_a_clip_is_counted_to_its_stage_and_all_shares_are_one() -> None:
    events = (gaussian(2.0, "core clip"), gaussian(1.0, "core", count=3), gaussian(4.0, "size"))
    shares = promise.stage_shares(events)
    total = 1 / 4 + 3 + 1 / 16
    assert [share.stage for share in shares] == ["core", "size"]
    assert shares[0].clip == pytest.approx(0.25 / total)
    assert shares[0].releases == pytest.approx(3 / total)
    assert (shares[0].count, shares[0].multiplier) == (3, 1.0)
    assert sum(share.releases + share.clip for share in shares) == pytest.approx(1)
    (tables,) = promise.stage_shares((gaussian(2.5, "table", count=2), gaussian(1.5, "table")))  # of two questions
    assert (tables.count, tables.multiplier) == (3, 1.5), "the least noise"


def test_exact_events_have_no_shares() -> None:
    assert promise.stage_shares((Event(stage="size", mechanism=EXACT), gaussian(1.0))) == []
    assert promise.stage_shares(()) == []


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (8.0, 2e-6), (10.0, 1e-5)])
def test_a_run_that_uses_a_whole_grant_is_promised_no_more_than_the_grant(epsilon: float, delta: float) -> None:
    limit = capacity(epsilon, delta)
    whole = statement(epsilon, delta, gaussian(1 / math.sqrt(limit.mu_squared), delta=limit.delta))
    together = promise.success_under_filter(epsilon, delta)
    assert together == pytest.approx(promise.success_at_most(whole), abs=1e-9)
    half = statement(epsilon, delta, gaussian(math.sqrt(2 / limit.mu_squared)))
    assert promise.success_at_most(half) < together < math.exp(epsilon) / (1 + math.exp(epsilon)) + delta
    assert promise.success_under_filter(math.inf, delta) == 1
