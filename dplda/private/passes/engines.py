"""Where a run makes its passes over the documents: this machine's cores, its GPU, or a cluster.

For this machine's cores, kernels are compiled in other processes while this one reads the documents. Numba compiles one
function at a time in a process, and a run needs about fifteen seconds of it, once for each version of dplda, Python and
numba on a machine. The processes share their work through numba's cache on disk; they see no data.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path

from joblib.externals.loky import ProcessPoolExecutor

from dplda.base.arrays import Gpu, computing_with, find_gpu
from dplda.base.compiled import cache_folder
from dplda.base.config import ExecutionSettings
from dplda.base.errors import InputError
from dplda.base.processes import interrupts_blocked
from dplda.base.progress import Progress
from dplda.base.threads import thread_count
from dplda.private.passes.cluster_passes import ClusterPasses, connected
from dplda.private.passes.gpu_passes import GpuPasses
from dplda.private.passes.local_passes import LocalPasses, Passes, compile_passes, in_parts
from dplda.private.statistics import Statistic
from dplda.private.statistics.gpu_sums import require_working
from dplda.private.store.count_store import CountStore

_STAGE = "compile kernels, once"
_MAX_PROCESSES = 4


@contextmanager
def compiling(statistics: Sequence[Statistic], *, here: bool = True) -> Iterator[Callable[[Progress], None]]:
    """Compile the kernels of `statistics` that the cache on disk lacks, in other processes.

    Yields a function that waits until they are compiled and reports the wait as a stage of progress. If the cache is
    not writable, no process is started, and the yielded function compiles them in this process. Leaving the context
    stops the processes. If not `here`, sums are computed elsewhere, and nothing is compiled.
    """
    kernels = [*(statistic for statistic in statistics if statistic.is_named), None]
    missing = [kernel for kernel in kernels if here and not _is_compiled(kernel)]
    if not missing:
        yield lambda progress: None
        return
    if cache_folder() is None:

        def compile_here(progress: Progress) -> None:
            progress.start(_STAGE, len(missing))
            for kernel in missing:
                _compile(kernel)
                progress.advance()

        yield compile_here
        return
    ignore = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}  # this process handles them
    pool = ProcessPoolExecutor(min(len(missing), thread_count(), _MAX_PROCESSES), **ignore)
    futures: list[Future[None]] = []
    try:
        with interrupts_blocked():
            futures.extend(pool.submit(_compile, kernel) for kernel in missing)
        yield lambda progress: _wait(futures, progress)
    finally:  # idle processes end by themselves
        pool.shutdown(kill_workers=not all(future.done() for future in futures))


def _wait(futures: Sequence[Future[None]], progress: Progress) -> None:
    progress.start(_STAGE, len(futures))
    for future in as_completed(futures):
        with suppress(Exception):  # such as a killed process: the kernel is compiled here when it is first used
            future.result()
        progress.advance()


def _compile(kernel: Statistic | None) -> None:
    """Compile the kernel of a statistic, or, if None, of votes and units, and note that the cache has it."""
    compile_passes(kernel)
    if cache_folder() is not None:
        with suppress(OSError):
            _mark(kernel).touch()


def _is_compiled(kernel: Statistic | None) -> bool:
    return cache_folder() is not None and _mark(kernel).exists()


def _mark(kernel: Statistic | None) -> Path:
    """Return an empty file in the cache folder that exists if `kernel` was compiled there."""
    return Path(str(cache_folder())) / f"{kernel.name if kernel else 'units'}.compiled"


_Engine = Callable[[CountStore], Passes]


@contextmanager
def running_engine(settings: ExecutionSettings, *, passes: int | None = None) -> Iterator[_Engine]:
    """Yield the function that makes the `Passes` of a store.

    These passes run in threads, on a GPU or on a cluster. If `passes`, the number of passes of the run, is 1, local
    passes on the CPU read the counts in parts and do not keep them in memory.

    Raises `InputError` if the scheduler or the GPU is not available. The device ``auto`` logs one warning instead if
    there is no GPU.
    """
    if settings.engine == "local":
        gpu = _gpu(settings.device)
        if gpu is None:
            yield in_parts if passes == 1 else LocalPasses
            return
        with computing_with(gpu.xp):
            yield lambda store: GpuPasses(store, gpu)
        return
    with connected(settings.scheduler) as client:
        yield lambda store: ClusterPasses(store, client)


def is_local(engine: _Engine) -> bool:
    """Whether `engine` computes on this machine's cores."""
    return engine in (LocalPasses, in_parts)


def _gpu(device: str) -> Gpu | None:
    if device == "cpu":
        return None
    try:
        gpu = find_gpu()
        require_working(gpu)
        return gpu
    except InputError as error:
        if device == "cuda":
            raise
        logging.getLogger("dplda").warning("device auto computes on the CPU: %s", error)
        return None
