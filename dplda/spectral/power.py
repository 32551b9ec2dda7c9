"""The noisy power method on a matrix known only through noisy products (Hardt and Price 2014, Figure 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dplda.compute.arrays import Array, namespace
from dplda.spectral.operators import multiplier
from dplda.spectral.subspace import (
    Subspace,
    checked_product,
    checked_rounds,
    checked_start,
    largest_sine,
    orthonormal,
)


def noisy_power_method(
    A: Any,
    X: Array,
    rounds: int,
    *,
    noise: Callable[[Array], Array] | None = None,
    away_from: Array | None = None,
) -> Subspace:
    """An approximate leading subspace of a symmetric A after `rounds` of X <- orth(A X + G).

    `A` is an array (d, d), a scipy sparse matrix, or any callable from orthonormal X (d, p) to A X, which may add
    noise of its own. `noise` maps X to G (d, p): any distribution, fixed or adaptive. `X` (d, p) is the start, see
    `random_basis`; NumPy or CuPy. With the unit vector `away_from` (d,) every iterate is kept orthogonal to it
    (deflation of a direction that is already known), as long as A X + G has p directions beside it.

    Cost: `rounds` products and O(rounds d p^2); memory O(d p) beside A. With p >= k, |G| of at most a fifth of
    error * (s_k - s_k+1) and |U'G| of at most (s_k - s_k+1) (sqrt(p) - sqrt(k - 1)) / (5 tau sqrt(d)) in every round,
    the k leading eigenvectors U lie within `error` after O(s_k / (s_k - s_k+1) log(d tau / error)) rounds
    (Corollary 1.1). Not private by itself. Raises `InputError` for an asymmetric or non-finite A and wrong shapes.
    """
    checked_rounds(rounds)
    X = checked_start(X)
    multiply = multiplier(A, X.shape[0])
    X, Y, residuals = orthonormal(X, away_from), X, []
    for _ in range(rounds):
        Y = checked_product(multiply(X), X)
        if noise is not None:
            Y = Y + noise(X)
        last, X = X, orthonormal(Y, away_from)
        residuals.append(largest_sine(last, X))
    return Subspace(X, namespace(Y).linalg.svdvals(Y), rounds, tuple(residuals))
