"""Corpus fingerprints and bottom-k sketches, which show whether corpora share documents and group them into the same
units.

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
from scipy import sparse

SKETCH_SIZE = 4096  # hashes, 8 bytes each
LEAST_SHARED = 10  # documents in both samples: then two corpora are linked
LEAST_SHARE = 0.05  # of the smaller sample: then they are linked even if it is fewer
COMPARED_SHARE = 0.2  # of the smaller sample: then how the shared documents form units is compared
MOST_TORN = 0.1  # of the units that can tell: beyond, two groupings differ
CROWD = 8  # units that may hold one document; which ones hold a document of more is not known
Codes = NDArray[np.uint64]


class Sketch:
    """The `SKETCH_SIZE` smallest of distinct 64-bit `hashes` of documents, or all of them, ascending. Private.

    `members` (n, 2) are the hashes of these documents beside the codes of the privacy units that hold them, in order:
    of a document that more than `CROWD` units hold, one unit more than that. Empty where every document is a unit.
    """

    def __init__(self, hashes: Sequence[int] | Codes = (), members: Codes | None = None) -> None:
        self.hashes = np.unique(np.array(hashes, np.uint64))[:SKETCH_SIZE]
        rows = np.zeros((0, 2), np.uint64) if members is None else np.unique(np.asarray(members, np.uint64), axis=0)
        rows = rows[_are_in(rows[:, 0], self.hashes)]
        first = np.searchsorted(rows[:, 0], rows[:, 0])  # where each document's rows begin
        self.members = rows[np.arange(len(rows)) - first <= CROWD]

    def with_documents(self, hashes: Codes, units: Codes | None = None) -> Sketch:
        """The sketch of these documents (n,), in these units, and more."""
        members = self.members if units is None else np.concatenate([self.members, np.stack([hashes, units], axis=1)])
        return Sketch(np.concatenate([self.hashes, hashes]), members)

    @property
    def bound(self) -> int:
        """Every document whose hash is at most this is in the sketch."""
        return int(self.hashes[-1]) if len(self.hashes) == SKETCH_SIZE else 2**64 - 1

    def shared(self, other: Sketch) -> tuple[int, int]:
        """How many documents are in both samples, and how many in the smaller sample.

        The samples are what both sketches hold below the smaller bound.
        """
        bound = np.uint64(min(self.bound, other.bound))
        ours, theirs = (sketch.hashes[sketch.hashes <= bound] for sketch in (self, other))
        return len(np.intersect1d(ours, theirs, assume_unique=True)), min(len(ours), len(theirs))

    def overlaps(self, other: Sketch) -> bool:
        """Whether the corpora share enough documents to be linked."""
        shared, sampled = self.shared(other)
        return shared >= min(LEAST_SHARED, max(1, LEAST_SHARE * sampled))

    def regroups(self, other: Sketch) -> bool | None:
        """Whether the documents that both have form units otherwise in `other`; None if they cannot tell.

        A unit here and a unit there are the same if more than half of the shared documents of each are the other's. A
        unit without its like is torn. A unit can tell if it, or one that shares a document with it, has several. Units
        are counted, not documents: splitting few documents off everybody would make each person many units.
        """
        shared, sampled = self.shared(other)
        both = np.intersect1d(self.hashes, other.hashes, assume_unique=True)
        crowded = self._crowded(both) & other._crowded(both)
        here, there = (sketch._holders(both[~crowded]) for sketch in (self, other))
        common = (here @ there.T).tocoo()
        sizes = np.asarray(here.sum(axis=1)).ravel(), np.asarray(there.sum(axis=1)).ravel()
        largest = np.maximum(sizes[0][common.row], sizes[1][common.col])
        torn = told = 0
        for size, index in zip(sizes, (common.row, common.col), strict=True):
            telling, matched = size > 1, np.zeros(len(size), np.bool_)
            telling[index[largest > 1]] = True
            matched[index[2 * common.data > largest]] = True
            torn, told = torn + int(np.sum(telling & ~matched)), told + int(np.sum(telling))
        return None if not told or shared < COMPARED_SHARE * sampled else torn > MOST_TORN * told

    def _crowded(self, documents: Codes) -> NDArray[np.bool_]:
        """Which of `documents` (n,), ascending, more than `CROWD` units hold."""
        held = self.members[:, 0]
        return np.asarray(np.searchsorted(held, documents, "right") - np.searchsorted(held, documents) > CROWD)

    def _holders(self, documents: Codes) -> sparse.csr_array:
        """Which units hold which of `documents`, (n_units, n_documents); of crowded ones nobody is known to."""
        known = documents[~self._crowded(documents)]
        rows = self.members[_are_in(self.members[:, 0], known)]
        units, unit = np.unique(rows[:, 1], return_inverse=True)
        ones = np.ones(len(rows), np.int64)
        places = (unit, np.searchsorted(documents, rows[:, 0]))
        return sparse.csr_array((ones, places), shape=(len(units), len(documents)))

    def to_text(self) -> str:
        """For the ledger: base64 of the hashes, ascending, little-endian."""
        return _to_text(self.hashes)

    def members_to_text(self) -> str:
        """The same of the members: how many units hold each document, and their codes."""
        counts = np.diff(np.searchsorted(self.members[:, 0], self.hashes), append=len(self.members))
        return f"{_to_text(counts.astype(np.uint64))} {_to_text(self.members[:, 1])}"

    @classmethod
    def from_text(cls, hashes: str, members: str | None = None) -> Sketch:
        """The sketch that `to_text` and `members_to_text` wrote."""
        documents = _from_text(hashes)
        if members is None:
            return cls(documents)
        counts, units = map(_from_text, members.split(" "))
        return cls(documents, np.stack([np.repeat(documents, counts.astype(np.int64)), units], axis=1))


@dataclass(frozen=True)
class Fingerprint:
    """The keyed code, sketch and grouping of a corpus. Private.

    `code` is equal for equal documents, `sketch` finds those that are shared; `grouping` is equal if, besides, the same
    documents form units, whatever these are called. It is None where every document is a unit of its own.
    """

    code: str
    sketch: Sketch = field(default_factory=Sketch, compare=False)
    grouping: str | None = None


def _are_in(codes: Codes, others: Codes) -> NDArray[np.bool_]:
    """Which of `codes` (n,) are among `others`. Sorted: NumPy 2.0's lookup table overflows for 64-bit numbers."""
    return np.isin(codes, others, kind="sort")


def _to_text(codes: Codes) -> str:
    return base64.b64encode(codes.astype("<u8").tobytes()).decode()


def _from_text(text: str) -> Codes:
    return np.frombuffer(base64.b64decode(text), "<u8").astype(np.uint64)
