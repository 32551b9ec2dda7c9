"""The ledger's two files, an SQLite database and its key, and the witness that reveals an older copy of them.

SQLite's journal mode is DELETE rather than WAL: between transactions the whole ledger is one file that can be copied,
and it needs no shared memory. With ``synchronous=EXTRA`` a commit is on disk, the folder entry included, when the call
returns. A decision and its record share one ``BEGIN IMMEDIATE`` transaction, so that no two processes can spend the
same remaining budget.

The witness keeps marks outside the ledger's folder. A mark is the length of the journal and the code of its last row.
It is written after each change, before the call that made the change returns, so that a mark covers everything that is
released afterwards. A ledger without its latest mark in its journal is an older copy or another ledger. A ledger that
has further rows after its latest mark is accepted, because a process may have died between writing a change and its
mark.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout
from platformdirs import user_data_path, user_state_path
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dplda.base.errors import LedgerError
from dplda.base.interrupts import interrupts_postponed
from dplda.budget.schema import APPLICATION_ID, SCHEMA_VERSION, Base, Chain, HeadRow, journal_end

SETTING = "DPLDA_WITNESS"
_REMEDY = f"Set {SETTING} to a folder that exists and can be written, to keyring, or to off."
_SERVICE = "dplda ledger witness"  # the name of the marks in the system's keyring
_TAIL = 4096  # bytes at the end of a file of marks that are read: about thirty marks
_SPARE = 1 << 16  # bytes that must be free before a change, so that there is room for its mark
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT
_BUSY_SECONDS = 5.0  # how long a transaction waits for a lock of another process
_KEY_BYTES = 32  # length of the ledger's key

_EXPLANATIONS = {
    "SQLITE_BUSY": "is locked by another process: try again when it has finished",
    "SQLITE_NOTADB": "is not a ledger: choose another file with --ledger",
    "SQLITE_READONLY": "cannot be written: check the permissions of the file and its folder",
    "SQLITE_CANTOPEN": "cannot be opened: check that its folder exists and can be written",
    "SQLITE_FULL": "cannot be written: the disk is full",
    "SQLITE_CORRUPT": "is damaged: restore it from a copy",
}


def default_path() -> Path:
    """Return ``$DPLDA_LEDGER``, else ``ledger.db`` in the user's data folder, which is created with mode 0700."""
    if path := os.environ.get("DPLDA_LEDGER"):
        return Path(path)
    folder = user_data_path("dplda", appauthor=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"The ledger's folder {folder} cannot be created: {error.strerror}. Name another ledger "
            "with --ledger or $DPLDA_LEDGER."
        ) from None
    return folder / "ledger.db"


class Store:
    """An open ledger file: its `key` (32 bytes), and transactions for reading and for writing.

    No connection outlives its transaction, so that a store may be used from several threads and after a fork. Every
    fault of the files, and a copy that is older than `witness` knows, raises `LedgerError` with one clear line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()
        self.key_path = self.path.with_name(self.path.name + ".key")
        # The key file's name until the tables that the key seals are on disk.
        self._new_key_path = self.path.with_name(self.path.name + ".key.new")
        self._engine = _engine(self.path)
        key_exists = os.path.exists(self.key_path)  # checked first: another process creates the ledger before its key
        if not os.path.exists(self.path):
            self._check_not_lost(key_exists)
            self._place(self.path, b"")
        with self._transaction("BEGIN") as session:
            version = self._version(session)
        self.key = self._find_key() if version else self._create()  # it is committed with the tables

        self.chain = Chain(self.key)
        with self._transaction("BEGIN") as session:
            head = session.get(HeadRow, 1)
            owner = "" if head is None else str(head.owner)
        if owner and not hmac.compare_digest(owner.encode(), self.chain.owner().encode()):
            raise LedgerError(
                f"The key {self.key_path} does not belong to the ledger {self.path}. Restore both "
                "files from the same copy."
            )

        self.witness = Witness(self.chain, os.environ.get(SETTING, ""))
        for file in (self.path, self.key_path):
            with contextlib.suppress(PermissionError):  # another user's file: its owner decides
                file.chmod(0o600)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """Begin a transaction that sees one state of the ledger."""
        with self.inspecting() as (session, fault):
            if fault:
                raise LedgerError(fault)
            yield session

    @contextlib.contextmanager
    def inspecting(self) -> Iterator[tuple[Session, str]]:
        """Begin a transaction that sees one state; also yield why the witness contradicts it, if it does."""
        mark = self.witness.latest()  # first: what commits between the two only makes the ledger longer
        with self._transaction("BEGIN") as session:
            yield session, self.contradiction(session, mark)

    @contextlib.contextmanager
    def writing(self, *, accepting: bool = False) -> Iterator[Session]:
        """Begin a transaction that excludes every other writer.

        When it ends, the change is on disk, and the witness has a mark of it. If the mark cannot be written after the
        commit, the change stays and `LedgerError` is raised. With `accepting`, the witness may contradict the ledger at
        the beginning; the mark that is written at the end makes them agree.
        """
        with interrupts_postponed(), self.witness.adding(_BUSY_SECONDS) as add:
            mark = self.witness.latest()
            with self._transaction("BEGIN IMMEDIATE") as session:
                if (fault := self.contradiction(session, mark)) and not accepting:
                    raise LedgerError(fault)
                yield session
                session.flush()
                end = Mark(*journal_end(session))
            if end.length and end != mark:  # after the commit: a mark of a change that is lost would refuse the ledger
                add(end)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the exclusive lock `name`, a file in the ledger's folder; the system releases it if the process dies.

        Raises `LedgerError` if this or another process holds it.
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

    def contradiction(self, session: Session, mark: Mark | None) -> str:
        """Explain why `mark` does not belong to this ledger's past; empty if it does, or if there is no mark."""
        if mark is None:
            return ""
        query = "SELECT code FROM journal WHERE number = ?"
        if session.connection().exec_driver_sql(query, (mark.length,)).scalar() == mark.code:
            return ""
        if not self.chain.verify(session).ok:
            return f"The ledger {self.path} was altered outside dplda. See: dplda budget verify"
        (length, _), place = journal_end(session), self.witness.place
        found = f"is an older copy: it has {length} recorded changes, and its witness in {place} knows of {mark.length}"
        if length >= mark.length:
            found = f"is another copy than its witness in {place} knows: they differ at change {mark.length} or before"
        return (
            f"The ledger {self.path} {found}. What was spent since is missing here. Put back the newest copy, or, if "
            "it is lost: dplda budget accept-copy"
        )

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Session]:
        try:
            options = self._engine.execution_options(begin=begin)
            with interrupts_postponed(), Session(options) as session, session.begin():
                session.connection()
                yield session
        except DBAPIError as error:  # its text may quote a statement: only the kind of failure is reported
            name = str(getattr(error.orig, "sqlite_errorname", "unknown error"))
            texts = (text for code, text in _EXPLANATIONS.items() if name.startswith(code))
            explained = next(texts, f"cannot be read or written ({name})")
            raise LedgerError(f"The ledger {self.path} {explained}.") from None
        except UnicodeDecodeError:  # SQLite quotes what it cannot decode
            raise LedgerError(f"The ledger {self.path} {_EXPLANATIONS['SQLITE_CORRUPT']}.") from None

    def _version(self, session: Session) -> int:
        """Read the ledger's schema version, 0 if it is new; raises `LedgerError` for another file or version."""
        connection = session.connection()
        version = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
        application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if application == APPLICATION_ID and version not in (0, SCHEMA_VERSION):
            raise LedgerError(
                f"The ledger {self.path} has schema {version}, and this version of dplda reads schema "
                f"{SCHEMA_VERSION} only. Use the version that wrote it, or choose another file with --ledger."
            )
        new = (application, version, tables) == (0, 0, 0)
        if not new and (application != APPLICATION_ID or version < 1):
            raise LedgerError(f"The ledger {self.path} {_EXPLANATIONS['SQLITE_NOTADB']}.")
        return version

    def _create(self) -> bytes:
        """Create the tables and the key.

        The key gets its final name after the tables are on disk. A key without a ledger thus means a lost ledger.
        """
        with self._transaction("BEGIN IMMEDIATE") as session:
            if not self._version(session):  # otherwise another process has created them
                self._check_not_lost(os.path.exists(self.key_path))
                if not os.path.exists(self._new_key_path):
                    self._place(self._new_key_path, secrets.token_bytes(_KEY_BYTES))
                connection = session.connection()
                Base.metadata.create_all(connection, checkfirst=False)
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
                chain = Chain(self._read_key(self._new_key_path))
                session.add(HeadRow(id=1, length=0, code="", seal=chain.seal(0, ""), owner=chain.owner()))
        return self._find_key()

    def _check_not_lost(self, key_exists: bool) -> None:
        if key_exists:
            raise LedgerError(
                f"The ledger {self.path} is missing or empty, but its key is there: what was spent is lost. Restore "
                f"the ledger from a copy, or remove {self.key_path} to start over."
            )

    def _place(self, path: Path, content: bytes) -> None:
        """Create `path` with mode 0600 and all of `content`, or not at all; an existing file stays.

        Never open the database itself here: closing any descriptor of it would drop the locks that other threads of
        this process hold on it.
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
        """Read the key of a ledger that has tables; give it its final name if `_create` was interrupted."""
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
                "Put the ledger's key in the folder of the ledger."
            ) from None
        if len(key) != _KEY_BYTES:
            raise LedgerError(f"The key {path} of the ledger is damaged: restore it from a copy.")
        return key


def _engine(path: Path) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _BUSY_SECONDS},
        poolclass=NullPool,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # this module, not the driver, begins transactions

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA synchronous = EXTRA")
        connection.exec_driver_sql("PRAGMA foreign_keys = ON")
        connection.exec_driver_sql(connection.get_execution_options()["begin"])

    return engine


class Mark(NamedTuple):
    """The end of a journal, which tells whether another journal continues it."""

    length: int
    """The number of its rows."""
    code: str
    """The code of its last row."""

    def to_line(self, chain: Chain) -> str:
        """Write the mark as a line of text, sealed with the ledger's key."""
        return f"{self.length} {self.code} {chain.mark(self.length, self.code)}"

    @classmethod
    def from_line(cls, line: str, chain: Chain) -> Mark | None:
        """Read a line of `to_line`; None if it was not written with this key, or not completely."""
        length, _, rest = line.partition(" ")
        code, _, seal = rest.partition(" ")
        valid = length.isdecimal() and hmac.compare_digest(seal.encode(), chain.mark(int(length), code).encode())
        return cls(int(length), code) if valid else None


class Witness:
    """The marks of the ledger that has the key of `chain`, kept where `setting` says.

    `setting` is ``off``, ``keyring`` or an existing folder; if it is empty, marks are kept in the folder ``dplda`` in
    the user's state folder. `place` describes that location for messages; it is None if the witness is off. All methods
    raise `LedgerError` if the marks cannot be read or written.
    """

    def __init__(self, chain: Chain, setting: str) -> None:
        self._chain = chain
        self._keeper: _Folder | _Keyring | None = None
        if setting == "keyring":
            self._keeper = _Keyring(chain.owner())
        elif setting != "off":
            folder = Path(setting).expanduser().absolute() if setting else _state_folder()
            self._keeper = _Folder(folder, chain.owner(), create=not setting)
        self.place = None if self._keeper is None else self._keeper.place

    def latest(self) -> Mark | None:
        """Return the latest mark; None before the first one, and if the witness is off."""
        lines = [] if self._keeper is None else self._keeper.lines()
        marks = [mark for mark in (Mark.from_line(line, self._chain) for line in lines) if mark is not None]
        if any(lines) and not marks:
            raise LedgerError(
                f"The ledger's witness in {self.place} is damaged: no mark in it is this ledger's. Restore it, or "
                f"remove it to trust the ledger as it is. It is named {self._chain.owner()}."
            )
        return marks[-1] if marks else None

    @contextlib.contextmanager
    def adding(self, seconds: float) -> Iterator[Callable[[Mark], None]]:
        """Lock out other writers, waiting at most `seconds`. Yields a function that durably adds a mark."""
        if self._keeper is None:
            yield lambda _: None
        else:
            with self._keeper.adding(seconds) as add:
                yield lambda mark: add(mark.to_line(self._chain))


class _Folder:
    """The marks of one ledger, in an append-only file in `folder`, which the system can protect from other changes.

    With `create` the folder is made if needed. Otherwise it must exist: if a disk is not mounted, that is an error.
    """

    def __init__(self, folder: Path, ledger: str, *, create: bool) -> None:
        self.place = str(folder)
        self._folder = folder
        self._file = folder / f"{ledger}.marks"
        self._create = create

    def lines(self) -> list[str]:
        """Return the latest complete lines, oldest first; empty if there is none yet."""
        with _explained(self.place, "read"):
            if not self._create:
                os.stat(os.path.join(self._folder, "."))  # raises if there is no such folder
            try:
                with self._file.open("rb") as file:
                    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                    return file.read().decode("ascii", "replace").split("\n")[:-1]
            except FileNotFoundError:
                return []

    @contextlib.contextmanager
    def adding(self, seconds: float) -> Iterator[Callable[[str], None]]:
        """Lock out other writers, waiting at most `seconds`. Yields a function that durably adds a line."""
        with contextlib.ExitStack() as stack:
            with _explained(self.place, "written"):
                if self._create:
                    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.stat(os.path.join(self._folder, "."))  # the lock would create the folder
                stack.enter_context(_locked(self._folder, self._file.stem, seconds))
                new = not self._file.exists()
                file = stack.enter_context(open(os.open(self._file, _APPENDING, 0o600), "ab", buffering=0))
                if new:  # the folder's entry must be on disk, too
                    descriptor = os.open(self._folder, os.O_RDONLY)
                    try:
                        os.fsync(descriptor)
                    finally:
                        os.close(descriptor)
                if shutil.disk_usage(self._folder).free < _SPARE:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            def add(line: str) -> None:
                with _explained(self.place, "written"):
                    file.write(f"\n{line}\n".encode("ascii"))  # the first line break ends a line that was cut short
                    os.fsync(file.fileno())

            yield add


class _Keyring:
    """The latest mark as a secret in the system's keyring; a lock in the user's state folder orders its writers."""

    place = "the system's keyring"

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def lines(self) -> list[str]:
        """See `_Folder`."""
        with _keyring() as keyring:
            line = keyring.get_password(_SERVICE, self._ledger)
        return [] if line is None else [line]

    @contextlib.contextmanager
    def adding(self, seconds: float) -> Iterator[Callable[[str], None]]:
        """See `_Folder`."""
        with contextlib.ExitStack() as stack:
            with _explained(str(_state_folder()), "written"):
                _state_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
                stack.enter_context(_locked(_state_folder(), self._ledger, seconds))
            self._set(f"{self._ledger} test", "writable")
            yield lambda line: self._set(self._ledger, line)

    def _set(self, name: str, value: str) -> None:
        with _keyring() as keyring:
            keyring.set_password(_SERVICE, name, value)
            if keyring.get_password(_SERVICE, name) != value:  # as of the backend that keeps nothing
                raise LedgerError(f"{self.place.capitalize()} does not keep the ledger's marks. {_REMEDY}")


@contextlib.contextmanager
def _keyring() -> Iterator[Any]:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise LedgerError(f"{SETTING}=keyring needs a package. Install it with: pip install 'dplda[keyring]'") from None
    try:
        yield keyring
    except KeyringError as error:
        raise LedgerError(f"The system's keyring cannot be used ({type(error).__name__}). {_REMEDY}") from None


def _state_folder() -> Path:
    return user_state_path("dplda", appauthor=False)


def _locked(folder: Path, name: str, seconds: float) -> AbstractContextManager[Any]:
    return FileLock(folder / f"{name}.lock", timeout=seconds, poll_interval=0.005, mode=0o600).acquire()


@contextlib.contextmanager
def _explained(place: str, what: str) -> Iterator[None]:
    try:
        yield
    except Timeout:
        raise LedgerError("The ledger is locked by another process: try again when it has finished.") from None
    except OSError as error:
        raise LedgerError(f"The ledger's witness in {place} cannot be {what}: {error.strerror}. {_REMEDY}") from None
