"""The interface that an adapter implements for one ledger, so that the conformance suite can drive it.

An adapter translates calls and nothing else: what it catches, retries or remembers itself is not tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

EPSILON, DELTA = 2.0, 1e-6  # the grant of every test: nats, probability
DATASET = "notes"  # the dataset of a request that names none


class Measure(StrEnum):
    """How a ledger states the cost of one release.

    The first three describe a Gaussian mechanism of sensitivity 1 and standard deviation s.
    """

    MU_SQUARED = "mu_squared"
    """1 / s^2."""
    RHO = "rho"
    """1 / (2 s^2)."""
    NOISE_MULTIPLIER = "noise_multiplier"
    """s."""
    EPSILON = "epsilon"
    """The parameter (nats) of a pure epsilon-DP mechanism."""


class Feature(StrEnum):
    """What a ledger may have beyond one sum for one dataset."""

    UNITS = "units"
    """Requests name the privacy unit of their costs."""
    DATASETS = "datasets"
    """There are several datasets, each with a grant, and the ledger knows which documents a request is about."""
    BATCHES = "batches"
    """Requests on disjoint batches of a dataset compose in parallel."""
    GUARANTEED = "guaranteed"
    """The ledger states what all outputs guarantee together."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A planned run. An adapter ignores what belongs to a feature that its ledger does not have."""

    costs: tuple[float, ...]
    """One for each release, in the ledger's measure."""
    dataset: str = DATASET
    unit: str = "document"
    """What one change of the data adds or removes."""
    documents: range = range(1000)
    """Numbers that identify the documents that the run reads."""
    batch: str | None = None
    """The batch of the dataset that holds these documents."""


class Handle(Protocol):
    """A reserved run. Every method returns once its change is on disk, and raises if it was refused or failed."""

    def charge(self, position: int) -> None:
        """Record that release number `position` (from 0) is about to be made.

        The caller makes the release once this returns.
        """

    def finish(self) -> None:
        """End the run. Reserved releases that were not charged may be given back."""

    def abandon(self) -> None:
        """End the run after a failure. Reserved releases that were not charged may be given back."""


class BudgetLedger(Protocol):
    """A ledger, opened. It may have a method ``close()``, called before its files are changed or opened again.

    With `Feature.GUARANTEED` it has a method ``guaranteed(dataset)`` that returns the (epsilon, delta) that the ledger
    states for all outputs on the dataset together.
    """

    @property
    def measure(self) -> Measure:
        """How this ledger states the costs of a request."""

    @property
    def features(self) -> frozenset[Feature]:
        """The optional features that this ledger has."""

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """The exceptions that this ledger raises to refuse."""

    def grant(self, dataset: str, epsilon: float, delta: float) -> None:
        """Let all runs on `dataset` together spend (epsilon, delta) from now on; replaces an earlier grant."""

    def spent(self, dataset: str) -> float:
        """Return what counts as spent, open reservations included, in any unit in which a larger number is more."""

    def reserve(self, request: Request) -> Handle:
        """Set the budget of `request` aside, or refuse."""


Factory = Callable[[Path, Path], BudgetLedger]
"""Opens the ledger in a folder, or creates it there; a second folder is for what it keeps elsewhere.

A rollback restores an old copy of the first folder only. The factory is a function of a module, so that other processes
can import it.
"""


def share_of_budget(share: float, measure: Measure) -> float:
    """Return the cost, in `measure`, of a release that takes `share` of what the grant can hold.

    Shares add up exactly: a ledger that admits more than 1 in total exceeds its grant, however it computes. The squared
    parameters of Gaussian mechanisms add up, adaptively chosen or not (Dong, Roth and Su 2022, Corollary 3.3; Smith and
    Thakurta 2022, Theorem 3). The epsilons of pure mechanisms add up at delta 0.
    """
    mu_squared = share * largest_mu_squared()
    costs = {
        Measure.MU_SQUARED: mu_squared,
        Measure.RHO: mu_squared / 2,
        Measure.NOISE_MULTIPLIER: 1 / math.sqrt(mu_squared),
        Measure.EPSILON: share * EPSILON,
    }
    return costs[measure]


def delta_of(measure: Measure) -> float:
    """Return the grant's delta: 0 for pure mechanisms."""
    return 0.0 if measure == Measure.EPSILON else DELTA


def exact_delta(mu_squared: float, epsilon: float) -> float:
    """Return the least delta of a Gaussian mechanism at `epsilon` (Balle and Wang 2018, Theorem 8)."""
    mu = math.sqrt(mu_squared)
    return _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)


def largest_mu_squared() -> float:
    """Return the largest sum of squared parameters of Gaussian mechanisms that the grant allows."""
    low, high = 0.0, EPSILON
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_delta(middle, EPSILON) <= DELTA else (low, middle)
    return low


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
