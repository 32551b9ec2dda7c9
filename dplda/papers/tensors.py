"""Eigenpairs of a symmetric tensor by simultaneous and private power methods.

The simultaneous method is from Wang and Lu, ICML 2017.

The private method is Algorithm 3 of Wang and Anandkumar 2016, with exactly calibrated noise. A batch of L vectors u is
charged as one Gaussian query. Each product T(I, u, u) or value T(u, u, u) has a scale: if each is divided by its scale,
the batch has l2 sensitivity 1. The standard deviation of the noise is the scale times the noise multiplier. Charging
each vector separately would need sqrt(L) times the scale of a batch of one. That is never less than the scale in the
batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dplda.base.arrays import Array, like, namespace, standard_normal
from dplda.base.config import check_choice
from dplda.base.threads import one_blas_thread
from dplda.learning.eigenpairs import (
    EigenPairs,
    Implicit,
    along_itself,
    implicit,
    noisy_tensor_power_method,
    scale_to_unit,
)
from dplda.learning.power_method import require_counts
from dplda.papers.neighbours import ENTRY, gaussian_event, require_change, total_mu

PRODUCT, VALUE = 2, 3  # number of modes of T that are contracted with u, in T(I, u, u) and in T(u, u, u)


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
    components of T as eigenvectors and eigenvalues about proportional to values^2. `rounds` of the matrix power method
    find its leading subspace, and its eigenvectors are the start. Then at most `iterations` tensor steps follow, fewer
    if no entry changes by more than `tolerance`. There are no restarts, and no deflation, which would accumulate
    errors. However, components must be nearly orthogonal, and `rank` of them must stand out in T(I, I, w), because
    nearly equal eigenvalues separate slowly.

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
    """Return the `rank` leading eigenvectors of T(I, I, w), (d, rank)."""
    xp = namespace(tensor.example)
    w = xp.mean(tensor.along(tensor.directions(rng, probes)), axis=1, keepdims=True)
    w = scale_to_unit(w, w)

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
    """Return the columns of V (d, r) made orthonormal in their order, without a change of sign."""
    xp = namespace(V)
    Q, R = xp.linalg.qr(V)
    return Q * (1 - 2 * xp.astype(xp.linalg.diagonal(R) < 0, R.dtype))


def private_tensor_power_method(
    T: Array | Implicit,
    rank: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    delta: float,
    neighbours: str = ENTRY,
    change: float = 1.0,
    starts: int = 1,
    iterations: int = 8,
) -> EigenPairs:
    """Find `rank` eigenpairs of the symmetric tensor T (d, d, d) with (`epsilon`, `delta`)-differential privacy.

    `neighbours` says how neighbouring tensors T and T' differ. With "entry", T' - T is +-`change` times e_i x e_j x e_k
    summed over its six orders (Definition 4.2). With "unit", |T' - T|_F <= `change`. This holds if T is a sum of
    contributions of documents or persons, each clipped to Frobenius norm `change`, and one is added or removed. If one
    is replaced, pass twice the clipping threshold; for an average, divide it by the (public) number of contributions.

    Each power step is one Gaussian query of all `starts` vectors. The values after the last step of a pair are one
    query, too. The noise is the multiplier of rank * (iterations + 1) equal queries times `entry_scales` or
    `unit_scales`. Normalisation and deflation are post-processing. There are two differences from the paper. The
    paper's noise level nu, which no composition theorem supports (docs/papers.md, errata), is replaced by exact
    composition. Restarts are charged by their joint sensitivity, whereas the paper's K = k L (R + 1) counts each one
    separately.

    The seeded floating-point noise is for experiments only; for a private release of documents use the placement
    ``tensor-power``, which draws exact noise.

    Cost: rank * (iterations + 1) products of T with (d, starts) arrays; memory as in `robust_power_method`. Raises
    `InputError` unless T is finite, cubic and symmetric and 1 <= rank <= d, and for a wrong budget (delta must be
    positive), neighbours or change.
    """
    require_counts(starts=starts, iterations=iterations)
    require_change(change)
    check_choice("neighbours", neighbours, tuple(SCALES))
    tensor, scales = implicit(T, rank), SCALES[neighbours]
    event = gaussian_event("tensor power", rank * (iterations + 1), total_mu(epsilon, delta))
    multiplier = event.noise_multiplier or math.inf

    def along(U: Array) -> Array:
        noise = standard_normal(rng, tuple(U.shape), U)
        return tensor.along(U) + multiplier * scales(U, PRODUCT, change) * noise

    def value(U: Array) -> Array:
        noise = standard_normal(rng, (U.shape[1],), U)
        return along_itself(U, tensor.along(U)) + multiplier * scales(U, VALUE, change) * noise

    noisy = replace(tensor, along=along)
    pairs = noisy_tensor_power_method(noisy, rank, rng, starts=starts, iterations=iterations, value=value)
    return replace(pairs, events=(event,))


def entry_scales(U: Array, contracted: int, change: float = 1.0) -> Array:
    """Return the noise scales (L,) for unit columns u of U (d, L), if T' - T is one symmetric entry of size `change`.

    T' - T is +-`change` e_i x e_j x e_k over its six orders. `contracted` is the number n of modes contracted with u: 2
    for products T(I, u, u), 3 for values T(u, u, u). The scale of a column is
    6 change |u|_max^n (max_i sum |a_i|^(2n))^(1/2), where a = u / |u|_max and the sum is over all columns (Definition
    4.2 of Wang and Anandkumar 2016). The product of one vector changes by at most 6 |u|_max^n, attained at i = j = k.
    For a batch, take the squared change of the scaled products, with change 1. If i, j, k are different, it is
    4 sum (a_j^2 a_k^2 + a_i^2 a_k^2 + a_i^2 a_j^2) <= 4 sum (a_i^4 + a_j^4 + a_k^4). If two indices are i and the third
    is k, it is 4 sum (4 a_i^2 a_k^2 + a_i^4) <= 4 sum (3 a_i^4 + 2 a_k^4). If i = j = k, it is 36 sum a_i^4, and the
    largest of these over i bounds both other cases. The argument for values is the same.
    """
    xp = namespace(U)
    largest = xp.max(xp.abs(U), axis=0)
    together = xp.sqrt(xp.max(xp.sum((U / largest) ** (2 * contracted), axis=1)))
    return 6 * change * largest**contracted * together


def unit_scales(U: Array, contracted: int, change: float = 1.0) -> Array:
    """Return the noise scales (L,) for the unit columns u of U (d, L), if |T' - T|_F <= `change`.

    `contracted` as in `entry_scales`.

    Unfold the difference to F (d, d^2) and let K (d^2, L) have the columns u x u. The products change by F K, of norm
    at most |F|_F |K|, and |K|^2 is the largest eigenvalue of the matrix of (u' v)^2 over all pairs of columns; for
    values, of (u' v)^3. Independent directions in a high dimension need little more noise than one direction; equal
    directions need as much as separate queries.
    """
    xp = namespace(U)
    largest = xp.max(xp.linalg.eigvalsh((U.T @ U) ** contracted))
    return change * xp.sqrt(largest) * like(np.ones(U.shape[1]), U)


SCALES: Mapping[str, Callable[..., Array]] = {ENTRY: entry_scales, "unit": unit_scales}
