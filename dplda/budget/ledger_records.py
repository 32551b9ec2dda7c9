"""The ledger's records of runs and datasets.

The records say what runs cost, what a dataset may still spend, and, in words, what its outputs guarantee together.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from operator import gt
from typing import Any

from dplda.base.config import ADJACENCIES, PrivacySettings
from dplda.budget import accountant
from dplda.budget.accountant import NOTHING, Cost, failure_of_query
from dplda.budget.events import Event, at_least
from dplda.budget.guarantees import Basis, Grant, Guarantee
from dplda.text.records import DOCUMENT

PLACES = "places"  # the parameter of a run that holds the codes of the files it read (`Ledger.place_codes`)
READ = "read"  # the parameter of a run that holds the code of what it read, and how (`Corpus.identity`)
_NEARLY = 0.9  # from this share of a number of runs on, the smaller number is not told beside it
_INCOMPLETE = "incomplete"  # status that is shared for a run whose final status may depend on its documents


class Status(StrEnum):
    """Statuses of a run. A run is `RESERVED` from its reservation until it ends; all other statuses are final."""

    RESERVED = "reserved"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class PlannedEvent:
    """A planned event of a run, and whether it was charged."""

    event: Event
    charged: bool = False
    """Recorded on disk before the event's result is computed."""

    @property
    def status(self) -> str:
        """``planned`` or ``charged``."""
        return "charged" if self.charged else "planned"


@dataclass(frozen=True, kw_only=True, repr=False)
class RunRecord:
    """A run, from its reservation on.

    While `status` is `RESERVED`, the whole plan counts, also if the process died; afterwards only charged events count.
    """

    id: str
    number: int
    """The run's place among all runs of the ledger, from 1."""
    dataset: str
    """The name whose budget is charged."""
    unit: str
    """What the guarantee protects: a document, or everything with the same value in a column."""
    adjacency: str
    """How neighbouring corpora differ, ``add-remove`` or ``replace``."""
    epsilon: float
    """What was requested, in nats; `cost` is the charge to the filter."""
    delta: float
    """What was requested."""
    sound: bool
    """False for a run that is not private or not proven private; its cost is infinite unless nothing was released."""
    created: datetime
    """Private by-product, not for sharing."""
    plan: tuple[PlannedEvent, ...]
    """All events that the run may charge, fixed when it was reserved."""
    status: str = Status.RESERVED
    reason: str = ""
    """Why the run ended with its status; contains no private text."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The run's public settings, as plain JSON."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Time by stage. Private by-product, not for sharing."""
    model: str | None = None
    """The path of the released model."""
    fingerprint: str | None = None
    """The code of the documents. Private by-product, not for sharing."""
    grouping: str | None = None
    """The code of the way in which the documents form units. Private by-product, not for sharing."""
    texts: str | None = None
    """The code of the texts of its documents, if there were texts. Private by-product, not for sharing."""
    batch: str | None = None
    """The documents' batch in the series `dataset`."""
    batches_seen: int = 1
    """The largest number of batches that hold one document, as far as documents show (`sketches.most_batches`).
    Private by-product, not for sharing.
    """
    id_field: str | None = None
    """The column whose ids assign documents to batches."""
    result: Mapping[str, Any] | None = None
    """What a run that makes no model released."""

    def __repr__(self) -> str:
        """Show in a line what identifies the run, without its plan."""
        kind = str(self.parameters.get("kind", "fit"))
        return f"RunRecord({self.id!r}, {kind}, epsilon {self.epsilon:g}, delta {self.delta:g}, {self.status})"

    @property
    def parallel_batch(self) -> str | None:
        """The batch, if batches are charged in parallel: documents as units, and add-remove adjacency; else None.

        A person may be in every batch. Under replacement, the old and the new document may be in different batches.
        """
        return self.batch if self.unit == DOCUMENT and self.adjacency == ADJACENCIES[0] else None

    @property
    def events(self) -> tuple[Event, ...]:
        """All planned events, in order."""
        return tuple(planned.event for planned in self.plan)

    @property
    def counted(self) -> tuple[Event, ...]:
        """The events that count as spent."""
        return tuple(p.event for p in self.plan if p.charged or self.status == Status.RESERVED)

    @cached_property
    def cost(self) -> Cost:
        """The run's charge to its dataset's filter."""
        if not self.sound and (self.counted or self.status in (Status.RESERVED, Status.DONE)):
            return Cost(math.inf, accountant.cost(self.counted).delta)
        return accountant.cost(self.counted)

    @property
    def is_charged(self) -> bool:
        """Whether the run costs anything; the filter ignores a run without cost."""
        return self.cost != NOTHING

    @property
    def released(self) -> bool:
        """Whether the run has a final status that depends on released numbers only."""
        return self.status in (Status.DONE, Status.UNSUPPORTED)

    @property
    def status_in_words(self) -> str:
        """The status in words."""
        if self.status == Status.RESERVED:
            return "started and never finished: counted as wholly spent"
        return f"{self.status}: {self.reason}" if self.reason else self.status

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON that may be shared; an infinite cost is null.

        The status and cost of a run that is not `released` may depend on the content of its documents or on their links
        to other datasets. The JSON of such a run shows its plan only, at the cost of the whole plan.
        """
        released = self.released
        cost = self.cost if released else replace(self, status=Status.RESERVED).cost
        return {
            **{name: getattr(self, name) for name in ("id", "dataset", "unit", "adjacency", "epsilon", "delta")},
            **({} if self.batch is None else {"batch": self.batch}),
            "sound": self.sound,
            "status": self.status if released else _INCOMPLETE,
            "reason": self.reason if released else "",
            "parameters": {name: value for name, value in self.parameters.items() if name not in (PLACES, READ)},
            "mu_squared": finite(cost.mu_squared),
            "events": [
                {**planned.event.to_json(), "status": planned.status if released else "planned"}
                for planned in self.plan
            ],
        }

    def local_json(self) -> dict[str, Any]:
        """Return plain JSON of the exact final status and cost, for the ledger's owner; not for sharing."""
        return {
            "status": self.status,
            "reason": self.reason,
            "mu_squared": finite(self.cost.mu_squared),
            "model": self.model,
            "charged": [planned.charged for planned in self.plan],
        }


def share_of(cost: Cost, capacity: Cost) -> float:
    """Return the larger of the shares of mu^2 and delta; 0 if the capacity is infinite, 1 if it is zero."""
    if capacity == NOTHING:
        return 1.0
    if math.isinf(capacity.mu_squared):
        return 0.0
    return max(cost.mu_squared / capacity.mu_squared, cost.delta / capacity.delta)


@dataclass(frozen=True, kw_only=True)
class DatasetRecord:
    """A dataset's budget, shared with the datasets that have documents in common with it."""

    name: str
    unit: str | None
    """None until a run fixes it."""
    adjacency: str | None
    """None until a run fixes it."""
    grant: Grant
    """The grant in force."""
    guaranteed: Guarantee
    """Covers the runs of all linked datasets; not for sharing."""
    guaranteed_alone: Guarantee
    """Covers the dataset's own runs, and follows from what may be published of them (`LedgerState.published`)."""
    spent: Cost
    """What the runs of all linked datasets spent. In a series whose batches are charged in parallel, what its dearest
    `batches_per_document` batches spent.
    """
    counted_alone: Cost = NOTHING
    """What `guaranteed_alone` counts: the dataset's own runs, those that did not end by released numbers in full."""
    counted: Cost
    """The part of `spent` to which the cost of the next run is added: all of it, except in such a series. There it is
    the most that a unit of the next run's batch has paid.
    """
    capacity: Cost
    """The least mu^2 and the least delta that the grants in force of the linked datasets allow."""
    limit: tuple[str, Grant] | None = None
    """The linked dataset whose grant in force allows the least mu^2, and that grant; None if it is this dataset."""
    run_cost: Cost | None = None
    """What the plan of the dataset's latest charged run costs; None without one."""
    linked: tuple[str, ...]
    """The datasets that share documents, this one included."""
    later: tuple[str, ...] = ()
    """Those of them whose outputs began after those of this one: nothing is guaranteed of them either, once more is
    spent than this dataset's limit.
    """
    fingerprints: tuple[str, ...]
    """The codes of the documents of its runs; not for sharing."""
    runs: tuple[str, ...]
    """The ids of its runs."""
    unfinished: tuple[str, ...]
    """The ids of charged runs that have not ended."""
    incomplete: tuple[str, ...] = ()
    """The ids of its runs that have ended, but not by released numbers (`RunRecord.released`)."""
    refused: bool = False
    """Whether its latest run was refused for what other names say of its documents."""
    batches: tuple[str, ...] = ()
    """The batches of a series."""
    batches_declared: int = 1
    """The declared largest number of batches that hold one document."""
    batches_per_document: int = 1
    """The same, or the number seen in the documents if it is larger."""
    id_field: str | None = None
    """The column whose ids assign documents to batches."""
    shared_batches: tuple[str, ...] = ()
    """The batches that share documents with another batch."""

    @property
    def parallel(self) -> bool:
        """Whether this is a series whose batches are charged in parallel."""
        return bool(self.batches) and self.unit == DOCUMENT and self.adjacency == ADJACENCIES[0]

    @property
    def more_runs(self) -> int | None:
        """How many more runs as costly as the latest one fit the filters; None if unlimited or without a run."""
        fit = self._runs_by_sum()
        return None if fit is None else math.floor(min(fit))

    def _runs_by_sum(self) -> tuple[float, float] | None:
        """Return how many more runs as costly as the latest fit by mu^2, and by failure probability; may be infinite.

        None if runs are unlimited or there is none.
        """
        cost, left, spent = self.run_cost, self.capacity, self.counted
        if cost is None or math.isinf(left.mu_squared) or math.isinf(cost.mu_squared):
            return None
        sums = [(left.mu_squared - spent.mu_squared, cost.mu_squared), (left.delta - spent.delta, cost.delta)]
        by_mu, by_delta = (max(rest, 0.0) / each if each > 0 else math.inf for rest, each in sums)
        return by_mu, by_delta

    @property
    def in_short(self) -> str:
        """What was spent of the grant, and how many more runs like the latest one fit, in plain words."""
        if math.isinf(self.capacity.mu_squared):
            return "spending has no limit"
        if self.grant.lapsed:
            return f"nothing may be spent before it is granted again: {self.grant.lapsed}"
        name, grant = self.limit or (self.name, self.grant)
        granted = f"epsilon {grant.epsilon:g} (at delta {grant.delta:g})"
        if self.limit is not None:
            granted += f", the grant of {name}, which shares documents with it (exact, not for publication)"
        spent = at_least(replace(self, grant=grant).spent_epsilon)
        if self.spent == NOTHING:
            return f"nothing spent of {granted}"
        more = f"; {self._room}" if self._room else ""
        if (kept := self._within_guarantee) is not None and more:
            fixed = f"within the guaranteed epsilon {self.guaranteed.largest_total[0]:g}"
            more = f"; {fixed}, {kept._room}, in all {self._room}"
        elif self.incomplete and (kept := self.as_reports_count) is not None and more:
            few, every = kept.more_runs or 0, self.more_runs or 0
            if few < _NEARLY * every:
                more = f"; {kept._room}, if reports are to state a total ({every:,} otherwise)"
        fit = self._runs_by_sum()
        if fit is not None and min(fit) < math.inf and fit[0] >= math.floor(min(fit)) + 1:
            more += (
                " (limited by delta, which each privately found list of words or groups costs, whatever its epsilon)"
            )
        if self.parallel:
            most = self.batches_per_document
            dearest = "batch that spent most" if most == 1 else f"{most} batches that spent most"
            return f"epsilon {spent} of {granted} spent by the {dearest}"
        return f"epsilon {spent} spent of {granted}{more}"

    @property
    def _room(self) -> str:
        """How many more runs like the latest one fit, in words; empty if unlimited or without a run."""
        runs = {None: "", 0: "no room for another run like the last", 1: "about 1 more run like the last"}
        return runs.get(self.more_runs, f"about {self.more_runs:,} more runs like the last")

    @property
    def _within_guarantee(self) -> DatasetRecord | None:
        """This record with the limit up to which a total fixed beforehand is guaranteed, if the grant allows more."""
        fixed = self.guaranteed
        if not (fixed.holds and fixed.allows_more):
            return None
        limit = accountant.capacity(*fixed.largest_total)
        least = Cost(min(limit.mu_squared, self.capacity.mu_squared), min(limit.delta, self.capacity.delta))
        return replace(self, capacity=least)

    @property
    def as_reports_count(self) -> DatasetRecord | None:
        """This record with the sum that reports count, and the total that they state as its limit.

        Reports do not count other names that share documents. None if they state no total, or that of a series.
        """
        alone = self.guaranteed_alone
        if not alone.holds or self.grant.unbounded or self.parallel:
            return None
        return replace(self, counted=self.counted_alone, capacity=accountant.capacity(*alone.largest_total))

    @property
    def largest_run_in_reports(self) -> str:
        """What the next run may have at most for reports to state a total of all runs, in words."""
        kept = self.as_reports_count or self
        return min((self, kept), key=lambda each: each._largest_epsilon(PrivacySettings.delta)).largest_run

    @property
    def spent_epsilon(self) -> float:
        """epsilon (nats) of `spent` at the grant's delta minus failure probabilities; may be infinite."""
        return accountant.gaussian_epsilon(math.sqrt(self.spent.mu_squared), self.grant.delta - self.spent.delta)

    @property
    def remaining(self) -> float:
        """The share of `capacity` that is left, in [0, 1]: of mu^2 or of failure probability, the smaller one."""
        return max(0.0, 1.0 - share_of(self.spent, self.capacity))

    @property
    def remaining_text(self) -> str:
        """The largest run that the grant still admits, in words; its epsilon is rounded down."""
        if math.isinf(self.capacity.mu_squared):
            return "spending has no limit"
        if self.capacity == NOTHING:
            return "no run is admitted"
        if self.refused:
            return "its latest run was refused after reading: such documents may spend less than this grant says"
        at_grant = ""
        if self.grant.delta != PrivacySettings.delta:
            same = self._largest_epsilon(self.grant.delta)
            at_grant = f"the same spending as epsilon {same:.4g} at the grant's delta, {self.grant.delta:g}; "
        told = f"{self.largest_run} ({at_grant}several runs spend less than the sum of their epsilons)"
        kept = self._within_guarantee
        if kept is None:
            return told
        fixed = f"within the guaranteed epsilon {self.guaranteed.largest_total[0]:g}, {kept.largest_run}"
        return f"{fixed}; beyond it nothing is guaranteed, and by the grant now in force {told}"

    @property
    def largest_run(self) -> str:
        """What the next run may have at most at the default delta of a run, in words."""
        run, delta = "a run on a new batch" if self.parallel else "one more run", PrivacySettings.delta
        condition = ""
        if self.counted.delta + failure_of_query(delta) > self.capacity.delta:
            condition = ", if its words come from a public list (--vocabulary)"
        epsilon = math.floor(1000 * self._largest_epsilon(delta)) / 1000
        return f"{run} may have up to epsilon {epsilon:g} at delta {delta:g}{condition}"

    def _largest_epsilon(self, delta: float) -> float:
        """Return the largest epsilon (nats) that the next run may have at `delta`."""
        mu = math.sqrt(max(0.0, self.capacity.mu_squared - self.counted.mu_squared))
        return accountant.gaussian_epsilon(mu, delta * (1 - accountant.FAILURE_SHARE))

    @property
    def raises(self) -> str:
        """The levels to which the grant may be raised with a guarantee, in words; empty if no larger one was listed."""
        if self.guaranteed_alone.basis == Basis.LOST:
            return ""
        larger = [f"{level:g}" for level in self.guaranteed_alone.listed if level > self.grant.epsilon]
        return (
            f"the grant may be raised later to epsilon {' or '.join(larger)}, as fixed before the first output"
            if larger
            else ""
        )

    @property
    def to_tell(self) -> str:
        """The total to tell others if larger ones were listed, in words; else empty (docs/privacy.md, section 9.5)."""
        alone = self.guaranteed_alone
        if len(alone.listed) < 2 or alone.allows_more or not (alone.holds and self.guaranteed.holds):
            return ""
        if str(alone) == str(self.grant):  # `guarantee` says so
            return ""
        epsilon, delta = alone.largest_total
        return (
            f"tell others the largest listed total from the beginning: epsilon {epsilon:g} at delta {delta:g} holds, "
            "whichever of the listed totals is reached"
        )

    @property
    def guarantee(self) -> str:
        """The guarantee in words: the filter's bound, not what was spent (docs/privacy.md, rules 7 and 17)."""
        unlimited = self.guaranteed.unlimited
        if self.guaranteed.basis == Basis.NO_LIMIT and unlimited and self.name not in unlimited:
            return (
                f"no guarantee: it shares documents with {names_of(unlimited)}, which had runs without a limit, and "
                "these are charged together with its own"
            )
        told = self._guarantee
        if self.in_reports and self.guaranteed.holds and "not for publication" not in told:
            told += " (exact, not for publication: reports state something else)"
        raised = self.guaranteed.raised
        if raised is not None:
            name, total = raised
            first = f"the largest total that was set or listed for {name} before its first output"
            if self.guaranteed.basis == Basis.AFTER_LOOKING:
                return (
                    f"no guarantee fixed beforehand, because of {name}, which shares documents with this name (exact, "
                    f"not for publication) and had outputs earlier: more was spent than epsilon {total.epsilon:g}, "
                    f"{first}. Quote what was spent, and that its limit was chosen after looking"
                )
            if self.guaranteed.holds:
                told += (
                    f"; the grant of {name}, which shares documents with this name (exact, not for publication), was "
                    f"raised after outputs: once more than epsilon {total.epsilon:g} is spent, {first}, nothing is "
                    "guaranteed"
                )
        if self.later and self.guaranteed.allows_more:
            told += f"; for {names_of(self.later)} it is the same, since documents are shared"
        if self.refused:
            told += (
                ", but not for the documents of its latest run, which was refused, if other names share them: for "
                "these, the guarantee of those names counts (exact, not for publication)"
            )
        return told

    @property
    def _guarantee(self) -> str:
        """The guarantee in words, without what depends on a grant that was raised under another name."""
        if len(self.linked) > 1 and self.guaranteed.basis == Basis.FIXED and self.in_reports:
            return (
                "the guarantee is the largest grant of the names that share documents, of those in force before the "
                f"first output: {self.guaranteed.total}"
            )
        of_other = (
            ""
            if self.limit is None
            else f"; the smaller grant of {self.limit[0]} limits the spending, too, but whoever is told so learns that "
            "the two share documents"
        )
        return self.guaranteed.in_words(self.grant) + of_other

    @property
    def in_reports(self) -> str:
        """How the guarantee that reports state differs from `guarantee`, and why; empty if it does not.

        Reports state what follows from what may be published (docs/privacy.md, section 9.5).
        """
        undeclared = self.batches_per_document > self.batches_declared  # documents are in more batches than declared
        alone, whole = self.guaranteed_alone, self.guaranteed
        stated, known = (
            "epsilon {:g} at delta {:g}".format(*each.largest_total) if each.holds else "no guarantee fixed beforehand"
            for each in (alone, whole)
        )
        if stated == known and not undeclared:
            return ""
        reasons = []
        if undeclared:
            reasons.append(
                f"a report states {stated}, which is for documents in at most {self.batches_declared} of the batches, "
                f"as declared. Documents were seen in {self.batches_per_document} (exact, not for publication), for "
                f"which it is {known}: before you publish, dplda budget grant {shlex.quote(self.name)} --epsilon E "
                f"--delta D --batches-per-document {self.batches_per_document}"
            )
        weaker = alone.holds and (not whole.holds or any(map(gt, whole.largest_total, alone.largest_total)))
        if len(self.linked) > 1 and weaker:  # other names make a guarantee weaker, and how runs ended does not
            reasons.append(
                f"a report states what is recorded under this name alone ({stated}), since which names share documents "
                f"is not for publication. With the other names it is {known}: tell its readers that, although it shows "
                "them that names share documents, or do not publish it"
            )
        quoted = "" if alone.holds else ". Quote, as it does, the guarantee of each run, and how many there were"
        return ". And ".join(reasons) or (
            f"a report states {stated}, since how incomplete runs ended is not for publication: there they count as "
            f"charged, and as outputs{quoted}"
        )

    @property
    def on_reports(self) -> tuple[str, ...]:
        """What the owner must know before a report is published, in words: `in_reports`, and what keeps a total."""
        told = [self.in_reports] if self.in_reports else []
        if self.incomplete and self.as_reports_count is not None and not self.refused:
            n = len(self.incomplete)
            stopped = "its run that was" if n == 1 else f"its {n} runs that were"
            largest = self.largest_run_in_reports
            kept = (
                "they state a total of all runs, too"
                if largest == self.largest_run
                else f"for a total there, {largest}"
            )
            within = self._within_guarantee
            if within is not None and within.largest_run != largest:
                kept += f"; within the guarantee, {within.largest_run}"
            if (alone := self.guaranteed_alone).epsilon != self.guaranteed.epsilon:
                kept += f". The total that they call reached is epsilon {alone.epsilon:g} at delta {alone.delta:g}"
            told.append(
                f"reports count in full {stopped} interrupted, refused or failed, since how a run ended is not for "
                f"publication: {kept}"
            )
        return tuple(told)

    @property
    def spent_so_far(self) -> str:
        """What was spent, in words; not a guarantee."""
        return f"spent so far: epsilon {at_least(self.spent_epsilon)} at delta {self.grant.delta:g}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on what was counted: batches, shared documents and unfinished runs."""
        remarks = []
        if self.batches:
            names = f"{self.batches[0]} to {self.batches[-1]}" if len(self.batches) > 1 else self.batches[0]
            paid = (
                self._batches_paid
                if self.parallel
                else f"a {self.unit} may be in several and pays in each, so that all batches are charged together"
            )
            remarks.append(f"a series of {_batches(len(self.batches))} ({names}): {paid}")
        if self.shared_batches:
            remarks.append(
                "some texts of these batches are in another batch, too (exact, not for publication): "
                f"{', '.join(self.shared_batches)}"
            )
        if others := ", ".join(name for name in self.linked if name != self.name):
            remarks.append(
                f"shares documents with, and is charged together with (exact, not for publication): {others}"
            )
        if self.unfinished:
            remarks.append(
                f"started and never finished (or still running), counted as wholly spent: {', '.join(self.unfinished)}"
            )
        return tuple(remarks)

    @property
    def _batches_paid(self) -> str:
        """For how many batches a document pays, and what of this rests on the owner's word."""
        if self.id_field is not None:
            return (
                "each document counts in one batch, under which its id was first charged, and pays for that one. That "
                f"ids ({self.id_field}) are unique and final rests on your word"
            )
        most, known = self.batches_per_document, ""
        if most > 1:
            seen = "as its documents show (exact, not for publication)"
            known = f", {seen if most > self.batches_declared else 'as declared'}"
        return (
            f"each document pays for {_batches(most)}, those that spent most{known}. That none is in more rests on "
            "your word: the ledger sees only what more than a few percent of the texts of a batch share with "
            "other batches"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON without fingerprints; an infinite epsilon is null.

        Not for sharing: everything but the name, the grant and the runs depends on which datasets share documents.
        """
        grant = {"epsilon": finite(self.grant.epsilon), "delta": self.grant.delta}
        return {
            **{name: getattr(self, name) for name in ("name", "unit", "adjacency", "guarantee", "spent_so_far")},
            "grant": {**grant, "unbounded": self.grant.unbounded, "lapsed": bool(self.grant.lapsed)},
            "listed": list(self.grant.listed),
            "guaranteed": self.guaranteed.to_json(),
            "recorded_under_this_name": self.guaranteed_alone.to_json(),
            "spent": {"epsilon": finite(self.spent_epsilon), "delta": self.grant.delta},
            "remaining": self.remaining,
            "more_runs": self.more_runs,
            "linked": list(self.linked),
            "batches": list(self.batches),
            "parallel": self.parallel,
            "batches_per_document": self.batches_per_document,
            "batches_declared": self.batches_declared,
            "id_field": self.id_field,
            "shared_batches": list(self.shared_batches),
            "runs": list(self.runs),
            "unfinished": list(self.unfinished),
        }


@dataclass(frozen=True, kw_only=True)
class HistoryRecord:
    """A grant or run in a dataset's history."""

    created: datetime | None
    """None for the initial grant."""
    text: str
    """What happened, in words."""
    run: str | None = None
    """The id of a run; None for a grant."""


def names_of(names: Sequence[str]) -> str:
    """List `names`, which share documents with the dataset at hand, in words."""
    return f"{' and '.join(names)} (exact, not for publication)"


def _batches(number: int) -> str:
    return "one batch" if number == 1 else f"{number} batches"


def finite(value: float) -> float | None:
    """Return `value`, or None if it is infinite, which JSON cannot express."""
    return value if math.isfinite(value) else None


def released_in_words(parameters: Mapping[str, Any]) -> str:
    """Say what a run with these `parameters` releases, such as ``tables by product of run tickets-abc``."""
    by = " and by ".join(filter(None, parameters.get("by") or ()))
    of = f" of run {parameters['of']}" if parameters.get("of") else ""
    match parameters.get("kind"):
        case "table":
            return (f"tables by {by}" if by else "shares of topics") + of
        case "count":
            most = parameters.get("documents_per_person")
            of_person = f" (up to {most} of a person in full)" if most else ""
            if by:
                return f"counts{' of documents' if most else ''}{of_person} by {by}"
            return f"counts of {'persons' if parameters.get('persons') else f'documents{of_person}'}"
        case "words":
            return f"words by {by}{of}"
        case "evaluation":
            return f"evaluation of topics{of}"
        case "plan":
            n = len(parameters["questions"])
            return f"answers to {n} question{'s' * (n != 1)}"
    return "topics"
