"""A GPU, through CuPy: arrays, kernels compiled from CUDA's C++, and memory.

Whatever computes on it takes a `Gpu` and names no library, so that the same code runs on hardware and, in tests, on
kernels that a C++ compiler made for the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dplda.errors import InputError

Kernel = Callable[..., None]  # of (blocks,), (threads,), arguments and shared_mem in bytes


class Gpu(Protocol):
    """A device for kernels: `xp` is the library of its arrays, `multiprocessors` the number of blocks that run at
    once."""

    xp: Any
    multiprocessors: int

    def kernel(self, source: str, name: str) -> Kernel:
        """The kernel `name` of `source`, which is compiled once."""

    def turn(self, index: int) -> AbstractContextManager[Any]:
        """Work inside the block may overlap with that of the turn before, and waits for the one before that."""

    def finish(self) -> None:
        """Wait until all that was started is done."""

    def free(self) -> int:
        """Bytes that may still be allocated."""


class Cuda:
    """The current CUDA device."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        found = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self.multiprocessors = int(found["multiProcessorCount"])
        self._modules: dict[str, Any] = {}
        self._streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]

    def kernel(self, source: str, name: str) -> Kernel:
        """See `Gpu`."""
        if source not in self._modules:
            self._modules[source] = self.xp.RawModule(code=source, options=("-std=c++17",))
        kernel: Kernel = self._modules[source].get_function(name)
        return kernel

    def turn(self, index: int) -> AbstractContextManager[Any]:
        """See `Gpu`: two streams, by turns."""
        turn: AbstractContextManager[Any] = self._streams[index % 2]
        self._streams[index % 2].synchronize()
        return turn

    def finish(self) -> None:
        """See `Gpu`."""
        self.xp.cuda.Device().synchronize()

    def free(self) -> int:
        """See `Gpu`."""
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())


def find_gpu() -> Gpu:
    """The GPU of this process. Raises `InputError` that tells why there is none."""
    try:
        import cupy
    except ImportError:
        raise InputError("device cuda needs CuPy: pip install 'dplda[cuda]'.") from None
    if not cupy.cuda.is_available():
        raise InputError("device cuda needs an NVIDIA GPU and its driver, and CuPy finds none.")
    try:
        return Cuda(cupy)
    except Exception as error:
        raise InputError(f"device cuda cannot use the GPU ({type(error).__name__}): it may be taken.") from None
