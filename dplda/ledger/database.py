"""The ledger's file: its tables, its key, its transactions and its upgrades."""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from platformdirs import user_data_path
from sqlalchemy import URL, Connection, Engine, ForeignKey, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from dplda.errors import LedgerError
from dplda.ledger.integrity import Chain

SCHEMA_VERSION = 4
APPLICATION_ID = 0x64706C64  # "dpld": tells a ledger from another program's SQLite database


class Base(DeclarativeBase):
    """Base of all tables."""


class DatasetRow(Base):
    """A declared dataset name, which owns a budget."""

    __tablename__ = "datasets"

    name: Mapped[str] = mapped_column(primary_key=True)
    created: Mapped[str]  # ISO 8601, UTC


class GrantRow(Base):
    """A total grant; the latest of a dataset is in force, none means `settings.DEFAULT_GRANT`."""

    __tablename__ = "grants"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    dataset: Mapped[str] = mapped_column(ForeignKey("datasets.name"))
    epsilon: Mapped[float]
    delta: Mapped[float]
    unbounded: Mapped[bool]
    after_run: Mapped[int]  # number of the latest run at the time, of any dataset; 0 before the first
    created: Mapped[str]
    listed: Mapped[str | None]  # canonical JSON: the epsilons, rising, to which the grant may be raised later


class RunRow(Base):
    """A run: reserved when it starts, then ended with one of `records.ENDED`."""

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
    grouping: Mapped[str | None]  # the code of how documents form units; none where each is one, and before version 4


class EventRow(Base):
    """One planned event of a run, in order; `asked` (charged) is committed before anything is computed for it."""

    __tablename__ = "events"

    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    event: Mapped[str]  # canonical JSON of `Event.to_json`
    asked: Mapped[bool]


class ComparisonRow(Base):
    """A comparison of placements on one corpus; the latest of a key is the one that is resumed."""

    __tablename__ = "comparisons"

    name: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    key: Mapped[str]  # equal for equal corpora and parameters
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
    """The sketch of the documents behind a fingerprint; runs before version 3 have none.

    Sketches of version 3 hold documents of one and two words too; they are replaced when the documents are bound again.
    """

    __tablename__ = "sketches"

    fingerprint: Mapped[str] = mapped_column(primary_key=True)
    documents: Mapped[str]  # `Sketch.to_text`


class OverlapRow(Base):
    """Two corpora that share documents, found when the later of them was bound."""

    __tablename__ = "overlaps"

    earlier: Mapped[str] = mapped_column(ForeignKey("sketches.fingerprint"), primary_key=True)
    later: Mapped[str] = mapped_column(ForeignKey("sketches.fingerprint"), primary_key=True)


class GroupingRow(Base):
    """The grouping of a fingerprint's documents into units; unknown for runs before version 4."""

    __tablename__ = "groupings"

    code: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str] = mapped_column(ForeignKey("sketches.fingerprint"))
    units: Mapped[str]  # `Sketch.members_to_text`, in the order of the sketch's documents


class JournalRow(Base):
    """One change of one state row, chained to the change before it; never updated."""

    __tablename__ = "journal"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    change: Mapped[str]  # canonical JSON: {"table": ..., "row": {...}}
    code: Mapped[str]


class HeadRow(Base):
    """The journal's length and last code, sealed with the key; `owner` tells whose key that is."""

    __tablename__ = "head"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    length: Mapped[int]
    code: Mapped[str]
    seal: Mapped[str]
    owner: Mapped[str]


STATE: tuple[type[Base], ...] = (
    DatasetRow, GrantRow, RunRow, EventRow, ComparisonRow, CellRow, SketchRow, OverlapRow, GroupingRow,
)  # fmt: skip
ADDED: dict[int, tuple[type[Base], ...]] = {  # the tables that each version brought
    2: (ComparisonRow, CellRow),
    3: (SketchRow, OverlapRow),
    4: (GroupingRow,),
}
ADDED_COLUMNS: dict[int, tuple[tuple[str, str], ...]] = {
    4: (("grants", "listed"), ("runs", "grouping"))
}  # texts or NULL


BUSY_SECONDS = 5.0
KEY_BYTES = 32

_EXPLANATIONS = {
    "SQLITE_BUSY": "is locked by another process: try again when it has finished",
    "SQLITE_NOTADB": "is not a ledger: choose another file with --ledger",
    "SQLITE_READONLY": "cannot be written: check the permissions of the file and its folder",
    "SQLITE_CANTOPEN": "cannot be opened: check that its folder exists and can be written",
    "SQLITE_FULL": "cannot be written: the disk is full",
    "SQLITE_CORRUPT": "is damaged: restore it from a copy",
}


def default_path() -> Path:
    """``$DPLDA_LEDGER``, else ``ledger.db`` in the user's data folder, which is created with mode 0700."""
    if given := os.environ.get("DPLDA_LEDGER"):
        return Path(given)
    folder = user_data_path("dplda", appauthor=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"The ledger's folder {folder} cannot be made: {error.strerror}.") from None
    return folder / "ledger.db"


class Store:
    """An open ledger: `key` (32 bytes), and transactions for reading and for writing.

    No connection outlives its transaction, so a store may be used from several threads and after a fork.
    Raises `LedgerError`, one clear line, for whatever goes wrong with the files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self._engine = _engine(self.path)
        used = os.path.exists(self.key_path)  # looked at first: a key has had its ledger since before it got its name
        if not os.path.exists(self.path):
            self._check_not_lost(used)
            self._place(self.path, b"")
        with self.reading() as session:
            version = self._version(session)
        self.key = self._find_key() if version else self._create()
        self.chain = Chain(self.key)
        self._check_owner()
        if 0 < version < SCHEMA_VERSION:
            self._upgrade()
        for file in (self.path, self.key_path):
            with contextlib.suppress(PermissionError):  # someone else's file: its owner decides
                file.chmod(0o600)

    @property
    def key_path(self) -> Path:
        """The key file, beside the database."""
        return self.path.with_name(self.path.name + ".key")

    @property
    def _new_key_path(self) -> Path:
        """The key until the tables that it seals are on disk."""
        return self.path.with_name(self.path.name + ".key.new")

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that sees one state of the ledger."""
        with self._transaction("BEGIN") as session:
            yield session

    @contextlib.contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that excludes every other writer from its beginning, and is on disk once it ends."""
        with self._transaction("BEGIN IMMEDIATE") as session:
            yield session

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the lock `name`, a file beside the ledger; the system releases it when the process dies.

        Raises `LedgerError` if it is held already, here or in another process.
        """
        file = self.path.with_name(f"{self.path.name}.{name}.lock")
        try:
            lock = FileLock(file, timeout=0, mode=0o600).acquire()
        except Timeout:
            raise LedgerError("Another process is making this comparison: try again when it has finished.") from None
        except OSError as error:
            raise LedgerError(f"The lock {file} cannot be created: {error.strerror}.") from None
        with lock:
            yield

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Session]:
        try:
            with Session(self._engine.execution_options(begin=begin)) as session, session.begin():
                session.connection()
                yield session
        except DBAPIError as error:  # its text may hold a statement: only the kind of failure is passed on
            raise LedgerError(self._explain(error)) from None
        except UnicodeDecodeError:  # SQLite quotes what it cannot make sense of
            raise LedgerError(f"The ledger {self.path} {_EXPLANATIONS['SQLITE_CORRUPT']}.") from None

    def _explain(self, error: DBAPIError) -> str:
        name = str(getattr(error.orig, "sqlite_errorname", "unknown error"))
        told = (words for code, words in _EXPLANATIONS.items() if name.startswith(code))
        return f"The ledger {self.path} {next(told, f'cannot be read or written ({name})')}."

    def _version(self, session: Session) -> int:
        """The ledger's schema version, 0 if it is new; raises `LedgerError` for another file or a newer version."""
        connection = session.connection()
        version = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
        application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if application == APPLICATION_ID and version > SCHEMA_VERSION:
            raise LedgerError(
                f"The ledger {self.path} has schema {version}, newer than this program's {SCHEMA_VERSION}: "
                "upgrade dplda."
            )
        new = (application, version, tables) == (0, 0, 0)
        if not new and (application != APPLICATION_ID or version < 1):
            raise LedgerError(f"The ledger {self.path} {_EXPLANATIONS['SQLITE_NOTADB']}.")
        return version

    def _upgrade(self) -> None:
        """Bring the tables of an earlier version up to date, in one transaction with the new number."""
        with self.writing() as session:
            connection = session.connection()
            for version in range(self._version(session) + 1, SCHEMA_VERSION + 1):
                tables = [Base.metadata.tables[kind.__tablename__] for kind in ADDED[version]]
                Base.metadata.create_all(connection, tables)
                for table, column in ADDED_COLUMNS.get(version, ()):
                    connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column} VARCHAR")
                connection.exec_driver_sql(f"PRAGMA user_version = {version}")

    def _create(self) -> bytes:
        """Make the tables and the key; it gets its name once they are on disk, so that a key alone means a loss."""
        with self.writing() as session:
            if not self._version(session):  # otherwise another process was first
                self._check_not_lost(os.path.exists(self.key_path))
                if not os.path.exists(self._new_key_path):
                    self._place(self._new_key_path, secrets.token_bytes(KEY_BYTES))
                connection = session.connection()
                Base.metadata.create_all(connection)
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
                session.add(Chain(self._read_key(self._new_key_path)).begin())
        return self._find_key()

    def _check_not_lost(self, used: bool) -> None:
        if used:
            raise LedgerError(
                f"The ledger {self.path} is missing or empty, but its key is there: what was spent is lost. Restore "
                f"the ledger from a copy, or remove {self.key_path} to start over."
            )

    def _place(self, path: Path, content: bytes) -> None:
        """Create `path` with mode 0600, whole or not at all; a file that is there already stays.

        Never open the database itself for this: closing any descriptor of it would drop the locks that other
        threads of this process hold on it.
        """
        try:
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                with contextlib.suppress(FileExistsError):
                    os.link(name, path)
            finally:
                os.unlink(name)
        except OSError as error:
            raise LedgerError(f"The ledger {self.path} cannot be created: {error.strerror}.") from None

    def _find_key(self) -> bytes:
        """The key of a ledger that has tables; whoever comes first after its creation gives it its name."""
        if not os.path.exists(self.key_path):
            with contextlib.suppress(FileNotFoundError):
                self._new_key_path.rename(self.key_path)
        return self._read_key(self.key_path)

    def _read_key(self, path: Path) -> bytes:
        try:
            key = path.read_bytes()
        except OSError as error:
            raise LedgerError(
                f"The key {path} of the ledger cannot be read: {error.strerror}. "
                "Put the key that belongs to the ledger beside it."
            ) from None
        if len(key) != KEY_BYTES:
            raise LedgerError(f"The key {path} of the ledger is damaged: restore it from a copy.")
        return key

    def _check_owner(self) -> None:
        with self.reading() as session:
            head = session.get(HeadRow, 1)
            owner = "" if head is None else str(head.owner)
        if owner and not hmac.compare_digest(owner.encode(), self.chain.owner().encode()):
            raise LedgerError(f"The key {self.key_path} does not belong to the ledger {self.path}.")


def _engine(path: Path) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_SECONDS},
        poolclass=NullPool,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # this module, not the driver, says when a transaction begins

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA synchronous = EXTRA")
        connection.exec_driver_sql("PRAGMA foreign_keys = ON")
        connection.exec_driver_sql(connection.get_execution_options()["begin"])

    return engine
