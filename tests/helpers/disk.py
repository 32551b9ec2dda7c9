"""The disk beneath SQLite, watched through a file system layer (VFS) of our own: what it was told, and when it says no.

A `Disk` records every write, truncation, sync and deletion, and can rebuild what a power cut may leave: what was
synced, with any part of what was not. `refuse` makes it full.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512
FULL = 13  # SQLITE_FULL
_MAIN_JOURNAL, _CREATE = 0x800, 0x4

_LIBRARY = ctypes.CDLL(_sqlite3.__file__)
_int, _pointer, _long, _text = ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p


class _Methods(ctypes.Structure):
    """``sqlite3_io_methods``."""

    _fields_ = (
        ("version", _int),
        *(
            (name, _pointer)
            for name in ("close", "read", "write", "truncate", "sync", *(f"other{i}" for i in range(13)))
        ),
    )


class _File(ctypes.Structure):
    """``sqlite3_file``."""

    _fields_ = (("methods", ctypes.POINTER(_Methods)),)


class _Vfs(ctypes.Structure):
    """``sqlite3_vfs``."""

    _fields_ = (
        *(("version", _int), ("file_size", _int), ("longest_name", _int), ("next", _pointer)),
        *(("name", _text), ("data", _pointer), ("open", _pointer), ("delete", _pointer)),
        *((f"other{i}", _pointer) for i in range(14)),
    )


_OPEN = ctypes.CFUNCTYPE(_int, _pointer, _pointer, ctypes.POINTER(_File), _int, ctypes.POINTER(_int))
_DELETE = ctypes.CFUNCTYPE(_int, _pointer, _text, _int)
_WRITE = ctypes.CFUNCTYPE(_int, _pointer, _pointer, _int, _long)
_TRUNCATE = ctypes.CFUNCTYPE(_int, _pointer, _long)
_SYNC = ctypes.CFUNCTYPE(_int, _pointer, _int)

REACHABLE = hasattr(_LIBRARY, "sqlite3_vfs_find")  # not where the interpreter hides the SQLite that it was built with
if REACHABLE:
    _LIBRARY.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)


@dataclass(frozen=True)
class Step:
    """One thing the disk was told about the file `name`, or a `mark` that a test set."""

    kind: str  # create, write, truncate, sync, delete, delete and sync, mark
    name: str
    offset: int = 0
    data: bytes = b""


@dataclass
class Disk:
    """What SQLite told the disk, in order. `refuse` says to which writes and syncs, by number, it answers 'full'."""

    steps: list[Step] = field(default_factory=list)
    refuse: Callable[[int], bool] = lambda _: False
    asked: int = 0

    def mark(self, name: str) -> None:
        """Note that something has happened by now."""
        self.steps.append(Step("mark", name))

    def full(self) -> bool:
        """Whether the next write or sync is refused."""
        self.asked += 1
        return self.refuse(self.asked - 1)

    def after(self, time: int, files: dict[str, bytes], luck: random.Random | bool) -> dict[str, bytes]:
        """A content of the files that a power cut after the first `time` steps may leave, beginning with `files`.

        Of what was not synced all is there (`luck` True), nothing (False), or any part, down to sectors of a write.
        """
        kept = {name: _Content(content) for name, content in files.items()}
        for step in self.steps[:time]:
            if step.kind == "create":
                kept[step.name] = _Content(b"", listed=False)
            elif step.kind.startswith("delete"):
                kept[step.name].deleted = True
                if step.kind == "delete and sync":
                    del kept[step.name]
            elif step.kind != "mark":
                kept[step.name].apply(step)
        return {name: content.left(luck) for name, content in kept.items() if content.there(luck)}


@dataclass
class _Content:
    """A file: what is surely on the disk, and what is on its way there."""

    sure: bytes
    listed: bool = True  # in its folder, surely
    deleted: bool = False
    pending: list[Step] = field(default_factory=list)

    def apply(self, step: Step) -> None:
        self.pending.append(step)
        if step.kind == "sync":
            self.sure, self.pending, self.listed = self.left(True), [], True

    def there(self, luck: random.Random | bool) -> bool:
        if luck is True:
            return not self.deleted
        if luck is False:
            return self.listed
        return (self.listed or _heads(luck)) and not (self.deleted and _heads(luck))

    def left(self, luck: random.Random | bool) -> bytes:
        content = bytearray(self.sure)
        for step in self.pending:
            if luck is True or (luck is not False and _heads(luck)):
                _change(content, step, len(step.data) if luck is True or _heads(luck) else _torn(step, luck))
        return bytes(content)


def _heads(luck: random.Random) -> bool:
    return luck.random() < 0.5


def _torn(step: Step, luck: random.Random) -> int:
    return min(len(step.data), SECTOR * luck.randrange(1 + len(step.data) // SECTOR))


def _change(content: bytearray, step: Step, written: int) -> None:
    if step.kind == "truncate":
        del content[step.offset :]
    elif written and step.kind == "write":
        content.extend(bytes(max(0, step.offset + written - len(content))))
        content[step.offset : step.offset + written] = step.data[:written]


@contextmanager
def watched(disk: Disk) -> Iterator[Disk]:
    """Let every connection that SQLite opens meanwhile use `disk`."""
    below = _LIBRARY.sqlite3_vfs_find(None)
    above = _Vfs.from_buffer_copy(below.contents)
    layer = _Layer(disk, below)
    above.name = f"watched {next(_numbers)}".encode()
    above.open, above.delete = (ctypes.cast(call, _pointer).value for call in (layer.open, layer.delete))
    assert _LIBRARY.sqlite3_vfs_register(ctypes.byref(above), 1) == 0
    _kept.append((above, layer))  # SQLite holds their addresses
    try:
        yield disk
    finally:
        _LIBRARY.sqlite3_vfs_unregister(ctypes.byref(above))


_numbers = itertools.count()
_kept: list[object] = []


class _Layer:
    """The calls of the layer: each tells `disk` and passes on to the file system `below`."""

    def __init__(self, disk: Disk, below: ctypes._Pointer[_Vfs]) -> None:
        self._disk = disk
        self._below = below
        self._names: dict[int, str] = {}
        self._tables: dict[int, _Methods] = {}
        self._calls: list[object] = []
        self._open_below, self._delete_below = _OPEN(below.contents.open), _DELETE(below.contents.delete)
        self.open, self.delete = _OPEN(self._open), _DELETE(self._delete)

    def _open(self, _: int, name: int | None, file: ctypes._Pointer[_File], flags: int, out: object) -> int:
        path = Path(ctypes.string_at(name).decode()) if name else None  # SQLite keeps the address: pass on that
        new = path is not None and not path.exists()
        status = self._open_below(ctypes.cast(self._below, _pointer), name, file, flags, out)
        if status == 0 and path is not None:
            address = ctypes.addressof(file.contents)
            self._names[address] = path.name
            if new and flags & _MAIN_JOURNAL and flags & _CREATE:
                self._disk.steps.append(Step("create", path.name))
            file.contents.methods = ctypes.pointer(self._watching(file.contents.methods))
        return status

    def _delete(self, _: int, name: bytes, synced: int) -> int:
        status = self._delete_below(ctypes.cast(self._below, _pointer), name, synced)
        if status == 0:
            self._disk.steps.append(Step("delete and sync" if synced else "delete", Path(name.decode()).name))
        return status

    def _watching(self, methods: ctypes._Pointer[_Methods]) -> _Methods:
        """A copy of `methods` whose writing ones are recorded, made once."""
        origin = ctypes.addressof(methods.contents)
        if origin not in self._tables:
            table = _Methods.from_buffer_copy(methods.contents)
            write, truncate, sync = _WRITE(table.write), _TRUNCATE(table.truncate), _SYNC(table.sync)

            def on_write(file: int, data: int, size: int, offset: int) -> int:
                if self._disk.full():
                    return FULL
                step = Step("write", self._names[file], offset, ctypes.string_at(data, size))
                return self._told(step, write(file, data, size, offset))

            def on_truncate(file: int, size: int) -> int:
                return self._told(Step("truncate", self._names[file], size), truncate(file, size))

            def on_sync(file: int, flags: int) -> int:
                return FULL if self._disk.full() else self._told(Step("sync", self._names[file]), sync(file, flags))

            calls = [_WRITE(on_write), _TRUNCATE(on_truncate), _SYNC(on_sync)]
            self._calls += calls
            table.write, table.truncate, table.sync = (ctypes.cast(call, _pointer).value for call in calls)
            self._tables[origin] = table
        return self._tables[origin]

    def _told(self, step: Step, status: int) -> int:
        if status == 0:
            self._disk.steps.append(step)
        return status
