"""Frozen parameters of a fit, with ranges and units, declared and checked in one place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dplda.errors import InputError

PLACEMENTS = ("default", "config1", "config2", "config3", "config4", "tensor-power", "none")
CALIBRATIONS = ("sound", "published")
ADJACENCIES = ("add-remove", "replace")
ENGINES = ("local", "dask")
DEVICES = ("cpu", "cuda", "auto")
MINIMUM_LENGTH = 3  # tokens; shorter documents contribute zero to every statistic (docs/privacy.md, section 0)
DEFAULT_GRANT = (10.0, 1e-5)  # what a dataset may spend until `dplda budget grant` says otherwise


@dataclass(frozen=True, kw_only=True)
class Range:
    """Allowed values of one numeric parameter."""

    low: float
    high: float
    unit: str
    open_low: bool = False
    open_high: bool = False
    integer: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise `InputError` naming the parameter, its value and the allowed range."""
        kind = "a whole number" if self.integer else "a number"
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        wanted = f"{kind} in {left}{self.low:g}, {self.high:g}{right} ({self.unit})"
        good = isinstance(value, int if self.integer else (int, float)) and not isinstance(value, bool)
        if good:
            above = value > self.low if self.open_low else value >= self.low
            below = value < self.high if self.open_high else value <= self.high
            good = above and below and math.isfinite(value)
        if not good:
            raise InputError(f"{name} must be {wanted}, got {value!r}.")


RANGES: dict[str, Range] = {
    # Beyond these, privacy-loss distributions (steps of 1e-4 nats, tails of 1e-15) say nothing useful.
    "epsilon": Range(low=1e-3, high=100.0, unit="nats, total for the run"),
    "delta": Range(low=1e-12, high=0.1, unit="probability"),
    "topics": Range(low=1, high=500, unit="topics", integer=True),
    "alpha0": Range(low=1e-3, high=1000.0, unit="sum of the Dirichlet parameters"),
    "max_vocabulary": Range(low=2, high=1_000_000, unit="words", integer=True),
    "max_document_frequency": Range(low=0.0, high=1.0, unit="fraction of documents", open_low=True),
    "simulate_seed": Range(low=0, high=2**63 - 1, unit="seed", integer=True),
}


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """A user's settings for `fit`. All of them are public.

    `topics` is a number or ``"auto"`` (chosen from the noisy core alone); `alpha0` is the sum of the LDA
    prior's parameters; `simulate_seed` makes the noise reproducible and the run not private; `split` gives each edge
    of a placement of the paper its part of the budget (positive, summing to one; None: the placement's own).
    """

    topics: int | str = 20
    epsilon: float = 2.0
    delta: float = 1e-6
    placement: str = "default"
    adjacency: str = "add-remove"
    max_vocabulary: int = 2000
    max_document_frequency: float = 0.1
    alpha0: float = 1.0
    simulate_seed: int | None = None
    split: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            optional = (field.name, value) in [("topics", "auto"), ("simulate_seed", None)]
            if field.name in RANGES and not optional:
                RANGES[field.name].check(field.name, value)
        check_choice("placement", self.placement, PLACEMENTS)
        check_choice("adjacency", self.adjacency, ADJACENCIES)
        if self.split is not None:
            _check_split(self.split)
        if self.topics != "auto" and int(self.topics) > self.max_vocabulary:
            raise InputError(
                f"topics must not exceed the number of words, got topics={self.topics} with "
                f"max_vocabulary={self.max_vocabulary}. Ask for fewer topics or more words."
            )


def _check_split(split: Mapping[str, float]) -> None:
    if not isinstance(split, Mapping):
        raise InputError(f"split must give each edge its part of the budget, got {split!r}.")
    fine = all(isinstance(part, (int, float)) and 0 < part <= 1 for part in split.values())
    if not split or not fine or abs(math.fsum(split.values()) - 1) > 1e-6:
        told = ",".join(f"{edge}={part}" for edge, part in split.items())
        raise InputError(f"split must give each edge a positive part, and the parts must sum to 1, got {told!r}.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise `InputError` unless `value` is one of `choices`."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}.")
