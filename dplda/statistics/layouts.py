"""Where the numbers of a unit lie while it is computed, and where they go in the sum over units.

A unit's numbers are formed over the union of its documents' words, of which `slots` names each in the order of first
occurrence, and `row_of` (n_words,) says which one a word is, -1 where it is none of them. Nothing of the size of the
vocabulary is made for a unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dplda.compute.compiled import compiled
from dplda.compute.loops import add_scaled, clear


@dataclass(frozen=True, repr=False)
class Layout:
    """How a unit's numbers are kept; all but `one_row` are compiled.

    `size(n, row)` is how many numbers `n` words take, in rows of `row`. `merge(words, first, last, share, one, row,
    row_of, slots, used, rows)` adds `share` times the numbers `one` of a document to the unit's, and returns how many
    words the unit has then. `add(rows, slots, used, row, n_words, sums)` adds a unit's integers to the flat `sums`.
    `weights(most)` are the integer weights of the numbers of a unit of `most` words; none stand for ones.
    """

    one_row: bool
    size: Any
    merge: Any
    add: Any
    weights: Any


@compiled()
def no_weights(most):
    """All ones."""
    return np.zeros(0)


@compiled()
def _rows_size(n, row):
    return n * row


@compiled()
def _merge_rows(words, first, last, share, one, row, row_of, slots, used, rows):
    for e in range(first, last):
        w = words[e]
        if row_of[w] < 0:
            row_of[w] = used
            slots[used] = w
            clear(rows, used * row, row)
            used += 1
        add_scaled(np.float32(share), one, (e - first) * row, rows, row_of[w] * row, row)
    return used


@compiled()
def _add_rows(rows, slots, used, row, n_words, sums):
    if row == 1:  # no loop within a row
        for i in range(used):
            sums[np.uint64(slots[i])] += np.int64(rows[i])
        return
    for i in range(used):
        at, to = np.uint64(i * row), np.uint64(slots[i] * row)
        for a in range(np.uint64(row)):
            sums[to + a] += np.int64(rows[at + a])


@compiled()
def _one_size(n, row):
    return row


@compiled()
def _merge_one(words, first, last, share, one, row, row_of, slots, used, rows):
    if used == 0:
        clear(rows, 0, row)
    add_scaled(np.float32(share), one, 0, rows, 0, row)
    return 1


@compiled()
def _add_one(rows, slots, used, row, n_words, sums):
    for a in range(np.uint64(row)):
        sums[a] += np.int64(rows[a])


ROW_PER_WORD = Layout(False, _rows_size, _merge_rows, _add_rows, no_weights)
ONE_ROW = Layout(True, _one_size, _merge_one, _add_one, no_weights)
