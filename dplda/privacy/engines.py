"""Where a run makes its passes over the documents: on this machine's cores, on its GPU, or on a cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from dplda.compute.arrays import computing_with
from dplda.compute.gpu import Gpu, find_gpu
from dplda.errors import InputError
from dplda.moments.on_gpu import require_working
from dplda.privacy.cluster import on_cluster
from dplda.privacy.on_gpu import OnGpu
from dplda.privacy.passes import Engine, Local


@contextmanager
def passes_of(engine: str, scheduler: str | None, device: str) -> Iterator[Engine]:
    """How to make passes over a store by the engine ``local`` or ``dask`` on ``cpu``, ``cuda`` or, if it can, ``auto``.

    Raises `InputError` for a scheduler or a GPU that cannot be had. ``auto`` says in one warning why there is no GPU.
    """
    if engine == "local":
        gpu = _gpu(device)
        if gpu is None:
            yield Local
            return
        with computing_with(gpu.xp):
            yield lambda store: OnGpu(store, gpu)
        return
    if device == "cuda":
        raise InputError("device cuda is for --engine local: the workers of a cluster compute on their CPUs.")
    with on_cluster(scheduler) as running:
        yield running


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
