"""Bounds on attacks under a privacy statement: beliefs, detection rates, and each stage's share of the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from dplda.accounting.accountant import NOTHING, cost, gaussian_epsilon
from dplda.accounting.events import Event, PrivacyStatement, base_of

RARE = 0.01  # conclusions that an attacker reaches about fewer units than this share are left to delta


@dataclass(frozen=True)
class StageShare:
    """A stage's shares of the run's mu^2, for its releases and for its clip, and their number and noise."""

    stage: str
    questions: float
    clip: float
    count: int
    multiplier: float | None


def belief_at_most(prior: float, epsilon: float, delta: float) -> float:
    """The most an attacker can believe, after all that was released, what had probability `prior` before.

    Of any test that fires for at least `RARE` = t of the units it is right about, P(fire | in) = t is at most
    e^epsilon P(fire | out) + delta; Bayes' rule does the rest. `epsilon` in nats.
    """
    if math.isinf(epsilon) or delta >= RARE:
        return 1.0
    odds = prior / (1 - prior) * math.exp(min(epsilon, 700.0)) / (1 - delta / RARE)
    return odds / (1 + odds)


def success_at_most(statement: PrivacyStatement) -> float:
    """The greatest probability of guessing right on an even bet, over all that the noise may do.

    The smaller of (e^epsilon + delta) / (1 + e^epsilon) (Kairouz, Oh and Viswanath 2015) and, from the events,
    Phi(mu / 2) (Dong, Roth and Su 2022) and half of the failure probabilities.
    """
    if math.isinf(statement.epsilon):
        return 1.0
    even = 1 - (1 - statement.delta) / (1 + math.exp(min(statement.epsilon, 700.0)))
    mu, failures = noise(statement)
    return float(min(even, norm.cdf(mu / 2) + failures / 2))


def noise(statement: PrivacyStatement) -> tuple[float, float]:
    """The GDP parameter mu that dominates the run's events, infinite for exact ones, and their added deltas."""
    spent = cost(statement.events)
    return math.sqrt(spent.mu_squared), spent.delta


def detected_at_most(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """The largest share of units inside that a test finds, at each rate of `false_alarms` (docs/privacy.md, 4.1).

    The smaller of `epsilon_curve` and `gaussian_curve`: both hold.
    """
    return np.minimum(epsilon_curve(false_alarms, statement), gaussian_curve(false_alarms, statement))


def epsilon_curve(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """What (epsilon, delta) alone allows, as `detected_at_most` (Kairouz, Oh and Viswanath 2015, Theorem 2.4)."""
    if math.isinf(statement.epsilon):
        return np.ones_like(false_alarms)
    grown = math.exp(min(statement.epsilon, 700.0))
    few = grown * false_alarms + statement.delta
    many = 1 - (1 - false_alarms - statement.delta) / grown
    return np.asarray(np.clip(np.minimum(few, many), false_alarms, 1.0))


def gaussian_curve(false_alarms: NDArray[np.float64], statement: PrivacyStatement) -> NDArray[np.float64]:
    """What the run's Gaussian noise allows, as `detected_at_most`: Phi(Phi^-1(rate) + mu), and the deltas.

    Dong, Roth and Su 2022, section 2.2; pure events count by the Gaussian that dominates them.
    """
    mu, failures = noise(statement)
    if math.isinf(mu):
        return np.ones_like(false_alarms)
    return np.asarray(np.minimum(norm.cdf(norm.ppf(false_alarms) + mu) + failures, 1.0))


def together(statements: Sequence[PrivacyStatement]) -> tuple[float, float]:
    """(epsilon, delta) of what several sound runs on the same units spent, at the sum of their deltas.

    What was spent is not what is guaranteed (docs/privacy.md, rule 7): that is the dataset's grant.
    """
    spent = sum((cost(statement.events) for statement in statements), NOTHING)
    delta = math.fsum(statement.delta for statement in statements)
    return gaussian_epsilon(math.sqrt(spent.mu_squared), delta - spent.delta), delta


def stage_shares(events: tuple[Event, ...]) -> list[StageShare]:
    """Each stage's share of mu^2, in the order of asking; empty if the events have no finite sum."""
    total = cost(events).mu_squared
    if not 0 < total < math.inf:
        return []
    stages = list(dict.fromkeys(base_of(event.stage) for event in events))
    return [_share(stage, [event for event in events if base_of(event.stage) == stage], total) for stage in stages]


def _share(stage: str, events: list[Event], total: float) -> StageShare:
    asked = [event for event in events if event.stage == stage]
    clips = [event for event in events if event.stage != stage]
    return StageShare(
        stage=stage,
        questions=cost(asked).mu_squared / total,
        clip=cost(clips).mu_squared / total,
        count=sum(event.count for event in asked),
        multiplier=asked[0].noise_multiplier if asked else None,
    )
