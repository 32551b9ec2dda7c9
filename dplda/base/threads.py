"""Threads over ranges of units, for compiled kernels, which release the interpreter lock."""

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

_T = TypeVar("_T")


def thread_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def split(weights: np.ndarray, parts: int) -> list[tuple[int, int]]:
    """Cut 0..n into at most `parts` contiguous ranges of about equal weight; `weights` is cumulative, (n + 1,)."""
    n = len(weights) - 1
    targets = np.linspace(weights[0], weights[-1], parts + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(weights, targets), [n]]))
    return [(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def chunks(n: int, size: int) -> list[tuple[int, int]]:
    """Cut 0..n into ranges of `size`; the last may be shorter. They do not depend on the number of cores."""
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def run_ranges(work: Callable[[int, int], _T], ranges: Sequence[tuple[int, int]]) -> list[_T]:
    """Run ``work(first, last)`` for each range in one thread per core; return the results in order."""
    if len(ranges) <= 1:
        return [work(first, last) for first, last in ranges]
    with ThreadPoolExecutor(min(len(ranges), thread_count())) as pool:
        return list(pool.map(lambda pair: work(*pair), ranges))


def add(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Sum tuples of integers and integer arrays elementwise, in place in the arrays of the first tuple."""
    remaining = iter(parts)
    total = next(remaining)
    for part in remaining:
        total = tuple(
            np.add(a, b, out=a) if isinstance(a, np.ndarray) else a + b for a, b in zip(total, part, strict=True)
        )
    return total


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit matrix products to one thread, as a context manager or a decorator.

    Small products in a loop gain nothing from more threads, and become a hundred times slower when waiting threads
    share cores with other work.
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """Return the matrix libraries of NumPy and SciPy; cached, since the search takes milliseconds."""
    import scipy.linalg  # noqa: F401  (loads SciPy's)

    return ThreadpoolController()
