"""Eigenpairs of a symmetric tensor by robust, noisy and simultaneous power methods.

The robust method is Algorithm 1 of Anandkumar et al. 2014 and of Wang and Anandkumar 2016. The noisy method is the
common part of Algorithms 2 and 3 of Wang and Anandkumar 2016. The simultaneous method is from Wang and Lu, ICML 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dplda.accounting.events import Event
from dplda.numerics.arrays import Array, like, namespace
from dplda.numerics.threads import one_blas_thread
from dplda.spectral.arguments import require_counts
from dplda.tensor.implicit import Implicit, along_itself, implicit, scaled_to_unit


@dataclass(frozen=True)
class EigenPairs:
    """Eigenvalues `values` (r,) and unit eigenvectors `vectors` (d, r) of a symmetric tensor T ~ sum values v^3.

    `iterations` counts the power steps of all pairs. `residuals` (r,) are the norms of T(I, u, u) - T(u, u, u) u, which
    are 0 at an eigenvector. T is the (noisy, deflated) tensor, and u the last vector of each pair whose product was
    computed. `events` are the releases of a private function.
    """

    values: Array
    vectors: Array
    iterations: int = 0
    residuals: Array = field(default_factory=lambda: np.empty(0))
    events: tuple[Event, ...] = ()


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

    For each pair, `starts` random unit vectors take `iterations` steps. The one with the largest T(v, v, v) takes as
    many steps again, and its pair is subtracted from T. With `screen`, `starts` vectors take a quarter of the steps,
    and only the best eighth of them then takes `iterations` steps. The papers have neither the screening nor the final
    steps. Steps end early when no entry of a vector changes by more than `tolerance`.

    Cost: rank * iterations * (starts + 1) products T(I, u, u), about two fifths of them with `screen`; with a dense T
    each takes d^2 (d + 1) flops. Memory in addition to a dense T: d^2 (d + 1) / 2 + starts * d (d + 1) numbers, or
    twice T during the test of its symmetry if that is more. Raises `InputError` unless T is finite, cubic and symmetric
    and 1 <= rank <= d.
    """
    require_counts(starts=starts, iterations=iterations)
    tensor = implicit(T, rank)
    xp, done = namespace(tensor.example), 0
    values, vectors, residuals = _no_pairs(tensor)
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


def _no_pairs(tensor: Implicit) -> tuple[Array, Array, Array]:
    """Return empty values (0,), vectors (d, 0) and residuals (0,), in the array library of `tensor`."""
    nothing = like(np.empty(0), tensor.example)
    return nothing, like(np.empty((tensor.dimension, 0)), tensor.example), nothing


def _best(tensor: Implicit, U: Array, count: int) -> Array:
    """The `count` columns of U with the largest T(u, u, u)."""
    xp = namespace(U)
    order = xp.argsort(-along_itself(U, tensor.along(U)), stable=True)
    return xp.take(U, order[:count], axis=1)


def _iterate(tensor: Implicit, U: Array, iterations: int, tolerance: float) -> tuple[Array, int]:
    """Return U after at most `iterations` steps u <- T(I, u, u) / |T(I, u, u)|, and the number of steps taken."""
    xp = namespace(U)
    for step in range(iterations):
        V = scaled_to_unit(tensor.along(U), U)
        moved = float(xp.max(xp.abs(V - U)))
        U = V
        if moved <= tolerance:
            return U, step + 1
    return U, iterations


def noisy_power_method(
    T: Implicit,
    rank: int,
    rng: np.random.Generator,
    *,
    starts: int = 1,
    iterations: int,
    value: Callable[[Array], Array] | None = None,
) -> EigenPairs:
    """Find `rank` eigenpairs of T (d, d, d) by `iterations` products for each, with `starts` vectors together.

    Pairs found earlier are subtracted from the products. Of the final vectors, the one with the largest T(u, u, u) is
    kept. `value` maps the columns u of U (d, L) to T(u, u, u), (L,). Without it, T(u, u, u) is taken at the vectors one
    step earlier, as in Algorithm 2 of Wang and Anandkumar. The products of T may be noisy. T is not tested for
    symmetry, and the result is only as private as the products and values are.

    Cost: rank * iterations products of T with (d, starts) arrays. Memory: O(d (rank + starts)) beyond that of T.
    """
    require_counts(rank=rank, starts=starts, iterations=iterations)
    xp = namespace(T.example)
    values, vectors, residuals = _no_pairs(T)
    for _ in range(rank):
        deflated, U = T.less(values, vectors), T.directions(rng, starts)
        for _ in range(iterations):
            before, products = U, deflated.along(U)
            U = scaled_to_unit(products, before)
        last = along_itself(before, products)
        scores = last if value is None else value(U) - values @ (vectors.T @ U) ** 3
        best = xp.argmax(scores, keepdims=True)
        residual = xp.linalg.vector_norm(products - last * before, axis=0)
        values, residuals = (xp.concat([a, xp.take(b, best)]) for a, b in ((values, scores), (residuals, residual)))
        vectors = xp.concat([vectors, xp.take(U, best, axis=1)], axis=1)
    return EigenPairs(values, vectors, rank * iterations, residuals)


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
    """Find `rank` eigenpairs of the symmetric tensor T (d, d, d) together, by steps Q <- orth([T(I, q_j, q_j)]_j).

    The start is close to the result. If w is the average of T(I, u, u) over `probes` random u, T(I, I, w) has the
    components of T as eigenvectors and about values^2 as eigenvalues. `rounds` of the matrix power method find its
    leading subspace, and its eigenvectors are the start. Then at most `iterations` tensor steps follow, fewer if no
    entry changes by more than `tolerance`. There are no restarts, and no deflation, which would accumulate errors.
    However, components must be nearly orthogonal, and `rank` of them must stand out in T(I, I, w), because nearly equal
    eigenvalues separate slowly.

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
    """The columns of V (d, r) made orthonormal in their order, without a change of sign."""
    xp = namespace(V)
    Q, R = xp.linalg.qr(V)
    return Q * (1 - 2 * xp.astype(xp.linalg.diagonal(R) < 0, R.dtype))
