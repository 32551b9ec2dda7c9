"""Sensitivities of products A X under several neighbouring relations, and events that meet a privacy budget.

`neighbours` says when two symmetric matrices A and A' are neighbours:

entry         They differ in one entry and its mirror image, each by at most `change` (Hardt and Price 2014, Definition
              4.1; their Figure 3 counts only one of the two entries).
spectral      The spectral norm of A - A' is at most `change` (Definition 4.4).
row           A is the sum of a a' over rows a of squared norm at most `change`, and one row is added or removed.
replaced-row  As row, but one row is replaced by another. If a and b are orthogonal unit vectors, a a' - b b' has
              Frobenius norm sqrt(2) and spectral norm 1.

X has orthonormal columns. The l2 sensitivities of A X and the l1 sensitivity for entries are exact; the other l1
sensitivities are upper bounds.

Gaussian queries with noise multipliers z_j compose exactly to mu-GDP with mu^2 = sum of 1 / z_j^2 (Dong, Roth and Su
2022). The conversion between mu and (epsilon, delta) is exact (Balle and Wang 2018). A hundredth of delta is reserved
for the rounding of accountants that compose the events again.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import ndtr

from dplda.base.arrays import Array, namespace
from dplda.base.config import RANGES, check_choice
from dplda.base.errors import InputError
from dplda.budget.accountant import gaussian_budget
from dplda.budget.events import PURE, Event

ENTRY, SPECTRAL, ROW, REPLACED_ROW = "entry", "spectral", "row", "replaced-row"
NEIGHBOURS = (ENTRY, SPECTRAL, ROW, REPLACED_ROW)
ROWS = (ROW, REPLACED_ROW)


def l2_sensitivity(X: Array, neighbours: str, *, by_largest_entry: bool = False) -> float:
    """Return the largest Frobenius norm of (A - A') X over neighbours with change 1, for orthonormal X (d, p).

    For entries it is the square root of the sum of the two largest squared row norms of X. With `by_largest_entry` it
    is replaced by the paper's upper bound sqrt(2 p) max |X_ij|.
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)
    if neighbours == ENTRY:
        return _largest_rows(X, 2, by_largest_entry)
    p = int(X.shape[1])
    return {SPECTRAL: math.sqrt(p), ROW: 1.0, REPLACED_ROW: math.sqrt(min(p, 2))}[neighbours]


def l1_sensitivity(X: Array, neighbours: str, *, by_largest_entry: bool = False) -> float:
    """Return the largest sum of absolute entries of (A - A') X over neighbours with change 1, or a bound on it.

    The bound for the spectral relation is p sqrt(d), a tenth of the bound in Lemma 4.5. For one row it is sqrt(d p),
    because |a|_1 |X'a|_1 <= sqrt(d p). For a replaced row it is sqrt(d p) times the l2 sensitivity.
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)
    d, p = map(int, X.shape)
    if neighbours == ENTRY:
        return _largest_rows(X, 1, by_largest_entry)
    return {SPECTRAL: p * math.sqrt(d), ROW: math.sqrt(d * p), REPLACED_ROW: math.sqrt(min(p, 2) * d * p)}[neighbours]


def _largest_rows(X: Array, order: int, by_largest_entry: bool) -> float:
    """Return the `order`-norm of the two largest rows of X by that norm, or its bound by the largest entry."""
    xp = namespace(X)
    entries = xp.abs(X) ** order
    if by_largest_entry:
        two = 2 * X.shape[1] * float(xp.max(entries))
    else:
        two = float(xp.sum(xp.sort(xp.sum(entries, axis=1))[-2:]))
    return float(two ** (1 / order))


@lru_cache(maxsize=64)
def total_mu(epsilon: float, delta: float) -> float:
    """Return the GDP parameter mu of (epsilon, delta). Raises `InputError` unless both are in the ranges of a run."""
    return gaussian_budget(RANGES["epsilon"].check("epsilon", epsilon), RANGES["delta"].check("delta", delta))


def gaussian_event(stage: str, count: int, mu: float) -> Event:
    """Return the event of `count` equal Gaussian queries that together are mu-GDP."""
    return Event(stage=stage, noise_multiplier=math.sqrt(count) / mu, count=count)


def pure_event(stage: str, count: int, mu: float) -> Event:
    """Return the event of `count` equal pure queries that together are mu-GDP (docs/privacy.md, section 4.1)."""
    chance = float(ndtr(mu / math.sqrt(count) / 2))
    return Event(stage=stage, mechanism=PURE, epsilon=math.log(chance / (1 - chance)), count=count)


def calibrated_event(stage: str, count: int, epsilon: float, delta: float) -> Event:
    """Return the event of `count` equal queries that meet (epsilon, delta): Gaussian, or pure if delta is 0."""
    if delta != 0:
        return gaussian_event(stage, count, total_mu(epsilon, delta))
    epsilon = RANGES["epsilon"].check("epsilon", epsilon)
    return Event(stage=stage, mechanism=PURE, epsilon=epsilon / count, count=count)


def require_change(change: float) -> None:
    """Raise `InputError` unless `change`, the largest difference of neighbours, is positive and finite."""
    if not 0 < change < math.inf:
        raise InputError(f"change must be positive and finite, got {change!r}.")


def require_shares(**shares: float) -> None:
    """Raise `InputError` unless every one of the named `shares` lies in (0, 1)."""
    for name, share in shares.items():
        if not 0 < share < 1:
            raise InputError(f"{name} must be in (0, 1), got {share!r}.")
