"""The noisy and the private tensor power method (Wang and Anandkumar 2016, Algorithms 2 and 3), calibrated exactly.

Joint sensitivity of the products T(I, u, u) and T(u, u, u) for several vectors u at once.

A scale is the standard deviation per unit of noise multiplier: where every column's answer is divided by its scale,
the whole batch has l2 sensitivity 1. Asking together is charged as one question. Charging each column by itself would
take sqrt(L) times the scale of that column alone, which is never less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dplda.config import check_choice
from dplda.errors import InputError
from dplda.numerics.arrays import Array, like, namespace, standard_normal
from dplda.spectral.calibration import gaussian_questions, total_mu
from dplda.tensor.eigenpairs import EigenPairs, no_pairs
from dplda.tensor.implicit import Implicit, along_itself, implicit, require_counts, scaled_to_unit

ENTRY, UNIT = "entry", "unit"


class Sensitivity(Protocol):
    """Scales of the answers about the unit columns of U (d, L)."""

    def of_products(self, U: Array) -> Array:
        """Scales of T(I, u, u), (L,)."""

    def of_values(self, U: Array) -> Array:
        """Scales of T(u, u, u), (L,)."""


@dataclass(frozen=True)
class EntryLevel:
    """T' - T = +-change * (e_i x e_j x e_k summed over its six orders) (Wang and Anandkumar 2016, Definition 4.2).

    One column alone moves by at most 6 |u|_max^2 and 6 |u|_max^3, at i = j = k. For a batch let a = u / |u|_max. Three
    different indices move the scaled answers by 4 sum (a_j^2 a_k^2 + a_i^2 a_k^2 + a_i^2 a_j^2) <= 4 sum (a_i^4 + a_j^4
    + a_k^4), squared and summed over columns; i = i, k by 4 sum (4 a_i^2 a_k^2 + a_i^4) <= 4 sum (3 a_i^4 + 2 a_k^4).
    Both stay below the 36 sum a_i^4 of i = j = k at the i where that is largest; likewise for values.
    """

    change: float = 1.0

    def of_products(self, U: Array) -> Array:
        """6 change |u|_max^2 (max_i sum a_i^4)^(1/2), (L,)."""
        return self._scales(U, 2)

    def of_values(self, U: Array) -> Array:
        """6 change |u|_max^3 (max_i sum |a_i|^6)^(1/2), (L,)."""
        return self._scales(U, 3)

    def _scales(self, U: Array, power: int) -> Array:
        xp = namespace(U)
        largest = xp.max(xp.abs(U), axis=0)
        together = xp.sqrt(xp.max(xp.sum((U / largest) ** (2 * power), axis=1)))
        return 6 * self.change * largest**power * together


@dataclass(frozen=True)
class UnitLevel:
    """|T' - T|_F <= change: one document or person more or less, `change` the clip of its contribution.

    The answers are F K for the unfolded difference F (d, d^2) and K = [u x u] (d^2, L), so that they move by at most
    |F|_F |K|, and |K|^2 is the largest eigenvalue of the Gram matrix (u' v)^2; of (u' v)^3 for values. Independent
    directions in a high dimension cost little more than one; equal ones as much as if asked one after the other.
    """

    change: float

    def of_products(self, U: Array) -> Array:
        """change |K|, the same for every column, (L,)."""
        return self._scales(U, 2)

    def of_values(self, U: Array) -> Array:
        """change |K| of the cubes, the same for every column, (L,)."""
        return self._scales(U, 3)

    def _scales(self, U: Array, power: int) -> Array:
        xp = namespace(U)
        largest = xp.max(xp.linalg.eigvalsh((U.T @ U) ** power))
        return self.change * xp.sqrt(largest) * like(np.ones(U.shape[1]), U)


SENSITIVITIES: dict[str, Callable[[float], Sensitivity]] = {ENTRY: EntryLevel, UNIT: UnitLevel}


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
    """Find `rank` pairs of the private symmetric tensor T (d, d, d) within (`epsilon` in nats, `delta`).

    `neighbours` "entry": T' - T is +-`change` times e_i x e_j x e_k summed over its six orders (Definition 4.2).
    "unit": |T' - T|_F <= `change`, as for a sum of contributions of documents or persons, each clipped to `change` in
    Frobenius norm, when one is added or removed; for a replaced one pass twice the clip, for an average divide it by
    the (public) number.

    Every power step, and the values after the last, are one Gaussian question about all `starts` vectors; its noise is
    the multiplier of rank * (iterations + 1) equal questions times the scales of `dplda.tensor.private_eigenpairs`.
    Normalising and deflating are post-processing. Differs from the paper: nu, which follows from no composition
    theorem (docs/privacy.md, section 1), is exact composition instead; and restarts asked together cost their joint
    sensitivity, where K = k L (R + 1) counts each by itself.

    Seeded floating-point noise is for study: a private release of documents goes through the curator's exact noise,
    as in `dplda.placements.tensor_power`.

    Cost: rank * (iterations + 1) products of T with (d, starts) arrays; memory as in `robust_power_method`. Raises
    `InputError` unless T is finite, cubic and symmetric and 1 <= rank <= d, and for a wrong budget (delta must be
    positive), neighbours or change.
    """
    require_counts(starts=starts, iterations=iterations)
    if not 0 < change < math.inf:
        raise InputError(f"change must be positive and finite, got {change}")
    check_choice("neighbours", neighbours, tuple(SENSITIVITIES))
    tensor, sensitivity = implicit(T, rank), SENSITIVITIES[neighbours](change)
    event = gaussian_questions("tensor power", rank * (iterations + 1), total_mu(epsilon, delta))
    multiplier = event.noise_multiplier or math.inf

    def along(U: Array) -> Array:
        noise = standard_normal(rng, tuple(U.shape), U)
        return tensor.along(U) + multiplier * sensitivity.of_products(U) * noise

    def value(U: Array) -> Array:
        noise = standard_normal(rng, (U.shape[1],), U)
        return along_itself(U, tensor.along(U)) + multiplier * sensitivity.of_values(U) * noise

    noisy = replace(tensor, along=along)
    found = noisy_power_method(noisy, rank, rng, starts=starts, iterations=iterations, value=value)
    return replace(found, events=(event,))
