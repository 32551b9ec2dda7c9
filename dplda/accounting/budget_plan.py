"""From a total budget to a frozen list of events: shares of mu^2, calibrated by the accountant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dplda.accounting.accountant import FAILURE_SHARE, gaussian_budget, run_epsilon
from dplda.accounting.events import EXACT, GAUSSIAN, GAUSSIAN_THRESHOLD, Event, Stage, is_clip

ROUNDING = 1e-4  # share of mu kept for accountants that round the privacy losses of every event up
MOST_FAILURES = 9  # tenths of the share of delta kept for failures; ten would leave no room for rounding


@dataclass(frozen=True)
class Share:
    """A stage's share of the run's mu^2, its `weight` over the sum of all, split evenly over `count` equal questions.

    `may_fail` says whether later guarantees hold only with probability 1 - delta_fail: so for a stage that tests
    something (docs/privacy.md, T4), and always for one that selects words (T7).
    """

    stage: str
    weight: float
    count: int = 1
    selects_words: bool = False
    may_fail: bool = False

    @property
    def n_may_fail(self) -> int:
        """How many of its questions carry a failure probability."""
        return self.count if self.selects_words or self.may_fail else 0


@lru_cache(maxsize=64)
def calibrate(shares: tuple[Share, ...], epsilon: float, delta: float) -> tuple[Event, ...]:
    """Events, one per question, whose composition meets (epsilon, delta); all fixed before any data is read.

    Gaussian parameters follow mu_j^2 = weight_j mu^2 / sum of weights; the common mu starts just below its closed form
    and is lowered until the accountant agrees. Each question that can fail does so with probability a tenth of the
    share of `delta` that is kept for failures; raises `ValueError` beyond `MOST_FAILURES`.
    """
    whole = sum(share.weight for share in shares)
    failure, failing = 0.1 * FAILURE_SHARE * delta, sum(share.n_may_fail for share in shares)
    if failing > MOST_FAILURES:
        raise ValueError(f"a plan may hold at most {MOST_FAILURES} questions that can fail, got {failing}")

    def events(mu: float) -> tuple[Event, ...]:
        return tuple(
            Event(
                stage=share.stage,
                mechanism=GAUSSIAN_THRESHOLD if share.selects_words else GAUSSIAN,
                noise_multiplier=math.sqrt(share.count * whole / share.weight) / mu,
                delta=failure if share.n_may_fail else 0.0,
            )
            for share in shares
            for _ in range(share.count)
        )

    target = delta * (1 - FAILURE_SHARE) + failing * failure
    mu = gaussian_budget(epsilon, delta) * (1 - ROUNDING)
    reached = run_epsilon(events(mu), target)
    while reached > epsilon:
        mu *= epsilon / reached * (1 - ROUNDING)
        reached = run_epsilon(events(mu), target)
    return events(mu)


def exact_events(shares: tuple[Share, ...]) -> tuple[Event, ...]:
    """One exact event per question of `shares`, for a run without noise: nothing is clipped, and no vote total used."""
    return tuple(
        Event(stage=share.stage, mechanism=EXACT)
        for share in shares
        if not is_clip(share.stage) and share.stage != Stage.VOTE_TOTAL
        for _ in range(share.count)
    )
