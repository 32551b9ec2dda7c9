"""Passes in this process, in threads.

A small store is one shard, which stays in memory. A large one is many shards, which threads read from the store again
in every pass, so that memory holds one shard per thread, whatever the number of documents.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from dplda.execution.passes import SHARD_BYTES, Pass, Passes, Sums, moments_of, read_shard
from dplda.numerics.threads import add, thread_count
from dplda.statistics.exact_moments import ExactMoments
from dplda.store.count_store import CountStore
from dplda.store.units import Shard, UnitCounts

T = TypeVar("T")

IN_MEMORY = 2**29  # bytes of the largest store that is kept in memory as one shard


class LocalPasses(Passes):
    """Passes in threads of this process over `n_shards` of the units; None chooses by the size of the store."""

    def __init__(self, store: CountStore, n_shards: int | None = None) -> None:
        super().__init__(store)
        in_memory = store.n_bytes <= IN_MEMORY or store.path is None
        self.n_shards = n_shards or (1 if in_memory else -(-store.n_bytes // SHARD_BYTES))
        self._all: UnitCounts | None = None

    def use_words(self, words: tuple[str, ...]) -> None:
        """See `Passes`."""
        super().use_words(words)
        self._all = None

    def exact_moments(self, h: np.ndarray) -> ExactMoments:
        """See `Passes`."""
        return moments_of(self._everything(), h)

    def shard(self, index: int) -> UnitCounts:
        """The counts of a shard."""
        return self._everything() if self.n_shards == 1 else self._read(index)

    def _everything(self) -> UnitCounts:
        if self._all is None:
            self._all = read_shard(self._store, self._words, Shard())
        return self._all

    def _read(self, index: int) -> UnitCounts:
        return read_shard(self._store, self._words, Shard(index, self.n_shards))

    def _each(self, work: Callable[..., Any], *shared: Any, own: Sequence[Any] | None = None) -> list[Any]:
        return list(self._results(work, shared, own))

    def _added(self, work: Pass, *shared: Any, own: Sequence[Any] | None = None) -> Sums:
        return add(self._results(work, shared, own))

    def _results(self, work: Callable[..., T], shared: Sequence[Any], own: Sequence[Any] | None) -> Iterable[T]:
        if self.n_shards == 1:
            return [work(self._everything(), thread_count(), *shared, *([] if own is None else [own[0]]))]

        def one(index: int) -> T:
            return work(self._read(index), 1, *shared, *([] if own is None else [own[index]]))

        return in_threads(one, self.n_shards)


def in_threads(work: Callable[[int], T], n: int) -> Iterable[T]:
    """Yield ``work(i)`` for i < n in order, from one thread per core, with no more results pending than threads."""
    with ThreadPoolExecutor(thread_count()) as pool:
        started: deque[Future[T]] = deque()
        for index in range(n):
            if len(started) == thread_count():
                yield started.popleft().result()
            started.append(pool.submit(work, index))
        while started:
            yield started.popleft().result()
