"""The noisy power method on a matrix known by noisy products, and on a stream of samples (Hardt and Price 2014)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dplda.accounting.events import Event
from dplda.errors import InputError
from dplda.numerics.arrays import Array, floats, is_whole, like, namespace, rounding, symmetric


@dataclass(frozen=True, eq=False)
class Subspace:
    """An approximate leading subspace of a symmetric matrix (d, d).

    `components` (d, p) has orthonormal columns. `values` (p,) are in descending order: singular values of the last
    product for a power method, eigenvalues for `analyze_gauss`. `residuals` has one number for each of the
    `iterations`: the sine of the largest angle between successive iterates. `events` are what a private method
    released, empty for any other; ``dplda.accounting.accountant.run_epsilon(events, delta)`` adds them up again for a
    positive delta, on a grid that counts up to 1e-4 nats more for a question: it tells more than was asked where a
    small epsilon is shared by many rounds. The epsilons of pure events alone simply add up.
    """

    components: Array
    values: Array
    iterations: int
    residuals: tuple[float, ...]
    events: tuple[Event, ...] = ()


def random_basis(rng: np.random.Generator, d: int, p: int, array: Array | None = None) -> Array:
    """An orthonormal basis (d, p) of a uniformly random subspace: the usual public start of a power method.

    In the library, on the device and with the type of `array`, or NumPy's float64 without one. Cost: d p^2.
    Raises `InputError` unless 1 <= p <= d.
    """
    if not is_whole(p) or not 1 <= p <= d:
        raise InputError(f"p must be a whole number in [1, {d}] (columns), got {p!r}.")
    basis = np.linalg.qr(rng.standard_normal((d, p)))[0]
    return basis if array is None else like(basis, array)


def checked_start(X: Array, d: int | None = None) -> Array:
    """`X` as a finite (d, p) array with 1 <= p <= d, or `InputError`."""
    X = floats(X, "X")
    if X.ndim != 2 or not 1 <= X.shape[1] <= X.shape[0]:
        raise InputError(f"X must have shape (d, p) with 1 <= p <= d, got {tuple(X.shape)}")
    if d is not None and X.shape[0] != d:
        raise InputError(f"X must have as many rows as the data has columns, {d}, got {X.shape[0]}")
    return X


def checked_rounds(rounds: int) -> None:
    """`InputError` unless at least one round is asked for."""
    if not is_whole(rounds) or rounds < 1:
        raise InputError(f"rounds must be a whole number of at least 1, got {rounds!r}.")


def checked_product(Y: Array, X: Array) -> Array:
    """`Y` = A X as a finite array of the shape of `X`, or `InputError`."""
    Y = floats(Y, "A X")
    if Y.shape != X.shape:
        raise InputError(f"A X must have the shape of X, {tuple(X.shape)}, got {tuple(Y.shape)}")
    return Y


def orthonormal(Y: Array, away_from: Array | None = None) -> Array:
    """The Q of a QR factorization of `Y` (d, p), first made orthogonal to the unit vector `away_from` (d,)."""
    xp = namespace(Y)
    if away_from is not None:
        Y = Y - away_from[:, None] * (away_from @ Y)[None, :]
    return xp.linalg.qr(Y)[0]


def largest_sine(X: Array, Y: Array) -> float:
    """Spectral norm of (I - X X') Y for orthonormal X and Y (d, p): the sine of their largest angle. Cost: d p^2."""
    rest = Y - X @ (X.T @ Y)
    largest = float(namespace(X, Y).linalg.eigvalsh(rest.T @ rest)[-1])
    return math.sqrt(min(max(largest, 0.0), 1.0))


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
