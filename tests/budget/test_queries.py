from __future__ import annotations

from ledger_helpers import gaussian, reserve, spend

from dplda.base.config import DEFAULT_GRANT


def test_history_tells_grants_and_runs_in_order_and_when_a_guarantee_was_lost(ledger):
    ledger.grant("reviews", 5.0, 1e-5)
    first = spend(ledger, events=[gaussian(mu_squared=0.1)]).run
    spend(ledger, "other", "g")
    ledger.grant("reviews", 20.0, 1e-6)
    second = reserve(ledger, events=[gaussian(mu_squared=0.1)]).run
    lines = ledger.history("reviews")
    assert [line.text for line in lines] == [
        "grant epsilon {:g}, delta {:g} (what every dataset has before its first grant)".format(*DEFAULT_GRANT),
        "grant epsilon 5, delta 1e-05",
        f"run {first}, epsilon 2, delta 1e-06, done",
        "grant epsilon 20, delta 1e-06, raised after outputs were released, to a level not listed before the first",
        f"run {second}, epsilon 2, delta 1e-06, started and never finished: counted as wholly spent",
    ]
    ledger.grant("reviews", 1.0, 1e-6)
    assert ledger.history("reviews")[-1].text.endswith("not raised after outputs were released: the guarantee stays")
    assert [line.run for line in lines] == [None, None, first, None, second]
    assert [line.created is None for line in lines] == [True, False, False, False, False]


def test_a_grant_after_a_run_that_asked_nothing_loses_no_guarantee(ledger):
    reserve(ledger).abandon("cancelled", "by the user")
    ledger.grant("reviews", 20.0, 1e-5)
    assert "raised" not in ledger.history("reviews")[-1].text
    assert ledger.dataset("reviews").guaranteed.epsilon == 20.0
