"""Helpers for arrays of NumPy, CuPy and other libraries of the array API standard.

Functions get the namespace of their arguments from `namespace` and never name a library. Random numbers come from a
`numpy.random.Generator` and are copied to the caller's library and device, so that a seed gives the same draws
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import array_api_compat
import numpy as np

from dplda.errors import InputError

Array: TypeAlias = Any  # an array of any library; docstrings state shapes

_library: ContextVar[Any] = ContextVar("library", default=np)

_SYMMETRY = 1e-8  # relative asymmetry that `rounding` tolerates at least


def namespace(*arrays: Array) -> Any:
    """The array API namespace that all `arrays` belong to; `InputError` for lists, or arrays of two libraries."""
    try:
        return array_api_compat.array_namespace(*arrays)
    except TypeError as error:
        raise InputError(f"need arrays of one library, NumPy or CuPy: {error}") from None


def is_whole(value: object) -> bool:
    """Whether `value` is an integer of Python or NumPy."""
    return isinstance(value, (int, np.integer))


@contextmanager
def computing_with(library: Any) -> Iterator[None]:
    """Context manager in which `to_device` makes arrays of `library` instead of NumPy."""
    before = _library.set(library)
    try:
        yield
    finally:
        _library.reset(before)


def to_device(array: np.ndarray) -> Array:
    """`array`, released numbers, in the library in which this run computes (see `computing_with`)."""
    return _library.get().asarray(array)


def to_numpy(array: Array) -> np.ndarray:
    """`array` as a NumPy array, copied from its device if necessary."""
    return np.asarray(array.get() if array_api_compat.is_cupy_array(array) else array)


def like(values: np.ndarray, array: Array) -> Array:
    """The NumPy array `values` in the library, on the device and with the dtype of `array`."""
    xp = namespace(array)
    return xp.asarray(values, dtype=array.dtype, device=array_api_compat.device(array))


def standard_normal(rng: np.random.Generator, shape: tuple[int, ...], array: Array) -> Array:
    """Independent N(0, 1) draws of `shape` in the library, on the device and with the dtype of `array`.

    Seeded floating-point noise is for study only; private releases of documents use the curator's exact noise.
    """
    return like(rng.standard_normal(shape), array)


def floats(array: Array, name: str) -> Array:
    """`array` in real floating point (integers become float64); `InputError` unless every entry is finite."""
    xp = namespace(array)
    if not xp.isdtype(array.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"{name} must hold real numbers, got {array.dtype}")
    if not xp.isdtype(array.dtype, "real floating"):
        array = xp.astype(array, xp.float64)
    if not bool(xp.all(xp.isfinite(array))):
        raise InputError(f"{name} must be finite, got NaN or infinity")
    return array


def rounding(A: Array) -> float:
    """Largest asymmetry of the floating-point `A`, relative to its largest entry, that counts as rounding."""
    return max(_SYMMETRY, 10 * float(namespace(A).finfo(A.dtype).eps))


def symmetric(A: Array, name: str) -> Array:
    """`A` (d, d) in floating point, averaged with its transpose; `InputError` unless finite, square and symmetric."""
    A = floats(A, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape[0] == 0:
        raise InputError(f"{name} must be a square matrix, got shape {tuple(A.shape)}")
    xp = namespace(A)
    if float(xp.max(xp.abs(A - A.T))) > rounding(A) * float(xp.max(xp.abs(A))):
        raise InputError(f"{name} must be symmetric; pass (A + A.T) / 2 if that is what is meant")
    return (A + A.T) / 2
