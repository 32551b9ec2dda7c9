"""Power methods on a stream of samples, which is read once.

The streaming power method is from Hardt and Price 2014 (Figure 2), the online tensor power method from Wang and
Anandkumar 2016 (Algorithm 2).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from dplda.base.arrays import Array, floats, is_whole, namespace
from dplda.base.errors import InputError
from dplda.learning.eigenpairs import EigenPairs, Implicit, noisy_tensor_power_method
from dplda.learning.power_method import (
    Subspace,
    check_start,
    largest_sine,
    orthonormal,
    require_counts,
    require_up_to,
    sparse_floats,
)


def streaming_power_method(blocks: Iterable[Any], X: Array, samples: int, *, rounds: int | None = None) -> Subspace:
    """Find a leading subspace by X <- orth(sum of z z' X) over `samples` fresh samples z in each round.

    `blocks` is any iterable of blocks of samples: arrays (n, d) of the library of `X`, scipy sparse matrices (n, d) or
    single samples (d,). A round may begin inside a block. `X` (d, p) is the start, see `random_basis`. Stops after
    `rounds`, or when the stream ends; samples after the last full round are not used (T = floor(m / L) in the paper).
    `values` are the singular values of the last sum, divided by `samples`: estimates of eigenvalues of E[z z'].

    Memory: O(d p) and one block. Cost: for each block Z the two products Z' (Z X), and O(d p^2) a round. In the
    spiked covariance model U diag(l1^2, ..., lk^2) U' + s^2 I, n = O~((l1^2 + s^2)^2 (lk^2 + s^2) / (error^2 lk^6) d k)
    samples suffice at p = 2 k (Corollary 3.3). Not private. Raises `InputError` for a stream shorter than one round,
    for blocks of another width and for NaN.
    """
    X = check_start(X)
    if rounds is not None:
        require_counts(rounds=rounds)
    if not is_whole(samples) or samples < X.shape[1]:
        raise InputError(f"samples must be a whole number of at least the columns of X, {X.shape[1]}; got {samples!r}.")
    stream, X, total = SampleStream(blocks, X.shape[0]), orthonormal(X), None
    residuals: list[float] = []
    while len(residuals) != rounds:
        try:
            total = reduce(operator.add, (Z.T @ (Z @ X) for Z in stream.read(samples)))
        except StreamEnded:
            if total is None:
                raise
            break
        before, X = X, orthonormal(total)
        residuals.append(largest_sine(before, X))
    return Subspace(X, namespace(total).linalg.svdvals(total) / samples, len(residuals), tuple(residuals))


def online_power_method(
    blocks: Iterable[Any],
    rank: int,
    rng: np.random.Generator,
    *,
    samples: int,
    starts: int = 20,
    iterations: int = 20,
) -> EigenPairs:
    """Find `rank` pairs of the third moment E[x^3] of a stream of samples x (d,), which is read once.

    `blocks` are samples (d,), arrays (n, d) or SciPy sparse matrices (n, d), of any sizes. Every step reads the next
    `samples` of them, rank * iterations * samples in all (`itertools.cycle` repeats a stored set). As in the paper, the
    value of a pair is taken one step before its vector.

    Cost (Proposition 3.1): 4 * starts flops for every entry read. Memory: O(d (rank + starts)) and one block with its
    products, (n, starts). The error falls as sqrt(d / samples) once samples are enough for Theorem 3.1. Raises
    `InputError` if the stream ends early, changes its width, or contains NaN or infinity.
    """
    require_counts(samples=samples)
    stream = SampleStream(blocks)
    block = stream.peek(samples)
    d = block.shape[1]
    require_up_to(d, "the length of a sample", rank=rank)

    def along(U: Array) -> Array:
        total = 0.0 * U
        for X in stream.read(samples):
            P = X @ U
            total = total + X.T @ (P * P)
        return floats(total, "the third moment of the samples") / samples

    moment = Implicit(along, d, np.empty(0) if sparse.issparse(block) else block[:0, :])
    return noisy_tensor_power_method(moment, rank, rng, starts=starts, iterations=iterations)


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
        """Return the block (n, d) with the next sample; `needed` is for the message at the end of the stream."""
        name = "a block of samples"
        while self._block is None or self._first == self._block.shape[0]:
            block = next(self._blocks, None)
            if block is None:
                raise StreamEnded(f"the stream ended after {self._read} samples; this round needs {needed} more.")
            block = sparse_floats(block, name) if sparse.issparse(block) else floats(block, name)
            block = block[None, :] if block.ndim == 1 else block
            if block.ndim != 2 or block.shape[1] != (self._width or block.shape[1]):
                raise InputError(
                    f"{name} must have shape (n, {self._width or 'd'}), got {tuple(block.shape)} "
                    f"after {self._read} samples"
                )
            self._width = block.shape[1]
            self._block, self._first = block, 0
        return self._block

    def read(self, count: int) -> Iterator[Any]:
        """Yield the next `count` samples, in pieces (n, d)."""
        while count:
            block = self.peek(count)
            last = min(block.shape[0], self._first + count)
            piece = _rows(block, self._first, last)
            self._read += last - self._first
            count -= last - self._first
            self._first = last
            yield piece


class StreamEnded(InputError):
    """A stream ended before the requested number of samples had been read."""


def _rows(Z: Any, first: int, last: int) -> Any:
    """Return rows `first` to `last` of `Z`, without a copy if `Z` is sparse."""
    if not sparse.issparse(Z):
        return Z[first:last, :]
    begin, end = Z.indptr[first], Z.indptr[last]
    rows = Z.data[begin:end], Z.indices[begin:end], Z.indptr[first : last + 1] - begin
    return sparse.csr_array(rows, shape=(last - first, Z.shape[1]))
