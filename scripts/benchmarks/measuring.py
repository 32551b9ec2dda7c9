"""Measure work: once, in turns with other work, in a process of its own, or as a `dplda` command.

Wall-clock seconds are what a user waits for. Core-seconds are the processor time of all threads, which other work on
the machine disturbs less.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")

DPLDA = "from dplda.cli.main import main; raise SystemExit(main())"


class Run(NamedTuple, Generic[T]):
    """What some work returned, and its wall-clock and core-seconds."""

    result: T
    wall: float
    cores: float


class CommandRun(NamedTuple):
    """A finished `dplda` command: wall-clock and core-seconds, peak memory (bytes), exit status and errors."""

    wall: float
    cores: float
    memory: int
    status: int
    errors: str


class Stopped(Exception):
    """A process of its own ended without a result, or not in time."""


def core_seconds() -> float:
    """Processor time of this process and of the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def timed(work: Callable[[], T]) -> Run[T]:
    """Run `work` once."""
    start, cores = time.perf_counter(), core_seconds()
    result = work()
    return Run(result, time.perf_counter() - start, core_seconds() - cores)


def in_turns(works: Mapping[str, Callable[[], T]], repeats: int) -> dict[str, list[Run[T]]]:
    """Run all `works` one after the other, `repeats` times, so that disturbances meet all of them alike."""
    rounds = [{name: timed(work) for name, work in works.items()} for _ in range(repeats)]
    return {name: [runs[name] for runs in rounds] for name in works}


def median_wall(runs: Iterable[Run[Any]]) -> float:
    """Median wall-clock seconds."""
    return statistics.median(run.wall for run in runs)


def median_cores(runs: Iterable[Run[Any]]) -> float:
    """Median core-seconds."""
    return statistics.median(run.cores for run in runs)


def spread(seconds: Iterable[float]) -> str:
    """The median, and in parentheses the least and the most."""
    ordered = sorted(seconds)
    return f"{statistics.median(ordered):.1f} ({ordered[0]:.1f} to {ordered[-1]:.1f})"


def least(work: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """The fewest seconds of `repeats` runs by `clock`, after one that is not counted."""
    work()
    seconds = []
    for _ in range(repeats):
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)


def peak_memory() -> int:
    """Most bytes this process has held; unlike `ru_maxrss`, without what its parent held."""
    return process_status("VmHWM")


def process_status(field: str) -> int:
    """Bytes of memory that Linux reports for this process under `field`."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines[field].split()[0]) * 1024


def alone(function: Callable[..., T], *arguments: object, limit: float | None = None) -> T:
    """What `function` returns in a fresh process.

    Raises `Stopped` if the process ends without a result, or has none after `limit` seconds.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            raise Stopped(f"not ended after {limit:.0f} s")
        result: T = receiver.recv()
    except EOFError:
        process.join()
        raise Stopped(f"ended with status {process.exitcode}") from None
    finally:
        process.terminate()
        process.join()
    return result


def _send_result(sender: Connection, function: Callable[..., T], arguments: tuple[object, ...]) -> None:
    sender.send(function(*arguments))


def run_command(*arguments: str) -> CommandRun:
    """Run `dplda` with `arguments` as a process of its own."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        start = time.perf_counter()
        command = [sys.executable, "-c", DPLDA, *arguments]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors) as child:
            _, status, used = os.wait4(child.pid, 0)
            wall = time.perf_counter() - start
            child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        told = errors.read()
    return CommandRun(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, child.returncode, told)
