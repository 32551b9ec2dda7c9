"""Passes over the private counts: sums over all units. Only the curator makes passes.

A pass maps one portion of the units to integer sums, which are added across portions, or to numbers in the order of the
units. Integer addition makes the result independent of how units are divided into portions. On this machine a small
store is one portion, which stays in memory. A large one is many portions, which threads read from the store again in
every pass, so that memory holds one portion per thread, whatever the number of documents.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

import numpy as np

from dplda.compute.threads import add, run_ranges, split, thread_count
from dplda.corpus.store import CountStore
from dplda.corpus.units import Portion, UnitCounts, all_words, project
from dplda.moments.clipped_sums import accumulate, count_eligible
from dplda.moments.contributions import Contribution

T = TypeVar("T")
Pass = Callable[..., T]  # arguments: UnitCounts, a number of threads, and more

KEPT = 2**29  # bytes of the largest store that is kept in memory as one portion
SPENT = "What was charged before stays spent."  # ends the messages of passes that fail
READ = 2**26  # approximate bytes of a portion of a larger store


class Passes(Protocol):
    """Passes over the counts of one store, in one place of execution."""

    def use(self, words: Sequence[str]) -> None:
        """Project on these words from now on; the store's whole dictionary before."""

    def each(self, work: Pass[T], *given: Any, own: Sequence[Any] | None = None) -> list[T]:
        """The results of `work` on each portion, in the order of the units; `own` holds an extra argument for each."""

    def added(self, work: Pass[tuple[Any, ...]], *given: Any) -> tuple[Any, ...]:
        """The sum of the results of `work` over all portions."""

    def whole(self) -> UnitCounts:
        """The counts of all units."""


Engine = Callable[[CountStore], Passes]


class Local:
    """Passes in this process, in threads; `portions` of the units, by the size of the store if None."""

    def __init__(self, store: CountStore, portions: int | None = None) -> None:
        self._store = store
        self.portions = portions or (1 if store.n_bytes <= KEPT or store.path is None else -(-store.n_bytes // READ))
        self._words: Sequence[str] | None = None
        self._kept: UnitCounts | None = None

    def use(self, words: Sequence[str]) -> None:
        """See `Passes`."""
        self._words, self._kept = words, None

    def each(self, work: Pass[T], *given: Any, own: Sequence[Any] | None = None) -> list[T]:
        """See `Passes`."""
        return list(self._each(work, given, own))

    def added(self, work: Pass[tuple[Any, ...]], *given: Any) -> tuple[Any, ...]:
        """See `Passes`."""
        return add(self._each(work, given, None))

    def whole(self) -> UnitCounts:
        """See `Passes`."""
        if self._kept is None:
            self._kept = portion_of(self._store, self._words, Portion())
        return self._kept

    def portion(self, index: int) -> UnitCounts:
        """The counts of a portion."""
        return self.whole() if self.portions == 1 else self._read(index)

    def _read(self, index: int) -> UnitCounts:
        return portion_of(self._store, self._words, Portion(index, self.portions))

    def _each(self, work: Pass[T], given: Sequence[Any], own: Sequence[Any] | None) -> Iterable[T]:
        if self.portions == 1:
            return [work(self.whole(), thread_count(), *given, *([] if own is None else [own[0]]))]

        def one(index: int) -> T:
            return work(self._read(index), 1, *given, *([] if own is None else [own[index]]))

        return in_threads(one, self.portions)


def in_threads(work: Callable[[int], T], n: int) -> Iterable[T]:
    """Yield ``work(i)`` for i < n in order, from one thread a core, with no more results pending than threads."""
    with ThreadPoolExecutor(thread_count()) as pool:
        started: deque[Future[T]] = deque()
        for index in range(n):
            if len(started) == thread_count():
                yield started.popleft().result()
            started.append(pool.submit(work, index))
        while started:
            yield started.popleft().result()


def portion_of(store: CountStore, words: Sequence[str] | None, portion: Portion) -> UnitCounts:
    """The counts of the portion's units over `words`, or the whole dictionary."""
    return all_words(store, portion) if words is None else project(store, words, portion)


def units(counts: UnitCounts, threads: int) -> int:
    """The number of units."""
    return counts.n_units


def eligible(counts: UnitCounts, threads: int) -> tuple[int]:
    """The number of units that have an eligible document."""
    c = counts
    ranges = split(c.entries_before_unit(), threads)
    return (sum(run_ranges(lambda a, b: int(count_eligible(c.indptr, c.counts, c.unit_ptr, a, b)), ranges)),)


def unit_norms(counts: UnitCounts, threads: int, contribution: Contribution, chosen: np.ndarray) -> np.ndarray:
    """Exact unclipped norms of the units `chosen` (int64), -1 where no document is eligible."""
    found = np.empty(len(chosen))
    _run(counts, threads, contribution, chosen, 1.0, found)
    return found


def clipped_sum(counts: UnitCounts, threads: int, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
    """Exact integer sum of clipped contributions (n_rows, width), and of their mass coordinates."""
    nothing = np.zeros(contribution.shape, np.int64), 0
    total, mass = add([nothing, *_run(counts, threads, contribution, np.arange(counts.n_units), clip, np.empty(0))])
    return total, mass


def _run(
    counts: UnitCounts, threads: int, contribution: Contribution, chosen: np.ndarray, clip: float, found: np.ndarray
) -> list[tuple[np.ndarray, int]]:
    """Sum the units `chosen` in threads, or fill `found` with their norms if it is as long."""
    c, f = counts, contribution
    given = [_read_only(array) for array in (c.indptr, c.words, c.counts, c.unit_ptr, chosen, f.scale, f.matrix)]
    indptr, words, entry_counts, unit_ptr, chosen, scale, matrix = given

    def work(first: int, last: int) -> tuple[np.ndarray, int]:
        total = np.zeros(f.shape, np.int64)
        mass = accumulate(
            f.kind, indptr, words, entry_counts, unit_ptr, chosen[first:last],
            scale, matrix, f.directions, f.alpha, clip, total, found[first:last],
        )  # fmt: skip
        return total, int(mass)

    before = c.entries_before_unit()
    entries = np.concatenate([[0], np.cumsum(before[chosen + 1] - before[chosen])])
    return run_ranges(work, split(entries, threads))


def _read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view. Arrays from a network are read-only, and a second kind of array would be compiled again."""
    view = array.view()
    view.flags.writeable = False
    return view
