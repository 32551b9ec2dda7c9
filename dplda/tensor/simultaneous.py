"""All components of a tensor at once: simultaneous power iteration (Wang and Lu, ICML 2017)."""

from __future__ import annotations

import numpy as np

from dplda.compute.arrays import Array, namespace
from dplda.compute.threads import one_blas_thread
from dplda.tensor.implicit import Implicit, along_itself, implicit, require_counts, scaled_to_unit
from dplda.tensor.power import EigenPairs


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
