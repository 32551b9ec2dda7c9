"""Nguyen, Ene and Nguyen, Table 1: adaptive power iteration against its rivals on random matrices of low coherence.

Rows are Gaussian, scaled to length at most 1, with sigma_2 = sigma_1 / 2 and all further singular values equal, as in
the paper's example. Error: sin^2 to the exact first right singular vector, one row added or removed, delta 1e-6. The
paper's claims there: d^2 / (epsilon n)^2 for its algorithm, d^(3/2) / (epsilon n) for Analyze Gauss. All
methods have exactly calibrated noise; the power methods run the same number of rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dplda.papers import (
    adaptive_power_iteration,
    analyze_gauss,
    clipped_power_iteration,
    private_power_method,
    random_basis,
)
from reproduce.common import curve, exponent, finish, guide, median, panels, report, table

DELTA = 1e-6
METHODS = ("adaptive", "clipped", "Analyze Gauss", "private power method")
CLAIMS = {"adaptive": (-2, 2, -2), "Analyze Gauss": (-1, 1.5, -1)}  # exponents of n, d, epsilon in Table 1

Errors = dict[str, float]  # median sin^2 of each method


@dataclass(frozen=True)
class Sizes:
    """What is swept: each of rows n, dimensions d and epsilons, with the other two at `base`."""

    rows: tuple[int, ...]
    dimensions: tuple[int, ...]
    epsilons: tuple[float, ...]
    base: tuple[int, int, float]
    rounds: int
    trials: int


SIZES = {
    "full": Sizes(
        rows=(12_500, 25_000, 50_000, 100_000, 200_000),
        dimensions=(25, 50, 100, 200, 400),
        epsilons=(0.5, 1.0, 2.0, 4.0, 8.0),
        base=(100_000, 100, 2.0),
        rounds=8,
        trials=9,
    ),
    "quick": Sizes((12_500, 25_000, 50_000), (25, 50, 100), (1.0, 2.0, 4.0), (25_000, 50, 2.0), 8, 5),
}


def main(quick: bool, seed: int, figure: Path) -> None:
    """Measure, print and draw."""
    sizes, random = SIZES["quick" if quick else "full"], np.random.default_rng(seed)
    sweeps = measure(sizes, random)
    n, d, epsilon = sizes.base
    print(
        f"Median sin^2 of {sizes.trials} runs of {sizes.rounds} rounds; else n = {n}, d = {d}, epsilon = {epsilon:g}\n"
    )
    for i, (name, found) in enumerate(sweeps.items()):
        print(sweep_table(name, found, i))
    draw(sweeps, figure)


def measure(sizes: Sizes, random: np.random.Generator) -> dict[str, dict[float, Errors]]:
    """Errors along n, d and epsilon."""
    n, d, epsilon = sizes.base
    return {
        "n": {rows: errors(rows, d, (epsilon,), sizes, random)[epsilon] for rows in sizes.rows},
        "d": {columns: errors(n, columns, (epsilon,), sizes, random)[epsilon] for columns in sizes.dimensions},
        "epsilon": errors(n, d, sizes.epsilons, sizes, random),
    }


def random_matrix(n: int, d: int, random: np.random.Generator) -> np.ndarray:
    """Rows (n, d) of length at most 1, the first singular value twice every other one, in expectation."""
    A = random.standard_normal((n, d))
    A[:, 0] *= 2
    A /= np.linalg.norm(A, axis=1).max()
    return A


def errors(n: int, d: int, epsilons: Sequence[float], sizes: Sizes, random: np.random.Generator) -> dict[float, Errors]:
    """Median sin^2 of each method at each epsilon, on one matrix and with fresh starts and noise."""
    report(f"n={n} d={d}")
    A = random_matrix(n, d, random)
    covariance = A.T @ A
    v = np.linalg.eigh(covariance)[1][:, -1]
    found = {}
    for epsilon in epsilons:
        trials = [one_trial(A, covariance, v, epsilon, sizes.rounds, random) for _ in range(sizes.trials)]
        found[epsilon] = {method: median(trial[method] for trial in trials) for method in METHODS}
    return found


def one_trial(
    A: np.ndarray, covariance: np.ndarray, v: np.ndarray, epsilon: float, rounds: int, random: np.random.Generator
) -> Errors:
    """sin^2 of each method from one start."""
    start = random_basis(random, A.shape[1], 1)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "rng": random, "neighbours": "row"}
    found = {
        "adaptive": adaptive_power_iteration(A, start, rounds, **asked),
        "clipped": clipped_power_iteration(A, start, rounds, **asked),
        "Analyze Gauss": analyze_gauss(A, 1, **asked),
        "private power method": private_power_method(covariance, start, rounds, **asked),
    }
    return {method: sine_squared(v, subspace.components[:, 0]) for method, subspace in found.items()}


def sine_squared(v: np.ndarray, x: np.ndarray) -> float:
    """sin^2 of the angle between unit vectors, without cancellation."""
    return float(np.sum((x - v * (v @ x)) ** 2))


def sweep_table(name: str, found: dict[float, Errors], axis: int) -> str:
    """Errors of each method along one axis, the fitted exponent and the claimed one."""
    rows = []
    for method in METHODS:
        medians = [found[value][method] for value in found]
        claimed = f"{CLAIMS[method][axis]:g}" if method in CLAIMS else ""
        cells = [f"{value:.1e}" for value in medians]
        rows.append([method, *cells, f"{exponent(list(found), medians):.2f}", claimed])
    header = ["method", *(f"{name} = {value:g}" for value in found), f"exponent of {name}", "claimed"]
    return table(header, rows)


def draw(sweeps: dict[str, dict[float, Errors]], path: Path) -> None:
    """One panel for each axis."""
    figure, axes = panels(3)
    for i, (ax, (name, found)) in enumerate(zip(axes, sweeps.items(), strict=True)):
        values = list(found)
        for j, method in enumerate(METHODS):
            curve(ax, values, [found[value][method] for value in values], j, method)
        at = found[values[0]]["adaptive"]
        guide(ax, values, at, CLAIMS["adaptive"][i], f"{name}^{CLAIMS['adaptive'][i]}")
        ax.set(xscale="log", yscale="log", xlabel={"n": "rows n", "d": "columns d", "epsilon": "epsilon"}[name])
        ax.legend(fontsize=6.5, frameon=False)
    axes[0].set_ylabel("sin² to the first singular vector")
    finish(figure, path)
