"""Tensor power methods beside TensorLy's: a planted tensor with symmetric Gaussian noise.

TensorLy's symmetric power iteration and `robust_power_method` have the same stopping rule: ten starts of thirty steps
for each component, and thirty steps more for the best. The robust method with screening and the simultaneous method,
which finds all components at once, come beside them. The error is the largest distance of a vector from its component.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.measuring import in_turns, median_cores, median_wall
from benchmarks.tables import Table
from dplda.papers import robust_power_method, simultaneous_power_method

STARTS, STEPS = 10, 30  # tensorly's defaults: ten starts, ten iterations of three steps each
NEVER = -1.0  # no early stop, which tensorly does not have

Pairs = tuple[np.ndarray, np.ndarray]  # values (k,) and vectors (d, k)


def measure(dimension: int, rank: int, noise: float, repeats: int) -> None:
    """Print a row for each method, TensorLy's first."""
    T, V = planted(dimension, rank, noise, np.random.default_rng(0))
    print(f"d = {dimension}, k = {rank}, {STARTS} starts, {STEPS} steps\n")
    table = Table("method", "seconds", "core-seconds", "times faster", "error")
    measured = in_turns(methods(T, rank), repeats)
    for name, runs in measured.items():
        values, vectors = runs[-1].result
        error = np.linalg.norm(vectors[:, np.argsort(-values)] - V, axis=0).max()
        wall = median_wall(runs)
        faster = median_wall(measured["tensorly"]) / wall
        table.row(name, f"{wall:.3f}", f"{median_cores(runs):.3f}", f"{faster:.1f}", f"{error:.4f}")


def planted(d: int, k: int, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric tensor with values from 1 to 2 and Gaussian noise, and its components by falling value."""
    V = np.linalg.qr(rng.standard_normal((d, k)))[0]
    raw = rng.standard_normal((d, d, d))
    E = sum(raw.transpose(order) for order in itertools.permutations(range(3))) / 6
    return np.einsum("r,ar,br,cr->abc", np.linspace(2, 1, k), V, V, V, optimize=True) + noise * E, V


def methods(T: np.ndarray, k: int) -> dict[str, Callable[[], Pairs]]:
    """Every method on the tensor `T` of `k` components."""
    from tensorly.decomposition import symmetric_parafac_power_iteration as peer

    rng = np.random.default_rng(1)

    def tensorly() -> Pairs:
        np.random.seed(1)
        values, vectors = peer(T, k, n_repeat=STARTS, n_iteration=STEPS // 3)
        return values, vectors

    def robust(screen: bool) -> Pairs:
        found = robust_power_method(T, k, rng, starts=STARTS, iterations=STEPS, tolerance=NEVER, screen=screen)
        return found.values, found.vectors

    def together() -> Pairs:
        found = simultaneous_power_method(T, k, rng)
        return found.values, found.vectors

    return {
        "tensorly": tensorly,
        "robust, same rule": partial(robust, screen=False),
        "robust, screened": partial(robust, screen=True),
        "simultaneous": together,
    }
