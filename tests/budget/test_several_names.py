"""The one total that a report states for several names of the same documents, on their owner's word."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from ledger_helpers import a_run, gaussian

from dplda.base.config import DEFAULT_GRANT
from dplda.base.errors import InputError
from dplda.budget import PlannedEvent
from dplda.budget.accountant import NOTHING
from dplda.budget.guarantees import Basis, Grant, Guarantee
from dplda.budget.privacy_filter import LedgerState


def ledger(*datasets: str, **grants: list[Grant]) -> LedgerState:
    """A small run on the same documents for each of `datasets`, one after the other."""
    runs = [a_run(number, dataset, 0.1, fingerprint="f") for number, dataset in enumerate(datasets, 1)]
    return LedgerState(runs=runs, grants=grants)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_total_is_the_largest_level_of_any_name_at_the_largest_delta(names):
    """The delta and the levels of one name were taken for both, also if it came later and was chosen after looking."""
    early = Grant(epsilon=2.0, delta=1e-3, listed=(8.0,))
    late = Grant(epsilon=4.0, delta=1e-5, after_run=1)
    for state in (ledger("a", "b", a=[early], b=[late]), ledger("b", "a", a=[early], b=[replace(late, after_run=0)])):
        together = state.guaranteed_together(*names)
        assert together == Guarantee(epsilon=8.0, delta=1e-3)
        assert together.largest_total == (8.0, 1e-3)
        assert together.listed == ()


def test_a_name_that_comes_later_has_the_largest_total_of_those_before_it():
    state = ledger("a", "b", a=[Grant(epsilon=2.0, delta=1e-3, listed=(8.0,))], b=[Grant(epsilon=4.0, delta=1e-5)])
    assert state.guaranteed("b").largest_total == (8.0, 1e-3)
    assert state.guaranteed("a").largest_total == (8.0, 1e-3)
    assert state.published("b").guaranteed("b").largest_total == (4.0, 1e-5)


def test_a_limit_that_one_name_broke_is_broken_for_all():
    state = ledger("a", "b", b=[Grant(epsilon=0.1, after_run=1), Grant(epsilon=5.0, after_run=2)])
    assert state.guaranteed("a").holds
    for names in (("a", "b"), ("b", "a")):
        assert state.guaranteed_together(*names).basis == Basis.AFTER_LOOKING


def test_names_are_refused_if_one_is_a_series_whose_batches_are_charged_in_parallel():
    state = ledger("a", "b")
    batched = replace(state, runs=[*state.runs, a_run(3, "a", 0.1, fingerprint="f", batch="w1")])
    for names in (("a", "b"), ("b", "a")):
        with pytest.raises(InputError, match="'a' is a series"):
            batched.guaranteed_together(*names)
    together = [replace(run, adjacency="replace") for run in batched.runs]  # every batch is charged to everybody
    assert replace(batched, runs=together).guaranteed_together("b", "a").holds


def test_a_total_stronger_than_what_all_that_is_known_allows_is_refused():
    """A name that is left out may have had outputs first, or have spent more than the others may."""
    small = Grant(epsilon=2.0)
    state = ledger("c", "a", "b", "other", a=[small], b=[small])
    with pytest.raises(InputError, match="--same-text c --same-text other"):
        state.guaranteed_together("b", "a")
    assert state.guaranteed_together("b", "a", "c").largest_total == DEFAULT_GRANT
    with pytest.raises(InputError, match="knows of no document"):
        state.guaranteed_together("b", "nobody")


def test_the_total_of_a_series_says_in_how_many_batches_a_document_may_be():
    runs = [a_run(1, "s", 0.1), a_run(2, "s", 0.1, batch="w1", batches_seen=3)]
    state = LedgerState(runs=runs, grants={"s": [Grant(batches_per_document=2)]})
    assert state.published("s").guaranteed("s").batches == 2
    assert state.guaranteed("s").batches == 3
    assert replace(state, runs=runs[:1]).guaranteed("s").batches == 0
    persons = [replace(run, unit="author") for run in runs]
    assert replace(state, runs=persons).guaranteed("s").batches == 0


def test_a_grant_of_a_larger_epsilon_that_allows_no_more_is_put_into_words():
    """Its smaller delta makes it the smaller one."""
    later = Grant(epsilon=10.5, delta=1e-12, after_run=1)
    guarantee = ledger("a", a=[Grant(), later]).guaranteed("a")
    assert not guarantee.allows_more
    assert guarantee.in_words(later).endswith(f"before the first output: {guarantee.total}")


def random_ledger(draw: random.Random) -> LedgerState:
    """A few runs under two or three names of the same documents, ended in all ways, and grants between them."""
    names, runs, grants = "abc"[: draw.randint(2, 3)], [], {}
    for number in range(1, draw.randint(3, 8)):
        plan = tuple(
            PlannedEvent(event=gaussian(mu_squared=draw.choice([0.02, 0.1, 0.4])), charged=draw.random() < 0.6)
            for _ in range(2)
        )
        status = draw.choice(["done", "done", "refused", "failed", "reserved", "unsupported", "cancelled"])
        runs.append(a_run(number, draw.choice(names), plan=plan, status=status, fingerprint="f"))
    for name in names:
        made = [
            Grant(
                epsilon=draw.choice([1.0, 2.0, 4.0]),
                delta=draw.choice([1e-6, 1e-4]),
                after_run=draw.randint(0, 6),
                listed=draw.choice([(), (6.0,), (6.0, 9.0)]),
            )
            for _ in range(draw.randint(0, 3))
        ]
        grants[name] = sorted(made, key=lambda grant: grant.after_run)
    return LedgerState(runs=runs, grants=grants)


def true_total(state: LedgerState) -> Grant | None:
    """The largest total fixed before the very first output under any name, if all that was spent fits it.

    Counted by hand: no grant is made at the number of a run, so one counts if it was made before that run.
    """
    charged = [run for run in state.runs if run.is_charged]
    first = charged[0]
    fixed = [grant for grant in [Grant(), *state.grants[first.dataset]] if grant.after_run < first.number][-1]
    largest = replace(fixed, epsilon=max(fixed.epsilon, *fixed.listed, 0.0), listed=())
    return largest if sum((run.cost for run in charged), NOTHING).fits(largest.capacity) else None


def test_on_random_ledgers_no_total_is_stated_below_the_true_one():
    """What is stated is at least the total that was fixed before the first output, which covers all that was spent."""
    stated = refused = 0
    for seed in range(1200):
        state = random_ledger(random.Random(seed))
        names = sorted({run.dataset for run in state.runs if run.is_charged})
        if len(names) < 2:
            continue
        for first in names:
            order = [first, *(name for name in names if name != first)]
            try:
                together = state.guaranteed_together(*order)
            except InputError:
                refused += 1
                continue
            if not together.holds:
                continue
            stated += 1
            true = true_total(state)
            assert true is not None, seed
            assert together.epsilon >= true.epsilon, seed
            assert together.delta >= true.delta, seed
            assert state.total(state.charged(names)).fits(
                Grant(epsilon=together.epsilon, delta=together.delta).capacity
            )
    assert stated > 300
    assert refused < stated / 5
