"""An incomplete store on disk, from which the next import can resume.

    .STORE.partial/store    the files of the store, longer than noted where writing was stopped
    .STORE.partial/notes    what is being imported, then a line for each time that more of both files was on disk
    .STORE.partial/lock     held by the one process that writes

Bytes are on disk before the note that speaks of them. A note ends in a digest of all notes and bytes until there, and
counts only if that is the digest of what is found: what follows the last such note is cut off.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from dplda.corpus.store import DICTIONARY, DOCUMENTS, INSIDE, META, NOTES, is_store, partial_folder
from dplda.errors import InputError

LOCK = "lock"
_DOMAIN = b"dplda partial store 1"
_PART = 1 << 20  # bytes digested at once
Notice = Callable[[str], object]


def silent(_: str) -> None:
    """Take notice of nothing."""


class StoreLocked(InputError):
    """Another process is writing this store, or has just written it."""


@dataclass(frozen=True)
class Origin:
    """The source of a store's documents: the options `asked` for, and the state `found`, as JSON values.

    An import resumes only where both are the same. The names in `found` are shown as what has changed.
    """

    asked: Mapping[str, Any]
    found: Mapping[str, Any]


@dataclass(frozen=True)
class Note:
    """A checkpoint of a partial store: documents (defective ones too in `n_read`), blocks, bytes of both files."""

    n_read: int
    n_documents: int
    n_blocks: int
    defects: dict[str, int]
    ends: list[int]


class PartialStore:
    """The partial store of `destination`, held by this process until `close`.

    `notes` say what is on disk already if the import can resume: the same `origin`, and not `restart`.
    An import with other options is refused; one of a corpus that has changed starts over with a `notice`. Without an
    origin nothing is kept. Raises `InputError`, `StoreLocked` and `OSError`.
    """

    def __init__(self, destination: Path, origin: Origin | None, *, restart: bool, notice: Notice) -> None:
        self._destination = destination
        self._origin = origin
        self.folder = partial_folder(destination)
        self.inside = self.folder / INSIDE
        self.notes: list[Note] = []
        self._digest = hashlib.blake2b(_DOMAIN)
        self._held = ExitStack()
        self._held.callback(_locked(self.folder, destination).release)
        try:
            self._settle(restart, notice)
        except BaseException:
            self.close()
            raise

    def append(self, documents: bytes, words: bytes) -> None:
        """Add to both files; to be followed by `checkpoint` or `finish`."""
        for file, more in zip(self._files, (documents, words), strict=True):
            _write(file, more)
            self._digest.update(more)

    def checkpoint(self, n_read: int, n_documents: int, n_blocks: int, defects: dict[str, int]) -> None:
        """Force to disk what was added, then note it."""
        if self._origin is None:
            return
        for file in self._files:
            os.fsync(file.fileno())
        note = Note(n_read, n_documents, n_blocks, defects, [file.tell() for file in self._files])
        self._put_down(asdict(note))
        self.notes.append(note)

    def clear(self) -> None:
        """Start over."""
        self.notes = []
        self._digest = hashlib.blake2b(_DOMAIN)
        _cut(self._notes, 0)  # first, so that no note speaks of what is gone
        for file in self._files:
            _cut(file, 0)
        if self._origin is not None:
            self._put_down({"asked": self._origin.asked, "found": self._origin.found, "ends": [0, 0]})
            for folder in (self.inside, self.folder, self.folder.parent):
                _sync_folder(folder)

    def finish(self, meta: bytes) -> None:
        """Make the store whole and move it to its destination. Not to be called twice."""
        last = self._opened(self.inside / META)
        _write(last, meta)
        for file in (*self._files, last):
            os.fsync(file.fileno())
        _sync_folder(self.inside)
        os.rename(self.inside, self._destination)
        _sync_folder(self._destination.parent)
        self.notes = []

    def close(self) -> None:
        """Release the folder, and remove it unless it has notes to resume from."""
        if not self.notes:
            shutil.rmtree(self.inside, ignore_errors=True)
            with suppress(OSError):
                for name in (NOTES, LOCK):
                    (self.folder / name).unlink(missing_ok=True)
                self.folder.rmdir()
        self._held.close()

    def _settle(self, restart: bool, notice: Notice) -> None:
        """Read what is there; resume from it or start over."""
        self.inside.mkdir(mode=0o700, exist_ok=True)
        self._files = [self._opened(self.inside / name) for name in (DOCUMENTS, DICTIONARY)]
        self._notes = self._opened(self.folder / NOTES)
        head, end = self._read()
        if os.path.exists(self._destination):
            taken = StoreLocked if is_store(self._destination) else InputError
            raise taken(f"{self._destination} exists already. Choose another folder, or remove it.")
        (self.inside / META).unlink(missing_ok=True)  # of an import that was killed at its very end
        if not self.notes or restart or self._changed(head, notice):
            self.clear()
            return
        _cut(self._notes, end)
        for file, there in zip(self._files, self.notes[-1].ends, strict=True):
            _cut(file, there)

    def _read(self) -> tuple[dict[str, Any], int]:
        """What was imported, and where the last note ends that is true of the files."""
        head: dict[str, Any] = {}
        end = 0
        for line in (self.folder / NOTES).read_bytes().splitlines(keepends=True):
            entry = self._verified(line)
            if entry is None:
                break
            if head:
                self.notes.append(Note(**entry))
            head, end = head or entry, end + len(line)
        return head, end

    def _verified(self, line: bytes) -> dict[str, Any] | None:
        """The content of a line of notes, if it and the bytes it speaks of are as they were written."""
        body, _, claimed = line.rstrip(b"\n").rpartition(b" ")
        digest = self._digest.copy()
        try:
            entry = json.loads(body)
            for file, end in zip(self._files, entry["ends"], strict=True):
                _feed(digest, file, end)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        digest.update(body)
        if not line.endswith(b"\n") or digest.hexdigest().encode() != claimed:
            return None
        self._digest = digest
        return dict(entry)

    def _changed(self, head: dict[str, Any], notice: Notice) -> bool:
        """Whether what was imported is not there any more. Raises `InputError` if something else was asked for."""
        asked = {} if self._origin is None else self._origin.asked
        found = {} if self._origin is None else self._origin.found
        others = [name for name in {**head["asked"], **asked} if head["asked"].get(name) != asked.get(name)]
        if others:
            raise InputError(
                f"The import into {self._destination} that was stopped differs from this one in {', '.join(others)}. "
                "Give the same options to resume it, or --restart (restart=True) to throw it away."
            )
        changed = [name for name in {**head["found"], **found} if head["found"].get(name) != found.get(name)]
        if changed:
            since = f"since an import into {self._destination} was stopped"
            notice(f"Starting over: {' and '.join(changed)} changed {since}.")
        return bool(changed)

    def _opened(self, path: Path) -> FileIO:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._held.enter_context(FileIO(descriptor, "r+"))

    def _put_down(self, entry: dict[str, Any]) -> None:
        body = json.dumps(entry).encode()
        self._digest.update(body)
        _write(self._notes, body + b" " + self._digest.hexdigest().encode() + b"\n")
        os.fsync(self._notes.fileno())


def _locked(folder: Path, destination: Path) -> FileLock:
    """Make `folder`, for its owner only, and take its lock. Raises `StoreLocked` if another process holds it."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        lock = FileLock(folder / LOCK, timeout=0, mode=0o600, thread_local=False)
        try:
            _check_ours(folder)
            lock.acquire()
        except FileNotFoundError:  # whoever held it has just finished and removed it
            continue
        except Timeout:
            raise StoreLocked(
                f"Another import into {destination} is going on. Wait for it, or choose another folder."
            ) from None
        return lock


def _check_ours(folder: Path) -> None:
    """Raise `InputError` for a folder that somebody else put in the way, to read what would be written."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise InputError(f"{folder} is not a folder of yours. Remove it, or choose another place for the store.")


def _write(file: FileIO, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def _cut(file: FileIO, end: int) -> None:
    if file.seek(0, os.SEEK_END) != end:
        file.truncate(end)
        os.fsync(file.fileno())
    file.seek(end)


def _feed(digest: Any, file: FileIO, end: int) -> None:
    """Digest `file` from its present position to `end`, or to its own end."""
    rest = end - file.tell()
    while rest > 0 and (part := file.read(min(rest, _PART))):
        digest.update(part)
        rest -= len(part)


def sweep(folder: Path, seconds: float) -> None:
    """Remove the partial stores in `folder` that no process holds and to which nothing was added for `seconds`."""
    for partial in folder.glob(".*.partial*"):
        with suppress(OSError, Timeout):  # another process resumes it, has just finished or removed it
            last = max(place.stat().st_mtime for place in (partial, *partial.glob(NOTES)))
            if last < time.time() - seconds:
                with FileLock(partial / LOCK, timeout=0, mode=0o600, thread_local=False):
                    shutil.rmtree(partial, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot, and some folders may be written and not read
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
