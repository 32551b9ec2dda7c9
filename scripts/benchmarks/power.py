"""How much of the time of a streaming method is the sparse product that it cannot do without.

Random sparse counts in blocks of documents; each method runs in turns with the bare products of the same rounds:
Z' (Z X) for the spectral methods, X U and X' P for the online tensor method. Throughput is the bare products'
core-seconds over the method's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.measuring import in_turns, median_cores
from benchmarks.tables import Table
from dplda.base.threads import one_blas_thread
from dplda.papers import (
    adaptive_power_iteration,
    clipped_power_iteration,
    noisy_power_method,
    online_power_method,
    random_basis,
    streaming_power_method,
)

EPSILON, DELTA = 1.0, 1e-6


class Method(NamedTuple):
    """A method and the bare products it needs."""

    name: str
    run: Callable[[], object]
    bare: Callable[[], object]


def measure(
    documents: int, words: int, length: int, columns: Sequence[int], block: int, rounds: int, repeats: int
) -> None:
    """Print a row for each method and number of columns."""
    Z = counts(documents, words, length, np.random.default_rng(0))
    table = Table("columns p", "method", "core-seconds", "bare products", "throughput")
    for p in columns:
        for method in methods(Z, p, rounds, block):
            works = {"method": method.run, "bare": method.bare}
            in_turns(works, 1)  # compiles
            taken, least = (median_cores(runs) for runs in in_turns(works, repeats).values())
            table.row(p, method.name, f"{taken:.3f}", f"{least:.3f}", f"{least / taken:.0%}")


def counts(n: int, d: int, length: int, rng: np.random.Generator) -> sparse.csr_array:
    """Rows (n, d) of about `length` words each, drawn with frequencies that fall off, scaled to length 1."""
    words = (d * rng.random((n, length)) ** 2).astype(np.int32)
    starts = np.arange(0, n * length + 1, length)
    Z = sparse.csr_array((np.ones(n * length), words.ravel(), starts), shape=(n, d))
    Z.sum_duplicates()
    norms = np.sqrt(np.asarray(Z.multiply(Z).sum(axis=1)).ravel())
    return (sparse.diags_array(0.999 / norms) @ Z).tocsr()


def methods(Z: sparse.csr_array, p: int, rounds: int, block: int) -> list[Method]:
    """Every method with `p` columns or starts."""
    rng, X = np.random.default_rng(1), random_basis(np.random.default_rng(0), Z.shape[1], p)
    samples = Z.shape[0] // rounds
    blocks = [Z[i : i + block] for i in range(0, Z.shape[0], block)]
    parts = [Z[i * samples : (i + 1) * samples] for i in range(rounds)]

    def once() -> None:
        for part in parts:
            part.T @ (part @ X)

    def whole() -> None:
        for _ in range(rounds):
            Z.T @ (Z @ X)

    def adaptive() -> None:
        adaptive_power_iteration(Z, X, rounds, epsilon=EPSILON, delta=DELTA, rng=rng)

    def clipped() -> None:
        clipped_power_iteration(Z, X, rounds, epsilon=EPSILON, delta=DELTA, rng=rng)

    def online() -> None:
        online_power_method(blocks, 1, np.random.default_rng(0), samples=Z.shape[0], starts=p, iterations=1)

    @one_blas_thread()
    def products() -> None:
        total = np.zeros_like(X)
        for part in blocks:
            total += part.T @ (part @ X)

    return [
        Method("streaming_power_method", lambda: streaming_power_method(blocks, X, samples), once),
        Method("noisy_power_method", lambda: noisy_power_method(lambda X: Z.T @ (Z @ X), X, rounds), whole),
        Method("adaptive_power_iteration", adaptive, whole),
        Method("clipped_power_iteration", clipped, whole),
        Method("online_power_method", online, products),
    ]
