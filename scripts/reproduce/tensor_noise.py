"""Wang and Anandkumar 2016, Figure 1: how much noise the robust tensor power method bears.

T = v1^3 + 0.75 v2^3 + 0.5 v3^3 along the first three axes, plus noise E of operator norm sigma: Gaussian (symmetrized),
adversarial (v2 x I, symmetrized) or weakly correlated (the cubes of all other axes). A trial fails unless every found
vector has an inner product of at least 1/4 with its own component. The paper does not give restarts L and steps R;
here L = 10, R = 15. Transitions should line up at sigma ~ d^(-1/2), 1 / d and 1 / log d.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplda.base.threads import one_blas_thread
from dplda.learning.eigenpairs import implicit
from dplda.papers import Implicit, robust_power_method
from reproduce.common import curve, exponent, finish, panels, report, table

VALUES = np.array([1.0, 0.75, 0.5])
STARTS, STEPS, SETTLED = 10, 15, 1e-3
SCALES: dict[str, Callable[[float], float]] = {
    "σ": lambda d: 1.0,
    "σ √d": np.sqrt,
    "σ d": lambda d: d,
    "σ ln d": np.log,
}
CLAIMED = {"gaussian": "σ √d", "adversarial": "σ d", "weakly correlated": "σ ln d"}
SPREADS = {"gaussian": (1.5, 9.0), "adversarial": (2.0, 20.0), "weakly correlated": (0.7, 2.5)}  # of sigma, scaled


@dataclass(frozen=True)
class Sizes:
    """What is swept: dimensions, those of dense (Gaussian) noise, noise levels for each, trials at each level."""

    dimensions: tuple[int, ...]
    dense: tuple[int, ...]
    levels: int
    trials: int


SIZES = {"full": Sizes((25, 50, 100, 200), (25, 50, 100, 200), 7, 20), "quick": Sizes((25, 50), (25, 50), 5, 8)}


@one_blas_thread()
def main(quick: bool, seed: int, figure: Path) -> None:
    """Measure, print and draw."""
    found = sweep(SIZES["quick" if quick else "full"], np.random.default_rng(seed))
    print("**Noise at which half of the trials fail**, and how well it lines up under each scaling\n")
    print(transition_table(found))
    draw(found, figure)


def gaussian(d: int, random: np.random.Generator) -> Implicit:
    """Symmetrized Gaussian noise of operator norm about 1."""
    raw = random.standard_normal((d, d, d), dtype=np.float32)
    E = implicit(sum(raw.transpose(order) for order in itertools.permutations(range(3))), 1)
    norm = operator_norm(E, random)
    return Implicit(lambda U: E.along(U) / np.float32(norm), d, E.example)


def adversarial(d: int, random: np.random.Generator) -> Implicit:
    """v2 x I over its three places: E(I, u, u) = |u|^2 v2 + 2 (v2'u) u, of operator norm 3 before it is scaled."""

    def along(U: np.ndarray) -> np.ndarray:
        product = 2 * U[1] * U
        product[1] += (U**2).sum(axis=0)
        return product / 3

    return Implicit(along, d)


def weakly_correlated(d: int, random: np.random.Generator) -> Implicit:
    """The cubes of all axes but the first three, of operator norm 1."""
    others = (np.arange(d) >= len(VALUES))[:, None]
    return Implicit(lambda U: others * U**2, d)


NOISES = {"gaussian": gaussian, "adversarial": adversarial, "weakly correlated": weakly_correlated}


def operator_norm(E: Implicit, random: np.random.Generator, starts: int = 10, steps: int = 60) -> float:
    """The largest E(u, u, u) that shifted power iterations climb to from random starts (Kolda and Mayo 2011)."""
    U = E.directions(random, starts)
    for _ in range(steps):
        products = E.along(U)
        shift = np.linalg.norm(products, axis=0).mean()
        U = products + shift * U
        U /= np.linalg.norm(U, axis=0)
    return float((U * E.along(U)).sum(axis=0).max())


def fails(E: Implicit, sigma: float, random: np.random.Generator) -> bool:
    """Whether one of the three vectors found in T + sigma E is not its component."""

    def along(U: np.ndarray) -> np.ndarray:
        product = np.asarray(sigma, U.dtype) * E.along(U)
        product[:3] += VALUES[:, None] * U[:3] ** 2
        return product

    found = robust_power_method(
        Implicit(along, E.dimension, E.example),
        3,
        random,
        starts=STARTS,
        iterations=STEPS,
        tolerance=SETTLED,
        screen=False,
    )
    return bool((np.diag(found.vectors[:3]) < 0.25).any())


Failures = dict[tuple[str, int], tuple[np.ndarray, np.ndarray]]  # by noise and d: sigma, share of trials


def sweep(sizes: Sizes, random: np.random.Generator) -> Failures:
    """Failure probabilities at levels spread around each claimed transition."""
    found = {}
    for name, d in itertools.product(NOISES, sizes.dimensions):
        if name == "gaussian" and d not in sizes.dense:
            continue
        report(f"{name} d={d}")
        sigmas = np.geomspace(*SPREADS[name], sizes.levels) / SCALES[CLAIMED[name]](d)
        failed = np.zeros(len(sigmas))
        for _ in range(sizes.trials):
            E = NOISES[name](d, random)
            failed += [fails(E, sigma, random) for sigma in sigmas]
        found[name, d] = sigmas, failed / sizes.trials
    return found


def transition(sigmas: np.ndarray, failed: np.ndarray) -> float:
    """The sigma at which the failure probability first reaches 1/2, interpolated; NaN where it does not."""
    above = np.flatnonzero(failed >= 0.5)
    if not above.size or above[0] == 0:
        return float("nan")
    i = above[0]
    part = (0.5 - failed[i - 1]) / (failed[i] - failed[i - 1])
    return float(np.exp(np.log(sigmas[i - 1]) + part * np.log(sigmas[i] / sigmas[i - 1])))


def slope(dimensions: Sequence[float], at: Iterable[float]) -> str:
    """The exponent of d among the transitions that were found."""
    known = [(d, value) for d, value in zip(dimensions, at, strict=True) if np.isfinite(value)]
    return f"{exponent(*zip(*known, strict=True)):.2f}" if len(known) > 1 else "–"


def transition_table(found: Failures) -> str:
    """sigma of the transition by dimension, its exponent in d, and largest over smallest under every scaling."""
    every = sorted({d for _, d in found})
    rows = []
    for name in NOISES:
        dimensions = [d for d in every if (name, d) in found]
        at = np.array([transition(*found[name, d]) for d in dimensions])
        cells = [*(f"{sigma:.3f}" for sigma in at), *["–"] * (len(every) - len(at))]
        scaled = [at * [scale(d) for d in dimensions] for scale in SCALES.values()]
        spreads = [f"{np.nanmax(s) / np.nanmin(s):.2f}" if np.isfinite(s).any() else "–" for s in scaled]
        rows.append([name, *cells, slope(dimensions, at), *spreads, CLAIMED[name]])
    lined_up = [f"spread of {scale}" for scale in SCALES]
    return table(["noise", *(f"d = {d}" for d in every), "exponent of d", *lined_up, "claimed"], rows)


def draw(found: Failures, path: Path) -> None:
    """The paper's figure: a row for each noise, a column for each scaling."""
    figure, axes = panels(4, 3, width=2.3, height=2.0)
    for ax, (name, (label, scale)) in zip(axes, itertools.product(NOISES, SCALES.items()), strict=True):
        for i, d in enumerate(d for noise, d in found if noise == name):
            sigmas, failed = found[name, d]
            curve(ax, sigmas * scale(d), failed, i, f"d = {d}")
        ax.set(xscale="log", xlabel=label)
        if label == "σ":
            ax.set_ylabel(f"{name}\nfailure probability")
    axes[-1].legend(fontsize=6.5, frameon=False)
    finish(figure, path)
