from __future__ import annotations

import json
import os
import signal
import sqlite3

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ledger_helpers import WHOLE, gaussian, reserve, spend

from dplda.base.config import DEFAULT_GRANT
from dplda.base.errors import BudgetRefused, InputError, LedgerError
from dplda.budget import Ledger, Status
from dplda.budget.accountant import FAILURE_SHARE, NOTHING, cost
from dplda.budget.comparisons import Cell, Outcome
from dplda.budget.sketches import Fingerprint

NUMBERS = st.none() | st.floats(-1e6, 1e6)
CELLS = st.builds(Cell, st.text(), st.text(), st.floats(0.001, 100), st.integers(0, 99))
OUTCOMES = st.builds(
    Outcome,
    cell=CELLS,
    status=st.sampled_from([Status.DONE, Status.UNSUPPORTED]),
    run=st.text(),
    message=st.text(),
    sound=st.booleans(),
    error=NUMBERS,
    coherence=NUMBERS,
    diversity=NUMBERS,
    bound=NUMBERS,
    seconds=st.dictionaries(st.text(), st.floats(0, 1e6)),
    model=st.none() | st.text(),
)
ONE = Cell("default", "sound", 0.5, 0)
TWO = Cell("default", "sound", 0.5, 1)


def begin(ledger, key="k", **changes):
    given = {"corpus": "reviews", "kind": "private", "parameters": {"topics": 20}}
    return ledger.begin_comparison(key=key, **{**given, **changes})


def outcome(cell, **changes):
    return Outcome(
        **{"cell": cell, "status": Status.DONE, "run": "reviews-aaaaaa", "seconds": {"read": 0.25}, **changes}
    )


def quote(ledger, *costs, dataset="reviews", sound=True, **changes):
    given = {"unit": "document", "adjacency": "add-remove", "delta": 1e-6}
    plans = [[gaussian(mu_squared=each)] for each in costs]
    return ledger.quote(dataset=dataset, plans=plans, sound=sound, **{**given, **changes})


def test_cells_are_found_again_by_another_process(ledger):
    log = begin(ledger)
    log.begin(ONE)
    log.end(outcome(ONE, error=0.125))
    log.begin(TWO)
    again = Ledger(ledger.path).comparison("k")
    assert again.name == log.name
    assert again.outcomes() == {ONE: outcome(ONE, error=0.125)}
    assert again.interrupted() == [TWO]
    again.begin(TWO)
    again.end(outcome(TWO, status=Status.UNSUPPORTED, message="no word passed"))
    assert log.outcomes()[TWO].message == "no word passed"
    assert log.interrupted() == []
    assert ledger.verify().ok


def test_the_latest_comparison_of_a_key_is_continued_and_the_others_stay(ledger):
    assert ledger.comparison("k") is None
    first = begin(ledger)
    first.end(outcome(ONE))
    begin(ledger, key="other")
    second = begin(ledger)
    assert ledger.comparison("k").name == second.name != first.name
    assert second.outcomes() == {}
    assert first.outcomes() == {ONE: outcome(ONE)}


def test_a_comparison_takes_nothing_from_any_budget(ledger):
    log = begin(ledger)
    log.end(outcome(ONE))
    assert (ledger.runs(), ledger.datasets()) == ([], [])


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE cells SET outcome = NULL", "cells '{name}/default/sound/0.5/0' was altered: outcome"),
        ("DELETE FROM cells", "cells '{name}/default/sound/0.5/0' was removed"),
        ("UPDATE comparisons SET kind = 'public'", "comparisons '{name}' was altered: kind"),
        ("INSERT INTO cells VALUES ('{name}', 'x', 'sound', 1.0, 0, NULL)", "is not in the journal"),
    ],
)
def test_an_edit_by_hand_is_found_and_nothing_is_told(ledger, statement, problem):
    log = begin(ledger)
    log.end(outcome(ONE))
    connection = sqlite3.connect(ledger.path)
    with connection:
        connection.execute(statement.replace("{name}", log.name))
    connection.close()
    assert any(problem.replace("{name}", log.name) in found for found in ledger.verify().problems)
    for told in (log.outcomes, lambda: ledger.comparison("k"), lambda: begin(ledger)):
        with pytest.raises(LedgerError, match="altered"):
            told()


@pytest.mark.parametrize("changes", [{"corpus": ""}, {"parameters": {"x": float("nan")}}])
def test_a_comparison_is_named_and_its_parameters_are_plain_json(ledger, changes):
    with pytest.raises(InputError):
        begin(ledger, **changes)
    assert ledger.verify().length == 0


@settings(max_examples=15, deadline=None)  # every run is forced to disk several times
@given(costs=st.lists(st.floats(0.01, 0.5), min_size=1, max_size=8), spent=st.floats(0.0, 0.9))
def test_a_quote_is_refused_exactly_when_the_runs_would_not_all_be_admitted(tmp_path_factory, costs, spent):
    assume(abs(sum(costs) + spent - 1) > 1e-6)
    ledger = Ledger(tmp_path_factory.mktemp("quote") / "ledger.db")
    if spent:
        spend(ledger, events=[gaussian(mu_squared=spent * WHOLE)])
    plans = [share * WHOLE for share in costs]
    before = ledger.verify().length
    try:
        quoted = quote(ledger, *plans)
    except BudgetRefused:
        quoted = None
    assert ledger.verify().length == before
    try:
        for each in plans:
            spend(ledger, events=[gaussian(mu_squared=each)])
    except BudgetRefused:
        assert quoted is None
    else:
        assert quoted is not None
        assert ledger.dataset("reviews").spent.mu_squared == pytest.approx(
            quoted.dataset.spent.mu_squared + quoted.cost.mu_squared
        )
        assert quoted.left - quoted.share == pytest.approx(ledger.dataset("reviews").remaining, abs=1e-6)


def test_failure_probabilities_are_quoted_too(ledger):
    threshold = gaussian(mu_squared=1e-3, mechanism="gaussian-threshold", delta=FAILURE_SHARE * DEFAULT_GRANT[1] / 4)
    plans = [[threshold]] * 4
    given = {"dataset": "reviews", "unit": "document", "adjacency": "add-remove", "delta": 1e-6, "sound": True}
    assert ledger.quote(plans=plans, **given).share == pytest.approx(1.0)
    with pytest.raises(BudgetRefused, match="5 runs: at delta 1e-06"):
        ledger.quote(plans=[*plans, [threshold]], **given)


def test_a_refused_quote_says_what_is_missing_and_how_to_grant_it(ledger):
    with pytest.raises(BudgetRefused) as refusal:
        quote(ledger, WHOLE, 1.0)
    for expected in (
        "these 2 runs",
        "at delta 1e-05 (the grant is",
        "dplda budget grant reviews --epsilon E --delta D",
    ):
        assert expected in str(refusal.value)
    assert ledger.datasets() == []


def test_runs_that_are_not_private_are_quoted_for_unbounded_datasets_only(ledger):
    with pytest.raises(BudgetRefused, match="grant reviews --unbounded"):
        quote(ledger, 1.0, 1.0, sound=False)
    ledger.grant("reviews", unbounded=True)
    quoted = quote(ledger, 1.0, 1.0, sound=False)
    assert quoted.share == 0.0
    assert quoted.to_json() == {"dataset": "reviews", "mu_squared": None, "share": 0.0}


def test_another_unit_than_that_of_earlier_runs_is_refused(ledger):
    spend(ledger)
    with pytest.raises(BudgetRefused, match="unit 'document'"):
        quote(ledger, 1.0, unit="user")


def test_no_runs_cost_nothing(ledger):
    reserve(ledger, events=[gaussian(mu_squared=WHOLE)])
    assert quote(ledger).cost == NOTHING
    assert quote(ledger).left == pytest.approx(0.0, abs=1e-9)


def test_a_quote_adds_up_what_the_runs_cost(ledger):
    assert quote(ledger, 1.0, 2.0, 0.5).cost.mu_squared == pytest.approx(3.5)
    assert quote(ledger, 1.0).cost == cost([gaussian(mu_squared=1.0)])


def test_documents_that_the_ledger_has_never_seen_are_taken_for_public(ledger):
    spend(ledger)
    before = ledger.verify().length
    ledger.check_public("news", Fingerprint("g"))
    assert ledger.verify().length == before


@pytest.mark.parametrize("known", ["grant", "run", "a run that took nothing"])
def test_a_dataset_with_a_bounded_budget_is_not_taken_for_public(ledger, known):
    if known == "grant":
        ledger.grant("reviews", 2.0, 1e-6)
    elif known == "run":
        spend(ledger)
    else:
        reserve(ledger).abandon("cancelled", "by the user")
    with pytest.raises(BudgetRefused, match=r"'reviews' .* budget grant reviews --unbounded$"):
        ledger.check_public("reviews", Fingerprint("g"))
    ledger.grant("reviews", unbounded=True)
    ledger.check_public("reviews", Fingerprint("g"))


def test_nor_are_its_documents_under_another_name_or_those_of_datasets_linked_to_it(ledger):
    for dataset, fingerprint in (("reviews", "f"), ("archive", "f"), ("archive", "g"), ("news", "h")):
        spend(ledger, dataset, fingerprint)
    ledger.grant("archive", unbounded=True)
    for fingerprint in ("f", "g"):
        with pytest.raises(
            BudgetRefused,
            match=r"'reviews', .* 'open' \(exact, not for publication\), .*grant reviews",
        ):
            ledger.check_public("open", Fingerprint(fingerprint))
    ledger.grant("reviews", unbounded=True)
    ledger.check_public("open", Fingerprint("g"))
    ledger.grant("open", 1.0, 1e-6)
    with pytest.raises(BudgetRefused, match=r"^Dataset 'open' has"):
        ledger.check_public("open", Fingerprint("h"))


def test_a_run_that_took_nothing_tells_nothing_of_its_documents(ledger):
    run = reserve(ledger)
    run.bind(Fingerprint("f"))
    with pytest.raises(BudgetRefused):
        ledger.check_public("open", Fingerprint("f"))
    run.abandon("cancelled", "by the user")
    ledger.check_public("open", Fingerprint("f"))


def test_one_process_at_a_time_makes_a_comparison(ledger):
    with ledger.lock("a" * 64):
        with pytest.raises(LedgerError, match="comparison"), ledger.lock("a" * 64):
            pass
        with ledger.lock("b" * 64):
            assert len(list(ledger.path.parent.glob("*.lock"))) == 2
    with ledger.lock("a" * 64), pytest.raises(LedgerError), Ledger(ledger.path).lock("a" * 64):
        pass


def test_a_process_that_dies_lets_go_of_its_comparison(ledger):
    child = os.fork()
    if child == 0:
        with ledger.lock("k"):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with ledger.lock("k"):
        pass


@given(OUTCOMES)
def test_an_outcome_survives_json(outcome):
    assert Outcome.from_json(outcome.cell, json.loads(json.dumps(outcome.to_json()))) == outcome


def test_a_cell_says_what_it_is():
    assert str(Cell("default", "sound", 0.5, 2)) == "default, sound, epsilon 0.5, repeat 2"
