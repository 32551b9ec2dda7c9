from __future__ import annotations

import json
import math
import warnings
from contextlib import nullcontext, suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_helpers import DEFAULT_TOTAL, a_run, gaussian, interrupt, reserve, spend

from dplda.base.config import DEFAULT_GRANT
from dplda.base.errors import BudgetRefused, InputError, RaisedGrantWarning, SmallDeltaWarning
from dplda.budget import PlannedEvent, Quote
from dplda.budget.accountant import Cost, Share, calibrate, capacity, gaussian_delta, gaussian_epsilon
from dplda.budget.events import Event, at_least
from dplda.budget.guarantees import Basis
from dplda.budget.sketches import Fingerprint

PRIVATE = {"created", "seconds", "fingerprint", "fingerprints"}


def test_shareable_json_of_runs_and_datasets_has_no_private_by_products(ledger):
    run = reserve(ledger)
    run.bind(Fingerprint("secret-fingerprint"))
    run.finish(model="models/x", seconds={"core": 12.345})
    texts = [json.dumps(record.to_json(), allow_nan=False) for record in (ledger.runs()[0], *ledger.datasets())]
    for text in texts:
        assert PRIVATE.isdisjoint(json.loads(text))
        assert "secret" not in text
        assert "12.345" not in text


def test_infinite_costs_are_null_in_json(ledger):
    ledger.grant("reviews", unbounded=True)
    spend(ledger, sound=False)
    assert ledger.runs()[0].to_json()["mu_squared"] is None
    record = ledger.dataset("reviews").to_json()
    assert (record["spent"]["epsilon"], record["grant"]["epsilon"], record["grant"]["unbounded"]) == (
        None,
        None,
        True,
    )


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.booleans()), max_size=5), st.sampled_from(["done", "failed"]))
def test_a_run_costs_all_while_open_and_what_was_asked_once_ended(events, status):
    plan = tuple(PlannedEvent(event=gaussian(mu_squared=m), charged=asked) for m, asked in events)
    assert a_run(plan=plan, status="reserved").cost.mu_squared == pytest.approx(sum(m for m, _ in events))
    assert a_run(plan=plan, status=status).cost.mu_squared == pytest.approx(sum(m for m, asked in events if asked))


def test_an_unsound_run_costs_infinitely_much_unless_it_ended_without_an_answer():
    idle = (PlannedEvent(event=gaussian(), charged=False),)
    for status, plan in (("reserved", ()), ("done", ()), ("failed", a_run().plan), ("reserved", idle)):
        assert a_run(sound=False, status=status, plan=plan).cost.mu_squared == math.inf
    assert not a_run(sound=False, status="failed", plan=idle).is_charged


def test_spent_epsilon_holds_at_the_grants_delta_with_failures_taken_off(ledger):
    ledger.grant("reviews", 10.0, 1e-5)
    spend(ledger, events=[gaussian(mu_squared=0.5, delta=5e-8)])
    dataset = ledger.dataset("reviews")
    assert gaussian_delta(math.sqrt(0.5), dataset.spent_epsilon) + 5e-8 <= 1e-5 * (1 + 1e-9)
    assert dataset.remaining == pytest.approx(0.5)  # failures: 5e-8 of 1e-7; Gaussian part: about an eighth


def test_remaining_is_the_share_of_the_filter(ledger):
    spend(ledger, events=[gaussian(mu_squared=capacity(*DEFAULT_GRANT).mu_squared / 4)])
    assert ledger.dataset("reviews").remaining == pytest.approx(0.75)
    left = gaussian_epsilon(math.sqrt(0.75 * capacity(*DEFAULT_GRANT).mu_squared), 0.99e-6)
    told = float(ledger.dataset("reviews").remaining_text.split()[8])
    assert left - 0.001 < told <= left


def test_what_is_left_is_said_at_the_deltas_of_a_run_and_of_the_grant(ledger):
    ledger.grant("reviews", 10.0, 1e-5)
    ledger.grant("letters", 6.0, 1e-6)
    assert (
        "(the same spending as epsilon 10 at the grant's delta, 1e-05; several runs"
        in ledger.dataset("reviews").remaining_text
    )
    assert "at delta 1e-06 (several runs" in ledger.dataset("letters").remaining_text


def test_of_a_raised_grant_the_guaranteed_room_is_told_first(ledger):
    limit, events = capacity(*DEFAULT_GRANT).mu_squared, [gaussian(mu_squared=0.21)]
    spend(ledger, events=events)
    before = ledger.dataset("reviews")
    assert "guaranteed" not in before.remaining_text + before.in_short
    ledger.grant("reviews", 20.0, 1e-5)
    record = ledger.dataset("reviews")
    fixed, beyond = record.remaining_text.split("; beyond it nothing is guaranteed, and by the grant now in force ")
    assert fixed.startswith("within the guaranteed epsilon 10, one more run may have up to epsilon ")
    left = gaussian_epsilon(math.sqrt(limit - 0.21), 0.99e-6)
    assert left - 0.001 < float(fixed.split()[13]) <= left
    assert float(beyond.split()[8]) > 2 * left
    assert (
        f"; within the guaranteed epsilon 10, about {before.more_runs} more runs like the last, in all about "
        f"{record.more_runs} more runs like the last"
    ) in record.in_short
    spend(ledger, events=[gaussian(mu_squared=limit)])
    assert "within the guaranteed" not in ledger.dataset("reviews").remaining_text, "nothing is guaranteed"


@pytest.mark.parametrize(("failed", "needs_list"), [(9.89e-8, False), (9.92e-8, True)])
def test_a_run_that_can_choose_no_words_any_more_needs_a_public_list(ledger, failed, needs_list):
    ledger.grant("reviews", 10.0, 1e-5)
    spend(ledger, events=[gaussian(mu_squared=0.1, delta=failed)])
    told = ledger.dataset("reviews").remaining_text
    assert ("if its words come from a public list (--vocabulary)" in told) == needs_list
    share = (Share(stage="vocabulary", weight=1.0, selects_words=True),)
    with pytest.raises(BudgetRefused, match="--vocabulary") if needs_list else nullcontext():
        spend(ledger, events=calibrate(share, 1.0, 1e-6))
    ledger.grant("reviews", unbounded=True)
    assert ledger.dataset("reviews").remaining_text == "spending has no limit"


def test_after_a_refusal_for_its_documents_no_figure_of_the_name_alone_is_told(ledger):
    spend(ledger, events=[gaussian(mu_squared=capacity(*DEFAULT_GRANT).mu_squared)])
    with pytest.raises(BudgetRefused):
        spend(ledger, "copy")
    told = ledger.dataset("copy").remaining_text
    assert "its latest run was refused" in told
    assert "may have up to" not in "".join((told, *ledger.dataset("copy").on_reports))
    spend(ledger, "copy", fingerprint="others")
    assert "may have up to" in ledger.dataset("copy").remaining_text


@pytest.mark.parametrize("events", [[gaussian(mu_squared=0.21)], [gaussian(mu_squared=0.01, delta=3e-9)]])
def test_the_stated_number_of_further_runs_is_what_the_filter_admits(ledger, events):
    spend(ledger, events=events)
    promised = ledger.dataset("reviews").more_runs
    assert f"about {promised} more runs like the last" in ledger.dataset("reviews").in_short
    assert ("limited by delta" in ledger.dataset("reviews").in_short) == (events[0].delta > 0)
    for left in reversed(range(promised)):
        spend(ledger, events=events)
        assert ledger.dataset("reviews").more_runs == left
    assert "no room for another run like the last" in ledger.dataset("reviews").in_short
    with pytest.raises(BudgetRefused):
        spend(ledger, events=events)


def test_further_runs_must_fit_the_grants_of_linked_datasets_too(ledger):
    for name in ("reviews", "letters"):
        run = reserve(ledger, dataset=name, events=[gaussian(mu_squared=0.2)])
        run.bind(Fingerprint("same"))
        run.charge(gaussian(mu_squared=0.2))
        run.finish(model=None, seconds={})
    alone = ledger.dataset("reviews").more_runs
    ledger.grant("letters", 4.0, 1e-5)
    assert 0 < ledger.dataset("reviews").more_runs < alone


def test_before_the_first_run_nothing_is_spent(ledger):
    ledger.grant("reviews", 4.0, 1e-6)
    assert ledger.dataset("reviews").in_short == "nothing spent of epsilon 4 (at delta 1e-06)"
    assert ledger.dataset("reviews").more_runs is None


def test_guarantee_and_spending_are_told_apart_in_words(ledger):
    spend(ledger, events=[gaussian(mu_squared=0.1)])
    dataset = ledger.dataset("reviews")
    assert dataset.guarantee == f"the guarantee is the whole grant: {DEFAULT_TOTAL}"
    spent = f"epsilon {at_least(dataset.spent_epsilon)} at delta {DEFAULT_GRANT[1]:g}"
    assert dataset.spent_so_far == f"spent so far: {spent}"


def test_lowering_a_grant_to_what_was_spent_does_not_improve_the_guarantee(ledger):
    spend(ledger, events=[gaussian(mu_squared=0.1)])
    ledger.grant("reviews", 2.0, 1e-5)
    words = f"the guarantee is the grant that was in force before the first output: {DEFAULT_TOTAL}"
    assert ledger.dataset("reviews").guarantee == words
    ledger.grant("reviews", *DEFAULT_GRANT)
    assert ledger.dataset("reviews").guarantee == f"the guarantee is the whole grant: {DEFAULT_TOTAL}"


def test_a_dataset_from_which_anything_was_released_without_a_limit_has_no_guarantee(ledger):
    spend(ledger, events=[gaussian(mu_squared=0.1)])
    ledger.grant("reviews", unbounded=True)
    ledger.grant("reviews", *DEFAULT_GRANT)
    assert ledger.dataset("reviews").guarantee.startswith("the guarantee is the whole grant")  # nothing came of it
    ledger.grant("reviews", unbounded=True)
    spend(ledger, sound=False)
    ledger.grant("reviews", *DEFAULT_GRANT)
    assert ledger.dataset("reviews").guarantee.startswith("no guarantee")
    assert ledger.dataset("reviews").guaranteed.basis == Basis.NO_LIMIT
    assert ledger.dataset("reviews").to_json()["guaranteed"] == {
        "epsilon": None,
        "delta": None,
        "basis": Basis.NO_LIMIT,
    }


def test_totals_are_listed_before_the_first_output_or_not_at_all(ledger):
    ledger.grant("reviews", 1.0, 1e-6, listed=[2.0])
    ledger.grant("reviews", 1.0, 1e-6, listed=[3.0])
    spend(ledger, events=[gaussian(mu_squared=0.001)])
    with pytest.raises(InputError, match=r"--then.*in Python, listed="):
        ledger.grant("reviews", 2.0, 1e-6, listed=[4.0])
    assert list(ledger.dataset("reviews").grant.listed) == [3.0]


def test_a_grant_between_two_listed_levels_has_the_guarantee_of_the_larger_one(ledger):
    ledger.grant("reviews", 1.0, 1e-6, listed=[2.0, 4.0])
    spend(ledger, events=[gaussian(mu_squared=0.001)])
    ledger.grant("reviews", 3.0, 1e-6)
    record = ledger.dataset("reviews")
    to_quote = "so quote the largest: epsilon 4 at delta 1e-06 holds, whichever is reached"
    larger = "the guarantee is a larger listed total: at most epsilon 4 at delta 3e-06"
    assert record.guarantee.endswith(f"{larger}; {to_quote}")
    assert record.raises == "the grant may be raised later to epsilon 4, as fixed before the first output"
    spend(ledger, events=[gaussian(mu_squared=0.99 * (capacity(3.0, 1e-6).mu_squared - 0.001))])
    assert str(ledger.dataset("reviews").guaranteed) == "epsilon 4, delta 3e-06"


def test_a_refusal_names_no_listed_level_that_would_not_help_or_be_lost(ledger):
    ledger.grant("reviews", 1.0, 1e-6, listed=[2.0, 4.0])
    large = [gaussian(mu_squared=0.9 * capacity(4.0, 1e-6).mu_squared)]
    with pytest.raises(BudgetRefused) as first:
        spend(ledger, events=large)
    assert "listed" not in str(first.value)  # another grant before the first output would replace the levels
    spend(ledger, events=[gaussian(mu_squared=0.001)])
    with pytest.raises(BudgetRefused, match="--epsilon 4 "):
        spend(ledger, events=large)
    with pytest.raises(BudgetRefused, match=r"--then \(in Python, listed=\).*in Python, Ledger\.grant"):
        spend(ledger, events=[gaussian(mu_squared=2 * capacity(4.0, 1e-6).mu_squared)])


def test_runs_of_other_units_admitted_without_a_limit_share_no_guarantee(ledger):
    spend(ledger, events=[gaussian(mu_squared=0.001)])
    ledger.grant("reviews", unbounded=True)
    assert ledger.dataset("reviews").guaranteed.basis == Basis.FIXED
    spend(ledger, unit="customer", events=[gaussian(mu_squared=0.001)])
    assert ledger.dataset("reviews").guaranteed.basis == Basis.NO_LIMIT
    assert ledger.dataset("reviews").guaranteed_alone.basis == Basis.NO_LIMIT


def test_what_a_quote_shares_does_not_depend_on_linked_datasets(ledger):
    cost = Cost(0.1, 0.0)
    spend(ledger, events=[gaussian(mu_squared=0.001)])
    record = ledger.dataset("reviews")
    less = replace(record, capacity=Cost(0.2, 1e-9))
    assert Quote(dataset=less, cost=cost).to_json() == Quote(dataset=record, cost=cost).to_json()
    assert Quote(dataset=less, cost=cost).share > Quote(dataset=record, cost=cost).share


def test_a_grant_that_outputs_preceded_warns_in_the_words_of_the_record(ledger):
    def warnings_of_grant(*values: float) -> list[str]:
        with warnings.catch_warnings(record=True, action="always", category=RaisedGrantWarning) as caught:
            ledger.grant("reviews", *values)
        return [str(each.message) for each in caught]

    assert warnings_of_grant(3.0, 1e-6) == warnings_of_grant(1.0, 1e-6, False, [2.0]) == []  # before the first output
    spend(ledger, events=[gaussian(mu_squared=0.001)])
    assert warnings_of_grant(2.0, 1e-6) == warnings_of_grant(1.0, 1e-6) == []  # listed, and set, before
    (lowered,) = warnings_of_grant(0.5, 1e-6)
    assert "a total set after the first output limits further runs and improves no guarantee" in lowered
    assert lowered.endswith(f": {ledger.dataset('reviews').guarantee}.")
    (raised,) = warnings_of_grant(3.0, 1e-6)
    assert raised == f"Dataset reviews: {ledger.dataset('reviews').guarantee}."
    assert "the grant now in force (epsilon 3, delta 1e-06) was chosen after looking" in raised
    (unbounded,) = warnings_of_grant(3.0, 1e-6, True)
    assert "unbounded" in unbounded


def test_listed_totals_hold_when_the_grant_exceeds_them_before_they_are_reached(ledger):
    ledger.grant("reviews", 1.0, 1e-6, listed=[2.0])
    spend(ledger, events=[gaussian(mu_squared=0.5 * capacity(1.0, 1e-6).mu_squared)])
    ledger.grant("reviews", 3.0, 1e-6)
    record = ledger.dataset("reviews")
    assert record.guarantee.endswith(
        "once more than epsilon 2 is spent, the largest total listed, nothing is guaranteed"
    )
    assert "within the guaranteed epsilon 2" in record.remaining_text


def test_a_grant_raised_after_looking_is_said_to_be_so(ledger):
    ledger.grant("reviews", 1.0, 1e-6, listed=[2.0])
    assert (
        ledger.dataset("reviews").raises
        == "the grant may be raised later to epsilon 2, as fixed before the first output"
    )
    spend(ledger, events=[gaussian(mu_squared=0.9999 * capacity(1.0, 1e-6).mu_squared)])
    with pytest.raises(BudgetRefused, match=r"raise the grant to epsilon 2,.* --epsilon 2 "):
        spend(ledger, events=[gaussian(mu_squared=0.01)])
    ledger.grant("reviews", 2.0, 1e-6)
    now = "the grant that was in force before the first output: epsilon 1 at delta 1e-06"
    then = "once more than epsilon 1 is spent, the guarantee is a larger listed total: at most epsilon 2 at delta 2e-06"
    to_quote = "so quote the largest: epsilon 2 at delta 1e-06 holds, whichever is reached"
    assert ledger.dataset("reviews").guarantee.endswith(f"{now}; {then}; {to_quote}")
    spend(ledger, events=[gaussian(mu_squared=0.001)])
    record = ledger.dataset("reviews")
    told = "the largest total reached, of those listed before the first output: epsilon 2 at delta 2e-06"
    assert record.guarantee == f"the guarantee is {told} (1e-06 for each listed total up to it)"
    assert "epsilon 2 at delta 1e-06 holds, whichever of the listed totals is reached" in record.to_tell
    assert record.to_json()["guaranteed"] == {"epsilon": 2.0, "delta": 2e-6, "basis": Basis.LISTED}
    ledger.grant("reviews", 3.0, 1e-6)
    assert "(epsilon 3, delta 1e-06) was chosen after looking" in ledger.dataset("reviews").guarantee
    assert ledger.dataset("reviews").to_tell == "", "the listed totals may be exceeded"
    spend(ledger, events=[gaussian(mu_squared=capacity(2.0, 1e-6).mu_squared)])
    record = ledger.dataset("reviews")
    assert record.guarantee.startswith(
        "no guarantee fixed beforehand: more was spent, up to epsilon 3 at delta 1e-06, than"
    )
    assert record.to_json()["guaranteed"]["epsilon"] is None
    assert str(record.guaranteed) == "no guarantee (chosen after looking)"


ENDS = ["failed", "cancelled", "refused", "reserved"]


@pytest.mark.parametrize("status", ENDS)
def test_how_a_run_ended_is_not_shared_unless_released_numbers_decided_it(status):
    plan = tuple(PlannedEvent(event=gaussian(stage), charged=stage == "size") for stage in ("size", "core"))
    shared = [a_run(plan=plan, status=end, reason="why").to_json() for end in (status, ENDS[0])]
    assert shared[0] == shared[1]
    assert (shared[0]["status"], shared[0]["reason"], shared[0]["mu_squared"]) == ("incomplete", "", 2.0)
    assert a_run(plan=plan, status=status, reason="why").local_json()["status"] == status
    done = a_run(plan=plan, status="unsupported", reason="why").to_json()
    assert (done["status"], done["mu_squared"]) == ("unsupported", 1.0)


def test_a_dataset_says_whom_it_is_charged_with_and_for_which_runs_that_never_ended(ledger):
    spend(ledger)
    assert ledger.dataset("reviews").remarks == ()
    dead = reserve(ledger, "copy")
    dead.bind(Fingerprint("f"))
    assert ledger.dataset("reviews").remarks == (
        "shares documents with, and is charged together with (exact, not for publication): copy",
        f"started and never finished (or still running), counted as wholly spent: {dead.run}",
    )
    assert ledger.dataset("copy").to_json()["unfinished"] == [dead.run]
    dead.abandon("cancelled", "by the user")
    assert ledger.dataset("reviews").remarks == ()


def test_an_interrupted_run_counts_in_full_where_others_are_told_and_that_is_said_before_the_next(ledger):
    ledger.grant("reviews", 6.0, 1e-6)
    whole = capacity(6.0, 1e-6).mu_squared
    interrupt(ledger, events=[gaussian("size", 0.001), gaussian(mu_squared=0.6 * whole)])

    def quoted(share: float) -> str:
        return Quote(dataset=ledger.dataset("reviews"), cost=Cost(share * whole, 0.0)).warning

    assert quoted(0.35) == ""
    assert "reports would state no total" in quoted(0.6)
    left = float(quoted(0.6).rpartition("Within it, one more run may have up to epsilon ")[2].split()[0])
    assert left == pytest.approx(gaussian_epsilon((0.4 * whole) ** 0.5, 1e-6), rel=0.01)
    assert left < gaussian_epsilon((0.4 * whole) ** 0.5, 1e-6)
    (remark,) = ledger.dataset("reviews").on_reports
    assert remark.startswith("reports count in full its run that was interrupted, refused or failed, since how a run")
    assert remark.endswith(f"for a total there, one more run may have up to epsilon {left:g} at delta 1e-06")
    spend(ledger, events=[gaussian(mu_squared=0.1 * whole)])
    few = "about 2 more runs like the last, if reports are to state a total (8 otherwise)"
    assert ledger.dataset("reviews").in_short.endswith(f"spent of epsilon 6 (at delta 1e-06); {few}")
    spend(ledger, events=[gaussian(mu_squared=0.5 * whole)])
    record = ledger.dataset("reviews")
    for_the_owner = "(exact, not for publication: reports state something else)"
    assert record.guarantee == f"the guarantee is the whole grant: epsilon 6 at delta 1e-06 {for_the_owner}"
    assert record.guaranteed_alone.basis == Basis.UNFINISHED
    told = record.guaranteed_alone.in_words(record.grant)
    assert told.startswith("no guarantee: the runs that ended stay within epsilon 6 at delta 1e-06, which was fixed")
    assert "chosen after looking" not in told
    assert "since how incomplete runs ended is not for publication" in record.in_reports
    assert record.in_reports.endswith("Quote, as it does, the guarantee of each run, and how many there were")


def test_a_grant_raised_within_that_of_another_name_is_not_called_an_interrupted_run(ledger):
    ledger.grant("other", 9.0, 1e-6)
    spend(ledger, "other", events=[gaussian(mu_squared=0.001)])
    ledger.grant("reviews", 1.0, 1e-6)
    spend(ledger, events=[gaussian(mu_squared=0.001)])
    ledger.grant("reviews", 4.0, 1e-6)
    record = ledger.dataset("reviews")
    assert (record.guaranteed.epsilon, record.guaranteed_alone.epsilon) == (9.0, 1.0)
    warning = Quote(dataset=record, cost=Cost(capacity(2.0, 1e-6).mu_squared, 0.0)).warning
    assert "interrupted" not in warning
    assert "its grant was raised after outputs could be seen, and reports do not say which names share" in warning
    assert Quote(dataset=record, cost=Cost(capacity(0.5, 1e-6).mu_squared, 0.0)).warning == ""


def test_a_run_that_ends_the_total_of_linked_names_tells_what_reports_go_on_to_state(ledger):
    """Reports state what is recorded under one name, which still holds there; it is not to be quoted."""
    ledger.grant("reviews", 1.0, 1e-6)
    spend(ledger, events=[gaussian(mu_squared=capacity(0.5, 1e-6).mu_squared)])
    ledger.grant("copy", 1.0, 1e-6)
    spend(ledger, "copy", events=[gaussian(mu_squared=capacity(0.6, 1e-6).mu_squared)])
    ledger.grant("reviews", 3.0, 1e-6)
    record = ledger.dataset("reviews")
    cost = Cost(capacity(0.75, 1e-6).mu_squared, 0.0)
    warning = Quote(dataset=record, cost=cost).warning
    assert "from this run on no total fixed beforehand is guaranteed: quote what was spent" in warning
    assert "Reports go on to state what is recorded under reviews alone: do not quote that." in warning
    alone = replace(record, counted=record.counted_alone)
    more = Quote(dataset=alone, cost=Cost(capacity(0.95, 1e-6).mu_squared, 0.0)).warning
    assert "reports say what was spent" in more
    assert "do not quote that" not in more


def test_where_reports_allow_a_larger_run_than_the_guarantee_both_are_told(ledger):
    ledger.grant("reviews", 1.0, 1e-6)
    interrupt(ledger, events=[gaussian(mu_squared=0.001)])
    spend(ledger, events=[gaussian(mu_squared=capacity(0.5, 1e-6).mu_squared)])
    ledger.grant("copy", 3.0, 1e-6)
    spend(ledger, "copy", events=[gaussian(mu_squared=capacity(0.6, 1e-6).mu_squared)])
    ledger.grant("reviews", 3.0, 1e-6)
    record = ledger.dataset("reviews")
    told = " ".join(record.on_reports)
    assert "for a total there, one more run may have up to epsilon 0.829" in told
    assert "within the guarantee, one more run may have up to epsilon 0.543" in told


def test_a_grant_is_not_advised_to_be_raised_where_that_of_another_name_refuses(ledger):
    for name in ("reviews", "copy"):
        ledger.grant(name, 3.0, 1e-6, listed=[10.0] if name == "reviews" else [])
        spend(ledger, name, events=[gaussian(mu_squared=0.9 * capacity(2.0, 1e-6).mu_squared)])
    with pytest.raises(BudgetRefused) as refused:
        reserve(ledger, events=[gaussian(mu_squared=capacity(2.5, 1e-6).mu_squared)])
    assert "which was listed for that" not in str(refused.value)
    ledger.grant("copy", 10.0, 1e-6)
    with pytest.raises(BudgetRefused, match="raise the grant to epsilon 10, which was listed for that"):
        reserve(ledger, events=[gaussian(mu_squared=capacity(2.5, 1e-6).mu_squared)])


def test_a_grant_of_a_smaller_delta_than_runs_have_warns(ledger):
    with pytest.warns(SmallDeltaWarning, match=r"give your runs delta=1e-07\."):
        ledger.grant("reviews", 4.0, 1e-7)
    with warnings.catch_warnings(action="error", category=SmallDeltaWarning):
        ledger.grant("reviews", 4.0, 1e-6)


def test_only_a_delta_that_would_do_is_advised(ledger):
    """A choice of words costs delta in proportion to that of its run: at the grant's delta, nine fit, and then none."""
    ledger.grant("reviews", 8.0, 1e-7)

    def choice(delta: float) -> Event:
        shares = (Share("vocabulary", 1.0, selects_words=True),)
        return calibrate(shares, 0.1, delta)[0]

    spend(ledger, events=[choice(5e-7)], delta=5e-7)
    with pytest.raises(BudgetRefused, match=r"Use the delta of the grant \(1e-07\) or a public list of words") as some:
        reserve(ledger, events=[choice(1e-6)], delta=1e-6)
    assert "which is as much as epsilon" in str(some.value)
    for _ in range(5):
        with suppress(BudgetRefused):
            spend(ledger, events=[choice(1e-7)], delta=1e-7)
    with pytest.raises(BudgetRefused) as none:
        reserve(ledger, events=[choice(1e-6)], delta=1e-6)
    assert "Use a public list of words" in str(none.value)
