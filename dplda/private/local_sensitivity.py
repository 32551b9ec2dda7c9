"""Local sensitivity: bounds on how much one unit can change a decomposition or topics (docs/privacy.md, T4 to T6).

Every argument that depends on the data is a one-sided bound from a private test; the results are monotone in each. M
and B = M3(., ., h), a matrix and not the bound of the lattice, are the moments of `propose_test_release`. H, R and the
topics' columns (r . x_i) x_i are defined in `propose_test_release.SpectralTopics`, T and v_i in
`propose_test_release.PerturbedEigenvectors`. L_H is T6's bound, in Frobenius norm, on how much one unit can change H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dplda.private.statistics.lda_moments import coefficients

KAPPA = 2 / math.sqrt(3)  # T5 (1): the Lipschitz constant of an eigenvalue gap of T(., ., theta)
ROOT2 = math.sqrt(2)


@dataclass(frozen=True)
class StabilityTest:
    """A released `bound` of a private quantity. If there is a threshold `above`, the bound must exceed it to pass."""

    name: str
    bound: float
    above: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the run may continue."""
        return self.above is None or self.bound > self.above

    def __str__(self) -> str:
        needed = "" if self.above is None else f" (needed: more than {self.above:.3g})"
        return f"{self.name} {self.bound:.3g}{needed}"


@dataclass(frozen=True)
class PtrResult:
    """An output that is released only if its tests pass: `value`, or None.

    `std` is the standard deviation of the noise in each entry. `tests` are in the order in which they were made;
    without a value, at least one of them failed. All fields are released.
    """

    value: np.ndarray | None
    std: float
    tests: tuple[StabilityTest, ...]

    @property
    def findings(self) -> str:
        """All tests and their bounds, in one line."""
        return "; ".join(map(str, self.tests))


def decomposition_sensitivity(gap: float, norm: float, change: float) -> float:
    """T5's bound on the change of the columns T(v_i, v_i, .), in Frobenius norm, if T changes by at most `change`.

    `gap` is at most the least eigenvalue gap of T(., ., theta), `norm` at least the operator norm of the (k, k^2)
    unfolding of T. Infinite unless `gap` exceeds `KAPPA` times `change`.
    """
    closing = KAPPA * change / gap if gap > 0 else math.inf
    if closing >= 1:
        return math.inf
    turned = -math.log1p(-closing) / KAPPA
    return (1 - 2 / KAPPA) * change + (2 * norm + 2 * gap / KAPPA) * turned


def moment_changes(alpha0: float, units: float) -> tuple[float, float]:
    """(Delta2, Delta3) of T6, for a corpus of at least `units` eligible units.

    In Frobenius norm, one unit changes M = E2 - a m m', a = alpha0 / (alpha0 + 1), by at most Delta2, and B by at most
    Delta3.
    """
    a, b, c3 = coefficients(alpha0)
    return ROOT2 * (1 + 2 * a) / units, (ROOT2 + abs(b) * (5 * ROOT2 + 1) + c3 * (2 * ROOT2 + 1)) / units


@dataclass(frozen=True, kw_only=True)
class TopicStability:
    """The constants of T6 from bounds of the eigenvalues l_1 >= l_2 >= ... of M and of the norm of B.

    `first` >= l_1, `least` <= l_k <= `most`, `gap` <= l_k - l_(k+1), and `norm` is at least the operator norm of B.
    In Frobenius norm, one unit changes M by at most `change2` and B by at most `change3`.
    """

    first: float
    least: float
    most: float
    gap: float
    norm: float
    change2: float
    change3: float

    @property
    def separated(self) -> bool:
        """Whether l_k and l_k - l_(k+1) are positive in every neighbouring corpus; the other methods assume this."""
        return self._least > 0 and self._gap > 0

    @property
    def gap_change(self) -> float:
        """sqrt(2) L_H: the largest change of an eigenvalue gap of H = R B R, R = M^(-1/2) on the topics' space."""
        root, norm = math.sqrt(self._least), self.norm + self.change3
        turned = max(0.5 / (self._least * root), 1 / (ROOT2 * root * self._gap))
        return ROOT2 * (2 * norm / root * turned * self.change2 + self.change3 / self._least)

    def sensitivity(self, gap: float) -> float:
        """T6's bound on the change of the topics (r . x_i) x_i, in Frobenius norm.

        `gap` is at most the least eigenvalue gap of H. Infinite unless it exceeds `gap_change`.
        """
        least_gap = gap - self.gap_change
        if least_gap <= 0:
            return math.inf
        first, most = math.sqrt(self.first + self.change2), math.sqrt((self.most + self.change2) / 2)
        stretched = max(0.5 / math.sqrt(self._least), most / self._gap)
        return 2 * first * (stretched * self.change2 + first * self.gap_change / ROOT2 / least_gap)

    @property
    def _least(self) -> float:
        return self.least - self.change2

    @property
    def _gap(self) -> float:
        return self.gap - ROOT2 * self.change2
