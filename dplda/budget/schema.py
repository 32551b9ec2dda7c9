"""The ledger's tables (SQLAlchemy).

The schema version is SQLite's ``user_version``. A ledger of another version is refused. Whoever changes the tables
increments `SCHEMA_VERSION`.

Every row of the state tables is written by `integrity.record`, which keeps the journal.
"""

from __future__ import annotations

from sqlalchemy import ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SCHEMA_VERSION = 1
APPLICATION_ID = 0x64706C64  # "dpld": distinguishes a ledger from other SQLite databases


class Base(DeclarativeBase):
    """Base of all tables."""


class DatasetRow(Base):
    """A declared dataset name, which owns a budget."""

    __tablename__ = "datasets"

    name: Mapped[str] = mapped_column(primary_key=True)
    created: Mapped[str]  # ISO 8601, UTC


class GrantRow(Base):
    """A dataset's total grant. The latest is in force; without one it is `config.DEFAULT_GRANT`."""

    __tablename__ = "grants"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    dataset: Mapped[str] = mapped_column(ForeignKey("datasets.name"))
    epsilon: Mapped[float]
    delta: Mapped[float]
    unbounded: Mapped[bool]
    after_run: Mapped[int]  # number of the ledger's latest run when the grant was made; 0 before the first run
    created: Mapped[str]
    listed: Mapped[str | None]  # canonical JSON: rising epsilons to which the grant may be raised later
    batches_per_document: Mapped[int]  # the most batches of a series in which one document is, as declared


class RunRow(Base):
    """A run, from its reservation on; `status` is a `ledger_records.Status`."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    dataset: Mapped[str] = mapped_column(ForeignKey("datasets.name"))
    unit: Mapped[str]
    adjacency: Mapped[str]
    epsilon: Mapped[float]
    delta: Mapped[float]
    sound: Mapped[bool]
    status: Mapped[str]
    reason: Mapped[str]
    parameters: Mapped[str]  # canonical JSON
    seconds: Mapped[str]  # canonical JSON: stage -> seconds
    model: Mapped[str | None]
    fingerprint: Mapped[str | None]
    created: Mapped[str]
    grouping: Mapped[str | None]  # the code of its `GroupingRow`; none if each document is a unit
    batch: Mapped[str | None]  # the batch of the series `dataset` to which the documents belong
    batches_seen: Mapped[int]  # the most batches of the series in which documents were seen when the run was bound
    id_field: Mapped[str | None]  # the column whose ids decide to which batch a document belongs
    result: Mapped[str | None]  # canonical JSON: what a run released, if it is no model


class EventRow(Base):
    """A planned event of a run.

    `asked` is true once the event has been charged, which is committed before its release is computed.
    """

    __tablename__ = "events"

    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    event: Mapped[str]  # canonical JSON of `Event.to_json`
    asked: Mapped[bool]


class ComparisonRow(Base):
    """A comparison of placements on one corpus; the latest of a key is resumed."""

    __tablename__ = "comparisons"

    name: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    key: Mapped[str]  # identifies the corpus and the parameters
    corpus: Mapped[str]
    kind: Mapped[str]
    parameters: Mapped[str]  # canonical JSON
    created: Mapped[str]


class CellRow(Base):
    """One run of a comparison: begun, then ended with an outcome."""

    __tablename__ = "cells"

    comparison: Mapped[str] = mapped_column(ForeignKey("comparisons.name"), primary_key=True)
    placement: Mapped[str] = mapped_column(primary_key=True)
    calibration: Mapped[str] = mapped_column(primary_key=True)
    epsilon: Mapped[float] = mapped_column(primary_key=True)
    repeat: Mapped[int] = mapped_column(primary_key=True)
    outcome: Mapped[str | None]  # canonical JSON of `Outcome.to_json`; none until the cell has ended


class SketchRow(Base):
    """The smallest hashes of a fingerprint's documents (a sketch)."""

    __tablename__ = "sketches"

    fingerprint: Mapped[str] = mapped_column(primary_key=True)
    documents: Mapped[str]  # `Sketch.to_text`


class OverlapRow(Base):
    """Two corpora that share documents, detected when the later one was bound."""

    __tablename__ = "overlaps"

    earlier: Mapped[str] = mapped_column(ForeignKey("sketches.fingerprint"), primary_key=True)
    later: Mapped[str] = mapped_column(ForeignKey("sketches.fingerprint"), primary_key=True)


class GroupingRow(Base):
    """The grouping of a fingerprint's documents into units."""

    __tablename__ = "groupings"

    code: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str] = mapped_column(ForeignKey("sketches.fingerprint"))
    units: Mapped[str]  # `Sketch.members_to_text`, in the order of the sketch's documents


class DocumentIdsRow(Base):
    """The keyed ids of the documents that a run on a batch read."""

    __tablename__ = "document_ids"

    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    ids: Mapped[str]  # `codes_to_text`: 64-bit keyed hashes, ascending


class AcceptedCopyRow(Base):
    """An older copy of the ledger that was accepted, by which every earlier grant lapsed and every open run ended."""

    __tablename__ = "accepted_copies"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    changes: Mapped[int]  # recorded in the copy
    witnessed: Mapped[int]  # of which the witness knew
    after_grant: Mapped[int]  # number of the latest grant of the copy
    after_run: Mapped[int]  # number of its latest run
    created: Mapped[str]


class JournalRow(Base):
    """A change of a state row, chained to the previous change; never updated."""

    __tablename__ = "journal"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    change: Mapped[str]  # canonical JSON: {"table": ..., "row": {...}}
    code: Mapped[str]


class HeadRow(Base):
    """The journal's length and last code, sealed with the key; `owner` identifies the key."""

    __tablename__ = "head"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    length: Mapped[int]
    code: Mapped[str]
    seal: Mapped[str]
    owner: Mapped[str]


STATE: tuple[type[Base], ...] = (
    DatasetRow, GrantRow, RunRow, EventRow, ComparisonRow, CellRow, SketchRow, OverlapRow, GroupingRow,
    DocumentIdsRow, AcceptedCopyRow,
)  # fmt: skip
