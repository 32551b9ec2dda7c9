"""A stream of samples in blocks of any sizes, read a fixed number of samples at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scipy import sparse

from dplda.errors import InputError
from dplda.numerics.arrays import floats
from dplda.spectral.arguments import sparse_floats


class StreamEnded(InputError):
    """A stream ended before it held as many samples as were read."""


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
    """Rows `first` to `last` of `Z`; those of a sparse matrix without a copy."""
    if not sparse.issparse(Z):
        return Z[first:last, :]
    begin, end = Z.indptr[first], Z.indptr[last]
    rows = Z.data[begin:end], Z.indices[begin:end], Z.indptr[first : last + 1] - begin
    return sparse.csr_array(rows, shape=(last - first, Z.shape[1]))
