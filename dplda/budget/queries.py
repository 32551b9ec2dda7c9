"""Queries: read the ledger's rows into records."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dplda.base.software import described, recorded
from dplda.budget import accountant
from dplda.budget.events import Event
from dplda.budget.grants import Grant, least_capacity
from dplda.budget.ledger_records import DatasetRecord, HistoryRecord, PlannedEvent, RunRecord, Status
from dplda.budget.privacy_filter import LedgerState
from dplda.budget.schema import (
    AcceptedCopyRow,
    ComparisonRow,
    DatasetRow,
    DocumentIdsRow,
    EventRow,
    GrantRow,
    GroupingRow,
    OverlapRow,
    RunRow,
    SketchRow,
)
from dplda.budget.series_overlap import Batches
from dplda.budget.sketches import NO_DOCUMENTS, Fingerprint, Sketch, codes_from_text


def load(session: Session) -> LedgerState:
    """All runs, grants and overlaps. The caller must have verified the record."""
    plans: dict[str, list[PlannedEvent]] = defaultdict(list)
    for row in session.scalars(select(EventRow).order_by(EventRow.run, EventRow.position)):
        plans[row.run].append(PlannedEvent(event=Event.from_json(json.loads(row.event)), charged=row.asked))
    runs = session.scalars(select(RunRow).order_by(RunRow.number))
    lapses = [(row.after_grant + 0.5, _lapse(row)) for row in session.scalars(select(AcceptedCopyRow))]
    grants: dict[str, list[tuple[float, Grant]]] = defaultdict(lambda: list(lapses))
    for grant in session.scalars(select(GrantRow)):
        grants[grant.dataset].append((grant.number, _grant(grant)))
    overlaps = frozenset((overlap.earlier, overlap.later) for overlap in session.scalars(select(OverlapRow)))
    records = [run_record(run, tuple(plans[run.id])) for run in runs]
    return LedgerState(
        runs=records,
        grants={name: _in_order(numbered) for name, numbered in grants.items()},
        overlaps=overlaps,
        lapses=_in_order(lapses),
    )


def overlapping(session: Session, fingerprint: Fingerprint) -> list[str]:
    """The codes of other corpora that share documents with the corpus of `fingerprint`, according to their sketches."""
    others = select(SketchRow).where(SketchRow.fingerprint != fingerprint.code).order_by(SketchRow.fingerprint)
    return [
        row.fingerprint
        for row in session.scalars(others)
        if Sketch.from_text(row.documents).overlaps(fingerprint.sketch)
    ]


def batches(session: Session, state: LedgerState, run: RunRecord, fingerprint: Fingerprint) -> Batches:
    """The batches of the series of `run`, with the sketches of all documents of charged runs, and of `fingerprint`."""
    found: dict[str, dict[str, Sketch]] = {str(run.batch): {fingerprint.code: fingerprint.sketch}}
    for other in state.charged((run.dataset,)):
        if other.batch is not None and other.fingerprint is not None:
            row = session.get_one(SketchRow, other.fingerprint)
            found.setdefault(other.batch, {}).setdefault(row.fingerprint, Sketch.from_text(row.documents))
    return {batch: list(sketches.values()) for batch, sketches in found.items()}


def ids_of_other_batches(session: Session, state: LedgerState, run: RunRecord) -> NDArray[np.uint64]:
    """The keyed ids of the documents that charged runs on other batches of the series of `run` read.

    Empty for a run on no batch, which is charged for all of them.
    """
    charged = [] if run.batch is None else state.charged((run.dataset,))
    others = [other for other in charged if other.batch not in (None, run.batch)]
    rows = (session.get(DocumentIdsRow, other.id) for other in others)
    return np.concatenate([np.zeros(0, np.uint64), *(codes_from_text(row.ids) for row in rows if row is not None)])


def regrouped(session: Session, fingerprint: Fingerprint) -> set[str]:
    """The codes of recorded groupings that group documents of `fingerprint` into units differently.

    The groupings of shared documents are compared by their sketches. If the sketches are too small to decide and both
    corpora have the same documents, different codes mean different groupings.
    """
    if fingerprint.grouping is None:
        return set()
    codes = set()
    for grouping, sketch in session.execute(select(GroupingRow, SketchRow).join(SketchRow)):
        if grouping.code == fingerprint.grouping:
            continue
        regroups = Sketch.from_text(sketch.documents, grouping.units).regroups(fingerprint.sketch)
        if regroups or (regroups is None and sketch.fingerprint == fingerprint.code):
            codes.add(grouping.code)
    return codes


def run_record(row: RunRow, plan: tuple[PlannedEvent, ...]) -> RunRecord:
    """The record of a run with its planned events.

    A run without eligible documents has no fingerprint in its record, so that nothing is linked to it.
    """
    names = ("id", "number", "dataset", "unit", "adjacency", "epsilon", "delta", "sound", "status", "reason")
    return RunRecord(
        **{name: getattr(row, name) for name in (*names, "model", "grouping", "batch", "batches_seen", "id_field")},
        fingerprint=None if row.fingerprint == NO_DOCUMENTS else row.fingerprint,
        parameters=json.loads(row.parameters),
        seconds=json.loads(row.seconds),
        result=json.loads(row.result) if row.result else None,
        created=datetime.fromisoformat(row.created),
        plan=plan,
    )


def _grant(row: GrantRow) -> Grant:
    return Grant(
        epsilon=float("inf") if row.unbounded else row.epsilon,
        delta=row.delta,
        after_run=row.after_run,
        created=datetime.fromisoformat(row.created),
        listed=tuple(json.loads(row.listed)) if row.listed else (),
        batches_per_document=row.batches_per_document,
    )


def _lapse(row: AcceptedCopyRow) -> Grant:
    return Grant(
        epsilon=0.0,
        after_run=row.after_run,
        created=datetime.fromisoformat(row.created),
        lapsed=f"every grant lapsed when an older copy of the ledger was accepted, of {row.changes} recorded changes, "
        f"since its witness knew of {row.witnessed}",
    )


def _in_order(numbered: list[tuple[float, Grant]]) -> list[Grant]:
    return [grant for _, grant in sorted(numbered, key=lambda pair: pair[0])]


def names(session: Session) -> list[str]:
    """The declared datasets, sorted."""
    return list(session.scalars(select(DatasetRow.name).order_by(DatasetRow.name)))


def latest_number(session: Session, rows: type[RunRow | GrantRow | ComparisonRow | AcceptedCopyRow]) -> int:
    """The largest `number` in the table `rows`; 0 if it is empty."""
    return session.scalar(select(func.max(rows.number))) or 0


def ended_by_accepted_copy(session: Session, run: RunRow) -> bool:
    """Whether `run` had begun when an older copy of the ledger was accepted."""
    latest = session.scalar(select(func.max(AcceptedCopyRow.after_run)))
    return latest is not None and run.number <= latest


def dataset_record(state: LedgerState, name: str, batch: str | None = None) -> DatasetRecord:
    """The record of dataset `name` in `state`.

    For a series, `counted` is computed for a next run on `batch` (None: a new batch).
    """
    linked = state.linked(name)
    charged = state.charged(linked)
    runs = [run for run in state.runs if run.dataset == name]
    spent, capacity = state.total(charged), least_capacity([state.grant(each) for each in linked])
    return DatasetRecord(
        name=name,
        unit=charged[0].unit if charged else None,
        adjacency=charged[0].adjacency if charged else None,
        grant=state.grant(name),
        guaranteed=state.guaranteed(name),
        guaranteed_alone=state.published(name).guaranteed(name),
        spent=spent,
        counted=state.total(charged, (name, batch)) if spent.fits(capacity) else spent,
        linked=linked,
        fingerprints=tuple(sorted({run.fingerprint for run in runs if run.fingerprint})),
        runs=tuple(run.id for run in runs),
        unfinished=tuple(run.id for run in charged if run.status == Status.RESERVED),
        capacity=capacity,
        run_cost=next((accountant.cost(run.events) for run in reversed(runs) if run.is_charged), None),
        batches=tuple(dict.fromkeys(run.batch for run in charged if run.dataset == name and run.batch is not None)),
        id_field=next((run.id_field for run in charged if run.dataset == name and run.id_field is not None), None),
        batches_declared=state.batches_declared(name),
        batches_per_document=state.batches_per_document(name),
        shared_batches=_shared_batches(state, [run for run in charged if run.dataset == name]),
    )


def _shared_batches(state: LedgerState, runs: list[RunRecord]) -> tuple[str, ...]:
    """The batches of a series' `runs` that share documents with another one, each document being a unit."""
    found = {}
    for pair in state.overlaps:
        batches = {
            run.parallel_batch: run for run in runs if run.fingerprint in pair and run.parallel_batch is not None
        }
        if len(batches) > 1:
            found.update(batches)
    return tuple(str(run.batch) for run in sorted(found.values(), key=lambda run: run.number))


def history(state: LedgerState, name: str) -> list[HistoryRecord]:
    """Grants and runs of dataset `name` in the order in which they were made, the initial grant first."""
    lines = []
    for i, (grant, remark) in enumerate(state.granted(name)):
        listed = f", may be raised to {', '.join(f'{e:g}' for e in grant.listed)}" if grant.listed else ""
        if grant.batches_per_document > 1:
            listed += f", a document is in up to {grant.batches_per_document} batches"
        initial = f"grant {grant} (what every dataset has before its first grant)"
        text = grant.lapsed or (f"grant {grant}{listed}{remark}" if i else initial)
        lines.append((grant.after_run, min(i, 1), HistoryRecord(created=grant.created, text=text)))
    for run in state.runs:
        if run.dataset == name:
            batch = "" if run.batch is None else f" on batch {run.batch}"
            made_by = recorded(run.parameters)
            code = "" if made_by is None else f", {described(made_by)}"
            text = f"run {run.id}{batch}, epsilon {run.epsilon:g}, delta {run.delta:g}, {run.described}{code}"
            lines.append((run.number, 0, HistoryRecord(created=run.created, text=text, run=run.id)))
    return [line for _, _, line in sorted(lines, key=lambda line: line[:2])]
