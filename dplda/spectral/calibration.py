"""Sensitivity and noise of the private methods on matrices.

Sensitivity of a product A X to a neighbouring matrix A, behind the private power methods.

entry         A and A' are symmetric and differ in one entry and its mirror image, by at most `change`
              (Hardt and Price 2014, Definition 4.1; their Figure 3 counts one of the two)
spectral      the spectral norm of A - A' is at most `change` (Definition 4.4)
row           A = sum of a a' over rows of squared norm at most `change`, of which one is added or removed
replaced-row  one row is replaced by another; a a' - b b' has Frobenius norm sqrt(2), but spectral norm 1

For X with orthonormal columns the l2 sensitivities are attained, and the l1 sensitivity of entries is; the other l1
sensitivities are upper bounds.

Noise for several equal questions: exact Gaussian composition, or the sum of pure epsilons.

Gaussian questions of multipliers z_j are together mu-GDP with mu^2 = sum of 1 / z_j^2, without loss (Dong, Roth and Su
2022), and mu is the exact one for (epsilon, delta) (Balle and Wang 2018). A hundredth of delta is left for the
rounding of whoever adds the events up again.
"""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.stats import norm

from dplda.accounting.accountant import gaussian_budget
from dplda.accounting.events import PURE, Event
from dplda.config import RANGES, check_choice
from dplda.errors import InputError
from dplda.numerics.arrays import Array, namespace

ENTRY, SPECTRAL, ROW, REPLACED_ROW = "entry", "spectral", "row", "replaced-row"
NEIGHBOURS = (ENTRY, SPECTRAL, ROW, REPLACED_ROW)
ROWS = (ROW, REPLACED_ROW)


def l2_sensitivity(X: Array, neighbours: str, *, by_largest_entry: bool = False) -> float:
    """Largest Frobenius norm of (A - A') X over neighbours with change 1, for X (d, p) with orthonormal columns.

    For entries it is the root of the sum of the two largest squared row norms of X; with `by_largest_entry` its bound
    sqrt(2 p) max |X_ij|, as in the paper.
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)
    if neighbours == ENTRY:
        return _largest_rows(X, 2, by_largest_entry)
    p = int(X.shape[1])
    return {SPECTRAL: math.sqrt(p), ROW: 1.0, REPLACED_ROW: math.sqrt(min(p, 2))}[neighbours]


def l1_sensitivity(X: Array, neighbours: str, *, by_largest_entry: bool = False) -> float:
    """Largest sum of absolute entries of (A - A') X over neighbours with change 1, or a bound on it.

    For unit spectral norm it is p sqrt(d), a tenth of what Lemma 4.5 takes; for a row |a|_1 |X'a|_1 <= sqrt(d p); for
    two, sqrt(d p) times the l2 sensitivity.
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)
    d, p = map(int, X.shape)
    if neighbours == ENTRY:
        return _largest_rows(X, 1, by_largest_entry)
    return {SPECTRAL: p * math.sqrt(d), ROW: math.sqrt(d * p), REPLACED_ROW: math.sqrt(min(p, 2) * d * p)}[neighbours]


def _largest_rows(X: Array, order: int, by_largest_entry: bool) -> float:
    """The `order`-norm of the two rows of X that have the largest ones, or the bound by the largest entry."""
    xp = namespace(X)
    entries = xp.abs(X) ** order
    if by_largest_entry:
        two = 2 * X.shape[1] * float(xp.max(entries))
    else:
        two = float(xp.sum(xp.sort(xp.sum(entries, axis=1))[-2:]))
    return float(two ** (1 / order))


@lru_cache(maxsize=64)
def total_mu(epsilon: float, delta: float) -> float:
    """The GDP parameter of (epsilon, delta); `InputError` unless both are in the ranges of a run."""
    RANGES["epsilon"].check("epsilon", epsilon)
    RANGES["delta"].check("delta", delta)
    return gaussian_budget(epsilon, delta)


def gaussian_questions(stage: str, count: int, mu: float) -> Event:
    """`count` equal Gaussian questions that are mu-GDP together."""
    return Event(stage=stage, noise_multiplier=math.sqrt(count) / mu, count=count)


def pure_questions(stage: str, count: int, mu: float) -> Event:
    """`count` equal pure questions that are mu-GDP together: each is dominated by a Gaussian (docs/privacy.md, 4.1)."""
    chance = float(norm.cdf(mu / math.sqrt(count) / 2))
    return Event(stage=stage, mechanism=PURE, epsilon=math.log(chance / (1 - chance)), count=count)


def equal_questions(stage: str, count: int, epsilon: float, delta: float) -> Event:
    """`count` equal questions that meet (epsilon, delta): Gaussian, or with delta 0 pure ones of epsilon / count."""
    if delta != 0:
        return gaussian_questions(stage, count, total_mu(epsilon, delta))
    RANGES["epsilon"].check("epsilon", epsilon)
    return Event(stage=stage, mechanism=PURE, epsilon=epsilon / count, count=count)


def checked_share(name: str, value: float) -> None:
    """`InputError` unless `value` lies in (0, 1)."""
    if not 0 < value < 1:
        raise InputError(f"{name} must be in (0, 1), got {value!r}.")
