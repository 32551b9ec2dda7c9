#!/usr/bin/env python
"""How much of the time of a streaming spectral method is the sparse product it cannot do without.

    python scripts/bench_power.py

Random sparse counts in blocks of documents; each method against the bare products Z' (Z X) of the same rounds, run in
turns. Prints Markdown: core-seconds, which other work on the machine disturbs less than wall-clock time, are medians;
throughput is the bare products' over the method's.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from dplda.spectral import (
    adaptive_power_iteration,
    clipped_power_iteration,
    noisy_power_method,
    random_basis,
    streaming_power_method,
)

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--length", type=int, default=60, help="distinct words of a document")
    parser.add_argument("--columns", type=int, nargs="+", default=[1, 10, 25])
    parser.add_argument("--block", type=int, default=5000, help="documents of a block")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(argv)
    Z = counts(options.documents, options.words, options.length, np.random.default_rng(0))
    print("| columns p | method | core-seconds | bare products | throughput |\n| --- | --- | --- | --- | --- |")
    for p in options.columns:
        for name, method, bare in methods(Z, p, options.rounds, options.block):
            taken, least = in_turns(method, bare, options.repeats)
            print(f"| {p} | {name} | {taken:.3f} | {least:.3f} | {least / taken:.0%} |")


def counts(n: int, d: int, length: int, random: np.random.Generator) -> sparse.csr_array:
    """Rows (n, d) of about `length` words each, drawn with frequencies that fall off, scaled to length 1."""
    words = (d * random.random((n, length)) ** 2).astype(np.int32)
    starts = np.arange(0, n * length + 1, length)
    Z = sparse.csr_array((np.ones(n * length), words.ravel(), starts), shape=(n, d))
    Z.sum_duplicates()
    norms = np.sqrt(np.asarray(Z.multiply(Z).sum(axis=1)).ravel())
    return (sparse.diags_array(0.999 / norms) @ Z).tocsr()


def methods(
    Z: sparse.csr_array, p: int, rounds: int, block: int
) -> list[tuple[str, Callable[[], object], Callable[[], object]]]:
    """Each method with the bare products it needs."""
    random, X = np.random.default_rng(1), random_basis(np.random.default_rng(0), Z.shape[1], p)
    samples = Z.shape[0] // rounds
    blocks = [Z[i : i + block] for i in range(0, Z.shape[0], block)]
    parts = [Z[i * samples : (i + 1) * samples] for i in range(rounds)]

    def once() -> None:
        for part in parts:
            part.T @ (part @ X)

    def whole() -> None:
        for _ in range(rounds):
            Z.T @ (Z @ X)

    return [
        ("streaming_power_method", lambda: streaming_power_method(blocks, X, samples), once),
        ("noisy_power_method", lambda: noisy_power_method(lambda X: Z.T @ (Z @ X), X, rounds), whole),
        ("adaptive_power_iteration", lambda: adaptive_power_iteration(Z, X, rounds, **PRIVACY, rng=random), whole),
        ("clipped_power_iteration", lambda: clipped_power_iteration(Z, X, rounds, **PRIVACY, rng=random), whole),
    ]


def in_turns(method: Callable[[], object], bare: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median core-seconds of both, after one run of each that is not counted."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats + 1):
        for seconds, run in zip(taken, (method, bare), strict=True):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
    return statistics.median(taken[0][1:]), statistics.median(taken[1][1:])


if __name__ == "__main__":
    main()
