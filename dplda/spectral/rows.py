"""Matrices whose rows are the privacy units: rows clipped to a known length, scores and thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dplda.compute.arrays import Array, floats, namespace, to_numpy
from dplda.errors import InputError
from dplda.spectral.operators import sparse_floats

HALVINGS = 40  # the least threshold is the largest possible score halved so often


def unit_rows(A: Any) -> tuple[Any, Array]:
    """`A` (n, d), an array or scipy sparse matrix, every row longer than 1 scaled down to it, and the lengths (n,).

    Each row is treated by itself, so that a long row neither fails nor changes what others contribute; one whose square
    is no number is scaled down to zero. Raises `InputError` for an `A` that is not real and finite or has no columns.
    """
    if sparse.issparse(A):
        A = sparse_floats(A, "A")
        if not A.has_canonical_format:  # an entry listed twice would hide its length
            A = A.copy()
            A.sum_duplicates()
    else:
        A = floats(A, "A")
    if A.ndim != 2 or A.shape[1] == 0:
        raise InputError(f"A must have shape (n, d) with d >= 1, got {tuple(A.shape)}")
    with np.errstate(over="ignore"):
        norms = lengths(A)
    xp = namespace(norms)
    one = xp.ones_like(norms)
    if not bool(xp.any(norms > 1)):
        return A, norms
    return scaled(A, one / xp.where(norms > 1, norms, one)), xp.where(norms > 1, one, norms)


def lengths(A: Any) -> Array:
    """Euclidean norms (n,) of the rows of `A`, an array or in compressed sparse rows."""
    if sparse.issparse(A):
        squares = sparse.csr_array((A.data**2, A.indices, A.indptr), shape=A.shape)
        return np.sqrt(squares @ np.ones(A.shape[1]))
    xp = namespace(A)
    return xp.sqrt(xp.vecdot(A, A))  # a norm would copy A


def scaled(A: Any, weights: Array) -> Any:
    """diag(weights) A, (n, d)."""
    return sparse.diags_array(weights) @ A if sparse.issparse(A) else A * weights[:, None]


def scores(norms: Array, Z: Array) -> Array:
    """Norms |a| |X'a| (n,) of the contributions a a'X, from the rows' `norms` (n,) and Z = A X (n, p)."""
    return norms * namespace(Z).linalg.vector_norm(Z, axis=1)


def tail_counts(scores: Array) -> np.ndarray:
    """How many `scores` exceed each threshold 2^(j - HALVINGS), j = 0..HALVINGS, (HALVINGS + 1,). Cost: n."""
    mantissas, exponents = np.frexp(to_numpy(scores))
    above = exponents - (mantissas == 0.5) + HALVINGS  # a score exceeds thresholds j < above
    above = np.clip(np.where(mantissas > 0, above, 0), 0, HALVINGS + 1)
    counts = np.bincount(above, minlength=HALVINGS + 2)
    return np.asarray(counts[::-1].cumsum()[::-1][1:])


def threshold(j: int) -> float:
    """The j-th threshold."""
    return float(2.0 ** (j - HALVINGS))
