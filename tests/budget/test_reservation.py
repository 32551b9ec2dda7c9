from __future__ import annotations

import pytest
from ledger_helpers import gaussian, reserve, spend

from dplda.base.errors import BudgetRefused, GateError, InputError, LedgerError
from dplda.budget import Ledger
from dplda.budget.accountant import NOTHING
from dplda.budget.sketches import Fingerprint

PLAN = [gaussian("count", 0.5), gaussian("core", 0.5, count=2), gaussian("core", 0.5, count=2)]


def spent(ledger, dataset="reviews"):
    return ledger.dataset(dataset).spent.mu_squared


def test_an_open_run_costs_its_whole_plan_and_a_finished_one_what_it_charged(ledger):
    run = reserve(ledger, events=PLAN)
    assert spent(ledger) == pytest.approx(2.5)
    run.bind(Fingerprint("f"))
    run.charge(PLAN[1])
    assert spent(ledger) == pytest.approx(2.5)
    run.finish(model="models/x", seconds={"core": 1.5})
    assert spent(ledger) == pytest.approx(1.0)
    record = ledger.run(run.run)
    assert (record.status, record.model, record.seconds) == ("done", "models/x", {"core": 1.5})
    assert [planned.status for planned in record.plan] == ["planned", "charged", "planned"]


def test_what_was_charged_is_seen_by_others_before_charge_returns_control(ledger):
    run = reserve(ledger, events=PLAN)
    run.bind(Fingerprint("f"))
    run.charge(PLAN[0])
    assert [p.charged for p in Ledger(ledger.path).run(run.run).plan] == [True, False, False]


@pytest.mark.parametrize("status", ["failed", "unsupported", "cancelled"])
def test_abandoning_refunds_exactly_what_was_never_charged(ledger, status):
    run = reserve(ledger, events=PLAN)
    run.bind(Fingerprint("f"))
    run.charge(PLAN[0])
    run.abandon(status, "no word passed the threshold")
    assert spent(ledger) == pytest.approx(0.5)
    assert ledger.run(run.run).status_in_words == f"{status}: no word passed the threshold"


def test_each_planned_event_is_charged_once(ledger):
    run = reserve(ledger, events=PLAN)
    run.bind(Fingerprint("f"))
    run.charge(PLAN[1])
    run.charge(PLAN[2])
    with pytest.raises(GateError, match="'core'"):
        run.charge(PLAN[1])


@pytest.mark.parametrize(
    "changed",
    [
        gaussian("other", 0.5),
        gaussian("count", 0.4),
        gaussian("count", 0.5, count=2),
        gaussian("count", 0.5, delta=1e-9),
    ],
)
def test_an_event_that_differs_in_anything_is_not_answered(ledger, changed):
    run = reserve(ledger, events=PLAN)
    run.bind(Fingerprint("f"))
    with pytest.raises(GateError):
        run.charge(changed)


def test_nothing_is_charged_before_the_documents_are_bound(ledger):
    run = reserve(ledger, events=PLAN)
    with pytest.raises(GateError, match="'count'"):
        run.charge(PLAN[0])


def test_a_run_is_bound_to_one_fingerprint(ledger):
    run = reserve(ledger, events=PLAN)
    run.bind(Fingerprint("f"))
    run.bind(Fingerprint("f"))
    with pytest.raises(GateError, match="already bound"):
        run.bind(Fingerprint("g"))
    assert ledger.dataset("reviews").fingerprints == ("f",)


def test_a_run_that_ended_answers_nothing_more_and_keeps_its_ending(ledger):
    run = reserve(ledger, events=PLAN)
    run.bind(Fingerprint("f"))
    run.finish(model=None, seconds={})
    for call in (
        lambda: run.charge(PLAN[0]),
        lambda: run.bind(Fingerprint("f")),
        lambda: run.finish(model=None, seconds={}),
    ):
        with pytest.raises(GateError, match=r"has ended \(done\)"):
            call()
    run.abandon("failed", "late")
    assert ledger.run(run.run).status == "done"


def test_abandon_takes_only_endings_without_a_model(ledger):
    run = reserve(ledger)
    with pytest.raises(InputError, match=r"failed, unsupported, cancelled.*'done'"):
        run.abandon("done", "")


def test_the_same_documents_under_a_new_name_share_the_budget(ledger):
    spend(ledger, "first", "same", events=[gaussian(mu_squared=3.0)])
    second = reserve(ledger, "second", events=[gaussian(mu_squared=3.0)])
    with pytest.raises(BudgetRefused, match="'second' cannot pay"):
        second.bind(Fingerprint("same"))
    record = ledger.run(second.run)
    assert (record.status, record.cost) == ("refused", NOTHING)
    assert ledger.dataset("second").linked == ("second",)
    second.abandon("failed", "refused")
    assert ledger.run(second.run).status == "refused"


def test_a_new_name_that_cannot_pay_is_told_of_the_earlier_one_that_can(ledger):
    ledger.grant("first", 30.0, 1e-5)
    spend(ledger, "first", "same", events=[gaussian(mu_squared=3.0)])
    costly = [gaussian(mu_squared=3.0)]
    with pytest.raises(BudgetRefused, match=r"Dataset 'first' can: run it under that name, with --dataset first"):
        reserve(ledger, "second", events=costly).bind(Fingerprint("same"))
    spend(ledger, "first", "same", events=costly)
    ledger.grant("first", 4.0, 1e-5)
    with pytest.raises(BudgetRefused) as refused:
        reserve(ledger, "third", events=costly).bind(Fingerprint("same"))
    assert "under that name" not in str(refused.value)


def test_two_open_runs_on_the_same_documents_are_both_seen_when_bound(ledger):
    first = reserve(ledger, "first", events=[gaussian(mu_squared=3.0)])
    second = reserve(ledger, "second", events=[gaussian(mu_squared=3.0)])
    first.bind(Fingerprint("same"))
    with pytest.raises(BudgetRefused):
        second.bind(Fingerprint("same"))


def test_linked_datasets_are_charged_together_from_then_on(ledger):
    for name in ("first", "second"):
        ledger.grant(name, 10.0, 1e-5)
    spend(ledger, "first", "same", events=[gaussian(mu_squared=1.0)])
    spend(ledger, "second", "same", events=[gaussian(mu_squared=2.0)])
    assert ledger.dataset("first").linked == ("first", "second")
    assert spent(ledger, "first") == spent(ledger, "second") == pytest.approx(3.0)
    with pytest.raises(BudgetRefused):
        reserve(ledger, "first", events=[gaussian(mu_squared=1.5)])


def test_an_edited_corpus_of_the_same_name_shares_the_budget(ledger):
    ledger.grant("reviews", 10.0, 1e-5)
    spend(ledger, fingerprint="before", events=[gaussian(mu_squared=3.0)])
    with pytest.raises(BudgetRefused):
        reserve(ledger, events=[gaussian(mu_squared=3.0)])


def test_a_run_removed_by_hand_ends_in_a_clear_line(ledger):
    run = reserve(ledger)
    with ledger._store.writing() as session:
        session.connection().exec_driver_sql("DELETE FROM events")
        session.connection().exec_driver_sql("DELETE FROM runs")
    with pytest.raises(LedgerError, match="removed"):
        run.finish(model=None, seconds={})
