"""A symmetric matrix as a linear operator: from an array, a sparse matrix or a callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from dplda.compute.arrays import Array, rounding, symmetric
from dplda.errors import InputError

Multiply = Callable[[Array], Array]


def multiplier(A: Any, d: int) -> Multiply:
    """X -> A X for a symmetric A (d, d): an array, a scipy sparse matrix, or a callable, which is used as it is.

    Raises `InputError` for an array or sparse matrix that is not finite, square, symmetric and of size d; a callable
    is trusted.
    """
    if callable(A):
        product: Multiply = A
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


def sparse_floats(A: Any, name: str) -> Any:
    """The scipy sparse `A` in compressed rows and real floating point; `InputError` unless every entry is finite.

    Whole numbers become float64: their own squares and sums may overflow.
    """
    if A.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold real numbers, got {A.dtype}")
    A = A.tocsr() if A.dtype.kind == "f" else A.astype(np.float64).tocsr()
    if not np.isfinite(A.data).all():
        raise InputError(f"{name} must be finite, got NaN or infinity")
    return A
