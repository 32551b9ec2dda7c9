"""Power iterations on a tensor with noisy products: the loop of Wang and Anandkumar (2016), Algorithms 2 and 3."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dplda.compute.arrays import Array, namespace
from dplda.tensor.implicit import Implicit, along_itself, require_counts, scaled_to_unit
from dplda.tensor.power import EigenPairs, no_pairs


def noisy_power_method(
    T: Implicit,
    rank: int,
    rng: np.random.Generator,
    *,
    starts: int = 1,
    iterations: int,
    value: Callable[[Array], Array] | None = None,
) -> EigenPairs:
    """Find `rank` pairs of T (d, d, d), which is asked `iterations` times for each, about `starts` vectors at once.

    Pairs already found are subtracted from the answers, which is post-processing. Of the `starts` last vectors the one
    with the largest T(u, u, u) is kept; `value` asks for that of the columns of U (d, L), (L,); without it the answer
    to the last step is read once more, as in Algorithm 2, that is T(u, u, u) one step before. T is neither tested for
    symmetry nor for noise: whoever passes it answers for its privacy.

    Cost: rank * iterations products of T with (d, starts) arrays. Memory: O(d (rank + starts)) beside that of T.
    """
    require_counts(rank=rank, starts=starts, iterations=iterations)
    xp = namespace(T.example)
    values, vectors, residuals = no_pairs(T)
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
