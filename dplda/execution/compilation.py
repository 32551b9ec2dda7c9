"""Compiling the kernels of a run in other processes, while this one reads the documents.

Numba compiles one function at a time in a process, and a run needs about fifteen seconds of it, once for each version
of dplda, Python and numba on a machine. The processes share their work through numba's cache on disk; they see
no data.
"""

from __future__ import annotations

import hashlib
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path

import llvmlite.binding
import numba
from joblib.externals.loky import ProcessPoolExecutor

from dplda.execution.passes import compile_passes
from dplda.numerics.compiled import cache_folder
from dplda.numerics.threads import thread_count
from dplda.progress import Progress
from dplda.statistics import Statistic

STAGE = "compile kernels, once"
_COUNTING = "counting"  # the kernel of votes and of eligible units, which every run needs
_MAX_PROCESSES = 4
Wait = Callable[[Progress], None]


@contextmanager
def compiling(statistics: Sequence[Statistic], *, here: bool = True) -> Iterator[Wait]:
    """Compile in other processes those kernels of `statistics` that the cache on disk lacks.

    Yields a function that waits until they are compiled and reports that as a stage. If the cache is not writable, this
    function compiles them in this process. Leaving the context stops the processes. If not `here`, sums are computed
    elsewhere, and nothing is compiled.
    """
    names = [_COUNTING, *(statistic.name for statistic in statistics if statistic.is_named)]
    missing = [name for name in names if here and not _is_compiled(name)]
    if not missing:
        yield lambda progress: None
        return
    if cache_folder() is None:
        yield lambda progress: _compile_here(missing, progress)
        return
    pool = ProcessPoolExecutor(min(len(missing), thread_count(), _MAX_PROCESSES), initializer=_ignore_interrupts)
    try:
        futures = [pool.submit(_compile, name) for name in missing]
        yield lambda progress: _wait(futures, progress)
    finally:
        pool.shutdown(kill_workers=True)


def _wait(futures: Sequence[Future[None]], progress: Progress) -> None:
    progress.start(STAGE, len(futures))
    for future in as_completed(futures):
        with suppress(Exception):  # such as a killed process: the kernel is compiled here when it is first used
            future.result()
        progress.advance()


def _compile_here(names: Sequence[str], progress: Progress) -> None:
    progress.start(STAGE, len(names))
    for name in names:
        _compile(name)
        progress.advance()


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles interrupts


def _compile(name: str) -> None:
    """Compile the kernel `name`, and note that the cache has it."""
    compile_passes(None if name == _COUNTING else pkgutil.resolve_name(name))
    with suppress(OSError, TypeError):
        _mark(name).touch()


def _is_compiled(name: str) -> bool:
    return cache_folder() is not None and _mark(name).exists()


def _mark(name: str) -> Path:
    """An empty file in the cache folder that exists if `name` was compiled there for this processor."""
    binding = llvmlite.binding
    features = binding.get_host_cpu_features().flatten()
    parts = (name, numba.__version__, sys.version, binding.get_host_cpu_name(), features)
    return Path(str(cache_folder())) / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.compiled"
