"""Votes of units for words; each unit's votes depend on that unit alone (docs/privacy.md, section 4.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from dplda.base.arrays import mix_bits
from dplda.base.compiled import compiled
from dplda.base.config import MINIMUM_LENGTH
from dplda.base.threads import add, run_ranges, split
from dplda.private.statistics.clipping import BOUND, MOST_WORDS
from dplda.private.statistics.unit_sums import length_of, read_only
from dplda.private.store.units import UnitCounts


def word_hashes(words: Sequence[str]) -> np.ndarray:
    """Hash each word to 64 public bits, uint64, which decide the units' random choices."""
    digests = b"".join(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
    return np.frombuffer(digests, np.uint64)


_mix = compiled()(mix_bits)


@compiled()
def _pick(union, size, salt, hashes, most):
    """At most `most` words of union[:size], those with the smallest priorities; `salt` makes these random per unit.

    The words move to the beginning of `union`; returns that part of it.
    """
    if size <= most:
        return union[:size]
    priority = np.empty(size, np.uint64)
    for e in range(size):
        priority[e] = _mix(hashes[union[e]] ^ salt)
    cut, kept = _nth_smallest(priority.copy(), most), 0
    for e in range(size):
        if priority[e] < cut:  # strictly: tied words are all left out, so that their order does not matter
            union[kept] = union[e]
            kept += 1
    return union[:kept]


@compiled()
def _nth_smallest(values, n):
    """Return the value that ``np.sort(values)[n]`` has; reorders `values`.

    This is Hoare's selection. NumPy's partition gives the same number, but numba takes ten seconds to compile it.
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if n <= j:
            high = j
        elif n >= i:
            low = i
        else:
            break
    return values[n]


@compiled(keep=True)
def _votes(indptr, words, counts, unit_ptr, first, last, hashes, most, votes):
    """Add each unit's votes to `votes` (n_words,).

    Returns the sum over units of the vote that a word in all documents of the unit would receive.
    """
    unit_of = np.full(len(hashes), -1, np.int64)
    document_of = np.full(len(hashes), -1, np.int64)
    holding = np.zeros(len(hashes), np.int64)  # number of documents of the unit that hold the word
    weight_total = np.int64(0)
    for u in range(first, last):
        union = np.empty(indptr[unit_ptr[u + 1]] - indptr[unit_ptr[u]], np.int32)
        size = 0
        eligible = 0
        salt = np.uint64(0)
        for n in range(unit_ptr[u], unit_ptr[u + 1]):
            if length_of(counts, indptr[n], indptr[n + 1]) < MINIMUM_LENGTH:
                continue
            eligible += 1
            for e in range(indptr[n], indptr[n + 1]):
                w = words[e]
                salt += _mix(hashes[w] + np.uint64(counts[e]))
                if unit_of[w] != u:
                    unit_of[w] = u
                    holding[w] = 0
                    union[size] = w
                    size += 1
                if document_of[w] != n:
                    document_of[w] = n
                    holding[w] += 1
        picked = _pick(union, size, salt, hashes, most)
        if len(picked) == 0:
            continue
        squares = np.int64(0)
        for w in picked:
            squares += holding[w] * holding[w]
        # votes are holding / eligible, scaled down to norm B where they exceed it; B (1 - 2^-40) absorbs rounding
        full = BOUND * (1 - 2.0**-40) * min(1.0, eligible / np.sqrt(float(squares)))
        for w in picked:
            votes[w] += np.int64(np.floor(full * holding[w] / eligible))
        weight_total += np.int64(np.floor(full))
    return weight_total


def count_votes(counts: UnitCounts, threads: int, hashes: np.ndarray, most: int = MOST_WORDS) -> tuple[np.ndarray, int]:
    """Let each unit vote for at most `most` of its words, each with the share of its documents that contain it.

    `hashes` (n_words,) are the `word_hashes`. A unit's votes are scaled down to norm B = `BOUND` if they exceed it.
    Returns the votes (n_words,) int64, whose l2-sensitivity is B if a unit is added or removed and sqrt(2) B if one is
    replaced, and the sum over units of the vote that a word in all documents would receive, of sensitivity B in both
    cases. Their quotient is a document frequency in which every unit counts once. Both are private.
    """
    if len(hashes) != counts.n_words:  # the store has changed; compiled loops check no bounds
        raise ValueError("hashes of other words than the counts'")
    arrays = tuple(map(read_only, counts.arrays))

    def work(first: int, last: int) -> tuple[np.ndarray, int]:
        votes = np.zeros(counts.n_words, np.int64)
        weight = _votes(*arrays, first, last, read_only(hashes), most, votes)
        return votes, int(weight)

    zero = np.zeros(counts.n_words, np.int64), 0
    votes, weight = add([zero, *run_ranges(work, split(counts.entries_before_unit(), threads))])
    return votes, weight
