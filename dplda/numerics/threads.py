"""Work over blocks of units in threads; compiled kernels release the interpreter lock."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def thread_count() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def split(weights: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Cut 0..n into at most `parts` contiguous ranges of about equal sum; `weights` is cumulative, (n + 1,)."""
    n = len(weights) - 1
    targets = np.linspace(weights[0], weights[-1], parts + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(weights, targets), [n]]))
    return [(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def run_ranges(work: Callable[[int, int], T], ranges: Sequence[tuple[int, int]]) -> list[T]:
    """Call ``work(first, last)`` for each range, one thread a core, results in order."""
    if len(ranges) <= 1:
        return [work(first, last) for first, last in ranges]
    with ThreadPoolExecutor(min(len(ranges), thread_count())) as pool:
        return list(pool.map(lambda pair: work(*pair), ranges))


def add(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The sum of tuples of whole numbers and arrays of them, into those of the first."""
    remaining = iter(parts)
    total = next(remaining)
    for part in remaining:
        total = tuple(_plus(a, b) for a, b in zip(total, part, strict=True))
    return total


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray):
        a += b
        return a
    return a + b


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let matrix products inside the block use one thread.

    Small products in a loop gain nothing from more, and lose a hundredfold when threads that wait for each other
    share cores with other work.
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """NumPy's and SciPy's matrix libraries; looked for once, since a search takes milliseconds."""
    import scipy.linalg  # noqa: F401  (loads SciPy's)

    return ThreadpoolController()
