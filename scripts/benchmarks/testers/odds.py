"""What the report and the audit say about odds, computed again by `riskcal` of Kulynych and Gomez.

Each comparison is of two arrays: what dplda says, and the same from the functions of `riskcal.analysis`. Statements of
runs are compared for the plans of all placements at several budgets. Where riskcal has no function for a statement, it
is derived from riskcal's trade-off curve beta, the false negatives at a rate alpha of false positives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import Any

import numpy as np
from dp_accounting import get_sigma_gaussian
from dp_accounting.pld import privacy_loss_distribution

from benchmarks.results import Record
from benchmarks.testers import peers
from benchmarks.testers.cells import Cell
from dplda.audit.bounds import epsilon_shown, mu_shown
from dplda.budget.accountant import FAILURE_SHARE, calibrate, run_epsilon
from dplda.budget.events import PrivacyStatement, merge_events
from dplda.learning.placements.registry import PRIVATE, find
from dplda.learning.settings import FitSettings, ModelSettings
from dplda.report import promise

TESTER = "risk curves"
BUDGETS = ((0.5, 1e-6), (1.0, 1e-6), (4.0, 1e-5), (8.0, 1e-6))
PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
RATES = np.geomspace(1e-6, 0.999, 40)  # of false positives
DETECTED = np.linspace(promise._RARE, 1.0, 200)  # detection rates for which beliefs are bounded
SAME = 1e-9
ON_A_GRID = 1e-4  # for loss distributions, whose losses are rounded upwards to a grid

Compared = tuple[list[Any], list[Any]]  # what dplda says, and what riskcal says


def cells() -> Iterator[Cell]:
    """All comparisons; raises `PeerMissing` before anything is computed."""
    riskcal = peers.load("riskcal.analysis")
    for compare, most in COMPARISONS.items():
        yield Cell(TESTER, str(compare.__doc__), f"equal within {most:g}", partial(_record, compare, riskcal, most))


def _record(compare: Callable[[Any], Compared], riskcal: Any, most: float) -> Record:
    ours, theirs = (np.concatenate([np.ravel(part) for part in parts]) for parts in compare(riskcal))
    apart = float(np.abs(ours - theirs).max())
    return {
        "version": f"riskcal {peers.version('riskcal')}",
        "apart": apart,
        "found": f"{apart:.1e} apart at most, of {len(ours):,} numbers",
        "verdict": "agrees" if apart <= most else "**differs**",
    }


def statements() -> list[PrivacyStatement]:
    """Statements of runs of all placements that are private, with words chosen privately, at each budget."""
    found = []
    for placement in PRIVATE:
        shares = find(placement).plan(FitSettings(model=ModelSettings(placement=placement, topics=5)))
        for epsilon, delta in BUDGETS:
            events = calibrate(shares, epsilon, delta)
            found.append(
                PrivacyStatement(
                    epsilon=run_epsilon(events, delta),
                    delta=delta,
                    unit="document",
                    adjacency="add-remove",
                    sound=True,
                    events=events,
                )
            )
    return found


def epsilon_curve(riskcal: Any) -> Compared:
    """`epsilon_curve`: detections at a rate of false alarms, by (epsilon, delta) alone"""
    ours = [promise.epsilon_curve(RATES, said) for said in statements()]
    return ours, [1 - riskcal.get_beta_from_adp(said.epsilon, said.delta, RATES) for said in statements()]


def gaussian_curve(riskcal: Any) -> Compared:
    """`gaussian_curve`: the same by the noise of a run"""
    ours = [promise.gaussian_curve(RATES, said) for said in statements()]
    return ours, [_gaussian(riskcal, said) for said in statements()]


def detected_at_most(riskcal: Any) -> Compared:
    """`detected_at_most`: the smaller of both, as the report draws it"""
    ours = [promise.detected_at_most(RATES, said) for said in statements()]
    theirs = [
        np.minimum(1 - riskcal.get_beta_from_adp(said.epsilon, said.delta, RATES), _gaussian(riskcal, said))
        for said in statements()
    ]
    return ours, theirs


def _gaussian(riskcal: Any, said: PrivacyStatement) -> np.ndarray:
    mu, failures = promise.noise(said)
    return np.minimum(1 - riskcal.get_beta_from_gdp(mu, RATES) + failures, 1.0)


def of_loss_distribution(riskcal: Any) -> Compared:
    """`gaussian_curve` beside the loss distribution of a run's events, composed by dp_accounting (default placement)"""
    ours, theirs = [], []
    for said in statements()[: len(BUDGETS)]:
        parts = [
            privacy_loss_distribution.from_gaussian_mechanism(event.noise_multiplier).self_compose(event.count)
            for event in merge_events(said.events)
        ]
        composed = reduce(lambda total, part: total.compose(part), parts)
        failures = promise.noise(said)[1]
        ours.append(promise.gaussian_curve(RATES, said))
        theirs.append(np.minimum(1 - riskcal.get_beta_from_pld(composed, RATES) + failures, 1.0))
    return ours, theirs


def success_at_most(riskcal: Any) -> Compared:
    """`success_at_most`: right guesses of membership, from riskcal's advantage of an attack"""
    ours, theirs = [], []
    for said in statements():
        mu, failures = promise.noise(said)
        by_definition = riskcal.get_advantage_from_adp(said.epsilon, said.delta)
        ours.append(promise.success_at_most(said))
        theirs.append((1 + min(by_definition, riskcal.get_advantage_from_gdp(mu) + failures)) / 2)
    return ours, theirs


def success_by_bayes_risk(riskcal: Any) -> Compared:
    """`success_at_most`: from riskcal's Bayes risk at prior probability 1/2"""
    ours, theirs = [], []
    for said in statements():
        mu, failures = promise.noise(said)
        by_definition = (1 + riskcal.get_advantage_from_adp(said.epsilon, said.delta)) / 2
        ours.append(promise.success_at_most(said))
        theirs.append(min(by_definition, 1 - riskcal.get_bayes_risk_from_gdp(mu, 0.5) + failures / 2))
    return ours, theirs


def success_under_filter(riskcal: Any) -> Compared:
    """`success_under_filter`: right guesses from all runs of a grant; mu by dp_accounting"""
    ours, theirs = [], []
    for epsilon, delta in BUDGETS:
        mu, failures = 1 / get_sigma_gaussian(epsilon, (1 - FAILURE_SHARE) * delta), FAILURE_SHARE * delta
        by_definition = riskcal.get_advantage_from_adp(epsilon, delta)
        ours.append(promise.success_under_filter(epsilon, delta))
        theirs.append((1 + min(by_definition, riskcal.get_advantage_from_gdp(mu) + failures)) / 2)
    return ours, theirs


def belief_at_most(riskcal: Any) -> Compared:
    """`belief_at_most`: by Bayes' rule, from the fewest false alarms that riskcal allows at each detection rate"""
    ours, theirs = [], []
    for epsilon, delta in BUDGETS:
        false_alarms = riskcal.get_beta_from_adp(epsilon, delta, 1 - DETECTED)
        for prior in PRIORS:
            ours.append(promise.belief_at_most(prior, epsilon, delta))
            theirs.append((prior * DETECTED / (prior * DETECTED + (1 - prior) * false_alarms)).max())
    return ours, theirs


def audit_epsilon(riskcal: Any) -> Compared:
    """`epsilon_shown` of the audit: epsilon from error rates"""
    positives, negatives = (rates.ravel() for rates in np.meshgrid(RATES, RATES))
    ours = [epsilon_shown(positives, negatives, delta) for _, delta in BUDGETS]
    with np.errstate(invalid="ignore"):
        theirs = [riskcal.get_epsilon_from_err_rates(delta, positives, negatives) for _, delta in BUDGETS]
    return ours, [np.nan_to_num(found, nan=0.0) for found in theirs]


def audit_mu(riskcal: Any) -> Compared:
    """`mu_shown` of the audit: false negatives at that mu are those that were given"""
    positives, negatives = (rates.ravel() for rates in np.meshgrid(RATES, RATES))
    mu = mu_shown(positives, negatives, 0.0)
    shown = mu > 0
    back = [riskcal.get_beta_from_gdp(m, p) for m, p in zip(mu[shown], positives[shown], strict=True)]
    return [negatives[shown]], [back]


# Their docstrings are what the table calls them. The numbers are the largest differences that rounding explains.
COMPARISONS: dict[Callable[[Any], Compared], float] = {
    epsilon_curve: SAME,
    gaussian_curve: SAME,
    detected_at_most: SAME,
    of_loss_distribution: ON_A_GRID,
    success_at_most: SAME,
    success_by_bayes_risk: SAME,
    success_under_filter: SAME,
    belief_at_most: SAME,
    audit_epsilon: SAME,
    audit_mu: SAME,
}
