"""The integer lattice on which clipped contributions are summed (docs/privacy.md, section 5, rules 1, 11).

A unit's contribution F, clipped to norm C, is rounded once to integers z = round(F / g), g = C / B, over the
union support of all its documents, and the weighted squared norm is verified exactly in integers. Integer
sums do not depend on the order of units, so the sensitivity in lattice units is B with no inflation.
"""

from __future__ import annotations

import numpy as np

from dplda.compute.compiled import compiled

BOUND = 1 << 20  # B: the clip threshold in lattice units
BOUND_SQUARED = BOUND * BOUND

# The clip is applied to (F, MASS_SHARE * C * sum of weights): the extra coordinate sums the clip factors, so that
# total / mass is the self-normalised clipped mean (docs/privacy.md, section 0, N).
MASS_SHARE = 0.125

# Rounding happens once per unit by one compiled path; sums inside a unit may be reassociated but not made unsafe.
FAST = {"reassoc", "contract", "nsz", "arcp"}


@compiled()
def weighted_norm_squared(rows: np.ndarray, n_rows: int, weights: np.ndarray) -> np.int64:
    """Exact sum of weights[j] * z[i, j]^2, or -1 if an entry exceeds B (it could overflow when squared)."""
    total = np.int64(0)
    for i in range(n_rows):
        for j in range(weights.shape[0]):
            z = rows[i, j]
            if z > BOUND or z < -BOUND:
                return np.int64(-1)
            total += weights[j] * z * z
            if total > 4 * BOUND_SQUARED:
                return np.int64(-1)
    return total


@compiled(fastmath=FAST)
def squared_norm(rows: np.ndarray, n_rows: int, weights: np.ndarray) -> float:
    """Floating-point sum of weights[j] * F[i, j]^2."""
    total = 0.0
    for i in range(n_rows):
        for j in range(weights.shape[0]):
            total += weights[j] * rows[i, j] * rows[i, j]
    return total


@compiled(error_model="numpy")
def quantise(rows: np.ndarray, n_rows: int, weights: np.ndarray, mass: float, clip: float, z: np.ndarray) -> np.int64:
    """Clip (F, mass coordinate) to `clip` and round to the lattice into `z`; returns the mass coordinate.

    Returns -1 when the unit must contribute nothing (not finite, or not verifiable within B). `rows` has shape
    (>= n_rows, width) and `z` the same; `weights` (width,) are the integer weights of the columns.
    """
    extra = MASS_SHARE * clip * mass
    norm = np.sqrt(squared_norm(rows, n_rows, weights) + extra * extra)
    if not np.isfinite(norm):
        return np.int64(-1)
    factor = BOUND / max(norm, clip)
    for i in range(n_rows):
        for j in range(weights.shape[0]):
            z[i, j] = np.int64(np.rint(rows[i, j] * factor))
    z_mass = np.int64(np.rint(extra * factor))
    total = weighted_norm_squared(z, n_rows, weights)
    if total >= 0 and total + z_mass * z_mass <= BOUND_SQUARED:
        return z_mass
    if total < 0:
        return np.int64(-1)
    shrink = BOUND / np.sqrt(float(total + z_mass * z_mass)) * (1 - 1e-12)
    for i in range(n_rows):
        for j in range(weights.shape[0]):
            z[i, j] = np.int64(np.trunc(z[i, j] * shrink))
    z_mass = np.int64(np.trunc(z_mass * shrink))
    total = weighted_norm_squared(z, n_rows, weights)
    if total >= 0 and total + z_mass * z_mass <= BOUND_SQUARED:
        return z_mass
    return np.int64(-1)
