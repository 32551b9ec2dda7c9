"""What a page promises, of one run and of all recorded runs, and what it leaves to specialists."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from handmade import with_facts
from report_data import Page, run_model
from scipy.special import ndtr, ndtri

from dplda.budget.accountant import calibrate
from dplda.budget.events import Event, merge_events
from dplda.budget.guarantees import Basis, Guarantee
from dplda.learning.estimates import Estimates
from dplda.learning.placements.default import shares
from dplda.learning.settings import FitSettings
from dplda.report import AllRuns, promise
from dplda.report.facts import TITLES, Facts
from dplda.report.page import _render, cards
from dplda.report.pictures import percent
from dplda.report.promise import belief_at_most
from dplda.report.run_pictures import pictures
from dplda.report.wording import Wording, shown_topics
from dplda.runs.forecast import REFERENCE_CORPORA, ForecastInputs, units_needed

pytestmark = pytest.mark.usefixtures("without_charts")

UNSOUND = {"sound": False, "epsilon": math.inf, "reason": "NOT PRIVATE: simulated noise from a known seed"}


def test_the_number_of_units_is_called_inexact_where_noise_protects_it() -> None:
    model = run_model()
    multiplier = next(event.noise_multiplier for event in model.privacy.events if event.stage == "size")
    text = Page(_render([model])).text
    assert "toys: about 5,000 documents. The number is inexact on purpose" in text
    assert f"mostly by less than {math.ceil(2 * multiplier)}." in text
    assert "number of documents (inexact on purpose) 5000" in text
    unsound = Page(_render([run_model(**UNSOUND)])).text
    assert "toys: 5,000 documents" in unsound
    assert "inexact" not in unsound


def of_all(runs: int, epsilon: float = 8.0, basis: Basis = Basis.FIXED) -> dict[str, AllRuns]:
    return {"toys": AllRuns(runs, Guarantee(epsilon=epsilon, delta=1e-5, basis=basis), "the guarantee is <this>")}


def promised(page: Page) -> str:
    """What the page promises: in its summary, and in its section on privacy."""
    summary, rest = page.text.split("Topics of toys")[1].split("How common the topics are", 1)
    return summary + rest.split("Privacy")[1].split("What is covered, and what is not")[0]


def test_with_more_runs_on_record_than_shown_the_first_paragraphs_promise_all_of_them() -> None:
    model = run_model()
    first = promised(Page(_render([model], None, of_all(3))))
    success = percent(promise.success_under_filter(8.0, 1e-5), upwards=True)
    released = "everything that all runs within epsilon 8 may release (3 are recorded so far)"
    assert f"guesses from {released} is right at most {success}" in first
    total = (
        "This holds for the 3 runs recorded under the name toys together (differentially private with epsilon = 8 and "
    )
    assert f"{total}delta = 1e-05, the total fixed before" in first, "it is not that of the run on the page"
    assert "fixed before the first of them), not only for the run on this page." in first, "no other total was listed"
    assert "Runs on the same documents under other names are not counted: with them, the total may be larger" in first
    assert percent(promise.success_at_most(model.privacy), upwards=True) not in first, "one number"
    assert not set("εδμ") & set(first)


def test_the_promise_is_that_of_the_largest_total_fixed_beforehand_whatever_level_was_reached() -> None:
    """An attacker who reads the level reached would learn from it: the outputs may have led to it (rule 17)."""
    pages = []
    for epsilon, delta, basis in ((4.0, 1e-5, Basis.FIXED), (8.0, 2e-5, Basis.LISTED)):
        reached = Guarantee(epsilon=epsilon, delta=delta, basis=basis, listed=(4.0, 8.0), level_delta=1e-5)
        pages.append(promised(Page(_render([run_model()], None, {"toys": AllRuns(3, reached, "")}))))
    assert pages[0] == pages[1]
    assert percent(promise.success_under_filter(8.0, 1e-5), upwards=True) in pages[0]
    assert "epsilon = 8 and delta = 1e-05, the largest total fixed before the first of them; a smaller one" in pages[0]


def test_runs_that_the_ledger_does_not_know_hide_no_warning() -> None:
    known = of_all(2, basis=Basis.AFTER_LOOKING)["toys"]
    first = promised(Page(_render([run_model()], None, {"toys": replace(known, unknown=1)})))
    assert "No limit that was fixed beforehand" in first
    assert "The ledger does not know 1 of the 1 runs" in first
    assert "can hardly be told" not in first
    fine = replace(of_all(2)["toys"], unknown=1)
    assert "everything that the" not in promised(Page(_render([run_model()], None, {"toys": fine})))


def test_the_only_run_on_record_is_promised_as_such() -> None:
    first = promised(Page(_render([run_model()], None, of_all(1))))
    assert "starts from even odds and guesses from what this run released" in first
    assert (
        "It is the only run recorded under the name toys. Runs on the same documents under other names are not" in first
    )
    assert "ledger" not in first
    total = percent(promise.success_under_filter(8.0, 1e-5), upwards=True)
    assert f"With all further runs that the total of epsilon 8 allows, it is at most {total}." in first


def test_without_a_ledger_the_promise_is_of_this_run_and_says_so() -> None:
    model = run_model()
    first = promised(Page(_render([model])))
    assert percent(promise.success_at_most(model.privacy), upwards=True) in first
    assert "This is the promise of this run alone" in first
    assert "no ledger knew the run:" in first
    assert "only run" not in first


@pytest.mark.parametrize("basis", [Basis.AFTER_LOOKING, Basis.NO_LIMIT])
def test_runs_whose_limit_was_chosen_after_looking_are_promised_nothing_together(basis: Basis) -> None:
    first = promised(Page(_render([run_model()], None, of_all(2, basis=basis))))
    assert first.index(
        "No limit that was fixed beforehand is stated for the 2 runs recorded for this text together"
    ) < first.index("%")
    assert "guesses from what this run released" in first
    assert "everything that the" not in first


def test_runs_of_which_one_was_interrupted_are_not_said_to_have_had_no_limit() -> None:
    first = promised(Page(_render([run_model()], None, of_all(2, basis=Basis.UNFINISHED))))
    assert "Of the 2 runs recorded for this text, one or more were interrupted or go on" in first
    assert "No limit that was fixed beforehand" not in first
    assert "Of this run alone this is promised" in first


def test_the_table_of_beliefs_says_which_runs_it_means_and_covers_all_of_them() -> None:
    page = Page(_render([run_model()], None, of_all(2)))
    row = " ".join(percent(belief_at_most(0.5, e, d), upwards=True) for e, d in ((1.0, 1e-6), (8.0, 1e-5)))
    assert "can believe after this run, at most can believe after all 2 runs, at most 1% " in page.text
    assert f"50% {row}" in page.text
    assert "everything that was released" not in page.text


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        (0.3, "can hardly be told"),
        (1.0, "cannot be told with confidence"),
        (2.0, "remains uncertain"),
        (4.0, "is protected to a limited degree"),
        (8.0, "is protected only weakly"),
        (40.0, "is hardly protected"),
    ],
)
def test_the_promise_is_in_words_that_fit_the_epsilon(epsilon: float, words: str) -> None:
    events = merge_events(calibrate(shares(False, 3), epsilon, 1e-6))
    first = promised(Page(_render([run_model(epsilon=epsilon, events=events)])))
    assert f"Whether one particular document is in the data {words}." in first
    belief = percent(belief_at_most(0.5, epsilon, 1e-6), upwards=True)
    assert ("practically sure" in first) == (belief == "100.0%")
    assert (f"may become up to {belief} sure, and surer only after a rare draw" in first) == (belief != "100.0%")


@pytest.mark.parametrize(
    ("unit", "one", "many"),
    [
        ("Customer", "customer", "customers"),
        ("company", "company", "companies"),
        ("Mieter", "“Mieter”", "different values of “Mieter”"),
        ("<b>", "“<b>”", "different values of “<b>”"),
    ],
)
def test_a_unit_is_named_in_prose_and_its_column_as_it_is_written(unit: str, one: str, many: str) -> None:
    first = promised(Page(_render([run_model(unit=unit)])))
    assert f"toys: about 5,000 {many}." in first
    assert f"Whether one particular {one} is in the data" in first
    together = f"All documents of one {one} are protected together (all documents with the same value of “{unit}”)."
    assert together in first


def test_a_size_that_is_a_lower_bound_is_told_as_one() -> None:
    events = (Event(stage="size", noise_multiplier=9.0), Event(stage="size lower bound", noise_multiplier=9.0))
    first = promised(Page(_render([run_model(events=events)])))
    assert "toys: at least about 5,000 documents. The number is inexact on purpose." in first


def test_a_share_is_said_to_be_of_the_words_and_by_a_table_of_an_average_unit() -> None:
    averaged = "the documents of one customer are averaged first, so that many documents count no more than one"
    long = "Long documents count no more than ordinary ones."
    customer, document = run_model(unit="Customer"), run_model()
    for model, by_table, told in (
        (customer, False, f"The share of a topic is the part of the words that belongs to it: {averaged}. {long}"),
        (document, False, f"The share of a topic is the part of the words that belongs to it. {long}"),
        (customer, True, f"the part of an average customer's words that belongs to it: {averaged}."),
        (document, True, "the part of an average document's words that belongs to it: each document counts once."),
    ):
        found = Estimates(model.prevalence, model.prevalence, model.prevalence) if by_table else None
        (topics,) = shown_topics([model], Wording())
        (picture,) = (each for each in pictures(model, topics, "run", found) if each.name == "run-prevalence")
        assert told in picture.note
        part = f"of the average {model.privacy.unit}." if by_table else "of the words."
        assert picture.alt.endswith(part)
        assert cards(model, topics, found)[0]["part"] == part.rstrip(".")


def test_how_many_must_use_a_word_is_what_plan_forecasts() -> None:
    settings = FitSettings.of(topics=8, epsilon=4.0, words="private")
    events = merge_events(calibrate(shares(False, 8), 4.0, 1e-6))
    inputs = ForecastInputs(settings, 4000, False)
    expected = inputs.forecast(next(iter(REFERENCE_CORPORA))).stages[1].noise
    assert units_needed(events, "add-remove") == pytest.approx(expected)
    text = Page(_render([run_model(unit="Customer", events=events)])).text
    about = f"used by about {float(f'{expected:.2g}'):,.0f} customers has an even chance to be among them"
    assert f"A word {about}, and a much rarer one hardly any." in text
    assert f"Subjects that fewer than about {float(f'{expected:.2g}'):,.0f} customers write about seldom appear" in text
    assert "to be among them" not in Page(_render([run_model(events=events[:1])])).text
    common = ("often",)
    for documents, left in ((int(9 * expected), True), (int(11 * expected), False)):
        model = with_facts(run_model(events=events), words="listed", documents=documents, frequent_words=common)
        text = Page(_render([model])).text
        assert ("would stand out from the noise, but may be left out as too frequent" in text) == left
        assert ("has an even chance to be among them" in text) == (not left)
        facts = Facts(model, None)
        assert facts.too_frequent == left
    wide = with_facts(run_model(events=events), words="listed", documents=int(9 * expected), frequent_words=common)
    assert not Facts(with_facts(wide, max_document_frequency=0.5), None).too_frequent


def folded(text: str) -> str:
    """The part of a page of one run that is in the section for specialists."""
    return text.split('<details class="specialists">')[1].split("</main>")[0]


def test_what_only_specialists_read_is_folded_away() -> None:
    model = run_model()
    model = replace(model, facts=replace(model.facts, calibration="sound"))
    text = _render([model], None, of_all(2))
    body = text.split("</main>")[0].split("</head>")[1]
    inside = folded(body + "</main>")
    outside = body.replace(inside, "")
    for expert in (
        "Gaussian",
        "mu squared",
        "Eigenvalues",
        "refine",
        "calibration",
        "<code>",
    ):
        assert expert in inside, expert
        assert expert not in outside, expert
    assert outside.count("<strong>") == 1, "one number leads"
    assert "believe" not in outside


def test_runs_on_one_dataset_are_added_up_and_the_guarantee_is_left_to_the_grant() -> None:
    two = [run_model("a"), run_model("b", seed=1)]
    text = Page(_render(two)).text
    assert "These 2 runs on toys add up to" in text
    assert "no ledger knew the runs:" in text
    told = Page(_render(two, None, of_all(2))).text
    assert told.count("together, the guarantee is <this>.") == 6  # for each run what is covered, and two facts
    settings = told.index("2 runs: their settings")
    assert settings < told.index("add up to"), "what was spent is for specialists where a guarantee is known"
    assert told.count("This holds for the 2 runs recorded under the name toys together (differentially private") == 1
    assert told.count("before the first of them), not only for the runs on this page.") == 1
    assert "add up to" not in Page(_render([run_model("a"), run_model("b", seed=1, unit="customer")])).text


@pytest.mark.parametrize("runs", [1, 2])
def test_where_the_ledger_lost_changes_nothing_is_promised_of_all_runs_together(runs: int) -> None:
    first = promised(Page(_render([run_model()], None, of_all(runs, basis=Basis.LOST))))
    assert first.index("What all runs on this text released together is not known") < first.index("%")
    assert "An older copy of the ledger was accepted" in first
    assert "guesses from what this run released" in first
    assert "only run" not in first
    assert "further runs" not in first


def test_groups_are_protected_less_as_brute_force_finds() -> None:
    for units, mu, failures in ((1, 0.45, 1e-6), (2, 0.45, 1e-6), (6, 0.45, 1e-6), (6, 0.85, 1e-5)):
        x, detected = np.linspace(0, 1, 200_001), np.linspace(0, 1, 200_001)
        for _ in range(units):  # the most that the next neighbour may detect
            detected = np.minimum(ndtr(ndtri(detected) + mu) + failures, 1.0)
        right = ((detected - x) / 2 + 0.5).max()
        bound = promise.success_for_several(units, mu, failures)
        assert right <= bound < right + 5e-5


def test_draws_that_tell_more_than_epsilon_are_as_rare_as_said() -> None:
    mu, epsilon = 1.0, 2.0
    loss = mu * np.random.default_rng(0).normal(mu, 1.0, 400_000) - mu**2 / 2  # of the release with the unit
    assert (loss > epsilon).mean() == pytest.approx(promise.surer_at_most(epsilon, mu, 0.0), rel=0.03)
    assert promise.surer_at_most(epsilon, 0.0, 1e-9) == 1e-9


def test_a_page_tells_auditors_each_fact_and_what_several_documents_of_one_person_mean() -> None:
    model = run_model()
    page = Page(_render([model])).text
    for title in TITLES.values():
        assert title in page
    mu, failures = promise.noise(model.privacy)
    assert f"{percent(promise.success_for_several(6, mu, failures), upwards=True)} of the time for 6 doc" in page
    assert "for 6 documents" not in Page(_render([run_model(unit="customer")])).text
    assert "People whom others mention" in page
    assert "What auditors ask" not in Page(_render([run_model(**UNSOUND)])).text
