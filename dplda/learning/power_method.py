"""The noisy power method on a symmetric matrix that is known by its products (Hardt and Price 2014)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dplda.base.arrays import Array, floats, is_whole, like, namespace, rounding, symmetric
from dplda.base.errors import InputError
from dplda.budget.events import Event


@dataclass(frozen=True, eq=False)
class Subspace:
    """An approximate leading subspace of a symmetric matrix (d, d).

    `components` (d, p) has orthonormal columns. `values` (p,) are in descending order: singular values of the last
    product for a power method, eigenvalues for `analyze_gauss`. `residuals` has one number for each of the
    `iterations`: the sine of the largest angle between successive iterates. `events` are the releases of a private
    method. ``dplda.budget.accountant.run_epsilon(events, delta)`` composes them for a positive delta; with pure
    events it works on a grid, which overstates epsilon by at most 1e-4 nats for each query. If all events are pure, the
    sum of their epsilons also is a valid epsilon.
    """

    components: Array
    values: Array
    iterations: int
    residuals: tuple[float, ...]
    events: tuple[Event, ...] = ()


def noisy_power_method(
    A: Any,
    X: Array,
    rounds: int,
    *,
    noise: Callable[[Array], Array] | None = None,
    away_from: Array | None = None,
) -> Subspace:
    """Find an approximate leading subspace of a symmetric A by `rounds` of X <- orth(A X + G).

    `A` is an array (d, d), a scipy sparse matrix, or any callable from orthonormal X (d, p) to A X, which may add
    noise of its own. `noise` maps X to G (d, p): any distribution, fixed or adaptive. `X` (d, p) is the start, see
    `random_basis`; NumPy or CuPy. With the unit vector `away_from` (d,), every iterate is orthogonal to it (deflation
    of a known direction), provided that A X + G has p directions orthogonal to it.

    Let U be the k leading eigenvectors of A, p >= k, s_i the singular values of A, and tau the paper's parameter of the
    failure probability. Suppose that in every round |G| is at most error * (s_k - s_(k+1)) / 5 and |U'G| is at most
    (s_k - s_(k+1)) (sqrt(p) - sqrt(k - 1)) / (5 tau sqrt(d)). Then U lies within an angle of sine `error` of the span
    of X after O(s_k / (s_k - s_(k+1)) log(d tau / error)) rounds (Corollary 1.1).

    Cost: `rounds` products and O(rounds d p^2); memory O(d p) in addition to A. Not private by itself. Raises
    `InputError` for an asymmetric or non-finite A and wrong shapes.
    """
    require_counts(rounds=rounds)
    X = check_start(X)
    multiply = multiplier(A, X.shape[0])
    X, Y, residuals = orthonormal(X, away_from), X, []
    for _ in range(rounds):
        Y = check_product(multiply(X), X)
        if noise is not None:
            Y = Y + noise(X)
        last, X = X, orthonormal(Y, away_from)
        residuals.append(largest_sine(last, X))
    return Subspace(X, namespace(Y).linalg.svdvals(Y), rounds, tuple(residuals))


def random_basis(rng: np.random.Generator, d: int, p: int, array: Array | None = None) -> Array:
    """Return an orthonormal basis (d, p) of a uniformly random subspace, the usual public start of a power method.

    It has the library, device and type of `array`, or of NumPy's float64 arrays without `array`. Cost: d p^2. Raises
    `InputError` unless 1 <= p <= d.
    """
    require_up_to(d, "columns", p=p)
    basis = np.linalg.qr(rng.standard_normal((d, p)))[0]
    return basis if array is None else like(basis, array)


def orthonormal(Y: Array, away_from: Array | None = None) -> Array:
    """Return the Q of `Y` (d, p) by QR, after projection orthogonal to the unit vector `away_from` (d,)."""
    xp = namespace(Y)
    if away_from is not None:
        Y = Y - away_from[:, None] * (away_from @ Y)[None, :]
    return xp.linalg.qr(Y)[0]


def largest_sine(X: Array, Y: Array) -> float:
    """Return the sine of the largest angle of orthonormal X and Y (d, p), the norm of (I - X X') Y. Cost: d p^2."""
    rest = Y - X @ (X.T @ Y)
    largest = float(namespace(X, Y).linalg.eigvalsh(rest.T @ rest)[-1])
    return math.sqrt(min(max(largest, 0.0), 1.0))


def multiplier(A: Any, d: int) -> Callable[[Array], Array]:
    """Return X -> A X for a symmetric A (d, d): an array, a scipy sparse matrix, or the callable itself.

    Raises `InputError` for an array or sparse matrix that is not finite, square, symmetric and of size d.
    """
    if callable(A):
        product: Callable[[Array], Array] = A
        return product
    if sparse.issparse(A):
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise InputError(f"A must be a square matrix, got shape {tuple(A.shape)}")
        A = sparse_floats(A, "A")
        if abs(A - A.T).max() > rounding(A.data) * abs(A).max():
            raise InputError("A must be symmetric; pass (A + A.T) / 2 if that is what is meant")
    else:
        A = symmetric(A, "A")
    if A.shape[0] != d:
        raise InputError(f"A must be ({d}, {d}) to go with X, got shape {tuple(A.shape)}")
    return lambda X: A @ X


def sparse_floats(A: Any, name: str) -> Any:
    """Return the scipy sparse `A` in compressed rows and real floating point; raises `InputError` unless it is finite.

    Whole numbers become float64, because their squares and sums might overflow.
    """
    if not np.isdtype(A.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"{name} must hold real numbers, got {A.dtype}")
    A = A.tocsr() if np.isdtype(A.dtype, "real floating") else A.astype(np.float64).tocsr()
    if not np.isfinite(A.data).all():
        raise InputError(f"{name} must be finite, got NaN or infinity")
    return A


def check_start(X: Array, d: int | None = None) -> Array:
    """Return `X` as a finite (d, p) array with 1 <= p <= d; raises `InputError` for any other."""
    X = floats(X, "X")
    if X.ndim != 2 or not 1 <= X.shape[1] <= X.shape[0]:
        raise InputError(f"X must have shape (d, p) with 1 <= p <= d, got {tuple(X.shape)}")
    if d is not None and X.shape[0] != d:
        raise InputError(f"X must have as many rows as the data has columns, {d}, got {X.shape[0]}")
    return X


def check_product(Y: Array, X: Array) -> Array:
    """Return `Y` = A X as a finite array of the shape of `X`; raises `InputError` for any other."""
    Y = floats(Y, "A X")
    if Y.shape != X.shape:
        raise InputError(f"A X must have the shape of X, {tuple(X.shape)}, got {tuple(Y.shape)}")
    return Y


def require_counts(**counts: int) -> None:
    """Raise `InputError` unless every one of the named `counts` is a whole number of at least 1."""
    for name, count in counts.items():
        if not is_whole(count) or count < 1:
            raise InputError(f"{name} must be a whole number of at least 1, got {count!r}.")


def require_up_to(most: int, unit: str, **counts: int) -> None:
    """Raise `InputError` unless every one of the named `counts` is a whole number in [1, `most`].

    The message adds `unit`, which says what `most` is, such as "columns".
    """
    for name, count in counts.items():
        if not is_whole(count) or not 1 <= count <= most:
            raise InputError(f"{name} must be a whole number in [1, {most}] ({unit}), got {count!r}.")
