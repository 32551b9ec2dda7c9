"""Queries: read the ledger's rows into records, and find other documents, batches and units that they know."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dplda.base.software import describe, software_of
from dplda.budget import accountant, schema
from dplda.budget.accountant import Cost
from dplda.budget.events import Event
from dplda.budget.guarantees import Grant
from dplda.budget.ledger_records import DatasetRecord, HistoryRecord, PlannedEvent, RunRecord, Status
from dplda.budget.privacy_filter import LedgerState
from dplda.budget.sketches import NO_DOCUMENTS, Batches, Fingerprint, Sketch, codes_from_text


def load(session: Session) -> LedgerState:
    """Read all runs, grants and overlaps. The caller must have verified the record."""
    plans: dict[str, list[PlannedEvent]] = defaultdict(list)
    for planned in session.scalars(select(schema.EventRow).order_by(schema.EventRow.run, schema.EventRow.position)):
        event = Event.from_json(json.loads(planned.event))
        plans[planned.run].append(PlannedEvent(event=event, charged=planned.asked))
    run_rows = session.scalars(select(schema.RunRow).order_by(schema.RunRow.number))
    runs = [run_record(row, tuple(plans[row.id])) for row in run_rows]
    lapses: list[tuple[float, Grant]] = []
    for copy in session.scalars(select(schema.AcceptedCopyRow).order_by(schema.AcceptedCopyRow.number)):
        lapse = Grant(
            epsilon=0.0,
            after_run=copy.after_run,
            created=datetime.fromisoformat(copy.created),
            lapsed=f"every grant lapsed when an older copy of the ledger was accepted, of {copy.changes} recorded "
            f"changes, since its witness knew of {copy.witnessed}",
        )
        lapses.append((copy.after_grant + 0.5, lapse))  # between this grant and the next one
    numbered: dict[str, list[tuple[float, Grant]]] = defaultdict(lambda: list(lapses))
    for row in session.scalars(select(schema.GrantRow)):
        grant = Grant(
            epsilon=float("inf") if row.unbounded else row.epsilon,
            delta=row.delta,
            after_run=row.after_run,
            created=datetime.fromisoformat(row.created),
            listed=tuple(json.loads(row.listed)) if row.listed else (),
            batches_per_document=row.batches_per_document,
        )
        numbered[row.dataset].append((row.number, grant))
    return LedgerState(
        runs=runs,
        grants={name: [grant for _, grant in sorted(grants, key=itemgetter(0))] for name, grants in numbered.items()},
        overlaps=frozenset((pair.earlier, pair.later) for pair in session.scalars(select(schema.OverlapRow))),
        lapses=[grant for _, grant in sorted(lapses, key=itemgetter(0))],
    )


def run_record(row: schema.RunRow, plan: tuple[PlannedEvent, ...]) -> RunRecord:
    """Return the record of a run with its planned events.

    A run without eligible documents has no fingerprint in its record, so that nothing is linked to it.
    """
    names = (
        *("id", "number", "dataset", "unit", "adjacency", "epsilon", "delta", "sound", "status", "reason", "model"),
        *("grouping", "texts", "batch", "batches_seen", "id_field"),
    )
    return RunRecord(
        **{name: getattr(row, name) for name in names},
        fingerprint=None if row.fingerprint == NO_DOCUMENTS else row.fingerprint,
        parameters=json.loads(row.parameters),
        seconds=json.loads(row.seconds),
        result=json.loads(row.result) if row.result else None,
        created=datetime.fromisoformat(row.created),
        plan=plan,
    )


def names(session: Session) -> list[str]:
    """List the declared datasets, sorted."""
    return list(session.scalars(select(schema.DatasetRow.name).order_by(schema.DatasetRow.name)))


def latest_number(
    session: Session, rows: type[schema.RunRow | schema.GrantRow | schema.ComparisonRow | schema.AcceptedCopyRow]
) -> int:
    """Return the largest `number` in the table `rows`; 0 if it is empty."""
    return session.scalar(select(func.max(rows.number))) or 0


def dataset_record(state: LedgerState, name: str, batch: str | None = None) -> DatasetRecord:
    """Return the record of dataset `name`; for a series, with a next run on `batch` in mind (None: a new batch)."""
    linked = state.linked(name)
    charged = state.charged(linked)
    runs = [run for run in state.runs if run.dataset == name]
    own = [run for run in charged if run.dataset == name]
    shared_batches: dict[str, RunRecord] = {}  # by batch, a run on it whose documents another batch shares
    for pair in state.overlaps:
        batches = {run.parallel_batch: run for run in own if run.fingerprint in pair and run.parallel_batch is not None}
        if len(batches) > 1:
            shared_batches.update(batches)
    published = state.published(name)
    spent, capacities = state.total(charged), [state.grant(each).capacity for each in linked]
    capacity = Cost(min(c.mu_squared for c in capacities), min(c.delta for c in capacities))
    least = min((name, *linked), key=lambda each: state.grant(each).capacity.mu_squared)  # its own, if it is as small
    return DatasetRecord(
        name=name,
        unit=charged[0].unit if charged else None,
        adjacency=charged[0].adjacency if charged else None,
        grant=state.grant(name),
        guaranteed=state.guaranteed(name),
        guaranteed_alone=published.guaranteed(name),
        counted_alone=published.total(published.charged((name,))),
        spent=spent,
        counted=state.total(charged, (name, batch)) if spent.fits(capacity) else spent,
        linked=linked,
        later=state.later(name),
        fingerprints=tuple(sorted({run.fingerprint for run in runs if run.fingerprint})),
        runs=tuple(run.id for run in runs),
        unfinished=tuple(run.id for run in charged if run.status == Status.RESERVED),
        incomplete=tuple(run.id for run in runs if not run.released and run.status != Status.RESERVED),
        refused=bool(runs) and runs[-1].status == Status.REFUSED,
        capacity=capacity,
        limit=None if least == name else (least, state.grant(least)),
        run_cost=next((accountant.cost(run.events) for run in reversed(runs) if run.is_charged), None),
        batches=tuple(dict.fromkeys(run.batch for run in own if run.batch is not None)),
        id_field=next((run.id_field for run in own if run.id_field is not None), None),
        batches_declared=state.batches_declared(name),
        batches_per_document=state.batches_per_document(name),
        shared_batches=tuple(str(run.batch) for run in sorted(shared_batches.values(), key=lambda run: run.number)),
    )


def history(state: LedgerState, name: str) -> list[HistoryRecord]:
    """List grants and runs of dataset `name` in the order in which they were made, the initial grant first."""
    lines = []  # with the number of the run, before (0) or after which (1) they belong
    for i, (grant, remark) in enumerate(state.grants_with_remarks(name)):
        listed = f", may be raised to {', '.join(f'{e:g}' for e in grant.listed)}" if grant.listed else ""
        if grant.batches_per_document > 1:
            listed += f", a document is in up to {grant.batches_per_document} batches"
        initial = f"grant {grant} (what every dataset has before its first grant)"
        text = grant.lapsed or (f"grant {grant}{listed}{remark}" if i else initial)
        lines.append((grant.after_run, min(i, 1), HistoryRecord(created=grant.created, text=text)))
    for run in state.runs:
        if run.dataset == name:
            batch = "" if run.batch is None else f" on batch {run.batch}"
            made_by = software_of(run.parameters)
            code = "" if made_by is None else f", {describe(made_by)}"
            text = f"run {run.id}{batch}, epsilon {run.epsilon:g}, delta {run.delta:g}, {run.status_in_words}{code}"
            lines.append((run.number, 0, HistoryRecord(created=run.created, text=text, run=run.id)))
    return [line for _, _, line in sorted(lines, key=lambda line: line[:2])]


def find_overlaps(session: Session, fingerprint: Fingerprint) -> list[str]:
    """Find the codes of other corpora that share documents with `fingerprint`, by their words or by their texts."""
    found = _overlapping(session, fingerprint, schema.RunRow.fingerprint)
    if fingerprint.texts is not None:
        texts = [fingerprint.texts.code, *_overlapping(session, fingerprint.texts, schema.RunRow.texts)]
        kept = select(schema.SketchRow.fingerprint)  # a refused run has none
        runs = select(schema.RunRow.fingerprint).where(schema.RunRow.texts.in_(texts))
        found += session.scalars(kept.where(schema.SketchRow.fingerprint.in_(runs)))
    return sorted(set(found) - {fingerprint.code})


def _overlapping(session: Session, fingerprint: Fingerprint, codes: Any) -> list[str]:
    """Find which other ones of the `codes`, a column of runs, are of corpora whose sketches share documents with it."""
    others = select(schema.SketchRow).where(schema.SketchRow.fingerprint.in_(select(codes)))
    return [
        row.fingerprint
        for row in session.scalars(others.where(schema.SketchRow.fingerprint != fingerprint.code))
        if Sketch.from_text(row.documents).overlaps(fingerprint.sketch)
    ]


def batches(
    session: Session, state: LedgerState, run: RunRecord, fingerprint: Fingerprint
) -> list[tuple[Batches, Sketch]]:
    """Collect the sketches of charged runs for each batch of the series of `run`, with `fingerprint` for its own.

    Of words, and of texts if there are some: each with the sketch of the documents of `run`.
    """
    kinds = [(fingerprint, "fingerprint"), *([] if fingerprint.texts is None else [(fingerprint.texts, "texts")])]
    charged, collected = state.charged((run.dataset,)), list[tuple[Batches, Sketch]]()
    for own, kind in kinds:
        found: dict[str, dict[str, Sketch]] = {str(run.batch): {own.code: own.sketch}}
        for other in charged:
            code = getattr(other, kind)
            if other.batch is not None and code is not None:
                row = session.get_one(schema.SketchRow, code)
                found.setdefault(other.batch, {}).setdefault(code, Sketch.from_text(row.documents))
        collected.append(({batch: list(sketches.values()) for batch, sketches in found.items()}, own.sketch))
    return collected


def ids_of_other_batches(session: Session, state: LedgerState, run: RunRecord) -> NDArray[np.uint64]:
    """Collect the keyed ids of the documents that charged runs on other batches of the series of `run` read.

    Empty for a run on no batch, which is charged for all of them.
    """
    charged = [] if run.batch is None else state.charged((run.dataset,))
    others = [other for other in charged if other.batch not in (None, run.batch)]
    rows = (session.get(schema.DocumentIdsRow, other.id) for other in others)
    return np.concatenate([np.zeros(0, np.uint64), *(codes_from_text(row.ids) for row in rows if row is not None)])


def private_documents(session: Session, state: LedgerState) -> NDArray[np.uint64]:
    """Collect the hashes in the sketches of charged runs whose dataset has a bounded budget, ascending."""
    private = {run.fingerprint for run in state.runs if run.is_charged and not state.grant(run.dataset).unbounded}
    rows = (session.get(schema.SketchRow, code) for code in private if code is not None)
    hashes = [Sketch.from_text(row.documents).hashes for row in rows if row is not None]
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *hashes]))


def other_units(session: Session, fingerprint: Fingerprint) -> set[str]:
    """Find the codes of recorded groupings that group documents of `fingerprint` into other units.

    The groupings of shared documents are compared by their sketches. If the sketches are too small to decide and both
    corpora have the same documents, different codes mean different groupings. Documents are the same by their words or
    by their texts.
    """
    codes = _other_units(session, fingerprint)
    if fingerprint.texts is not None and (of_texts := _other_units(session, fingerprint.texts)):
        runs = select(schema.RunRow.grouping).where(schema.RunRow.texts_grouping.in_(of_texts))
        codes.update(code for code in session.scalars(runs) if code not in (None, fingerprint.grouping))
    return codes


def _other_units(session: Session, fingerprint: Fingerprint) -> set[str]:
    if fingerprint.grouping is None:
        return set()
    codes = set()
    for grouping, sketch in session.execute(select(schema.GroupingRow, schema.SketchRow).join(schema.SketchRow)):
        if grouping.code == fingerprint.grouping:
            continue
        same = sketch.fingerprint == fingerprint.code
        earlier = Sketch.from_text(sketch.documents, grouping.units)
        regroups = earlier.regroups(fingerprint.sketch, same_documents=same)
        if regroups or (regroups is None and same):
            codes.add(grouping.code)
    return codes
