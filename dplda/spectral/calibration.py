"""Noise for several equal questions: exact Gaussian composition, or the sum of pure epsilons.

Gaussian questions of multipliers z_j are together mu-GDP with mu^2 = sum of 1 / z_j^2, without loss (Dong, Roth and Su
2022), and mu is the exact one for (epsilon, delta) (Balle and Wang 2018). A hundredth of delta is left for the
rounding of whoever adds the events up again.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.stats import norm

from dplda.accounting.accountant import gaussian_budget
from dplda.accounting.events import PURE, Event
from dplda.errors import InputError
from dplda.settings import RANGES


@lru_cache(maxsize=64)
def total_mu(epsilon: float, delta: float) -> float:
    """The GDP parameter of (epsilon, delta); `InputError` unless both are in the ranges of a run."""
    RANGES["epsilon"].check("epsilon", epsilon)
    RANGES["delta"].check("delta", delta)
    return gaussian_budget(epsilon, delta)


def gaussian_questions(stage: str, count: int, mu: float) -> Event:
    """`count` equal Gaussian questions that are mu-GDP together."""
    return Event(stage=stage, noise_multiplier=math.sqrt(count) / mu, count=count)


def pure_questions(stage: str, count: int, mu: float) -> Event:
    """`count` equal pure questions that are mu-GDP together: each is dominated by a Gaussian (docs/privacy.md, 4.1)."""
    chance = float(norm.cdf(mu / math.sqrt(count) / 2))
    return Event(stage=stage, mechanism=PURE, epsilon=math.log(chance / (1 - chance)), count=count)


def equal_questions(stage: str, count: int, epsilon: float, delta: float) -> Event:
    """`count` equal questions that meet (epsilon, delta): Gaussian, or with delta 0 pure ones of epsilon / count."""
    if delta != 0:
        return gaussian_questions(stage, count, total_mu(epsilon, delta))
    RANGES["epsilon"].check("epsilon", epsilon)
    return Event(stage=stage, mechanism=PURE, epsilon=epsilon / count, count=count)


def checked_share(name: str, value: float) -> None:
    """`InputError` unless `value` lies in (0, 1)."""
    if not 0 < value < 1:
        raise InputError(f"{name} must be in (0, 1), got {value!r}.")
