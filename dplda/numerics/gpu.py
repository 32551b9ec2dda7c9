"""Access to a GPU through CuPy: arrays, kernels compiled from CUDA C++, and memory.

GPU code takes a `Gpu` and never names CuPy. So the same code runs on hardware and, in tests, with kernels that a C++
compiler built for the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast

from dplda.errors import InputError

_Kernel = Callable[..., None]  # called with (blocks,), (threads,), arguments and shared_mem in bytes


class Gpu(Protocol):
    """A device that runs kernels.

    `xp` is the namespace of its arrays, `multiprocessors` the number of its multiprocessors.
    """

    xp: Any
    multiprocessors: int

    def kernel(self, source: str, name: str) -> _Kernel:
        """The kernel `name` of `source`. Each source is compiled once."""

    def turn(self, index: int) -> AbstractContextManager[Any]:
        """Context manager for step `index` of a loop.

        Its work may overlap with that of step `index` - 1, and starts after that of step `index` - 2.
        """

    def finish(self) -> None:
        """Wait for all work on the device."""

    def free(self) -> int:
        """Number of bytes that can still be allocated."""


class _Cuda:
    """The current CUDA device."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self.multiprocessors = int(properties["multiProcessorCount"])
        self._modules: dict[str, Any] = {}
        self._streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]

    def kernel(self, source: str, name: str) -> _Kernel:
        """See `Gpu`."""
        if source not in self._modules:
            self._modules[source] = self.xp.RawModule(code=source, options=("-std=c++17",))
        kernel: _Kernel = self._modules[source].get_function(name)
        return kernel

    def turn(self, index: int) -> AbstractContextManager[Any]:
        """See `Gpu`. Steps alternate between two streams."""
        stream = self._streams[index % 2]
        stream.synchronize()
        return cast(AbstractContextManager[Any], stream)

    def finish(self) -> None:
        """See `Gpu`."""
        self.xp.cuda.Device().synchronize()

    def free(self) -> int:
        """See `Gpu`."""
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())


def find_gpu() -> Gpu:
    """The GPU of this process. Raises `InputError` with the reason if there is none."""
    try:
        import cupy
    except ImportError:
        raise InputError("device cuda needs CuPy: pip install 'dplda[cuda]'.") from None
    if not cupy.cuda.is_available():
        raise InputError("device cuda needs an NVIDIA GPU and its driver, and CuPy finds none.")
    try:
        return _Cuda(cupy)
    except Exception as error:
        raise InputError(f"device cuda cannot use the GPU ({type(error).__name__}): it may be taken.") from None
