"""Hardt and Price 2014: streaming in the spiked covariance model (Corollary 3.3), coherence (Theorem 1.4).

Streaming: k spikes of size lambda in d dimensions of unit noise, n samples cut into equal rounds; the error is
sin of the largest angle to the spikes, which should go with n^(-1/2), depend on n / (d k) alone, and be no worse for
p = 2 k columns than for p = k. Coherence: matrices with one spectrum whose eigenvectors have entries 0 or
(mu / d)^(1/2) in size (blocks of Hadamard matrices), so that the coherence is exactly mu; the private power method's
error should go with (mu log d)^(1/2) whatever d, and not with d^(1/2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import hadamard

from dplda.papers import private_power_method, random_basis, streaming_power_method
from reproduce.common import curve, exponent, finish, guide, median, panels, report, table

LAMBDA, NOISE = 1.5, 1.0
EPSILON, DELTA = 1.0, 1e-6
LEADING, COLUMNS, STRENGTH = 2, 4, 3000.0  # of the coherent matrices: leading eigenvalues, p, their size


Streams = dict[tuple[int, int, int], list[list[float]]]  # by (d, k, p): for each number of samples, one error a trial
Coherent = dict[tuple[int, int], dict[str, float]]  # by dimension and coherence


@dataclass(frozen=True)
class Sizes:
    """What is swept. `samples` are per dimension and spike, n / (d k)."""

    shapes: tuple[tuple[int, int], ...]  # (d, k)
    samples: tuple[int, ...]
    stream_rounds: int
    dimensions: tuple[int, ...]
    private_rounds: int
    trials: int


SIZES = {
    "full": Sizes(((50, 5), (100, 5), (100, 10)), (5, 10, 20, 40, 80, 160), 12, (64, 256, 1024), 8, 9),
    "quick": Sizes(((50, 5), (100, 5)), (20, 80, 320), 12, (64, 256), 8, 5),
}


def main(quick: bool, seed: int, figure: Path) -> None:
    """Measure, print and draw."""
    sizes, random = SIZES["quick" if quick else "full"], np.random.default_rng(seed)
    streams = streaming(sizes, random)
    by_coherence = coherent(sizes, random)
    print("**Streaming power method, spiked covariance**: median (and 90th percentile) of sin of the largest angle\n")
    print(stream_table(sizes, streams))
    print("**Private power method, entries, epsilon 1, delta 1e-6**: median sin of the largest angle\n")
    print(coherence_table(by_coherence))
    draw(sizes, streams, by_coherence, figure)


def outside(X: np.ndarray, U: np.ndarray) -> float:
    """sin of the largest angle between the columns of U and their nearest vectors in the range of X."""
    return float(np.linalg.norm(U - X @ (X.T @ U), 2))


def spiked(U: np.ndarray, random: np.random.Generator, block: int = 2000) -> Iterator[np.ndarray]:
    """An endless stream of samples of N(0, LAMBDA^2 U U' + NOISE^2 I)."""
    d, k = U.shape
    while True:
        yield LAMBDA * random.standard_normal((block, k)) @ U.T + NOISE * random.standard_normal((block, d))


def streaming(sizes: Sizes, random: np.random.Generator) -> Streams:
    """Errors by (d, k, p) for each number of samples, one for each trial."""
    found: Streams = {}
    for d, k in sizes.shapes:
        for p in (k, 2 * k):
            report(f"streaming d={d} k={k} p={p}")
            rounds = sizes.stream_rounds
            found[d, k, p] = [
                [one_stream(d, k, p, ratio * d * k // rounds, rounds, random) for _ in range(sizes.trials)]
                for ratio in sizes.samples
            ]
    return found


def one_stream(d: int, k: int, p: int, samples: int, rounds: int, random: np.random.Generator) -> float:
    """The error of one run with `samples` a round."""
    U = random_basis(random, d, k)
    found = streaming_power_method(spiked(U, random), random_basis(random, d, p), samples, rounds=rounds)
    return outside(found.components, U)


def with_coherence(d: int, mu: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric (d, d) whose eigenvectors have entries 0 or (mu / d)^(1/2) in size, and the leading ones."""
    block = d // mu
    V = np.kron(np.eye(mu), hadamard(block) / np.sqrt(block))
    V = V[:, np.argsort(random.random(d))]
    values = np.concatenate([np.full(LEADING, STRENGTH), random.uniform(0, STRENGTH / 2, d - LEADING)])
    return (V * values) @ V.T, V[:, :LEADING]


def coherent(sizes: Sizes, random: np.random.Generator) -> Coherent:
    """Median errors of both scalings, and the largest entry of the iterate, by dimension and coherence."""
    found = {}
    for d in sizes.dimensions:
        for mu in [4**i for i in range(6) if 4**i <= d]:
            report(f"coherence d={d} mu={mu}")
            entries: list[float] = []
            rows: list[float] = []
            largest: list[float] = []
            for _ in range(sizes.trials):
                A, U = with_coherence(d, mu, random)
                for errors, by_entry in ((entries, True), (rows, False)):
                    start = random_basis(random, d, COLUMNS)
                    run = private_power_method(
                        A,
                        start,
                        sizes.private_rounds,
                        epsilon=EPSILON,
                        delta=DELTA,
                        rng=random,
                        by_largest_entry=by_entry,
                    )
                    errors.append(outside(run.components, U))
                largest.append(np.abs(run.components).max() * np.sqrt(d))
            found[d, mu] = {"entries": median(entries), "rows": median(rows), "largest": median(largest)}
    return found


def stream_table(sizes: Sizes, streams: Streams) -> str:
    """One line for each (d, k, p), with the exponent of n."""
    header = ["d", "k", "p", *(f"n = {ratio} d k" for ratio in sizes.samples), "exponent of n"]
    rows = []
    for (d, k, p), errors in streams.items():
        medians = [median(trial) for trial in errors]
        cells = [f"{m:.3f} ({np.quantile(trial, 0.9):.3f})" for m, trial in zip(medians, errors, strict=True)]
        half = len(medians) // 2
        rows.append([d, k, p, *cells, f"{exponent(sizes.samples[-half - 1 :], medians[-half - 1 :]):.2f}"])
    return table(header, rows)


def coherence_table(found: Coherent) -> str:
    """One line for each dimension and coherence."""
    rows = [(d, mu, f["entries"], f["rows"], f["largest"]) for (d, mu), f in found.items()]
    return table(["d", "coherence mu", "noise by largest entry", "noise by two rows", "sqrt(d) max abs X"], rows)


def draw(sizes: Sizes, streams: Streams, found: Coherent, path: Path) -> None:
    """Errors against samples, against coherence, and against dimension."""
    figure, (left, middle, right) = panels(3)
    for i, ((d, k, p), errors) in enumerate(streams.items()):
        curve(left, sizes.samples, [median(trial) for trial in errors], i, f"d={d}, k={k}, p={p}")
    guide(left, sizes.samples, 1.0, -0.5, "slope −1/2")
    left.set(xscale="log", yscale="log", xlabel="samples n / (d k)", ylabel="sin of largest angle", title="Streaming")
    for i, d in enumerate(sizes.dimensions):
        mus = [mu for dimension, mu in found if dimension == d]
        curve(middle, mus, [found[d, mu]["entries"] for mu in mus], i, f"d={d}")
    guide(middle, mus, found[d, 1]["entries"], 0.5, "slope 1/2")
    middle.set(xscale="log", yscale="log", xlabel="coherence μ", title="Private: coherence")
    dimensions = sizes.dimensions
    curve(right, dimensions, [found[d, 1]["entries"] for d in dimensions], 0, "μ = 1")
    curve(right, dimensions, [found[d, min(d, 64)]["entries"] for d in dimensions], 1, "μ = 64")
    guide(right, dimensions, found[dimensions[0], 1]["entries"], 0.5, "slope 1/2")
    right.set(xscale="log", yscale="log", xlabel="dimension d", title="Private: dimension")
    for ax in (left, middle, right):
        ax.legend(fontsize=6.5, frameon=False)
    finish(figure, path)
