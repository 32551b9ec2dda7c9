"""The private tensor power method (Wang and Anandkumar 2016, Algorithm 3), with exactly calibrated noise.

A batch of L vectors u is charged as one Gaussian query. Each product T(I, u, u) or value T(u, u, u) has a scale: if
each is divided by its scale, the batch has l2 sensitivity 1. The standard deviation of the noise is the scale times the
noise multiplier. Charging each vector separately would need sqrt(L) times the scale of a batch of one, which is never
less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dplda.config import check_choice
from dplda.numerics.arrays import Array, like, namespace, standard_normal
from dplda.spectral.arguments import require_change, require_counts
from dplda.spectral.calibration import ENTRY, gaussian_event, total_mu
from dplda.tensor.eigenpairs import EigenPairs, noisy_power_method
from dplda.tensor.implicit import Implicit, along_itself, implicit

PRODUCT, VALUE = 2, 3  # number of modes of T that are contracted with u, in T(I, u, u) and in T(u, u, u)


def private_power_method(
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

    Each power step is one Gaussian query of all `starts` vectors, and so are the values after the last step of a pair.
    The noise is the multiplier of rank * (iterations + 1) equal queries times `entry_scales` or `unit_scales`.
    Normalisation and deflation are post-processing. There are two differences from the paper. Its noise level nu, which
    no composition theorem supports (docs/privacy.md, section 1), is replaced by exact composition. Restarts are charged
    by their joint sensitivity, whereas the paper's K = k L (R + 1) counts each one separately.

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
    pairs = noisy_power_method(noisy, rank, rng, starts=starts, iterations=iterations, value=value)
    return replace(pairs, events=(event,))


def entry_scales(U: Array, contracted: int, change: float = 1.0) -> Array:
    """Scales (L,) for the unit columns of U (d, L), if T' - T is +-`change` times e_i x e_j x e_k over its six orders.

    They are 6 change |u|_max^n (max_i sum |a_i|^(2n))^(1/2), where a = u / |u|_max, n = `contracted`, and sums are over
    the columns (Definition 4.2 of Wang and Anandkumar 2016). The product of one vector changes by at most 6 |u|_max^n,
    attained at i = j = k. For a batch, take the squared change of the scaled products, with change 1. If i, j, k are
    different, it is 4 sum (a_j^2 a_k^2 + a_i^2 a_k^2 + a_i^2 a_j^2) <= 4 sum (a_i^4 + a_j^4 + a_k^4). If two indices
    are i and the third is k, it is 4 sum (4 a_i^2 a_k^2 + a_i^4) <= 4 sum (3 a_i^4 + 2 a_k^4). If i = j = k, it is 36
    sum a_i^4, and the largest of these over i bounds both other cases. The argument for values is the same.
    """
    xp = namespace(U)
    largest = xp.max(xp.abs(U), axis=0)
    together = xp.sqrt(xp.max(xp.sum((U / largest) ** (2 * contracted), axis=1)))
    return 6 * change * largest**contracted * together


def unit_scales(U: Array, contracted: int, change: float = 1.0) -> Array:
    """Scales (L,) for the unit columns of U (d, L), if |T' - T|_F <= `change`.

    Unfold the difference to F (d, d^2) and let K (d^2, L) have the columns u x u. The products change by F K, of norm
    at most |F|_F |K|, and |K|^2 is the largest eigenvalue of the matrix of (u' v)^2 over all pairs of columns; for
    values, of (u' v)^3. Independent directions in a high dimension need little more noise than one direction; equal
    directions need as much as separate queries.
    """
    xp = namespace(U)
    largest = xp.max(xp.linalg.eigvalsh((U.T @ U) ** contracted))
    return change * xp.sqrt(largest) * like(np.ones(U.shape[1]), U)


SCALES: Mapping[str, Callable[..., Array]] = {ENTRY: entry_scales, "unit": unit_scales}
