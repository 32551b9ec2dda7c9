"""The online tensor power method (Wang and Anandkumar 2016, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from dplda.errors import InputError
from dplda.numerics.arrays import Array, is_whole, namespace
from dplda.tensor.eigenpairs import EigenPairs
from dplda.tensor.implicit import Implicit, require_counts
from dplda.tensor.private_eigenpairs import noisy_power_method

Block = Any  # (n, d) array, SciPy sparse matrix, or one sample (d,)


def online_power_method(
    blocks: Iterable[Block],
    rank: int,
    rng: np.random.Generator,
    *,
    samples: int,
    starts: int = 20,
    iterations: int = 20,
) -> EigenPairs:
    """Find `rank` pairs of the third moment E[x^3] of a stream of samples x (d,), which is read once.

    `blocks` are samples (d,), arrays (n, d) or SciPy sparse matrices (n, d), cut as they come: every step reads the
    next `samples` of them, rank * iterations * samples in all (`itertools.cycle` reads a stored set again and again).
    The value of a pair is that of the step before its vector, as printed.

    Cost: 4 * starts flops for every entry read. Memory: O(d (rank + starts)) and one block with its products,
    (n, starts). Proposition 3.1; the error falls as sqrt(d / samples) once samples are enough for Theorem 3.1.
    Raises `InputError` if the stream ends early, changes its width, or holds NaN or infinity.
    """
    require_counts(samples=samples)
    stream = _Stream(blocks)

    def along(U: Array) -> Array:
        total = 0.0 * U
        for X in stream.read(samples):
            P = X @ U
            total = total + X.T @ (P * P)
        if not bool(namespace(U).all(namespace(U).isfinite(total))):
            raise InputError("the samples must be finite, got NaN or infinity")
        return total / samples

    if not is_whole(rank) or not 1 <= rank <= stream.width:
        raise InputError(f"rank must be in 1..{stream.width}, the length of a sample, got {rank}")
    moment = Implicit(along, stream.width, stream.example)
    return noisy_power_method(moment, rank, rng, starts=starts, iterations=iterations)


class _Stream:
    """A stream of samples from blocks of any sizes."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks = iter(blocks)
        self._taken = self._first = 0
        self._block = self._next(None)
        self.width: int = self._block.shape[1]
        self.example = np.empty(0) if sparse.issparse(self._block) else self._block[:0, :]

    def read(self, count: int) -> Iterator[Block]:
        """The next `count` samples, in pieces (n, width)."""
        while count:
            if self._first == self._block.shape[0]:
                self._block, self._first = self._next(self.width), 0
            last = min(self._block.shape[0], self._first + count)
            piece = self._block if last - self._first == self._block.shape[0] else self._block[self._first : last, :]
            self._first = last
            self._taken += piece.shape[0]
            count -= piece.shape[0]
            yield piece

    def _next(self, width: int | None) -> Block:
        for X in self._blocks:
            block = _floating(X)
            if block.ndim == 1:
                block = block[None, :]
            if block.ndim != 2 or block.shape[1] != (width or block.shape[1]):
                raise InputError(
                    f"blocks must be (n, {width or 'd'}), got {tuple(X.shape)} after {self._taken} samples"
                )
            if block.shape[0]:
                return block
        raise InputError(f"the stream ended after {self._taken} samples; rank * iterations * samples are needed")


def _floating(X: Block) -> Block:
    """`X` in floating point (sums turn the whole numbers of a sparse one into it), a sparse one in compressed rows."""
    if sparse.issparse(X):
        if X.dtype.kind in "biuf":
            return X.tocsr()
    else:
        xp = namespace(X)
        if xp.isdtype(X.dtype, "real floating"):
            return X
        if xp.isdtype(X.dtype, ("bool", "integral")):
            return xp.astype(X, xp.float64)
    raise InputError(f"blocks must hold real numbers, got {X.dtype}")
