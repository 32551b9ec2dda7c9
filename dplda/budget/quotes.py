"""What planned runs would cost, before anything is reserved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dplda.budget import accountant
from dplda.budget.accountant import Cost
from dplda.budget.ledger_records import DatasetRecord, Guarantee, finite, share_of


@dataclass(frozen=True, kw_only=True)
class Quote:
    """The cost that planned runs would charge to the filter of `dataset` as it stands."""

    dataset: DatasetRecord
    cost: Cost
    """The sum over all planned runs."""

    @property
    def share(self) -> float:
        """The share that `cost` takes of what all linked grants allow together; for the screen only; 0 if unbounded."""
        return share_of(self.cost, self.dataset.capacity)

    @property
    def share_of_mu_squared(self) -> float:
        """The share without failure probabilities: less than `share` if these, and so delta, limit such runs."""
        return share_of(replace(self.cost, delta=0.0), self.dataset.capacity)

    @property
    def broken(self) -> Guarantee | None:
        """The guarantee fixed beforehand that these runs would end, because the grant was raised later; else None."""
        fixed = self.dataset.guaranteed
        limit = accountant.capacity(*fixed.largest_total) if fixed.holds else self.dataset.capacity
        return fixed if fixed.holds and not (self.dataset.counted + self.cost).fits(limit) else None

    @property
    def left(self) -> float:
        """The share of what all linked grants allow together that is left; for the screen only; 1 if unbounded."""
        return max(0.0, 1.0 - share_of(self.dataset.counted, self.dataset.capacity))

    @property
    def more(self) -> int | None:
        """How many runs of this cost fit the filters; None if unlimited."""
        return replace(self.dataset, run_cost=self.cost).more_runs

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; an infinite cost is null.

        What is left is omitted: it depends on which datasets share documents (docs/privacy.md, rule 4).
        """
        share = share_of(self.cost, self.dataset.grant.capacity)
        return {"dataset": self.dataset.name, "mu_squared": finite(self.cost.mu_squared), "share": share}
