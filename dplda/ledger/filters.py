"""Decide whether a run may be reserved: one filter for each dataset, unit and adjacency.

Runs whose parameters depend on earlier outputs are admitted while their summed cost stays within the
capacity that the grant fixed (docs/privacy.md, section 4.3). Datasets whose fingerprints are equal or overlap share
documents: they are charged together, and the total must fit the grant of each, so that an overlap only ever adds
charges. Everything here is arithmetic on what was read within the caller's transaction.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dplda.accounting import accountant
from dplda.accounting.accountant import NOTHING, Cost
from dplda.errors import BudgetRefused
from dplda.ledger.ledger_records import AFTER_LOOKING, BASES, FIXED, LISTED, NO_LIMIT, Grant, Guarantee, RunRecord

FIRST_GRANT = Grant()


@dataclass(frozen=True, kw_only=True)
class LedgerState:
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
        runs = [run for run in self.runs if run.is_charged and run.fingerprint]
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
        runs = [run for run in self.runs if run.is_charged and run.fingerprint in known]
        return {name for run in runs for name in self.linked(run.dataset)}

    def _shared(self, fingerprints: set[str | None]) -> set[str | None]:
        """`fingerprints` and those of corpora that share documents with theirs."""
        pairs = [pair for pair in self.overlaps if not fingerprints.isdisjoint(pair)]
        return fingerprints.union(*pairs)

    def charged(self, datasets: Sequence[str]) -> list[RunRecord]:
        """The runs of `datasets` that took something from a filter, oldest first."""
        return [run for run in self.runs if run.dataset in datasets and run.is_charged]

    def guaranteed(self, dataset: str, *, alone: bool = False) -> Guarantee:
        """What holds of all outputs on these documents; `alone`: of the runs of `dataset` itself, whatever it shares.

        A dataset that shares documents with others whose outputs came first is held to the largest of their limits:
        which name comes last, with which limit, may have been chosen after looking.
        """
        names = (dataset,) if alone else self.linked(dataset)
        spent = total(self.charged(names))
        first = self._first_run(dataset)
        held = [self._level(name, spent) for name in names if name == dataset or self._first_run(name) < first]
        return Guarantee(
            epsilon=max(level.epsilon for level in held),
            delta=max(level.delta for level in held),
            basis=max((level.basis for level in held), key=BASES.index),
            allows_more=not self.grant(dataset).capacity.fits(self._levels(dataset)[-1].capacity),
        )

    def granted(self, dataset: str) -> list[tuple[Grant, str]]:
        """Every grant, oldest first, with what it means for the guarantee if outputs had been released before it."""
        before, since = self._before_and_since(dataset)
        levels = [level.capacity for level in self._levels(dataset)]
        told = [(grant, "") for grant in before]
        for grant in since:
            if grant.capacity.fits(levels[0]):
                told.append((grant, ", not raised after outputs were released: the guarantee stays"))
            elif grant.capacity.fits(levels[-1]):
                told.append((grant, ", raised after outputs were released, within levels listed before the first"))
            else:
                told.append((grant, ", raised after outputs were released, to a level not listed before the first"))
        return told

    def _level(self, dataset: str, spent: Cost) -> Guarantee:
        """The least of the levels listed before the first output that `spent` fits (docs/privacy.md, rule 17)."""
        levels = self._levels(dataset)
        for place, level in enumerate(levels):
            if not level.unbounded and spent.fits(level.capacity):
                basis = LISTED if place else FIXED
                return Guarantee(epsilon=level.epsilon, delta=(place + 1) * level.delta, basis=basis)
        basis = NO_LIMIT if levels[0].unbounded or math.isinf(spent.mu_squared) else AFTER_LOOKING
        largest = max([*levels, *self._before_and_since(dataset)[1]], key=lambda grant: grant.epsilon)
        return Guarantee(epsilon=largest.epsilon, delta=largest.delta, basis=basis)

    def _levels(self, dataset: str) -> tuple[Grant, ...]:
        """The grant in force before the first run of `dataset`, and what was listed with it."""
        return self._before_and_since(dataset)[0][-1].levels

    def _first_run(self, dataset: str) -> float:
        return min((run.number for run in self.charged((dataset,))), default=math.inf)

    def _before_and_since(self, dataset: str) -> tuple[list[Grant], list[Grant]]:
        """The grants before the first run of `dataset`, and those since."""
        grants = [FIRST_GRANT, *self.grants.get(dataset, ())]
        n_before = sum(grant.after_run < self._first_run(dataset) for grant in grants)
        return grants[:n_before], grants[n_before:]


def total(runs: Sequence[RunRecord]) -> Cost:
    """The summed cost of `runs`."""
    return sum((run.cost for run in runs), NOTHING)


def admit(state: LedgerState, run: RunRecord, runs: int = 1, regrouped: Collection[str] = ()) -> None:
    """Raise `BudgetRefused`, saying what to do next, unless `run` fits all filters it would be charged to.

    `run` may stand for several `runs` at once, with the events of all of them. `regrouped` are the codes of groupings
    in which documents that it reads form other units.
    """
    others = [other for other in state.runs if other.id != run.id]
    linked = replace(state, runs=[*others, run]).linked(run.dataset)
    earlier = replace(state, runs=others).charged(linked)
    if not all(state.grant(name).unbounded for name in linked):
        _check_pair(earlier, run)
        _check_grouping(earlier, run, regrouped)
    for name in _own_first(linked, run.dataset):
        _check_budget(name, state.grant(name), total(earlier), run, runs)


def admit_public(state: LedgerState, dataset: str, fingerprints: Iterable[str]) -> None:
    """Raise `BudgetRefused` if documents declared public have a bounded budget, under their name or another.

    They have it by the name `dataset`, or by a run that counts on documents of one of `fingerprints`, those of corpora
    that share documents with them; a dataset that has neither runs nor grants is free.
    """
    declared = {*state.grants, *(run.dataset for run in state.runs)}
    own = state.linked(dataset) if dataset in declared else ()
    for name in _own_first({*own, *state.holders(fingerprints)}, dataset):
        if not state.grant(name).unbounded:
            raise BudgetRefused(
                f"Dataset {_holding(name, dataset)} has a bounded budget ({state.grant(name)}), and what is declared "
                "public is looked at without any. If its documents are public: "
                f"dplda budget grant {shlex.quote(name)} --unbounded"
            )


def _own_first(names: Iterable[str], dataset: str) -> list[str]:
    return sorted(names, key=lambda name: (name != dataset, name))


def _check_pair(earlier: Sequence[RunRecord], run: RunRecord) -> None:
    for other in earlier:
        for what, fixed, asked in (("unit", other.unit, run.unit), ("adjacency", other.adjacency, run.adjacency)):
            if fixed != asked:
                raise BudgetRefused(
                    f"Dataset {_holding(other.dataset, run.dataset)} is fixed to {what} {fixed!r} by its first run, "
                    f"and this run is for {what} {asked!r}: what they spend cannot be added. Ask for {what} {fixed!r}."
                )


def _check_grouping(earlier: Sequence[RunRecord], run: RunRecord, regrouped: Collection[str]) -> None:
    """One filter protects one partition of the documents into units (docs/privacy.md, rule 16)."""
    other = next((other for other in earlier if other.grouping in regrouped), None)
    if other is not None:
        raise BudgetRefused(
            f"Dataset {_holding(other.dataset, run.dataset)} is fixed to the way in which an earlier run ({other.id}) "
            f"grouped these documents into units ({run.unit!r}), and this run groups them otherwise: what one unit was "
            "promised then says nothing of the units now. Read the documents with the units of the earlier run."
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
        + (
            ""
            if spent == NOTHING
            else " (a level not listed before the first output guarantees nothing fixed beforehand)"
        )
    )


def _holding(name: str, dataset: str) -> str:
    return (
        repr(name)
        if name == dataset
        else f"{name!r}, which shares documents with {dataset!r} (exact, not for publication),"
    )


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
