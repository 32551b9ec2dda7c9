"""What a grant raised after looking costs, by numbers (docs/privacy.md, rule 17).

For the worst pair of neighbours of Gaussian noise, the privacy loss after spending t of the sum of squared GDP
parameters is normal with mean t/2 and variance t, and adding runs adds independent increments. Whoever looks at the
outputs may raise the grant from level to level and stop where they please. What they quote at the end is the epsilon of
the level at which they stopped; what that hides is the expected excess of the loss over it, the worst delta.
"""

from __future__ import annotations

import numpy as np
import pytest
from ledger_helpers import a_run
from scipy.optimize import brentq
from scipy.signal import fftconvolve
from scipy.stats import norm

from dplda.budget.accountant import capacity
from dplda.budget.guarantees import Basis, Grant, Guarantee
from dplda.budget.privacy_filter import LedgerState

DELTA = 1e-6
STEP = 0.005
LOSS = np.arange(-15.0, 45.0, STEP)


def excess(epsilon: float) -> np.ndarray:
    """What stopping at a level hides, at each loss."""
    return np.maximum(0.0, 1.0 - np.exp(np.minimum(0.0, epsilon - LOSS))) * (epsilon < LOSS)


def after(value: np.ndarray, spent: float) -> np.ndarray:
    """The expectation of `value` (over LOSS) after spending more, at each loss before it."""
    reach = spent / 2 + 12 * np.sqrt(spent)
    steps = np.arange(-int(reach / STEP), int(reach / STEP) + 1) * STEP
    law = norm.pdf(steps, spent / 2, np.sqrt(spent)) * STEP
    return fftconvolve(np.pad(value, len(steps) // 2, mode="edge"), law[::-1], mode="valid")


def spent_at(epsilons: list[float]) -> list[float]:
    return [capacity(epsilon, DELTA).mu_squared for epsilon in epsilons]


def worst_delta_of_a_ladder(epsilons: list[float]) -> float:
    """Of one who climbs the levels and stops at whichever hides most, by backward induction."""
    spent = spent_at(epsilons)
    value = excess(epsilons[-1])
    for level in range(len(epsilons) - 2, -1, -1):
        value = np.maximum(excess(epsilons[level]), after(value, spent[level + 1] - spent[level]))
    return float(np.interp(0.0, LOSS, after(value, spent[0])))


def worst_delta_of_one_raise(first: float, candidates: list[float]) -> float:
    """Of one who, seeing the first output, raises once to the candidate that hides most."""
    begun, *spent = spent_at([first, *candidates])
    ends = [after(excess(epsilon), t - begun) for epsilon, t in zip(candidates, spent, strict=True)]
    return float(np.interp(0.0, LOSS, after(np.maximum.reduce([excess(first), *ends]), begun)))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_one_level_hides_its_own_delta(epsilon: float) -> None:
    assert worst_delta_of_a_ladder([epsilon]) == pytest.approx(0.99 * DELTA, rel=5e-3)


LADDERS = ([1.0, 2.0], [1.0, 2.0, 4.0, 8.0], [1.0, 1.1, 1.2], list(np.linspace(1.0, 5.0, 40)))


@pytest.mark.parametrize("epsilons", LADDERS, ids=lambda epsilons: str(len(epsilons)))
def test_levels_listed_beforehand_hide_no_more_than_the_sum_of_their_deltas(epsilons: list[float]) -> None:
    hidden = worst_delta_of_a_ladder(epsilons)
    assert DELTA < hidden <= len(epsilons) * DELTA
    start = Grant(epsilon=epsilons[0], delta=DELTA, listed=tuple(epsilons[1:]))
    top = Grant(epsilon=epsilons[-1], delta=DELTA, after_run=1)
    quoted = guaranteed(0.999 * spent_at(epsilons)[-1], start, top)
    assert (quoted.epsilon, quoted.basis) == (epsilons[-1], Basis.LISTED)
    assert hidden <= quoted.delta


def test_forty_raises_hide_several_times_the_delta_of_the_last_level() -> None:
    assert worst_delta_of_a_ladder(list(np.linspace(1.0, 5.0, 40))) > 5 * DELTA


def test_a_level_chosen_after_looking_hides_more_than_the_deltas_of_the_two_levels_used() -> None:
    candidates = [1.2 * 1.3**place for place in range(10)]
    assert worst_delta_of_one_raise(1.0, candidates[:1]) <= 2 * DELTA
    assert worst_delta_of_one_raise(1.0, candidates) > 2.5 * DELTA
    raised = Grant(epsilon=candidates[4], delta=DELTA, after_run=1)
    quoted = guaranteed(0.999 * spent_at(candidates)[4], Grant(epsilon=1.0, delta=DELTA), raised)
    assert quoted.basis == Basis.AFTER_LOOKING
    assert not quoted.holds


def test_guesses_among_outputs_that_ended_at_the_first_level_are_right_more_often_than_its_average():
    """Why numbers for all runs are those of the largest level: docs/privacy-notes.md quotes these figures."""
    half = np.sqrt(capacity(4.0, 1e-6).mu_squared) / 2  # of the mean of the log likelihood ratio's normal statistic
    threshold = brentq(lambda t: norm.sf(t - half) + norm.cdf(-t - half) - 0.2, 0.0, 20.0)
    assert norm.cdf(half) == pytest.approx(0.662, abs=5e-4)
    assert norm.sf(threshold - half) / 0.2 == pytest.approx(0.825, abs=5e-4)


def guaranteed(spent: float, *grants: Grant) -> Guarantee:
    return LedgerState(runs=[a_run(1, "a", spent)], grants={"a": grants}).guaranteed("a")
