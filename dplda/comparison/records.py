"""Records of a comparison: its parameters and the outcome of each cell, as plain numbers that may be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

DONE, UNSUPPORTED = "done", "unsupported"


@dataclass(frozen=True, order=True)
class Cell:
    """One run of the grid; `repeat` counts from 0."""

    placement: str
    calibration: str
    epsilon: float
    repeat: int

    def __str__(self) -> str:
        return f"{self.placement}, {self.calibration}, epsilon {self.epsilon:g}, repeat {self.repeat}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a cell.

    `status` is `DONE` or `UNSUPPORTED`, with its `message`. Of a corpus whose topics were planted `error` is the mean
    matched l1 error; of one declared public `coherence` is NPMI@10 and `diversity` the share of distinct words among
    the top tens; None where not measured. `bound` is the paper's bound on the l2 error of a topic, where it
    has one. `seconds` by stage are local. `model` is the folder of the run's model.
    """

    cell: Cell
    status: str
    run: str
    message: str = ""
    sound: bool = True
    error: float | None = None
    coherence: float | None = None
    diversity: float | None = None
    bound: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    model: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON of everything but the cell."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "cell"}

    @classmethod
    def from_json(cls, cell: Cell, record: Mapping[str, Any]) -> Outcome:
        """The inverse of `to_json`."""
        return cls(cell=cell, **record)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A grid over one corpus: its public `parameters` (topics, delta, unit, ...) and the outcomes so far.

    `kind` is ``planted``, ``public`` or ``private``.
    """

    name: str
    corpus: str
    kind: str
    parameters: Mapping[str, Any]
    outcomes: tuple[Outcome, ...] = ()

    @property
    def simulated(self) -> bool:
        """Whether the noise was drawn from a known seed, so that no run is private."""
        return self.kind != "private"
