"""The dense second moment of a unit, and its sum over units, by pairs of words.

A unit's numbers are those of its words' pairs b >= a, ordered by (b, a), words in the order in which they first occur;
nothing of the size of the vocabulary squared is made but the sum. The sum is packed by circular offset, see
`dplda.moments.contributions.second_moment`. The same rules as for `dplda.moments.kernels` hold.
"""

from __future__ import annotations

import numpy as np

from dplda.compute.compiled import compiled
from dplda.compute.lattice import FAST
from dplda.compute.loops import clear


@compiled()
def triangle(n):
    """Pairs b >= a of `n` words."""
    return n * (n + 1) // 2


@compiled()
def pair_weights(n):
    """The integer weights of the pairs of `n` words, 1 on the diagonal and 2 elsewhere; of fewer, the first of them."""
    weights = np.full(triangle(n), 2.0)
    for b in range(n):
        weights[triangle(b) + b] = 1.0
    return weights


@compiled(fastmath=FAST, error_model="numpy")
def second(words, counts, first, last, length, scale, shares, out):
    """(h h' - diag(s^2 c)) / (l (l - 1)) over the pairs of entries; `shares` is room for a number an entry."""
    to, begin = np.uint64(0), np.uint64(first)
    for b in range(np.uint64(last - first)):
        s, c = scale[np.uint64(words[begin + b])], counts[begin + b]
        h = s * np.float32(c / (length - 1.0))
        for a in range(b):
            out[to + a] = h * shares[a]
        out[to + b] = s * s * np.float32(c / length * ((c - 1.0) / (length - 1.0)))  # above zero for any c and s
        shares[b] = s * np.float32(c / length)
        to += b + np.uint64(1)


@compiled()
def merge_pairs(words, first, last, share, one, row_of, slots, used, rows):
    """Add `share` times the pairs `one` of a document to the unit's; returns the number of the unit's words."""
    for e in range(first, last):
        if row_of[words[e]] < 0:
            row_of[words[e]] = used
            slots[used] = words[e]
            clear(rows, triangle(used), used + 1)
            used += 1
    at = 0
    for e in range(first, last):
        b = row_of[words[e]]
        for f in range(first, e + 1):
            a = row_of[words[f]]
            times = 2.0 if a == b and e != f else 1.0  # both orders of two entries of one word
            rows[triangle(max(a, b)) + min(a, b)] += np.float32(times * share) * one[at]
            at += 1
    return used


@compiled()
def add_pairs(rows, slots, used, n_words, sums):
    """Add the integers of each pair of words to `sums`, flat (n_words, n_words // 2 + 1).

    A word's row receives all its pairs one after the other, since rows are far apart in memory.
    """
    width = n_words // 2 + 1
    for a in range(np.uint64(used)):
        v, at = np.int64(slots[a]), np.uint64(triangle(np.int64(a)))
        for b in range(a):
            offset, own = _offset(v, np.int64(slots[b]), n_words)
            if own:
                sums[np.uint64(v * width + offset)] += np.int64(rows[at + b])
        at += a
        for b in range(a, np.uint64(used)):
            offset, own = _offset(v, np.int64(slots[b]), n_words)
            if own:
                sums[np.uint64(v * width + offset)] += np.int64(rows[at])
            at += b + np.uint64(1)


@compiled()
def _offset(v, w, n_words):
    """From word `v` on to `w`, around the end; and whether their pair is in the row of `v`, not of `w`."""
    offset = w - v + (n_words if w < v else 0)
    return offset, 2 * offset - (v < w) < n_words
