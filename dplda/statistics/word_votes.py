"""Votes of units for words; each unit's votes depend on that unit alone (docs/privacy.md, section 4.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from dplda.config import MINIMUM_LENGTH
from dplda.numerics.compiled import compiled
from dplda.numerics.lattice import BOUND
from dplda.numerics.threads import add, run_ranges, split
from dplda.splitmix import finalise
from dplda.store.units import UnitCounts

MOST_WORDS = 200  # m: the largest number of words that a unit votes for


def word_hashes(words: Sequence[str]) -> np.ndarray:
    """Public 64-bit hash of each word, uint64, from which the units' random choices are derived."""
    digests = b"".join(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
    return np.frombuffer(digests, np.uint64)


_mix = compiled()(finalise)


@compiled()
def _pick(union, size, salt, hashes, most):
    """At most `most` words of union[:size], those with the smallest priorities; `salt` makes these random per unit."""
    picked = union[:size]
    if size <= most:
        return picked
    priority = np.empty(size, np.uint64)
    for e in range(size):
        priority[e] = _mix(hashes[picked[e]] ^ salt)
    # strictly below the cut: tied words are all left out, so that their order does not matter
    return picked[priority < np.partition(priority, most)[most]]


@compiled()
def _votes(indptr, words, counts, unit_ptr, first, last, hashes, most, votes):
    """Add each unit's votes to `votes` (n_words,); returns the sum over units of the weight of a full vote."""
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
            if counts[indptr[n] : indptr[n + 1]].sum() < MINIMUM_LENGTH:
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
    """Each unit picks at most `most` of its words and votes for each with the share of its documents that hold it.

    `hashes` (n_words,) are the `word_hashes`. A unit's votes are scaled down to norm B if they exceed it. Returns the
    votes (n_words,) int64, whose l2-sensitivity is B, and the sum over units of the vote that a word held by all
    documents receives, also of sensitivity B. Their quotient is a document frequency in which every unit counts once.
    Both are private.
    """

    if len(hashes) != counts.n_words:  # the store has changed; compiled loops check no bounds
        raise ValueError("hashes of other words than the counts'")

    def work(first: int, last: int) -> tuple[np.ndarray, int]:
        votes = np.zeros(counts.n_words, np.int64)
        c = counts
        weight = _votes(c.indptr, c.words, c.counts, c.unit_ptr, first, last, hashes, most, votes)
        return votes, int(weight)

    zero = np.zeros(counts.n_words, np.int64), 0
    votes, weight = add([zero, *run_ranges(work, split(counts.entries_before_unit(), threads))])
    return votes, weight
