"""An incomplete store on disk, from which the next import can resume.

.STORE.partial/origin.json   the source of the documents, see `Origin`
.STORE.partial/store         the shards written so far
.STORE.partial/lock          locked by the one process that writes
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from dplda.base.errors import InputError
from dplda.private.store.count_store import INSIDE, ORIGIN, is_store, partial_folder
from dplda.private.store.shards import (
    Checkpoint,
    Shard,
    intact_shards,
    shard_name,
    sync_folder,
    write_atomically,
    write_shard,
)

_LOCK = "lock"
Notice = Callable[[str], object]  # called with one line for the user


def silent(_: str) -> None:
    """Ignore the notice."""


class StoreLocked(InputError):
    """Another process is writing this store or has just written it."""


@dataclass(frozen=True)
class Origin:
    """The source of a store's documents: the user's `options` and the `state` of files and versions, as JSON.

    An import resumes only if both are unchanged. The keys of `state` appear in messages about what has changed.
    """

    options: Mapping[str, Any]
    state: Mapping[str, Any]


class PartialStore:
    """The partial store of `destination`, locked by this process between `open` and `close`.

    `shards` are the shards from which the import resumes: those on disk if the `origin` is the same, and none with
    `restart`. An import with other options is refused; if the corpus has changed, it starts over with a `notice`.
    Without an origin nothing is kept for a later import. `n_shards` is the number of shards on disk now.
    """

    def __init__(self, destination: Path, origin: Origin | None, *, restart: bool, notice: Notice) -> None:
        self._destination = destination
        self._origin, self._restart, self._notice = origin, restart, notice
        self.folder = partial_folder(destination)
        self.inside = self.folder / INSIDE
        self.shards: list[Shard] = []
        self.n_shards = 0

    def open(self) -> None:
        """Lock the folder and find the shards to resume from. Raises `InputError`, `StoreLocked` or `OSError`."""
        self._lock = _locked(self.folder, self._destination)
        try:
            self._resume_or_begin()
        except BaseException:
            self.close()
            raise

    @property
    def is_kept(self) -> bool:
        """Whether the next import can resume."""
        return self.n_shards > 0 and os.path.isfile(self.folder / ORIGIN)

    def add(self, batches: Sequence[Any], reached: Checkpoint) -> Shard:
        """Write the next shard."""
        path = self.inside / shard_name(self.n_shards)
        write_shard(path, batches, reached)
        self.n_shards += 1
        return Shard(path)

    def finish(self, files: Mapping[str, bytes]) -> None:
        """Complete the store by writing `files`, and move it to its destination. Must be called only once."""
        for name, content in files.items():
            _write_bytes(self.inside / name, content)
        os.rename(self.inside, self._destination)
        sync_folder(self._destination.parent)
        self.n_shards = 0

    def close(self) -> None:
        """Unlock the folder, and remove it if the next import could not resume."""
        if not self.is_kept:
            with suppress(OSError):
                self._clear()
                (self.folder / _LOCK).unlink(missing_ok=True)
                self.folder.rmdir()
        self._lock.release()

    def _resume_or_begin(self) -> None:
        """Resume from the shards on disk, or start over."""
        stopped = _read_origin(self.folder / ORIGIN)
        if stopped is not None:
            self.shards = intact_shards(self.inside)
            self.n_shards = len(self.shards)
        if os.path.exists(self._destination):
            error = StoreLocked if is_store(self._destination) else InputError
            raise error(f"{self._destination} exists already. Choose another folder, or remove it.")
        if stopped is None or not self.shards or self._restart or self._has_changed(stopped):
            self._begin()
            return
        kept = set(map(shard_name, range(self.n_shards)))
        for file in self.inside.iterdir():
            if file.name not in kept:
                file.unlink()

    def _begin(self) -> None:
        """Start over."""
        self.shards, self.n_shards = [], 0
        self._clear()
        self.inside.mkdir(mode=0o700)
        if self._origin is not None:
            _write_bytes(self.folder / ORIGIN, json.dumps(asdict(self._origin)).encode())
            sync_folder(self.folder.parent)

    def _clear(self) -> None:
        """Remove everything but the lock.

        The origin is deleted first, so that an interrupted deletion cannot be resumed as an import.
        """
        (self.folder / ORIGIN).unlink(missing_ok=True)
        for entry in self.folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:
                entry.unlink()

    def _has_changed(self, stopped: Origin) -> bool:
        """Whether the state of the source differs from `stopped`. Raises `InputError` if the options differ."""
        origin = self._origin or Origin({}, {})
        options = _differing(stopped.options, origin.options)
        if options:
            raise InputError(
                f"The import into {self._destination} that was stopped differs from this one in {', '.join(options)}. "
                "Give the same options to resume it, or --restart (restart=True) to discard it."
            )
        changed = _differing(stopped.state, origin.state)
        if changed:
            since = f"since an import into {self._destination} was stopped"
            self._notice(f"Starting over: {' and '.join(changed)} changed {since}.")
        return bool(changed)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def _read_origin(path: Path) -> Origin | None:
    """The origin of a stopped import, None if `path` is missing or damaged."""
    try:
        entry = json.loads(path.read_bytes())
        return Origin(dict(entry["options"]), dict(entry["state"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _write_bytes(path: Path, content: bytes) -> None:
    write_atomically(path, lambda file: file.write(content))


def _locked(folder: Path, destination: Path) -> FileLock:
    """Make `folder`, accessible only to its owner, and lock it. Raises `StoreLocked` if another process has done so."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        lock = FileLock(folder / _LOCK, timeout=0, mode=0o600, thread_local=False)
        try:
            _check_ours(folder)
            lock.acquire()
        except FileNotFoundError:  # the process that held it has just finished and removed it
            continue
        except Timeout:
            raise StoreLocked(
                f"Another import into {destination} is running. Wait for it, or choose another folder."
            ) from None
        return lock


def _check_ours(folder: Path) -> None:
    """Raise `InputError` if another user made `folder`, because that user could then read what is written into it."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise InputError(f"{folder} is not a folder that you own. Remove it, or choose another place for the store.")


def sweep(folder: Path, seconds: float) -> None:
    """Remove the partial stores in `folder` that no process holds and that have not changed for `seconds`."""
    for partial in folder.glob(".*.partial*"):
        with suppress(OSError, Timeout):  # another process holds it, or has just finished or removed it
            last = max(path.stat().st_mtime for path in (partial, *partial.glob(INSIDE)))
            if last < time.time() - seconds:
                with FileLock(partial / _LOCK, timeout=0, mode=0o600, thread_local=False):
                    shutil.rmtree(partial, ignore_errors=True)


def temporary_store(parent: Path) -> tuple[Path, Callable[[], None]]:
    """Destination of a store that lasts no longer than this process, in a new folder of `parent`; and its removal.

    If the process is killed, `sweep` removes the folder later.
    """
    folder = parent / f".{secrets.token_hex(8)}.partial"
    folder.mkdir(mode=0o700)
    lock = FileLock(folder / _LOCK, timeout=0, mode=0o600, thread_local=False)
    lock.acquire()
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not a process forked from it
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)

    return folder / INSIDE, remove
