"""Frozen records of the ledger's rows, with what runs cost and what a dataset's grants guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from dplda.accounting import accountant
from dplda.accounting.accountant import NOTHING, Cost
from dplda.accounting.events import Event, at_least
from dplda.config import DEFAULT_GRANT

RESERVED = "reserved"
DONE = "done"
REFUSED = "refused"
UNSUPPORTED = "unsupported"
ENDED = (DONE, REFUSED, "failed", UNSUPPORTED, "cancelled")
ABANDONED = ENDED[2:]
INCOMPLETE = "incomplete"  # what a run whose end may show documents is called where it may be shared

# What the guarantee of a dataset rests on (docs/privacy.md, rule 17).
FIXED = "fixed beforehand"
LISTED = "listed beforehand"
AFTER_LOOKING = "chosen after looking"
NO_LIMIT = "no limit"
BASES = (FIXED, LISTED, AFTER_LOOKING, NO_LIMIT)  # from what holds best to what does not

_capacity = lru_cache(maxsize=256)(accountant.capacity)


@dataclass(frozen=True, kw_only=True)
class PlannedEvent:
    """One planned event of a run, and whether it was charged."""

    event: Event
    charged: bool

    @property
    def status(self) -> str:
        """``planned`` or ``charged``."""
        return "charged" if self.charged else "planned"


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run. `epsilon` (nats) and `delta` are those requested; `cost` is its charge to the filter.

    While `status` is ``reserved`` the whole plan counts, also if the process died; once ended, only what was
    charged. A run that is not sound costs infinitely much unless it ended without an answer.
    `created`, `seconds` (stage -> seconds), `fingerprint` and `grouping` are private by-products: not for sharing.
    """

    id: str
    number: int
    dataset: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    sound: bool
    status: str
    reason: str
    parameters: Mapping[str, Any]
    seconds: Mapping[str, float]
    model: str | None
    fingerprint: str | None
    created: datetime
    plan: tuple[PlannedEvent, ...]
    grouping: str | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """Every planned event, in order."""
        return tuple(planned.event for planned in self.plan)

    @property
    def counted(self) -> tuple[Event, ...]:
        """The events that count as spent."""
        return tuple(p.event for p in self.plan if p.charged or self.status == RESERVED)

    @cached_property
    def cost(self) -> Cost:
        """What the run takes from its dataset's filter."""
        if not self.sound and (self.counted or self.status in (RESERVED, DONE)):
            return Cost(math.inf, accountant.cost(self.counted).delta)
        return accountant.cost(self.counted)

    @property
    def is_charged(self) -> bool:
        """Whether the run takes anything from the filter; one that does not is as if it never was."""
        return self.cost != NOTHING

    @property
    def released(self) -> bool:
        """Whether how the run ended depends on released numbers alone."""
        return self.status in (DONE, UNSUPPORTED)

    @property
    def described(self) -> str:
        """The status in words."""
        if self.status == RESERVED:
            return "started and never finished: counted as wholly spent"
        return f"{self.status}: {self.reason}" if self.reason else self.status

    def to_json(self) -> dict[str, Any]:
        """Plain JSON that may be shared; an infinite cost is null.

        A run that is not `released` may have ended as it did because of what the documents say, or because they are
        linked to others. All that is told of it is its plan, at the cost of the whole plan.
        """
        released = self.released
        cost = self.cost if released else replace(self, status=RESERVED).cost
        return {
            **{name: getattr(self, name) for name in ("id", "dataset", "unit", "adjacency", "epsilon", "delta")},
            "sound": self.sound,
            "status": self.status if released else INCOMPLETE,
            "reason": self.reason if released else "",
            "parameters": dict(self.parameters),
            "mu_squared": finite(cost.mu_squared),
            "events": [
                {**planned.event.to_json(), "status": planned.status if released else "planned"}
                for planned in self.plan
            ],
        }

    def local_json(self) -> dict[str, Any]:
        """How the run ended and what it took, exactly: for the person who keeps the ledger, not for sharing."""
        return {
            "status": self.status,
            "reason": self.reason,
            "mu_squared": finite(self.cost.mu_squared),
            "model": self.model,
            "charged": [planned.charged for planned in self.plan],
        }


@dataclass(frozen=True, kw_only=True)
class Grant:
    """A dataset's total budget: `epsilon` (nats, infinite if unbounded) at `delta`.

    `listed` are the epsilons, rising, to which it may be raised later, at the same delta each. `after_run`
    is the number of the latest run of the ledger when it was granted, `created` when; the grant every dataset starts
    with has 0 and None.
    """

    epsilon: float = DEFAULT_GRANT[0]
    delta: float = DEFAULT_GRANT[1]
    after_run: int = 0
    created: datetime | None = None
    listed: tuple[float, ...] = ()

    @property
    def levels(self) -> tuple[Grant, ...]:
        """The grant and what it may be raised to."""
        return (self, *(replace(self, epsilon=epsilon, listed=()) for epsilon in self.listed))

    @property
    def unbounded(self) -> bool:
        """Whether anything may be spent."""
        return math.isinf(self.epsilon)

    @property
    def capacity(self) -> Cost:
        """The capacity of the filter."""
        return Cost(math.inf, math.inf) if self.unbounded else _capacity(self.epsilon, self.delta)

    def __str__(self) -> str:
        return "unbounded" if self.unbounded else f"epsilon {self.epsilon:g}, delta {self.delta:g}"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee for all outputs on a dataset together (docs/privacy.md, rule 17).

    `basis` is ``FIXED`` if what was spent stays within the grant that was in force before the first output; ``LISTED``
    if it stays within a level that was listed with that grant: then `delta` is the sum of the deltas of all levels up
    to it. With ``AFTER_LOOKING`` or ``NO_LIMIT`` nothing that was fixed beforehand holds, and `epsilon` is the largest
    limit since. `allows_more`: the grant in force is above all these levels, and so was chosen after looking.
    """

    epsilon: float
    delta: float
    basis: str = FIXED
    allows_more: bool = False

    @property
    def holds(self) -> bool:
        """Whether (epsilon, delta) is guaranteed."""
        return self.basis in (FIXED, LISTED)

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}"

    def described(self, grant: Grant) -> str:
        """In words, beside the `grant` in force."""
        if self.basis == NO_LIMIT:
            return "no guarantee: no limit is or was in force"
        if self.basis == AFTER_LOOKING:
            return (
                f"no guarantee fixed beforehand: more was spent, up to {self}, than any level allows that was listed "
                "before the first output. Quote what was spent, and that its limit was chosen after looking"
            )
        if str(self) == str(grant):
            return f"the guarantee is the grant's ({self})"
        level = "the level reached of those listed" if self.basis == LISTED else "the grant"
        more = (
            f"; the grant in force ({grant}) was chosen after looking: once more than epsilon {self.epsilon:g} is "
            "spent, nothing is guaranteed"
        )
        return f"the guarantee is that of {level} before the first output ({self}){more if self.allows_more else ''}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; null where nothing is guaranteed."""
        epsilon, delta = (self.epsilon, self.delta) if self.holds else (None, None)
        return {"epsilon": epsilon, "delta": delta, "basis": self.basis}


@dataclass(frozen=True, kw_only=True)
class DatasetRecord:
    """A dataset's budget. `spent` counts all runs of the datasets `linked` to it (itself included).

    `grant` is in force; `guaranteed` is what holds, `guaranteed_alone` the same by the dataset's own runs, whatever it
    is linked to: only that may be shared. `spent_epsilon` (nats) is at the grant's delta, `remaining` the share of the
    filter that is left, in [0, 1]. `unit` and `adjacency` are None until a run fixed them. Of the runs counted,
    `unfinished` have not ended, and `ungrouped`, made before schema 4, did not record how documents formed units.
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

    @property
    def spent_epsilon(self) -> float:
        """epsilon of `spent` at the grant's delta, failure probabilities taken off; infinite if unbounded."""
        return accountant.gaussian_epsilon(math.sqrt(self.spent.mu_squared), self.grant.delta - self.spent.delta)

    @property
    def remaining(self) -> float:
        """The share of the filter that is left, by whichever currency has less of it."""
        if self.grant.unbounded:
            return 1.0
        capacity = self.grant.capacity
        used = max(self.spent.mu_squared / capacity.mu_squared, self.spent.delta / capacity.delta)
        return max(0.0, 1.0 - used)

    @property
    def guarantee(self) -> str:
        """What is promised, in words: the filter's bound, not what was spent (docs/privacy.md, rules 7 and 17)."""
        return self.guaranteed.described(self.grant)

    @property
    def spent_so_far(self) -> str:
        """What was spent, in words; never to be quoted as the guarantee."""
        return f"spent so far: epsilon {at_least(self.spent_epsilon)} at delta {self.grant.delta:g}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else the sums rest on, in words: shared documents, and runs that have not ended."""
        others = ", ".join(name for name in self.linked if name != self.name)
        shared = f"shares documents with, and is charged together with (exact, not for publication): {others}"
        begun = f"started and never finished (or still running), counted as wholly spent: {', '.join(self.unfinished)}"
        unknown = (
            "how these earlier runs grouped documents into units is not recorded, so that other units would not be "
            f"refused; read the documents with the units of: {', '.join(self.ungrouped)}"
        )
        told = ((others, shared), (self.unfinished, begun), (self.ungrouped, unknown))
        return tuple(text for applies, text in told if applies)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON without fingerprints; an infinite epsilon is null.

        All but the name, the grant and the runs depends on which datasets share documents: not for sharing.
        """
        grant = {"epsilon": finite(self.grant.epsilon), "delta": self.grant.delta}
        return {
            **{name: getattr(self, name) for name in ("name", "unit", "adjacency", "guarantee", "spent_so_far")},
            "grant": {**grant, "unbounded": self.grant.unbounded},
            "listed": list(self.grant.listed),
            "guaranteed": self.guaranteed.to_json(),
            "spent": {"epsilon": finite(self.spent_epsilon), "delta": self.grant.delta},
            "remaining": self.remaining,
            "linked": list(self.linked),
            "runs": list(self.runs),
            "unfinished": list(self.unfinished),
        }


@dataclass(frozen=True, kw_only=True)
class Quote:
    """The charge of runs that are not yet reserved to the filter of `dataset`, in its present state."""

    dataset: DatasetRecord
    cost: Cost

    @property
    def share(self) -> float:
        """The share of the whole filter that `cost` is, by whichever currency it takes more of; 0 if unbounded."""
        if self.dataset.grant.unbounded:
            return 0.0
        capacity = self.dataset.grant.capacity
        return max(self.cost.mu_squared / capacity.mu_squared, self.cost.delta / capacity.delta)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; an infinite cost is null.

        Not what is left: that depends on which datasets share documents (docs/privacy.md, rule 4).
        """
        return {"dataset": self.dataset.name, "mu_squared": finite(self.cost.mu_squared), "share": self.share}

    @property
    def left(self) -> float:
        """What is left of the sum of squared GDP parameters; infinite if unbounded."""
        if self.dataset.grant.unbounded:
            return math.inf
        return max(0.0, self.dataset.grant.capacity.mu_squared - self.dataset.spent.mu_squared)


@dataclass(frozen=True, kw_only=True)
class HistoryRecord:
    """One line of a dataset's history: a grant (`grant`) or a run (`run` is its id), described in `text`."""

    created: datetime | None
    text: str
    grant: Grant | None = None
    run: str | None = None


def finite(value: float) -> float | None:
    """`value`, or None where JSON has no number for it."""
    return value if math.isfinite(value) else None
