"""Plan a run's budget: divide mu^2 into shares and calibrate a frozen list of events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dplda.budget.accountant import FAILURE_SHARE, gaussian_budget, run_epsilon
from dplda.budget.events import EXACT, GAUSSIAN, GAUSSIAN_THRESHOLD, Event, Stage, is_clip

_ROUNDING = 1e-4  # mu is reduced by this share, because accountants round the privacy losses of every event up
# Largest number of queries that may fail: each takes a tenth of the delta for failures, and rounding needs the rest.
_MOST_FAILURES = 9


@dataclass(frozen=True)
class Share:
    """A stage's share of the run's mu^2: `weight` / the sum of all weights, split evenly over `count` queries.

    `may_fail` says that later guarantees hold only with probability 1 - delta_fail, as after a test (docs/privacy.md,
    T4). A stage that selects words always counts as one that may fail (T7).
    """

    stage: str
    weight: float
    count: int = 1
    selects_words: bool = False
    may_fail: bool = False

    @property
    def n_may_fail(self) -> int:
        """The number of the stage's queries that have a failure probability."""
        return self.count if self.selects_words or self.may_fail else 0


def failure_of_query(delta: float) -> float:
    """The failure probability of each query that may fail, in a run at `delta`."""
    return 0.1 * FAILURE_SHARE * delta


@lru_cache(maxsize=64)
def calibrate(shares: tuple[Share, ...], epsilon: float, delta: float) -> tuple[Event, ...]:
    """Events, one per query, whose composition meets (epsilon, delta); all fixed before any data are read.

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
    """One exact event per query of `shares`, for a run without noise.

    Such a run needs no events for clipping norms, nor for the ``vote total``, the sum by which the units' votes for
    words are divided to give document frequencies (`Curator.choose_words`).
    """
    return tuple(
        Event(stage=share.stage, mechanism=EXACT)
        for share in shares
        if not is_clip(share.stage) and share.stage != Stage.VOTE_TOTAL
        for _ in range(share.count)
    )
