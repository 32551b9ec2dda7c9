"""Partition selection: the threshold above which a word of documents may be released (docs/privacy.md, T7')."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from dplda.private.statistics.clipping import BOUND


@lru_cache(maxsize=16)
def selection_threshold(scale: float, delta: float, most_words: int) -> int:
    """The least lattice value at which a word may be released (T7', with the discrete tail of rule 9).

    A unit votes for at most `most_words` words that no other unit contains, with weights of norm at most B = `BOUND`.
    The probability that one of these words is released is largest if one word has a share y of the squared norm, thus
    the weight sqrt(y) B, and all others have equal weights (T7'). Bisection finds the least threshold at which this
    probability is at most `delta` for every y in [0, 1]. T7' holds for thresholds of at least 2 B. The discrete
    Gaussian of parameter `scale` has P(Z >= z) <= 1 - Phi((z - 1) / scale), hence the extra step.
    """
    low, high = 0.0, 2.0 * BOUND + 40.0 * scale
    while high - low > max(1.0, 1e-9 * high):
        middle = (low + high) / 2
        low, high = (middle, high) if _leak(middle, scale, most_words) > delta else (low, middle)
    return max(math.ceil(high), 2 * BOUND) + 2


def _leak(threshold: float, scale: float, most_words: int) -> float:
    """An upper bound on the probability that a word that only one unit contains is released (T7').

    The bound holds for every share y in [0, 1] of the unit's squared norm that one word has. A grid divides [0, 1] into
    cells [y, y']. In each cell, the weight of this word is taken at y', since it rises with y. The weight of the other
    words is taken at y, since it falls with y.
    """
    y = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 2000)])
    one = log_ndtr((threshold - BOUND * np.sqrt(y[1:])) / scale)
    others = log_ndtr((threshold - BOUND * np.sqrt((1 - y[:-1]) / max(most_words - 1, 1))) / scale)
    return float(-np.expm1((one + (most_words - 1) * others).min()))
