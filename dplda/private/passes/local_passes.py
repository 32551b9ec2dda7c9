"""Passes over the private counts: sums over all units. Only the curator makes passes.

A pass maps one range of units to integer sums, which are added across ranges. Integer addition makes the result
independent of how units are divided into ranges.

`LocalPasses` computes in threads of this process. A small store is one range of units, which stays in memory. A large
store is divided into many ranges, which threads read again in every pass, so that memory holds one range per thread,
regardless of the number of documents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from dplda.base.arrays import Gpu
from dplda.base.progress import NoProgress, Progress
from dplda.base.threads import add, one_blas_thread, run_ranges, split, thread_count
from dplda.private.attributes import Answers, Attribute, TableRows
from dplda.private.statistics import Contribution, Statistic
from dplda.private.statistics.clipping import clip_bins
from dplda.private.statistics.exact_moments import ExactMoments, exact_moments
from dplda.private.statistics.statistic import equal_weights
from dplda.private.statistics.third_moment_products import ProductSums, sums_of
from dplda.private.statistics.unit_sums import UnitSums, count_eligible, read_only
from dplda.private.statistics.word_votes import count_votes, word_hashes
from dplda.private.store.count_store import CountStore
from dplda.private.store.units import UnitCounts, UnitRange, all_words, answers_of, project, units_of_groups

SPENT = "What was charged before stays spent."  # the last sentence of the errors that failing passes raise
_T = TypeVar("_T")
RANGE_BYTES = 2**26  # approximate size of a range of a large store
_IN_MEMORY_BYTES = 2**29  # size of the largest store that is kept in memory as one range
_SLICE_UNITS = 20_000
Sums = tuple[Any, ...]  # integers and integer arrays
Pass = Callable[..., Sums]  # takes the `UnitCounts` of a range, a number of threads, and more arguments
# Prepared once per contribution, not for each range.
_sums_of: Callable[..., UnitSums | ProductSums] = lru_cache(maxsize=2)(sums_of)


class Passes(ABC):
    """Passes over the counts of one store. All results are exact and private.

    Subclasses decide where ranges are kept and where they are summed. Consecutive ranges contain consecutive units.
    """

    _gpu: Gpu | None = None  # which takes matrix products

    def __init__(self, store: CountStore) -> None:
        self._store = store
        self._words: tuple[str, ...] | Answers | None = None
        self._rows: TableRows | None = None
        self._sizes: list[int] = []
        self.progress: Progress = NoProgress()

    @property
    def dictionary(self) -> list[str]:
        """All words of the store."""
        return self._store.dictionary

    def use_words(self, words: tuple[str, ...] | Answers | None, rows: TableRows | None = None) -> None:
        """Project the counts on `words`; None, as before the first call, stands for all words of the store.

        With `rows`, documents fall into the rows of a table. With `Answers`, the documents' answers take the place of
        their words.
        """
        self._words, self._rows, self._sizes = words, rows, []

    def count_group_votes(self, attribute: Attribute, most: int) -> tuple[dict[str, int], int]:
        """Count the votes for each group by `attribute`, and those that a group of all documents would receive.

        A unit votes for at most `most` groups, as it votes for words in `count_votes`.
        """
        votes: dict[str, int] = {}
        full = 0
        for names, counted, weight in self._group_votes(attribute, most):
            full += weight
            for name, vote in zip(names, counted.tolist(), strict=True):
                votes[name] = votes.get(name, 0) + vote
        return votes, full

    @abstractmethod
    def _group_votes(self, attribute: Attribute, most: int) -> Iterable[tuple[list[str], np.ndarray, int]]:
        """Return the result of `group_votes` for each range."""

    def count_votes(self) -> tuple[np.ndarray, int]:
        """Count the votes for each word, (n_words,), and those that a word in every document would receive."""
        words = self.dictionary if self._words is None else self._words
        if isinstance(words, Answers):
            raise ValueError("documents vote for words, not for answers")
        votes, full = self._sum_ranges(count_votes, word_hashes(words))
        return votes, full

    def count_units(self) -> int:
        """Count the units with a document of at least `MINIMUM_LENGTH` tokens among the words in use."""
        return int(self._sum_ranges(_count_eligible)[0])

    def n_units(self) -> int:
        """Return the number of units with an eligible document (`Block.eligible`), whatever the words in use."""
        return sum(self._range_sizes())

    def clip_histogram(self, contribution: Contribution, sampled: np.ndarray) -> np.ndarray:
        """Return the histogram of the norms of some units, in which each unit counts as B (see `clip_bins`).

        `sampled` (n,), int64, are the indices of these units, ascending. For the norms see `UnitSums.norms`.
        """
        first = np.cumsum([0, *self._range_sizes()])
        cuts = pairwise(np.searchsorted(sampled, first))
        chosen = [sampled[a:b] - start for start, (a, b) in zip(first, cuts, strict=False)]
        return np.asarray(self._histogram(contribution, chosen))

    def largest_norm(self, contribution: Contribution) -> float:
        """Return the largest norm (see `UnitSums.norms`) of a unit; 0 if no unit is eligible."""
        return max(self._map_ranges(_largest_norm, contribution), default=0.0)

    def clipped_sum(self, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        """Return the integer sum of clipped contributions, (n_rows, width), and the sum of their mass coordinates.

        The latter is the divisor of means (`statistics.clipping.quantise`).
        """
        return _sums_of(contribution, self._gpu).finish(self._sum_ranges(_clipped_sum, contribution, clip, self._gpu))

    @abstractmethod
    def exact_moments(self, h: np.ndarray) -> ExactMoments:
        """Return the unclipped moments m, E2 and E3(., ., h) over the words in use, for the placement ``config4``.

        The third moment is contracted in one mode with the public vector `h` (n_words,), whose entries are in [0, 1].
        """

    @abstractmethod
    def _map_ranges(self, work: Callable[..., Any], *shared: Any, per_range: Sequence[Any] | None = None) -> list[Any]:
        """Return ``work(counts, threads, *shared)`` for each range, in order.

        `per_range` contains one more argument for each range.
        """

    @abstractmethod
    def _sum_ranges(self, work: Pass, *shared: Any, per_range: Sequence[Any] | None = None) -> Sums:
        """Return the sum of the results of `_map_ranges`."""

    def _histogram(self, contribution: Contribution, chosen: Sequence[np.ndarray]) -> np.ndarray:
        """Return the histogram of the units `chosen` of each range."""
        return np.asarray(self._sum_ranges(_clip_histogram, contribution, per_range=chosen)[0])

    def _range_sizes(self) -> list[int]:
        """Return the number of units of each range."""
        self._sizes = self._sizes or self._map_ranges(_n_units)
        return self._sizes


def read_range(
    store: CountStore, words: Sequence[str] | Answers | None, units: UnitRange, rows: TableRows | None = None
) -> UnitCounts:
    """Read the counts of `units` over `words`, or over the whole dictionary, with the documents' `rows` of a table."""
    if isinstance(words, Answers):
        return answers_of(store, words, units, rows or TableRows(()))
    return all_words(store, units) if words is None else project(store, words, units, rows)


def group_votes(
    store: CountStore, attribute: Attribute, most: int, units: UnitRange
) -> tuple[list[str], np.ndarray, int]:
    """Return the groups of the documents of `units`, the votes for each, and those for a group of all documents."""
    names, counts = units_of_groups(store, attribute, units)
    votes, full = count_votes(counts, 1, word_hashes(names), most)
    return names, votes, full


def compile_passes(statistic: Statistic | None) -> None:
    """Compile the passes for `statistic`, or those for votes and eligible units, by running them on one public word."""
    one_word = np.zeros(1, np.int32), np.ones(1, np.int32), np.array([0, 1]), 1
    counts = UnitCounts(np.array([0, 1]), *one_word, rows=np.zeros(1, np.int32))
    if statistic is None:
        count_votes(counts, 1, word_hashes(["word"]))
        _count_eligible(counts, 1)
    else:
        one = np.ones((1, 1), np.float32)
        contribution = Contribution(statistic, one[0], one, equal_weights(1), table_rows=1)
        UnitSums(contribution).norms(counts, np.zeros(1, np.int64))


def _n_units(counts: UnitCounts, threads: int) -> int:
    return counts.n_units


def _count_eligible(counts: UnitCounts, threads: int) -> tuple[int]:
    indptr, lengths, unit_ptr = map(read_only, (counts.indptr, counts.counts, counts.unit_ptr))
    ranges = split(counts.entries_before_unit(), threads)
    return (sum(run_ranges(lambda a, b: int(count_eligible(indptr, lengths, unit_ptr, a, b)), ranges)),)


def _clipped_sum(counts: UnitCounts, threads: int, contribution: Contribution, clip: float, gpu: Gpu | None) -> Sums:
    sums, all_units = _sums_of(contribution, gpu), np.arange(counts.n_units)
    with one_blas_thread():
        parts = run_ranges(
            lambda first, last: sums.total(counts, all_units[first:last], clip),
            split(counts.entries_before_unit(), threads),
        )
    return add(parts or [sums.total(counts, all_units, clip)])


def _clip_histogram(
    counts: UnitCounts, threads: int, contribution: Contribution, chosen: np.ndarray
) -> tuple[np.ndarray]:
    return (clip_bins(_norms(counts, threads, contribution, chosen)),)


def _largest_norm(counts: UnitCounts, threads: int, contribution: Contribution) -> float:
    return float(_norms(counts, threads, contribution, np.arange(counts.n_units)).max(initial=0.0))


def _norms(counts: UnitCounts, threads: int, contribution: Contribution, chosen: np.ndarray) -> np.ndarray:
    """Unclipped norms of the units `chosen`, -1 where no document is eligible."""
    sums, before = _sums_of(contribution), counts.entries_before_unit()
    entries = np.concatenate([[0], np.cumsum(before[chosen + 1] - before[chosen])])
    parts = run_ranges(lambda first, last: sums.norms(counts, chosen[first:last]), split(entries, threads))
    return np.concatenate([np.zeros(0), *parts])


class LocalPasses(Passes):
    """Passes in threads over `n_ranges` ranges of units; None derives the number from the size of the store.

    A range that stays in memory is passed over in slices of about `_SLICE_UNITS` units, so that progress can be shown.
    """

    _slices = True

    def __init__(self, store: CountStore, n_ranges: int | None = None) -> None:
        super().__init__(store)
        in_memory = store.n_bytes <= _IN_MEMORY_BYTES or store.path is None
        self.n_ranges = n_ranges or (1 if in_memory else -(-store.n_bytes // RANGE_BYTES))
        self._all: UnitCounts | None = None

    def use_words(self, words: tuple[str, ...] | Answers | None, rows: TableRows | None = None) -> None:
        """See `Passes`."""
        super().use_words(words, rows)
        self._all = None

    def exact_moments(self, h: np.ndarray) -> ExactMoments:
        """See `Passes`."""
        return exact_moments(*self._everything().arrays, h)

    def range_counts(self, index: int) -> UnitCounts:
        """Return the counts of the range `index`."""
        if self.n_ranges == 1:
            return self._everything()
        return read_range(self._store, self._words, UnitRange(index, self.n_ranges), self._rows)

    def _everything(self) -> UnitCounts:
        if self._all is None:
            self._all = read_range(self._store, self._words, UnitRange(), self._rows)
        return self._all

    def _group_votes(self, attribute: Attribute, most: int) -> Iterable[tuple[list[str], np.ndarray, int]]:
        ranges = [UnitRange(index, self.n_ranges) for index in range(self.n_ranges)]
        return in_threads(lambda index: group_votes(self._store, attribute, most, ranges[index]), self.n_ranges)

    def _map_ranges(self, work: Callable[..., Any], *shared: Any, per_range: Sequence[Any] | None = None) -> list[Any]:
        return list(self._results(work, shared, per_range))

    def _sum_ranges(self, work: Pass, *shared: Any, per_range: Sequence[Any] | None = None) -> Sums:
        return add(self._results(work, shared, per_range))

    def _results(self, work: Callable[..., _T], shared: Sequence[Any], per_range: Sequence[Any] | None) -> Iterable[_T]:
        slices: list[UnitCounts] = []
        if self.n_ranges == 1 and self._slices:  # consecutive units, in views of the arrays of all
            counts = self._everything()
            n_slices = max(counts.n_units // _SLICE_UNITS, 1)
            cuts = [counts.n_units * i // n_slices for i in range(n_slices + 1)]
            slices = [replace(counts, unit_ptr=counts.unit_ptr[a : b + 1]) for a, b in pairwise(cuts)]
        threads = thread_count() if self.n_ranges == 1 else 1

        def one(index: int) -> tuple[_T, int]:
            counts = slices[index] if slices else self.range_counts(index)
            more = [] if per_range is None else [per_range[index]]
            return work(counts, threads, *shared, *more), counts.n_units

        n = len(slices) or self.n_ranges
        results = map(one, range(n)) if self.n_ranges == 1 else in_threads(one, n)
        for index, (result, n_units) in enumerate(results):
            if work is not _n_units:  # which comes before another pass of the same stage
                self.progress.advance(n_units)
            self.progress.estimate((index + 1) / n)
            yield result


def in_parts(store: CountStore) -> LocalPasses:
    """Make passes that keep no range in memory, for a run of few passes."""
    return LocalPasses(store, max(1, -(-store.n_bytes // RANGE_BYTES)))


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
