"""Private low-rank approximation by Analyze Gauss and by the private power method.

Analyze Gauss is from Dwork, Talwar, Thakurta and Zhang 2014, and the power method from Hardt and Price 2014 (Figure 3
and Corollary 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dplda.base.arrays import Array, like, namespace, standard_normal
from dplda.base.config import check_choice
from dplda.budget.events import PURE, Event
from dplda.learning.power_method import (
    Subspace,
    check_product,
    check_start,
    multiplier,
    noisy_power_method,
    require_counts,
    require_up_to,
)
from dplda.papers.adaptive import unit_rows
from dplda.papers.neighbours import (
    ENTRY,
    NEIGHBOURS,
    ROW,
    ROWS,
    calibrated_event,
    gaussian_event,
    l1_sensitivity,
    l2_sensitivity,
    require_change,
    total_mu,
)


def analyze_gauss(
    A: Any, k: int, *, epsilon: float, delta: float, rng: np.random.Generator, neighbours: str = ROW
) -> Subspace:
    """Return the k leading eigenvectors of A'A + E, (epsilon, delta)-private for one row of `A`.

    `A` (n, d), array or scipy sparse, has rows of length at most 1 (longer ones are scaled down to it). A'A changes by
    at most 1 in Frobenius norm when a row is added or removed, by sqrt(2) when one is replaced. E is symmetric Gaussian
    noise, isotropic for this norm: standard deviation s on the diagonal and s / sqrt(2) off it, where the paper's
    Algorithm 1 has s throughout; s is calibrated exactly. `values` (k,) are eigenvalues of A'A + E.

    Cost: A'A, O(d^3); memory O(d^2) in addition to A and its rows. Where s_2 = ... = s_d, sin of the angle to the first
    eigenvector is about sqrt(d / 2) s / (s_1^2 - s_2^2), s_i the singular values of A. The seeded floating-point noise
    is for experiments only; for a private release of documents use the placements, which draw exact noise. Raises
    `InputError` for NaN, wrong shapes, k outside [1, d] or a wrong budget (delta must be positive).
    """
    check_choice("neighbours", neighbours, ROWS)
    event = gaussian_event("covariance", 1, total_mu(epsilon, delta))
    A, _ = unit_rows(A)
    require_up_to(A.shape[1], "components", k=k)
    covariance = A.T @ A
    covariance = covariance.toarray() if hasattr(covariance, "toarray") else covariance
    xp = namespace(covariance)
    std = (event.noise_multiplier or math.inf) * l2_sensitivity(covariance, neighbours)
    noise = std * standard_normal(rng, tuple(covariance.shape), covariance)
    values, vectors = xp.linalg.eigh(covariance + (noise + noise.T) / 2)
    return Subspace(xp.flip(vectors, axis=1)[:, :k], xp.flip(values)[:k], 0, (), (event,))


def private_power_method(
    A: Any,
    X: Array,
    rounds: int,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    neighbours: str = ENTRY,
    change: float = 1.0,
    by_largest_entry: bool = False,
) -> Subspace:
    """Find a leading subspace by X <- orth(A X + G), (epsilon, delta)-private for neighbouring matrices A.

    `A` (d, d) is an array, a scipy sparse matrix or a callable X -> A X, symmetric; for a callable this is not checked.
    `X` (d, p) is a public start, see `random_basis`. `neighbours` and `change` state what is protected
    (`dplda.papers.neighbours`); the caller must ensure that the data satisfy them. G is Gaussian. Its standard
    deviation is the exact multiplier of `rounds` queries times the l2 sensitivity at the last X, which is already
    released. With delta 0, G is Laplace with the l1 sensitivity. With `by_largest_entry`, entry-level noise is scaled
    by max |X_ij| as in Figure 3. Otherwise it is scaled by the two largest rows of X, which gives no more noise.

    Differences from the paper: sigma = sqrt(4 p L log(1/delta)) / epsilon (L rounds) is replaced by exact composition,
    a symmetric pair of entries counts twice, and Laplace noise is p L sqrt(d) / epsilon without the factor 10 of Lemma
    4.5. Cost: `rounds` products, O(rounds d p^2); O(d p) memory beyond A. The seeded floating-point noise is for
    experiments only; for a private release of documents use the placements, which draw exact noise. Raises `InputError`
    as `noisy_power_method` does, and for a wrong budget, `neighbours` or `change`.
    """
    require_counts(rounds=rounds)
    event = calibrated_event("power", rounds, epsilon, delta)
    noise = _noise(event, rng, neighbours, change, by_largest_entry)
    return replace(noisy_power_method(A, X, rounds, noise=noise), events=(event,))


@dataclass(frozen=True, eq=False)
class LowRank:
    """A matrix B = left right' of rank at most p: orthonormal `left` (d, p), noisy product `right` = A left.

    `subspace` is the result of the power method, with `left` as its components. `events` are all releases.
    """

    left: Array
    right: Array
    subspace: Subspace
    events: tuple[Event, ...]

    @property
    def matrix(self) -> Array:
        """B (d, d)."""
        return self.left @ self.right.T


def private_low_rank(
    A: Any,
    X: Array,
    rounds: int,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    neighbours: str = ENTRY,
    change: float = 1.0,
    by_largest_entry: bool = False,
) -> LowRank:
    """Return a private approximation B = X Y' of a symmetric A, of rank p; the corollary takes p = 2 k for rank k.

    Arguments, errors and noise are as in `private_power_method`, with `rounds` + 1 queries. The last query is Y = A X +
    G at the final X. The spectral norm of A - B is at most s_(k+1) + O~(s_1 sqrt((k / gap) d log d log(1/delta)) /
    (epsilon (s_k - s_(k+1)))), gap = 1 - s_(k+1) / s_k, s_i the singular values of A (Corollary 4.3). Cost: one more
    product than `private_power_method`.
    """
    require_counts(rounds=rounds)
    event = calibrated_event("power", rounds + 1, epsilon, delta)
    noise = _noise(event, rng, neighbours, change, by_largest_entry)
    multiply = multiplier(A, check_start(X).shape[0])
    subspace = noisy_power_method(multiply, X, rounds, noise=noise)
    left = subspace.components
    right = check_product(multiply(left), left) + noise(left)
    return LowRank(left, right, replace(subspace, events=(event,)), (event,))


def _noise(
    event: Event, rng: np.random.Generator, neighbours: str, change: float, by_largest_entry: bool
) -> Callable[[Array], Array]:
    """Return X -> the noise of one query of `event` at X."""
    check_choice("neighbours", neighbours, NEIGHBOURS)
    require_change(change)

    def laplace(X: Array) -> Array:
        scale = change / (event.epsilon or 0.0) * l1_sensitivity(X, neighbours, by_largest_entry=by_largest_entry)
        return like(rng.laplace(scale=scale, size=tuple(X.shape)), X)

    def gaussian(X: Array) -> Array:
        std = change * (event.noise_multiplier or math.inf)
        std *= l2_sensitivity(X, neighbours, by_largest_entry=by_largest_entry)
        return std * standard_normal(rng, tuple(X.shape), X)

    return laplace if event.mechanism == PURE else gaussian
