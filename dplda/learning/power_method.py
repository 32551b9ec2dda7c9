"""The noisy power method on a matrix known by its products, and on a stream of samples (Hardt and Price 2014)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from dplda.base.arrays import Array, floats, is_whole, like, namespace
from dplda.base.errors import InputError
from dplda.budget.events import Event
from dplda.learning.arguments import (
    checked_product,
    checked_start,
    multiplier,
    require_counts,
    require_up_to,
    sparse_floats,
)


class StreamEnded(InputError):
    """A stream ended before the requested number of samples had been read."""


class SampleStream:
    """Samples (d,) from `blocks`: arrays (n, d), scipy sparse matrices (n, d) or single samples (d,).

    All blocks have `width` columns, or as many as the first one. Reading raises `InputError` for other blocks and for
    samples that are not real and finite, and `StreamEnded` at the end.
    """

    def __init__(self, blocks: Iterable[Any], width: int | None = None) -> None:
        self._blocks = iter(blocks)
        self._width = width
        self._block: Any = None
        self._first = self._read = 0

    def peek(self, needed: int) -> Any:
        """The current block (n, d), which has unread samples; `needed` is for the message at the end of the stream."""
        while self._block is None or self._first == self._block.shape[0]:
            block = next(self._blocks, None)
            if block is None:
                raise StreamEnded(f"the stream ended after {self._read} samples; this round needs {needed} more.")
            self._block, self._first = self._checked(block), 0
        return self._block

    def read(self, count: int) -> Iterator[Any]:
        """The next `count` samples, in pieces (n, d)."""
        while count:
            block = self.peek(count)
            last = min(block.shape[0], self._first + count)
            piece = _rows(block, self._first, last)
            self._read += last - self._first
            count -= last - self._first
            self._first = last
            yield piece

    def _checked(self, block: Any) -> Any:
        name = "a block of samples"
        block = sparse_floats(block, name) if sparse.issparse(block) else floats(block, name)
        if block.ndim == 1:
            block = block[None, :]
        if block.ndim != 2 or block.shape[1] != (self._width or block.shape[1]):
            raise InputError(
                f"{name} must have shape (n, {self._width or 'd'}), got {tuple(block.shape)} after {self._read} samples"
            )
        self._width = block.shape[1]
        return block


def _rows(Z: Any, first: int, last: int) -> Any:
    """Rows `first` to `last` of `Z`, without a copy if `Z` is sparse."""
    if not sparse.issparse(Z):
        return Z[first:last, :]
    begin, end = Z.indptr[first], Z.indptr[last]
    rows = Z.data[begin:end], Z.indices[begin:end], Z.indptr[first : last + 1] - begin
    return sparse.csr_array(rows, shape=(last - first, Z.shape[1]))


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


def random_basis(rng: np.random.Generator, d: int, p: int, array: Array | None = None) -> Array:
    """An orthonormal basis (d, p) of a uniformly random subspace, the usual public start of a power method.

    It has the library, device and type of `array`, or of NumPy's float64 arrays without `array`. Cost: d p^2. Raises
    `InputError` unless 1 <= p <= d.
    """
    require_up_to(d, "columns", p=p)
    basis = np.linalg.qr(rng.standard_normal((d, p)))[0]
    return basis if array is None else like(basis, array)


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
    X = checked_start(X)
    multiply = multiplier(A, X.shape[0])
    X, Y, residuals = orthonormal(X, away_from), X, []
    for _ in range(rounds):
        Y = checked_product(multiply(X), X)
        if noise is not None:
            Y = Y + noise(X)
        last, X = X, orthonormal(Y, away_from)
        residuals.append(_largest_sine(last, X))
    return Subspace(X, namespace(Y).linalg.svdvals(Y), rounds, tuple(residuals))


def streaming_power_method(blocks: Iterable[Any], X: Array, samples: int, *, rounds: int | None = None) -> Subspace:
    """The streaming power method: X <- orth(sum of z z' X) over `samples` fresh samples z in each round.

    `blocks` is any iterable of blocks of samples: arrays (n, d) of the library of `X`, scipy sparse matrices (n, d) or
    single samples (d,). A round may begin inside a block. `X` (d, p) is the start, see `random_basis`. Stops after
    `rounds`, or when the stream ends; samples after the last full round are not used (T = floor(m / L) in the paper).
    `values` are the singular values of the last sum, divided by `samples`: estimates of eigenvalues of E[z z'].

    Memory: O(d p) and one block. Cost: for each block Z the two products Z' (Z X), and O(d p^2) a round. In the
    spiked covariance model U diag(l1^2, ..., lk^2) U' + s^2 I, n = O~((l1^2 + s^2)^2 (lk^2 + s^2) / (error^2 lk^6) d k)
    samples suffice at p = 2 k (Corollary 3.3). Not private. Raises `InputError` for a stream shorter than one round,
    for blocks of another width and for NaN.
    """
    X = checked_start(X)
    if rounds is not None:
        require_counts(rounds=rounds)
    if not is_whole(samples) or samples < X.shape[1]:
        raise InputError(f"samples must be a whole number of at least the columns of X, {X.shape[1]}; got {samples!r}.")
    stream, X, total = SampleStream(blocks, X.shape[0]), orthonormal(X), None
    residuals: list[float] = []
    while len(residuals) != rounds:
        try:
            total = _sum_of_products(stream.read(samples), X)
        except StreamEnded:
            if total is None:
                raise
            break
        before, X = X, orthonormal(total)
        residuals.append(_largest_sine(before, X))
    return Subspace(X, namespace(total).linalg.svdvals(total) / samples, len(residuals), tuple(residuals))


def _sum_of_products(blocks: Iterable[Any], X: Array) -> Array:
    """The sum of Z' Z X over `blocks` Z (n, d)."""
    return reduce(operator.add, (Z.T @ (Z @ X) for Z in blocks))


def orthonormal(Y: Array, away_from: Array | None = None) -> Array:
    """The Q of a QR factorization of `Y` (d, p), after projection orthogonal to the unit vector `away_from` (d,)."""
    xp = namespace(Y)
    if away_from is not None:
        Y = Y - away_from[:, None] * (away_from @ Y)[None, :]
    return xp.linalg.qr(Y)[0]


def _largest_sine(X: Array, Y: Array) -> float:
    """Spectral norm of (I - X X') Y for orthonormal X and Y (d, p), the sine of their largest angle. Cost: d p^2."""
    rest = Y - X @ (X.T @ Y)
    largest = float(namespace(X, Y).linalg.eigvalsh(rest.T @ rest)[-1])
    return math.sqrt(min(max(largest, 0.0), 1.0))
