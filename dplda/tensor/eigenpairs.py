"""Eigenpairs of a symmetric tensor: the robust tensor power method (Anandkumar et al. 2014, Algorithm 1; Wang and
Anandkumar 2016, Algorithm 1) and simultaneous power iteration (Wang and Lu, ICML 2017)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dplda.accounting.events import Event
from dplda.numerics.arrays import Array, like, namespace
from dplda.numerics.threads import one_blas_thread
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


@one_blas_thread()
def simultaneous_power_method(
    T: Array | Implicit,
    rank: int,
    rng: np.random.Generator,
    *,
    probes: int = 20,
    rounds: int = 20,
    iterations: int = 20,
    tolerance: float = 0.0,
) -> EigenPairs:
    """Find `rank` eigenpairs of the symmetric tensor T (d, d, d) together: Q <- orth(T(I, q_j, q_j)), column by column.

    Starts near the answer: with w the average of T(I, u, u) over `probes` random u, T(I, I, w) has the components of T
    as eigenvectors and about values^2 as eigenvalues. Its leading subspace comes from `rounds` of the matrix power
    method and is split by its eigenvectors. Then at most `iterations` tensor steps, fewer if no column moves by more
    than `tolerance`. No deflation, so that errors do not pile up from pair to pair, and no restarts; but components
    must be nearly orthogonal, and `rank` of them stand out in T(I, I, w): equal values separate slowly.

    Cost: d^2 (d + 1) flops for each of probes + rank * (2 rounds + iterations + 3) vectors. Memory: as
    `robust_power_method` with 2 rank starts. Raises `InputError` unless T is finite, cubic and symmetric and
    1 <= rank <= d.
    """
    require_counts(probes=probes, rounds=rounds, iterations=iterations)
    tensor = implicit(T, rank)
    xp = namespace(tensor.example)
    Q, done = _start(tensor, rank, rng, probes, rounds), 0
    for step in range(1, iterations + 1):
        before, products = Q, tensor.along(Q)
        Q, done = _orthonormal(products), step
        if float(xp.max(xp.abs(Q - before))) <= tolerance:
            break
    products = tensor.along(Q)
    values = along_itself(Q, products)
    return EigenPairs(values, Q, done, xp.linalg.vector_norm(products - values * Q, axis=0))


def _start(tensor: Implicit, rank: int, rng: np.random.Generator, probes: int, rounds: int) -> Array:
    """The `rank` leading eigenvectors of T(I, I, w), (d, rank)."""
    xp = namespace(tensor.example)
    w = xp.mean(tensor.along(tensor.directions(rng, probes)), axis=1, keepdims=True)
    w = scaled_to_unit(w, w)

    def multiply(Q: Array) -> Array:
        both = tensor.along(xp.concat([w + Q, w - Q], axis=1))
        return (both[:, :rank] - both[:, rank:]) / 4

    Q = _orthonormal(tensor.directions(rng, rank))
    for _ in range(rounds):
        Q = _orthonormal(multiply(Q))
    core = Q.T @ multiply(Q)
    eigenvalues, turn = xp.linalg.eigh((core + core.T) / 2)
    return Q @ xp.take(turn, xp.argsort(-xp.abs(eigenvalues)), axis=1)


def _orthonormal(V: Array) -> Array:
    """The columns of V (d, r) made orthonormal in their order, each on its own side."""
    xp = namespace(V)
    Q, R = xp.linalg.qr(V)
    return Q * (1 - 2 * xp.astype(xp.linalg.diagonal(R) < 0, R.dtype))
