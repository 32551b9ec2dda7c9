"""Candidate clipping norms, and the histogram of unit norms that chooses one (docs/privacy.md, section 2.1)."""

from __future__ import annotations

import numpy as np

from dplda.private.statistics.clipping import BOUND

# Candidate clipping norms: a public geometric grid from 2^-12 to 2^24 with ratio 2^(1/4).
CLIP_GRID = 2.0 ** np.arange(-12, 24.25, 0.25)
_TAIL_DEVIATIONS = 2.0  # standard deviations of noise that are allowed for in the count of norms above a candidate


def clip_bins(norms: np.ndarray) -> np.ndarray:
    """Histogram of unit norms over `CLIP_GRID`, in which each unit counts as B (`clipping.BOUND`).

    Bin j counts units with norm in (grid[j-1], grid[j]], and the last bin all norms above the grid. Units without an
    eligible document (norm < 0) are in no bin. Adding or removing a unit changes one bin by B. The l2-sensitivity is
    therefore B, or sqrt(2) B when a unit is replaced.
    """
    eligible = norms[norms >= 0]
    index = np.searchsorted(CLIP_GRID, eligible, side="left")
    return np.bincount(index, minlength=len(CLIP_GRID) + 1).astype(np.int64) * BOUND


def clip_at_quantile(noisy_bins: np.ndarray, quantile: float) -> float:
    """The least candidate clip that bounds an estimated share `quantile` of the norms, else the largest candidate.

    Post-processing of the released `noisy_bins`.
    """
    below = np.cumsum(noisy_bins[:-1])
    total = max(float(noisy_bins.sum()), 1.0)
    reached = np.flatnonzero(below >= quantile * total)
    return float(CLIP_GRID[reached[0] if len(reached) else -1])


def clip_in_range(noisy_bins: np.ndarray, std: float, quantile: float, least: float, most: float) -> float:
    """The least candidate clip that bounds a share `quantile` of the nonzero norms, else `most`.

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
