"""Filters: decide whether a run may be reserved. There is one filter for each dataset, unit and adjacency.

The parameters of a run may depend on earlier outputs; runs are admitted while the sum of their costs stays within the
grant's capacity (docs/privacy.md, section 4.3). Overlapping datasets, whose fingerprints are equal or linked by shared
documents, are charged jointly against the grant of each. A detected overlap can only increase what counts as spent.
This module only computes on records that the caller read in its transaction.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal

from dplda.base.errors import BudgetRefused, InputError
from dplda.budget import accountant
from dplda.budget.accountant import NOTHING, Cost
from dplda.budget.events import Stage, at_least
from dplda.budget.guarantees import Basis, Grant, Guarantee
from dplda.budget.ledger_records import PLACES, RunRecord, Status
from dplda.text.reading_options import READING_FACTS
from dplda.text.records import DOCUMENT

_FIRST_GRANT = Grant()
_LISTS: Mapping[str, tuple[str, str]] = {  # releases that may fail, and what needs none of them
    Stage.VOCABULARY: ("private choice of words", "a public list of words (--vocabulary; in Python, vocabulary=)"),
    Stage.GROUPS: ("private choice of groups", "public lists of groups (--groups; in Python, groups=)"),
}


@dataclass(frozen=True, kw_only=True)
class LedgerState:
    """All runs and grants of a ledger at one moment."""

    runs: Sequence[RunRecord]
    """Oldest first."""
    grants: Mapping[str, Sequence[Grant]]
    """Each dataset's grants, with the `lapses`, oldest first. For any other dataset the lapses alone apply."""
    overlaps: frozenset[tuple[str, str]] = frozenset()
    """Pairs of fingerprints that share documents."""
    lapses: Sequence[Grant] = ()
    """A lapsed grant for each older copy of the ledger that was accepted: it ended all earlier grants."""

    def grant(self, dataset: str) -> Grant:
        """Return the latest grant of `dataset`; under a lapsed one (`Grant.lapsed`) nothing may be spent."""
        return self._grants(dataset)[-1]

    def _grants(self, dataset: str) -> list[Grant]:
        return [_FIRST_GRANT, *self.grants.get(dataset, self.lapses)]

    def linked(self, dataset: str) -> tuple[str, ...]:
        """Find all datasets linked to `dataset` by shared documents, directly or through others, with itself; sorted.

        Only documents of charged runs count.
        """
        runs = [run for run in self.runs if run.is_charged and run.fingerprint]
        names = {dataset}
        while True:
            known = {run.fingerprint for run in runs if run.dataset in names}
            fingerprints = known.union(*(pair for pair in self.overlaps if not known.isdisjoint(pair)))
            linked = names | {run.dataset for run in runs if run.fingerprint in fingerprints}
            if linked == names:
                return tuple(sorted(names))
            names = linked

    def charged(self, datasets: Sequence[str]) -> list[RunRecord]:
        """List the charged runs of `datasets`, oldest first."""
        return [run for run in self.runs if run.dataset in datasets and run.is_charged]

    def batches_declared(self, dataset: str) -> int:
        """Return the largest number of batches of the series that hold one document, as its grants declare."""
        return max(grant.batches_per_document for grant in self._grants(dataset))

    def batches_per_document(self, dataset: str) -> int:
        """Return the declared number, or the number that was seen in the documents if it is larger.

        It never falls, because grants and charged runs stay.
        """
        seen = (run.batches_seen for run in self.charged((dataset,)))
        return max(self.batches_declared(dataset), *seen, 1)

    def total(self, runs: Sequence[RunRecord], of: tuple[str, str | None] | None = None) -> Cost:
        """Return the most that one unit pays for `runs`: their summed cost, but only the dearest batches of a series.

        A document is in at most r batches of a series (`batches_per_document`), so that it pays for the r dearest
        (docs/privacy.md, T11'). The sum is taken separately for mu^2 and for the failure probability. With `of`, a
        series and one of its batches (None: a new one), it is the most that a unit of this batch pays.
        """
        whole = _sum(run for run in runs if run.parallel_batch is None)
        series: dict[str, dict[str | None, list[RunRecord]]] = {}
        for run in runs:
            if run.parallel_batch is not None:
                series.setdefault(run.dataset, {}).setdefault(run.parallel_batch, []).append(run)
        for dataset, batches in series.items():
            most = self.batches_per_document(dataset)
            if of is not None and dataset == of[0]:  # the batch `of` is one of the batches that its units pay for
                whole += _sum(batches.pop(of[1], []))
                most -= 1
            costs = [_sum(found) for found in batches.values()]
            mu_squared = sorted((cost.mu_squared for cost in costs), reverse=True)
            delta = sorted((cost.delta for cost in costs), reverse=True)
            whole += Cost(math.fsum(mu_squared[:most]), math.fsum(delta[:most]))
        return whole

    def published(self, *names: str) -> LedgerState:
        """Keep what may be published of the runs of a dataset, without other datasets that share its documents.

        Several `names` are those of the same documents, as their owner tells.

        Unless a run is released, how it ended may depend on its documents, so it counts with its whole plan. The number
        of batches that documents were seen in depends on them, too: here the declared number counts.
        """
        same = "the same documents" if len(names) > 1 else None
        runs = [replace(run, batches_seen=1, fingerprint=same) for run in self.runs if run.dataset in names]
        ended = [run if run.released else replace(run, status=Status.RESERVED) for run in runs]
        return replace(self, runs=ended, overlaps=frozenset())

    def guaranteed(self, dataset: str) -> Guarantee:
        """Return the guarantee for all outputs on the documents of `dataset`.

        If linked datasets had outputs earlier, the guarantee is the largest of their limits and its own limit: the name
        of `dataset` and its limit may have been chosen after those outputs had been seen.
        """
        names = self.linked(dataset)
        runs = self.charged(names)
        spent = self.total(runs)
        first = self._first_run(dataset)
        limiting = [name for name in names if name == dataset or self._first_run(name) < first]
        limits = [self._limit(name, spent) for name in limiting]
        exceeded = [name for name, limit in zip(limiting, limits, strict=True) if limit.basis == Basis.AFTER_LOOKING]
        basis = max((limit.basis for limit in limits), key=list(Basis).index)  # the weakest
        if basis == Basis.AFTER_LOOKING:
            finished = self.total([run for run in runs if run.status != Status.RESERVED])
            without = [self._limit(name, finished) for name in limiting]
            if all(limit.holds for limit in without):
                limits, basis = without, Basis.UNFINISHED
        unlimited = tuple(dict.fromkeys(run.dataset for run in runs if self._admitted_under(run).unbounded))
        if any(self._admitted_under(run).unbounded for run in runs[1:]):
            basis = Basis.NO_LIMIT  # such a run may have other units than the runs before it
        if self.lapses:
            basis = Basis.LOST
        own = self.levels(dataset)
        raised = [
            (name, self.levels(name)[-1])
            for name in limiting
            if name != dataset and dataset not in exceeded and (name in exceeded or self._is_raised(name))
        ]
        largest = [self.levels(name)[-1] for name in limiting]
        epsilons = [level.epsilon for level in largest]
        in_batches = any(run.parallel_batch is not None for run in self.charged((dataset,)))
        return Guarantee(
            epsilon=max(limit.epsilon for limit in limits),
            delta=max(limit.delta for limit in limits),
            basis=basis,
            allows_more=self._is_raised(dataset),
            listed=tuple(level.epsilon for level in own) if len(limiting) == 1 else (max(epsilons),),
            level_delta=max(level.delta for level in largest),
            raised=min(raised, key=lambda each: each[1].epsilon, default=None),
            unlimited=unlimited,
            batches=self.batches_per_document(dataset) if in_batches else 0,
        )

    def guaranteed_together(self, *names: str) -> Guarantee:
        """Return the one total that a report of several `names` of the same documents states, on their owner's word.

        It is the largest that any of the names had before its first output, and holds if all of them hold: then the
        total of the name whose output came first covers all runs (docs/privacy.md, section 9.5). Raises `InputError`
        if a name shares no known document with the first one, if a name is a series whose batches are charged in
        parallel, since a document of one name may be in several batches of another, and if the total is stronger than
        what `guaranteed` says of one of the names.
        """
        linked = self.linked(names[0])
        for name in names[1:]:
            if name not in linked:
                raise InputError(
                    f"the ledger knows of no document that {name!r} shares with {names[0]!r} (exact, not for "
                    "publication). `dplda budget show` lists the names that share documents."
                )
        published = self.published(*names)
        series = [run.dataset for run in published.charged(names) if run.parallel_batch is not None]
        if series:
            raise InputError(
                f"a report cannot state a total for several names while {series[0]!r} is a series, of which a document "
                "pays for some batches only. Leave --same-text out; `dplda budget show` tells what holds for all names."
            )
        each = [published.guaranteed(name) for name in names]
        basis = max((guarantee.basis for guarantee in each), key=list(Basis).index)
        epsilons, deltas = zip(*(guarantee.largest_total for guarantee in each), strict=True)
        together = Guarantee(
            epsilon=max(epsilons),
            delta=max(deltas),
            basis=Basis.FIXED if basis == Basis.LISTED else basis,
            allows_more=any(guarantee.allows_more for guarantee in each),
        )
        for name in names:
            exact = self.guaranteed(name)
            epsilon, delta = exact.largest_total
            if together.holds and not (exact.holds and epsilon <= together.epsilon and delta <= together.delta):
                left = [other for other in linked if other not in names]
                more = "".join(f" --same-text {shlex.quote(other)}" for other in left)
                raise InputError(
                    f"a report of these names would promise more ({together.total}) than what the ledger knows of "
                    f"{name!r} allows (exact, not for publication): see dplda budget show {shlex.quote(name)}"
                    + (f". Count all names that share documents:{more}" if left else "")
                )
        return together

    def grants_with_remarks(self, dataset: str) -> list[tuple[Grant, str]]:
        """List all grants, oldest first; a grant made after the first output has a remark on the guarantee."""
        before, since = self._before_and_since(dataset)
        levels = [level.capacity for level in self.levels(dataset)]
        remarks = [(grant, "") for grant in before]
        for grant in since:
            if grant.lapsed:
                remark = ""
            elif grant.capacity.fits(levels[0]):
                remark = ", not raised after outputs were released"
            elif grant.capacity.fits(levels[-1]):
                remark = ", raised after outputs were released, within levels listed before the first"
            else:
                remark = ", raised after outputs were released, to a level not listed before the first"
            remarks.append((grant, remark))
        return remarks

    def _limit(self, dataset: str, spent: Cost) -> Guarantee:
        """Find the smallest level listed before the first output that allows `spent` (docs/privacy.md, rule 17)."""
        levels = self.levels(dataset)
        for i, level in enumerate(levels):
            if not level.unbounded and spent.fits(level.capacity):
                # Outputs may decide which level is reached, so that the deltas of the levels add up (T14).
                basis = Basis.LISTED if i else Basis.FIXED
                return Guarantee(epsilon=level.epsilon, delta=(i + 1) * level.delta, basis=basis)
        basis = Basis.NO_LIMIT if levels[0].unbounded or math.isinf(spent.mu_squared) else Basis.AFTER_LOOKING
        largest = max([*levels, *self._before_and_since(dataset)[1]], key=lambda grant: grant.epsilon)
        return Guarantee(epsilon=largest.epsilon, delta=largest.delta, basis=basis)

    def levels(self, dataset: str) -> tuple[Grant, ...]:
        """Return the grant in force before the first run of `dataset`, followed by the levels listed with it."""
        return self._before_and_since(dataset)[0][-1].levels

    def _is_raised(self, dataset: str) -> bool:
        """Whether the grant in force exceeds all levels listed before the first output."""
        return not self.grant(dataset).capacity.fits(self.levels(dataset)[-1].capacity)

    def later(self, dataset: str) -> tuple[str, ...]:
        """Return the datasets linked to `dataset` whose outputs began after its own: its limit is one of theirs."""
        return tuple(name for name in self.linked(dataset) if self._first_run(name) > self._first_run(dataset))

    def _admitted_under(self, run: RunRecord) -> Grant:
        """Return the grant that was in force when `run` was reserved."""
        return [grant for grant in self._grants(run.dataset) if grant.after_run < run.number][-1]

    def _first_run(self, dataset: str) -> float:
        return min((run.number for run in self.charged((dataset,))), default=math.inf)

    def _before_and_since(self, dataset: str) -> tuple[list[Grant], list[Grant]]:
        """Divide the grants of `dataset` into those before its first run and later ones."""
        grants = self._grants(dataset)
        n_before = sum(grant.after_run < self._first_run(dataset) for grant in grants)
        return grants[:n_before], grants[n_before:]


def _sum(runs: Iterable[RunRecord]) -> Cost:
    return sum((run.cost for run in runs), NOTHING)


def admit(
    state: LedgerState, run: RunRecord, runs: int = 1, other_units: Collection[str] = (), batches_of_most: int = 1
) -> None:
    """Raise `BudgetRefused` unless `run` fits the filters of its dataset and of all datasets linked to it.

    `run` may stand for several `runs`, with the events of all of them. `other_units` are the codes of groupings that
    group its documents into other units. `batches_of_most` is the number of batches of its series that most documents
    of one batch would be in.
    """
    others = [other for other in state.runs if other.id != run.id]
    after = replace(state, runs=[*others, run])  # the ledger as if the run were admitted
    linked = after.linked(run.dataset)
    earlier = replace(state, runs=others).charged(linked)
    if not all(state.grant(name).unbounded for name in linked):  # without a limit, costs need not be comparable
        _check_units(earlier, run, other_units)
        _check_reading(earlier, run)
        most = state.batches_per_document(run.dataset)
        if batches_of_most > most:  # an earlier batch under another name, or a wrong declaration
            raise BudgetRefused(
                f"With batch {run.batch!r}, most documents of a batch of series {run.dataset!r} would be in "
                f"{batches_of_most} batches, and a document may be in {most} (exact, not for publication). Give the "
                "documents of the new batch alone; fit a batch again under its own name (--batch); or declare that "
                "documents are in several: dplda budget grant "
                f"{shlex.quote(run.dataset)} --epsilon E --delta D --batches-per-document {batches_of_most}"
            )
    whole = after.total([*earlier, run])
    together = _charged_together(after, run, linked)
    # That which allows least first, and the run's own dataset before others: what the message says is left, is.
    for name in sorted(linked, key=lambda name: (state.grant(name).capacity.mu_squared, name != run.dataset, name)):
        alone = all(whole.fits(state.grant(other).capacity) for other in linked if other != name)
        _check_budget(state, name, whole, run, runs, together, _earlier_name(state, whole, run, earlier), alone)


def admit_public(state: LedgerState, dataset: str, fingerprints: Iterable[str]) -> None:
    """Raise `BudgetRefused` if documents declared public have a bounded budget, in `dataset` or in another dataset.

    `fingerprints` are the fingerprints of all corpora that share documents with the declared ones. The budgets of all
    datasets that were charged for such corpora are checked and, if it has runs or grants, the budget of `dataset`, each
    together with the budgets of the datasets linked to it.
    """
    shared = set(fingerprints)
    datasets = {run.dataset for run in state.runs if run.is_charged and run.fingerprint in shared}
    if dataset in {*state.grants, *(run.dataset for run in state.runs)}:
        datasets.add(dataset)
    linked = {name for each in datasets for name in state.linked(each)}
    for name in sorted(linked, key=lambda name: (name != dataset, name)):
        if not state.grant(name).unbounded:
            raise BudgetRefused(
                f"Dataset {_quote_name(name, dataset)} has a bounded budget ({state.grant(name)}), but a corpus "
                "declared public is read without charging one. If its documents are public: "
                f"dplda budget grant {shlex.quote(name)} --unbounded"
            )


def refuse_private(state: LedgerState, dataset: str, codes: Collection[str]) -> None:
    """Raise `BudgetRefused` if texts declared public have the name or the files of a dataset with a bounded budget.

    `dataset` is their name, and `codes` those of their places and of the folders that contain these. These are public
    facts; the content of the documents, and which datasets share some, decides nothing.
    """
    bounded = [run for run in state.runs if not state.grant(run.dataset).unbounded]
    named = dataset in {*state.grants, *(run.dataset for run in state.runs)} and not state.grant(dataset).unbounded
    read = next((run for run in bounded if not set(codes).isdisjoint(run.parameters.get(PLACES, ()))), None)
    if not (named or read):
        return
    name = dataset if read is None else read.dataset
    known = f"run {read.id} read these files" if read is not None else "this corpus has its name"
    raise BudgetRefused(
        f"Dataset {name!r} has a bounded budget ({state.grant(name)}), and {known}: its texts are not public. Name "
        f"public text, under another name. If its documents are public: dplda budget grant {shlex.quote(name)} "
        "--unbounded"
    )


def _as_before(what: str, value: str) -> str:
    """Say how a run has the unit or the adjacency `value`."""
    if what != "unit":
        return f"Use --adjacency {value} (in Python, adjacency=)."
    if value != DOCUMENT:
        return (
            f"Protect the same: --unit-field {shlex.quote(value)} (in Python, unit_field=). If what is read here has "
            "no such column, read the file that has it."
        )
    return (
        "Leave --unit-field (in Python, unit_field= or units=) out. (To protect both, protect people from the first "
        "run on: that covers their documents.)"
    )


def _check_units(earlier: Sequence[RunRecord], run: RunRecord, other_units: Collection[str]) -> None:
    """Raise `BudgetRefused` if an earlier run had other units, or another adjacency (docs/privacy.md, rule 16).

    Rows of one id are one document, so that other ids are another grouping, too.
    """
    for other in earlier:
        for what in ("unit", "adjacency"):
            fixed, requested = getattr(other, what), getattr(run, what)
            if fixed != requested:
                raise BudgetRefused(
                    f"Dataset {_quote_name(other.dataset, run.dataset)} is fixed to {what} {fixed!r} by its first run, "
                    f"and this run has {what} {requested!r}: their costs cannot be added. {_as_before(what, fixed)}"
                )
    for other in earlier:
        if other.dataset == run.dataset:  # another dataset may call the column of ids otherwise
            alike = other.id_field == run.id_field
        else:
            alike = bool(other.id_field) == bool(run.id_field)
        if not alike:
            fixed, now = (
                "without ids" if field is None else f"by ids (--id-field {shlex.quote(field)})"
                for field in (other.id_field, run.id_field)
            )
            raise BudgetRefused(
                f"An earlier run ({other.id}) told the documents of dataset {_quote_name(other.dataset, run.dataset)} "
                f"apart {fixed}, and this run tells them apart {now}: the earlier guarantee does not cover these "
                "units. Read the documents as the earlier run did."
            )
    for other in earlier:
        if other.grouping in other_units:
            raise BudgetRefused(
                f"Dataset {_quote_name(other.dataset, run.dataset)} is fixed to the way in which an earlier run "
                f"({other.id}) grouped these documents into units ({run.unit!r}), and this run groups them otherwise: "
                "the earlier guarantee does not cover the new units. Read the documents with the units of the earlier "
                "run."
            )


def _check_reading(earlier: Sequence[RunRecord], run: RunRecord) -> None:
    """Raise `BudgetRefused` if an earlier run read the batches of the series in another way.

    Documents in two batches are recognised by their words, and only if these were made alike (docs/privacy.md, section
    9.10). Ids tell documents apart however they are read.
    """
    if run.parallel_batch is None or run.id_field is not None:
        return
    for other in earlier:
        if other.dataset != run.dataset or other.parallel_batch is None:
            continue
        if "language" in other.parameters and "language" in run.parameters:
            names = [name for name in READING_FACTS if run.parameters.get(name) != other.parameters.get(name)]
            now, before = (
                "with " + ", ".join(f"{name} {parameters.get(name) or 'unset'}" for name in names)
                for parameters in (run.parameters, other.parameters)
            )
        else:
            now, before = ("as text" if "language" in each.parameters else "as counts" for each in (run, other))
        if now != before:
            raise BudgetRefused(
                f"This batch is read {now}, and an earlier run of series {run.dataset!r} ({other.id}) read its "
                f"batch {before}: documents in both would not be recognised. Read all batches of a series alike, "
                "or begin another series."
            )


def _charged_together(state: LedgerState, run: RunRecord, linked: Sequence[str]) -> str:
    """Say which datasets are charged together, and how many batches of a series a document of `run` pays for."""
    names = ", ".join(map(repr, linked))
    shared = f" Charged together (exact, not for publication) are {names}." if len(linked) > 1 else ""
    most = state.batches_per_document(run.dataset)
    if run.parallel_batch is None or most == 1:
        return shared
    known = f"As declared, a document may be in {most} batches of series {run.dataset!r}"
    if most > state.batches_declared(run.dataset):
        known = f"Documents are in {most} batches of series {run.dataset!r} (exact, not for publication)"
    return f"{shared} {known}, so that the {most} that spent most are charged together."


def _earlier_name(state: LedgerState, whole: Cost, run: RunRecord, earlier: Sequence[RunRecord]) -> str:
    """Return the name under which `run` would be admitted, where its own is new and its documents had another; else ''.

    `whole` is what `run` and the `earlier` runs on its documents cost together.
    """
    names = list(dict.fromkeys(other.dataset for other in reversed(earlier)))
    if run.dataset in names or not all(whole.fits(state.grant(name).capacity) for name in names):
        return ""
    return names[0] if names else ""


def _check_budget(
    state: LedgerState, name: str, whole: Cost, run: RunRecord, runs: int, together: str, earlier_name: str, alone: bool
) -> None:
    """Raise `BudgetRefused` unless `whole`, which includes `run`, fits the grant of dataset `name`.

    The message contains the sentence `together`, and advises to run under the `earlier_name` if there is one. It
    advises to raise this grant if it `alone` refuses.
    """
    grant = state.grant(name)
    if whole.fits(grant.capacity):
        return
    command = f"dplda budget grant {shlex.quote(name)}"
    if grant.lapsed:
        raise BudgetRefused(
            f"Dataset {_quote_name(name, run.dataset)} has no grant: {grant.lapsed}. Decide what it may spend from now "
            f"on: {command} --epsilon E --delta D"
        )
    if math.isinf(run.cost.mu_squared):
        raise BudgetRefused(
            "A run that is not private, or not proven private, needs an unbounded grant, and dataset "
            f"{_quote_name(name, run.dataset)} has {grant}. If its documents are public or synthetic: "
            f"{command} --unbounded"
        )

    taken = math.ceil(1000 * _gaussian_epsilon(run.cost.mu_squared, run.delta)) / 1000
    request = f"this run: it was requested at epsilon {run.epsilon:g}, delta {run.delta:g}, and takes"
    if math.isinf(run.epsilon):
        request = f"this run: at delta {run.delta:g} it takes"
    if runs > 1:
        request = f"these {runs} runs: at delta {run.delta:g} they take, in all,"

    spent = whole.less(run.cost)
    mu_squared = max(0.0, grant.capacity.mu_squared - spent.mu_squared)
    epsilon_left, same = (math.floor(1000 * _gaussian_epsilon(mu_squared, d)) / 1000 for d in (run.delta, grant.delta))
    left = f"epsilon {epsilon_left:g} at delta {run.delta:g} is left"
    if epsilon_left and run.delta != grant.delta:  # at a smaller delta, epsilon may be larger than the grant's
        left += f", which is as much as epsilon {same:g} at delta {grant.delta:g}"
    helps = []  # empty texts for what nothing but a larger grant helps against
    if whole.mu_squared > grant.capacity.mu_squared:
        helps.append("less" if epsilon_left else "")
    if whole.delta > grant.capacity.delta:
        failing = {event.stage for event in run.counted if event.delta}
        release, lists = _LISTS.get(failing.pop() if len(failing) == 1 else "", ("release that may fail", ""))
        left += (
            f", but too little delta for another {release}: of the part that is kept for releases that may fail, "
            f"{_delta_left(grant.capacity, whole, run.cost)} is left, and {at_least(run.cost.delta)} needed"
        )
        smaller, fails = "", run.cost.delta * grant.delta / run.delta  # at the delta of the grant
        if run.delta > grant.delta and spent.delta + fails <= grant.capacity.delta:
            smaller = f"the delta of the grant ({grant.delta:g})"
        helps.append(" or ".join(filter(None, (smaller, lists))))
    use = f"Use {', and '.join(helps)}" if all(helps) else ""

    larger = f"{command} --epsilon E --delta D"
    enough = [level for level in state.levels(name) if alone and whole.fits(level.capacity)]
    if spent == NOTHING:
        advice = f"{use}, or" if use else "Grant more"
    elif enough:
        raised = f"raise the grant to epsilon {enough[0].epsilon:g}, which was listed for that"
        advice = f"{use}, or {raised}" if use else raised.capitalize()
        larger = f"{command} --epsilon {enough[0].epsilon:g} --delta {enough[0].delta:g}"
    elif whole.delta > grant.capacity.delta and whole.mu_squared <= grant.capacity.mu_squared:
        advice = f"{use}. Or grant a larger delta, which keeps no guarantee after outputs" if use else "Grant more"
    else:
        late = (
            "A larger grant keeps its guarantee only if --then (in Python, listed=) listed it before the first output"
        )
        advice = f"{use}. {late}" if use else late
    advice = f"{advice}: {larger} (in Python, Ledger.grant)"
    if earlier_name:  # a larger grant for a name with a refused run improves nothing that its reports state
        advice = (
            f"Dataset {earlier_name!r} can: run it under that name, with --dataset {shlex.quote(earlier_name)} (in "
            "Python, name= of read_corpus)"
        )
    raise BudgetRefused(
        f"Dataset {_quote_name(name, run.dataset)} cannot pay for {request} epsilon {taken:g}; {left} "
        f"(the grant is {grant}).{together} {advice}"
    )


def _delta_left(capacity: Cost, whole: Cost, cost: Cost) -> str:
    """Write what `whole` less `cost` leaves of the failure probability of `capacity`, with four digits, rounded down.

    It is exact before rounding, so that it is below that of `cost` if the latter does not fit.
    """
    exact = [Decimal(repr(part.delta)) for part in (capacity, whole, cost)]
    left = max(exact[0] - exact[1] + exact[2], Decimal(0))
    return f"{float(Context(prec=4, rounding=ROUND_FLOOR).create_decimal(left)):.4g}"


def _quote_name(name: str, dataset: str) -> str:
    """Quote `name` in a message about `dataset`; if the names differ, say that the two share documents."""
    if name == dataset:
        return repr(name)
    return f"{name!r}, which shares documents with {dataset!r} (exact, not for publication),"


def _gaussian_epsilon(mu_squared: float, delta: float) -> float:
    """Return epsilon for this sum of squared GDP parameters, at `delta` less the part kept for failures."""
    return accountant.gaussian_epsilon(math.sqrt(mu_squared), delta * (1 - accountant.FAILURE_SHARE))
