from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_helpers import WHOLE, a_run, gaussian

from dplda.base.config import DEFAULT_GRANT
from dplda.base.errors import BudgetRefused
from dplda.budget import Grant, Guarantee, PlannedEvent
from dplda.budget.accountant import Cost, capacity, failure_of_query
from dplda.budget.events import Stage
from dplda.budget.guarantees import Basis
from dplda.budget.privacy_filter import LedgerState, admit

COSTS = st.floats(0.01, 0.6).map(lambda share: share * WHOLE)
RUNS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz"), COSTS), max_size=12)


def book(*runs, **grants):
    return LedgerState(runs=runs, grants={name: [grant] for name, grant in grants.items()})


def admitted(runs, grants):
    """The runs that the filter lets through, one after another."""
    kept = []
    for number, (dataset, fingerprint, mu_squared) in enumerate(runs, 1):
        run = a_run(number, dataset, mu_squared, fingerprint=fingerprint)
        try:
            admit(LedgerState(runs=kept, grants=grants), run)
        except BudgetRefused:
            continue
        kept.append(run)
    return kept


@given(RUNS, st.dictionaries(st.sampled_from("abcd"), st.floats(0.5, 20.0)))
def test_no_sequence_of_admitted_runs_exceeds_any_linked_grant(runs, epsilons):
    grants = {name: [Grant(epsilon=epsilon)] for name, epsilon in epsilons.items()}
    result = LedgerState(runs=admitted(runs, grants), grants=grants)
    for run in result.runs:
        spent = result.total(result.charged(result.linked(run.dataset)))
        assert spent.fits(result.grant(run.dataset).capacity)


@given(RUNS)
def test_every_document_stays_within_the_grant_however_names_overlap(runs):
    kept = admitted(runs, {})
    for fingerprint in "wxyz":
        held = [run for run in kept if run.fingerprint == fingerprint]
        assert LedgerState(runs=kept, grants={}).total(held).mu_squared <= capacity(*DEFAULT_GRANT).mu_squared


@given(RUNS, COSTS)
def test_overlap_only_adds_charges(runs, mu_squared):
    kept = admitted(runs, {})
    alone = [a_run(run.number, run.dataset, run.cost.mu_squared) for run in kept]
    run = a_run(99, "a", mu_squared, fingerprint="w")
    try:
        admit(book(*kept), run)
    except BudgetRefused:
        return
    admit(book(*alone), a_run(99, "a", mu_squared))


@given(RUNS)
def test_linked_datasets_are_the_connected_components(runs):
    made = [a_run(i, name, fingerprint=print_) for i, (name, print_, _) in enumerate(runs)]
    components = [{name} for name in "abcd"]
    for print_ in "wxyz":
        together = {run.dataset for run in made if run.fingerprint == print_}
        touched = [part for part in components if part & together]
        components = [part for part in components if not part & together] + [set().union(*touched)]
    for part in components:
        for name in part:
            assert set(book(*made).linked(name)) == part


def test_a_run_may_ask_for_exactly_what_is_left():
    half = WHOLE / 2
    admit(book(a_run(1, "a", half)), a_run(2, "a", half))
    with pytest.raises(BudgetRefused):
        admit(book(a_run(1, "a", half)), a_run(2, "a", half * (1 + 1e-9)))


def test_failure_probabilities_have_a_limit_of_their_own():
    plan = (PlannedEvent(event=gaussian(mu_squared=0.01, delta=2e-7), charged=True),)
    with pytest.raises(
        BudgetRefused, match=r"for another release that may fail: .* 1e-07 is left, and 2e-07 needed .* Grant more: "
    ):
        admit(book(a=Grant(epsilon=10.0, delta=1e-5)), a_run(plan=plan))


LATE = "A larger grant keeps its guarantee only if"
LARGER = "Or grant a larger delta, which keeps no guarantee after outputs"  # listed levels have the same delta


@pytest.mark.parametrize(
    ("stage", "mu_squared", "told"),
    [
        (Stage.VOCABULARY, 1e-6, f"Use a public list of words (--vocabulary; in Python, vocabulary=). {LARGER}"),
        (Stage.GROUPS, 1e-6, f"Use public lists of groups (--groups; in Python, groups=). {LARGER}"),
        (
            Stage.VOCABULARY,
            WHOLE,
            f"Use less, and a public list of words (--vocabulary; in Python, vocabulary=). {LATE}",
        ),
        (Stage.GAP, WHOLE, f"). {LATE}"),  # no list replaces a test
    ],
)
def test_a_refusal_for_want_of_delta_says_what_needs_none(stage, mu_squared, told):
    """Ten runs fit, although sums are rounded up."""

    def run(number, mu_squared=1e-6):
        event = gaussian(stage, mu_squared, delta=failure_of_query(1e-6))
        return a_run(number, plan=(PlannedEvent(event=event, charged=True),))

    earlier = [run(number) for number in range(1, 11)]
    grants = {"a": Grant(epsilon=DEFAULT_GRANT[0], delta=1e-6)}
    admit(book(*earlier[:9], **grants), earlier[9])
    with pytest.raises(BudgetRefused, match=re.escape(told)) as refused:
        admit(book(*earlier, **grants), run(11, mu_squared))
    assert re.search(r" [\d.]+e-1[4-5] is left, and 1e-09 needed", str(refused.value))
    assert ("Use " in str(refused.value)) == told.startswith("Use ")


def test_a_run_that_took_nothing_links_and_fixes_nothing():
    idle = a_run(1, "b", plan=(PlannedEvent(event=gaussian(), charged=False),), unit="user", fingerprint="f")
    heavy = a_run(2, "b", WHOLE)
    run = a_run(3, "a", fingerprint="f")
    assert book(idle, heavy, run).linked("a") == ("a",)
    admit(book(idle, heavy), run)


def test_the_smaller_grant_of_linked_datasets_decides():
    grants = {"a": Grant(epsilon=50.0), "b": Grant(epsilon=1.0)}
    run = a_run(2, "a", 1.0, fingerprint="f")
    admit(book(**grants), run)
    with pytest.raises(BudgetRefused, match=r"'b', .*'a' \(exact, not for publication\), cannot pay"):
        admit(book(a_run(1, "b", 0.01, fingerprint="f"), **grants), run)


@pytest.mark.parametrize("changes", [{"unit": "user"}, {"adjacency": "replace"}])
def test_another_unit_or_adjacency_is_refused_also_across_linked_datasets(changes):
    first = a_run(1, "b", 0.01, fingerprint="f")
    with pytest.raises(
        BudgetRefused,
        match=r"'b', .*'a' .* (unit 'document'|adjacency 'add-)",
    ):
        admit(book(first), a_run(2, "a", 0.01, fingerprint="f", **changes))


def test_an_unsound_run_needs_an_unbounded_grant_of_every_linked_dataset():
    run = a_run(2, "a b", 0.01, sound=False, fingerprint="f")
    with pytest.raises(BudgetRefused, match="dplda budget grant 'a b' --unbounded"):
        admit(book(), run)
    free = {"a b": Grant(epsilon=math.inf)}
    admit(book(**free), run)
    with pytest.raises(BudgetRefused, match="dplda budget grant c --unbounded"):
        admit(book(a_run(1, "c", fingerprint="f"), **free), run)
    admit(book(a_run(1, "c", fingerprint="f"), **free, c=Grant(epsilon=math.inf)), run)


def test_a_sound_run_after_an_unsound_one_is_refused_once_the_grant_is_bounded_again():
    unsound = a_run(1, sound=False)
    with pytest.raises(BudgetRefused, match="; epsilon 0 at"):
        admit(book(unsound), a_run(2))
    admit(book(unsound, a=Grant(epsilon=math.inf)), a_run(2))


def test_the_epsilon_said_to_be_left_is_admitted_and_a_little_more_is_not():
    spent = a_run(1, "a", WHOLE / 3)
    with pytest.raises(BudgetRefused, match="epsilon 2, delta 1e-06") as refusal:
        admit(book(spent), a_run(2, "a", WHOLE))
    left = float(str(refusal.value).split("; epsilon ")[1].split()[0])
    admit(book(spent), a_run(2, "a", capacity(left, 1e-6).mu_squared))
    with pytest.raises(BudgetRefused):
        admit(book(spent), a_run(2, "a", capacity(left + 0.002, 1e-6).mu_squared))


EARLY, LARGE, SMALL = Grant(epsilon=40.0), Grant(epsilon=20.0, after_run=1), Grant(epsilon=5.0, after_run=2)
WIDE, MORE = Grant(epsilon=4.0, delta=10 * DEFAULT_GRANT[1], after_run=2), Grant(epsilon=30.0, after_run=2)
LADDER = Grant(epsilon=1.0, delta=1e-6, listed=(2.0, 4.0, 8.0), after_run=1)


def level(epsilon, delta=1e-6):
    return Grant(epsilon=epsilon, delta=delta, after_run=2)


def spending(epsilon, delta=DEFAULT_GRANT[1]):
    """A run that takes a little less than a whole grant of epsilon."""
    return 0.999 * capacity(epsilon, delta).mu_squared


def held(epsilon, delta=DEFAULT_GRANT[1], basis="fixed beforehand", allows_more=False):
    return Guarantee(epsilon=epsilon, delta=delta, basis=basis, allows_more=allows_more)


@pytest.mark.parametrize(
    ("grants", "spent", "guarantee"),
    [
        ([], spending(*DEFAULT_GRANT), held(*DEFAULT_GRANT)),
        ([EARLY, LARGE], spending(20.0), held(20.0)),
        ([EARLY, LARGE, SMALL], spending(1.0), held(20.0)),
        ([LARGE, SMALL, replace(LARGE, after_run=2)], spending(20.0), held(20.0)),
        ([LARGE, MORE], spending(20.0), held(20.0, allows_more=True)),
        ([LARGE, MORE], spending(25.0), held(30.0, basis=Basis.AFTER_LOOKING, allows_more=True)),
        ([LARGE, MORE, SMALL], spending(25.0), held(30.0, basis=Basis.AFTER_LOOKING)),
        ([LARGE, MORE, SMALL], spending(1.0), held(20.0)),
        ([LARGE, WIDE], spending(1.0), held(20.0, allows_more=True)),
        ([LADDER], spending(1.0, 1e-6), held(1.0, 1e-6)),
        ([LADDER, level(2.0)], spending(1.0, 1e-6), held(1.0, 1e-6)),
        ([LADDER, level(2.0)], spending(2.0, 1e-6), held(2.0, 2e-6, Basis.LISTED)),
        ([LADDER, level(8.0)], spending(8.0, 1e-6), held(8.0, 4e-6, Basis.LISTED)),
        ([LADDER, level(8.0)], spending(3.0, 1e-6), held(4.0, 3e-6, Basis.LISTED)),
        ([LADDER, level(3.9)], spending(3.9, 1e-6), held(4.0, 3e-6, Basis.LISTED)),
        ([LADDER, level(4.0), level(0.5), level(2.0)], spending(3.0, 1e-6), held(4.0, 3e-6, Basis.LISTED)),
        ([LADDER, level(9.0)], spending(8.5, 1e-6), held(9.0, 1e-6, Basis.AFTER_LOOKING, allows_more=True)),
        ([LADDER, level(2.0, 1e-5)], spending(2.0, 1e-5), held(4.0, 3e-6, Basis.LISTED, allows_more=True)),
        ([LARGE, replace(MORE, listed=(60.0,)), level(60.0)], spending(50.0),
         held(60.0, 1e-6, Basis.AFTER_LOOKING, allows_more=True)),
        ([Grant(epsilon=math.inf)], 1.0, held(math.inf, basis=Basis.NO_LIMIT)),
        ([LARGE, level(math.inf, DEFAULT_GRANT[1]), SMALL], spending(1.0), held(20.0)),
        ([LARGE, level(math.inf, DEFAULT_GRANT[1])], spending(50.0),
         held(math.inf, basis=Basis.AFTER_LOOKING, allows_more=True)),
    ],
)  # fmt: skip
def test_the_guarantee_is_the_least_level_fixed_before_the_first_output_that_was_kept(grants, spent, guarantee):
    assert LedgerState(runs=[a_run(2, "a", spent)], grants={"a": [*grants]}).guaranteed("a") == guarantee


def test_a_dataset_without_runs_is_held_to_its_grant():
    assert LedgerState(runs=[], grants={"a": [EARLY, LARGE, SMALL]}).guaranteed("a") == held(5.0)


def test_a_run_without_noise_leaves_no_guarantee():
    free = [Grant(epsilon=math.inf, after_run=1)]
    assert LedgerState(runs=[a_run(1, "a", sound=False)], grants={"a": free}).guaranteed("a").basis == Basis.NO_LIMIT


def test_a_name_that_comes_late_is_not_held_to_a_limit_chosen_from_several():
    """Names declared beforehand with many limits, of which one is used once it is seen how much was spent."""
    grants = {"reviews": [Grant(epsilon=100.0)], **{f"v{e}": [Grant(epsilon=float(e))] for e in (1, 2, 4, 8, 16)}}
    runs = [a_run(1, "reviews", spending(1.5), fingerprint="f"), a_run(2, "v2", 1e-6, fingerprint="f")]
    both = LedgerState(runs=runs, grants=grants)
    assert both.linked("v2") == ("reviews", "v2")
    assert both.guaranteed("v2") == both.guaranteed("reviews") == held(100.0)
    assert both.published("v2").guaranteed("v2") == held(2.0)
    turned = LedgerState(runs=[replace(run, number=3 - run.number) for run in runs], grants=grants)
    assert turned.guaranteed("v2") == held(2.0)
    assert turned.guaranteed("reviews") == held(100.0)


def test_a_limit_chosen_after_looking_is_not_forgotten_under_another_name():
    grants = {"a": [Grant(epsilon=1.0), Grant(epsilon=5.0, after_run=1)]}
    runs = [a_run(1, "a", spending(4.0), fingerprint="f"), a_run(2, "b", 1e-6, fingerprint="f")]
    assert LedgerState(runs=runs, grants=grants).guaranteed("b").basis == Basis.AFTER_LOOKING


def test_another_grouping_of_the_same_documents_is_refused_unless_nothing_is_promised():
    first = a_run(1, "a", 0.1, unit="user", fingerprint="f", grouping="g")
    run = a_run(2, "a", 0.1, unit="user", fingerprint="f", grouping="h")
    admit(book(first), run)
    with pytest.raises(BudgetRefused, match=r"an earlier run \(a-1\) grouped"):
        admit(book(first), run, other_units={"g"})
    admit(book(first, a=Grant(epsilon=math.inf)), run, other_units={"g"})
    idle = a_run(1, "a", plan=(), unit="user", fingerprint="f", grouping="g")
    admit(book(idle), run, other_units={"g"})


def test_an_unbounded_grant_has_no_limit_in_either_currency():
    assert Cost(math.inf, 0.5).fits(Grant(epsilon=math.inf).capacity)
