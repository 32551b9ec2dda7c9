"""Comparisons of placements: their cells and outcomes, which may be published except for times, and their log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from dplda.budget.database import Store
from dplda.budget.privacy_filter import LedgerState
from dplda.budget.schema import CellRow, canonical


class ComparisonKind(StrEnum):
    """Whether a comparison's corpus is synthetic, declared public or private.

    Runs on a private corpus are charged; models of the other corpora are measured.
    """

    PLANTED = "planted"
    """Synthetic, with known topics."""
    PUBLIC = "public"
    """Declared public by its owner."""
    PRIVATE = "private"

    @property
    def charged(self) -> bool:
        """Whether runs draw exact noise and are charged. Otherwise noise is simulated and models are measured."""
        return self is ComparisonKind.PRIVATE

    @property
    def declared_public(self) -> bool:
        """Whether the owner declared the corpus public.

        A run is then refused if the ledger has a bounded budget for its documents (`Ledger.check_public`).
        """
        return self is ComparisonKind.PUBLIC

    @property
    def why_free(self) -> str:
        """Why nothing is charged; empty if runs are charged."""
        reasons = {ComparisonKind.PLANTED: "it is synthetic", ComparisonKind.PUBLIC: "its owner declared it public"}
        return reasons.get(self, "")


@dataclass(frozen=True, order=True)
class Cell:
    """One run of a comparison's grid."""

    placement: str
    calibration: str
    epsilon: float
    """The guarantee that is requested, in nats."""
    repeat: int
    """Counts the runs with the same settings, from 0."""

    def __str__(self) -> str:
        return f"{self.placement}, {self.calibration}, epsilon {self.epsilon:g}, repeat {self.repeat}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a cell. A value that was not measured is None."""

    cell: Cell
    status: str
    """`Status.DONE`, or `Status.UNSUPPORTED` with a `message`."""
    run: str
    """The id of the run; empty without a model."""
    message: str = ""
    """Why the run made no model."""
    sound: bool = True
    """False for a run that is not private or not proven private."""
    error: float | None = None
    """The mean matched l1 error, for a corpus with planted topics."""
    coherence: float | None = None
    """NPMI@10, for a corpus declared public."""
    diversity: float | None = None
    """The share of distinct words among all topics' top ten words, for a corpus declared public."""
    bound: float | None = None
    """The bound of `dplda.learning.placements.published` on the l2 error of a topic."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Time by stage. It depends on the documents, and must not be published unless the corpus is public."""
    model: str | None = None
    """The folder of the run's model."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON without the cell."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "cell"}

    @classmethod
    def from_json(cls, cell: Cell, record: Mapping[str, Any]) -> Outcome:
        """Read what `to_json` wrote."""
        return cls(cell=cell, **record)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A grid over one corpus, and the outcomes so far."""

    name: str
    corpus: str
    """The name of the corpus."""
    kind: ComparisonKind
    parameters: Mapping[str, Any]
    """Public settings: topics, delta, unit, ..."""
    outcomes: tuple[Outcome, ...] = ()

    @property
    def simulated(self) -> bool:
        """Whether the noise was drawn from a known seed, so that no run is private."""
        return not self.kind.charged


class ComparisonLog:
    """The log of the comparison `name`: when each cell's run begins, and its outcome when it ends.

    A cell whose process died stays without an outcome; what its run was charged stays spent.
    """

    def __init__(self, store: Store, load: Callable[[Session], LedgerState], name: str) -> None:
        self._store = store
        self._load = load
        self.name = name

    def outcomes(self) -> dict[Cell, Outcome]:
        """Read the outcomes of all ended cells."""
        return {
            cell: Outcome.from_json(cell, json.loads(row.outcome))
            for cell, row in self._rows().items()
            if row.outcome is not None
        }

    def interrupted(self) -> list[Cell]:
        """List the cells that began and never ended."""
        return [cell for cell, row in self._rows().items() if row.outcome is None]

    def begin(self, cell: Cell) -> None:
        """Record that the run of `cell` is about to begin."""
        with self._store.writing() as session:
            row = self._row(session, cell)
            if row not in session:  # otherwise an interrupted run of the cell begins again
                self._store.chain.record(session, row)

    def end(self, outcome: Outcome) -> None:
        """Record the outcome of a cell; on disk when this returns."""
        with self._store.writing() as session:
            row = self._row(session, outcome.cell)
            row.outcome = canonical(outcome.to_json())
            self._store.chain.record(session, row)

    def _row(self, session: Session, cell: Cell) -> CellRow:
        """Find the row of `cell`, or make a new one."""
        key = {
            "comparison": self.name,
            "placement": cell.placement,
            "calibration": cell.calibration,
            "epsilon": float(cell.epsilon),
            "repeat": cell.repeat,
        }
        return session.get(CellRow, key) or CellRow(**key, outcome=None)

    def _rows(self) -> dict[Cell, CellRow]:
        with self._store.reading() as session:
            self._load(session)
            rows = session.scalars(select(CellRow).where(CellRow.comparison == self.name)).all()
            session.expunge_all()
        return {Cell(row.placement, row.calibration, row.epsilon, row.repeat): row for row in rows}
