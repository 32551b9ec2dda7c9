"""Rules about what is admitted and charged: sums, numbers, calls that are made again, units, and the time."""

from __future__ import annotations

import math
from dataclasses import replace

from dplda.audit.conformance.harness import Broken, Harness, admits, shifted_clock, succeeds
from dplda.audit.conformance.interface import (
    DATASET,
    EPSILON,
    Feature,
    Measure,
    Request,
    delta_of,
    exact_delta,
    largest_mu_squared,
    share_of_budget,
)

_TINY = 1e-9  # of the budget
_SMALLEST = 0.01  # share of the budget
_YEARS = 10 * 365 * 86400.0


def grant_is_never_exceeded(harness: Harness) -> None:
    """Whatever is asked for, and in whatever order, the charged releases together stay within the grant.

    Requests are chosen after seeing what was admitted before (a filter, not an accountant of a fixed plan). The test
    adds up the shares of the budget that were charged (`share_of_budget`). For Gaussian and for pure mechanisms this
    sum is exact, so that no valid composition admits more than 1. If a ledger breaks this rule, the (epsilon, delta)
    that was granted does not hold. A ledger that admits nothing at all breaks this rule, too.
    """
    _ = harness.size  # raises `Broken` if there is none
    for first in (1.01, 0.3):
        with harness.open(harness.new_place()) as ledger:
            admitted, share = 0.0, first
            while share > _SMALLEST and admitted <= 1:
                if admits(ledger, harness.request(share)):
                    admitted += share
                else:
                    share /= 3
        if admitted > 1 + 1e-6:
            raise Broken(f"releases that take {admitted:.4g} times what the grant can hold were charged")


def impossible_numbers_are_refused(harness: Harness) -> None:
    """A cost or grant that is not a number, is negative or is infinite is refused, and changes nothing.

    Every comparison with NaN is false, and a negative cost is a refund. If a ledger breaks this rule, one malformed
    request lifts the limit for all that follow.
    """
    whole = harness.request(harness.size)
    cost = share_of_budget(0.1 * harness.size, harness.measure)
    without_noise = 0.0 if harness.measure == Measure.NOISE_MULTIPLIER else math.inf
    with harness.open(harness.new_place()) as ledger:
        for bad in (math.nan, -cost, -math.inf, without_noise):
            for costs in ((bad,), (cost, bad)):
                if admits(ledger, Request(costs=costs), (Exception,)):
                    raise Broken(f"a release of cost {bad} was charged")
        for epsilon in (math.nan, -EPSILON):
            succeeds(ledger.grant, DATASET, epsilon, delta_of(harness.measure))
        if all(admits(ledger, whole, (Exception,)) for _ in range(2)):
            raise Broken("after impossible costs and grants, more than the grant could be spent")


def small_costs_count(harness: Harness) -> None:
    """A cost of a billionth of the budget counts, also when most of the budget is spent.

    If a ledger breaks this rule, stored or compared numbers are rounded, and any number of small releases costs
    nothing.
    """
    most, tiny = harness.plan(), harness.request(_TINY * harness.size)
    with harness.open(harness.new_place()) as ledger:
        for request in (most, tiny, tiny):
            before = ledger.spent(DATASET)
            if not admits(ledger, request):
                raise Broken("a release was refused although there was room for it")
            if not ledger.spent(DATASET) > before:
                raise Broken(f"a release that takes {_TINY:g} of the budget changed nothing in what counts as spent")


def guarantee_covers_what_was_spent(harness: Harness) -> None:
    """The guarantee that the ledger states for all outputs together holds for what was charged.

    Lowering or raising a grant later does not change what was released. If a ledger breaks this rule, a report promises
    more than is true.
    """
    harness.need(Feature.GUARANTEED, "the ledger states no guarantee of all outputs together")
    request, spent = harness.request(harness.size), min(harness.size, 1.0)
    with harness.open(harness.new_place()) as ledger:
        if not admits(ledger, request):
            raise Broken("a release was refused although there was room for it")
        for share in (1.0, 0.01, 1.0):
            harness.grant(ledger, share=share)
            epsilon, delta = ledger.guaranteed(DATASET)  # type: ignore[attr-defined]  # the feature says that it is there
            if harness.measure == Measure.EPSILON:
                holds = epsilon >= spent * EPSILON
            else:
                holds = math.isinf(epsilon) or exact_delta(spent * largest_mu_squared(), epsilon) <= delta
            if not holds:
                raise Broken(f"(epsilon {epsilon:g}, delta {delta:g}) was guaranteed, and more had been spent")


def release_is_charged_once(harness: Harness) -> None:
    """Each planned release is charged at most once, and none after the run has ended.

    A second charge is refused, or pays again. If a ledger breaks this rule, one payment buys any number of answers.
    """
    plan = harness.plan()
    with harness.open(harness.new_place()) as ledger:
        handle = ledger.reserve(plan)
        handle.charge(0)
        before = ledger.spent(DATASET)
        if succeeds(handle.charge, 0) and ledger.spent(DATASET) <= before:
            raise Broken("a release was charged twice and paid once")
    for ending in ("finish", "abandon"):
        with harness.open(harness.new_place()) as ledger:
            handle = ledger.reserve(plan)
            handle.charge(0)
            getattr(handle, ending)()
            before = ledger.spent(DATASET)
            if succeeds(handle.charge, 1) and ledger.spent(DATASET) <= before:
                raise Broken(f"a release was charged after {ending}, and nothing was paid for it")


def ending_refunds_no_charge(harness: Harness) -> None:
    """A charge stays spent, however and however often its run ends.

    Only what was reserved and not charged is given back. If a ledger breaks this rule, an answer costs nothing if its
    run is abandoned afterwards.
    """
    plan = harness.plan()
    for endings in ("finish", "abandon", "finish finish", "finish abandon", "abandon finish"):
        place = harness.new_place()
        with harness.open(place) as ledger:
            handle = ledger.reserve(plan)
            handle.charge(0)
            for ending in endings.split():
                succeeds(getattr(handle, ending))
        if harness.holds_another(place):
            raise Broken(f"after {' and '.join(endings.split())}, what was charged came back")


def units_are_not_mixed(harness: Harness) -> None:
    """Costs for one unit are not added to costs for another one.

    A cost states what one unit (a document, a person) loses. A sum across units states nothing. If a ledger breaks this
    rule, a person with a hundred documents is charged as one document.
    """
    harness.need(Feature.UNITS, "the ledger has one unit, which requests do not name")
    small = 0.05 * harness.size
    requests = {unit: harness.request(small, unit=unit) for unit in ("document", "person")}
    for first, then in (("document", "person"), ("person", "document")):
        with harness.open(harness.new_place()) as ledger:
            if not admits(ledger, requests[first]):
                raise Broken(f"a release that costs one {first} {small:.2g} of the grant was refused")
            if admits(ledger, requests[then]):
                raise Broken(f"costs of a {first} and of a {then} were charged to one grant")


def documents_keep_their_budget(harness: Harness) -> None:
    """Documents under another name, or a part of them, share the budget that they had.

    If a ledger breaks this rule, renaming a file renews its budget.
    """
    harness.need(Feature.DATASETS, "the ledger does not know which documents a request is about")
    first, other = harness.request(harness.size), "renamed"
    for documents in (first.documents, first.documents[:200]):
        with harness.open(harness.new_place()) as ledger:
            harness.grant(ledger, dataset=other)
            if not admits(ledger, first):
                raise Broken("a release was refused although there was room for it")
            if admits(ledger, replace(first, dataset=other, documents=documents)):
                raise Broken(
                    f"{len(documents)} of {len(first.documents)} documents had a new budget under another name"
                )


def batches_that_overlap_add_up(harness: Harness) -> None:
    """Batches compose in parallel only if no unit is in two of them.

    Batches of the same documents add up. If the unit is a person, all batches add up, because a person may be in each.
    If a ledger breaks this rule, the same documents, called another batch, have a new budget.
    """
    harness.need(Feature.BATCHES, "the ledger has no batches that compose in parallel")
    first = harness.request(harness.size, batch="1")
    cases = {
        "the documents of another batch": (first, replace(first, batch="2")),
        "a part of the documents of another batch": (first, replace(first, batch="2", documents=first.documents[:200])),
    }
    if Feature.UNITS in harness.features:
        people = replace(first, unit="person")
        cases["other documents of people"] = (people, replace(people, batch="2", documents=range(5000, 6000)))
    for name, (before, again) in cases.items():
        with harness.open(harness.new_place()) as ledger:
            if not admits(ledger, before):
                raise Broken("a release was refused although there was room for it")
            if admits(ledger, again):
                raise Broken(f"a batch of {name} was charged as if nobody were in both")


def time_gives_nothing_back(harness: Harness) -> None:
    """Budget does not come back because the clock says so.

    A clock can be wrong, or set. If reservations expire, the process that holds one can no longer charge it. Otherwise,
    whoever sets the clock has a new budget. (A yearly budget is a new grant each year, for which somebody decides.)
    """
    whole = harness.request(harness.size)
    for years in (_YEARS, -_YEARS):
        place = harness.new_place()
        with harness.open(place) as ledger:
            handle = ledger.reserve(whole)
            with shifted_clock(years):
                taken = harness.holds_another(place)
            if taken and succeeds(handle.charge, 0):
                raise Broken("with another date, what a run had reserved was reserved and charged again")
            succeeds(handle.charge, 0)
        with shifted_clock(years):
            if harness.holds_another(place):
                raise Broken("with another date, what was charged came back")
        if harness.holds_another(place):
            raise Broken("after the clock had been wrong for a while, what was charged came back")


def order_is_not_time(harness: Harness) -> None:
    """The grant in force is the one made last, whatever the clock said.

    If a ledger breaks this rule, after a clock was set back, a grant that was withdrawn is in force again.
    """
    small = harness.request(0.5 * harness.size)
    for years in (_YEARS, -_YEARS):
        with harness.open(harness.new_place()) as ledger, shifted_clock(years):
            if succeeds(harness.grant, ledger, DATASET, 0.01) and admits(ledger, small, (Exception,)):
                raise Broken("with another date, a grant that had been lowered was still in force")
