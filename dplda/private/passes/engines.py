"""The choice of where a run makes its passes over the documents: this machine's cores, its GPU, or a cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dplda.base.arrays import Gpu, computing_with, find_gpu
from dplda.base.config import ExecutionSettings
from dplda.base.errors import InputError
from dplda.private.passes.cluster_passes import ClusterPasses, connected
from dplda.private.passes.gpu_passes import GpuPasses
from dplda.private.passes.passes import LocalPasses, Passes, in_parts
from dplda.private.statistics.gpu_sums import require_working
from dplda.private.store.count_store import CountStore

_Engine = Callable[[CountStore], Passes]


@contextmanager
def running_engine(settings: ExecutionSettings, *, passes: int | None = None) -> Iterator[_Engine]:
    """Context manager that yields the function which makes the `Passes` of a store.

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
