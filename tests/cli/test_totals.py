"""Whatever happened under a name, all places that state a total of its runs state the same one, and no stronger one."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from handmade import make_model, with_facts
from ledger_helpers import gaussian, interrupt, reserve, spend

from dplda.base.errors import BudgetRefused
from dplda.budget import Ledger, Reservation
from dplda.budget.accountant import capacity
from dplda.budget.sketches import Fingerprint

WHOLE = capacity(4.0, 1e-5).mu_squared
PLACES = ("page", "registry", "checklist", "assessment")


def of(share: float) -> list:
    return [gaussian(mu_squared=share * WHOLE)]


def first(ledger: Ledger, **changes) -> Reservation:
    ledger.grant("reviews", 4.0, 1e-5, **changes)
    return spend(ledger, events=of(0.2))


def alone(ledger: Ledger) -> Reservation:
    return first(ledger)


def two_runs(ledger: Ledger) -> Reservation:
    run = first(ledger)
    spend(ledger, events=of(0.2))
    return run


def a_larger_total_listed(ledger: Ledger) -> Reservation:
    return first(ledger, listed=[8.0])


def a_listed_total_reached(ledger: Ledger) -> Reservation:
    run = first(ledger, listed=[8.0])
    ledger.grant("reviews", 8.0, 1e-5)
    spend(ledger, events=of(1.5))
    return run


def raised(ledger: Ledger) -> Reservation:
    run = first(ledger)
    ledger.grant("reviews", 9.0, 1e-5)
    return run


def raised_and_spent(ledger: Ledger) -> Reservation:
    run = raised(ledger)
    spend(ledger, events=of(1.5))
    return run


def lowered(ledger: Ledger) -> Reservation:
    run = first(ledger)
    ledger.grant("reviews", 2.0, 1e-5)
    return run


def interrupted(ledger: Ledger) -> Reservation:
    run = first(ledger)
    interrupt(ledger, events=[gaussian("size", 0.001), *of(0.6)])
    return run


def interrupted_and_run_again(ledger: Ledger) -> Reservation:
    run = interrupted(ledger)
    spend(ledger, events=of(0.5))
    return run


def unfinished(ledger: Ledger) -> Reservation:
    run = first(ledger)
    reserve(ledger, events=of(0.5)).bind(Fingerprint("f"))
    return run


def refused(ledger: Ledger) -> Reservation:
    spend(ledger, "other", events=of(0.7))
    ledger.grant("reviews", 4.0, 1e-5)
    with suppress(BudgetRefused):
        spend(ledger, events=of(0.8))
    return spend(ledger, events=of(0.2))


def another_name(ledger: Ledger) -> Reservation:
    run = first(ledger)
    ledger.grant("other", 6.0, 1e-5)
    spend(ledger, "other", events=of(0.2))
    return run


def an_earlier_name_with_more(ledger: Ledger) -> Reservation:
    ledger.grant("other", 9.0, 1e-5)
    spend(ledger, "other", events=of(0.2))
    return first(ledger)


def an_earlier_name_that_was_raised(ledger: Ledger) -> Reservation:
    spend(ledger, "other", events=of(0.2))
    run = first(ledger)
    ledger.grant("other", 30.0, 1e-5)
    return run


def unbounded(ledger: Ledger) -> Reservation:
    ledger.grant("reviews", unbounded=True)
    return spend(ledger, events=of(0.2))


HISTORIES = [
    alone,
    two_runs,
    a_larger_total_listed,
    a_listed_total_reached,
    raised,
    raised_and_spent,
    lowered,
    interrupted,
    interrupted_and_run_again,
    unfinished,
    refused,
    another_name,
    an_earlier_name_with_more,
    an_earlier_name_that_was_raised,
    unbounded,
]


@pytest.mark.usefixtures("without_charts")
@pytest.mark.filterwarnings("ignore::dplda.base.errors.RaisedGrantWarning")
@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_all_places_state_the_same_total(dplda, home: Path, history: Callable[[Ledger], Reservation]) -> None:
    ledger = Ledger()
    run = history(ledger)
    record = ledger.dataset("reviews")
    model = with_facts(make_model(), run=run.run, dataset="reviews")
    model.save(home / "m")
    told, said = dict[str, str](), dict[str, str]()
    for place in PLACES:
        written = home / f"{place}.out"
        answer = dplda("report", "./m", *(("-o",) if place == "page" else (f"--{place}",)), written)
        assert answer.status == 0, answer.err
        told[place] = " ".join(re.sub("<[^>]+>", "", written.read_text(encoding="utf-8")).split())
        said[place] = answer.err
    promised = record.guaranteed_alone.in_words(record.grant)
    assert all(promised in text for text in told.values())
    total = record.guaranteed_alone.largest_total
    for text in told.values():
        assert (f"the total of all runs recorded under the name {record.name}" in text) <= record.guaranteed_alone.holds
    quoted = re.search(r"Epsilon to quote: (\S+) \((.*?)\)", told["checklist"])
    assert quoted is not None
    assert (quoted[2].startswith("the total of all runs"), float(quoted[1])) == (
        (True, total[0]) if record.guaranteed_alone.holds else (False, 1.25)
    )
    exact = record.guaranteed
    if not exact.holds or exact.largest_total > total:
        assert not record.guaranteed_alone.holds or "(exact, not for publication)" in said["page"]
