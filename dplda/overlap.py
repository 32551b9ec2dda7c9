"""What a ledger knows a corpus by, and how two corpora that share documents are told.

A sketch holds the smallest of the hashes of a corpus's distinct documents (bottom-k sampling: Cohen and Kaplan 2007;
Beyer et al. 2007). Hashes are pseudorandom, so that up to the smaller of two sketches' bounds each holds a uniform
sample of its documents, and the documents that both corpora have are in both samples.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SKETCH_SIZE = 4096  # hashes, 8 bytes each
LEAST_SHARE = 0.05  # of the smaller corpus's documents: two corpora that share fewer are told apart


class Sketch:
    """The `SKETCH_SIZE` smallest of distinct 64-bit `hashes` of documents, or all of them. Private."""

    def __init__(self, hashes: Sequence[int] | NDArray[np.uint64] = ()) -> None:
        self.hashes = np.unique(np.array(hashes, np.uint64))[:SKETCH_SIZE]

    def with_documents(self, hashes: NDArray[np.uint64]) -> Sketch:
        """The sketch of these documents and more."""
        return Sketch(np.concatenate([self.hashes, hashes[hashes <= self.bound]]))

    @property
    def bound(self) -> int:
        """Every document whose hash is at most this is in the sketch."""
        return int(self.hashes[-1]) if len(self.hashes) == SKETCH_SIZE else 2**64 - 1

    def shared(self, other: Sketch) -> float:
        """The share, in [0, 1], of the smaller corpus's distinct documents that the larger has too, estimated.

        The sample is what both hold below the smaller bound; without any document of the smaller corpus in it, 0.
        """
        bound = np.uint64(min(self.bound, other.bound))
        ours, theirs = (sketch.hashes[sketch.hashes <= bound] for sketch in (self, other))
        sampled = min(len(ours), len(theirs))
        return len(np.intersect1d(ours, theirs, assume_unique=True)) / sampled if sampled else 0.0

    def overlaps(self, other: Sketch) -> bool:
        """Whether the corpora share as many documents as makes them linked."""
        return self.shared(other) >= LEAST_SHARE

    def to_text(self) -> str:
        """For the ledger: base64 of the hashes, ascending, little-endian."""
        return base64.b64encode(self.hashes.astype("<u8").tobytes()).decode()

    @classmethod
    def from_text(cls, text: str) -> Sketch:
        """The sketch that `to_text` wrote."""
        return cls(np.frombuffer(base64.b64decode(text), "<u8"))


@dataclass(frozen=True)
class Fingerprint:
    """What tells a corpus: `code` is equal for equal documents, `sketch` finds those that are shared. Private."""

    code: str
    sketch: Sketch = field(default_factory=Sketch, compare=False)
