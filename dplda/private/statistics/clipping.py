"""Clip units, and round them to the integer lattice on which they are summed (docs/privacy.md, section 5, rules 1, 11).

`quantise` clips a unit's contribution F to norm C and rounds it once, over the union support of all the unit's
documents, to integers z = round(F / g). Here g = C / B with B = `BOUND`. The weighted squared norm of z is verified
exactly. Integer sums do not depend on the order of units, so rounding does not increase the sensitivity. In lattice
units the sensitivity is B if a unit is added or removed, and `Statistic.replace_factor` times B if a unit is replaced
(T1). The clip C is public, or a candidate of `CLIP_GRID` that the noisy histogram of unit norms chooses (section 2.1).

At the end are the loops over float32 slices of which the kernels of all statistics consist; the compiler vectorises
them. They take whole arrays and offsets, since making a view costs more than a short loop. Offsets are unsigned, since
numba checks signed ones for negative indices. Slices are fastest if they begin on a cache line and their length is a
multiple of `LANES`.
"""

from __future__ import annotations

import numpy as np

from dplda.base.compiled import compiled

BOUND = 1 << 20  # B: the clip threshold in lattice units
MOST_WORDS = 200  # m: the largest number of words that a unit votes for; votes of norm above B are scaled down to it
_BOUND_SQUARED = BOUND * BOUND
MARGIN = 8  # a unit is clipped to B minus this many lattice steps, so that rounding rarely raises its norm above B

# The clip is applied to F extended by one coordinate, MASS_SHARE * C. Summed over units, that coordinate gives the sum
# of the clip factors, the mass; total / mass is the self-normalised clipped mean (docs/privacy.md, section 0, N).
MASS_SHARE = 0.125

# Fast-math flags: sums inside a unit may be reassociated, but infinities and nan must keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}


@compiled(fastmath=FAST)
def squared_norm(rows: np.ndarray, n: int, weights: np.ndarray) -> float:
    """Return the sum of weights[i] * rows[i]^2 over i < n; an empty array of `weights` means that all are 1.

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


# Candidate clipping norms: a public geometric grid from 2^-12 to 2^24 with ratio 2^(1/4).
CLIP_GRID = 2.0 ** np.arange(-12, 24.25, 0.25)
_TAIL_DEVIATIONS = 2.0  # standard deviations of noise that are allowed for in the count of norms above a candidate


def clip_bins(norms: np.ndarray) -> np.ndarray:
    """Return the histogram of unit norms over `CLIP_GRID`, in which each unit counts as B (`clipping.BOUND`).

    Bin j counts units with norm in (grid[j-1], grid[j]], and the last bin all norms above the grid. Units without an
    eligible document (norm < 0) are in no bin. Adding or removing a unit changes one bin by B. The l2-sensitivity is
    therefore B, or sqrt(2) B when a unit is replaced.
    """
    eligible = norms[norms >= 0]
    index = np.searchsorted(CLIP_GRID, eligible, side="left")
    return np.bincount(index, minlength=len(CLIP_GRID) + 1).astype(np.int64) * BOUND


def clip_at_quantile(noisy_bins: np.ndarray, quantile: float) -> float:
    """Return the least candidate clip that bounds an estimated share `quantile` of the norms, else the largest one.

    Post-processing of the released `noisy_bins`.
    """
    below = np.cumsum(noisy_bins[:-1])
    total = max(float(noisy_bins.sum()), 1.0)
    reached = np.flatnonzero(below >= quantile * total)
    return float(CLIP_GRID[reached[0] if len(reached) else -1])


def clip_in_range(noisy_bins: np.ndarray, std: float, quantile: float, least: float, most: float) -> float:
    """Return the least candidate clip that bounds a share `quantile` of the nonzero norms, else `most`.

    Norms are 0 or in [`least`, `most`], both public. `std` is the standard deviation of the noise of one bin. The noisy
    count of norms above a candidate may exceed a share 1 - `quantile` by two standard deviations of its noise, so that
    noise alone does not raise the clip.
    """
    candidates = np.flatnonzero((least <= CLIP_GRID) & (most > CLIP_GRID))
    inside = noisy_bins[candidates[0] : candidates[-1] + 2]  # the last bin holds norms up to `most`
    tails = np.cumsum(inside[::-1])[::-1]  # of norms above the candidate before each bin
    noise = _TAIL_DEVIATIONS * std * np.sqrt(np.arange(len(tails), 0, -1))
    few = tails[1:] <= (1 - quantile) * max(float(tails[0]), 0.0) + noise[1:]
    reached = np.flatnonzero(few)
    return float(CLIP_GRID[candidates[reached[0]]]) if len(reached) else float(most)


LANES = 16  # how many float32 numbers a cache line holds, and the widest vector register
UNROLLED = 4 * LANES  # entries that one iteration of an unrolled loop handles; a remainder costs one or two iterations


def round_up(n: int, step: int = LANES) -> int:
    """Return the least multiple of `step` that is at least `n`."""
    return (n + step - 1) // step * step


padded = compiled()(round_up)  # for compiled code; Python need not wait for its compilation


@compiled()
def aligned(n: int) -> np.ndarray:
    """Return zeros, float32 (n,), aligned to a cache line."""
    room = np.zeros(n + LANES, np.float32)
    skip = (-(room.ctypes.data >> 2)) & (LANES - 1)
    return room[skip : skip + n]


@compiled()
def clear(target, to, n):
    """target[to : to + n] = 0."""
    to = np.uint64(to)
    for i in range(np.uint64(n)):
        target[to + i] = 0.0


@compiled(fastmath=FAST)
def add_scaled(factor, source, at, target, to, n):
    """target[to : to + n] += factor * source[at : at + n]."""
    at, to = np.uint64(at), np.uint64(to)
    for i in range(np.uint64(n)):
        target[to + i] += factor * source[at + i]


@compiled(fastmath=FAST)
def add_four(factors, starts, source, target, to, n):
    """target[to : to + n] += the sum of factor * source[start : start + n] over four `factors` and `starts`."""
    a, b, c, d = factors
    at_a, at_b, at_c, at_d = np.uint64(starts[0]), np.uint64(starts[1]), np.uint64(starts[2]), np.uint64(starts[3])
    to = np.uint64(to)
    for i in range(np.uint64(n)):
        target[to + i] += a * source[at_a + i] + b * source[at_b + i] + c * source[at_c + i] + d * source[at_d + i]


@compiled(fastmath=FAST)
def multiply_pairs(row, at, k, pairs, to):
    """Write the products x_a x_b of x = row[at : at + k], a <= b, ordered by (b, a), into `pairs` from `to` on.

    `row` is read up to padded(k). The 2 `LANES` numbers after the k (k + 1) / 2 products become zero.
    """
    at, first = np.uint64(at), np.uint64(to)
    for b in range(np.uint64(k)):
        x = row[at + b]
        for a in range((b | np.uint64(LANES - 1)) + np.uint64(1)):  # the next b overwrites the excess
            pairs[first + a] = x * row[at + a]
        first += b + np.uint64(1)
    for i in range(np.uint64(2 * LANES)):
        pairs[first + i] = 0.0


@compiled(fastmath=FAST, inline="always")
def weigh_rows(weights, table, n, width, sums, to, least):
    """sums[to + i] = least + sum over z < n of weights[z] * table[z, i], i < width.

    `table` holds rows of `width`, preferably a multiple of `UNROLLED`; `n` is a multiple of four. Inlined in numba's
    IR, since a call that writes to arrays would count references to them.
    """
    to, width, z = np.uint64(to), np.uint64(width), np.uint64(0)
    for i in range(width):
        sums[to + i] = least
    for _ in range(n >> 2):
        at_a = z * width
        at_b, at_c, at_d = at_a + width, at_a + np.uint64(2) * width, at_a + np.uint64(3) * width
        a, b, c, d = weights[z], weights[z + np.uint64(1)], weights[z + np.uint64(2)], weights[z + np.uint64(3)]
        for i in range(width):
            sums[to + i] += a * table[at_a + i] + b * table[at_b + i] + c * table[at_c + i] + d * table[at_d + i]
        z += np.uint64(4)


@compiled(fastmath=FAST, inline="always")
def multiply_rows(table, n, width, factors, at, products):
    """products[z] = sum over i < width of table[z, i] * factors[at + i], z < n; `table` and `n` as in `weigh_rows`."""
    at, width, z = np.uint64(at), np.uint64(width), np.uint64(0)
    for _ in range(n >> 2):
        at_a = z * width
        at_b, at_c, at_d = at_a + width, at_a + np.uint64(2) * width, at_a + np.uint64(3) * width
        a = b = c = d = np.float32(0.0)
        for i in range(width):
            factor = factors[at + i]
            a += factor * table[at_a + i]
            b += factor * table[at_b + i]
            c += factor * table[at_c + i]
            d += factor * table[at_d + i]
        products[z], products[z + np.uint64(1)], products[z + np.uint64(2)], products[z + np.uint64(3)] = a, b, c, d
        z += np.uint64(4)
