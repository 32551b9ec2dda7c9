"""How near each kernel comes to what a core can do.

Sums the contributions of a store's first documents over its first words in one thread, and divides the operations and
bytes that this takes at least (`kernel_costs`) by the thread's processor seconds. Limits are measured in the same way
just before: a product of float32 matrices, and a triad a = b + s c over arrays far larger than any cache and over some
that stay in the core's own. Steps of expected counts are those of the planted topics, into which a little of the corpus
is mixed as in a fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
from scipy import sparse

from benchmarks import kernel_costs
from benchmarks.corpora import names, planted_topics, stored_counts
from benchmarks.kernel_costs import Cost, Size
from benchmarks.measuring import least
from benchmarks.tables import Table
from dplda.base.threads import one_blas_thread, run_ranges, split
from dplda.learning.placements.default import BACKGROUND
from dplda.private import statistics
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import UNROLLED, aligned, padded
from dplda.private.statistics.expected_counts import EXPECTED_COUNTS, gather, posterior
from dplda.private.statistics.unit_sums import UnitSums, flat_rows
from dplda.private.statistics.word_votes import count_votes, word_hashes
from dplda.private.store.units import UnitCounts

BLOCK = 5  # columns of the subspace beyond the topics; the core has the mean direction too
PILOT = 400  # documents that tell how many fit into the seconds wanted
MATRIX = 4096
LARGE, SMALL = 1 << 28, 1 << 15  # float32 of each of a triad's three arrays, in memory and in the core's cache


class Kernel(NamedTuple):
    """A pass over the documents: its contribution (None: the votes on words), and what it has to do at least."""

    name: str
    contribution: Contribution | None
    cost: Callable[[Size], Cost]


def measure(
    store: Path, topics: int, words: int, vocabulary: int, documents: int, repeats: int, seconds: float
) -> None:
    """Print a row for each kernel; one run takes about `seconds`."""
    matrix = stored_counts(store, documents, vocabulary)
    limits = machine(repeats)
    print(
        f"One core: {limits.flops / 1e9:.0f} Gflop/s (sgemm), {limits.memory / 1e9:.1f} GB/s from memory and "
        f"{limits.caches / 1e9:.0f} GB/s from its caches (triad)\n"
    )
    table = Table(
        "kernel", "shape", "documents/s", "flops a document", "Gflop/s",
        "share of peak", "share of memory bandwidth", "share of cache bandwidth",
    )  # fmt: skip
    for kernel in kernels(mixed_topics(words, topics, vocabulary)):
        f = kernel.contribution
        work = partial(votes_of, names(vocabulary)) if f is None else partial(sum_of, f)
        n, spent = measured(work, matrix, seconds, repeats)
        done = kernel.cost(size_of(matrix[:n], f))
        shares = [x / spent / y for x, y in zip(_numbers(done), _numbers(limits), strict=True)]
        table.row(
            kernel.name, "" if f is None else f.shape, f"{n / spent:,.0f}", f"{done.flops / n:,.0f}",
            f"{done.flops / spent / 1e9:.1f}", *(f"{share:.1%}" for share in shares),
        )  # fmt: skip


def mixed_topics(n_words: int, n_topics: int, first: int) -> np.ndarray:
    """The planted topics of a store over its `first` words, with a little of the corpus mixed in as in a fit."""
    planted = planted_topics(n_words, n_topics, first)
    mixed: np.ndarray = (1 - BACKGROUND) * planted + BACKGROUND * planted.mean(axis=0)
    return mixed


def _numbers(cost: Cost) -> tuple[float, float, float]:
    return cost.flops, cost.memory, cost.caches


def kernels(topics: np.ndarray) -> list[Kernel]:
    """Every pass of a fit, for topics (k, n_words) and random arrays."""
    rng, (k, d) = np.random.default_rng(0), topics.shape
    scale, p, c = np.ones(d), k + BLOCK, statistics
    X = rng.standard_normal((d, p + 1)) / np.sqrt(d)
    W, u = X[:, :k], np.linalg.qr(rng.standard_normal((k, 1)))[0]
    along = partial(kernel_costs.third_moment_along, k=k, r=1)
    times = partial(kernel_costs.second_moment_times, p=p)
    return [
        Kernel("votes", None, kernel_costs.votes),
        Kernel("first moment", c.first_moment(scale), kernel_costs.first_moment),
        Kernel("second moment times X", c.second_moment_times(scale, X[:, :p]), times),
        Kernel("core", c.core(scale, X), partial(kernel_costs.core, p=p + 1)),
        Kernel("third moment", c.third_moment(W), partial(kernel_costs.third_moment, k=k)),
        Kernel("third moment along u", c.third_moment_along(W, u), along),
        Kernel("expected counts", c.expected_counts(topics.T, 1 / k), partial(kernel_costs.expected_counts, k=k)),
    ]


def units_of(matrix: sparse.csr_matrix) -> UnitCounts:
    """Counts in which each row is a unit."""
    n, d = matrix.shape
    return UnitCounts(matrix.indptr.astype(np.int64), matrix.indices, matrix.data, np.arange(n + 1), d)


def size_of(matrix: sparse.csr_matrix, f: Contribution | None) -> Size:
    """What the models of cost know of the documents."""
    n, d = matrix.shape
    if f is None or f.statistic is not EXPECTED_COUNTS:
        return Size(n, matrix.nnz, d)
    steps = steps_taken(f, matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    return Size(n, matrix.nnz, d, int(steps.sum()), int(steps @ np.diff(matrix.indptr)))


def steps_taken(f: Contribution, indptr: np.ndarray, words: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """How many steps the kernel of expected counts takes with each document, (n_documents,)."""
    flat, stride = flat_rows(f.matrix)
    taken: np.ndarray = _steps(indptr, words, counts, flat, stride, f.matrix.shape[1], np.float32(f.alpha))
    return taken


@numba.njit
def _steps(indptr, words, counts, flat, stride, k, alpha):
    steps, rows = np.zeros(len(indptr) - 1, np.int64), padded(k, 4)
    longest = padded((indptr[1:] - indptr[:-1]).max(), UNROLLED)
    room, theta, gamma = aligned(stride), aligned(stride), aligned(stride)
    table, amounts = aligned(rows * longest), aligned(2 * longest)
    for n in range(len(steps)):
        first, last = indptr[n], indptr[n + 1]
        wide = gather(words, counts, first, last, flat, stride, rows, table, amounts)
        length = np.float64(counts[first:last].sum())
        steps[n] = posterior(table, amounts, wide, length, k, alpha, room, theta, gamma)
    return steps


def sum_of(f: Contribution, matrix: sparse.csr_matrix) -> Callable[[], object]:
    """The pass of `f`, clipped at the median norm of some units."""
    counts = units_of(matrix)
    return partial(clipped_sum, counts, f, clip_of(f, counts))


def clipped_sum(counts: UnitCounts, f: Contribution, clip: float, threads: int = 1) -> np.ndarray:
    """The integer sum of the clipped contributions of all units."""
    sums, everyone = UnitSums(f), np.arange(counts.n_units)
    parts = run_ranges(
        lambda first, last: sums.total(counts, everyone[first:last], clip),
        split(counts.entries_before_unit(), threads),
    )
    return np.sum([total for total, _ in parts], axis=0)


def clip_of(f: Contribution, counts: UnitCounts) -> float:
    """The median norm of some units."""
    return float(np.median(UnitSums(f).norms(counts, np.arange(min(counts.n_units, PILOT)))))


def votes_of(words: Sequence[str], matrix: sparse.csr_matrix) -> Callable[[], object]:
    """The pass of the vote on words."""
    return partial(count_votes, units_of(matrix), 1, word_hashes(words))


def measured(
    work: Callable[[sparse.csr_matrix], Callable[[], object]], matrix: sparse.csr_matrix, seconds: float, repeats: int
) -> tuple[int, float]:
    """How many documents one run takes for about `seconds`, and the least of its seconds."""
    pilot = least(work(matrix[:PILOT]), 3, time.thread_time)
    n = min(matrix.shape[0], max(PILOT, int(PILOT * seconds / pilot)))
    return n, least(work(matrix[:n]), repeats, time.thread_time)


@one_blas_thread()
def machine(repeats: int) -> Cost:
    """The most flops and bytes a second that were seen."""
    A = np.random.default_rng(0).standard_normal((MATRIX, MATRIX)).astype(np.float32)
    product = least(lambda: A @ A, repeats, time.thread_time)
    return Cost(2 * MATRIX**3 / product, triad_rate(LARGE, 1, repeats), triad_rate(SMALL, LARGE // SMALL, repeats))


def triad_rate(size: int, rounds: int, repeats: int) -> float:
    """Bytes a second that a triad of arrays of `size` float32 moves, what its stores read aside."""
    a, b, c = (np.ones(size, np.float32) for _ in range(3))
    return 3 * a.nbytes * rounds / least(lambda: _triad(a, b, c, np.float32(0.5), rounds), repeats, time.thread_time)


@numba.njit(nogil=True, fastmath=True)
def _triad(a: np.ndarray, b: np.ndarray, c: np.ndarray, s: np.float32, rounds: int) -> None:
    for _ in range(rounds):
        for i in range(len(a)):
            a[i] = b[i] + s * c[i]
        s += np.float32(1e-6)  # so that no round can be left out
