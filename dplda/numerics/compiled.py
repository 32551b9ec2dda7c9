"""Compilation with numba, and a cache that is keyed by all source that is compiled in.

Numba judges a cached function by its own file alone. A function that calls compiled functions of other modules,
or holds their constants, would therefore outlive a correction there: an upgrade that repairs the clipping would
keep running the old one. Here the cache's folder is named after everything that can be compiled in.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from platformdirs import user_cache_path

PACKAGE = Path(__file__).resolve().parents[1]
SOURCES = (
    "numerics/*.py",
    "statistics/*.py",
    "config.py",
)  # compiled in, as code or constants


def compiled(*, keep: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for the CPU, without the interpreter lock; `options` are those of ``numba.njit``.

    The result is kept in ``$NUMBA_CACHE_DIR``, else in the user's cache folder. Where neither can be written, without
    `keep`, and outside this package, whose sources alone name the folder, it is compiled again in every process.

    Whatever compiled code calls is inlined: left a function, it would be compiled alone and once more inside its
    caller, with sums in another order, and which one is called would depend on what came from the cache. So a corpus
    has the same integer sums in every process.
    """
    options = {"forceinline": True, **options}

    def decorate(function: Callable[..., Any]) -> Any:
        ours = keep and function.__module__.startswith(f"{PACKAGE.name}.")
        folder, before = _folder() if ours else None, numba.config.CACHE_DIR
        if folder is None:
            return numba.njit(nogil=True, **options)(function)
        numba.config.CACHE_DIR = folder  # read when the decorator runs, and only then
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        finally:
            numba.config.CACHE_DIR = before

    return decorate


@cache
def _folder() -> str | None:
    base = Path(numba.config.CACHE_DIR) if numba.config.CACHE_DIR else user_cache_path("dplda") / "compiled"
    folder = base / digest(path for pattern in SOURCES for path in PACKAGE.glob(pattern))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK | os.X_OK) else None


def digest(paths: Iterable[Path]) -> str:
    """Hexadecimal digest of the files' contents and names, in any order."""
    parts = sorted(hashlib.sha256(path.name.encode() + b"\0" + path.read_bytes()).digest() for path in paths)
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]
