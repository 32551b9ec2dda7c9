"""Bounds on attacks under a privacy statement: beliefs, detection rates, and each stage's share of the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from dplda.budget.accountant import NOTHING, capacity, cost, gaussian_epsilon
from dplda.budget.events import Event, PrivacyStatement, base_of

_RARE = 0.01  # belief bounds hold for tests that are positive for at least this share of units; delta covers rarer ones


@dataclass(frozen=True)
class StageShare:
    """The parts of the run's mu^2 that a stage takes: for its `releases`, and for their clipping norm (`clip`).

    mu is the Gaussian-DP parameter that `noise` returns. `count` is the number of the stage's releases, and
    `multiplier` their noise over their sensitivity.
    """

    stage: str
    releases: float
    clip: float
    count: int
    multiplier: float | None


def belief_at_most(prior: float, epsilon: float, delta: float) -> float:
    """Upper bound on an attacker's belief that a unit is in the data, after evidence from the release.

    `prior` is the probability of this before the evidence, and `epsilon` is in nats. The bound is only for evidence
    with a probability t of at least `_RARE` (0.01) if the unit is present; rarer evidence might come from delta alone.
    As t <= e^epsilon P(evidence | unit absent) + delta, Bayes' rule gives the bound. It is 1 if `delta` >= `_RARE`.
    """
    if math.isinf(epsilon) or delta >= _RARE:
        return 1.0
    odds = prior / (1 - prior) * math.exp(min(epsilon, 700.0)) / (1 - delta / _RARE)
    return odds / (1 + odds)


def success_at_most(statement: PrivacyStatement) -> float:
    """Upper bound on an attacker's probability of guessing membership, with prior probability 1/2.

    The smaller of (e^epsilon + delta) / (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015) and, with the mu and the sum
    of deltas that `noise` returns, Phi(mu / 2) (Dong, Roth and Su 2022) plus half of that sum.
    """
    if math.isinf(statement.epsilon):
        return 1.0
    return _success(statement.epsilon, statement.delta, *noise(statement))


def success_under_filter(epsilon: float, delta: float) -> float:
    """`success_at_most` for all runs together of a dataset whose grant is (epsilon, delta)."""
    return 1.0 if math.isinf(epsilon) else _success(epsilon, delta, *noise_under_filter(epsilon, delta))


def noise_under_filter(epsilon: float, delta: float) -> tuple[float, float]:
    """As `noise`, for all runs together of a dataset whose grant is (epsilon, delta); epsilon is finite.

    The ledger admits runs up to a limit on the sum of their mu^2 and a limit on the sum of their deltas, which follow
    from the grant (`accountant.capacity`; docs/privacy.md, sections 4.3 and 9.5). Returns mu and the sum of deltas at
    these limits.
    """
    limit = capacity(epsilon, delta)
    return math.sqrt(limit.mu_squared), limit.delta


def success_for_several(units: int, mu: float, failures: float) -> float:
    """`success_at_most` for a group of `units` that are all in the data or not at all.

    `mu` and `failures`, a sum of deltas, are what `noise` returns. A group of n has n mu instead of mu (Dong, Roth and
    Su 2022, Theorem 2.14). One gets from data without the group to data with it in n steps, each of which adds one
    unit. Let g(x) = Phi(Phi^-1(x) + mu). A step raises a detection rate x to at most g(x) + failures. As g is concave
    and g(0) = 0, g(x + y) <= g(x) + g(y). Therefore n steps add at most the sum over j < n of g applied j times to
    `failures`.
    """
    grown = sum(float(ndtr(ndtri(failures) + step * mu)) for step in range(units))
    return float(min(ndtr(units * mu / 2) + grown / 2, 1.0))


def surer_at_most(epsilon: float, mu: float, failures: float) -> float:
    """Upper bound on the probability of a release more than e^`epsilon` times as likely with a unit as without it.

    The bound holds whether or not the unit is there, because the log likelihood ratio of a Gaussian mechanism with `mu`
    has a mean of at most mu^2 / 2, and the standard deviation mu (docs/privacy.md, section 4.1).
    """
    return float(min(ndtr(mu / 2 - epsilon / mu) + failures, 1.0)) if mu > 0 else failures


def _success(epsilon: float, delta: float, mu: float, failures: float) -> float:
    even = 1 - (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    return float(min(even, ndtr(mu / 2) + failures / 2))


def noise(statement: PrivacyStatement) -> tuple[float, float]:
    """Return the run's GDP parameter mu, and the sum of the deltas of its events.

    mu is the root of the sum of the events' mu^2, and infinite without noise.
    """
    spent = cost(statement.events)
    return math.sqrt(spent.mu_squared), spent.delta


def detected_at_most(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """Upper bound on the detection rate of any test at each rate of `false_alarms` (docs/privacy.md, 4.1).

    The minimum of `epsilon_curve` and `gaussian_curve`, because both bounds hold.
    """
    return np.minimum(epsilon_curve(false_alarms, statement), gaussian_curve(false_alarms, statement))


def epsilon_curve(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """Bound on the detection rate by (epsilon, delta) alone (Kairouz, Oh and Viswanath 2015, Theorem 2.4)."""
    if math.isinf(statement.epsilon):
        return np.ones_like(false_alarms)
    grown = math.exp(min(statement.epsilon, 700.0))
    few = grown * false_alarms + statement.delta
    many = 1 - (1 - false_alarms - statement.delta) / grown
    return np.asarray(np.clip(np.minimum(few, many), false_alarms, 1.0))


def gaussian_curve(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """Bound on the detection rate from the run's Gaussian noise: Phi(Phi^-1(rate) + mu) plus the deltas.

    Dong, Roth and Su 2022, section 2.2; an event with a pure epsilon guarantee (delta 0) counts as a Gaussian mechanism
    that reveals at least as much.
    """
    mu, failures = noise(statement)
    if math.isinf(mu):
        return np.ones_like(false_alarms)
    return np.asarray(np.minimum(ndtr(ndtri(false_alarms) + mu) + failures, 1.0))


def spent_together(statements: Sequence[PrivacyStatement]) -> tuple[float, float]:
    """Return (epsilon, delta) that several sound runs on the same units spent together, at the sum of their deltas.

    The guarantee is not what was spent but the dataset's grant (docs/privacy.md, rule 7).
    """
    spent = sum((cost(statement.events) for statement in statements), NOTHING)
    delta = math.fsum(statement.delta for statement in statements)
    return gaussian_epsilon(math.sqrt(spent.mu_squared), delta - spent.delta), delta


def stage_shares(events: tuple[Event, ...]) -> list[StageShare]:
    """Each stage's share of mu^2, in the order of the events; empty if their sum is not finite."""
    total = cost(events).mu_squared
    if not 0 < total < math.inf:
        return []
    stages = list(dict.fromkeys(base_of(event.stage) for event in events))
    return [_share(stage, [event for event in events if base_of(event.stage) == stage], total) for stage in stages]


def _share(stage: str, events: list[Event], total: float) -> StageShare:
    releases = [event for event in events if event.stage == stage]
    clips = [event for event in events if event.stage != stage]
    return StageShare(
        stage=stage,
        releases=cost(releases).mu_squared / total,
        clip=cost(clips).mu_squared / total,
        count=sum(event.count for event in releases),
        multiplier=releases[0].noise_multiplier if releases else None,
    )
