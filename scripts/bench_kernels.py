#!/usr/bin/env python
"""How near each kernel comes to what a core can do.

    python scripts/bench_scale.py make planted --documents 500000 --words 20000 --topics 20
    python scripts/bench_kernels.py planted --topics 20

Sums the contributions of a store's first documents over its first words in one thread, and divides the operations and
bytes that this takes at least (kernel_costs.py) by the thread's processor seconds, which other work on the machine
disturbs little. Limits are measured in the same way just before: a product of float32 matrices, and a triad
a = b + s c over arrays far larger than any cache and over some that stay in the core's own. A kernel cannot come nearer
than its largest share. The store has as many planted topics as --topics says: the steps of expected counts are those of
the planted topics, into which a little of the corpus is mixed as in a fit. Best of several runs; prints Markdown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import kernel_costs
import numba
import numpy as np
from bare_loops import steps_taken
from kernel_costs import Cost, Size
from planted_stores import counts_of, names, planted_topics
from scipy import sparse

from dplda.compute.threads import one_blas_thread
from dplda.corpus.units import UnitCounts
from dplda.moments import contributions
from dplda.moments.contributions import Contribution
from dplda.placements.default import BACKGROUND
from dplda.privacy.partition_selection import count_votes, word_hashes
from dplda.privacy.passes import clipped_sum, unit_norms

BLOCK = 5  # columns of the subspace beyond the topics; the core has the mean direction too
PILOT = 400  # documents that tell how many fit into the seconds wanted
MATRIX = 4096
LARGE, SMALL = 1 << 28, 1 << 15  # float32 of each of a triad's three arrays, in memory and in the core's cache


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="of one run of one kernel, about")
    options = parser.parse_args(argv)
    matrix = counts_of(options.store, options.documents, options.vocabulary)
    limits = machine(options.repeats)
    print(
        f"One core: {limits.flops / 1e9:.0f} Gflop/s (sgemm), {limits.memory / 1e9:.1f} GB/s from memory and "
        f"{limits.caches / 1e9:.0f} GB/s from its caches (triad)\n"
    )
    print(
        "| kernel | shape | documents/s | flops a document | Gflop/s | share of peak | share of memory bandwidth | "
        "share of cache bandwidth |\n|---|---|---|---|---|---|---|---|"
    )
    planted = planted_topics(options.words, options.topics, options.vocabulary)
    topics = (1 - BACKGROUND) * planted + BACKGROUND * planted.mean(axis=0)
    for name, f, cost in kernels(matrix, topics):
        work = partial(votes_of, names(options.vocabulary)) if f is None else partial(sum_of, f)
        n, seconds = measured(work, matrix, options.seconds, options.repeats)
        done = cost(size_of(matrix[:n], f))
        shape = "" if f is None else f"{f.shape}"
        shares = [x / seconds / y for x, y in zip(_numbers(done), _numbers(limits), strict=True)]
        print(
            f"| {name} | {shape} | {n / seconds:,.0f} | {done.flops / n:,.0f} | {done.flops / seconds / 1e9:.1f} | "
            f"{' | '.join(f'{share:.1%}' for share in shares)} |",
            flush=True,
        )


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Options about the documents and the runs."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--vocabulary", type=int, default=5000)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    return parser


def _numbers(cost: Cost) -> tuple[float, float, float]:
    return cost.flops, cost.memory, cost.caches


def kernels(
    matrix: sparse.csr_matrix, topics: np.ndarray
) -> list[tuple[str, Contribution | None, Callable[[Size], Cost]]]:
    """Name, contribution (None for votes) and cost of every kernel, for topics (k, n_words) and random arrays."""
    random, (k, d) = np.random.default_rng(0), topics.shape
    scale, p, c = np.ones(d), k + BLOCK, contributions
    X = random.standard_normal((d, p + 1)) / np.sqrt(d)
    W, u = X[:, :k], np.linalg.qr(random.standard_normal((k, 1)))[0]
    along = partial(kernel_costs.third_moment_along, k=k, r=1)
    times = partial(kernel_costs.second_moment_times, p=p)
    return [
        ("votes", None, kernel_costs.votes),
        ("first moment", c.first_moment(scale), kernel_costs.first_moment),
        ("second moment times X", c.second_moment_times(scale, X[:, :p]), times),
        ("core", c.core(scale, X), partial(kernel_costs.core, p=p + 1)),
        ("third moment", c.third_moment(W), partial(kernel_costs.third_moment, k=k)),
        ("third moment along u", c.third_moment_along(W, u), along),
        ("expected counts", c.expected_counts(topics.T, 1 / k), partial(kernel_costs.expected_counts, k=k)),
    ]


def units_of(matrix: sparse.csr_matrix) -> UnitCounts:
    """Counts in which each row is a unit."""
    n, d = matrix.shape
    return UnitCounts(matrix.indptr.astype(np.int64), matrix.indices, matrix.data, np.arange(n + 1), d)


def size_of(matrix: sparse.csr_matrix, f: Contribution | None) -> Size:
    """What the models of cost know of the documents."""
    n, d = matrix.shape
    if f is None or f.kind != contributions.EXPECTED:
        return Size(n, matrix.nnz, d)
    steps = steps_taken(f, matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    return Size(n, matrix.nnz, d, int(steps.sum()), int(steps @ np.diff(matrix.indptr)))


def sum_of(f: Contribution, matrix: sparse.csr_matrix) -> Callable[[], object]:
    """The pass of `f`, clipped at the median norm of some units."""
    counts = units_of(matrix)
    return partial(clipped_sum, counts, 1, f, clip_of(f, counts))


def clip_of(f: Contribution, counts: UnitCounts) -> float:
    """The median norm of some units."""
    return float(np.median(unit_norms(counts, 1, f, np.arange(min(counts.n_units, PILOT)))))


def votes_of(words: Sequence[str], matrix: sparse.csr_matrix) -> Callable[[], object]:
    """The pass of the vote on words."""
    return partial(count_votes, units_of(matrix), 1, word_hashes(words))


def measured(
    work: Callable[[sparse.csr_matrix], Callable[[], object]], matrix: sparse.csr_matrix, seconds: float, repeats: int
) -> tuple[int, float]:
    """How many documents one run takes for about `seconds`, and the least of its seconds."""
    pilot = work(matrix[:PILOT])
    pilot()  # compiles
    n = min(matrix.shape[0], max(PILOT, int(PILOT * seconds / min(taken(pilot) for _ in range(3)))))
    run = work(matrix[:n])
    return n, min(taken(run) for _ in range(repeats))


def taken(work: Callable[[], object]) -> float:
    """Processor seconds of `work` in this thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


@one_blas_thread()
def machine(repeats: int) -> Cost:
    """The most flops and bytes a second that were seen."""
    A = np.random.default_rng(0).standard_normal((MATRIX, MATRIX)).astype(np.float32)
    A @ A
    product = min(taken(lambda: A @ A) for _ in range(repeats))
    return Cost(2 * MATRIX**3 / product, triad_rate(LARGE, 1, repeats), triad_rate(SMALL, LARGE // SMALL, repeats))


def triad_rate(size: int, rounds: int, repeats: int) -> float:
    """Bytes a second that a triad of arrays of `size` float32 moves, what its stores read aside."""
    a, b, c = (np.ones(size, np.float32) for _ in range(3))
    _triad(a, b, c, np.float32(0.5), 1)
    best = min(taken(lambda: _triad(a, b, c, np.float32(0.5), rounds)) for _ in range(repeats))
    return 3 * a.nbytes * rounds / best


@numba.njit(nogil=True, fastmath=True)
def _triad(a, b, c, s, rounds):
    for _ in range(rounds):
        for i in range(len(a)):
            a[i] = b[i] + s * c[i]
        s += np.float32(1e-6)  # so that no round can be left out


if __name__ == "__main__":
    main()
