"""What the ledger tells: frozen copies of its rows, with what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from dplda.privacy import accountant
from dplda.privacy.accountant import NOTHING, Cost
from dplda.privacy.events import Event, at_least
from dplda.settings import DEFAULT_GRANT

RESERVED = "reserved"
DONE = "done"
REFUSED = "refused"
ENDED = (DONE, REFUSED, "failed", "unsupported", "cancelled")
ABANDONED = ENDED[2:]

_capacity = lru_cache(maxsize=256)(accountant.capacity)


@dataclass(frozen=True, kw_only=True)
class PlannedEvent:
    """One planned event of a run, and whether it was asked."""

    event: Event
    asked: bool

    @property
    def status(self) -> str:
        """``planned`` or ``asked``."""
        return "asked" if self.asked else "planned"


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run. `epsilon` (nats) and `delta` are what was asked for; `cost` is what the filter counts.

    While `status` is ``reserved`` the whole plan counts, also if the process died; once ended, only what was
    asked. A run that is not sound costs infinitely much unless it ended without an answer.
    `created`, `seconds` (stage -> seconds) and `fingerprint` are private by-products: not for sharing.
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

    @property
    def events(self) -> tuple[Event, ...]:
        """Every planned event, in order."""
        return tuple(planned.event for planned in self.plan)

    @property
    def counted(self) -> tuple[Event, ...]:
        """The events that count as spent."""
        return tuple(p.event for p in self.plan if p.asked or self.status == RESERVED)

    @cached_property
    def cost(self) -> Cost:
        """What the run takes from its dataset's filter."""
        if not self.sound and (self.counted or self.status in (RESERVED, DONE)):
            return Cost(math.inf, accountant.cost(self.counted).delta)
        return accountant.cost(self.counted)

    @property
    def counts(self) -> bool:
        """Whether the run takes anything from the filter; one that does not is as if it never was."""
        return self.cost != NOTHING

    @property
    def described(self) -> str:
        """The status in words."""
        if self.status == RESERVED:
            return "started and never finished: counted as wholly spent"
        return f"{self.status}: {self.reason}" if self.reason else self.status

    def to_json(self) -> dict[str, Any]:
        """Plain JSON without the private by-products; an infinite cost is null."""
        return {
            **{name: getattr(self, name) for name in ("id", "dataset", "unit", "adjacency", "epsilon", "delta")},
            **{name: getattr(self, name) for name in ("sound", "status", "reason", "model")},
            "parameters": dict(self.parameters),
            "mu_squared": finite(self.cost.mu_squared),
            "events": [{**planned.event.to_json(), "status": planned.status} for planned in self.plan],
        }


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What a dataset may spend in total: `epsilon` (nats, infinite if unbounded) at `delta`.

    `after_run` is the number of the latest run of the ledger when it was granted, `created` when; the grant
    every dataset starts with has 0 and None.
    """

    epsilon: float = DEFAULT_GRANT[0]
    delta: float = DEFAULT_GRANT[1]
    after_run: int = 0
    created: datetime | None = None

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
class DatasetRecord:
    """A dataset's budget. `spent` counts all runs of the datasets `linked` to it (itself included).

    `grant` is in force; `guaranteed` is the largest since the first output: lowering or raising a grant
    after outputs were read does not take back what they were released under. `spent_epsilon` (nats) is at
    the grant's delta, `remaining` the share of the filter that is left, in [0, 1]. `unit` and `adjacency`
    are None until a run fixed them. `unfinished` are the runs among those counted that have not ended.
    """

    name: str
    unit: str | None
    adjacency: str | None
    grant: Grant
    guaranteed: Grant
    spent: Cost
    linked: tuple[str, ...]
    fingerprints: tuple[str, ...]
    runs: tuple[str, ...]
    unfinished: tuple[str, ...]

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
        """What is promised, in words: the filter's bound, not what was spent (docs/privacy.md, rule 7)."""
        if self.guaranteed.unbounded:
            return "no guarantee: the grant is or was unbounded after outputs were released"
        if str(self.guaranteed) == str(self.grant):
            return f"the guarantee is the grant's ({self.grant})"
        return f"the guarantee is the largest grant's since the first output ({self.guaranteed})"

    @property
    def spent_so_far(self) -> str:
        """What was spent, in words; never to be quoted as the guarantee."""
        return f"spent so far: epsilon {at_least(self.spent_epsilon)} at delta {self.grant.delta:g}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else the sums rest on, in words: shared documents, and runs that have not ended."""
        others = ", ".join(name for name in self.linked if name != self.name)
        shared = f"shares documents with, and is charged together with: {others}"
        begun = f"started and never finished (or still running), counted as wholly spent: {', '.join(self.unfinished)}"
        return (*([shared] if others else []), *([begun] if self.unfinished else []))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON without fingerprints; an infinite epsilon is null."""
        grant = {"epsilon": finite(self.grant.epsilon), "delta": self.grant.delta}
        return {
            **{name: getattr(self, name) for name in ("name", "unit", "adjacency", "guarantee", "spent_so_far")},
            "grant": {**grant, "unbounded": self.grant.unbounded},
            "spent": {"epsilon": finite(self.spent_epsilon), "delta": self.grant.delta},
            "remaining": self.remaining,
            "linked": list(self.linked),
            "runs": list(self.runs),
            "unfinished": list(self.unfinished),
        }


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What runs that are not yet reserved would take from the filter of `dataset`, which stands as it is now."""

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
