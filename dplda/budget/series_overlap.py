"""In how many batches of a series a document is, as far as sketches show it (docs/privacy.md, section 9.10).

A text that recurs by chance, such as "thank you very much", must be told from a document that is in several batches.
Nothing in the text tells: what tells is how many do. A sketch holds each distinct text once, so that a phrase which
everybody writes counts as one document, however often it is written. The share of the distinct texts of a batch that
recur in others by chance is small (docs/benchmarks.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from dplda.budget.sketches import Sketch

CHANCE_SHARE = 0.025  # of the distinct documents of a batch: more do not recur in other batches by chance
_FREQUENT_SHARE = 0.01  # of them, where documents are known to be in several batches: more do not recur in so many
_SIGNIFICANCE = 1e-4  # probability with which a sample of documents that recur by chance shows more than such a share
_FEWEST = 10  # documents; fewer may all be phrases
_STEPS = 4  # bounds that are compared, for each doubling
Batches = Mapping[str, Sequence[Sketch]]  # for each batch a sketch of everything that was read under its name


def most_batches(batches: Batches, declared: int) -> int:
    """The largest number of batches in which documents are seen; `declared`, unless more are.

    More are seen if more documents of something that was read than chance explains are in more batches than `declared`.
    Then the result is the largest number of batches in which more of these documents are than chance explains.
    """
    most = declared
    for _, counts in _counts(batches):
        overlap, frequent = (_unexplained(len(counts), share) for share in (CHANCE_SHARE, _FREQUENT_SHARE))
        if overlap <= len(counts) and counts[overlap - 1] > declared:
            most = max(most, int(counts[frequent - 1]))
    return most


def batches_of_most(batches: Batches, read: Sketch) -> int:
    """The largest number of batches in which more than half of the documents of `read`, one of the sketches, are."""
    most = 1
    for sketch, counts in _counts(batches):
        needed = max(len(counts) // 2 + 1, _unexplained(len(counts), CHANCE_SHARE))
        if sketch is read and needed <= len(counts):
            most = max(most, int(counts[needed - 1]))
    return most


@lru_cache(maxsize=4096)
def _unexplained(n: int, share: float) -> int:
    """The least number of `n` sampled documents that a `share` of all documents does not explain."""
    fewer = np.arange(n + 1)  # P(more than so many)
    return int(np.argmax(bdtrc(fewer, n, share) <= _SIGNIFICANCE)) + 1


def _counts(batches: Batches) -> Iterator[tuple[Sketch, NDArray[np.int64]]]:
    """Sketches of ten documents or more, each with the numbers of batches in which its documents are, descending.

    A sketch contains every document whose hash is below the sketch's bound, and hashes are the same in all sketches. So
    below any bound, the sketches that reach it contain a uniform sample of their documents, and all other batches in
    which these documents are. A sketch is returned once for each smaller bound of another sketch, rounded down by less
    than a fifth: beside a much larger batch it is a small sample.
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
