"""The ledger: which run may spend what on which dataset, decided and written in one transaction."""

from __future__ import annotations

import base64
import hmac
import math
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from dplda.accounting.accountant import NOTHING
from dplda.accounting.events import Event
from dplda.config import ADJACENCIES, DEFAULT_GRANT, RANGES, Range, check_choice
from dplda.errors import InputError, LedgerError
from dplda.ledger import comparisons, integrity, queries
from dplda.ledger.comparisons import ComparisonLog
from dplda.ledger.database import Store, default_path
from dplda.ledger.filters import LedgerState, admit, admit_public
from dplda.ledger.integrity import Verification, canonical
from dplda.ledger.ledger_records import RESERVED, DatasetRecord, HistoryRecord, PlannedEvent, Quote, RunRecord
from dplda.ledger.reservation import Reservation
from dplda.ledger.schema import Base, ComparisonRow, DatasetRow, EventRow, GrantRow, RunRow
from dplda.store.sketches import Fingerprint

GRANT_RANGES = {
    "epsilon": Range(low=1e-6, high=1000.0, unit="nats, total for the dataset"),
    "delta": Range(low=1e-15, high=0.1, unit="probability"),
}


class Ledger:
    """The record of budgets in one SQLite file, made if absent; safe for several processes at once.

    Without `path` it is ``$DPLDA_LEDGER``, else ``ledger.db`` in the user's data folder. `key` is 32 secret
    bytes kept beside it, for fingerprints and the journal. Every method raises `LedgerError` if the file is
    locked for more than five seconds or cannot be read, written or trusted.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._store = Store(Path(path) if path is not None else default_path())
        self.path = self._store.path
        self.key = self._store.key

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, here or in another process, is the same ledger opened again, or an error; never another one."""
        return _reopened, (str(self.path), self._store.chain.owner())

    def reserve(
        self,
        *,
        dataset: str,
        unit: str,
        adjacency: str,
        epsilon: float,
        delta: float,
        events: Sequence[Event],
        parameters: Mapping[str, Any],
        sound: bool,
        run: str | None = None,
    ) -> Reservation:
        """Reserve the cost of `events`, the run's whole plan; on disk when this returns.

        `epsilon` (nats) and `delta` are what the user asked for, `parameters` plain JSON, `sound` False for a
        run that is not private or not proven private, `run` its id, by default a `new_name`. Raises `BudgetRefused`,
        with nothing written, if the budget does not allow it, and `InputError` for values out of range.
        """
        _check_name("dataset", dataset)
        _check_name("unit", unit)
        check_choice("adjacency", adjacency, ADJACENCIES)
        RANGES["epsilon"].check("epsilon", epsilon)
        RANGES["delta"].check("delta", delta)
        run = new_name(dataset) if run is None else run
        _check_name("run", run)
        with self._store.writing() as session:
            state = self._trusted(session)
            if any(known.id == run for known in state.runs):
                raise InputError(f"the ledger has a run {run!r} already.")
            row = RunRow(
                id=run,
                number=queries.latest_run(session) + 1,
                dataset=dataset,
                unit=unit,
                adjacency=adjacency,
                epsilon=float(epsilon),
                delta=float(delta),
                sound=sound,
                status=RESERVED,
                reason="",
                parameters=_plain_json(parameters),
                seconds=canonical({}),
                created=_now(),
            )
            plan = tuple(PlannedEvent(event=event, charged=False) for event in events)
            admit(state, queries.run_record(row, plan))
            self._record(session, *_declared(session, dataset), row, *_event_rows(row.id, events))
            return Reservation(self._store, self._trusted, row.id, tuple(events))

    def quote(
        self, *, dataset: str, unit: str, adjacency: str, delta: float, plans: Sequence[Sequence[Event]], sound: bool
    ) -> Quote:
        """What runs of these `plans`, each at `delta`, would cost in all beside what the dataset has left.

        Writes nothing. `sound` is False if one of them is not private or not proven private. Raises `BudgetRefused`
        if the budget does not allow all of them.
        """
        _check_name("dataset", dataset)
        with self._store.reading() as session:
            state = self._trusted(session)
        whole = RunRecord(
            id="",
            number=len(state.runs) + 1,
            dataset=dataset,
            unit=unit,
            adjacency=adjacency,
            epsilon=math.inf,
            delta=delta,
            sound=sound,
            status=RESERVED,
            reason="",
            parameters={},
            seconds={},
            model=None,
            fingerprint=None,
            created=datetime.now(UTC),
            plan=tuple(PlannedEvent(event=event, charged=False) for plan in plans for event in plan),
        )
        if plans:
            admit(state, whole, len(plans))
        return Quote(dataset=queries.dataset_record(state, dataset), cost=whole.cost if plans else NOTHING)

    def check_public(self, dataset: str, fingerprint: Fingerprint) -> None:
        """Raise `BudgetRefused` if `dataset`, or another that shares documents with it, has a bounded budget.

        For documents that are declared public; those the ledger has never seen are free. Writes nothing.
        """
        with self._store.reading() as session:
            state = self._trusted(session)
            admit_public(state, dataset, [fingerprint.code, *queries.overlapping(session, fingerprint)])

    def lock(self, key: str) -> AbstractContextManager[None]:
        """Hold an exclusive lock on the comparisons of `key`. Raises `LedgerError` if another process holds it."""
        return self._store.lock(key[:16])

    def comparison(self, key: str) -> ComparisonLog | None:
        """The latest comparison of `key`, which stands for a corpus and parameters; None if there is none."""
        with self._store.reading() as session:
            self._trusted(session)
            name = comparisons.latest(session, key)
        return None if name is None else ComparisonLog(self._store, self._trusted, name)

    def begin_comparison(self, *, key: str, corpus: str, kind: str, parameters: Mapping[str, Any]) -> ComparisonLog:
        """A new comparison, without cells yet; `parameters` are plain JSON. An earlier one of `key` is kept."""
        _check_name("corpus", corpus)
        with self._store.writing() as session:
            self._trusted(session)
            row = ComparisonRow(
                name=new_name(corpus),
                number=comparisons.next_number(session),
                key=key,
                corpus=corpus,
                kind=kind,
                parameters=_plain_json(parameters),
                created=_now(),
            )
            self._record(session, row)
            return ComparisonLog(self._store, self._trusted, row.name)

    def grant(
        self,
        dataset: str,
        epsilon: float = DEFAULT_GRANT[0],
        delta: float = DEFAULT_GRANT[1],
        unbounded: bool = False,
        listed: Sequence[float] = (),
    ) -> None:
        """Let `dataset` spend `epsilon` (nats) at `delta` in total, in place of its earlier grant.

        `listed` are larger epsilons, rising, to which it may be raised later at the same delta: raising a grant after
        outputs were seen keeps a guarantee only if the level was listed before the first (docs/privacy.md, rule 17).
        `unbounded` is for public or synthetic documents. Raises `InputError` for values out of range, and for `listed`
        levels of a dataset that has outputs: it is too late for them.
        """
        _check_name("dataset", dataset)
        GRANT_RANGES["delta"].check("delta", delta)
        for value in (epsilon, *listed):
            GRANT_RANGES["epsilon"].check("epsilon", value)
        if any(higher <= lower for lower, higher in pairwise((epsilon, *listed))) or (unbounded and listed):
            raise InputError("listed levels must rise from epsilon, and an unbounded grant has none.")
        with self._store.writing() as session:
            if listed and self._trusted(session).charged((dataset,)):
                raise InputError(
                    f"Totals can be listed (--then) only before the first output, and dataset {dataset!r} has outputs: "
                    "a total listed now would guarantee nothing. Leave them out."
                )
            row = GrantRow(
                number=queries.latest_grant(session) + 1,
                dataset=dataset,
                epsilon=float(epsilon),
                delta=float(delta),
                unbounded=unbounded,
                after_run=queries.latest_run(session),
                created=_now(),
                listed=canonical([float(level) for level in listed]) if listed else None,
            )
            self._record(session, *_declared(session, dataset), row)

    def runs(self) -> list[RunRecord]:
        """All runs, oldest first."""
        with self._store.reading() as session:
            return list(self._trusted(session).runs)

    def run(self, run: str) -> RunRecord:
        """The run of this id or beginning of an id; raises `InputError` if there is not exactly one."""
        runs = self.runs()
        found = [r for r in runs if r.id == run] or [r for r in runs if run and r.id.startswith(run)]
        if len(found) != 1:
            problem = "is the beginning of several runs" if found else "is not in the ledger"
            raise InputError(f"Run {run!r} {problem}. See: dplda runs")
        return found[0]

    def datasets(self) -> list[DatasetRecord]:
        """All datasets, by name."""
        with self._store.reading() as session:
            state = self._trusted(session)
            return [queries.dataset_record(state, name) for name in queries.names(session)]

    def dataset(self, name: str) -> DatasetRecord:
        """One dataset; raises `InputError` if the ledger does not know it."""
        with self._store.reading() as session:
            return queries.dataset_record(self._known(session, name), name)

    def history(self, dataset: str) -> list[HistoryRecord]:
        """Grants and runs of `dataset` in order; raises `InputError` if the ledger does not know it."""
        with self._store.reading() as session:
            return queries.history(self._known(session, dataset), dataset)

    def verify(self) -> Verification:
        """Whether every row is what this package wrote; see `dplda.ledger.integrity` for what escapes it."""
        with self._store.reading() as session:
            return integrity.verify(session, self._store.chain)

    def _trusted(self, session: Session) -> LedgerState:
        """The state, once the whole record is verified: nothing is decided or reported from an altered record."""
        if not integrity.verify(session, self._store.chain).ok:
            raise LedgerError(f"The ledger {self.path} was altered outside dplda. See: dplda budget verify")
        return queries.load(session)

    def _known(self, session: Session, dataset: str) -> LedgerState:
        if dataset not in queries.names(session):
            raise InputError(f"Dataset {dataset!r} is not in the ledger. See: dplda budget show")
        return self._trusted(session)

    def _owned_by(self, owner: str) -> bool:
        return hmac.compare_digest(self._store.chain.owner(), owner)

    def _record(self, session: Session, *rows: Base) -> None:
        integrity.record(session, self._store.chain, *rows)


def _reopened(path: str, owner: str) -> Ledger:
    ledger = Ledger(path) if os.path.exists(path) else None
    if ledger is None or not ledger._owned_by(owner):
        raise LedgerError(f"{path} is not the ledger that was copied or pickled. Open the one you mean: Ledger(path).")
    return ledger


def _declared(session: Session, dataset: str) -> list[Base]:
    """The row that declares `dataset`, unless it is declared."""
    known = session.get(DatasetRow, dataset) is not None
    return [] if known else [DatasetRow(name=dataset, created=_now())]


def _event_rows(run: str, events: Sequence[Event]) -> list[EventRow]:
    texts = [canonical(event.to_json()) for event in events]
    return [EventRow(run=run, position=i, event=text, asked=False) for i, text in enumerate(texts)]


def _check_name(parameter: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip() or len(value) > 200 or not value.isprintable():
        raise InputError(f"{parameter} must be a printable name of 1 to 200 characters, got {value!r}.")


def _plain_json(parameters: Mapping[str, Any]) -> str:
    try:
        return canonical(dict(parameters))
    except (TypeError, ValueError):
        raise InputError("parameters must be plain JSON values, all numbers finite.") from None


def new_name(dataset: object) -> str:
    """A name with no time in it, for a run or comparison: the dataset's and eight random letters or digits."""
    slug = re.sub(r"[^a-z0-9]+", "-", str(dataset).lower()).strip("-")[:40].strip("-") or "dataset"
    return f"{slug}-{base64.b32encode(secrets.token_bytes(5)).decode().lower()}"


def _now() -> str:
    return datetime.now(UTC).isoformat()
