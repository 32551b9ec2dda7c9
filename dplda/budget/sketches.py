"""Bottom-k sketches and fingerprints, which show what corpora share: documents, units, and the batches of a series.

A sketch holds the smallest hashes of a corpus's distinct documents (bottom-k sampling: Cohen and Kaplan 2007; Beyer et
al. 2007). Hashes are pseudorandom. Below the smaller of two sketches' bounds, each sketch therefore contains a uniform
sample of its documents, and a shared document is in both samples or in neither.

How many batches of a series hold a document is known as far as sketches show it (docs/privacy.md, section 9.10). A text
that recurs by chance, such as "thank you very much", must be told from a document that is in several batches. Nothing
in the text tells them apart; the share of a batch's texts that recur does. A sketch holds each distinct text once, so
that a phrase which everybody writes counts as one document, however often it is written. The share of the distinct
texts of a batch that recur in others by chance is small (docs/benchmarks.md).
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import bdtrc

_SKETCH_SIZE = 4096  # number of hashes in a sketch, 8 bytes each
# Two corpora are linked if their samples share this many documents, or this share of the smaller sample.
_LINKING_DOCUMENTS, _LINKING_SHARE = 10, 0.05
_COMPARED_SHARE = 0.2  # groupings are compared if at least this share of the smaller sample is shared
_MAX_UNMATCHED = 0.1  # two groupings count as the same up to this share of unmatched units
_CROWD = 8  # a sketch records at most this many units of one document, and one more to show that there are more
CHANCE_SHARE = 0.025  # no more of a batch's distinct documents recur in other batches by chance
_FREQUENT_SHARE = 0.01  # where documents are known to be in several batches, no more recur by chance in that many
_SIGNIFICANCE = 1e-4  # probability that a sample of documents that recur by chance shows more than such a share
_FEWEST = 10  # documents; fewer may all be phrases
_STEPS = 4  # number of bounds compared for each doubling
NO_DOCUMENTS = "no documents"  # the code of a corpus without eligible documents, which nothing is linked to
_Codes = NDArray[np.uint64]


class Sketch:
    """The smallest `_SKETCH_SIZE` of the distinct 64-bit `hashes` of documents, or all of them, ascending. Private.

    The rows of `members` (n, 2), ascending, are pairs of such a hash and the code of a privacy unit that contains the
    document, with at most `_CROWD` + 1 units for each document. `members` is empty if every document is a unit.
    """

    def __init__(self, hashes: Sequence[int] | _Codes = (), members: _Codes | None = None) -> None:
        self.hashes = np.unique(np.array(hashes, np.uint64))[:_SKETCH_SIZE]
        rows = np.zeros((0, 2), np.uint64) if members is None else np.unique(np.asarray(members, np.uint64), axis=0)
        rows = rows[_are_in(rows[:, 0], self.hashes)]
        first = np.searchsorted(rows[:, 0], rows[:, 0])  # where each document's rows begin
        self.members = rows[np.arange(len(rows)) - first <= _CROWD]

    def with_documents(self, hashes: _Codes, units: _Codes | None = None) -> Sketch:
        """Return this sketch with more documents, given by their `hashes` (n,) and the codes of their `units` (n,)."""
        members = self.members if units is None else np.concatenate([self.members, np.stack([hashes, units], axis=1)])
        return Sketch(np.concatenate([self.hashes, hashes]), members)

    @property
    def bound(self) -> int:
        """The sketch contains every document whose hash is at most this number."""
        return int(self.hashes[-1]) if len(self.hashes) == _SKETCH_SIZE else 2**64 - 1

    def shared(self, other: Sketch) -> tuple[int, int]:
        """Count the documents in both samples, and in the smaller sample.

        The samples are the hashes of both sketches up to the smaller bound.
        """
        bound = np.uint64(min(self.bound, other.bound))
        ours, theirs = (sketch.hashes[sketch.hashes <= bound] for sketch in (self, other))
        return len(np.intersect1d(ours, theirs, assume_unique=True)), min(len(ours), len(theirs))

    def overlaps(self, other: Sketch) -> bool:
        """Whether the corpora share enough documents to be linked."""
        shared, sampled = self.shared(other)
        return shared >= min(_LINKING_DOCUMENTS, max(1, _LINKING_SHARE * sampled))

    def regroups(self, other: Sketch, *, same_documents: bool = False) -> bool | None:
        """Whether `other` groups the shared documents into units differently; None if there are too few to decide.

        A unit here and a unit there match if each contains more than half of the shared documents of the other. A unit
        is compared only if it contains several of the shared documents, or has one in common with a unit of the other
        corpus that contains several. The share of compared units without a match decides, and not the share of their
        documents: otherwise splitting a few documents off every person would go unnoticed.

        Texts that several people wrote alike have fewer units in a part of a corpus than in the whole. A document with
        as many units in a part as in the whole has the same units, if both group alike, and the units of any other
        document there are among those that it has in the whole. So unless both have the `same_documents`, units are
        matched by the former, where there are enough of them, and the latter are not to contradict that.
        """
        shared, sampled = self.shared(other)
        both = np.intersect1d(self.hashes, other.hashes, assume_unique=True)
        n_here, n_there = self._n_units(both), other._n_units(both)
        recorded = np.minimum(n_here, n_there) <= _CROWD  # the units of others are not all recorded in either sketch
        steady = recorded & (n_here == n_there)
        may_be_part = not same_documents and np.sum(steady) >= _COMPARED_SHARE * sampled
        holders = self._holders(both), other._holders(both)
        here, there = (each[:, steady if may_be_part else recorded] for each in holders)
        common = (here @ there.T).tocoo()  # the number of documents that a unit here and a unit there share
        sizes = np.asarray(here.sum(axis=1)).ravel(), np.asarray(there.sum(axis=1)).ravel()
        largest = np.maximum(sizes[0][common.row], sizes[1][common.col])
        match = 2 * common.data > largest
        n_unmatched = n_compared = 0
        for size, index in zip(sizes, (common.row, common.col), strict=True):  # units here, then units there
            compared = size > 1
            compared[index[largest > 1]] = True
            matched = np.zeros(len(size), np.bool_)
            matched[index[match]] = True
            n_unmatched += int(np.sum(compared & ~matched))
            n_compared += int(np.sum(compared))
        if not n_compared or shared < _COMPARED_SHARE * sampled:
            return None
        if n_unmatched > _MAX_UNMATCHED * n_compared:
            return True
        if not may_be_part:
            return False
        matches = sparse.coo_array((match.astype(np.int64), (common.row, common.col)), shape=common.shape).tocsr()
        fewer = (n_here < n_there) & (n_there <= _CROWD), (n_there < n_here) & (n_here <= _CROWD)
        found = (
            _outside(holders[0][:, fewer[0]], holders[1][:, fewer[0]], matches),
            _outside(holders[1][:, fewer[1]], holders[0][:, fewer[1]], matches.T.tocsr()),
        )
        outside, rows = (sum(each) for each in zip(*found, strict=True))
        return rows >= _FEWEST and 2 * outside > rows

    def _n_units(self, documents: _Codes) -> NDArray[np.int64]:
        """Return the number (n,) of units of each of the `documents` (n,); `_CROWD` + 1 stands for more."""
        held = self.members[:, 0]
        return np.asarray(np.searchsorted(held, documents, "right") - np.searchsorted(held, documents))

    def _holders(self, documents: _Codes) -> sparse.csr_array:
        """Return incidence (n_units, n_documents) of units and `documents`; columns of crowded documents are empty."""
        known = documents[self._n_units(documents) <= _CROWD]
        rows = self.members[_are_in(self.members[:, 0], known)]
        units, unit = np.unique(rows[:, 1], return_inverse=True)
        ones = np.ones(len(rows), np.int64)
        places = (unit, np.searchsorted(documents, rows[:, 0]))
        return sparse.csr_array((ones, places), shape=(len(units), len(documents)))

    def to_text(self) -> str:
        """Write the hashes for the ledger: base64, ascending, little-endian."""
        return codes_to_text(self.hashes)

    def members_to_text(self) -> str:
        """Write the members for the ledger: the number of units of each document, and their codes, in base64."""
        counts = np.diff(np.searchsorted(self.members[:, 0], self.hashes), append=len(self.members))
        return f"{codes_to_text(counts.astype(np.uint64))} {codes_to_text(self.members[:, 1])}"

    @classmethod
    def from_text(cls, hashes: str, members: str | None = None) -> Sketch:
        """Read a sketch that `to_text` and `members_to_text` wrote."""
        documents = codes_from_text(hashes)
        if members is None:
            return cls(documents)
        counts, units = map(codes_from_text, members.split(" "))
        return cls(documents, np.stack([np.repeat(documents, counts.astype(np.int64)), units], axis=1))


def _outside(part: sparse.csr_array, whole: sparse.csr_array, matches: sparse.csr_array) -> tuple[int, int]:
    """Count the documents of units of a `part` that no matching unit of the `whole` holds, and all that were looked at.

    `part` (n_units, n_documents) and `whole` say which units hold which documents, and `matches` which units match.
    Units that match none are not looked at.
    """
    of_matched = part[np.asarray(matches.sum(axis=1)).ravel() > 0]
    rows, held = int(of_matched.sum()), int(part.multiply((matches @ whole) > 0).sum())
    return rows - held, rows


@dataclass(frozen=True)
class Fingerprint:
    """The keyed code, sketch and grouping of a corpus. Private."""

    code: str
    """The same for corpora with the same documents."""
    sketch: Sketch = field(default_factory=Sketch, compare=False)
    """Finds the documents that two corpora share."""
    grouping: str | None = None
    """The same for corpora that group the same documents into the same units, whatever the units' names. None if every
    document is a unit, and if there are none (`NO_DOCUMENTS`).
    """
    texts: Fingerprint | None = field(default=None, compare=False)
    """That of the texts from which the words were made, whatever way; None if only counts were read. Its hashes are of
    another kind, so that only such fingerprints can be compared with it.
    """
    ids: _Codes | None = field(default=None, compare=False)
    """Keyed hashes (n_documents,) of the documents' ids, in a series that tells its documents apart by ids."""


Batches = Mapping[str, Sequence[Sketch]]  # for each batch a sketch of everything that was read under its name


def most_batches(batches: Batches, declared: int) -> int:
    """Return the largest number of batches that hold one document, as far as sketches show it; at least `declared`.

    It exceeds `declared` if more documents of a sketch than chance explains are in more batches than that. It is then
    the largest number of batches that hold more of these documents than chance explains.
    """
    most = declared
    for _, counts in _counts(batches):
        overlap, frequent = (_unexplained(len(counts), share) for share in (CHANCE_SHARE, _FREQUENT_SHARE))
        if overlap <= len(counts) and counts[overlap - 1] > declared:
            most = max(most, int(counts[frequent - 1]))
    return most


def batches_of_most(batches: Batches, read: Sketch) -> int:
    """Return the largest number of batches that each hold more than half of the documents of `read`, one sketch."""
    most = 1
    for sketch, counts in _counts(batches):
        needed = max(len(counts) // 2 + 1, _unexplained(len(counts), CHANCE_SHARE))
        if sketch is read and needed <= len(counts):
            most = max(most, int(counts[needed - 1]))
    return most


@lru_cache(maxsize=4096)
def _unexplained(n: int, share: float) -> int:
    """Return the least number of `n` sampled documents that a `share` of all documents does not explain."""
    fewer = np.arange(n + 1)  # P(more than so many)
    return int(np.argmax(bdtrc(fewer, n, share) <= _SIGNIFICANCE)) + 1


def _counts(batches: Batches) -> Iterator[tuple[Sketch, NDArray[np.int64]]]:
    """Yield sketches of ten documents or more, each with the numbers of batches that hold its documents, descending.

    A sketch contains every document whose hash is below the sketch's bound, and hashes are the same in all sketches.
    Below any bound, the sketches that reach it therefore contain a uniform sample of their documents, and show all
    other batches that hold these documents. A sketch is yielded once for each smaller bound of another sketch, rounded
    down by less than a fifth: beside a much larger batch it is a small sample.
    """
    read = [(batch, sketch) for batch, sketches in batches.items() for sketch in sketches]
    for step in {math.floor(_STEPS * math.log2(sketch.bound + 1)) for _, sketch in read}:
        bound = np.uint64(math.floor(2 ** (step / _STEPS)) - 1)
        reaching = [
            (batch, sketch, sketch.hashes[sketch.hashes <= bound]) for batch, sketch in read if sketch.bound >= bound
        ]
        held: dict[str, list[NDArray[np.uint64]]] = {}
        for batch, _, sample in reaching:
            held.setdefault(batch, []).append(sample)
        in_batches = np.concatenate([np.unique(np.concatenate(samples)) for samples in held.values()])
        documents, n_batches = np.unique(in_batches, return_counts=True)
        for _, sketch, sample in reaching:
            if len(sample) and len(sketch.hashes) >= _FEWEST:
                yield sketch, np.sort(n_batches[np.searchsorted(documents, sample)])[::-1]


def _are_in(codes: _Codes, others: _Codes) -> NDArray[np.bool_]:
    """Return a mask of the `codes` (n,) among `others`. NumPy 2.0's lookup table overflows for 64-bit numbers."""
    return np.isin(codes, others, kind="sort")


def codes_to_text(codes: _Codes) -> str:
    """Write 64-bit `codes` (n,) for the ledger: base64, little-endian."""
    return base64.b64encode(codes.astype("<u8").tobytes()).decode()


def codes_from_text(text: str) -> _Codes:
    """Read codes that `codes_to_text` wrote."""
    return np.frombuffer(base64.b64decode(text), "<u8").astype(np.uint64)
