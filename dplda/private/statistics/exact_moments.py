"""Exact moments over the words in use, without clipping or word scales, for the placement ``config4``.

Each document contributes its m, its E2 and its E3 contracted in one mode with the public vector h (n_words,), written
E3(., ., h). The formulas are in docs/privacy.md, section 2, with s = 1; h is not the s * c of that section.
Contributions are divided by the number of the unit's eligible documents, rounded down to multiples of 2^-32 and summed
in integers. Rounding down keeps a unit's arrays nonnegative with entries that sum to at most 1, as T6 requires. Integer
sums depend neither on order nor on threads. They do not overflow below 2^31 units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dplda.base.compiled import compiled
from dplda.base.config import MINIMUM_LENGTH
from dplda.base.threads import run_ranges, split, thread_count
from dplda.private.statistics.lda_moments import coefficients
from dplda.private.statistics.unit_sums import length_of, read_only

_STEPS = 2.0**32
_SHARE_STEPS = _STEPS * (1 - 2.0**-40)  # 2^32 less a margin: rounding errors never raise an entry above its value


@dataclass(frozen=True, repr=False)  # no repr: a traceback that prints variables cannot show private values
class ExactMoments:
    """Exact means over the eligible `units`: `m` (d,), `E2` and `E3h` = E3(., ., h), (d, d); zeros without units."""

    units: int
    m: np.ndarray
    E2: np.ndarray
    E3h: np.ndarray

    def corrected(self, alpha0: float, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (M, B): LDA's second moment, and the third contracted with h (d,), both (d, d) and symmetric."""
        a, b, c3 = coefficients(alpha0)
        mm, q, mh = np.outer(self.m, self.m), np.outer(self.E2 @ h, self.m), float(self.m @ h)
        return self.E2 - a * mm, self.E3h + b * (mh * self.E2 + q + q.T) + c3 * mh * mm


def exact_moments(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, unit_ptr: np.ndarray, h: np.ndarray
) -> ExactMoments:
    """Return the exact means over units in the arrays of `dplda.private.store.units.UnitCounts`.

    The third moment is contracted with the public `h` (n_words,), entries in [0, 1]. Takes 16 d^2 bytes, and as much
    again for each core.
    """
    d = len(h)
    arrays = tuple(map(read_only, (indptr, words, counts, unit_ptr)))

    def work(first: int, last: int) -> tuple[int, list[np.ndarray]]:
        sums = [np.zeros(d, np.int64), np.zeros((d, d), np.int64), np.zeros((d, d), np.int64)]
        return int(_add(*arrays, first, last, read_only(h), *sums)), sums

    units, (m, E2, E3h) = work(0, 0)
    for n_eligible, part in run_ranges(work, split(indptr[unit_ptr], thread_count())):
        units += n_eligible
        for total, sums in zip((m, E2, E3h), part, strict=True):
            total += sums
    scale = 1 / (_STEPS * max(units, 1))
    return ExactMoments(units, m * scale, _mirror(E2) * scale, _mirror(E3h) * scale)


def _mirror(upper: np.ndarray) -> np.ndarray:
    return np.asarray(upper + np.triu(upper, 1).T)


@compiled(keep=True)
def _add(indptr, words, counts, unit_ptr, first, last, h, m, E2, E3h):
    """Add the units first..last-1 to m and to the upper triangles of E2 and E3h, all int64.

    Returns the number of eligible units.
    """
    units = 0
    for u in range(first, last):
        eligible = 0
        for n in range(unit_ptr[u], unit_ptr[u + 1]):
            eligible += length_of(counts, indptr[n], indptr[n + 1]) >= MINIMUM_LENGTH
        units += eligible > 0
        for n in range(unit_ptr[u], unit_ptr[u + 1]):
            length = float(length_of(counts, indptr[n], indptr[n + 1]))
            if length < MINIMUM_LENGTH or counts[indptr[n] : indptr[n + 1]].min() < 0:
                continue
            share = _SHARE_STEPS / eligible
            along = 0.0
            for e in range(indptr[n], indptr[n + 1]):
                along += counts[e] * h[words[e]]
            for e in range(indptr[n], indptr[n + 1]):
                i, c = words[e], counts[e] / length
                m[i] += np.int64(share * c)
                for f in range(e, indptr[n + 1]):
                    j = words[f]
                    pair = share * c * ((counts[f] - (e == f)) / (length - 1.0))
                    third = pair * (max(along - h[i] - h[j], 0.0) / (length - 2.0))
                    E2[min(i, j), max(i, j)] += np.int64(pair)
                    E3h[min(i, j), max(i, j)] += np.int64(third)
    return units
