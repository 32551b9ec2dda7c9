"""The settings of a run: frozen, in a few groups, each value and its range stated once."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, fields
from typing import Any

from dplda.base.errors import InputError

ADJACENCIES = ("add-remove", "replace")
ENGINES = ("local", "dask")
DEVICES = ("cpu", "cuda", "auto")
MINIMUM_LENGTH = 3  # minimum tokens of a document; shorter ones contribute nothing (docs/privacy.md, section 0)
DEFAULT_GRANT = (10.0, 1e-5)  # total (epsilon, delta) that a dataset may spend until `dplda budget grant` changes it


@dataclass(frozen=True, kw_only=True)
class Range:
    """Allowed values of one numeric parameter."""

    low: float
    high: float
    unit: str
    open_low: bool = False
    open_high: bool = False
    integer: bool = False

    def check(self, name: str, value: Any, other: Any = None) -> Any:
        """Return `value` as a number of Python; raise `InputError` naming the parameter, `value` and the range.

        The error also names the `other` value that is allowed, if there is one.
        """
        kind = "a whole number" if self.integer else "a number"
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        wanted = f"{kind} in {left}{self.low:g}, {self.high:g}{right} ({self.unit})"
        wanted += f" or {other!r}" if other is not None else ""
        number = plain_number(value)
        valid = isinstance(number, int if self.integer else (int, float)) and not isinstance(number, bool)
        if valid:
            above = number > self.low if self.open_low else number >= self.low
            below = number < self.high if self.open_high else number <= self.high
            valid = above and below and math.isfinite(number)
        if not valid:
            raise InputError(f"{name} must be {wanted}, got {value!r}.")
        return number


def plain_number(value: Any) -> Any:
    """Return a number of NumPy, or another number of any type, as Python's; return what is no number unchanged."""
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value


RANGES: dict[str, Range] = {
    # Outside these, privacy-loss distributions (steps of 1e-4 nats, tails of 1e-15) give no useful answer.
    "epsilon": Range(low=1e-3, high=100.0, unit="nats, total for the run"),
    "delta": Range(low=1e-12, high=0.1, unit="probability"),
    "topics": Range(low=1, high=500, unit="topics; in Python, n_topics or n_components", integer=True),
    "alpha0": Range(low=1e-3, high=1000.0, unit="sum of the Dirichlet parameters"),
    "max_vocabulary": Range(low=2, high=1_000_000, unit="words", integer=True),
    "max_document_frequency": Range(low=0.0, high=1.0, unit="fraction of documents", open_low=True),
    "simulate_seed": Range(low=0, high=2**63 - 1, unit="seed", integer=True),
}


@dataclass(frozen=True, kw_only=True)
class PrivacySettings:
    """The guarantee of a run: (`epsilon` in nats, `delta`) for one unit under `adjacency`.

    Neighbouring corpora differ by one unit: ``add-remove`` adds or removes it, ``replace`` replaces it with another
    unit. `simulate_seed` makes the noise reproducible and the run not private.
    """

    epsilon: float = 2.0
    delta: float = 1e-6
    adjacency: str = "add-remove"
    simulate_seed: int | None = None

    def __post_init__(self) -> None:
        check_ranges(self, simulate_seed=None)
        check_choice("adjacency", self.adjacency, ADJACENCIES)

    @property
    def reason(self) -> str:
        """Why a run with these settings is not private, whatever it computes; empty if noise is not simulated."""
        return "" if self.simulate_seed is None else "NOT PRIVATE: simulated noise from a known seed"


@dataclass(frozen=True, kw_only=True)
class ExecutionSettings:
    """Where passes over the documents run."""

    engine: str = "local"
    scheduler: str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_choice("engine", self.engine, ENGINES)
        check_choice("device", self.device, DEVICES)
        if self.engine == "local" and self.scheduler is not None:
            raise InputError("scheduler is for --engine dask; leave it out with --engine local.")
        if self.engine == "dask" and self.device == "cuda":
            raise InputError(
                "device cuda needs --engine local: the workers of a cluster compute on their CPUs. "
                "Choose --device cpu, or --engine local."
            )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise `InputError` unless `value` is one of `choices`."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}.")


def check_ranges(settings: Any, **allowed: Any) -> None:
    """Check every field that has a range, and make it a number of Python.

    `allowed` contains values that are valid outside the range.
    """
    for entry in fields(settings):
        value = getattr(settings, entry.name)
        if entry.name in RANGES and not (entry.name in allowed and value == allowed[entry.name]):
            object.__setattr__(
                settings, entry.name, RANGES[entry.name].check(entry.name, value, allowed.get(entry.name))
            )
