"""The robust tensor power method (Anandkumar et al. 2014, Algorithm 1; Wang and Anandkumar 2016, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dplda.accounting.events import Event
from dplda.compute.arrays import Array, like, namespace
from dplda.compute.threads import one_blas_thread
from dplda.tensor.implicit import Implicit, along_itself, implicit, require_counts, scaled_to_unit


@dataclass(frozen=True)
class EigenPairs:
    """Pairs of a symmetric tensor: `values` (r,) and unit `vectors` (d, r), T ~ sum values v^3.

    `iterations` counts the power steps of all pairs together. `residuals` (r,) are the lengths of T(I, u, u) -
    T(u, u, u) u at the last u of each pair at which the (noisy, deflated) tensor was asked: 0 at an eigenvector.
    `events` are what a private function released.
    """

    values: Array
    vectors: Array
    iterations: int = 0
    residuals: Array = field(default_factory=lambda: np.empty(0))
    events: tuple[Event, ...] = ()


def no_pairs(tensor: Implicit) -> tuple[Array, Array, Array]:
    """Values (0,), vectors (d, 0) and residuals (0,) to which the pairs of `tensor` are appended."""
    nothing = like(np.empty(0), tensor.example)
    return nothing, like(np.empty((tensor.dimension, 0)), tensor.example), nothing


@one_blas_thread()
def robust_power_method(
    T: Array | Implicit,
    rank: int,
    rng: np.random.Generator,
    *,
    starts: int = 100,
    iterations: int = 30,
    tolerance: float = 0.0,
    screen: bool = True,
) -> EigenPairs:
    """Find `rank` eigenpairs of the symmetric tensor T (d, d, d) by power iterations, restarts and deflation.

    Each pair runs `starts` random unit vectors together for `iterations` steps, keeps the one with the largest
    T(v, v, v), polishes it for as many steps again and subtracts it. With `screen` they run a quarter of the steps and
    only the best eighth of them the rest; without, the algorithm is as printed, followed by the polishing. Steps end
    early when no vector moves by more than `tolerance`.

    Cost: rank * iterations * (starts + 1) products T(I, u, u), about two fifths of them with `screen`; one in a dense T
    takes d^2 (d + 1) flops. Memory beside a dense T: d^2 (d + 1) / 2 + starts * d (d + 1) numbers, or twice T while its
    symmetry is tested if that is more.
    Raises `InputError` unless T is finite, cubic and symmetric and 1 <= rank <= d.
    """
    require_counts(starts=starts, iterations=iterations)
    tensor = implicit(T, rank)
    xp, done = namespace(tensor.example), 0
    values, vectors, residuals = no_pairs(tensor)
    for _ in range(rank):
        deflated = tensor.less(values, vectors)
        U = tensor.directions(rng, starts)
        if screen:
            U, steps = _iterate(deflated, U, max(1, iterations // 4), tolerance)
            U, done = _best(deflated, U, max(1, starts // 8)), done + steps
        U, steps = _iterate(deflated, U, iterations, tolerance)
        v, polishing = _iterate(deflated, _best(deflated, U, 1), iterations, tolerance)
        product = deflated.along(v)
        value = along_itself(v, product)
        values, vectors = xp.concat([values, value]), xp.concat([vectors, v], axis=1)
        residuals = xp.concat([residuals, xp.linalg.vector_norm(product - value * v, axis=0)])
        done += steps + polishing
    return EigenPairs(values, vectors, done, residuals)


def _best(tensor: Implicit, U: Array, count: int) -> Array:
    """The `count` columns of U with the largest T(u, u, u)."""
    xp = namespace(U)
    order = xp.argsort(-along_itself(U, tensor.along(U)), stable=True)
    return xp.take(U, order[:count], axis=1)


def _iterate(tensor: Implicit, U: Array, iterations: int, tolerance: float) -> tuple[Array, int]:
    """U after at most `iterations` steps u <- T(I, u, u) / |T(I, u, u)|, and how many were taken."""
    xp = namespace(U)
    for step in range(iterations):
        V = scaled_to_unit(tensor.along(U), U)
        moved = float(xp.max(xp.abs(V - U)))
        U = V
        if moved <= tolerance:
            return U, step + 1
    return U, iterations
