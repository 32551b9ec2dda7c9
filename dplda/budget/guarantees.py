"""Grants, and what a dataset's grants guarantee for all outputs together (docs/privacy.md, rule 17)."""

from __future__ import annotations

import math
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
    """Why a dataset's guarantee holds or does not (docs/privacy.md, rule 17), from the strongest to none."""

    FIXED = "fixed beforehand"
    """Spending stays within the grant in force before the first output."""
    LISTED = "listed beforehand"
    """Spending stays within a level listed with that grant."""
    UNFINISHED = "runs interrupted"
    """The runs that ended stay within that grant and its levels, but not with the others, which count in full."""
    AFTER_LOOKING = "chosen after looking"
    """More was spent than that grant and its levels allow."""
    NO_LIMIT = "no limit"
    """That grant was unbounded, what was spent is infinite, or a later run was admitted without a limit."""
    LOST = "changes lost"
    """An older copy of the ledger was accepted, so that what was spent is not known."""


@dataclass(frozen=True, kw_only=True)
class Grant:
    """A dataset's total budget. The initial grant of every dataset has all defaults."""

    epsilon: float = DEFAULT_GRANT[0]
    """The total in nats; infinite if unbounded."""
    delta: float = DEFAULT_GRANT[1]
    """The total failure probability; a part of it is kept for single stages (`accountant.FAILURE_SHARE`)."""
    after_run: int = 0
    """The number of the ledger's latest run when the grant was made; 0 before the first run."""
    created: datetime | None = None
    """When it was made; None for the initial grant."""
    listed: tuple[float, ...] = ()
    """Rising epsilons to which the grant may be raised later, each at the same delta."""
    lapsed: str = ""
    """Why nothing may be spent any more; empty while the grant is in force."""
    batches_per_document: int = 1
    """The declared largest number of batches of a series that hold one document."""

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
        """The most that a filter under this grant admits."""
        if self.lapsed:
            return NOTHING
        return Cost(math.inf, math.inf) if self.unbounded else _capacity(self.epsilon, self.delta)

    def __str__(self) -> str:
        if self.lapsed:
            return "lapsed"
        return "unbounded" if self.unbounded else f"epsilon {self.epsilon:g}, delta {self.delta:g}"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee for all outputs on a dataset together (docs/privacy.md, rule 17)."""

    epsilon: float
    """In nats. With `AFTER_LOOKING` nothing fixed beforehand holds, and this is the largest epsilon of the grant in
    force before the first output, its listed levels, and all later grants. With `UNFINISHED`, it is that of the level
    that the runs that ended stay within. With `NO_LIMIT` and `LOST` no number holds.
    """
    delta: float
    """If `basis` is `LISTED`, the sum of the deltas of all levels up to the one reached."""
    basis: Basis = Basis.FIXED
    """Why the guarantee holds or does not."""
    allows_more: bool = False
    """Whether the grant in force, made after outputs had been seen, exceeds all levels listed before them."""
    listed: tuple[float, ...] = field(default=(), compare=False)
    """The rising epsilons of the grant in force before the first output and of the levels listed with it. If limits
    of several names count, only the largest of all.
    """
    level_delta: float = field(default=0.0, compare=False)
    """The delta of each of the `listed` levels; the largest if limits of several names count."""
    raised: tuple[str, Grant] | None = field(default=None, compare=False)
    """A name of the same documents, with earlier outputs, whose grant was raised after them beyond all levels listed
    before them, and the largest of these levels: once more is spent, nothing is guaranteed under either name. That
    with the smallest epsilon of several; None if there is no such name, or the dataset's own grant was exceeded.
    """
    unlimited: tuple[str, ...] = field(default=(), compare=False)
    """The names of the same documents that have runs admitted without a limit."""
    batches: int = field(default=0, compare=False)
    """The guarantee is for documents in at most so many batches of the series; 0 unless batches are charged in
    parallel.
    """

    @property
    def holds(self) -> bool:
        """Whether (epsilon, delta) is guaranteed."""
        return self.basis in (Basis.FIXED, Basis.LISTED)

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}" if self.holds else f"no guarantee ({self.basis})"

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

    def in_words(self, grant: Grant, *others: Grant) -> str:
        """Put the guarantee into words, given the `grant` in force, or the grants of several names."""
        if self.basis == Basis.LOST:
            return "no guarantee: an older copy of the ledger was accepted, and what its lost changes spent is unknown"
        if self.basis == Basis.NO_LIMIT:
            return "no guarantee: no limit is or was in force"
        if self.basis == Basis.UNFINISHED:
            return (
                f"no guarantee: the runs that ended stay within {self.total}, which was fixed before the first output, "
                "but with those that were interrupted or go on, which count in full, they may have spent more. Quote "
                "the guarantee of each run, and say how many there were"
            )
        if self.basis == Basis.AFTER_LOOKING:
            return (
                f"no guarantee fixed beforehand: more was spent, up to {self.total}, than any level allows that was "
                "listed before the first output. Quote what was spent, and that its limit was chosen after looking"
            )
        if others:
            more = "; a grant now in force was chosen after looking: further runs may end it" * self.allows_more
            largest = "each the largest set or listed for one of these names before its first output"
            return f"the guarantee is {self.total}, {largest}{more}"
        epsilon, delta = self.largest_total
        to_quote = f"so quote the largest: epsilon {epsilon:g} at delta {delta:g} holds, whichever is reached"
        if str(self) == str(grant):
            largest = f"; larger totals are listed, {to_quote}" if epsilon > self.epsilon else ""
            return f"the guarantee is the whole grant: {self.total}{largest}"
        level = "the grant that was in force"
        added = ""
        if self.basis == Basis.LISTED:
            level = "the largest total reached, of those listed"
            if self.delta > self.level_delta:
                added = f" ({self.level_delta:g} for each listed total up to it)"
        # What holds if more is spent than the guarantee allows.
        beyond = f"once more than epsilon {self.epsilon:g} is spent,"
        more = ""
        if self.allows_more:
            if epsilon > self.epsilon:
                beyond = f"once more than epsilon {epsilon:g} is spent, the largest total listed,"
            more = f"; the grant now in force ({grant}) was chosen after looking: {beyond} nothing is guaranteed"
        elif min(grant.epsilon, epsilon) > self.epsilon:
            reached = sum(level < grant.epsilon for level in self.listed[:-1])
            level_then = replace(self, epsilon=self.listed[reached], delta=(reached + 1) * self.level_delta)
            more = f"; {beyond} the guarantee is a larger listed total: at most {level_then.total}; {to_quote}"
        return f"the guarantee is {level} before the first output: {self.total}{added}{more}"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; null where nothing is guaranteed."""
        epsilon, delta = (self.epsilon, self.delta) if self.holds else (None, None)
        return {"epsilon": epsilon, "delta": delta, "basis": self.basis}
