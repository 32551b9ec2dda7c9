"""The reservation of a run's budget, made before any private byte is read and held until the run ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dplda.base.errors import BudgetRefused, GateError, InputError, LedgerError
from dplda.budget import queries, schema
from dplda.budget.database import Store
from dplda.budget.events import Event
from dplda.budget.ledger_records import Status
from dplda.budget.privacy_filter import LedgerState, admit
from dplda.budget.sketches import NO_DOCUMENTS, Fingerprint, batches_of_most, codes_to_text, most_batches

_ABANDONED = (Status.FAILED, Status.UNSUPPORTED, Status.CANCELLED)


class Reservation:
    """A reserved run: `run` is its id, `events` its frozen plan.

    Call `bind`, then `charge` for each event, then `finish` or `abandon`. If the process dies in between, the whole
    plan counts as spent, and what was given to `keep` stays.
    """

    def __init__(
        self, store: Store, load: Callable[[Session], LedgerState], run: str, events: tuple[Event, ...]
    ) -> None:
        self._store = store
        self._load = load
        self.run = run
        self.events = events

    def of_this_batch(self, ids: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return a mask of the documents, by their keyed `ids` (n_documents,), that no other batch has read.

        It holds all documents if the run is on no batch of a series.
        """
        with self._store.reading() as session:
            state = self._load(session)
            run = next(run for run in state.runs if run.id == self.run)
            return ~np.isin(ids, queries.ids_of_other_batches(session, state, run), kind="sort")

    def bind(self, fingerprint: Fingerprint) -> tuple[str, ...]:
        """Attach the keyed fingerprint and sketch of the documents read, before the first `charge`.

        Returns the names of other datasets that share these documents; they are exact and for the owner alone.

        Checks the filters again, now of all datasets that share documents with these, and of all batches that hold
        documents of this one: by their ids if the run has an `id_field`, else by the documents' own words. Also checks
        that earlier runs grouped the documents into the same units. Raises `BudgetRefused` if a check fails; the run
        then ends as `REFUSED` and costs nothing.
        """
        refusal: BudgetRefused | None = None
        with self._store.writing() as session:
            row = self._open_row(session)
            if row.fingerprint not in (None, fingerprint.code):
                raise GateError(f"Run {self.run} is already bound to other documents.")
            state = self._load(session)
            run = next(run for run in state.runs if run.id == self.run)
            if (run.id_field is None) != (fingerprint.ids is None):
                raise GateError(f"Run {self.run} is of a batch whose documents have ids, and needs these ids alone.")

            # What other runs have read of these documents, which is known only now.
            shared = queries.find_overlaps(session, fingerprint)
            row.fingerprint = fingerprint.code
            row.grouping = fingerprint.grouping
            if (texts := fingerprint.texts) is not None:
                row.texts, row.texts_grouping = texts.code, texts.grouping
            of_most = 1  # the number of batches that most documents of one batch would be in
            if (ids := fingerprint.ids) is not None:
                if np.isin(ids, queries.ids_of_other_batches(session, state, run), kind="sort").any():
                    raise LedgerError("Another run has read some of these documents in another batch: try again.")
            elif run.parallel_batch is not None:
                seen, declared = queries.batches(session, state, run, fingerprint), state.batches_declared(run.dataset)
                row.batches_seen = max(most_batches(batches, declared) for batches, _ in seen)
                of_most = max(batches_of_most(batches, sketch) for batches, sketch in seen)
            known = replace(state, overlaps=state.overlaps.union((code, fingerprint.code) for code in shared))
            bound = replace(run, fingerprint=row.fingerprint, grouping=row.grouping, batches_seen=row.batches_seen)
            other_units = queries.other_units(session, fingerprint)

            try:
                admit(known, bound, other_units=other_units, batches_of_most=of_most)
                new = _document_rows(session, fingerprint, shared)
                if ids is not None and run.batch is not None:
                    # All of them, also those that an earlier run on the batch read: that run may end without a charge.
                    new.append(schema.DocumentIdsRow(run=run.id, ids=codes_to_text(np.unique(ids))))
            except BudgetRefused as error:  # raised below: the transaction must commit the refusal first
                refusal, new = error, []
                row.status, row.reason = Status.REFUSED, "the documents' budget, units or adjacency do not allow it"
            self._store.chain.record(session, *new, row)
        if refusal is not None:
            raise refusal
        with_this = replace(known, runs=[bound if each.id == run.id else each for each in known.runs])
        return tuple(name for name in with_this.linked(run.dataset) if name != run.dataset)

    def charge(self, event: Event) -> None:
        """Record the charge of `event`, for all its `count` queries, before its release; on disk when this returns.

        Raises `GateError`, after which nothing may be released, unless the run is bound and has not ended and `event`
        equals a planned event that was not charged yet.
        """
        text = schema.canonical(event.to_json())
        with self._store.writing() as session:
            if self._open_row(session).fingerprint is None:
                raise GateError(f"Run {self.run} charged stage {event.stage!r} before it was bound to its documents.")
            open_events = select(schema.EventRow).where(
                schema.EventRow.run == self.run, schema.EventRow.event == text, schema.EventRow.asked.is_(False)
            )
            row = session.scalars(open_events.order_by(schema.EventRow.position).limit(1)).first()
            if row is None:
                raise GateError(f"Run {self.run} charged stage {event.stage!r}, unplanned or a second time.")
            row.asked = True
            self._store.chain.record(session, row)

    def keep(self, *, model: str | None, result: Mapping[str, Any]) -> None:
        """Record what the run has released so far, as in `finish`, without ending it.

        It stays if the process dies. Raises `GateError` if the run has ended already.
        """
        with self._store.writing() as session:
            row = self._open_row(session)
            row.model, row.result = model, schema.canonical(dict(result))
            self._store.chain.record(session, row)

    def finish(
        self, *, model: str | None, seconds: Mapping[str, float], result: Mapping[str, Any] | None = None
    ) -> None:
        """End the run as done: planned events that were never charged are refunded.

        `model` is the path of the released model, or `result` what the run released instead, as plain JSON; `seconds`,
        the time of each stage, stay in the ledger. Raises `GateError` if the run has ended already.
        """
        times = schema.canonical({stage: float(value) for stage, value in seconds.items()})
        with self._store.writing() as session:
            row = self._open_row(session)
            row.status, row.model, row.seconds = Status.DONE, model, times
            row.result = None if result is None else schema.canonical(dict(result))
            self._store.chain.record(session, row)

    def abandon(self, status: str, reason: str) -> None:
        """End the run without a model: charged events stay spent, all others are refunded.

        `status` is `FAILED`, `UNSUPPORTED` or `CANCELLED`, otherwise raises `InputError`; `reason` must not contain
        private text. A run that has ended keeps its final status, so this is safe in an exception handler.
        """
        if status not in _ABANDONED:
            raise InputError(f"status must be one of {', '.join(_ABANDONED)}, got {status!r}.")
        with self._store.writing() as session:
            row = self._row(session)
            if row.status == Status.RESERVED:
                row.status, row.reason = status, reason
                self._store.chain.record(session, row)

    def _open_row(self, session: Session) -> schema.RunRow:
        row = self._row(session)
        if row.status != Status.RESERVED:
            raise GateError(f"Run {self.run} has ended ({row.status}): nothing more may be charged to it.")
        return row

    def _row(self, session: Session) -> schema.RunRow:
        row = session.get(schema.RunRow, self.run)
        if row is None:
            raise LedgerError(f"Run {self.run} was removed from the ledger. See: dplda budget verify")
        accepted = session.scalar(select(func.max(schema.AcceptedCopyRow.after_run)))
        if accepted is not None and row.number <= accepted:
            raise LedgerError(
                f"Run {self.run} began before an older copy of the ledger was accepted: what it charged since is not "
                "known, so it cannot go on, and counts as wholly spent."
            )
        return row


def _document_rows(session: Session, fingerprint: Fingerprint, shared: Collection[str]) -> list[schema.Base]:
    """Make new rows of documents: their sketches, their groupings, and their overlaps with the corpora `shared`."""
    if fingerprint.code == NO_DOCUMENTS:
        return []
    rows: list[schema.Base] = []
    for each in (fingerprint, *([] if fingerprint.texts is None else [fingerprint.texts])):
        if session.get(schema.SketchRow, each.code) is None:
            rows.append(schema.SketchRow(fingerprint=each.code, documents=each.sketch.to_text()))
        if each.grouping is not None and session.get(schema.GroupingRow, each.grouping) is None:
            units = each.sketch.members_to_text()
            rows.append(schema.GroupingRow(code=each.grouping, fingerprint=each.code, units=units))
    for code in shared:
        pair = {"earlier": code, "later": fingerprint.code}
        reverse = {"earlier": fingerprint.code, "later": code}
        if session.get(schema.OverlapRow, pair) is None and session.get(schema.OverlapRow, reverse) is None:
            rows.append(schema.OverlapRow(**pair))
    return rows
