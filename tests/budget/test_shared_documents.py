"""Datasets that share documents under other names, as parts or as edited copies, are charged together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_helpers import DEFAULT_TOTAL, WHOLE, gaussian, interrupt, reserve, sample, spend

from dplda.base.errors import BudgetRefused, RaisedGrantWarning
from dplda.budget import Ledger
from dplda.budget.accountant import Cost, capacity
from dplda.budget.quotes import Quote
from dplda.budget.sketches import Fingerprint

ALL = range(1000)
LIKE = {
    "half of the documents": range(500),
    "a tenth of them": range(100),
    "more documents": range(2000),
    "one document edited": [*range(1, 1000), 5000],
    "half of them replaced": range(500, 1500),
}


def of(documents) -> Fingerprint:
    return Fingerprint(f"{len(documents)} from {documents[0]}", sample(documents))


@pytest.mark.parametrize("name", LIKE)
def test_a_copy_edited_cut_or_extended_under_another_name_is_charged_to_both(ledger, name):
    spend(ledger, "first", of(ALL), events=[gaussian(mu_squared=0.6 * WHOLE)])
    with pytest.raises(BudgetRefused, match="Dataset 'copy' cannot pay"):
        spend(ledger, "copy", of(LIKE[name]), events=[gaussian(mu_squared=0.6 * WHOLE)])
    assert [run.status for run in ledger.runs()] == ["done", "refused"]
    spend(ledger, "copy", of(LIKE[name]), events=[gaussian(mu_squared=0.4 * WHOLE)])
    for dataset in ledger.datasets():
        assert dataset.linked == ("copy", "first")
        assert dataset.spent.mu_squared == pytest.approx(WHOLE)
    with pytest.raises(BudgetRefused):
        reserve(ledger, "first", events=[gaussian(mu_squared=0.01)])
    assert Ledger(ledger.path).verify().ok


def test_what_a_report_of_one_name_states_is_told_apart_from_what_holds_for_all_names(ledger):
    """`b` was granted 5 after `a` had spent on a copy: its limit may have been chosen by what `a` showed."""
    little = [gaussian(mu_squared=0.1)]
    spend(ledger, "a", of(ALL), events=little)
    assert ledger.dataset("a").in_reports == ""
    ledger.grant("b", 5.0, 1e-5)
    spend(ledger, "b", of(LIKE["one document edited"]), events=little)
    record = ledger.dataset("b")
    assert f"of those in force before the first output: {DEFAULT_TOTAL} (exact, not for publication" in record.guarantee
    assert "recorded under this name alone (epsilon 5 at delta 1e-05)" in record.in_reports
    assert f"With the other names it is {DEFAULT_TOTAL}: tell its readers that" in record.in_reports
    assert ledger.dataset("a").in_reports == ""  # nothing came before it


def test_a_smaller_grant_of_another_name_is_no_promise_of_this_one(ledger):
    little = [gaussian(mu_squared=0.1)]
    ledger.grant("a", 5.0, 1e-5)
    spend(ledger, "a", of(ALL), events=little)
    spend(ledger, "b", of(ALL), events=little)
    record = ledger.dataset("b")
    assert record.guarantee.startswith(f"the guarantee is the whole grant: {DEFAULT_TOTAL}; the smaller grant of a")
    assert "learns that the two share documents" in record.guarantee
    assert ledger.dataset("a").guarantee == "the guarantee is the whole grant: epsilon 5 at delta 1e-05"


def test_a_grant_raised_under_one_name_is_told_of_the_other_names_and_named_as_the_cause(ledger):
    """`b` had its outputs later and was never raised; what ends its guarantee is `a`."""
    half = 0.5 * capacity(2.0, 1e-5).mu_squared
    ledger.grant("a", 2.0, 1e-5)
    spend(ledger, "a", of(ALL), events=[gaussian(mu_squared=half)])
    spend(ledger, "b", of(ALL), events=[gaussian(mu_squared=0.01)])
    assert "raised" not in ledger.dataset("b").guarantee
    with pytest.warns(RaisedGrantWarning, match=r"once more .* nothing is guaranteed; for b \(exact, not .* the same"):
        ledger.grant("a", 4.0, 1e-5)
    told = ledger.dataset("b").guarantee
    assert told.startswith("the guarantee is the whole grant: epsilon 10")
    assert "the grant of a, which shares documents with this name" in told
    assert "once more than epsilon 2 is spent, the largest total that was set or listed for a" in told

    def warned(name: str, share: float) -> str:
        return Quote(dataset=ledger.dataset(name), cost=Cost(share * half, 0.0)).warning

    assert warned("a", 0.9) == warned("b", 0.9) == ""
    assert "fixed before its first output. The grant of a was raised" in warned("a", 1.1)
    assert warned("a", 1.1).endswith("For b (exact, not for publication) it is the same.")
    assert "epsilon 2 at delta 1e-05" in warned("b", 1.1)
    assert "the first output of a, which shares documents with it. The grant of a was raised" in warned("b", 1.1)
    spend(ledger, "b", of(ALL), events=[gaussian(mu_squared=1.1 * half)])
    told = ledger.dataset("b").guarantee
    assert told.startswith("no guarantee fixed beforehand, because of a, which shares documents with this name")
    assert "more was spent than epsilon 2," in told
    assert ledger.dataset("a").guarantee.startswith("no guarantee fixed beforehand: more was spent, up to epsilon 4")
    assert "epsilon 10" in ledger.dataset("b").in_reports


def test_a_grant_raised_after_a_refused_run_says_what_reports_will_state(ledger):
    """How the refused run ended is not for publication, so that reports count it as an output."""
    ledger.grant("b", 0.5, 1e-6)
    spend(ledger, "a", of(ALL), events=[gaussian(mu_squared=capacity(1.0, 1e-6).mu_squared)])
    with pytest.raises(BudgetRefused):
        spend(ledger, "b", of(ALL), events=[gaussian(mu_squared=0.5 * capacity(0.5, 1e-6).mu_squared)])
    assert (
        "but not for the documents of its latest run, which was refused, if other names share them"
        in ledger.dataset("b").guarantee
    )
    with pytest.warns(RaisedGrantWarning, match=r"a report states"):
        ledger.grant("b", 6.0, 1e-6)
    assert "a report states epsilon 0.5 at delta 1e-06" in ledger._repr_html_()
    cost = Cost(capacity(1.0, 1e-6).mu_squared, 0.0)
    assert "reports would state no total of all runs" in Quote(dataset=ledger.dataset("b"), cost=cost).warning


def test_a_name_that_loses_its_guarantee_by_another_without_a_limit_says_so(ledger):
    """A limit was in force for this name: it was said that there was and is none."""
    ledger.grant("a", 4.0, 1e-6)
    spend(ledger, "a", of(ALL), events=[gaussian(mu_squared=0.01)])
    ledger.grant("free", unbounded=True)
    spend(ledger, "free", of(ALL), events=[gaussian(mu_squared=0.01)])
    told = ledger.dataset("a").guarantee
    assert told.startswith("no guarantee: it shares documents with free (exact, not for publication), which had runs")
    assert ledger.dataset("free").guarantee.startswith("no guarantee: no limit is or was in force")
    with pytest.warns(RaisedGrantWarning, match="it shares documents with free"):
        ledger.grant("a", 4.0, 1e-6)


def test_documents_in_common_below_the_threshold_link_nothing(ledger):
    spend(ledger, "first", of(ALL))
    spend(ledger, "second", of(range(991, 1991)))
    assert ledger.dataset("second").linked == ("second",)


def test_a_dataset_that_shares_with_two_links_them_through_itself(ledger):
    for name, documents in (("a", range(100)), ("b", range(900, 1000)), ("bridge", ALL)):
        spend(ledger, name, of(documents), events=[gaussian(mu_squared=1.0)])
    assert ledger.dataset("a").linked == ("a", "b", "bridge")
    assert ledger.dataset("a").spent.mu_squared == pytest.approx(3.0)


def test_a_refused_run_leaves_no_sketch_and_links_nothing(ledger):
    spend(ledger, "first", of(ALL), events=[gaussian(mu_squared=WHOLE)])
    run = reserve(ledger, "second", events=[gaussian(mu_squared=1.0)])
    with pytest.raises(BudgetRefused):
        run.bind(of(range(500)))
    with ledger._store.reading() as session:
        sketches = session.connection().exec_driver_sql("SELECT fingerprint FROM sketches").scalars().all()
        assert (sketches, session.connection().exec_driver_sql("SELECT * FROM overlaps").all()) == ([of(ALL).code], [])
    assert ledger.dataset("second").linked == ("second",)


def test_a_run_that_took_nothing_is_no_bridge(ledger):
    spend(ledger, "a", of(range(100)))
    idle = reserve(ledger, "bridge")
    idle.bind(of(ALL))
    idle.abandon("cancelled", "by the user")
    spend(ledger, "b", of(range(900, 1000)))
    assert ledger.dataset("a").linked == ("a",)


def test_unit_and_adjacency_hold_across_shared_documents(ledger):
    spend(ledger, "first", of(ALL))
    run = reserve(ledger, "people", unit="user")
    with pytest.raises(
        BudgetRefused,
        match=r"'first', .*'people' \(exact, not for publication\), is fixed to unit",
    ):
        run.bind(of(range(500)))


def test_a_column_that_is_protected_may_be_in_another_file(ledger):
    spend(ledger, "first", of(ALL), unit="user")
    protect = r"--unit-field user \(in Python, unit_field=\)\."
    read_the_file = rf"{protect} If what is read here has no such column, read the file that has it\."
    with pytest.raises(BudgetRefused, match=read_the_file):
        reserve(ledger, "first")


def test_a_part_of_a_private_dataset_is_not_taken_for_public(ledger):
    spend(ledger, "first", of(ALL))
    with pytest.raises(
        BudgetRefused,
        match=r"'first', .*'open' \(exact, not for publication\), has a bounded",
    ):
        ledger.check_public("open", of(range(500)))
    ledger.check_public("open", of(range(5000, 6000)))
    ledger.grant("first", unbounded=True)
    ledger.check_public("open", of(range(500)))


def test_sketches_and_overlaps_are_in_the_journal(ledger):
    spend(ledger, "first", of(ALL))
    spend(ledger, "copy", of(range(500)))
    for statement, named in (("DELETE FROM overlaps", "overlaps"), ("UPDATE sketches SET documents = ''", "sketches")):
        with ledger._store.writing() as session:
            session.connection().exec_driver_sql(statement)
        assert any(problem.startswith(named) for problem in ledger.verify().problems)


@settings(max_examples=10)  # each run is forced to disk several times
@given(
    parts=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 8), st.integers(1, 6), st.floats(0.05, 0.6)), max_size=6
    )
)
def test_no_document_is_charged_beyond_the_grant_however_corpora_overlap(tmp_path_factory, parts):
    """Corpora are runs of tens of documents: any that share one share at least a sixth of the smaller."""
    ledger = Ledger(tmp_path_factory.mktemp("overlap") / "ledger.db")
    charged = dict.fromkeys(range(14), 0.0)
    for dataset, first, length, share in parts:
        tens = range(first, first + length)
        documents = range(10 * tens.start, 10 * tens.stop)
        try:
            spend(ledger, dataset, of(documents), events=[gaussian(mu_squared=share * WHOLE)])
        except BudgetRefused:
            continue
        for ten in tens:
            charged[ten] += share
    assert max(charged.values()) <= 1 + 1e-9


def test_an_interrupted_run_is_not_laid_to_other_names(ledger):
    """Other names make a guarantee weaker and never stronger: here, reports count the interrupted run in full."""
    ledger.grant("a", 6.0, 1e-6, listed=(8.0,))
    whole = capacity(6.0, 1e-6).mu_squared
    spend(ledger, "a", of(ALL), events=[gaussian(mu_squared=0.1 * whole)])
    spend(ledger, "b", of(ALL), events=[gaussian(mu_squared=0.1 * whole)])
    interrupt(ledger, "a", events=[gaussian("size", 0.001), gaussian(mu_squared=0.3 * whole)])
    spend(ledger, "a", of(ALL), events=[gaussian(mu_squared=0.7 * whole)])
    record = ledger.dataset("a")
    assert (record.guaranteed.total, record.guaranteed_alone.total) == (
        "epsilon 6 at delta 1e-06",
        "epsilon 8 at delta 2e-06",
    )
    assert record.in_reports == "", "the largest listed total is quoted, whichever is reached"
    assert "epsilon 8 at delta 1e-06 holds, whichever" in record.to_tell
