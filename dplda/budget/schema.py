"""The ledger's tables (SQLAlchemy), and the journal that shows whether anyone else changed them.

The schema version is SQLite's ``user_version``. A ledger of another version is refused. Whoever changes the tables
increments `SCHEMA_VERSION`.

Every row of the state tables is written by `Chain.record`, which adds it to the journal: a hash chain under the
ledger's key. `Chain.verify` replays the journal and detects changes by anyone without the key: a row of any table
changed, added or removed, anything added to the file or damaged in it, and a journal changed, reordered or cut short.
It cannot detect a new ledger and key in place of deleted ones, or changes by someone who has the key file and
recomputes the chain. An older copy in place of the newer one is intact: only the witness (`dplda.budget.database`) can
tell.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import ForeignKey, inspect
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from dplda.base.errors import LedgerError

SCHEMA_VERSION = 2
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
    batches_per_document: Mapped[int]  # declared largest number of batches of a series that hold one document


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
    grouping: Mapped[str | None]  # the code of its `GroupingRow`; null if each document is a unit
    texts: Mapped[str | None]  # the fingerprint of its texts; null if only counts were read
    texts_grouping: Mapped[str | None]  # the code of the `GroupingRow` of its texts
    batch: Mapped[str | None]  # the documents' batch in the series `dataset`
    batches_seen: Mapped[int]  # largest number of batches that hold one document, as seen when the run was bound
    id_field: Mapped[str | None]  # the column whose ids assign documents to batches
    result: Mapped[str | None]  # canonical JSON: what a run released, unless it is a model


class EventRow(Base):
    """A planned event of a run."""

    __tablename__ = "events"

    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    event: Mapped[str]  # canonical JSON of `Event.to_json`
    asked: Mapped[bool]  # whether it was charged, which is committed before its release is computed


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
    """The smallest hashes of a fingerprint's documents (a sketch), by their words or by their texts."""

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
    """An older copy of the ledger that was accepted. It made every earlier grant lapse and ended every open run."""

    __tablename__ = "accepted_copies"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    changes: Mapped[int]  # number of changes recorded in the copy
    witnessed: Mapped[int]  # number of changes that the witness knew of
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

_State = dict[tuple[str, str], dict[str, Any]]  # (table, primary key) -> row


@dataclass(frozen=True)
class Verification:
    """What a verification found; `ok` is True if there is no fault."""

    ok: bool
    length: int
    """The number of recorded changes."""
    problems: tuple[str, ...]
    """The faults, one line each."""
    outdated: bool = False
    """Whether the only fault is that the witness knows a newer or another record. The file itself is then intact."""


def canonical(value: Any) -> str:
    """Return `value` as canonical JSON. Raises `ValueError` or `TypeError` if it is not plain, finite JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def journal_end(session: Session) -> tuple[int, str]:
    """Return the number and the code of the journal's last row; 0 and an empty text if it is empty."""
    last = session.connection().exec_driver_sql("SELECT number, code FROM journal ORDER BY number DESC LIMIT 1").first()
    return (0, "") if last is None else (last.number, last.code)


class Chain:
    """The journal's hash chain: authentication codes (HMAC) under a ledger's key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        # Fingerprints use the same key; with a derived key, none can pass for a code of the journal.
        self._key = hmac.digest(key, b"dplda ledger chain", hashlib.sha256)

    def record(self, session: Session, *rows: Base) -> None:
        """Write new or changed state rows in order, with their journal rows.

        Raises `LedgerError` if the end of the journal was altered.
        """
        for _, kind in groupby(rows, type):  # one table after the other, because later rows refer to earlier ones
            session.add_all(kind)
            session.flush()
        head = session.get(HeadRow, 1)
        if head is None or self._head_problems(session, head):
            raise LedgerError("The ledger's journal was altered. See: dplda budget verify")
        for row in rows:
            values = {column.key: getattr(row, column.key) for column in inspect(type(row)).columns}
            change = canonical({"table": row.__tablename__, "row": values})
            head.length, head.code = head.length + 1, self.link(head.code, change)
            session.add(JournalRow(number=head.length, change=change, code=head.code))
        head.seal = self.seal(head.length, head.code)
        session.flush()

    def verify(self, session: Session) -> Verification:
        """Check the file and every code of the journal, replay the journal and compare the result with the tables."""
        problems = _file_problems(session)
        head = session.get(HeadRow, 1)
        problems += ["the journal's head was removed"] if head is None else self._head_problems(session, head)

        connection = session.connection()
        recorded: _State = {}
        previous, number, length = "", 0, 0
        for row in connection.exec_driver_sql("SELECT number, change, code FROM journal ORDER BY number"):
            if row.number != number + 1:
                problems.append(f"journal rows {number + 1} to {row.number - 1} were removed")
            if not hmac.compare_digest(str(row.code).encode(), self.link(previous, row.change).encode()):
                problems.append(f"journal row {row.number} was altered, added or follows a removed one")
            else:
                change = json.loads(row.change)
                recorded[_key(change["table"], change["row"])] = change["row"]
            previous, number, length = row.code, row.number, length + 1

        # Read as SQLite stores them: conversions to Python types could hide a change.
        stored: _State = {}
        for kind in STATE:
            name = kind.__tablename__
            columns = ", ".join(f'"{column.name}"' for column in Base.metadata.tables[name].columns)
            for values in connection.exec_driver_sql(f"SELECT {columns} FROM {name}").mappings():
                stored[_key(name, dict(values))] = dict(values)

        problems += [f"{table} {key!r} was removed" for table, key in recorded if (table, key) not in stored]
        for (table, key), found in stored.items():
            if (table, key) not in recorded:
                problems.append(f"{table} {key!r} is not in the journal")
            elif changed := [name for name, value in found.items() if value != recorded[table, key].get(name)]:
                problems.append(f"{table} {key!r} was altered: {', '.join(changed)}")
        return Verification(not problems, length, tuple(problems))

    def _head_problems(self, session: Session, head: HeadRow) -> list[str]:
        """List faults at the journal's end, without reading all of the journal."""
        if not hmac.compare_digest(str(head.seal).encode(), self.seal(head.length, head.code).encode()):
            return ["the journal's head was altered"]
        if (last := journal_end(session)) != (head.length, head.code):
            return [f"the journal ends at row {last[0]}, its head says {head.length}"]
        return []

    def link(self, previous: str, change: str) -> str:
        """Return the HMAC over a change and the code of the row before it."""
        return self._code("row", previous, change)

    def seal(self, length: int, code: str) -> str:
        """Return the HMAC over the journal's length and its last code."""
        return self._code("head", str(length), code)

    def mark(self, length: int, code: str) -> str:
        """Return the HMAC over a witness's mark of the journal's end."""
        return self._code("mark", str(length), code)

    def owner(self) -> str:
        """Return the code that identifies a ledger's key."""
        return self._code("owner")

    def _code(self, *parts: str) -> str:
        return hmac.new(self._key, "\n".join(map(str, parts)).encode(), hashlib.sha256).hexdigest()


def _file_problems(session: Session) -> list[str]:
    """List faults of the database file: damage, such as an index that lacks a row, and tables or triggers added."""
    connection = session.connection()
    lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
    problems = [] if lines == ["ok"] else [f"the file is damaged: {' '.join(str(line).split())}" for line in lines]
    for entity, name, text in connection.exec_driver_sql("SELECT type, name, sql FROM sqlite_master"):
        ours = name in Base.metadata.tables and str(text).split()[:2] == ["CREATE", "TABLE"]
        if not ours and not (entity == "index" and str(name).startswith("sqlite_autoindex_")):
            problems.append(f"{entity} {name!r} was added to the file")
    return problems


def _key(table: str, row: dict[str, Any]) -> tuple[str, str]:
    names = [column.name for column in Base.metadata.tables[table].primary_key]
    return table, "/".join(str(row[name]) for name in names)
