"""Records of runs, grants and datasets: what runs cost, and what a dataset's grants guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

from dplda.accounting import accountant
from dplda.accounting.accountant import NOTHING, Cost
from dplda.accounting.events import Event, at_least
from dplda.config import DEFAULT_GRANT, DEFAULTS

_INCOMPLETE = "incomplete"  # status that is shared for a run whose ending may depend on its documents
_capacity = lru_cache(maxsize=256)(accountant.capacity)


class Status(StrEnum):
    """Statuses of a run. `RESERVED` holds from its reservation until it ends; all others are endings."""

    RESERVED = "reserved"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    CANCELLED = "cancelled"


class Basis(StrEnum):
    """Why a dataset's guarantee holds or does not (docs/privacy.md, rule 17), from the strongest to none.

    `FIXED`: spending stays within the grant in force before the first output. `LISTED`: it stays within a level listed
    with that grant. `AFTER_LOOKING`: more was spent than any of these allows. `NO_LIMIT`: that grant was unbounded,
    what was spent is infinite, or a later run was admitted without a limit.
    """

    FIXED = "fixed beforehand"
    LISTED = "listed beforehand"
    AFTER_LOOKING = "chosen after looking"
    NO_LIMIT = "no limit"


@dataclass(frozen=True, kw_only=True)
class PlannedEvent:
    """A planned event of a run, and whether it was charged."""

    event: Event
    charged: bool = False

    @property
    def status(self) -> str:
        """``planned`` or ``charged``."""
        return "charged" if self.charged else "planned"


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run. `epsilon` (nats) and `delta` are those requested; `cost` is its charge to the filter.

    While `status` is `RESERVED`, the whole plan counts, also if the process died; afterwards only charged events count.
    A run that is not sound has an infinite cost unless it ended without a release. `created`, `seconds` (stage ->
    seconds), `fingerprint` and `grouping` are private by-products, not for sharing.
    """

    id: str
    number: int
    dataset: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    sound: bool
    created: datetime
    plan: tuple[PlannedEvent, ...]
    status: str = Status.RESERVED
    reason: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    model: str | None = None
    fingerprint: str | None = None
    grouping: str | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """All planned events, in order."""
        return tuple(planned.event for planned in self.plan)

    @property
    def counted(self) -> tuple[Event, ...]:
        """The events that count as spent."""
        return tuple(p.event for p in self.plan if p.charged or self.status == Status.RESERVED)

    @cached_property
    def cost(self) -> Cost:
        """The run's charge to its dataset's filter."""
        if not self.sound and (self.counted or self.status in (Status.RESERVED, Status.DONE)):
            return Cost(math.inf, accountant.cost(self.counted).delta)
        return accountant.cost(self.counted)

    @property
    def is_charged(self) -> bool:
        """Whether the run costs anything; the filter ignores a run that does not."""
        return self.cost != NOTHING

    @property
    def released(self) -> bool:
        """Whether the run's ending depends on released numbers only."""
        return self.status in (Status.DONE, Status.UNSUPPORTED)

    @property
    def described(self) -> str:
        """The status in words."""
        if self.status == Status.RESERVED:
            return "started and never finished: counted as wholly spent"
        return f"{self.status}: {self.reason}" if self.reason else self.status

    def to_json(self) -> dict[str, Any]:
        """Plain JSON that may be shared; an infinite cost is null.

        The ending of a run that is not `released` may depend on the content of its documents or on their links to other
        datasets. The JSON of such a run shows its plan only, at the cost of the whole plan.
        """
        released = self.released
        cost = self.cost if released else replace(self, status=Status.RESERVED).cost
        return {
            **{name: getattr(self, name) for name in ("id", "dataset", "unit", "adjacency", "epsilon", "delta")},
            "sound": self.sound,
            "status": self.status if released else _INCOMPLETE,
            "reason": self.reason if released else "",
            "parameters": dict(self.parameters),
            "mu_squared": _finite(cost.mu_squared),
            "events": [
                {**planned.event.to_json(), "status": planned.status if released else "planned"}
                for planned in self.plan
            ],
        }

    def local_json(self) -> dict[str, Any]:
        """The exact ending and cost of the run, for the ledger's owner; not for sharing."""
        return {
            "status": self.status,
            "reason": self.reason,
            "mu_squared": _finite(self.cost.mu_squared),
            "model": self.model,
            "charged": [planned.charged for planned in self.plan],
        }


@dataclass(frozen=True, kw_only=True)
class Grant:
    """A dataset's total budget: `epsilon` (nats, infinite if unbounded) at `delta`.

    `listed` are rising epsilons to which it may be raised later, each at the same delta. `after_run` is the number of
    the ledger's latest run when the grant was made, `created` its time; the initial grant of every dataset has 0 and
    None.
    """

    epsilon: float = DEFAULT_GRANT[0]
    delta: float = DEFAULT_GRANT[1]
    after_run: int = 0
    created: datetime | None = None
    listed: tuple[float, ...] = ()

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
        return Cost(math.inf, math.inf) if self.unbounded else _capacity(self.epsilon, self.delta)

    def __str__(self) -> str:
        return "unbounded" if self.unbounded else f"epsilon {self.epsilon:g}, delta {self.delta:g}"


def _share(cost: Cost, capacity: Cost) -> float:
    """The share of `capacity` that `cost` takes; 0 if it is infinite."""
    return 0.0 if math.isinf(capacity.mu_squared) else cost.share_of(capacity)


def least_capacity(grants: Sequence[Grant]) -> Cost:
    """What all of the `grants` allow: the least of each sum."""
    capacities = [grant.capacity for grant in grants]
    return Cost(min(c.mu_squared for c in capacities), min(c.delta for c in capacities))


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee for all outputs on a dataset together (docs/privacy.md, rule 17).

    If `basis` is `LISTED`, `delta` is the sum of the deltas of all levels up to the one reached. With `AFTER_LOOKING`
    or `NO_LIMIT` no guarantee fixed beforehand holds, and `epsilon` is the largest of the grant in force before the
    first output, its listed levels, and all later grants. `allows_more` says that the grant in force, made after
    outputs had been seen, exceeds all levels listed before them. `listed` are the rising epsilons of the grant in force
    before the dataset's first output and of the levels listed with it, each at `level_delta`.
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

    def described(self, grant: Grant) -> str:
        """The guarantee in words, given the `grant` in force."""
        if self.basis == Basis.NO_LIMIT:
            return "no guarantee: no limit is or was in force"
        if self.basis == Basis.AFTER_LOOKING:
            return (
                f"no guarantee fixed beforehand: more was spent, up to {self}, than any level allows that was listed "
                "before the first output. Quote what was spent, and that its limit was chosen after looking"
            )
        if str(self) == str(grant):
            return f"the guarantee is the grant's ({self})"
        level = "the level reached of those listed" if self.basis == Basis.LISTED else "the grant"
        beyond = f"once more than epsilon {self.epsilon:g} is spent,"
        more = ""
        if self.allows_more:
            more = f"; the grant in force ({grant}) was chosen after looking: {beyond} nothing is guaranteed"
        elif grant.epsilon > self.epsilon:
            reached = sum(level < grant.epsilon for level in self.listed)
            level_then = replace(self, epsilon=self.listed[reached], delta=(reached + 1) * self.level_delta)
            more = f"; {beyond} it is that of a level listed then ({level_then})"
        return f"the guarantee is that of {level} before the first output ({self}){more}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; null where nothing is guaranteed."""
        epsilon, delta = (self.epsilon, self.delta) if self.holds else (None, None)
        return {"epsilon": epsilon, "delta": delta, "basis": self.basis}


@dataclass(frozen=True, kw_only=True)
class DatasetRecord:
    """A dataset's budget. `spent` counts all runs of the datasets `linked` to it (itself included).

    `grant` is the grant in force. `guaranteed` covers the runs of all linked datasets. `guaranteed_alone` covers the
    dataset's own runs; only this one may be shared. `unit` and `adjacency` are None until a run fixes them. Of the
    counted runs, `unfinished` have not ended, and `ungrouped` precede schema 4 and did not record their grouping.
    `run_cost` is what the plan of the dataset's latest charged run costs (None without one), and `capacity` what all
    linked datasets' grants in force allow together, which is the least of each sum.
    """

    name: str
    unit: str | None
    adjacency: str | None
    grant: Grant
    guaranteed: Guarantee
    guaranteed_alone: Guarantee
    spent: Cost
    linked: tuple[str, ...]
    fingerprints: tuple[str, ...]
    runs: tuple[str, ...]
    unfinished: tuple[str, ...]
    ungrouped: tuple[str, ...]
    capacity: Cost
    run_cost: Cost | None = None

    @property
    def more_runs(self) -> int | None:
        """How many more runs of the cost of the latest one fit the filters; None if unlimited or without a run."""
        cost, left = self.run_cost, self.capacity
        if cost is None or math.isinf(left.mu_squared) or math.isinf(cost.mu_squared):
            return None
        sums = [(left.mu_squared - self.spent.mu_squared, cost.mu_squared), (left.delta - self.spent.delta, cost.delta)]
        return max(0, min(math.floor(max(rest, 0.0) / each) for rest, each in sums if each > 0))

    @property
    def in_short(self) -> str:
        """What was spent of the grant, and how many more runs like the latest one fit, in plain words."""
        if self.grant.unbounded:
            return "spending has no limit"
        granted = f"epsilon {self.grant.epsilon:g} (at delta {self.grant.delta:g})"
        if self.spent == NOTHING:
            return f"nothing spent of {granted}"
        runs = {None: "", 0: "; no room for another run like the last", 1: "; about 1 more run like the last"}
        more = runs.get(self.more_runs, f"; about {self.more_runs:,} more runs like the last")
        return f"epsilon {at_least(self.spent_epsilon)} spent of {granted}{more}"

    @property
    def spent_epsilon(self) -> float:
        """epsilon (nats) of `spent` at the grant's delta minus failure probabilities; may be infinite."""
        return accountant.gaussian_epsilon(math.sqrt(self.spent.mu_squared), self.grant.delta - self.spent.delta)

    @property
    def remaining(self) -> float:
        """The share of `capacity` that is left, in [0, 1]: of mu^2 or of failure probability, the smaller one."""
        return max(0.0, 1.0 - _share(self.spent, self.capacity))

    @property
    def remaining_text(self) -> str:
        """The largest run that the grant still admits, in words; its epsilon is rounded down."""
        if math.isinf(self.capacity.mu_squared):
            return "spending has no limit"
        delta, left = DEFAULTS.privacy.delta, max(0.0, self.capacity.mu_squared - self.spent.mu_squared)
        epsilon = accountant.gaussian_epsilon(math.sqrt(left), delta * (1 - accountant.FAILURE_SHARE))
        failure = max(0.0, self.capacity.delta - self.spent.delta)
        scarce = ""
        if failure < accountant.FAILURE_SHARE * delta:
            scarce = f", if it chooses words with failure probability {failure:.2g} or less"
        return (
            f"one more run may have up to epsilon {math.floor(1000 * epsilon) / 1000:g} at delta {delta:g}{scarce} "
            "(several runs spend less than the sum of their epsilons)"
        )

    @property
    def raises(self) -> str:
        """To what the grant may be raised with a guarantee, in words; empty if no larger level was listed."""
        larger = [f"{level:g}" for level in self.guaranteed_alone.listed if level > self.grant.epsilon]
        return f"the grant may be raised later to epsilon {' or '.join(larger)}, as listed" if larger else ""

    @property
    def guarantee(self) -> str:
        """The guarantee in words: the filter's bound, not what was spent (docs/privacy.md, rules 7 and 17)."""
        return self.guaranteed.described(self.grant)

    @property
    def spent_so_far(self) -> str:
        """What was spent, in words; not a guarantee."""
        return f"spent so far: epsilon {at_least(self.spent_epsilon)} at delta {self.grant.delta:g}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on what was counted: shared documents, unfinished runs, and runs with unknown units."""
        others = ", ".join(name for name in self.linked if name != self.name)
        shared = f"shares documents with, and is charged together with (exact, not for publication): {others}"
        unfinished = (
            f"started and never finished (or still running), counted as wholly spent: {', '.join(self.unfinished)}"
        )
        ungrouped = (
            "how these earlier runs grouped documents into units is not recorded, so that other units would not be "
            f"refused; read the documents with the units of: {', '.join(self.ungrouped)}"
        )
        remarks = ((others, shared), (self.unfinished, unfinished), (self.ungrouped, ungrouped))
        return tuple(text for applies, text in remarks if applies)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON without fingerprints; an infinite epsilon is null.

        Not for sharing: all but the name, the grant and the runs depends on which datasets share documents.
        """
        grant = {"epsilon": _finite(self.grant.epsilon), "delta": self.grant.delta}
        return {
            **{name: getattr(self, name) for name in ("name", "unit", "adjacency", "guarantee", "spent_so_far")},
            "grant": {**grant, "unbounded": self.grant.unbounded},
            "listed": list(self.grant.listed),
            "guaranteed": self.guaranteed.to_json(),
            "spent": {"epsilon": _finite(self.spent_epsilon), "delta": self.grant.delta},
            "remaining": self.remaining,
            "more_runs": self.more_runs,
            "linked": list(self.linked),
            "runs": list(self.runs),
            "unfinished": list(self.unfinished),
        }


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What planned runs would charge to the filter of `dataset` as it stands."""

    dataset: DatasetRecord
    cost: Cost

    @property
    def share(self) -> float:
        """The share of what all linked grants allow together that `cost` takes, for the screen only; 0 if unbounded."""
        return _share(self.cost, self.dataset.capacity)

    @property
    def more(self) -> int | None:
        """How many runs of this cost fit the filters; None if unlimited."""
        return replace(self.dataset, run_cost=self.cost).more_runs

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; an infinite cost is null.

        What is left is omitted: it depends on which datasets share documents (docs/privacy.md, rule 4).
        """
        share = _share(self.cost, self.dataset.grant.capacity)
        return {"dataset": self.dataset.name, "mu_squared": _finite(self.cost.mu_squared), "share": share}

    @property
    def left(self) -> float:
        """The sum of squared GDP parameters that is left; infinite if unbounded."""
        return max(0.0, self.dataset.capacity.mu_squared - self.dataset.spent.mu_squared)


@dataclass(frozen=True, kw_only=True)
class HistoryRecord:
    """A grant or run in a dataset's history, described in `text`; `run` is the run's id."""

    created: datetime | None
    text: str
    run: str | None = None


def _finite(value: float) -> float | None:
    """`value`, or None if it is infinite, which JSON cannot express."""
    return value if math.isfinite(value) else None
