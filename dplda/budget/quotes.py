"""What planned runs would cost, before anything is reserved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from dplda.base.config import DEFAULT_GRANT, PrivacySettings
from dplda.budget import accountant
from dplda.budget.accountant import Cost
from dplda.budget.events import Event
from dplda.budget.guarantees import Grant
from dplda.budget.ledger_records import DatasetRecord, finite, names_of, share_of


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
    def warning(self) -> str:
        """What these runs would end, in words: a guarantee that was fixed beforehand, or that reports state one."""
        fixed, alone, name = self.dataset.guaranteed, self.dataset.guaranteed_alone, self.dataset.name
        about = f"Dataset {name} (exact, not for publication): "
        totals = [("its first output", name, *fixed.largest_total)]
        kept = self.dataset.as_reports_count
        stated = kept is not None and (kept.counted + self.cost).fits(kept.capacity)
        if fixed.raised is not None:
            other, level = fixed.raised
            totals.insert(
                0, (f"the first output of {other}, which shares documents with it", other, level.epsilon, level.delta)
            )
        for first, grant, epsilon, delta in totals:
            if fixed.holds and not (self.dataset.counted + self.cost).fits(accountant.capacity(epsilon, delta)):
                told = "reports say" if grant == name and not stated else "quote"
                only = f" Reports go on to state what is recorded under {name} alone: do not quote that." * stated
                also = f" For {names_of(self.dataset.later)} it is the same." if self.dataset.later else ""
                return (
                    f"{about}with this run, more is spent than epsilon {epsilon:g} at delta {delta:g}, the total that "
                    f"was fixed before {first}. The grant of {grant} was raised after outputs could be seen, so from "
                    f"this run on no total fixed beforehand is guaranteed: {told} what was spent, and that its limit "
                    f"was chosen after looking.{only}{also}"
                )
        if kept is None or stated:
            return ""
        reason = (
            "an earlier run was interrupted, or refused after it had been reserved. Its rest was returned, but how it "
            "ended is not for publication, so reports count it in full"
            if self.dataset.incomplete
            else "its grant was raised after outputs could be seen, and reports do not say which names share documents"
        )
        total = " at delta ".join(f"{each:g}" for each in alone.largest_total)
        return (
            f"{about}{reason}. With this run, that is more than epsilon {total}, and reports would state no total of "
            f"all runs. Within it, {self.dataset.largest_run_in_reports}."
        )

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


def small_delta(granted: float, setting: str) -> str:
    """Say that runs take a larger delta than `granted`, and how to `setting` it: ``--delta`` or ``delta=``."""
    usual = PrivacySettings().delta
    if granted >= usual:
        return ""
    return (
        f"Runs take delta {usual:g} of their own unless you say otherwise, and finding words or groups privately "
        f"spends some of it, so that few such runs fit: give your runs {setting}{granted:g}."
    )


def larger_delta(
    dataset: str, delta: float, plan: Iterable[Event], records: Iterable[DatasetRecord], setting: str
) -> str:
    """Say that a run whose `plan` may fail has a larger `delta` than the grant of `dataset` among `records`.

    Empty if it has not. `setting` is as in `small_delta`.
    """
    granted = next((record.grant for record in records if record.name == dataset), Grant())
    if granted.unbounded or delta <= granted.delta or not any(event.delta for event in plan):
        return ""
    return (
        f"This run has delta {delta:g}, and the grant of {dataset} has {granted.delta:g}: choices of words and groups "
        "take a part of the grant's delta in proportion to that of their run, so that few fit. "
        f"{setting}{granted.delta:g} leaves room for more runs."
    )


def fixed_by_default(dataset: str, records: Iterable[DatasetRecord]) -> str:
    """Say that the first run on `dataset` fixes the default total; '' if one of the `records` is of its grant or run.

    The sentence ends before the way to set another one.
    """
    if any(record.name == dataset and (record.grant.created is not None or record.runs) for record in records):
        return ""
    epsilon, delta = DEFAULT_GRANT
    return (
        f"No total was fixed for dataset {dataset}: from its first run on, the default is guaranteed, epsilon "
        f"{epsilon:g} at delta {delta:g}, and no other can be; if another name has its documents, that of the other "
        "name counts, too. To fix another one first:"
    )
