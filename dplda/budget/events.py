"""Stages of a run, frozen events that anyone can compose again, and the run's privacy statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_CEILING, Context
from enum import StrEnum
from typing import Any

_CLIP = " clip"


class Stage(StrEnum):
    """Names of the stages of a run that charge the budget. Each placement states the shares of its own stages."""

    VOCABULARY = "vocabulary"
    FREQUENCY = "frequency"
    VOTE_TOTAL = "vote total"
    SIZE = "size"
    MEAN = "mean"
    MOMENT = "moment"
    SUBSPACE = "subspace"
    CORE = "core"
    TENSOR = "tensor"
    REFINE = "refine"
    # a run with prior topics: the test of the prior, then the start from it, or the spectral start
    PRIOR_GAIN = "prior gain"
    START = "start"
    # tables of released topics: the groups that are found privately, and the shares of each group
    GROUPS = "groups"
    TABLE = "table"
    # the coherence of released topics: pairs of their words, and the number of those of each topic; what they predict
    PAIRS = "pairs"
    PAIR_TOTALS = "pair totals"
    PREDICTION = "prediction"
    # the placement config3: stability tests, then the output that they permit
    MASS = "mass"
    GAP = "gap"
    TENSOR_NORM = "tensor norm"
    DECOMPOSITION = "decomposition"
    # the placement config4: stability tests, then the output that they permit
    SIZE_LOWER_BOUND = "size lower bound"
    SPECTRUM = "spectrum"
    NORM = "norm"
    EIGENVALUE_GAP = "eigenvalue gap"
    TOPICS = "topics"


def clip_of(stage: str) -> str:
    """Return the name of the event that chooses the clipping norm of `stage`."""
    return f"{stage}{_CLIP}"


def is_clip(name: str) -> bool:
    """Whether the event `name` chooses a clipping norm."""
    return name.endswith(_CLIP)


def base_of(name: str) -> str:
    """Return the stage of the event `name`: itself, or the stage whose clipping norm it chooses."""
    return name.removesuffix(_CLIP)


GAUSSIAN = "gaussian"
GAUSSIAN_THRESHOLD = "gaussian-threshold"
PURE = "pure"
EXACT = "exact"
NOT_PRIVATE, NOT_PROVEN = "NOT PRIVATE", "NOT PROVEN PRIVATE"  # marks of runs without a proven guarantee


@dataclass(frozen=True, kw_only=True)
class Event:
    """A stage's charge for equal queries; never changed once reserved (docs/privacy.md, rule 8)."""

    stage: str
    """A `Stage`, or the choice of its clipping norm (`clip_of`)."""
    mechanism: str = GAUSSIAN
    """Decides which of the next two numbers are present: the first for ``gaussian`` and ``gaussian-threshold``, the
    second for ``pure``, and none for ``exact``, which has no noise.
    """
    noise_multiplier: float | None = None
    """The noise's standard deviation divided by the l2 sensitivity of a query, under the run's adjacency."""
    epsilon: float | None = None
    """Of one query, in nats."""
    delta: float = 0.0
    """The failure probability of one query."""
    count: int = 1
    """The number of queries."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "stage", str(self.stage))
        # Which of noise_multiplier and epsilon each mechanism has.
        needed = {GAUSSIAN: (1, 0), GAUSSIAN_THRESHOLD: (1, 0), PURE: (0, 1), EXACT: (0, 0)}
        present = (self.noise_multiplier is not None, self.epsilon is not None)
        if needed.get(self.mechanism) != present:
            raise ValueError(f"event {self.stage!r}: {self.mechanism!r} with multiplier, epsilon given: {present}")
        for value in (self.noise_multiplier, self.epsilon):
            if value is not None and not 0 < value < float("inf"):
                raise ValueError(f"event {self.stage!r}: scale must be positive and finite, got {value!r}")
        if not 0 <= self.delta < 1 or self.count < 1:
            raise ValueError(f"event {self.stage!r}: delta={self.delta!r}, count={self.count!r}")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON without absent fields."""
        return {k: v for k, v in asdict(self).items() if v is not None and (k != "delta" or v)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Event:
        """Read what `to_json` wrote."""
        return cls(**record)


def merge_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """Merge equal events into one event with their summed count, in the order of first appearance."""
    counts: dict[Event, int] = {}
    for event in events:
        one = replace(event, count=1)
        counts[one] = counts.get(one, 0) + event.count
    return tuple(replace(event, count=count) for event, count in counts.items())


def at_least(epsilon: float) -> str:
    """Write `epsilon` with four digits, rounded up, so that no text understates it."""
    shortest = repr(float(epsilon))  # 0.1, and not the binary number beside it, which is a little larger
    return f"{float(Context(prec=4, rounding=ROUND_CEILING).create_decimal(shortest)):.4g}"


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivacyStatement:
    """A run's guarantee: (epsilon, delta)-differential privacy."""

    epsilon: float
    """Of all `events` together, in nats (docs/privacy.md, section 4.2); infinite for a run that is not sound."""
    delta: float
    unit: str
    """What is protected: a document, or everything with the same value in a column."""
    adjacency: str
    """How neighbouring corpora differ in one unit, ``add-remove`` or ``replace``."""
    sound: bool
    """False for a run that is not private or not proven private."""
    events: tuple[Event, ...]
    """The events that imply the guarantee."""
    reason: str = ""
    """Why a run is not sound."""

    def __repr__(self) -> str:
        n_releases = sum(event.count for event in self.events)
        return f"PrivacyStatement({self.in_words if self.sound else self.reason}; {n_releases} releases)"

    def __str__(self) -> str:
        return "\n".join([self.in_words if self.sound else self.reason, *map(_line, self.events)])

    @property
    def warning_label(self) -> str:
        """What marks results without a proven guarantee, `NOT_PRIVATE` or `NOT_PROVEN`; empty for a sound run."""
        if self.sound:
            return ""
        return NOT_PRIVATE if self.reason.upper().startswith(NOT_PRIVATE) else NOT_PROVEN

    @property
    def in_words(self) -> str:
        """A sound run's guarantee, such as ``(epsilon 1, ...)-differentially private for one person, replaced``."""
        changed = "added or removed" if self.adjacency == "add-remove" else "replaced"
        numbers = f"(epsilon {at_least(self.epsilon)}, delta {self.delta:g})"
        return f"{numbers}-differentially private for one {self.unit}, {changed}"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; an infinite epsilon is written as null."""
        finite = self.epsilon < float("inf")
        return {
            "epsilon": self.epsilon if finite else None,
            "delta": self.delta,
            "unit": self.unit,
            "adjacency": self.adjacency,
            "sound": self.sound,
            "events": [event.to_json() for event in self.events],
            **({"reason": self.reason} if self.reason else {}),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> PrivacyStatement:
        """Read what `to_json` wrote."""
        epsilon = record["epsilon"]
        events = tuple(Event.from_json(event) for event in record["events"])
        return cls(**{**record, "epsilon": float("inf") if epsilon is None else epsilon, "events": events})


def _line(event: Event) -> str:
    """Say how often `event` is released, and with which noise."""
    noise = "" if event.noise_multiplier is None else f", noise {event.noise_multiplier:.4g} times the sensitivity"
    pure = "" if event.epsilon is None else f", epsilon {event.epsilon:g} each"
    failure = f", failure probability {event.delta:.2g} each" if event.delta else ""
    return f"  {event.stage}: {event.count} x {event.mechanism}{noise}{pure}{failure}"
