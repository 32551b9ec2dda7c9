"""In how many batches of a series a document is, as far as sketches show it (docs/privacy.md, T11').

A text that recurs by chance, such as "thank you very much", must be told from a document that is in several batches.
Nothing in the text tells: what tells is how many do. A sketch holds each distinct text once, so that a phrase which
everybody writes counts as one document, however often it is written. The share of the distinct texts of a batch that
are in other batches, too, is small where texts recur by chance (docs/benchmarks.md), and it is the share of the
documents that are in several batches where batches overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dplda.store.sketches import Sketch

OVERLAP_SHARE = 0.05  # of the distinct documents of a batch: fewer may recur by chance
_COUNTED_SHARE = (
    0.01  # of them, once documents are known to be in several batches: fewer may recur in so many by chance
)
_OVERLAP_DOCUMENTS = 10  # fewer sampled documents do not tell, either
_ALL = 64  # bits of a bound below which all hashes are
Batches = Mapping[str, Sequence[Sketch]]  # for each batch a sketch of everything that was read under its name


def most_batches(batches: Batches, declared: int) -> int:
    """The largest number of batches in which documents are seen; `declared`, unless more are.

    More are seen if more than `OVERLAP_SHARE` of the sampled documents of something that was read are in more batches
    than `declared`. Then the result is the largest number of batches in which more than a hundredth of these documents
    are. Fewer than ten sampled documents never count.
    """
    most = declared
    for counts in _counts(batches):
        overlap, counted = (
            max(_OVERLAP_DOCUMENTS, int(share * len(counts)) + 1) for share in (OVERLAP_SHARE, _COUNTED_SHARE)
        )
        if overlap <= len(counts) and counts[overlap - 1] > declared:
            most = max(most, int(counts[counted - 1]))
    return most


def batches_of_most(batches: Batches) -> int:
    """The largest number of batches in which more than half of the documents of one batch are; at least 1."""
    return max((int(counts[len(counts) // 2]) for counts in _counts(batches)), default=1)


def _counts(batches: Batches) -> Iterator[NDArray[np.int64]]:
    """For samples of everything that was read: in how many batches each document of the sample is, descending.

    A sketch contains every document whose hash is below the sketch's bound, and hashes are the same in all sketches. So
    below any bound, the sketches that reach it contain a uniform sample of their documents and every other batch in
    which these documents are. Bounds are rounded down to powers of two, so that batches of similar size are compared at
    once; with a much larger batch they are compared in a smaller sample. A sample of fewer than ten documents is left
    out, unless it is everything that was read.
    """
    read = [(batch, sketch) for batch, sketches in batches.items() for sketch in sketches]
    for bits in {(sketch.bound + 1).bit_length() - 1 for _, sketch in read}:
        bound = np.uint64(2**bits - 1)
        held: dict[str, list[NDArray[np.uint64]]] = {}
        for batch, sketch in read:
            if sketch.bound >= bound:
                held.setdefault(batch, []).append(sketch.hashes[sketch.hashes <= bound])
        in_batches = np.concatenate([np.unique(np.concatenate(samples)) for samples in held.values()])
        documents, n_batches = np.unique(in_batches, return_counts=True)
        for sample in (sample for samples in held.values() for sample in samples):
            if len(sample) >= _OVERLAP_DOCUMENTS or (bits == _ALL and len(sample)):
                yield np.sort(n_batches[np.searchsorted(documents, sample)])[::-1]
