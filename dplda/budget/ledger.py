"""The ledger of budgets. It decides on and records each spending in one transaction."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import os
import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from dplda.base.characters import is_name, replace_unsafe
from dplda.base.config import DEFAULT_GRANT, PrivacySettings, Range
from dplda.base.errors import InputError, LedgerError, RaisedGrantWarning, SmallDeltaWarning, warn
from dplda.budget import queries, schema
from dplda.budget.accountant import NOTHING
from dplda.budget.comparisons import ComparisonLog
from dplda.budget.database import Store, default_path
from dplda.budget.events import Event
from dplda.budget.guarantees import Guarantee
from dplda.budget.ledger_records import DatasetRecord, HistoryRecord, PlannedEvent, RunRecord, Status
from dplda.budget.privacy_filter import LedgerState, admit, admit_public, refuse_private
from dplda.budget.quotes import Quote, small_delta
from dplda.budget.reservation import Reservation
from dplda.budget.schema import Verification
from dplda.budget.sketches import Fingerprint

_GRANT_RANGES = {
    "epsilon": Range(low=1e-6, high=1000.0, unit="nats, total for the dataset"),
    "delta": Range(low=1e-15, high=0.1, unit="probability"),
    "batches_per_document": Range(low=1, high=10_000, unit="batches of a series", integer=True),
}

_PLACE = b"dplda place 1 "


class Ledger:
    """A ledger in one SQLite file, created if absent; safe for several processes at once.

    The default `path` is ``$DPLDA_LEDGER``, else ``ledger.db`` in the user's data folder. `key`, 32 secret bytes in
    a second file, serves fingerprints and the journal. Every method raises `LedgerError` if the file is locked for more
    than five seconds or cannot be read, written or trusted, and `InputError` for a `path` that is no path.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        if not isinstance(path, str | os.PathLike | None):
            raise InputError(f"path must be the path of a ledger's file, or None for the usual one, got {path!r}.")
        self._store = Store(Path(path) if path is not None else default_path())
        self.path = self._store.path
        self.key = self._store.key

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def _repr_html_(self) -> str:
        """Show what each dataset has spent, has left and guarantees, in a notebook; for the ledger's owner only."""
        rows = [("dataset", "spent", "left", "guarantee")]
        rows += [
            (each.name, each.in_short, each.remaining_text, ". ".join((each.guarantee, *each.on_reports)))
            for each in self.datasets()
        ]
        style = "text-align: left; vertical-align: top"
        cells = ("".join(f'<td style="{style}"><bdi>{escape(text)}</bdi></td>' for text in row) for row in rows)
        path = escape(replace_unsafe(str(self.path)))
        count = f"{len(rows) - 1} dataset{'s' * (len(rows) != 2)}"
        return (
            f"<div><b>Ledger {path}</b>: {count}. For your eyes only: "
            "what is spent also depends on which names share documents.</div>"
            f"<table><tbody>{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or unpickle by opening the same ledger again; raises `LedgerError` if it is not there."""
        return Ledger._reopen, (str(self.path), self._store.chain.owner())

    @staticmethod
    def _reopen(path: str, owner: str) -> Ledger:
        ledger = Ledger(path) if os.path.exists(path) else None
        if ledger is None or not hmac.compare_digest(ledger._store.chain.owner(), owner):
            raise LedgerError(
                f"{path} is not the ledger that was copied or pickled. Open the one you mean: Ledger(path)."
            )
        return ledger

    def reserve(
        self,
        *,
        dataset: str,
        unit: str,
        privacy: PrivacySettings,
        events: Sequence[Event],
        parameters: Mapping[str, Any],
        sound: bool,
        run: str | None = None,
        batch: str | None = None,
        id_field: str | None = None,
    ) -> Reservation:
        """Reserve the cost of `events`, the run's whole plan; on disk when this returns.

        `privacy` is the guarantee that was requested, and `run` the run's id, by default a `new_name`; the other
        arguments are the fields of its `RunRecord`. Raises `BudgetRefused`, and writes nothing, if the budget does not
        allow the run, and `InputError` for values out of range.
        """
        _check_name("dataset", dataset)
        _check_name("unit", unit)
        run = new_name(dataset) if run is None else run
        _check_name("run", run)
        if batch is not None:
            _check_name("batch", batch)
        with self._store.writing() as session:
            state = self._verified_state(session)
            if any(other.id == run for other in state.runs):
                raise InputError(f"the ledger has a run {run!r} already. Leave run out, or choose another id.")
            row = schema.RunRow(
                id=run,
                number=queries.latest_number(session, schema.RunRow) + 1,
                dataset=dataset,
                unit=unit,
                adjacency=privacy.adjacency,
                epsilon=float(privacy.epsilon),
                delta=float(privacy.delta),
                sound=sound,
                status=Status.RESERVED,
                reason="",
                parameters=_plain_json(parameters),
                seconds=schema.canonical({}),
                created=_now(),
                batch=batch,
                batches_seen=1,
                id_field=id_field,
            )
            admit(state, queries.run_record(row, tuple(PlannedEvent(event=event) for event in events)))
            planned = [
                schema.EventRow(run=run, position=i, event=schema.canonical(event.to_json()), asked=False)
                for i, event in enumerate(events)
            ]
            self._store.chain.record(session, *_new_dataset(session, dataset), row, *planned)
            return Reservation(self._store, self._verified_state, row.id, tuple(events))

    def reservation(self, run: str) -> Reservation | None:
        """Return the reservation that `reserve` made for the id `run`; None if there is none."""
        with self._store.reading() as session:
            events = {each.id: each.events for each in self._verified_state(session).runs}
        return Reservation(self._store, self._verified_state, run, events[run]) if run in events else None

    def quote(
        self,
        *,
        dataset: str,
        unit: str,
        adjacency: str,
        delta: float,
        plans: Sequence[Sequence[Event]],
        sound: bool,
        batch: str | None = None,
        id_field: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Quote:
        """Sum the cost of runs of these `plans`, each at `delta`, without reserving it.

        `sound` is False if one of the runs is not private or not proven private. Raises `BudgetRefused` if the budget
        does not allow all runs.
        """
        _check_name("dataset", dataset)
        with self._store.reading() as session:
            state = self._verified_state(session)
        combined = RunRecord(
            id="",
            number=len(state.runs) + 1,
            dataset=dataset,
            unit=unit,
            adjacency=adjacency,
            epsilon=math.inf,
            delta=delta,
            sound=sound,
            created=datetime.now(UTC),
            plan=tuple(PlannedEvent(event=event) for plan in plans for event in plan),
            batch=batch,
            id_field=id_field,
            parameters=dict(parameters or {}),
        )
        if plans:
            admit(state, combined, len(plans))
        return Quote(dataset=queries.dataset_record(state, dataset, batch), cost=combined.cost if plans else NOTHING)

    def check_public(self, dataset: str, fingerprint: Fingerprint) -> None:
        """Raise `BudgetRefused` if documents declared public have a bounded budget.

        It may be the budget of `dataset` or of a dataset that shares documents with it. Documents that the ledger does
        not know are free.
        """
        with self._store.reading() as session:
            state = self._verified_state(session)
            admit_public(state, dataset, [fingerprint.code, *queries.find_overlaps(session, fingerprint)])

    def check_not_private(self, dataset: str, places: Collection[str]) -> None:
        """Raise `BudgetRefused` if `dataset`, or a run on files at one of `places`, has a bounded budget.

        `places` are real paths. A run on a folder read everything in it. The content of the documents decides nothing.
        """
        with self._store.reading() as session:
            state = self._verified_state(session)
        around = {str(above) for place in places for above in (Path(place), *Path(place).parents)}
        refuse_private(state, dataset, self.place_codes(around))

    def place_codes(self, places: Collection[str]) -> list[str]:
        """Return keyed codes of `places`, which are real paths; sorted. A run records those that its corpus names."""
        return sorted(
            hmac.new(self.key, _PLACE + os.fsencode(place), hashlib.sha256).hexdigest()[:16] for place in places
        )

    def private_documents(self) -> NDArray[np.uint64]:
        """Return the codes of the documents in the sketches of charged runs with a bounded budget, sorted. Private."""
        with self._store.reading() as session:
            return queries.private_documents(session, self._verified_state(session))

    def lock(self, key: str) -> AbstractContextManager[None]:
        """Hold an exclusive lock on the comparisons with this `key` (`comparison`).

        Raises `LedgerError` if another process holds it.
        """
        return self._store.lock(key[:16])

    def comparison(self, key: str) -> ComparisonLog | None:
        """Find the latest comparison with this `key`, a digest of corpus and parameters; None if there is none."""
        with self._store.reading() as session:
            self._verified_state(session)
            query = select(schema.ComparisonRow.name).where(schema.ComparisonRow.key == key)
            name = session.scalar(query.order_by(schema.ComparisonRow.number.desc()).limit(1))
        return None if name is None else ComparisonLog(self._store, self._verified_state, name)

    def begin_comparison(self, *, key: str, corpus: str, kind: str, parameters: Mapping[str, Any]) -> ComparisonLog:
        """Begin a new comparison without cells; `parameters` are plain JSON. Earlier ones with this `key` stay."""
        _check_name("key", key)
        _check_name("corpus", corpus)
        _check_name("kind", kind)
        with self._store.writing() as session:
            self._verified_state(session)
            row = schema.ComparisonRow(
                name=new_name(corpus),
                number=queries.latest_number(session, schema.ComparisonRow) + 1,
                key=key,
                corpus=corpus,
                kind=kind,
                parameters=_plain_json(parameters),
                created=_now(),
            )
            self._store.chain.record(session, row)
            return ComparisonLog(self._store, self._verified_state, row.name)

    def grant(
        self,
        dataset: str,
        epsilon: float = DEFAULT_GRANT[0],
        delta: float = DEFAULT_GRANT[1],
        unbounded: bool = False,
        listed: Sequence[float] = (),
        batches_per_document: int = 1,
    ) -> None:
        """Let `dataset` spend `epsilon` (nats) at `delta` in total; replaces its earlier grant.

        `listed` are larger, rising epsilons to which the grant may be raised later at the same delta. A grant that is
        raised after outputs were seen keeps a guarantee only if the level was listed before the first output
        (docs/privacy.md, rule 17). `unbounded` is for public or synthetic documents. `batches_per_document` declares
        the largest number of batches of a series that hold one document; of several declarations the largest holds.
        Warns (`RaisedGrantWarning`) if outputs were seen before, and this total was not set or listed before them: a
        larger one is not guaranteed, and a smaller one does not improve the guarantee. Raises `InputError` for values
        out of range, and for `listed` levels of a dataset that has outputs.
        """
        _check_name("dataset", dataset)
        delta = _GRANT_RANGES["delta"].check("delta", delta)
        batches = _GRANT_RANGES["batches_per_document"].check("batches_per_document", batches_per_document)
        if not isinstance(unbounded, bool):
            raise InputError(f"unbounded must be True or False, got {unbounded!r}.")
        if not isinstance(listed, Iterable):
            raise InputError(f"listed must be a list of epsilons, such as [4.0, 8.0], got {listed!r}.")
        epsilon, *listed = (_GRANT_RANGES["epsilon"].check("epsilon", value) for value in (epsilon, *listed))
        if any(higher <= lower for lower, higher in pairwise((epsilon, *listed))) or (unbounded and listed):
            raise InputError(
                "listed totals (--then; in Python, listed=) must be larger than epsilon, each larger than the one "
                "before; leave them out for an unbounded grant."
            )
        with self._store.writing() as session:
            if listed and self._verified_state(session).charged((dataset,)):
                raise InputError(
                    f"Totals can be listed (--then; in Python, listed=) only before the first output, and dataset "
                    f"{dataset!r} has outputs: a total listed now would guarantee nothing. Leave them out."
                )
            row = schema.GrantRow(
                number=queries.latest_number(session, schema.GrantRow) + 1,
                dataset=dataset,
                epsilon=float(epsilon),
                delta=float(delta),
                unbounded=unbounded,
                after_run=queries.latest_number(session, schema.RunRow),
                created=_now(),
                listed=schema.canonical([float(level) for level in listed]) if listed else None,
                batches_per_document=batches,
            )
            self._store.chain.record(session, *_new_dataset(session, dataset), row)
        record = self.dataset(dataset)
        fixed = record.guaranteed
        if fixed.allows_more or not (fixed.holds or unbounded):
            warn(f"Dataset {dataset}: {record.guarantee}.", RaisedGrantWarning)
        elif fixed.holds and (epsilon not in fixed.listed or delta != fixed.level_delta):
            warn(
                f"Dataset {dataset}: a total set after the first output limits further runs and improves no guarantee: "
                f"{record.guarantee}.",
                RaisedGrantWarning,
            )
        elif not unbounded and (record.guaranteed_alone.allows_more or not record.guaranteed_alone.holds):
            warn(f"Dataset {dataset}: {record.in_reports}.", RaisedGrantWarning)
        if not unbounded and (told := small_delta(delta, "delta=")):
            warn(f"Dataset {dataset}: {told}", SmallDeltaWarning)

    def runs(self) -> list[RunRecord]:
        """List all runs, oldest first."""
        with self._store.reading() as session:
            return list(self._verified_state(session).runs)

    def run(self, run: str) -> RunRecord:
        """Find the run whose id is `run`, the latest run of the dataset `run`, or the one run whose id begins with it.

        Runs without a model count only if the dataset has no other, and those of them that did not come to their end
        if no other has a model. Raises `InputError` if there is no such run.
        """
        if not isinstance(run, str):
            raise InputError(
                f"run must be the id of a run or the name of a dataset, got {run!r}. See: dplda runs (in Python, "
                "Ledger.runs)"
            )
        runs = self.runs()
        matches = [r for r in runs if r.id == run]
        if not matches:
            of_dataset = [r for r in runs if r.dataset == run]
            with_model = [r for r in of_dataset if r.model]
            matches = ([r for r in with_model if r.status == Status.DONE] or with_model or of_dataset)[-1:]
        if not matches and run:  # every id begins with an empty text
            matches = [r for r in runs if r.id.startswith(run)]
        if len(matches) != 1:
            problem = "is the beginning of several runs" if matches else "is not in the ledger"
            names = [] if matches else [name for each in reversed(runs) for name in (each.dataset, each.id)]
            meant = "".join(
                f" Did you mean {close}?" for close in get_close_matches(run, list(dict.fromkeys(names)), n=1)
            )
            raise InputError(f"Run {run!r} {problem}.{meant} See: dplda runs (in Python, Ledger.runs)")
        return matches[0]

    def datasets(self) -> list[DatasetRecord]:
        """List all datasets, by name."""
        with self._store.reading() as session:
            state = self._verified_state(session)
            return [queries.dataset_record(state, name) for name in queries.names(session)]

    def dataset(self, name: str) -> DatasetRecord:
        """Return the record of one dataset; raises `InputError` if the ledger does not know it."""
        with self._store.reading() as session:
            return queries.dataset_record(self._state_with(session, name), name)

    def guaranteed_together(self, *names: str) -> Guarantee:
        """Return the total that a report of several `names` of the same documents may state, if it ``holds``.

        Raises `InputError` for a dataset that the ledger does not know, and if no total can be stated
        (`LedgerState.guaranteed_together`).
        """
        if not names:
            raise InputError("guaranteed_together needs the names of datasets. See: dplda budget show")
        with self._store.reading() as session:
            return self._state_with(session, names[0]).guaranteed_together(*names)

    def history(self, dataset: str) -> list[HistoryRecord]:
        """List grants and runs of `dataset` in order; raises `InputError` if the ledger does not know it."""
        with self._store.reading() as session:
            return queries.history(self._state_with(session, dataset), dataset)

    def verify(self) -> Verification:
        """Check that every row is as this package wrote it, and that none known to the witness is missing.

        `dplda.budget.schema` and `dplda.budget.database` state the limits.
        """
        with self._store.inspecting() as (session, contradiction):
            found = self._store.chain.verify(session)
        if found.ok and contradiction:
            return replace(found, ok=False, problems=(contradiction,), outdated=True)
        return found

    def witness(self) -> tuple[str | None, int]:
        """Say where the witness is, None if it is off, and how many recorded changes it knows of."""
        mark = self._store.witness.latest()
        return self._store.witness.place, 0 if mark is None else mark.length

    def accept_copy(self) -> None:
        """Go on from this copy of the ledger, although its witness knows a newer or another one.

        What was spent in the changes that this copy lacks is not known. Every grant lapses, also the default one of a
        dataset that was never granted anything; every open run ends, counted as wholly spent; and no guarantee is
        stated from now on. Raises `InputError` if the witness does not contradict the ledger.
        """
        known = self._store.witness.latest()
        with self._store.writing(accepting=True) as session:
            self._verified_state(session)
            if known is None or not self._store.contradiction(session, known):
                raise InputError(
                    f"The witness knows no newer copy of the ledger {self.path}: there is nothing to accept."
                )
            row = schema.AcceptedCopyRow(
                number=queries.latest_number(session, schema.AcceptedCopyRow) + 1,
                changes=schema.journal_end(session)[0],
                witnessed=known.length,
                after_grant=queries.latest_number(session, schema.GrantRow),
                after_run=queries.latest_number(session, schema.RunRow),
                created=_now(),
            )
            self._store.chain.record(session, row)

    def _verified_state(self, session: Session) -> LedgerState:
        """Read the state of the ledger; raises `LedgerError` if the record was altered."""
        if not self._store.chain.verify(session).ok:
            raise LedgerError(f"The ledger {self.path} was altered outside dplda. See: dplda budget verify")
        return queries.load(session)

    def _state_with(self, session: Session, dataset: str) -> LedgerState:
        if dataset not in (names := queries.names(session)):
            meant = "".join(f"Did you mean {close}? " for close in get_close_matches(str(dataset), names, n=1))
            raise InputError(f"Dataset {dataset!r} is not in the ledger. {meant}See: dplda budget show")
        return self._verified_state(session)


def usual_ledger(ledger: object = None) -> Ledger:
    """Return `ledger`, or the usual one if it is None. Raises `InputError` for anything else."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger must be a Ledger, such as dplda.Ledger({str(ledger)!r}).")
    return Ledger() if ledger is None else ledger


def _new_dataset(session: Session, dataset: str) -> list[schema.Base]:
    """Make the row that declares `dataset`; empty if it is declared already."""
    return [] if session.get(schema.DatasetRow, dataset) else [schema.DatasetRow(name=dataset, created=_now())]


def _check_name(parameter: str, value: object) -> None:
    if not is_name(value):
        raise InputError(f"{parameter} must be a printable name of 1 to 200 characters, got {value!r}.")


def _plain_json(parameters: Mapping[str, Any]) -> str:
    try:
        return schema.canonical(dict(parameters))
    except (TypeError, ValueError):
        raise InputError("parameters must be plain JSON values, all numbers finite.") from None


def new_name(dataset: object) -> str:
    """Name a run or comparison: the dataset's name and eight random letters or digits, without a time."""
    slug = re.sub(r"[^a-z0-9]+", "-", str(dataset).lower()).strip("-")[:40].strip("-") or "dataset"
    return f"{slug}-{base64.b32encode(secrets.token_bytes(5)).decode().lower()}"


def _now() -> str:
    return datetime.now(UTC).isoformat()
