"""An incomplete store on disk, from which the next import can resume.

.STORE.partial/origin.json   what is being imported
.STORE.partial/store         the shards that are whole, and nothing else that counts
.STORE.partial/lock          held by the one process that writes
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from dplda.errors import InputError
from dplda.store.count_store import INSIDE, ORIGIN, is_store, partial_folder
from dplda.store.shards import Checkpoint, Shard, shard_name, sync_folder, whole_shards, write_shard, write_whole

LOCK = "lock"
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


class PartialStore:
    """The partial store of `destination`, held by this process until `close`.

    `shards` were on disk already if the import can resume: the same `origin`, and not `restart`. An import with other
    options is refused; one of a corpus that has changed starts over with a `notice`. Without an origin nothing is kept.
    `n_shards` counts those that are on disk. Raises `InputError`, `StoreLocked` and `OSError`.
    """

    def __init__(self, destination: Path, origin: Origin | None, *, restart: bool, notice: Notice) -> None:
        self._destination = destination
        self._origin = origin
        self.folder = partial_folder(destination)
        self.inside = self.folder / INSIDE
        self.shards: list[Shard] = []
        self.n_shards = 0
        self._lock = _locked(self.folder, destination)
        try:
            self._settle(restart, notice)
        except BaseException:
            self.close()
            raise

    @property
    def is_kept(self) -> bool:
        """Whether the next import finds something to resume from."""
        return self.n_shards > 0 and os.path.isfile(self.folder / ORIGIN)

    def add(self, batches: Sequence[Any], reached: Checkpoint) -> Shard:
        """Write the next shard."""
        path = self.inside / shard_name(self.n_shards)
        write_shard(path, batches, reached)
        self.n_shards += 1
        return Shard(path)

    def finish(self, files: Mapping[str, bytes]) -> None:
        """Make the store whole by writing `files`, and move it to its destination. Not to be called twice."""
        for name, content in files.items():
            _write_bytes(self.inside / name, content)
        os.rename(self.inside, self._destination)
        sync_folder(self._destination.parent)
        self.n_shards = 0

    def close(self) -> None:
        """Release the folder, and remove it if there is nothing to resume from."""
        if not self.is_kept:
            with suppress(OSError):
                self._clear()
                (self.folder / LOCK).unlink(missing_ok=True)
                self.folder.rmdir()
        self._lock.release()

    def _settle(self, restart: bool, notice: Notice) -> None:
        """Read what is there; resume from it or start over."""
        there = _read_origin(self.folder / ORIGIN)
        if there is not None:
            self.shards = whole_shards(self.inside)
            self.n_shards = len(self.shards)
        if os.path.exists(self._destination):
            taken = StoreLocked if is_store(self._destination) else InputError
            raise taken(f"{self._destination} exists already. Choose another folder, or remove it.")
        if there is None or not self.shards or restart or self._changed(there, notice):
            self._begin()
            return
        whole = set(map(shard_name, range(self.n_shards)))
        for place in self.inside.iterdir():
            if place.name not in whole:
                place.unlink()

    def _begin(self) -> None:
        """Start over."""
        self.shards, self.n_shards = [], 0
        self._clear()
        self.inside.mkdir(mode=0o700)
        if self._origin is not None:
            _write_bytes(self.folder / ORIGIN, json.dumps(asdict(self._origin)).encode())
            sync_folder(self.folder.parent)

    def _clear(self) -> None:
        """Remove everything but the lock, and first what says that there is something to resume from."""
        (self.folder / ORIGIN).unlink(missing_ok=True)
        for place in self.folder.iterdir():
            if place.is_dir():
                shutil.rmtree(place)
            elif place.name != LOCK:
                place.unlink()

    def _changed(self, there: Origin, notice: Notice) -> bool:
        """Whether what was imported is not there any more. Raises `InputError` if something else was asked for."""
        here = self._origin or Origin({}, {})
        others = _differing(there.asked, here.asked)
        if others:
            raise InputError(
                f"The import into {self._destination} that was stopped differs from this one in {', '.join(others)}. "
                "Give the same options to resume it, or --restart (restart=True) to throw it away."
            )
        changed = _differing(there.found, here.found)
        if changed:
            since = f"since an import into {self._destination} was stopped"
            notice(f"Starting over: {' and '.join(changed)} changed {since}.")
        return bool(changed)


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def _read_origin(path: Path) -> Origin | None:
    """What was being imported, if that is known."""
    try:
        entry = json.loads(path.read_bytes())
        return Origin(dict(entry["asked"]), dict(entry["found"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _write_bytes(path: Path, content: bytes) -> None:
    write_whole(path, lambda file: file.write(content))


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


def sweep(folder: Path, seconds: float) -> None:
    """Remove the partial stores in `folder` that no process holds and to which nothing was added for `seconds`."""
    for partial in folder.glob(".*.partial*"):
        with suppress(OSError, Timeout):  # another process resumes it, has just finished or removed it
            last = max(place.stat().st_mtime for place in (partial, *partial.glob(INSIDE)))
            if last < time.time() - seconds:
                with FileLock(partial / LOCK, timeout=0, mode=0o600, thread_local=False):
                    shutil.rmtree(partial, ignore_errors=True)
