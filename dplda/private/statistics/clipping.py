"""Clip units, and round them to the integer lattice on which they are summed (docs/privacy.md, section 5, rules 1, 11).

`quantise` clips a unit's contribution F to norm C and rounds it once, over the union support of all the unit's
documents, to integers z = round(F / g). Here g = C / B with B = `BOUND`. The weighted squared norm of z is verified
exactly. Integer sums do not depend on the order of units, so rounding does not increase the sensitivity. In lattice
units the sensitivity is B if a unit is added or removed, and `Statistic.replace_factor` times B if a unit is replaced
(T1).
"""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled

BOUND = 1 << 20  # B: the clip threshold in lattice units
_BOUND_SQUARED = BOUND * BOUND
MARGIN = 8  # a unit is clipped to B minus this many lattice steps, so that rounding rarely raises its norm above B

# The clip is applied to F extended by one coordinate, MASS_SHARE * C. Summed over units, that coordinate gives the sum
# of the clip factors, the mass; total / mass is the self-normalised clipped mean (docs/privacy.md, section 0, N).
MASS_SHARE = 0.125

# Fast-math flags: sums inside a unit may be reassociated, but infinities and nan must keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}


@compiled(fastmath=FAST)
def squared_norm(rows: np.ndarray, n: int, weights: np.ndarray) -> float:
    """Sum of weights[i] * rows[i]^2 over i < n; an empty array of `weights` means that all are 1.

    For integer `rows` and `weights`, results below 2^53 are exact in any order of summation, since float64 holds every
    product and partial sum. Larger sums may be rounded, but never to below 2^53, so that comparing them with B^2 is
    still correct.
    """
    total = 0.0
    if len(weights) == 0:
        for i in range(n):
            total += np.float64(rows[i]) * np.float64(rows[i])
    else:
        for i in range(n):
            total += weights[i] * (np.float64(rows[i]) * np.float64(rows[i]))
    return total


@compiled(error_model="numpy")
def quantise(rows: np.ndarray, n: int, weights: np.ndarray, clip: float, bound: float) -> np.int64:
    """Clip F, extended by its mass coordinate `MASS_SHARE` * `clip`, to norm `clip`; round to the lattice.

    Returns the clipped mass coordinate; the sum of these over units is the divisor of means.

    F is the first `n` entries of `rows` (float32), which are replaced by lattice integers. Its `weights` are integers
    in float64; an empty array means that all are 1. If F is a projection of a larger array, `bound` is an upper bound
    on that array's norm, which replaces the norm of F where it is larger; otherwise `bound` is 0. The privacy guarantee
    does not depend on `bound`. Returns -1 if the unit must contribute nothing, because F is not finite or its norm
    exceeds B after rounding.
    """
    extra = MASS_SHARE * clip
    norm = np.sqrt(np.maximum(squared_norm(rows, n, weights), bound * bound) + extra * extra)  # nan stays nan
    if not np.isfinite(norm):
        return np.int64(-1)
    factor = min(BOUND / clip, (BOUND - MARGIN) / norm)
    _scale(rows, n, np.float32(factor))
    mass = np.rint(extra * factor)
    square = squared_norm(rows, n, weights) + mass * mass
    if not square <= _BOUND_SQUARED:
        shrink = BOUND / np.sqrt(square) * (1 - 1e-6)
        _shrink(rows, n, np.float32(shrink))
        mass = np.trunc(mass * shrink)
        square = squared_norm(rows, n, weights) + mass * mass
    return np.int64(mass) if square <= _BOUND_SQUARED else np.int64(-1)


@compiled()
def _scale(rows: np.ndarray, n: int, factor: float) -> None:
    for i in range(n):
        rows[i] = np.rint(rows[i] * factor)


@compiled()
def _shrink(rows: np.ndarray, n: int, factor: float) -> None:
    for i in range(n):
        rows[i] = np.trunc(rows[i] * factor)
