"""Grants: the budget that a dataset may spend, and what it guarantees for all outputs together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

from dplda.base.config import DEFAULT_GRANT
from dplda.budget import accountant
from dplda.budget.accountant import NOTHING, Cost

_capacity = lru_cache(maxsize=256)(accountant.capacity)


class Basis(StrEnum):
    """Why a dataset's guarantee holds or does not (docs/privacy.md, rule 17), from the strongest to none.

    `FIXED`: spending stays within the grant in force before the first output. `LISTED`: it stays within a level listed
    with that grant. `AFTER_LOOKING`: more was spent than that grant and its levels allow. `NO_LIMIT`: the grant in
    force before the first output was unbounded, what was spent is infinite, or a later run was admitted without a
    limit. `LOST`: an older copy of the ledger was accepted, so that what was spent is not known.
    """

    FIXED = "fixed beforehand"
    LISTED = "listed beforehand"
    AFTER_LOOKING = "chosen after looking"
    NO_LIMIT = "no limit"
    LOST = "changes lost"


@dataclass(frozen=True, kw_only=True)
class Grant:
    """A dataset's total budget: `epsilon` (nats, infinite if unbounded) at `delta`.

    `listed` are rising epsilons to which it may be raised later, each at the same delta. `after_run` is the number of
    the ledger's latest run when the grant was made, `created` its time; the initial grant of every dataset has
    `after_run` 0 and `created` None. `lapsed` says why nothing may be spent any more; it is empty while the grant is in
    force. `batches_per_document` is the declared most batches of a series in which one document is.
    """

    epsilon: float = DEFAULT_GRANT[0]
    delta: float = DEFAULT_GRANT[1]
    after_run: int = 0
    created: datetime | None = None
    listed: tuple[float, ...] = ()
    lapsed: str = ""
    batches_per_document: int = 1

    @property
    def levels(self) -> tuple[Grant, ...]:
        """The grant, followed by the listed grants."""
        return (self, *(replace(self, epsilon=epsilon, listed=()) for epsilon in self.listed))

    @property
    def unbounded(self) -> bool:
        """Whether spending has no limit."""
        return math.isinf(self.epsilon)

    @property
    def capacity(self) -> Cost:
        """The capacity of the filter."""
        if self.lapsed:
            return NOTHING
        return Cost(math.inf, math.inf) if self.unbounded else _capacity(self.epsilon, self.delta)

    def __str__(self) -> str:
        if self.lapsed:
            return "lapsed"
        return "unbounded" if self.unbounded else f"epsilon {self.epsilon:g}, delta {self.delta:g}"


def least_capacity(grants: Sequence[Grant]) -> Cost:
    """The least mu^2 and the least delta that the `grants` allow."""
    capacities = [grant.capacity for grant in grants]
    return Cost(min(c.mu_squared for c in capacities), min(c.delta for c in capacities))


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee for all outputs on a dataset together (docs/privacy.md, rule 17).

    If `basis` is `LISTED`, `delta` is the sum of the deltas of all levels up to the one reached. With `AFTER_LOOKING`
    no guarantee fixed beforehand holds, and `epsilon` is the largest of the grant in force before the first output, its
    listed levels, and all later grants; with `NO_LIMIT` and `LOST`, no number holds. `allows_more` says that the grant
    in force, made after outputs had been seen, exceeds all levels listed before them. `listed` are the rising epsilons
    of the grant in force before the dataset's first output and of the levels listed with it, each at `level_delta`.
    """

    epsilon: float
    delta: float
    basis: Basis = Basis.FIXED
    allows_more: bool = False
    listed: tuple[float, ...] = field(default=(), compare=False)
    level_delta: float = field(default=0.0, compare=False)

    @property
    def holds(self) -> bool:
        """Whether (epsilon, delta) is guaranteed."""
        return self.basis in (Basis.FIXED, Basis.LISTED)

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}"

    @property
    def largest_total(self) -> tuple[float, float]:
        """The (epsilon, delta) of the largest total listed before the first output, which no output can influence.

        Which of the listed totals the runs reach may depend on their outputs. The total that was reached therefore says
        something about the data, too. Only the bound for the largest total covers this.
        """
        if not self.listed:
            return self.epsilon, self.delta
        return max(self.epsilon, self.listed[-1]), self.level_delta

    @property
    def total(self) -> str:
        """(epsilon, delta) in words."""
        return f"epsilon {self.epsilon:g} at delta {self.delta:g}"

    def described(self, grant: Grant) -> str:
        """The guarantee in words, given the `grant` in force."""
        if self.basis == Basis.LOST:
            return "no guarantee: an older copy of the ledger was accepted, and what its lost changes spent is unknown"
        if self.basis == Basis.NO_LIMIT:
            return "no guarantee: no limit is or was in force"
        if self.basis == Basis.AFTER_LOOKING:
            return (
                f"no guarantee fixed beforehand: more was spent, up to {self}, than any level allows that was listed "
                "before the first output. Quote what was spent, and that its limit was chosen after looking"
            )
        if str(self) == str(grant):
            return f"the guarantee is the whole grant: {self.total}"
        listed, fixed = "the largest total reached, of those listed", "the grant that was in force"
        level = listed if self.basis == Basis.LISTED else fixed
        beyond = f"once more than epsilon {self.epsilon:g} is spent,"
        more = ""
        if self.allows_more:
            more = f"; the grant now in force ({grant}) was chosen after looking: {beyond} nothing is guaranteed"
        elif grant.epsilon > self.epsilon:
            reached = sum(level < grant.epsilon for level in self.listed)
            level_then = replace(self, epsilon=self.listed[reached], delta=(reached + 1) * self.level_delta)
            more = f"; {beyond} the guarantee is a larger listed total: at most {level_then.total}"
        return f"the guarantee is {level} before the first output: {self.total}{more}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; null where nothing is guaranteed."""
        epsilon, delta = (self.epsilon, self.delta) if self.holds else (None, None)
        return {"epsilon": epsilon, "delta": delta, "basis": self.basis}
