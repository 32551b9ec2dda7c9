"""Batches of a series are charged in parallel if each unit is in one of them, and together if it may be in several."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_helpers import a_run, gaussian, reserve, sample, spend

from dplda.accounting.accountant import capacity
from dplda.errors import BudgetRefused, InputError
from dplda.ledger import Ledger
from dplda.ledger.privacy_filter import LedgerState, admit, total
from dplda.store.sketches import Fingerprint

WHOLE = capacity(10.0, 1e-5).mu_squared
MOST = [gaussian(mu_squared=0.6 * WHOLE)]


def week(number: int, first: int | None = None) -> Fingerprint:
    """The fingerprint of 1,000 documents, by default those of that week alone."""
    start = 1000 * number if first is None else first
    return Fingerprint(f"week {number}, {start}", sample(range(start, start + 1000)))


def test_each_batch_of_documents_may_spend_the_whole_grant(ledger):
    for number in (1, 2, 3):
        spend(ledger, "s", week(number), batch=f"week-{number}", events=MOST)
    record = ledger.dataset("s")
    assert record.batches == ("week-1", "week-2", "week-3")
    assert record.spent.mu_squared == pytest.approx(0.6 * WHOLE)
    assert str(record.guaranteed) == "epsilon 10, delta 1e-05"
    assert any("each document is in one batch" in remark for remark in record.remarks)
    assert "spent by the batch that spent most" in record.in_short
    with pytest.raises(BudgetRefused, match="cannot pay"):
        reserve(ledger, "s", batch="week-2", events=MOST)
    reserve(ledger, "s", batch="week-4", events=MOST)
    assert Ledger(ledger.path).verify().ok


def test_a_run_that_names_no_batch_counts_for_every_batch(ledger):
    spend(ledger, "s", week(1), batch="week-1", events=MOST)
    with pytest.raises(BudgetRefused):
        reserve(ledger, "s", events=MOST)
    spend(ledger, "s", week(9), events=[gaussian(mu_squared=0.4 * WHOLE)])
    with pytest.raises(BudgetRefused):
        reserve(ledger, "s", batch="week-2", events=[gaussian(mu_squared=0.7 * WHOLE)])
    reserve(ledger, "s", batch="week-2", events=MOST)
    with pytest.raises(BudgetRefused):
        reserve(ledger, "s", batch="week-1", events=[gaussian(mu_squared=0.01)])


def test_people_may_be_in_every_batch_and_pay_in_each(ledger):
    spend(ledger, "s", week(1), batch="week-1", events=MOST, unit="person")
    with pytest.raises(BudgetRefused):
        reserve(ledger, "s", batch="week-2", events=MOST, unit="person")
    spend(ledger, "s", week(2), batch="week-2", events=[gaussian(mu_squared=0.3 * WHOLE)], unit="person")
    record = ledger.dataset("s")
    assert record.spent.mu_squared == pytest.approx(0.9 * WHOLE)
    assert any("a person may be in several" in remark for remark in record.remarks)


def test_a_batch_that_holds_most_of_another_is_refused_and_one_that_holds_some_is_named(ledger):
    spend(ledger, "s", week(1), batch="week-1", events=MOST)
    again = reserve(ledger, "s", batch="week-2", events=MOST)
    with pytest.raises(BudgetRefused, match=r"'week-2' .* most of the documents of batch 'week-1'.*--batch week-1"):
        again.bind(week(1))
    half = reserve(ledger, "s", batch="week-3", events=MOST)
    with pytest.raises(BudgetRefused, match="most of the documents"):
        half.bind(week(3, first=1400))
    spend(ledger, "s", week(4, first=1800), batch="week-4", events=MOST)
    record = ledger.dataset("s")
    assert record.shared_batches == ("week-1", "week-4")
    assert any("pay in each" in remark for remark in record.remarks)
    assert record.linked == ("s",)


def test_documents_under_another_name_count_with_the_dearest_batch(ledger):
    spend(ledger, "s", week(1), batch="week-1", events=[gaussian(mu_squared=0.5 * WHOLE)])
    spend(ledger, "s", week(2), batch="week-2", events=[gaussian(mu_squared=0.2 * WHOLE)])
    with pytest.raises(BudgetRefused, match="cannot pay"):
        spend(ledger, "copy", week(1, first=1500), events=MOST)
    spend(ledger, "copy", week(1, first=1500), events=[gaussian(mu_squared=0.5 * WHOLE)])
    assert ledger.dataset("copy").spent.mu_squared == pytest.approx(WHOLE)
    with pytest.raises(BudgetRefused):
        reserve(ledger, "s", batch="week-1", events=[gaussian(mu_squared=0.01)])


def test_a_batch_has_a_printable_name_and_is_told_in_the_history(ledger):
    with pytest.raises(InputError, match="batch must be a printable name"):
        reserve(ledger, "s", batch="\n")
    spend(ledger, "s", week(1), batch="week-1")
    assert "on batch week-1" in ledger.history("s")[-1].text
    assert ledger.runs()[-1].to_json()["batch"] == "week-1"


def test_a_batch_that_links_another_dataset_to_its_series_is_admitted_only_within_both_grants(ledger):
    for name in ("s", "y"):
        ledger.grant(name, 4.0, 1e-5)
    small = capacity(4.0, 1e-5).mu_squared
    spend(ledger, "s", week(1), batch="week-1", events=[gaussian(mu_squared=0.9 * small)])
    spend(ledger, "y", week(2), events=[gaussian(mu_squared=0.7 * small)])
    between = reserve(ledger, "s", batch="week-2", events=[gaussian(mu_squared=0.05 * small)])
    with pytest.raises(BudgetRefused, match="cannot pay"):
        between.bind(week(2, first=2800))
    assert ledger.dataset("s").guaranteed.holds
    assert ledger.dataset("y").guaranteed.holds


def test_what_a_new_batch_may_spend_leaves_out_runs_that_name_none_and_linked_datasets(ledger):
    spend(ledger, "s", week(9), events=[gaussian(mu_squared=0.6 * WHOLE)])
    spend(ledger, "s", week(1), batch="week-1", events=[gaussian(mu_squared=0.3 * WHOLE)])
    record = ledger.dataset("s")
    assert (record.counted.mu_squared, record.spent.mu_squared) == pytest.approx((0.6 * WHOLE, 0.9 * WHOLE))
    assert record.more_runs == 1
    asked = {"unit": "document", "adjacency": "add-remove", "delta": 1e-6, "sound": True}
    asked |= {"plans": [[gaussian(mu_squared=0.01 * WHOLE)]]}
    assert ledger.quote(dataset="s", batch="week-1", **asked).left == pytest.approx(0.1)
    assert ledger.quote(dataset="s", batch="week-2", **asked).left == pytest.approx(0.4)


def test_a_replaced_document_may_change_its_batch_so_that_batches_are_charged_together(ledger):
    spend(ledger, "s", week(1), batch="week-1", events=MOST, adjacency="replace")
    with pytest.raises(BudgetRefused):
        reserve(ledger, "s", batch="week-2", events=MOST, adjacency="replace")
    assert not ledger.dataset("s").parallel


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([None, "a", "b", "c"]), st.floats(0.05, 0.7), st.sampled_from(["s", "t"])),
        max_size=14,
    )
)
def test_no_unit_ever_pays_more_than_the_grant(wishes):
    admitted = []
    for number, (batch, share, dataset) in enumerate(wishes, 1):
        run = a_run(number, dataset, share * WHOLE, batch=batch)
        try:
            admit(LedgerState(runs=admitted, grants={}), run)
        except BudgetRefused:
            continue
        admitted.append(run)
    for dataset in ("s", "t"):
        own = [run for run in admitted if run.dataset == dataset]
        by_unit = [  # what a document of each batch pays, by its own account
            math.fsum(run.cost.mu_squared for run in own if run.batch in (None, batch)) for batch in "abcd"
        ]
        assert max(by_unit) <= WHOLE * (1 + 1e-9)
        assert total(own).mu_squared == pytest.approx(max(by_unit), abs=1e-12)
