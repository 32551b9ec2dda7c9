"""Compilation with numba, and a cache keyed by all source that is compiled in.

Numba invalidates a cached function only when its own file changes. If the function calls compiled functions of other
modules, or contains their constants, a correction there would have no effect: an upgrade that repairs the clipping
would keep running the old code. Therefore the cache folder is named after a digest of everything that can be compiled
in.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba.core.registry import CPUDispatcher
from platformdirs import user_cache_path

from dplda.base.software import PACKAGE, digest

_decorating = threading.RLock()  # held while numba's global cache folder is another one
# Compiled in, as code or constants.
_SOURCES = ("base/*.py", "private/statistics/*.py", "model/inference.py")


def compiled(*, keep: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile the decorated function for the CPU; it runs without the interpreter lock.

    `options` are passed to ``numba.njit``. With `keep`, the code is cached in a folder in ``$NUMBA_CACHE_DIR`` if that
    is set, else in the user's cache folder. It is compiled again in every process if the folder is not writable, or if
    the function belongs to another package: the folder is named after this package's sources only.

    Keep only functions that Python calls, always with the same types of arguments. Two processes that compile one
    function for different types at the same time can leave a cache in which numba finds one version under the types of
    the other.

    Calls between compiled functions are inlined. Otherwise a called function could exist in two versions that add
    floating-point numbers in different orders: one compiled alone, and one that the compiler inlined. Which of them
    runs would depend on what is in the cache. Inlining makes the integer sums of a corpus the same in every process.
    """
    options = {"forceinline": True, **options}

    def decorate(function: Callable[..., Any]) -> Any:
        ours = keep and function.__module__.startswith(f"{PACKAGE.name}.")
        if not keep:
            inner = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, nogil=True, **options)(function)
            if isinstance(inner, CPUDispatcher):  # not if NUMBA_DISABLE_JIT is set
                inner.__class__, inner.own_options = _Inner, {**options, "nogil": True}
            return inner
        folder = cache_folder() if ours else None
        if folder is None:
            return numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
        with _decorating:
            before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, folder  # read only when the decorator runs
            try:
                return numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True, **options)(function)
            finally:
                numba.config.CACHE_DIR = before

    return decorate


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A compiled function without entry points for Python; they would take a quarter of a kernel's compilation time.

    Python calls a second version, which is compiled when it is needed.
    """

    def __call__(self, *arguments: Any) -> Any:
        if not hasattr(self, "for_python"):
            self.for_python = numba.njit(**self.own_options)(self.py_func)
        return self.for_python(*arguments)


@cache
def cache_folder() -> str | None:
    """Return the folder of this version's code for this Python, numba and processor; None if it is not writable."""
    base = Path(numba.config.CACHE_DIR) if numba.config.CACHE_DIR else user_cache_path("dplda") / "compiled"
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    compiler = hashlib.sha256(repr((numba.__version__, sys.version, *processor)).encode()).hexdigest()[:16]
    folder = base / _sources_digest() / compiler
    try:
        for place in (*reversed(folder.parents), folder):
            place.mkdir(mode=0o700, exist_ok=True)  # `parents=True` would give only the last one this mode
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK | os.X_OK) else None


def _sources_digest() -> str:
    """Return a digest of all source that can be compiled in, 16 hexadecimal digits."""
    return digest((path for pattern in _SOURCES for path in PACKAGE.glob(pattern)), PACKAGE)[:16]
