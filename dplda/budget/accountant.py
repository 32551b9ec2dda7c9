"""Accounting: what events cost, how runs compose, and the frozen events of a run's plan.

Within a run all events are fixed beforehand, so that Gaussian composition is valid and tight, also if outputs decide
which query spends which Gaussian event (docs/privacy.md, section 4.2). If some events are pure, the numerical
composition of dp_accounting is valid and tight. Neither is valid across runs whose parameters depend on earlier outputs
(docs/privacy.md, section 4.3 has a counterexample). There a filter is fixed at the start: the sum of squared GDP
parameters may not exceed the capacity of the grant (Smith and Thakurta 2022, Theorem 3), and failure probabilities are
summed separately. For Gaussian events this sum is twice the zCDP parameter, so the filter is the Renyi filter at every
order at once, converted to epsilon without loss.

A plan divides the run's mu^2 into shares of its stages, and calibrates one event per query.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from dplda.budget.events import EXACT, GAUSSIAN, GAUSSIAN_THRESHOLD, PURE, Event, Stage, is_clip, merge_events

# The share of every delta that is kept for failure probabilities of single stages (T7's threshold). Runs and grants
# convert their Gaussian part at the rest, so that one run that requests a whole grant fits it exactly.
FAILURE_SHARE = 0.01
_QUERY_SHARE = 0.1 * (1 - 1e-6)  # the share of it that each query that may fail gets: ten fit, despite rounding
_MOST_FAILURES = 9  # largest number of queries that may fail: rounding needs the rest
_ROUNDING = 1e-4  # mu is reduced by this share, because accountants round the privacy losses of every event up


@dataclass(frozen=True)
class Cost:
    """A charge to a filter, or its capacity."""

    mu_squared: float
    """The sum of squared GDP parameters."""
    delta: float
    """The sum of failure probabilities."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.mu_squared + other.mu_squared, self.delta + other.delta)

    def less(self, part: Cost) -> Cost:
        """Subtract a finite `part` of this total."""
        return Cost(max(0.0, self.mu_squared - part.mu_squared), max(0.0, self.delta - part.delta))

    def fits(self, capacity: Cost) -> bool:
        """Whether this total stays within `capacity` in both sums."""
        return self.mu_squared <= capacity.mu_squared and self.delta <= capacity.delta


NOTHING = Cost(0.0, 0.0)


def cost(events: Iterable[Event]) -> Cost:
    """Return the filter cost of `events` (docs/privacy.md, section 4.1); infinite if one of them has no noise.

    A Gaussian event of multiplier s is 1/s-GDP. A pure epsilon-DP test is mu-GDP with
    mu = 2 Phi^-1(e^eps / (1 + e^eps)).
    """
    total = NOTHING
    for event in events:
        if event.mechanism == EXACT:
            mu = math.inf
        elif event.mechanism == PURE:
            mu = -2 * float(ndtri(1 / (1 + math.exp(event.epsilon or 0.0))))
        else:
            mu = 1 / (event.noise_multiplier or 0.0)
        total += Cost(event.count * mu * mu, event.count * event.delta)
    return total


def zcdp(events: Iterable[Event]) -> float:
    """Return rho of `events` under zero-concentrated DP, up to their failures (docs/privacy.md, section 4.1).

    A Gaussian event of multiplier s, discrete or not, is 1 / (2 s^2)-zCDP (Bun and Steinke 2016, Proposition 1.6;
    Canonne, Kamath and Steinke 2020, Theorem 4). A pure epsilon-DP test is epsilon^2 / 2-zCDP (Bun and Steinke 2016,
    Proposition 1.4). The result is infinite if an event has no noise.
    """
    total = 0.0
    for event in events:
        if event.mechanism == EXACT:
            return math.inf
        each = event.epsilon or 0.0 if event.mechanism == PURE else 1 / (event.noise_multiplier or 0.0)
        total += event.count * each * each / 2
    return total


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return delta of a mu-GDP mechanism at epsilon (Balle and Wang 2018, Theorem 8)."""
    if mu == 0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon (nats) such that every mu-GDP mechanism is (epsilon, `delta`)-private."""
    if mu == 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    if math.isinf(mu) or delta <= 0:
        return math.inf
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return float(brentq(lambda eps: gaussian_delta(mu, eps) - delta, 0.0, high, xtol=1e-12, rtol=1e-12))


def capacity(epsilon: float, delta: float) -> Cost:
    """Return the filter's capacity for a grant of (epsilon, delta), rounded down.

    `FAILURE_SHARE` * delta is for failure probabilities; mu is the largest for which mu-GDP implies (epsilon, (1 -
    `FAILURE_SHARE`) delta)-DP.
    """
    kept = FAILURE_SHARE * delta
    low, high = 1e-9, 1.0
    while gaussian_delta(high, epsilon) < delta - kept:
        high *= 2
    mu = brentq(lambda m: gaussian_delta(m, epsilon) - (delta - kept), low, high, xtol=1e-15, rtol=1e-13)
    return Cost(mu * mu * (1 - 1e-9), kept)


def run_epsilon(events: Iterable[Event], delta: float) -> float:
    """Return epsilon (nats) of one run at `delta` (docs/privacy.md, section 4.2).

    Failure probabilities are subtracted from `delta` first. The result is infinite if nothing remains, or if an event
    is exact. Gaussian mechanisms with a fixed sum of squares of mu, adaptive or not, compose to exactly one Gaussian
    mechanism (Dong, Roth and Su 2022, Corollary 3.3; Smith and Thakurta 2022), whose delta has a closed form. With pure
    events, privacy-loss distributions are composed (dp_accounting).
    """
    events = tuple(events)
    if not events:
        return 0.0
    remaining = delta - math.fsum(event.count * event.delta for event in events)
    if remaining <= 0 or any(event.mechanism == EXACT for event in events):
        return math.inf
    mu = math.sqrt(cost(event for event in events if event.mechanism != PURE).mu_squared)
    pure = merge_events(event for event in events if event.mechanism == PURE)
    return float(_compose(mu, pure).get_epsilon_for_delta(remaining)) if pure else gaussian_epsilon(mu, remaining)


@lru_cache(maxsize=4)  # a run's events are composed once for its plan and again for its privacy statement
def _compose(mu: float, pure: tuple[Event, ...]) -> Any:
    """Compose the privacy-loss distributions of a `mu`-GDP Gaussian mechanism and the `pure` events."""
    from dp_accounting.pld import privacy_loss_distribution as pld  # takes a second, and few runs have pure events
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    parts = [pld.from_gaussian_mechanism(1 / mu)] if mu else []
    for event in pure:
        one = pld.from_privacy_parameters(DifferentialPrivacyParameters(event.epsilon, 0.0))
        parts.append(one.self_compose(event.count) if event.count > 1 else one)
    return reduce(lambda total, part: total.compose(part), parts)


def gaussian_budget(epsilon: float, delta: float) -> float:
    """Return the total GDP parameter mu of a run under (epsilon, delta), less the share of delta kept for failures.

    `calibrate` starts from it and lowers it where rounding requires.
    """
    return math.sqrt(capacity(epsilon, delta).mu_squared)


@dataclass(frozen=True)
class Share:
    """A stage's share of the run's mu^2."""

    stage: str
    weight: float
    """The share times the sum of all stages' weights."""
    count: int = 1
    """The number of queries over which the share is split evenly."""
    selects_words: bool = False
    """Whether the stage selects words; a failure probability is charged for that (docs/privacy.md, T7)."""
    may_fail: bool = False
    """Whether later guarantees hold only with probability 1 - delta_fail, as after a test (docs/privacy.md, T4)."""

    @property
    def n_may_fail(self) -> int:
        """The number of the stage's queries that have a failure probability."""
        return self.count if self.selects_words or self.may_fail else 0


def failure_of_query(delta: float) -> float:
    """Return the failure probability of each query that may fail, in a run at `delta`."""
    return _QUERY_SHARE * FAILURE_SHARE * delta


@lru_cache(maxsize=64)
def calibrate(shares: tuple[Share, ...], epsilon: float, delta: float) -> tuple[Event, ...]:
    """Plan events, one per query, whose composition meets (epsilon, delta); all are fixed before any data are read.

    GDP parameters follow mu_j^2 = weight_j mu^2 / (count_j * sum of weights). The common mu starts just below its
    closed form and is lowered until the accountant agrees. Of the part of `delta` kept for failures (`FAILURE_SHARE`),
    each query that may fail gets a tenth. Raises `ValueError` if more than nine may fail.
    """
    total = sum(share.weight for share in shares)
    failure, failing = failure_of_query(delta), sum(share.n_may_fail for share in shares)
    if failing > _MOST_FAILURES:
        raise ValueError(f"a plan may hold at most {_MOST_FAILURES} queries that can fail, got {failing}")

    def events(mu: float) -> tuple[Event, ...]:
        return tuple(
            Event(
                stage=share.stage,
                mechanism=GAUSSIAN_THRESHOLD if share.selects_words else GAUSSIAN,
                noise_multiplier=math.sqrt(share.count * total / share.weight) / mu,
                delta=failure if share.n_may_fail else 0.0,
            )
            for share in shares
            for _ in range(share.count)
        )

    target = delta * (1 - FAILURE_SHARE) + failing * failure
    mu = gaussian_budget(epsilon, delta) * (1 - _ROUNDING)
    reached = run_epsilon(events(mu), target)
    while reached > epsilon:
        mu *= epsilon / reached * (1 - _ROUNDING)
        reached = run_epsilon(events(mu), target)
    return events(mu)


def exact_events(shares: tuple[Share, ...]) -> tuple[Event, ...]:
    """Plan one exact event per query of `shares`, for a run without noise.

    Such a run needs no events for clipping norms, nor for the ``vote total``, the sum by which the units' votes for
    words are divided to give document frequencies (`Curator.choose_words`).
    """
    return tuple(
        Event(stage=share.stage, mechanism=EXACT)
        for share in shares
        if not is_clip(share.stage) and share.stage != Stage.VOTE_TOTAL
        for _ in range(share.count)
    )
