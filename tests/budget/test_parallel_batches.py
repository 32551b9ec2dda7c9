"""Of a series of documents the dearest batches are charged, as many as a document is in; of persons all of them."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ledger_helpers import WHOLE, a_run, gaussian, reserve, sample, spend

from dplda.base.config import DEFAULT_GRANT
from dplda.base.errors import BudgetRefused, GateError, InputError
from dplda.budget import Ledger
from dplda.budget.accountant import capacity
from dplda.budget.guarantees import Grant
from dplda.budget.privacy_filter import LedgerState, admit
from dplda.budget.sketches import Fingerprint

MOST, LITTLE = ([gaussian(mu_squared=share * WHOLE)] for share in (0.6, 0.01))


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
    assert (record.guaranteed.epsilon, record.guaranteed.delta) == DEFAULT_GRANT
    assert any("each document pays for one batch" in remark for remark in record.remarks)
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


def test_a_batch_that_holds_most_of_another_is_refused(ledger):
    spend(ledger, "s", week(1), batch="week-1", events=LITTLE)
    for documents in (week(1), week(2, first=1400), week(3, first=1499)):
        again = reserve(ledger, "s", batch="week-2", events=LITTLE)
        with pytest.raises(BudgetRefused, match=r"'week-2'.* --batches-per-document 2"):
            again.bind(documents)
    small = reserve(ledger, "s", batch="week-3", events=LITTLE)
    with pytest.raises(BudgetRefused, match="--batches-per-document 2"):
        small.bind(Fingerprint("a part", sample(range(1000, 1012))))
    assert ledger.dataset("s").batches_per_document == 1


def test_a_batch_of_parts_of_several_batches_is_refused(ledger):
    for number in (1, 2, 3):
        spend(ledger, "s", week(number), batch=f"week-{number}", events=LITTLE)
    thirds = Fingerprint(
        "thirds", sample(document for number in (1, 2, 3) for document in range(1000 * number, 1000 * number + 333))
    )
    with pytest.raises(BudgetRefused, match="--batches-per-document 2"):
        reserve(ledger, "s", batch="week-4", events=LITTLE).bind(thirds)


def test_documents_that_are_in_several_batches_pay_for_as_many(ledger):
    """The dearest batches count, whichever they are: which document is where is not known."""
    for number, share in ((1, 0.1), (2, 0.2), (3, 0.4)):
        spend(ledger, "s", week(number), batch=f"week-{number}", events=[gaussian(mu_squared=share * WHOLE)])
    spend(ledger, "s", week(4, first=3900), batch="week-4", events=LITTLE)
    record = ledger.dataset("s")
    assert (record.batches_per_document, record.batches_declared) == (2, 1)
    assert record.spent.mu_squared == pytest.approx(0.6 * WHOLE)
    assert record.counted.mu_squared == pytest.approx(0.4 * WHOLE)  # that of a document in a new batch and the dearest
    assert record.shared_batches == ("week-3", "week-4")
    assert record.linked == ("s",)
    assert any(
        "pays for 2 batches, those that spent most, as its documents show" in remark for remark in record.remarks
    )
    assert "the 2 batches that spent most" in record.in_short
    assert reserve(ledger, "s", batch="week-5", events=[gaussian(mu_squared=0.59 * WHOLE)])
    with pytest.raises(BudgetRefused, match="cannot pay"):
        reserve(ledger, "s", batch="week-6", events=[gaussian(mu_squared=0.42 * WHOLE)])


def test_a_run_whose_documents_would_take_the_series_beyond_its_grant_is_refused_and_changes_nothing(ledger):
    for number in (1, 2):
        spend(ledger, "s", week(number), batch=f"week-{number}", events=MOST)
    with pytest.raises(BudgetRefused, match=r"cannot pay .* Documents are in 2 batches"):
        reserve(ledger, "s", batch="week-3", events=LITTLE).bind(week(3, first=2900))
    assert ledger.dataset("s").batches_per_document == 1
    spend(ledger, "s", week(3), batch="week-3", events=LITTLE)


def test_fewer_texts_in_common_than_recur_by_chance_change_nothing(ledger):
    spend(ledger, "s", week(1), batch="week-1", events=MOST)
    spend(ledger, "s", week(2, first=1970), batch="week-2", events=MOST)
    record = ledger.dataset("s")
    assert (record.batches_per_document, record.shared_batches) == (1, ("week-1", "week-2"))
    assert any("some texts of these batches are in another batch" in remark for remark in record.remarks)


def test_declared_batches_are_charged_and_the_largest_declaration_holds(ledger):
    ledger.grant("s", batches_per_document=2)
    spend(ledger, "s", week(1), batch="week-1", events=MOST)
    with pytest.raises(BudgetRefused, match=r"cannot pay .* As declared.* 2 batches"):
        reserve(ledger, "s", batch="week-2", events=MOST)
    spend(ledger, "s", week(1), batch="week-2", events=LITTLE)  # all of them are in two batches, as declared
    with pytest.raises(BudgetRefused, match="--batches-per-document 3"):
        reserve(ledger, "s", batch="week-3", events=LITTLE).bind(week(1))
    ledger.grant("s")
    record = ledger.dataset("s")
    assert (record.batches_per_document, record.batches_declared) == (2, 2)
    assert any("pays for 2 batches, those that spent most, as declared" in remark for remark in record.remarks)
    for wrong in (0, 1.5, "2"):
        with pytest.raises(InputError, match=r"^batches_per_document "):
            ledger.grant("s", batches_per_document=wrong)


@pytest.mark.parametrize("share", [0.24, 0.9])
def test_six_random_samples_of_one_collection_are_charged_for_the_batches_that_documents_are_in(ledger, share):
    """Each holds 45 % of the documents: at the whole grant each, one in all six would lose epsilon 11.3 of 4."""
    rng = np.random.default_rng(0)
    samples = [set(np.flatnonzero(rng.random(4000) < 0.45).tolist()) for _ in range(6)]
    ledger.grant("s", batches_per_document=2)
    admitted = []
    for number, documents in enumerate(samples):
        reservation = None
        with suppress(BudgetRefused):
            reservation = reserve(ledger, "s", batch=f"{number}", events=[gaussian(mu_squared=share * WHOLE)])
            reservation.bind(Fingerprint(f"sample {number}", sample(documents)))
            admitted.append(documents)
    pays = np.bincount([document for documents in admitted for document in documents])
    assert len(admitted) == (4 if share < 0.5 else 1)
    assert share * np.sort(pays)[-int(0.05 * len(pays))] <= 1


READ = {"language": "en", "lemmas": False, "tokenizer": "fast", "stopwords": None, "ngrams": None}


@pytest.mark.parametrize(
    "read", full_after(1, [READ | {"ngrams": 2}, READ | {"language": "de"}, READ | {"stopwords": "ab12"}, {}])
)
@pytest.mark.parametrize("end", ["finish", "killed", "unsupported"])
def test_batches_are_read_alike_whatever_became_of_the_runs_on_them(ledger, read, end):
    """Documents that are read otherwise have other fingerprints, so that a batch could be fitted under two names."""
    earlier = reserve(ledger, "s", batch="week-1", events=MOST, parameters=READ)
    earlier.bind(week(1))
    earlier.charge(earlier.events[0])
    if end == "finish":
        earlier.finish(model=None, seconds={})
    elif end == "unsupported":
        earlier.abandon("unsupported", "")
    for batch in ("week-1", "week-2"):
        with pytest.raises(BudgetRefused, match=earlier.run):
            reserve(ledger, "s", batch=batch, events=LITTLE, parameters=read)
    reserve(ledger, "s", batch="week-2", events=LITTLE, parameters=READ)
    reserve(ledger, "s", batch="week-2", events=LITTLE, parameters=READ)
    reserve(ledger, "other", batch="week-2", events=LITTLE, parameters=read)  # a series of its own


def test_with_ids_batches_may_be_read_otherwise(ledger):
    reserve(ledger, "s", batch="week-1", events=MOST, parameters=READ, id_field="ticket")
    reserve(ledger, "s", batch="week-2", events=LITTLE, parameters=READ | {"ngrams": 2}, id_field="ticket")
    assert [run.batch for run in ledger.runs()] == ["week-1", "week-2"]


def test_who_publishes_is_told_that_documents_are_in_more_batches_than_declared(ledger):
    ledger.grant("s", 4.0, 1e-5)
    small = capacity(4.0, 1e-5).mu_squared
    for number, first in ((1, 1000), (2, 1600)):
        spend(ledger, "s", week(number, first=first), batch=f"week-{number}", events=[gaussian(mu_squared=0.4 * small)])
    told = ledger.dataset("s").in_reports
    assert "which is for documents in at most 1 of the batches, as declared" in told
    assert "were seen in 2" in told
    assert "--batches-per-document 2" in told
    ledger.grant("s", 4.0, 1e-5, batches_per_document=2)
    assert ledger.dataset("s").in_reports == ""


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
    with pytest.raises(InputError, match=r"^batch "):
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
    ),
    st.integers(1, 4),
)
def test_no_unit_ever_pays_more_than_the_grant(wishes, most):
    """Whatever batches, at most as many as declared, a document is in."""
    admitted = []
    grants = {"s": [Grant(batches_per_document=most)]}
    for number, (batch, share, dataset) in enumerate(wishes, 1):
        run = a_run(number, dataset, share * WHOLE, batch=batch)
        try:
            admit(LedgerState(runs=admitted, grants=grants), run)
        except BudgetRefused:
            continue
        admitted.append(run)
    state = LedgerState(runs=admitted, grants=grants)
    for dataset, declared in (("s", most), ("t", 1)):
        own = [run for run in admitted if run.dataset == dataset]
        by_unit = {  # what a document in some batches pays, by its own account
            batches: math.fsum(run.cost.mu_squared for run in own if run.batch is None or run.batch in batches)
            for batches in combinations("abcd", declared)
        }
        assert max(by_unit.values()) <= WHOLE * (1 + 1e-9)
        assert state.total(own).mu_squared == pytest.approx(max(by_unit.values()), abs=1e-12)
        for batch in "abcd":
            of_batch = max(paid for batches, paid in by_unit.items() if batch in batches)
            assert state.total(own, (dataset, batch)).mu_squared == pytest.approx(of_batch, abs=1e-12)


def test_what_a_report_states_follows_from_what_may_be_published(ledger, tmp_path):
    """Whether batches overlap, and how incomplete runs ended, changed the guarantee on the page."""
    published = []
    small = capacity(4.0, 1e-5).mu_squared
    for number, first in enumerate((2000, 1900)):  # without and with documents in common
        other = Ledger(tmp_path / f"{number}.db")
        other.grant("s", 4.0, 1e-5, listed=(8.0,))
        spend(other, "s", week(1), batch="week-1", events=[gaussian(mu_squared=0.95 * small)])
        other.grant("s", 8.0, 1e-5)
        spend(other, "s", week(2, first=first), batch="week-2", events=[gaussian(mu_squared=0.95 * small)])
        published.append(other.dataset("s").guaranteed_alone)
        assert (other.dataset("s").guaranteed == published[-1]) == (first == 2000)
    assert published[0] == published[1]
    for number, ends in enumerate((lambda run: None, lambda run: run.bind(week(1)) or run.charge(run.events[0]))):
        other = Ledger(tmp_path / f"incomplete {number}.db")
        run = reserve(other, "s", events=[gaussian(mu_squared=0.3 * small)])
        ends(run)
        run.abandon("cancelled", "interrupted")
        other.grant("s", 4.0, 1e-5)
        spend(other, "s", week(1), events=LITTLE)
        published.append(other.dataset("s").guaranteed_alone)
    assert published[2] == published[3]
    assert (
        "how incomplete runs ended is not for publication"
        in Ledger(tmp_path / "incomplete 0.db").dataset("s").in_reports
    )


IDS = st.sets(st.integers(1, 30), min_size=1)
STEPS = st.lists(
    st.tuples(st.sampled_from(["begin", "charge", "end"]), st.integers(0, 3), st.sampled_from("AB"), IDS), max_size=12
)


@given(STEPS)
@example(
    [
        ("begin", 0, "A", {1}),
        ("begin", 1, "A", {1}),
        ("end", 0, "A", {1}),
        ("charge", 1, "A", {1}),
        ("begin", 0, "B", {1}),
        ("charge", 0, "B", {1}),
    ]
)
def test_a_document_counts_in_one_batch_alone_however_runs_come_and_end(tmp_path_factory, steps):
    """By its id. A run that is only reserved holds its ids; a run that ends without a charge gives them back."""
    ledger = Ledger(tmp_path_factory.mktemp("ids") / "l.db")
    open_runs, charged = {}, []
    for step, slot, batch, wanted in steps:
        if step == "begin" and slot not in open_runs:
            run = reserve(ledger, "s", batch=batch, events=[gaussian(mu_squared=0.01)], id_field="ticket")
            ids = np.array(sorted(wanted), np.uint64)
            ids = ids[run.of_this_batch(ids)]
            run.bind(Fingerprint(f"{run.run}", sample(ids.tolist()), ids=ids))
            open_runs[slot] = run, batch, set(ids.tolist())
        elif step == "charge" and slot in open_runs:
            run, of_batch, held = open_runs.pop(slot)
            run.charge(run.events[0])
            run.finish(model=None, seconds={})
            charged.append((of_batch, held))
        elif step == "end" and slot in open_runs:
            open_runs.pop(slot)[0].abandon("cancelled", "interrupted")
    in_a, in_b = (set().union(*(ids for batch, ids in charged if batch == name)) for name in "AB")
    assert not in_a & in_b


def test_ids_are_of_one_column_in_all_runs_on_a_dataset_and_on_its_copies(ledger):
    ids = Fingerprint("week", sample(range(100)), ids=np.arange(1, 101, dtype=np.uint64))
    spend(ledger, "s", ids, batch="week-1", events=LITTLE, id_field="ticket")
    for changes in ({"batch": "week-2"}, {"batch": "week-2", "id_field": "row"}, {}):
        with pytest.raises(BudgetRefused, match="--id-field ticket"):
            reserve(ledger, "s", events=LITTLE, **changes)
    reserve(ledger, "s", events=LITTLE, id_field="ticket")
    copy = reserve(ledger, "copy", events=LITTLE)
    with pytest.raises(BudgetRefused, match=r"'s', .*\(--id-field ticket\)"):
        copy.bind(Fingerprint("copy", sample(range(100))))
    spend(ledger, "other", Fingerprint("other", sample(range(100)), ids=ids.ids), events=LITTLE, id_field="number")
    with pytest.raises(GateError, match="ids"):
        reserve(ledger, "s", events=LITTLE, id_field="ticket").bind(Fingerprint("week", sample(range(100))))
