"""Lower bounds on epsilon from repeated runs on two neighbouring corpora.

A test compares the log likelihood ratio of a run's outputs (its evidence) with a threshold, to decide which corpus the
run had. The threshold is fixed beforehand, or chosen on the first runs; then the test's errors are counted on the other
runs, so that the limits of Clopper and Pearson (1934) hold. No test of an (epsilon, delta)-private mechanism has
(1 - delta - false negatives) / false positives above e^epsilon, nor with the two errors exchanged (Kairouz, Oh and
Viswanath 2015, Theorem 2.1). No test of a mu-GDP mechanism has Phi^-1(1 - false positives) - Phi^-1(false negatives)
above mu (Dong, Roth and Su 2022; for audits Nasr et al. 2023, section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, norm

from dplda.budget.accountant import gaussian_epsilon

_MIDDLE = 0.0  # threshold on the log likelihood ratio at which both error rates are equal
_TUNING = 0.25  # share of the runs that are used to choose the threshold
_CAUTION = 0.1  # thresholds are compared at this share of `level`: in few runs, few errors may be chance
_CANDIDATES = 401  # number of candidate thresholds, at equally spaced quantiles
_Bound = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (false positive rates, false negative rates) -> lower bounds


@dataclass(frozen=True)
class Claim:
    """A mechanism's claim: (`epsilon`, `delta`)-DP, and `mu`-GDP except with probability `failure`."""

    epsilon: float
    delta: float
    mu: float
    failure: float = 0.0


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds shown by runs. `epsilon` and `mu` each fail with probability at most half a `level`."""

    epsilon: float
    """At the claim's delta; uses only the definition of (epsilon, delta)-privacy."""
    mu: float
    gaussian: float
    """The epsilon of a `mu`-GDP mechanism at the claim's delta minus its failure probability.

    It is a lower bound if the mechanism is Gaussian.
    """

    def refutes(self, claim: Claim) -> bool:
        """Whether a bound exceeds `claim`."""
        return self.epsilon > claim.epsilon or self.mu > claim.mu


def upper_limit(errors: np.ndarray, runs: int, level: float) -> np.ndarray:
    """Return the upper confidence limit of an error rate after `errors` in `runs`; fails with probability `level`."""
    errors = np.asarray(errors)
    return np.asarray(np.where(errors < runs, beta.ppf(1 - level, errors + 1, np.maximum(runs - errors, 1)), 1.0))


def epsilon_shown(positives: np.ndarray, negatives: np.ndarray, delta: float) -> np.ndarray:
    """Return the least epsilon at `delta` that allows these rates of false `positives` and `negatives`; at least 0."""
    with np.errstate(divide="ignore"):
        forward = np.log(np.maximum(1 - delta - negatives, 0)) - np.log(positives)
        backward = np.log(np.maximum(1 - delta - positives, 0)) - np.log(negatives)
    return np.asarray(np.maximum(np.maximum(forward, backward), 0.0))


def mu_shown(positives: np.ndarray, negatives: np.ndarray, failure: float) -> np.ndarray:
    """Return the least mu at which a GDP mechanism, up to `failure`, can have these error rates; at least 0."""
    first, second = (np.minimum(rate + failure, 1.0) for rate in (positives, negatives))
    with np.errstate(invalid="ignore"):
        shown = norm.isf(first) - norm.ppf(second)
    return np.asarray(np.nan_to_num(np.maximum(shown, 0.0), nan=0.0))


def _lower_bound(less: np.ndarray, more: np.ndarray, shown: _Bound, level: float) -> float:
    """Compute the lower bound from one threshold test of the evidence; fails with probability at most `level`.

    `less` and `more`, (runs,) each, are the log likelihood ratios of runs on the two corpora; `shown` maps limits of
    false positives and false negatives to the bound. A test decides for `more` if the ratio exceeds its threshold. The
    threshold with the largest bound on the first runs is applied to the others.
    """
    first, second = int(_TUNING * len(less)), int(_TUNING * len(more))
    tuning = np.concatenate([less[:first], more[:second]])
    thresholds = np.unique(np.quantile(tuning, np.linspace(0, 1, _CANDIDATES), method="lower"))
    best = np.argmax(shown(*_limits(less[:first], more[:second], thresholds, _CAUTION * level)))
    return float(shown(*_limits(less[first:], more[second:], thresholds[[best]], level))[0])


def _limits(less: np.ndarray, more: np.ndarray, thresholds: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return upper limits of both error rates at each threshold. Each fails with probability at most `level` / 2."""
    positives = len(less) - np.searchsorted(np.sort(less), thresholds, side="right")
    negatives = np.searchsorted(np.sort(more), thresholds, side="right")
    return upper_limit(positives, len(less), level / 2), upper_limit(negatives, len(more), level / 2)


def lower_bounds(less: np.ndarray, more: np.ndarray, claim: Claim, level: float) -> LowerBounds:
    """Compute lower bounds from log likelihood ratios of runs on either corpus; all hold with probability 1 - `level`.

    The bound on mu uses the threshold 0, which suits a Gaussian. The bound on epsilon needs a threshold in a tail,
    chosen from the runs.
    """
    epsilon = _lower_bound(less, more, lambda p, n: epsilon_shown(p, n, claim.delta), level / 2)
    mu = float(mu_shown(*_limits(less, more, np.array([_MIDDLE]), level / 2), claim.failure)[0])
    return LowerBounds(epsilon, mu, gaussian_epsilon(mu, claim.delta - claim.failure))
