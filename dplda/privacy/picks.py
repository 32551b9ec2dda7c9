"""Which words a unit votes for, by a rule that looks at that unit alone (docs/privacy.md, section 4.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numba as nb
import numpy as np

from dplda.compute.lattice import BOUND
from dplda.compute.threads import run_ranges, split, thread_count
from dplda.corpus.units import UnitCounts
from dplda.settings import MINIMUM_LENGTH

MOST_WORDS = 200  # m: the most words a unit may pick


def word_hashes(words: Sequence[str]) -> np.ndarray:
    """Public 64-bit hash of each word, uint64; the unit's coins are drawn from these."""
    digests = b"".join(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
    return np.frombuffer(digests, np.uint64)


@nb.njit(cache=True, nogil=True)
def _mix(x: np.uint64) -> np.uint64:
    """Finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@nb.njit(cache=True, nogil=True)
def _votes(indptr, words, counts, unit_ptr, first, last, hashes, most, bound, votes):
    """Add each unit's votes to `votes` (n_words,) and return (sum of vote weights, units that voted)."""
    seen = np.full(len(hashes), -1, np.int64)
    weight_total = np.int64(0)
    voters = np.int64(0)
    for u in range(first, last):
        entries = indptr[unit_ptr[u + 1]] - indptr[unit_ptr[u]]
        union = np.empty(entries, np.int32)
        size = 0
        salt = np.uint64(0)
        for n in range(unit_ptr[u], unit_ptr[u + 1]):
            if counts[indptr[n] : indptr[n + 1]].sum() < MINIMUM_LENGTH:
                continue
            for e in range(indptr[n], indptr[n + 1]):
                salt += _mix(hashes[words[e]] + np.uint64(counts[e]))
                if seen[words[e]] != u:
                    seen[words[e]] = u
                    union[size] = words[e]
                    size += 1
        if size == 0:
            continue
        picked = union[:size]
        if size > most:
            priority = np.empty(size, np.uint64)
            for e in range(size):
                priority[e] = _mix(hashes[union[e]] ^ salt)
            # strictly below the cut: words whose priorities tie are all left out, whatever their order
            cut = np.sort(priority)[most]
            picked = picked[priority < cut]
        if len(picked) == 0:
            continue
        weight = np.int64(np.floor(bound / np.sqrt(len(picked))))
        for w in picked:
            votes[w] += weight
        weight_total += weight
        voters += 1
    return weight_total, voters


def count_votes(counts: UnitCounts, hashes: np.ndarray, most: int = MOST_WORDS) -> tuple[np.ndarray, int]:
    """Each eligible unit picks at most `most` of its words and adds floor(B / sqrt(picked)) to each.

    Returns the votes (n_words,) int64, whose l2-sensitivity is B, and the sum over units of one vote's weight,
    whose sensitivity is B as well. Both are private.
    """

    def work(first: int, last: int) -> tuple[np.ndarray, int]:
        votes = np.zeros(counts.n_words, np.int64)
        weight, _ = _votes(
            counts.indptr,
            counts.words,
            counts.counts,
            counts.unit_ptr,
            first,
            last,
            hashes,
            most,
            BOUND,
            votes,
        )
        return votes, int(weight)

    parts = run_ranges(work, split(counts.entries_before_unit(), thread_count()))
    votes = np.zeros(counts.n_words, np.int64)
    for part, _ in parts:
        votes += part
    return votes, sum(weight for _, weight in parts)
