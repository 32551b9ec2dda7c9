"""Checks of the arguments of methods on matrices and tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from dplda.base.arrays import Array, floats, is_whole, rounding, symmetric
from dplda.base.errors import InputError


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


def require_shares(**shares: float) -> None:
    """Raise `InputError` unless every one of the named `shares` lies in (0, 1)."""
    for name, share in shares.items():
        if not 0 < share < 1:
            raise InputError(f"{name} must be in (0, 1), got {share!r}.")


def require_change(change: float) -> None:
    """Raise `InputError` unless `change`, by which neighbours may differ, is positive and finite."""
    if not 0 < change < math.inf:
        raise InputError(f"change must be positive and finite, got {change!r}.")


def checked_start(X: Array, d: int | None = None) -> Array:
    """`X` as a finite (d, p) array with 1 <= p <= d; raises `InputError` for any other."""
    X = floats(X, "X")
    if X.ndim != 2 or not 1 <= X.shape[1] <= X.shape[0]:
        raise InputError(f"X must have shape (d, p) with 1 <= p <= d, got {tuple(X.shape)}")
    if d is not None and X.shape[0] != d:
        raise InputError(f"X must have as many rows as the data has columns, {d}, got {X.shape[0]}")
    return X


def checked_product(Y: Array, X: Array) -> Array:
    """`Y` = A X as a finite array of the shape of `X`; raises `InputError` for any other."""
    Y = floats(Y, "A X")
    if Y.shape != X.shape:
        raise InputError(f"A X must have the shape of X, {tuple(X.shape)}, got {tuple(Y.shape)}")
    return Y


def sparse_floats(A: Any, name: str) -> Any:
    """The scipy sparse `A` in compressed rows and real floating point; raises `InputError` unless it is finite.

    Whole numbers become float64, because their squares and sums might overflow.
    """
    if not np.isdtype(A.dtype, ("bool", "integral", "real floating")):
        raise InputError(f"{name} must hold real numbers, got {A.dtype}")
    A = A.tocsr() if np.isdtype(A.dtype, "real floating") else A.astype(np.float64).tocsr()
    if not np.isfinite(A.data).all():
        raise InputError(f"{name} must be finite, got NaN or infinity")
    return A


def multiplier(A: Any, d: int) -> Callable[[Array], Array]:
    """X -> A X for a symmetric A (d, d): an array, a scipy sparse matrix, or a callable, which is returned as it is.

    Raises `InputError` for an array or sparse matrix that is not finite, square, symmetric and of size d.
    """
    if callable(A):
        product: Callable[[Array], Array] = A
        return product
    A = _symmetric_sparse(A) if sparse.issparse(A) else symmetric(A, "A")
    if A.shape[0] != d:
        raise InputError(f"A must be ({d}, {d}) to go with X, got shape {tuple(A.shape)}")
    return lambda X: A @ X


def _symmetric_sparse(A: Any) -> Any:
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InputError(f"A must be a square matrix, got shape {tuple(A.shape)}")
    A = sparse_floats(A, "A")
    if abs(A - A.T).max() > rounding(A.data) * abs(A).max():
        raise InputError("A must be symmetric; pass (A + A.T) / 2 if that is what is meant")
    return A
