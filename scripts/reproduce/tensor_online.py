"""Wang and Anandkumar 2016, Theorem 3.1 and Corollary 3.1: online recovery against samples.

Samples x = sum_i a_i (lambda_i / 2)^(1/3) v_i + s, with independent skewed loads a (2 or -1, E a = 0, E a^3 = 2) and
signs s on all axes, so that E x^3 = sum lambda_i v_i^3 exactly, lambda = 4, 3, 2. Every step reads fresh samples. The
error is the largest |v_i found - v_i|. The theorem: nothing works before n ~ d^2 samples a step, and from there on the
error goes as (d / n)^(1/2), so that it is O(d^(-1/2)) at n ~ d^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplda.base.threads import one_blas_thread
from dplda.papers import online_power_method
from reproduce.common import curve, exponent, finish, guide, median, panels, report, table
from reproduce.tensor_noise import transition

VALUES = np.array([4.0, 3.0, 2.0])
STARTS, STEPS = 10, 15
BLOCK = 4096
RECOVERED = 0.5  # the largest error that counts as found


@dataclass(frozen=True)
class Sizes:
    """What is swept: dimensions, samples of a step over d^2, trials."""

    dimensions: tuple[int, ...]
    ratios: tuple[float, ...]
    trials: int


SIZES = {
    "full": Sizes((16, 32, 64), (0.25, 0.5, 1, 2, 4, 8, 16), 5),
    "quick": Sizes((16, 32), (0.5, 2, 8), 3),
}

Errors = dict[int, list[list[float]]]  # by dimension: for each ratio, one error a trial


@one_blas_thread()
def main(quick: bool, seed: int, figure: Path) -> None:
    """Measure, print and draw."""
    sizes, random = SIZES["quick" if quick else "full"], np.random.default_rng(seed)
    found = sweep(sizes, random)
    print("**Largest error of three components**, median of trials, by n samples a step\n")
    print(error_table(sizes, found))
    draw(sizes, found, figure)


def stream(V: np.ndarray, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Endless blocks of samples."""
    d, k = V.shape
    scaled = (np.cbrt(VALUES / 2) * V).T.astype(np.float32)
    while True:
        loads = np.where(random.random((BLOCK, k)) < 1 / 3, 2, -1).astype(np.float32)
        bits = np.unpackbits(np.frombuffer(random.bytes(BLOCK * d // 8), np.uint8)).reshape(BLOCK, d)
        yield loads @ scaled + (2 * bits.astype(np.float32) - 1)


def error(d: int, samples: int, random: np.random.Generator) -> float:
    """The largest distance of a vector found, in order of values, from its component."""
    V = np.linalg.qr(random.standard_normal((d, len(VALUES))))[0]
    found = online_power_method(
        stream(V, random), len(VALUES), random, samples=samples, starts=STARTS, iterations=STEPS
    )
    return float(np.linalg.norm(found.vectors[:, np.argsort(-found.values)] - V, axis=0).max())


def sweep(sizes: Sizes, random: np.random.Generator) -> Errors:
    """Errors by dimension and number of samples."""
    found: Errors = {}
    for d in sizes.dimensions:
        report(f"online d={d}")
        found[d] = [[error(d, int(ratio * d * d), random) for _ in range(sizes.trials)] for ratio in sizes.ratios]
    return found


def needed(sizes: Sizes, errors: list[list[float]]) -> float:
    """The ratio n / d^2 at which half of the trials find all components, interpolated."""
    rates = np.mean(np.array(errors) <= RECOVERED, axis=1)
    return transition(np.array(sizes.ratios), rates)


def error_table(sizes: Sizes, found: Errors) -> str:
    """One line for each dimension, with the exponent of n and the error at the most samples times (n / d)^(1/2)."""
    rows = []
    for d, errors in found.items():
        medians = [median(trials) for trials in errors]
        slope = exponent(sizes.ratios[-3:], medians[-3:])
        scaled = medians[-1] * np.sqrt(sizes.ratios[-1] * d)
        rows.append([d, *medians, f"{slope:.2f}", float(scaled), float(needed(sizes, errors))])
    header = [
        "d",
        *(f"n = {ratio:g} d²" for ratio in sizes.ratios),
        "exponent of n",
        "last × √(n/d)",
        "found from n/d²",
    ]
    return table(header, rows)


def draw(sizes: Sizes, found: Errors, path: Path) -> None:
    """Errors against n / d^2, where they begin, and against n / d, where they end."""
    figure, axes = panels(2, width=4.0)
    for ax, (label, power) in zip(axes, (("samples a step n / d²", 2), ("samples a step n / d", 1)), strict=True):
        for i, (d, errors) in enumerate(found.items()):
            samples = [ratio * d ** (2 - power) for ratio in sizes.ratios]
            curve(ax, samples, [median(trials) for trials in errors], i, f"d = {d}")
        ax.set(xscale="log", yscale="log", xlabel=label, ylabel="largest error of a component")
    last = max(found)
    reach = [ratio * last for ratio in sizes.ratios]
    guide(axes[1], reach, median(found[last][-1]) * np.sqrt(reach[-1] / reach[0]), -0.5, "slope −1/2")
    for ax in axes:
        ax.legend(fontsize=6.5, frameon=False)
    finish(figure, path)
