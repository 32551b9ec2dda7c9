"""Estimates with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

_Number = TypeVar("_Number", float, np.ndarray)


@dataclass(frozen=True)
class Estimates(Generic[_Number]):
    """Numbers, or arrays of them, with their intervals: `value`, `low` and `high`."""

    value: _Number
    low: _Number
    high: _Number

    def to_json(self) -> dict[str, float]:
        """Return a single number as plain JSON."""
        return {"value": float(self.value), "low": float(self.low), "high": float(self.high)}


def records(estimates: Estimates[np.ndarray]) -> list[dict[str, float]]:
    """Return each number of an array as plain JSON."""
    ends = zip(estimates.value, estimates.low, estimates.high, strict=True)
    return [Estimates(*each).to_json() for each in ends]


def within(value: float, half: float, least: float, most: float) -> Estimates[float]:
    """Return `value` +- `half`, all of it between `least` and `most`."""
    return Estimates(*(min(max(number, least), most) for number in (value, value - half, value + half)))


def whole_number(found: Estimates[np.ndarray], place: int | tuple[int, int]) -> str:
    """Write one of the estimates as a whole number, with its interval."""
    return f"{found.value[place]:,.0f} ({found.low[place]:,.0f} to {found.high[place]:,.0f})"
