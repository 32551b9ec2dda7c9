"""Principal components of a stream of samples in memory O(d p) (Hardt and Price 2014, Figure 2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scipy import sparse

from dplda.compute.arrays import Array, floats, is_whole, namespace
from dplda.errors import InputError
from dplda.spectral.operators import sparse_floats
from dplda.spectral.subspace import Subspace, checked_rounds, checked_start, largest_sine, orthonormal


def streaming_power_method(blocks: Iterable[Any], X: Array, samples: int, *, rounds: int | None = None) -> Subspace:
    """The streaming power method: X <- orth(sum of z z' X) over `samples` fresh samples z in each round.

    `blocks` is any iterable of blocks of samples (n, d), arrays of the library of `X` or scipy sparse matrices, of any
    sizes: rounds may begin inside a block. `X` (d, p) is the start, see `random_basis`. Stops after `rounds`, or
    when the stream ends; samples after the last full round are not used (T = floor(m / L) in the paper). `values`
    are the singular values of the last sum over `samples`: estimates of eigenvalues of E[z z'].

    Memory: O(d p) and one block. Cost: for each block Z the two products Z' (Z X), and O(d p^2) a round. In the
    spiked covariance model n = O~((l1^2 + s^2)^2 (lk^2 + s^2) / (error^2 lk^6) d k) samples suffice at p = 2 k
    (Corollary 3.3). Not private. Raises `InputError` for a stream shorter than one round, for blocks of another
    width and for NaN.
    """
    X = checked_start(X)
    if rounds is not None:
        checked_rounds(rounds)
    if not is_whole(samples) or samples < X.shape[1]:
        raise InputError(f"samples must be a whole number of at least the columns of X, {X.shape[1]}; got {samples!r}.")
    X, Y, seen = orthonormal(X), None, 0
    total: Array = None
    residuals: list[float] = []
    for block in blocks:
        Z, first = _checked(block, X.shape[0]), 0
        while first < Z.shape[0]:
            last = min(Z.shape[0], first + samples - seen)
            part = _rows(Z, first, last)
            product = part.T @ (part @ X)
            Y = product if Y is None else Y + product
            seen, first = seen + last - first, last
            if seen == samples:
                before, X = X, orthonormal(Y)
                residuals.append(largest_sine(before, X))
                total, Y, seen = Y, None, 0
                if len(residuals) == rounds:
                    return _found(X, total, samples, residuals)
    if total is None:
        raise InputError(f"the stream ended before its first round of {samples} samples")
    return _found(X, total, samples, residuals)


def _found(X: Array, total: Array, samples: int, residuals: list[float]) -> Subspace:
    values = namespace(total).linalg.svdvals(total) / samples
    return Subspace(X, values, len(residuals), tuple(residuals))


def _rows(Z: Any, first: int, last: int) -> Any:
    """Rows `first` to `last` of `Z`; those of a sparse matrix without a copy."""
    if not sparse.issparse(Z):
        return Z[first:last, :]
    begin, end = Z.indptr[first], Z.indptr[last]
    rows = Z.data[begin:end], Z.indices[begin:end], Z.indptr[first : last + 1] - begin
    return sparse.csr_array(rows, shape=(last - first, Z.shape[1]))


def _checked(block: Any, d: int) -> Any:
    if sparse.issparse(block):
        block = sparse_floats(block, "a block of samples")
    else:
        block = floats(block, "a block of samples")
    if block.ndim != 2 or block.shape[1] != d:
        raise InputError(f"a block of samples must have shape (n, {d}), got {tuple(block.shape)}")
    return block
