"""Each kernel beside a bare loop that gathers the same rows and does the same multiply-adds, and nothing else.

A bare loop has no norm, clip, rounding, check, or units of several documents, and sums in float64. Arrays are `indptr`
(n_documents + 1,), `words` and `counts` of a sparse matrix of documents, and float32 otherwise. The loop of expected
counts takes as many steps with each document as the kernel, and no digamma.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np

from benchmarks.corpora import read_counts
from benchmarks.kernels import kernels, steps_taken, sum_of
from benchmarks.measuring import in_turns, median_cores
from benchmarks.systems import dplda_topics
from benchmarks.tables import Table
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import FAST
from dplda.private.statistics.expected_counts import EXPECTED_COUNTS
from dplda.private.statistics.moments import CORE, FIRST_MOMENT, SECOND_MOMENT_TIMES
from dplda.private.statistics.third_moment import THIRD_MOMENT


def measure(source: Path, topics: int, repeats: int) -> None:
    """Print a row for each kernel that has a bare loop; both in one thread."""
    matrix = read_counts(source)
    indptr, words, counts = matrix.indptr.astype(np.int64), matrix.indices, matrix.data
    table = Table("kernel", "shape", "bare loop, seconds", "kernel, seconds", "speed over the bare loop's")
    for name, f, _ in kernels(dplda_topics(matrix, topics, simulate_seed=0)):
        if f is None or f.statistic not in LOOPS:
            continue
        steps = steps_taken(f, indptr, words, counts) if f.statistic is EXPECTED_COUNTS else None
        works: dict[str, Callable[[], object]] = {
            "bare": partial(bare, f, indptr, words, counts, steps),
            "kernel": sum_of(f, matrix),
        }
        in_turns(works, 1)  # compiles
        plain, ours = (median_cores(runs) for runs in in_turns(works, repeats).values())
        table.row(name, f.shape, f"{plain:.3f}", f"{ours:.3f}", f"{plain / ours:.2f}")


def bare(
    f: Contribution, indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, steps: np.ndarray | None = None
) -> np.ndarray:
    """The bare loop of the contribution `f` over all documents, in one thread; expected counts need their `steps`."""
    arrays: tuple[Any, ...] = (f.scale,) if f.statistic is FIRST_MOMENT else (f.matrix,)
    total: np.ndarray = LOOPS[f.statistic](indptr, words, counts, *arrays, *(() if steps is None else (steps,)))
    return total


@numba.njit(nogil=True, fastmath=FAST)
def _first(indptr, words, counts, scale):
    total = np.zeros(len(scale))
    for n in range(len(indptr) - 1):
        for e in range(indptr[n], indptr[n + 1]):
            total[words[e]] += scale[words[e]] * counts[e]
    return total


@numba.njit(nogil=True, fastmath=FAST)
def _second_times(indptr, words, counts, X):
    total, y = np.zeros(X.shape), np.zeros(X.shape[1], np.float32)
    for n in range(len(indptr) - 1):
        y[:] = 0.0
        for e in range(indptr[n], indptr[n + 1]):
            c = np.float32(counts[e])
            for a in range(X.shape[1]):
                y[a] += c * X[words[e], a]
        for e in range(indptr[n], indptr[n + 1]):
            c = np.float32(counts[e])
            for a in range(X.shape[1]):
                total[words[e], a] += c * (y[a] - X[words[e], a])
    return total


@numba.njit(nogil=True, fastmath=FAST)
def _core(indptr, words, counts, X):
    p = X.shape[1]
    total, y, R = np.zeros((p, p)), np.zeros(p, np.float32), np.zeros((p, p), np.float32)
    for n in range(len(indptr) - 1):
        y[:] = 0.0
        R[:] = 0.0
        for e in range(indptr[n], indptr[n + 1]):
            c, w = np.float32(counts[e]), words[e]
            for a in range(p):
                xa = c * X[w, a]
                y[a] += xa
                for b in range(a, p):
                    R[a, b] += xa * X[w, b]
        for a in range(p):
            for b in range(a, p):
                total[a, b] += y[a] * y[b] - R[a, b]
    return total


@numba.njit(nogil=True, fastmath=FAST)
def _third(indptr, words, counts, W):
    k = W.shape[1]
    total, Q = np.zeros((k, k, k)), np.zeros((k, k, k), np.float32)
    for n in range(len(indptr) - 1):
        Q[:] = 0.0
        for e in range(indptr[n], indptr[n + 1]):
            c, w = np.float32(counts[e]), words[e]
            for a in range(k):
                for b in range(a, k):
                    cab = c * W[w, a] * W[w, b]
                    for d in range(b, k):
                        Q[a, b, d] += cab * W[w, d]
        for a in range(k):
            for b in range(a, k):
                for d in range(b, k):
                    total[a, b, d] += Q[a, b, d]
    return total


@numba.njit(nogil=True, fastmath=FAST)
def _expected(indptr, words, counts, topics, steps):
    k = topics.shape[1]
    total, theta, gamma = np.zeros(topics.shape), np.ones(k, np.float32), np.zeros(k, np.float32)
    for n in range(len(indptr) - 1):
        theta[:] = 1.0
        for _ in range(steps[n]):
            gamma[:] = 1e-3
            for e in range(indptr[n], indptr[n + 1]):
                w, mass = words[e], np.float32(1e-30)
                for z in range(k):
                    mass += theta[z] * topics[w, z]
                share = np.float32(counts[e]) / mass
                for z in range(k):
                    gamma[z] += share * theta[z] * topics[w, z]
            theta[:] = gamma
        for e in range(indptr[n], indptr[n + 1]):
            for z in range(k):
                total[words[e], z] += theta[z] * topics[words[e], z]
    return total


LOOPS = {
    FIRST_MOMENT: _first,
    SECOND_MOMENT_TIMES: _second_times,
    CORE: _core,
    THIRD_MOMENT: _third,
    EXPECTED_COUNTS: _expected,
}
