"""Thresholds fixed before the data are read: for the selection of words, and for clipping norms."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.stats import norm

from dplda.compute.lattice import BOUND

# Candidate clips: a public geometric grid, four steps an octave, from 2^-12 to 2^24 (docs/privacy.md, section 2.1).
CLIP_GRID = 2.0 ** np.arange(-12, 24.25, 0.25)


@lru_cache(maxsize=16)
def selection_threshold(scale: float, delta: float, most_words: int) -> int:
    """The least lattice value at which a word may be released (T7', with the discrete tail of rule 9).

    A unit alone on at most `most_words` words gives them weights of norm at most B. The chance that one is
    released is largest for one word of weight sqrt(y) B and equal weights on all others (T7'); the least threshold
    at which that chance is at most `delta` for every y is found by bisection. The discrete Gaussian of parameter
    `scale` has P(Z >= z) <= 1 - Phi((z - 1) / scale), hence the extra step. It is at least
    2 B, where T7' holds.
    """
    low, high = 0.0, 2.0 * BOUND + 40.0 * scale
    while high - low > max(1.0, 1e-9 * high):
        middle = (low + high) / 2
        low, high = (middle, high) if _leak(middle, scale, most_words) > delta else (low, middle)
    return max(math.ceil(high), 2 * BOUND) + 2


def _leak(threshold: float, scale: float, most_words: int) -> float:
    """Upper bound over y of the chance that a unit alone on its words has one released (T7').

    On each cell [y, y'] of a grid both terms are replaced by their larger ends.
    """
    y = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 2000)])
    one = norm.logcdf((threshold - BOUND * np.sqrt(y[1:])) / scale)
    others = norm.logcdf((threshold - BOUND * np.sqrt((1 - y[:-1]) / max(most_words - 1, 1))) / scale)
    return float(-np.expm1((one + (most_words - 1) * others).min()))


def clip_bins(norms: np.ndarray) -> np.ndarray:
    """Lattice histogram of unit norms over `CLIP_GRID`: bin j counts units with norm in (grid[j-1], grid[j]].

    The last bin takes everything above the grid. Units without an eligible document (norm < 0) are nowhere.
    One unit changes one bin by B: l2-sensitivity B, or sqrt(2) B when a unit is replaced.
    """
    eligible = norms[norms >= 0]
    index = np.searchsorted(CLIP_GRID, eligible, side="left")
    return np.bincount(index, minlength=len(CLIP_GRID) + 1).astype(np.int64) * BOUND


def clip_at_quantile(noisy_bins: np.ndarray, quantile: float) -> float:
    """The least grid value below which an estimated share `quantile` of the units lies (post-processing)."""
    below = np.cumsum(noisy_bins[:-1])
    total = max(float(noisy_bins.sum()), 1.0)
    reached = np.flatnonzero(below >= quantile * total)
    return float(CLIP_GRID[reached[0] if len(reached) else -1])
