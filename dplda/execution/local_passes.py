"""Passes in threads of this process.

A small store is one range of units, which stays in memory. A large store is divided into many ranges, which threads
read again in every pass, so that memory holds one range per thread, regardless of the number of documents.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from dplda.execution.passes import RANGE_BYTES, Pass, Passes, Sums, read_range
from dplda.numerics.threads import add, thread_count
from dplda.statistics.exact_moments import ExactMoments, exact_moments
from dplda.store.count_store import CountStore
from dplda.store.units import UnitCounts, UnitRange

_T = TypeVar("_T")

_IN_MEMORY_BYTES = 2**29  # size of the largest store that is kept in memory as one range


class LocalPasses(Passes):
    """Passes in threads over `n_ranges` ranges of units; None derives the number from the size of the store."""

    def __init__(self, store: CountStore, n_ranges: int | None = None) -> None:
        super().__init__(store)
        in_memory = store.n_bytes <= _IN_MEMORY_BYTES or store.path is None
        self.n_ranges = n_ranges or (1 if in_memory else -(-store.n_bytes // RANGE_BYTES))
        self._all: UnitCounts | None = None

    def use_words(self, words: tuple[str, ...]) -> None:
        """See `Passes`."""
        super().use_words(words)
        self._all = None

    def exact_moments(self, h: np.ndarray) -> ExactMoments:
        """See `Passes`."""
        return exact_moments(*self._everything().arrays, h)

    def range_counts(self, index: int) -> UnitCounts:
        """The counts of the range `index`."""
        if self.n_ranges == 1:
            return self._everything()
        return read_range(self._store, self._words, UnitRange(index, self.n_ranges))

    def _everything(self) -> UnitCounts:
        if self._all is None:
            self._all = read_range(self._store, self._words, UnitRange())
        return self._all

    def _map_ranges(self, work: Callable[..., Any], *shared: Any, per_range: Sequence[Any] | None = None) -> list[Any]:
        return list(self._results(work, shared, per_range))

    def _sum_ranges(self, work: Pass, *shared: Any, per_range: Sequence[Any] | None = None) -> Sums:
        return add(self._results(work, shared, per_range))

    def _results(self, work: Callable[..., _T], shared: Sequence[Any], per_range: Sequence[Any] | None) -> Iterable[_T]:
        threads = thread_count() if self.n_ranges == 1 else 1

        def one(index: int) -> _T:
            more = [] if per_range is None else [per_range[index]]
            return work(self.range_counts(index), threads, *shared, *more)

        return [one(0)] if self.n_ranges == 1 else in_threads(one, self.n_ranges)


def in_threads(work: Callable[[int], _T], n: int) -> Iterable[_T]:
    """Yield ``work(i)`` for i < n in order, from one thread per core, with no more results pending than threads."""
    with ThreadPoolExecutor(thread_count()) as pool:
        started: deque[Future[_T]] = deque()
        for index in range(n):
            if len(started) == thread_count():
                yield started.popleft().result()
            started.append(pool.submit(work, index))
        while started:
            yield started.popleft().result()
