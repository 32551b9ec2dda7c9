"""Whether a run may be reserved: one filter for each dataset, unit and adjacency.

Runs whose parameters depend on earlier outputs are admitted while their summed cost stays within the
capacity that the grant fixed (docs/privacy.md, section 4.3). Datasets whose fingerprints are equal or overlap share
documents: they are charged together, and the total must fit the grant of each, so that an overlap only ever adds
charges. Everything here is arithmetic on what was read within the caller's transaction.
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dplda.errors import BudgetRefused
from dplda.ledger.records import Grant, RunRecord
from dplda.privacy import accountant
from dplda.privacy.accountant import NOTHING, Cost

FIRST_GRANT = Grant()


@dataclass(frozen=True, kw_only=True)
class Book:
    """All runs and grants of a ledger at one moment; `grants` holds each dataset's, oldest first.

    `overlaps` are the pairs of fingerprints of corpora that share documents.
    """

    runs: Sequence[RunRecord]
    grants: Mapping[str, Sequence[Grant]]
    overlaps: frozenset[tuple[str, str]] = frozenset()

    def grant(self, dataset: str) -> Grant:
        """The grant in force."""
        return (FIRST_GRANT, *self.grants.get(dataset, ()))[-1]

    def linked(self, dataset: str) -> tuple[str, ...]:
        """The datasets connected to `dataset` through documents that runs share, itself included, sorted.

        Runs that took nothing from a filter connect nothing.
        """
        runs = [run for run in self.runs if run.counts and run.fingerprint]
        names = {dataset}
        while True:
            fingerprints = self._shared({run.fingerprint for run in runs if run.dataset in names})
            wider = names | {run.dataset for run in runs if run.fingerprint in fingerprints}
            if wider == names:
                return tuple(sorted(names))
            names = wider

    def holders(self, fingerprints: Iterable[str]) -> set[str]:
        """The datasets of runs that count on documents of these `fingerprints`, and those linked to them."""
        known = set(fingerprints)
        runs = [run for run in self.runs if run.counts and run.fingerprint in known]
        return {name for run in runs for name in self.linked(run.dataset)}

    def _shared(self, fingerprints: set[str | None]) -> set[str | None]:
        """`fingerprints` and those of corpora that share documents with theirs."""
        pairs = [pair for pair in self.overlaps if not fingerprints.isdisjoint(pair)]
        return fingerprints.union(*pairs)

    def charged(self, datasets: Sequence[str]) -> list[RunRecord]:
        """The runs of `datasets` that took something from a filter, oldest first."""
        return [run for run in self.runs if run.dataset in datasets and run.counts]

    def guaranteed(self, dataset: str) -> Grant:
        """The largest grant since the first output on these documents, in each of epsilon and delta."""
        grants = [FIRST_GRANT, *self.grants.get(dataset, ())]
        runs = self.charged(self.linked(dataset))
        first = runs[0].number if runs else math.inf
        replaced = [old for old, new in itertools.pairwise(grants) if new.after_run >= first]
        later = [*replaced, grants[-1]]
        if len(later) == 1:
            return later[0]
        return Grant(epsilon=max(g.epsilon for g in later), delta=max(g.delta for g in later))


def total(runs: Sequence[RunRecord]) -> Cost:
    """The summed cost of `runs`."""
    return sum((run.cost for run in runs), NOTHING)


def admit(book: Book, run: RunRecord, runs: int = 1) -> None:
    """Raise `BudgetRefused`, saying what to do next, unless `run` fits all filters it would be charged to.

    `run` may stand for several `runs` at once, with the events of all of them.
    """
    others = [other for other in book.runs if other.id != run.id]
    linked = replace(book, runs=[*others, run]).linked(run.dataset)
    earlier = replace(book, runs=others).charged(linked)
    if not all(book.grant(name).unbounded for name in linked):
        _check_pair(earlier, run)
    for name in _own_first(linked, run.dataset):
        _check_budget(name, book.grant(name), total(earlier), run, runs)


def admit_public(book: Book, dataset: str, fingerprints: Iterable[str]) -> None:
    """Raise `BudgetRefused` if documents declared public have a bounded budget, under their name or another.

    They have it by the name `dataset`, or by a run that counts on documents of one of `fingerprints`, those of corpora
    that share documents with them; a dataset that has neither runs nor grants is free.
    """
    declared = {*book.grants, *(run.dataset for run in book.runs)}
    own = book.linked(dataset) if dataset in declared else ()
    for name in _own_first({*own, *book.holders(fingerprints)}, dataset):
        if not book.grant(name).unbounded:
            raise BudgetRefused(
                f"Dataset {_holding(name, dataset)} has a bounded budget ({book.grant(name)}), and what is declared "
                "public is looked at without any. If its documents are public: "
                f"dplda budget grant {shlex.quote(name)} --unbounded"
            )


def _own_first(names: Iterable[str], dataset: str) -> list[str]:
    return sorted(names, key=lambda name: (name != dataset, name))


def _check_pair(earlier: Sequence[RunRecord], run: RunRecord) -> None:
    for other in earlier:
        if (other.unit, other.adjacency) != (run.unit, run.adjacency):
            raise BudgetRefused(
                f"Dataset {_holding(other.dataset, run.dataset)} is fixed to unit {other.unit!r} and adjacency "
                f"{other.adjacency!r} by an earlier run, got unit {run.unit!r} and adjacency "
                f"{run.adjacency!r}: budgets of different units or adjacencies cannot be added. "
                "Ask with the unit and adjacency it is fixed to; they are decided by a dataset's first run."
            )


def _check_budget(name: str, grant: Grant, spent: Cost, run: RunRecord, runs: int) -> None:
    if (spent + run.cost).fits(grant.capacity):
        return
    command = f"dplda budget grant {shlex.quote(name)}"
    if math.isinf(run.cost.mu_squared):
        raise BudgetRefused(
            "A run that is not private, or not proven private, needs an unbounded grant, and dataset "
            f"{_holding(name, run.dataset)} has {grant}. If its documents are public or synthetic: "
            f"{command} --unbounded"
        )
    asked = f"this run: asked for epsilon {run.epsilon:g} at delta {run.delta:g}, which takes"
    if runs > 1:
        asked = f"these {runs} runs: at delta {run.delta:g} they take, in all,"
    raise BudgetRefused(
        f"Dataset {_holding(name, run.dataset)} cannot pay for {asked} epsilon {_taken(run):g}; "
        f"left is {_left(grant, spent, run)} "
        f"(the grant is {grant}). Ask for less, or: {command} --epsilon E --delta D"
    )


def _holding(name: str, dataset: str) -> str:
    return repr(name) if name == dataset else f"{name!r}, which shares documents with {dataset!r},"


def _taken(run: RunRecord) -> float:
    """What the run's noise takes from the filter, as an epsilon at its delta, rounded up."""
    delta = run.delta * (1 - accountant.FAILURE_SHARE)
    return math.ceil(1000 * accountant.gaussian_epsilon(math.sqrt(run.cost.mu_squared), delta)) / 1000


def _left(grant: Grant, spent: Cost, run: RunRecord) -> str:
    """What a run at the same delta could still ask for, rounded down."""
    left = max(0.0, grant.capacity.mu_squared - spent.mu_squared)
    delta = run.delta * (1 - accountant.FAILURE_SHARE)
    epsilon = math.floor(1000 * accountant.gaussian_epsilon(math.sqrt(left), delta)) / 1000
    if spent.delta + run.cost.delta <= grant.capacity.delta:
        return f"epsilon {epsilon:g} at delta {run.delta:g}"
    failure = max(0.0, grant.capacity.delta - spent.delta)
    asked = f"{failure:.2g} (asked {run.cost.delta:.2g})"
    return f"epsilon {epsilon:g} at delta {run.delta:g}, with failure probability {asked}"
