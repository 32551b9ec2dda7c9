from __future__ import annotations

import math
import re
from html import unescape

import numpy as np
import pytest
from ledger_helpers import WHOLE, gaussian, reserve, spend

from dplda.base.config import DEFAULT_GRANT
from dplda.base.errors import BudgetRefused, InputError
from dplda.budget import Ledger
from dplda.budget.events import EXACT, Event


def test_a_reservation_is_on_disk_with_its_frozen_plan(ledger):
    plan = [
        gaussian("count"),
        Event(stage="test", mechanism="pure", epsilon=0.1),
        gaussian("core", delta=1e-8),
    ]
    run = reserve(ledger, events=plan)
    record = Ledger(ledger.path).run(run.run)
    assert record.events == run.events == tuple(plan)
    assert record.status == "reserved"
    assert record.status_in_words == "started and never finished: counted as wholly spent"
    assert record.parameters == {"topics": 20}


def test_a_refused_reservation_writes_nothing(ledger):
    with pytest.raises(BudgetRefused) as refusal:
        reserve(ledger, "new", events=[gaussian(mu_squared=WHOLE * 1.01)])
    assert "dplda budget grant new --epsilon E --delta D" in str(refusal.value)
    assert (ledger.runs(), ledger.datasets(), ledger.verify().length) == ([], [], 0)


def test_the_whole_grant_can_be_spent_and_not_more(ledger):
    spend(ledger, events=[gaussian(mu_squared=WHOLE)])
    with pytest.raises(
        BudgetRefused, match=r"; epsilon 0 at delta 1e-06 is left \(the grant is [^.]*\)\. A larger grant"
    ):
        reserve(ledger, events=[gaussian(mu_squared=1e-6)])
    dataset = ledger.dataset("reviews")
    assert dataset.remaining == pytest.approx(0.0, abs=1e-9)
    assert dataset.spent_epsilon <= DEFAULT_GRANT[0]


def test_a_raised_grant_admits_more_and_a_lowered_one_nothing(ledger):
    spend(ledger, events=[gaussian(mu_squared=WHOLE)])
    ledger.grant("reviews", 20.0, 1e-5)
    spend(ledger, events=[gaussian(mu_squared=1.0)])
    ledger.grant("reviews", 1.0, 1e-5)
    with pytest.raises(BudgetRefused):
        reserve(ledger, events=[gaussian(mu_squared=1e-6)])
    assert ledger.dataset("reviews").remaining == 0.0


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (-1.0, 1e-5),
        (0.0, 1e-5),
        (math.nan, 1e-5),
        (math.inf, 1e-5),
        (1.0, 0.0),
        (1.0, -1e-5),
        (1.0, math.nan),
        (1.0, 1.0),
    ],
)
def test_a_grant_out_of_range_is_refused_and_changes_nothing(ledger, epsilon, delta):
    with pytest.raises(InputError, match=r"^(epsilon|delta) "):
        ledger.grant("reviews", epsilon, delta)
    assert ledger.datasets() == []


@pytest.mark.parametrize(
    ("wrong", "values"),
    [
        ("unbounded", {"unbounded": 5}),
        ("unbounded", {"unbounded": "no"}),
        ("unbounded", {"unbounded": None}),
        ("unbounded", {"unbounded": np.bool_(True)}),
        ("epsilon", {"epsilon": "4"}),
        ("delta", {"delta": None}),
        ("dataset", {"dataset": ""}),
        ("dataset", {"dataset": None}),
        ("listed", {"listed": 5}),
        ("listed", {"listed": None}),
        ("epsilon", {"listed": "23"}),
        ("batches_per_document", {"batches_per_document": "2"}),
    ],
)
def test_a_grant_of_a_wrong_type_is_refused_in_one_line_and_changes_nothing(ledger, wrong, values):
    with pytest.raises(InputError, match=f"^{wrong} must be .*, got .*[.]$"):
        ledger.grant(**{"dataset": "reviews", **values})
    assert ledger.verify().length == 0


def test_listed_totals_may_be_an_array(ledger):
    ledger.grant("reviews", 1.0, 1e-6, listed=np.array([2.0, 4.0]))
    assert ledger.dataset("reviews").grant.listed == (2.0, 4.0)


def test_a_grant_may_be_numbers_of_numpy(ledger):
    ledger.grant("reviews", np.float32(3), np.float64(1e-6), batches_per_document=np.int64(2))
    grant = ledger.dataset("reviews").grant
    assert (grant.epsilon, grant.delta, grant.batches_per_document) == (3.0, 1e-6, 2)


@pytest.mark.parametrize(
    "ask",
    [
        lambda ledger: ledger.run(None),
        lambda ledger: ledger.run(5),
        lambda ledger: ledger.dataset(5),
        lambda ledger: ledger.history(None),
        lambda ledger: ledger.guaranteed_together(),
        lambda ledger: ledger.guaranteed_together(["reviews"]),
        lambda ledger: ledger.begin_comparison(key=5, corpus="c", kind="k", parameters={}),
        lambda ledger: ledger.begin_comparison(key="k", corpus="c", kind=5, parameters={}),
        lambda ledger: Ledger(5),
        lambda ledger: Ledger(ledger),
    ],
)
def test_a_question_of_a_wrong_type_is_refused_in_one_line_and_changes_nothing(ledger, ask):
    with pytest.raises(InputError) as refusal:
        ask(ledger)
    assert "\n" not in str(refusal.value)
    assert ledger.verify().ok
    assert ledger.verify().length == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-6, 1e-15), (1e-6, 0.1), (1000.0, 1e-15), (1000.0, 0.1)])
def test_the_filter_can_be_computed_for_every_grant_in_range(ledger, epsilon, delta):
    ledger.grant("reviews", epsilon, delta)
    assert ledger.dataset("reviews").grant.capacity.mu_squared > 0


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"delta": 1.0},
        {"adjacency": "swap"},
        {"unit": ""},
        {"dataset": " "},
        {"dataset": "two\nlines"},
        {"dataset": "x" * 201},
        {"parameters": {"tokens": {1, 2}}},
        {"parameters": {"alpha0": math.nan}},
    ],
)
def test_a_run_out_of_range_is_bad_input_and_writes_nothing(ledger, changes):
    with pytest.raises(InputError):
        reserve(ledger, **changes)
    assert ledger.runs() == []


@pytest.mark.parametrize(
    "changes", [{"sound": False}, {"events": [Event(stage="all", mechanism=EXACT)], "sound": True}]
)
def test_a_run_that_is_not_private_needs_an_unbounded_grant(ledger, changes):
    with pytest.raises(BudgetRefused, match="dplda budget grant reviews --unbounded"):
        reserve(ledger, **changes)
    ledger.grant("reviews", unbounded=True)
    spend(ledger, **changes)
    dataset = ledger.dataset("reviews")
    assert (dataset.spent_epsilon, dataset.remaining) == (math.inf, 1.0)
    assert dataset.guarantee.startswith("no guarantee")


def test_an_unsound_run_that_asked_nothing_is_refunded(ledger):
    ledger.grant("reviews", unbounded=True)
    reserve(ledger, sound=False).abandon("failed", "unreadable")
    assert ledger.dataset("reviews").spent_epsilon == 0.0


def test_the_first_run_that_counts_fixes_unit_and_adjacency(ledger):
    reserve(ledger, unit="user").abandon("failed", "no such column")
    assert ledger.dataset("reviews").unit is None
    reserve(ledger, unit="document")
    assert (ledger.dataset("reviews").unit, ledger.dataset("reviews").adjacency) == ("document", "add-remove")
    with pytest.raises(BudgetRefused, match=r"unit 'document'.*Leave --unit-field \(in Python, unit_field= or"):
        reserve(ledger, unit="user")
    ledger.grant("reviews", unbounded=True)  # nothing is promised any more: any unit may be tried
    assert reserve(ledger, unit="user").run


@pytest.mark.parametrize(
    ("dataset", "slug"), [("IMDB reviews!", "imdb-reviews"), ("日本", "dataset"), ("a" * 60, "a" * 40)]
)
def test_a_run_id_is_a_slug_and_random_characters_without_a_time(ledger, dataset, slug):
    first, second = (reserve(ledger, dataset, events=[gaussian(mu_squared=0.1)]).run for _ in range(2))
    assert re.fullmatch(slug + "-[a-z2-7]{8}", first)
    assert first != second


def test_a_taken_run_id_is_refused_and_nothing_is_spent(ledger):
    first = reserve(ledger, events=[gaussian(mu_squared=0.1)]).run
    with pytest.raises(InputError, match=f"'{first}'"):
        reserve(ledger, run=first)
    assert [run.id for run in ledger.runs()] == [first]


@pytest.mark.parametrize("run", ["", 5, "a\n\x1b[31m", "x" * 201])
def test_an_id_that_is_no_printable_name_is_refused_and_leaves_the_ledger_whole(ledger, run):
    with pytest.raises(InputError, match=r"^run "):
        reserve(ledger, run=run)
    assert ledger.verify().ok


def test_a_run_is_found_by_its_id_its_dataset_or_a_unique_beginning(ledger):
    first = reserve(ledger, "apples", events=[gaussian(mu_squared=0.1)]).run
    second = reserve(ledger, "pears", events=[gaussian(mu_squared=0.1)]).run
    third = reserve(ledger, "pears", events=[gaussian(mu_squared=0.1)]).run
    assert ledger.run("app").id == first
    assert ledger.run(second).id == second
    assert [run.id for run in ledger.runs()] == [first, second, third]
    assert ledger.run("pears").id == third, "the latest"
    with pytest.raises(InputError, match=r"several runs.*dplda runs"):
        ledger.run("pear")
    for unknown in ("plums", "", "%"):
        with pytest.raises(InputError, match=r"not in the ledger\. See: dplda runs \(in Python, Ledger\.runs\)"):
            ledger.run(unknown)


@pytest.mark.parametrize("method", ["dataset", "history"])
def test_an_unknown_dataset_is_bad_input(ledger, method):
    with pytest.raises(InputError, match=r"'plums'.*dplda budget show"):
        getattr(ledger, method)("plums")


def test_datasets_are_listed_by_name(ledger):
    ledger.grant("pears", 1.0, 1e-6)
    reserve(ledger, "apples")
    assert [dataset.name for dataset in ledger.datasets()] == ["apples", "pears"]


def test_a_notebook_shows_what_each_dataset_has_spent_and_has_left(ledger):
    spend(ledger, events=[gaussian(mu_squared=0.1)])
    ledger.grant("<b>letters", 4.0, 1e-6)
    assert repr(ledger) == f"Ledger({str(ledger.path)!r})"
    html = ledger._repr_html_()
    assert f"Ledger {ledger.path}</b>: 2 datasets" in html
    cells = [unescape(cell) for cell in re.findall("<bdi>(.*?)</bdi>", html)]
    told = [(each.name, each.in_short, each.remaining_text, each.guarantee) for each in ledger.datasets()]
    assert cells == ["dataset", "spent", "left", "guarantee", *(text for row in told for text in row)]
    assert "<b>letters" not in html


@pytest.mark.filterwarnings("ignore::dplda.base.errors.RaisedGrantWarning")
def test_a_notebook_says_that_a_raised_grant_is_not_guaranteed(ledger):
    ledger.grant("reviews", 5.5, 1e-6)
    spend(ledger, events=[gaussian(mu_squared=0.1)])
    ledger.grant("reviews", 8.0, 1e-6)
    html = unescape(ledger._repr_html_())
    assert "of epsilon 8" in html
    assert "the guarantee is the grant that was in force before the first output: epsilon 5.5 at delta 1e-06" in html
    assert "the grant now in force (epsilon 8, delta 1e-06) was chosen after looking" in html
