"""Arrays of NumPy, CuPy and other libraries of the array API standard, and access to a GPU.

Functions get the namespace of their arguments from `namespace` and never name a library. Random numbers come from a
`numpy.random.Generator` and are copied to the caller's library and device, so that a seed gives the same draws
everywhere.

`Gpu` gives access to a GPU through CuPy: arrays, kernels compiled from CUDA C++, and memory. GPU code takes a `Gpu` and
never names CuPy, so that the same code runs in tests with kernels that a C++ compiler built for the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias, cast

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from dplda.base.errors import InputError

Array: TypeAlias = Any  # an array of any library; docstrings state shapes

_Kernel = Callable[..., None]  # called with (blocks,), (threads,), arguments and shared_mem in bytes
_library: ContextVar[Any] = ContextVar("library", default=np)

_SYMMETRY = 1e-8  # relative asymmetry that `rounding` tolerates at least


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace of all `arrays`; raises `InputError` for lists, or arrays of two libraries."""
    try:
        return array_api_compat.array_namespace(*arrays)
    except TypeError as error:
        raise InputError(f"need arrays of one library, NumPy or CuPy: {error}") from None


def is_whole(value: object) -> bool:
    """Whether `value` is an integer of Python or NumPy."""
    return isinstance(value, (int, np.integer))


@contextmanager
def computing_with(library: Any) -> Iterator[None]:
    """Let `to_device` make arrays of `library` instead of NumPy in a `with` block."""
    before = _library.set(library)
    try:
        yield
    finally:
        _library.reset(before)


def to_device(array: np.ndarray) -> Array:
    """Return `array`, released numbers, in the library in which this run computes (see `computing_with`)."""
    return _library.get().asarray(array)


def to_numpy(array: Array) -> np.ndarray:
    """Return `array` as a NumPy array, copied from its device if necessary."""
    return np.asarray(array.get() if array_api_compat.is_cupy_array(array) else array)


def like(values: np.ndarray, array: Array) -> Array:
    """Return the NumPy array `values` in the library, on the device and with the dtype of `array`."""
    xp = namespace(array)
    return xp.asarray(values, dtype=array.dtype, device=array_api_compat.device(array))


def standard_normal(rng: np.random.Generator, shape: tuple[int, ...], array: Array) -> Array:
    """Return independent N(0, 1) draws of `shape` in the library, on the device and with the dtype of `array`.

    Seeded floating-point noise is for study only; private releases of documents use the curator's exact noise.
    """
    return like(rng.standard_normal(shape), array)


def floats(array: Array, name: str) -> Array:
    """Return `array` in real floating point (integers become float64). `InputError` unless every entry is finite."""
    xp = namespace(array)
    if not xp.isdtype(array.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"{name} must hold real numbers, got {array.dtype}")
    if not xp.isdtype(array.dtype, "real floating"):
        array = xp.astype(array, xp.float64)
    if not bool(xp.all(xp.isfinite(array))):
        raise InputError(f"{name} must be finite, got NaN or infinity")
    return array


def rounding(A: Array) -> float:
    """Return the tolerance for the dtype of `A`: asymmetry up to this share of the largest entry counts as rounding."""
    return max(_SYMMETRY, 10 * float(namespace(A).finfo(A.dtype).eps))


def symmetric(A: Array, name: str) -> Array:
    """Return the mean of `A` (d, d) and its transpose, as floats. `InputError` unless finite, square and symmetric."""
    A = floats(A, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise InputError(f"{name} must be a square matrix, got shape {tuple(A.shape)}")
    xp = namespace(A)
    if float(xp.max(xp.abs(A - A.T))) > rounding(A) * float(xp.max(xp.abs(A))):
        raise InputError(f"{name} must be symmetric; pass (A + A.T) / 2 if that is what is meant")
    return (A + A.T) / 2


def mix_bits(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply SplitMix64's finaliser to `x`, an array or number of type uint64 (Steele, Lea and Flood, 2014).

    A bijection modulo 2^64, which compiled code may call, too.
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Gpu(Protocol):
    """A device that runs kernels."""

    xp: Any  # the namespace of its arrays
    multiprocessors: int  # their number

    def kernel(self, source: str, name: str) -> _Kernel:
        """Return the kernel `name` of `source`. Each source is compiled once."""

    def turn(self, index: int) -> AbstractContextManager[Any]:
        """Return a context manager for step `index` of a loop.

        The work of this step may overlap with the work of step `index` - 1. It starts when step `index` - 2 is done.
        """

    def finish(self) -> None:
        """Wait for all work on the device."""

    def free(self) -> int:
        """Return the number of bytes that can still be allocated."""


class _Cuda:
    """The current CUDA device. The steps of a loop alternate between two streams."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self.multiprocessors = int(properties["multiProcessorCount"])
        self._modules: dict[str, Any] = {}
        self._streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]

    def kernel(self, source: str, name: str) -> _Kernel:
        if source not in self._modules:
            self._modules[source] = self.xp.RawModule(code=source, options=("-std=c++17",))
        kernel: _Kernel = self._modules[source].get_function(name)
        return kernel

    def turn(self, index: int) -> AbstractContextManager[Any]:
        stream = self._streams[index % 2]
        stream.synchronize()
        return cast(AbstractContextManager[Any], stream)

    def finish(self) -> None:
        self.xp.cuda.Device().synchronize()

    def free(self) -> int:
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.runtime.memGetInfo()[0] + pool.free_bytes())


def find_gpu() -> Gpu:
    """Return the GPU of this process. Raises `InputError` with the reason if there is none."""
    try:
        import cupy
    except ImportError:
        raise InputError("device cuda needs CuPy: pip install 'dplda[cuda]'.") from None
    if not cupy.cuda.is_available():
        raise InputError(
            "device cuda needs an NVIDIA GPU and its driver, and CuPy finds none. Use --device cpu, or "
            "check the driver with nvidia-smi."
        )
    try:
        return _Cuda(cupy)
    except Exception as error:
        raise InputError(
            f"device cuda cannot use the GPU ({type(error).__name__}): another program may be using all "
            "of it. Stop that program, or use --device cpu."
        ) from None
