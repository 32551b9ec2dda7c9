"""Wang and Anandkumar 2016, Theorem 4.2: private recovery of the first pair, against noise on the whole tensor.

T = S (v1^3 + 0.75 v2^3 + 0.5 v3^3) with columns of a Hadamard matrix for components (coherence 1); one entry is
protected (Definition 4.2), delta 1e-6. Noise on every answer follows the largest entry of u, which is about
(2 log d / d)^(1/2), so that the epsilon of recovery should not grow with a power of d; noise on every entry of the
tensor needs an epsilon that grows with d. Both are calibrated exactly, and both get the same starts and steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import hadamard

from dplda.base.threads import one_blas_thread
from dplda.learning.eigenpairs import implicit
from dplda.papers import Implicit, noisy_tensor_power_method, private_tensor_power_method
from dplda.papers.neighbours import calibrated_event
from dplda.papers.tensors import PRODUCT, entry_scales
from dplda.private.statistics.lda_moments import unpack
from reproduce.common import curve, finish, guide, panels, report, table
from reproduce.tensor_noise import slope, transition

VALUES = 1000 * np.array([1.0, 0.75, 0.5])
DELTA = 1e-6
STARTS, STEPS = 10, 12
CLOSE = 0.5  # |v - v1| of a recovered vector


@dataclass(frozen=True)
class Sizes:
    """What is swept: dimensions of both methods, levels of epsilon, trials at each."""

    private: tuple[int, ...]
    perturbed: tuple[int, ...]
    epsilons: tuple[float, ...]
    trials: int


SIZES = {
    "full": Sizes((32, 64, 128, 256, 512, 1024), (32, 64, 128), tuple(0.05 * 2**i for i in range(10)), 20),
    "quick": Sizes((32, 128), (32, 64), (0.1, 0.4, 1.6, 6.4), 6),
}
METHODS = ("private power method", "input perturbation")


@one_blas_thread()
def main(quick: bool, seed: int, figure: Path) -> None:
    """Measure, print and draw."""
    sizes, random = SIZES["quick" if quick else "full"], np.random.default_rng(seed)
    found = {(METHODS[0], d): private_rates(d, sizes, random) for d in sizes.private}
    found |= {(METHODS[1], d): perturbed_rates(d, sizes, random) for d in sizes.perturbed}
    print("**Epsilon at which half of the trials recover the first pair**\n")
    print(epsilon_table(sizes, found))
    print("**Noise for one answer about one vector, entry-level, in units of |u|_max^2**\n")
    print(noise_table())
    draw(sizes, found, figure)


def planted(d: int, random: np.random.Generator) -> tuple[Implicit, np.ndarray]:
    """The tensor, and its first component."""
    V = hadamard(d)[:, random.permutation(d)[: len(VALUES)]] / math.sqrt(d)
    return Implicit(lambda U: V @ (VALUES[:, None] * (V.T @ U) ** 2), d), V[:, 0]


def recovered(vectors: np.ndarray, v: np.ndarray) -> bool:
    """Whether the first vector found is close to v."""
    return bool(np.linalg.norm(vectors[:, 0] - v) <= CLOSE)


def private_rates(d: int, sizes: Sizes, random: np.random.Generator) -> np.ndarray:
    """Share of trials that recover the first pair, for every epsilon."""
    report(f"private d={d}")
    rates = np.zeros(len(sizes.epsilons))
    for _ in range(sizes.trials):
        T, v = planted(d, random)
        for i, epsilon in enumerate(sizes.epsilons):
            found = private_tensor_power_method(
                T, 1, random, epsilon=epsilon, delta=DELTA, starts=STARTS, iterations=STEPS
            )
            rates[i] += recovered(found.vectors, v)
    return rates / sizes.trials


def isotropic(d: int, random: np.random.Generator) -> Implicit:
    """Symmetric noise with independent unit coordinates: entries have variance 1 over how often they occur."""
    a = np.arange(d)
    order = (a[:, None, None] <= a[:, None]) & (a[:, None] <= a)
    i, j, k = np.nonzero(order)
    times = np.where((i == j) & (j == k), 1.0, np.where((i == j) | (j == k), 3.0, 6.0))
    return implicit(unpack(random.standard_normal(len(times)) / np.sqrt(times), d), 1)


def perturbed_rates(d: int, sizes: Sizes, random: np.random.Generator) -> np.ndarray:
    """As `private_rates`, with one noisy tensor for each trial and epsilon: neighbours differ by at most 6."""
    report(f"input perturbation d={d}")
    rates = np.zeros(len(sizes.epsilons))
    for _ in range(sizes.trials):
        (T, v), E = planted(d, random), isotropic(d, random)
        for i, epsilon in enumerate(sizes.epsilons):
            std = 6 * multiplier(1, epsilon)

            def along(U: np.ndarray, T: Implicit = T, E: Implicit = E, std: float = std) -> np.ndarray:
                return T.along(U) + std * E.along(U)

            found = noisy_tensor_power_method(Implicit(along, d), 1, random, starts=STARTS, iterations=STEPS)
            rates[i] += recovered(found.vectors, v)
    return rates / sizes.trials


def multiplier(questions: int, epsilon: float) -> float:
    """The exact noise multiplier of equal Gaussian questions."""
    return calibrated_event("tensor", questions, epsilon, DELTA).noise_multiplier or math.inf


def paper_noise(questions: int, epsilon: float) -> float:
    """nu of Algorithm 3."""
    one = epsilon / math.sqrt(questions * (4 + math.log(2 / DELTA)))
    return 6 * math.sqrt(2 * math.log(1.25 * 2 * questions / DELTA)) / one


def noise_table() -> str:
    """nu beside what exact composition needs, charging each start and charging their joint sensitivity."""
    U = np.random.default_rng(0).standard_normal((256, STARTS))
    U /= np.linalg.norm(U, axis=0)
    joint = float(np.mean(entry_scales(U, PRODUCT) / np.abs(U).max(axis=0) ** 2))
    questions = STEPS + 1
    rows = [
        (
            epsilon,
            paper_noise(STARTS * questions, epsilon),
            6 * multiplier(STARTS * questions, epsilon),
            joint * multiplier(questions, epsilon),
        )
        for epsilon in (0.5, 1.0, 2.0, 8.0)
    ]
    return table(["epsilon", "nu of the paper", "exact, each start", "exact, ten random starts together"], rows)


def epsilon_table(sizes: Sizes, found: dict[tuple[str, int], np.ndarray]) -> str:
    """One line for each method, with the exponent of d over the upper dimensions."""
    rows = []
    for method, dimensions in zip(METHODS, (sizes.private, sizes.perturbed), strict=True):
        at = [transition(np.array(sizes.epsilons), found[method, d]) for d in dimensions]
        cells = [f"{epsilon:.2f}" for epsilon in at] + ["–"] * (len(sizes.private) - len(at))
        rows.append([method, *cells, slope(dimensions, at)])
    return table(["method", *(f"d = {d}" for d in sizes.private), "exponent of d"], rows)


def draw(sizes: Sizes, found: dict[tuple[str, int], np.ndarray], path: Path) -> None:
    """Recovery against epsilon for both methods, and the epsilon of recovery against d."""
    figure, (left, middle, right) = panels(3)
    for ax, method, dimensions in ((left, METHODS[0], sizes.private), (middle, METHODS[1], sizes.perturbed)):
        for i, d in enumerate(dimensions):
            curve(ax, sizes.epsilons, found[method, d], i, f"d = {d}")
        ax.set(xscale="log", xlabel="epsilon", ylabel="share recovered", title=method.capitalize())
    for i, (method, dimensions) in enumerate(zip(METHODS, (sizes.private, sizes.perturbed), strict=True)):
        at = [transition(np.array(sizes.epsilons), found[method, d]) for d in dimensions]
        curve(right, dimensions, at, i, method)
    guide(right, dimensions, at[0], 1.0, "slope 1")
    right.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="epsilon", title="Half of the trials recover")
    for ax in (left, middle, right):
        ax.legend(fontsize=6.5, frameon=False)
    finish(figure, path)
