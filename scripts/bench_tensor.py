#!/usr/bin/env python
"""How fast the tensor power methods are: beside tensorly's, and beside the bare sparse products of a stream.

    python scripts/bench_tensor.py

Peer: a planted tensor with symmetric Gaussian noise, decomposed by tensorly's symmetric power iteration and by
`robust_power_method` with the same stopping rule, that is ten starts of thirty steps for each component and thirty
steps more for the best; then with screening, and all components at once. The error is the largest distance of a vector
from its component. Stream: the online method on sparse blocks beside X U and X' P alone. Each in turns; seconds are
medians, wall clock and processor. Prints Markdown. Needs tensorly (the `bench` extra).
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from bench_power import counts
from scipy import sparse

from dplda.compute.threads import one_blas_thread
from dplda.tensor import online_power_method, robust_power_method, simultaneous_power_method

STARTS, STEPS = 10, 30  # tensorly's defaults: ten starts, ten iterations of three steps each
NEVER = -1.0  # no early stop, which tensorly does not have
Timed = tuple[float, float]  # wall-clock and processor seconds


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--noise", type=float, default=0.002)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--columns", type=int, nargs="+", default=[1, 10, 25])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    print(f"**d = {options.dimension}, k = {options.rank}, {STARTS} starts, {STEPS} steps**\n")
    print("| method | seconds | processor seconds | times faster | error |\n| --- | --- | --- | --- | --- |")
    beside_peer(options.dimension, options.rank, options.noise, options.repeats)
    print(f"\n**Stream of {options.documents} sparse documents, {options.words} words**\n")
    print("| starts L | online, seconds | bare products | throughput |\n| --- | --- | --- | --- |")
    X = counts(options.documents, options.words, 60, np.random.default_rng(0))
    for columns in options.columns:
        works = [partial(one_step, X, columns), partial(products, X, columns)]
        (online, _), (bare, _) = in_turns(works, options.repeats)
        print(f"| {columns} | {online:.3f} | {bare:.3f} | {bare / online:.0%} |")


def planted(d: int, k: int, noise: float, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric tensor with values from 1 to 2 and Gaussian noise, and its components by falling value."""
    V = np.linalg.qr(random.standard_normal((d, k)))[0]
    raw = random.standard_normal((d, d, d))
    E = sum(raw.transpose(order) for order in itertools.permutations(range(3))) / 6
    return np.einsum("r,ar,br,cr->abc", np.linspace(2, 1, k), V, V, V, optimize=True) + noise * E, V


def beside_peer(d: int, k: int, noise: float, repeats: int) -> None:
    """One row for each method, tensorly first."""
    from tensorly.decomposition import symmetric_parafac_power_iteration as peer

    T, V = planted(d, k, noise, np.random.default_rng(0))
    random, errors = np.random.default_rng(1), {}

    def keep(name: str, values: np.ndarray, vectors: np.ndarray) -> None:
        errors[name] = np.linalg.norm(vectors[:, np.argsort(-values)] - V, axis=0).max()

    def robust(name: str, screen: bool) -> None:
        found = robust_power_method(T, k, random, starts=STARTS, iterations=STEPS, tolerance=NEVER, screen=screen)
        keep(name, found.values, found.vectors)

    def together(name: str) -> None:
        found = simultaneous_power_method(T, k, random)
        keep(name, found.values, found.vectors)

    def tensorly(name: str) -> None:
        np.random.seed(1)
        keep(name, *peer(T, k, n_repeat=STARTS, n_iteration=STEPS // 3))

    methods: dict[str, Callable[[str], None]] = {
        "tensorly": tensorly,
        "robust, same rule": lambda name: robust(name, screen=False),
        "robust, screened": lambda name: robust(name, screen=True),
        "simultaneous": together,
    }
    times = in_turns([partial(work, name) for name, work in methods.items()], repeats)
    for name, (wall, used) in zip(methods, times, strict=True):
        print(f"| {name} | {wall:.3f} | {used:.3f} | {times[0][0] / wall:.1f} | {errors[name]:.4f} |")


def blocks(X: sparse.csr_array, rows: int = 5000) -> list[sparse.csr_array]:
    """X in blocks of `rows`, made before any clock runs."""
    return [X[first : first + rows] for first in range(0, X.shape[0], rows)]


def one_step(X: sparse.csr_array, columns: int) -> None:
    """One step of the online method over all of X."""
    online_power_method(blocks(X), 1, np.random.default_rng(0), samples=X.shape[0], starts=columns, iterations=1)


@one_blas_thread()
def products(X: sparse.csr_array, columns: int) -> None:
    """The two sparse products of that step."""
    U = np.random.default_rng(0).standard_normal((X.shape[1], columns))
    total = np.zeros_like(U)
    for block in blocks(X):
        total += block.T @ (block @ U)


def in_turns(works: Sequence[Callable[[], object]], repeats: int) -> list[Timed]:
    """Median seconds of each of `works`, one after the other in every round."""
    taken: list[list[Timed]] = [[] for _ in works]
    for _ in range(repeats):
        for times, work in zip(taken, works, strict=True):
            wall, used = time.perf_counter(), time.process_time()
            work()
            times.append((time.perf_counter() - wall, time.process_time() - used))
    return [(statistics.median(w for w, _ in times), statistics.median(u for _, u in times)) for times in taken]


if __name__ == "__main__":
    main()
