"""How many values of a column would be in no group of a table.

The answer is exact and not private: it is for the person who owns the documents. It names columns and no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dplda.private.store.attributes import BOOLEAN
from dplda.runs.grouping import Grouping

_MOST = 0.5  # share of misfits above which a table would say little


@dataclass(frozen=True)
class Misfits:
    """Of `n` documents, the shares by reason of those that are in no group of the attribute `name`; exact."""

    name: str
    n: int
    shares: dict[str, float]

    @property
    def most(self) -> bool:
        """Whether most of the documents are in no group."""
        return sum(self.shares.values()) > _MOST

    def __str__(self) -> str:
        told = ", ".join(f"{_percent(share)} {reason}" for reason, share in self.shares.items())
        return f"Of the first {self.n:,} records, by {self.name}: {told}."


def misfits(grouping: Grouping, values: Sequence[str | None]) -> Misfits:
    """The misfits among the `values` (n_documents,) of the column of `grouping`; None stands for no value."""
    reasons = Counter(reason for value in values if (reason := _reason(grouping, value)))
    shares = {reason: n / len(values) for reason, n in reasons.most_common()}
    return Misfits(grouping.attribute.name, len(values), shares)


def _reason(grouping: Grouping, value: str | None) -> str:
    """Why `value` is in no group; empty if it is in one, or its group may be found privately."""
    attribute = grouping.attribute
    group = None if value is None else attribute.group(value)
    if value is None:
        return "have no value"
    if group is None:
        kind = "truth value" if attribute.period == BOOLEAN else "date in ISO 8601, such as 2024-03-31"
        return f"hold no {kind}" if attribute.period else "hold a reserved name"
    return "" if grouping.groups is None or group in grouping.groups else "are in none of the listed groups"


def _percent(share: float) -> str:
    """`share` as text; only all are 100 %, and none are 0 %."""
    return "100 %" if share == 1 else f"{min(max(round(100 * share), 1), 99)} %"
