"""Tools for the rules: ledgers in new folders, other processes, kills at a chosen moment, and a wrong clock."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date as true_date
from datetime import datetime as true_datetime
from functools import cached_property
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import time as _true_time
from time import time_ns as _true_time_ns
from types import FrameType
from typing import Any

from dplda.audit.conformance.interface import (
    DATASET,
    EPSILON,
    BudgetLedger,
    Factory,
    Feature,
    Measure,
    Request,
    delta_of,
    share_of_budget,
)

# Shares of the budget, each less than 1.8 times the next.
_SIZES = (8.2, 4.8, 2.8, 1.65, 0.97, 0.57, 0.34, 0.2, 0.12, 0.07)
_SECONDS = 60.0  # how long another process may take
_STORAGE_CALLS = frozenset(
    {
        *("write", "writelines", "flush", "fsync", "fdatasync", "truncate", "ftruncate", "close"),
        *("replace", "rename", "link", "unlink", "remove"),
        *("execute", "executemany", "executescript", "commit", "send", "sendall"),
    }
)


class Broken(Exception):
    """The ledger breaks the rule; the message says how."""


class NotApplicable(Exception):
    """The rule says nothing about this ledger or this system; the message says why."""


@dataclass(frozen=True)
class Place:
    """Where a ledger lives."""

    folder: Path
    outside: Path  # for what it keeps elsewhere


class Harness:
    """Opens ledgers of `factory` in new folders under `root`, and makes requests by their share of the budget."""

    def __init__(self, factory: Factory, root: Path) -> None:
        self.factory = factory
        self._root = root
        self._places = 0

    @contextmanager
    def open(self, place: Place) -> Iterator[BudgetLedger]:
        """Open the ledger in `place`; close it at the end if it can be closed."""
        ledger = self.factory(place.folder, place.outside)
        try:
            yield ledger
        finally:
            getattr(ledger, "close", lambda: None)()

    def empty_place(self) -> Place:
        """Make two new folders."""
        self._places += 1
        place = Place(self._root / str(self._places) / "ledger", self._root / str(self._places) / "outside")
        for folder in (place.folder, place.outside):
            folder.mkdir(parents=True)
        return place

    def new_place(self) -> Place:
        """Make a new ledger with the grant."""
        place = self.empty_place()
        with self.open(place) as ledger:
            self.grant(ledger)
        return place

    def copy_of(self, place: Place) -> Place:
        """Copy both folders of `place`."""
        copy = self.empty_place()
        restore(place.folder, copy.folder)
        restore(place.outside, copy.outside)
        return copy

    def grant(self, ledger: BudgetLedger, dataset: str = DATASET, share: float = 1.0) -> None:
        """Grant `share` of `EPSILON`, the epsilon that every test uses."""
        ledger.grant(dataset, share * EPSILON, delta_of(self.measure))

    @cached_property
    def measure(self) -> Measure:
        """The measure in which this ledger states costs."""
        with self.open(self.empty_place()) as ledger:
            return ledger.measure

    @cached_property
    def features(self) -> frozenset[Feature]:
        """The optional features of this ledger."""
        with self.open(self.empty_place()) as ledger:
            return frozenset(ledger.features)

    def need(self, feature: Feature, absent: str) -> None:
        """Raise `NotApplicable` with the message `absent` if the ledger lacks `feature`."""
        if feature not in self.features:
            raise NotApplicable(absent)

    @cached_property
    def size(self) -> float:
        """The largest of the shares `_SIZES` of the budget that a new ledger admits.

        The next larger one, less than 1.8 times as large, was refused, so that a second release of this size does not
        fit. A ledger may keep a limit below its grant. Raises `Broken` if it admits no share that could be tested with.
        """
        for share in _SIZES:
            with self.open(self.new_place()) as ledger:
                if admits(ledger, self.request(share)):
                    return share
        raise Broken(f"a new ledger refused a release that costs {_SIZES[-1]:.0%} of its grant, and every larger one")

    def request(self, *shares: float, **changes: Any) -> Request:
        """Make a request with releases that cost these shares of the budget."""
        return replace(Request(costs=tuple(share_of_budget(share, self.measure) for share in shares)), **changes)

    def plan(self) -> Request:
        """Make a request of two releases: the first takes most of the budget, the second little.

        Once the first is charged, a request of `size` no longer fits.
        """
        return self.request(0.8 * self.size, 0.01 * self.size)

    def holds_another(self, place: Place) -> bool:
        """Whether the ledger in `place`, reopened, admits a further request of `size`. An exception counts as no."""
        try:
            with self.open(place) as ledger:
                return admits(ledger, self.request(self.size), (Exception,))
        except Exception:
            return False

    def start(self, task: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
        """Run `task(connection, *arguments)` in another process. Returns our end of the connection."""
        if os.name == "posix":  # fork from a process that has imported the adapter already
            context: Any = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(["__main__", __name__, self.factory.__module__])
        else:
            context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=task, args=(theirs, *arguments), daemon=True)
        process.start()
        theirs.close()
        return process, ours

    def result(self, task: Callable[..., None], *arguments: Any) -> Any:
        """Return the last message of `task` in another process; None if it sent none, as when it was killed.

        Raises `Broken` if the process does not end within a minute.
        """
        return _last_of(*self.start(task, *arguments))

    def race(self, task: Callable[..., None], *arguments: Any, processes: int, rounds: int) -> list[Any]:
        """Return the last message of each of several processes that run `task` and begin each round together."""
        started = [self.start(task, *arguments) for _ in range(processes)]
        for _ in range(rounds):
            for _, connection in started:
                receive(connection)
            for _, connection in started:
                connection.send("go")
        return [_last_of(process, connection) for process, connection in started]


def _last_of(process: BaseProcess, connection: Connection) -> Any:
    last = None
    try:
        while True:
            last = receive(connection)
    except EOFError:  # it has ended
        return last
    finally:
        connection.close()
        process.kill()
        process.join()


def receive(connection: Connection) -> Any:
    """Return the next message of another process.

    Raises `EOFError` if the process has ended, and `Broken` if it sends nothing for a minute.
    """
    if not connection.poll(_SECONDS):
        raise Broken(f"a process did nothing for {_SECONDS:g} seconds")
    return connection.recv()


def wait_for_others(connection: Connection) -> None:
    """Wait for the start of the next round, in a process that `Harness.race` started."""
    connection.send("ready")
    connection.recv()


def admits(ledger: BudgetLedger, request: Request, refusals: tuple[type[Exception], ...] = ()) -> bool:
    """Whether all releases of `request` can be reserved and charged. The run stays open.

    Refusals of the ledger itself and exceptions in `refusals` count as no; other exceptions are raised.
    """
    try:
        handle = ledger.reserve(request)
        for position in range(len(request.costs)):
            handle.charge(position)
    except (*ledger.refusals, *refusals):
        return False
    return True


def succeeds(call: Callable[..., object], *arguments: Any) -> bool:
    """Whether the call returns.

    Any exception counts as a failure, since a caller who releases after an exception does so knowingly.
    """
    try:
        call(*arguments)
    except Exception:
        return False
    return True


def restore(copy: Path, folder: Path) -> None:
    """Replace the contents of `folder` by those of `copy`."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(copy, folder)


@contextmanager
def storage_calls(kill_at: int | None = None) -> Iterator[list[tuple[str, str]]]:
    """Record each call that writes to a file or a database, when it begins and when it ends.

    Yields the list of these moments in order, such as ("c_call", "fsync"). With `kill_at`, the process is killed
    (SIGKILL) at the moment of this number.
    """
    moments: list[tuple[str, str]] = []

    def watch(frame: FrameType, event: str, called: Any) -> None:
        if event in ("c_call", "c_return", "c_exception") and called.__name__ in _STORAGE_CALLS:
            if len(moments) == kill_at:
                kill()
            moments.append((event, called.__name__))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield moments
    finally:
        sys.setprofile(before)


def kill() -> None:
    """End this process at once, without any clean-up."""
    os.kill(os.getpid(), signal.SIGKILL)


def spread(number: int, most: int) -> Sequence[int]:
    """Return at most `most` numbers below `number`, evenly spaced, including the first and the last."""
    if number <= most:
        return range(number)
    return sorted({round(i * (number - 1) / (most - 1)) for i in range(most)})


class _SameInstances(type):
    """A metaclass: real dates are instances of the classes that replace `datetime` and `date`."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, true_datetime if issubclass(cls, true_datetime) else true_date)


@contextmanager
def shifted_clock(seconds: float) -> Iterator[None]:
    """Shift `time.time`, `time.time_ns`, and the now and today of `datetime`, in every module that has these names.

    Clocks that other programs and libraries in C read, such as SQLite's, are not shifted.
    """
    shift = datetime.timedelta(seconds=seconds)

    class ShiftedDatetime(true_datetime, metaclass=_SameInstances):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return true_datetime.now(tz) + shift

        @classmethod
        def utcnow(cls) -> Any:
            return cls.now(datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class ShiftedDate(true_date, metaclass=_SameInstances):
        @classmethod
        def today(cls) -> Any:
            return ShiftedDatetime.now().date()

    shifted = {
        "datetime": (true_datetime, ShiftedDatetime),
        "date": (true_date, ShiftedDate),
        "time": (_true_time, lambda: _true_time() + seconds),
        "time_ns": (_true_time_ns, lambda: _true_time_ns() + round(seconds * 1e9)),
    }
    changed = [
        (module, name)
        for module in list(sys.modules.values())
        for name, (true, _) in shifted.items()
        if getattr(module, name, None) is true
    ]
    for module, name in changed:
        setattr(module, name, shifted[name][1])
    try:
        yield
    finally:
        for module, name in changed:
            setattr(module, name, shifted[name][0])
