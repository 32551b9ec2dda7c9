"""The witness of a ledger: marks outside the ledger's file that reveal when an older copy of it was put back.

A mark is the length of the journal and the code of its last row. It is written after each change, before the call that
made the change returns, so that a mark covers everything that is released afterwards. A ledger without its latest mark
in its journal is an older copy or another ledger. A ledger that has further rows after its latest mark is accepted,
because a process may have died between writing a change and its mark.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from filelock import FileLock, Timeout
from platformdirs import user_state_path

from dplda.base.errors import LedgerError
from dplda.budget.integrity import Chain

SETTING = "DPLDA_WITNESS"
_REMEDY = f"Set {SETTING} to a folder that exists and can be written, to keyring, or to off."
_SERVICE = "dplda ledger witness"  # the name of the marks in the system's keyring
_TAIL = 4096  # bytes at the end of a file of marks that are read: about thirty marks
_SPARE = 1 << 16  # bytes that must be free before a change, so that there is room for its mark
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT


class Mark(NamedTuple):
    """The `length` of a journal and the `code` of its last row."""

    length: int
    code: str

    def to_line(self, chain: Chain) -> str:
        """The mark as a line of text, sealed with the ledger's key."""
        return f"{self.length} {self.code} {chain.mark(self.length, self.code)}"

    @classmethod
    def from_line(cls, line: str, chain: Chain) -> Mark | None:
        """The inverse of `to_line`; None if the line was not written with this key, or not completely."""
        length, _, rest = line.partition(" ")
        code, _, seal = rest.partition(" ")
        valid = length.isdecimal() and hmac.compare_digest(seal.encode(), chain.mark(int(length), code).encode())
        return cls(int(length), code) if valid else None


class _Keeper(Protocol):
    """Storage for the marks of one ledger, lines of ASCII text at `place`. Raises `LedgerError` if it fails."""

    place: str

    def lines(self) -> list[str]:
        """The latest complete lines, oldest first; empty if there is none yet."""

    def adding(self, seconds: float) -> AbstractContextManager[Callable[[str], None]]:
        """Lock out other writers, waiting at most `seconds`. Yields a function that durably adds a line."""


class Witness:
    """The marks of the ledger that has the key of `chain`, kept where `setting` says.

    `setting` is ``off``, ``keyring`` or an existing folder; if it is empty, marks are kept in the folder ``dplda`` in
    the user's state folder. `place` describes that location for messages; it is None if the witness is off. All methods
    raise `LedgerError` if the marks cannot be read or written.
    """

    def __init__(self, chain: Chain, setting: str) -> None:
        self._chain = chain
        self._keeper = _keeper(setting, chain.owner())
        self.place = None if self._keeper is None else self._keeper.place

    def latest(self) -> Mark | None:
        """The latest mark; None before the first one, and if the witness is off."""
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


def _keeper(setting: str, ledger: str) -> _Keeper | None:
    if setting == "off":
        return None
    if setting == "keyring":
        return _Keyring(ledger)
    if setting:
        return _Folder(Path(setting).expanduser().absolute(), ledger)
    return _Folder(_state_folder(), ledger, create=True)


def _state_folder() -> Path:
    return user_state_path("dplda", appauthor=False)


class _Folder:
    """An append-only file in `folder`, which the system can protect from every other change.

    With `create` the folder is made if needed. Otherwise it must exist: if a disk is not mounted, that is an error.
    """

    def __init__(self, folder: Path, ledger: str, *, create: bool = False) -> None:
        self.place = str(folder)
        self._folder = folder
        self._file = folder / f"{ledger}.marks"
        self._create = create

    def lines(self) -> list[str]:
        with _explained(self.place, "read"):
            if not self._create:
                _check(self._folder)
            try:
                with self._file.open("rb") as file:
                    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                    return file.read().decode("ascii", "replace").split("\n")[:-1]
            except FileNotFoundError:
                return []

    @contextlib.contextmanager
    def adding(self, seconds: float) -> Iterator[Callable[[str], None]]:
        with contextlib.ExitStack() as stack:
            with _explained(self.place, "written"):
                if self._create:
                    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _check(self._folder)  # the lock would create it
                stack.enter_context(_locked(self._folder, self._file.stem, seconds))
                new = not self._file.exists()
                file = stack.enter_context(open(os.open(self._file, _APPENDING, 0o600), "ab", buffering=0))
                if new:
                    _sync(self._folder)
                if shutil.disk_usage(self._folder).free < _SPARE:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            def add(line: str) -> None:
                with _explained(self.place, "written"):
                    file.write(f"\n{line}\n".encode("ascii"))  # the first line break ends a line that was cut short
                    os.fsync(file.fileno())

            yield add


class _Keyring:
    """The latest line as a secret in the system's keyring; a lock in the user's state folder orders its writers."""

    place = "the system's keyring"

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def lines(self) -> list[str]:
        with _keyring() as keyring:
            line = keyring.get_password(_SERVICE, self._ledger)
        return [] if line is None else [line]

    @contextlib.contextmanager
    def adding(self, seconds: float) -> Iterator[Callable[[str], None]]:
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


def _locked(folder: Path, name: str, seconds: float) -> AbstractContextManager[Any]:
    return FileLock(folder / f"{name}.lock", timeout=seconds, poll_interval=0.005, mode=0o600).acquire()


def _check(folder: Path) -> None:
    """Raise `OSError` if there is no such folder."""
    os.stat(os.path.join(folder, "."))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _explained(place: str, what: str) -> Iterator[None]:
    try:
        yield
    except Timeout:
        raise LedgerError("The ledger is locked by another process: try again when it has finished.") from None
    except OSError as error:
        raise LedgerError(f"The ledger's witness in {place} cannot be {what}: {error.strerror}. {_REMEDY}") from None
