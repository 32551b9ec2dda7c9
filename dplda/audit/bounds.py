"""Lower bounds on epsilon from repeated runs on two neighbouring corpora.

A test says of each run's evidence which corpus is behind it. Its threshold is fixed beforehand, or chosen on the first
runs and its errors counted on the others, so that the limits of Clopper and Pearson (1934) hold for them. An (epsilon,
delta)-private mechanism allows no test with (1 - delta - false negatives) / false positives above e^epsilon, nor the
mirror of that (Kairouz, Oh and Viswanath 2015, Theorem 2.1). A mu-GDP mechanism allows none with Phi^-1(1 - false
positives) - Phi^-1(false negatives) above mu (Dong, Roth and Su 2022; for audits Nasr et al. 2023, section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, norm

from dplda.accounting.accountant import gaussian_epsilon

MIDDLE = 0.0  # the threshold of a log likelihood ratio at which both errors are the same
TUNING = 0.25  # part of the runs that choose thresholds
CAUTION = 0.1  # of the level, at which thresholds are compared: few errors among few runs flatter a threshold
CANDIDATES = 401  # thresholds to choose from, at even quantiles
Bound = Callable[[np.ndarray, np.ndarray], np.ndarray]  # rates of false positives and negatives to what they refute


@dataclass(frozen=True)
class Claim:
    """A mechanism's claim: (`epsilon`, `delta`), and `mu`-GDP except with probability `failure`."""

    epsilon: float
    delta: float
    mu: float
    failure: float = 0.0


@dataclass(frozen=True)
class Shown:
    """Lower bounds from runs, each with half of the error probability: `epsilon` at the claim's delta uses the
    definition alone.

    `gaussian` is the epsilon at that delta of the `mu` shown, if the mechanism is Gaussian as claimed: it cannot be
    private as claimed and show a larger one.
    """

    epsilon: float
    mu: float
    gaussian: float

    def refutes(self, claim: Claim) -> bool:
        """Whether this cannot be a mechanism that keeps `claim`."""
        return self.epsilon > claim.epsilon or self.mu > claim.mu


def upper_limit(errors: np.ndarray, runs: int, level: float) -> np.ndarray:
    """The limit that an error's rate exceeds with probability at most `level`, given `errors` in `runs`."""
    errors = np.asarray(errors)
    return np.asarray(np.where(errors < runs, beta.ppf(1 - level, errors + 1, np.maximum(runs - errors, 1)), 1.0))


def epsilon_shown(positives: np.ndarray, negatives: np.ndarray, delta: float) -> np.ndarray:
    """The least epsilon that allows rates of false `positives` and `negatives` at `delta`; at least 0."""
    with np.errstate(divide="ignore"):
        forth = np.log(np.maximum(1 - delta - negatives, 0)) - np.log(positives)
        back = np.log(np.maximum(1 - delta - positives, 0)) - np.log(negatives)
    return np.asarray(np.maximum(np.maximum(forth, back), 0.0))


def mu_shown(positives: np.ndarray, negatives: np.ndarray, failure: float) -> np.ndarray:
    """The least mu of a Gaussian mechanism, private up to `failure`, that allows these rates; at least 0."""
    first, second = (np.minimum(rate + failure, 1.0) for rate in (positives, negatives))
    with np.errstate(invalid="ignore"):
        shown = norm.isf(first) - norm.ppf(second)
    return np.asarray(np.nan_to_num(np.maximum(shown, 0.0), nan=0.0))


def lower_bound(less: np.ndarray, more: np.ndarray, shown: Bound, level: float) -> float:
    """A bound that exceeds the truth with probability at most `level`, from evidence of runs on two corpora, (runs,).

    A test says `more` where the evidence lies above its threshold; what refutes most among the first runs is tried on
    the others.
    """
    first, second = int(TUNING * len(less)), int(TUNING * len(more))
    tuning = np.concatenate([less[:first], more[:second]])
    thresholds = np.unique(np.quantile(tuning, np.linspace(0, 1, CANDIDATES), method="lower"))
    best = np.argmax(shown(*_limits(less[:first], more[:second], thresholds, CAUTION * level)))
    return float(shown(*_limits(less[first:], more[second:], thresholds[[best]], level))[0])


def _limits(less: np.ndarray, more: np.ndarray, thresholds: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Upper limits of the rates of false positives and negatives at each threshold, at half of `level` each."""
    positives = len(less) - np.searchsorted(np.sort(less), thresholds, side="right")
    negatives = np.searchsorted(np.sort(more), thresholds, side="right")
    return upper_limit(positives, len(less), level / 2), upper_limit(negatives, len(more), level / 2)


def show(less: np.ndarray, more: np.ndarray, claim: Claim, level: float) -> Shown:
    """What the evidence of runs on two corpora shows; all of it holds with probability 1 - `level`.

    That of `mu` takes positive evidence to speak for `more`, by which most of a Gaussian is seen. What refutes the
    definition most lies in a tail, and is chosen.
    """
    epsilon = lower_bound(less, more, lambda p, n: epsilon_shown(p, n, claim.delta), level / 2)
    mu = float(mu_shown(*_limits(less, more, np.array([MIDDLE]), level / 2), claim.failure)[0])
    return Shown(epsilon, mu, gaussian_epsilon(mu, claim.delta - claim.failure))
