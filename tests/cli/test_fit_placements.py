"""The placements of the paper through the command line: published ones, failed tests, and what cannot be asked."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from full_helpers import full_after
from placement_lists import ALWAYS_ANSWERS, DENSE, EVERY, MAY_END_WITHOUT_TOPICS, OF_THE_PAPER

from dplda.budget import Ledger, accountant
from dplda.runs.corpus import Corpus, synthetic

WORDS = [f"w{i}" for i in range(30)]


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 stored documents of three topics."""
    folder = tmp_path_factory.mktemp("stores") / "toys"
    Corpus.from_counts(synthetic(2000, 30, 3, mean_length=30)[0], WORDS).write(folder)
    return folder


@pytest.fixture
def fit(dplda, toys: Path, home: Path):
    """`dplda fit` on these with a public word list."""
    (home / "words.txt").write_text("\n".join(WORDS))

    def run(placement: str, *more: object, of: Path = toys):
        return dplda("fit", of, "--placement", placement, "--topics", 3, "--vocabulary", "words.txt", *more)

    return run


def refused(answer, home: Path, *told: str) -> None:
    """One clear line, status 2, nothing written, nothing reserved."""
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    for part in told:
        assert part in answer.err
    assert not Ledger().runs()
    assert not list(home.glob("models/*"))


PUBLISHED = {"config1": "Theorem 4", "config2": "Theorem 5", "config3": "Theorem 6", "config4": "Theorem 7"}


@pytest.mark.parametrize("placement", full_after(2, OF_THE_PAPER))
def test_published_noise_is_refused_without_an_unbounded_grant_and_stamped_with_one(fit, dplda, home, placement):
    answer = fit(placement, "--calibration", "published", "--epsilon", 1, "--json")
    assert (answer.status, answer.out) == (3, "")
    assert "--unbounded" in answer.err
    assert not Ledger().runs()
    assert not list(home.glob("models/*"))

    assert dplda("budget", "grant", "toys", "--unbounded").status == 0
    answer = fit(placement, "--calibration", "published", "--epsilon", 1, "--json")
    told = answer.json
    assert (answer.status, told["calibration"], told["placement"]) == (0, "published", placement)
    assert (told["privacy"]["sound"], told["privacy"]["epsilon"]) == (False, None)
    assert told["privacy"]["reason"].startswith("NOT PROVEN PRIVATE: ")
    assert PUBLISHED[placement] in told["privacy"]["reason"]
    assert {event["mechanism"] for event in told["privacy"]["events"]} == {"exact"}
    model = json.loads((home / told["model"] / "model.json").read_text())
    assert model["privacy"] == told["privacy"]

    (run,) = Ledger().runs()
    assert (run.sound, run.cost.mu_squared) == (False, math.inf)
    assert (run.parameters["placement"], run.parameters["calibration"]) == (placement, "published")
    for command in (("runs",), ("runs", "show", run.id)):
        assert "NO" in dplda(*command).out
    assert dplda("runs", "show", run.id, "--json").json["spent"]["epsilon"] is None


def test_a_person_reads_that_published_noise_is_not_proven_private_and_reads_it_once(fit, dplda):
    dplda("budget", "grant", "toys", "--unbounded")
    answer = fit("config2", "--calibration", "published")
    assert answer.status == 0
    assert answer.out.startswith("NOT PROVEN PRIVATE: ")
    assert answer.out.count("NOT P") == 1
    assert fit("none").out.startswith("NOT PRIVATE: exact statistics")


@pytest.mark.parametrize("placement", sorted({*EVERY} - {*OF_THE_PAPER}))
def test_published_noise_exists_for_the_papers_configurations_only(fit, home, placement):
    answer = fit(placement, "--calibration", "published")
    refused(answer, home, ", ".join(OF_THE_PAPER), f"not for {placement}")


SPLITS = {
    "e6=0.5,e7=0.5": "e6, e8",
    "e6=1": "e6, e8",
    "e6=0.5,e8=0.4": "sum to 1",
    "e6=1.5,e8=-0.5": "sum to 1",
    "e6=nan,e8=0.5": "sum to 1",
    "e6=inf,e8=0.5": "sum to 1",
    "e6=0,e8=1": "sum to 1",
    "e6=0.5,e8=0.25,e8=0.25": "twice",
    "e6=0.5,e8": "not of the form",
    "e6=half,e8=0.5": "not of the form",
    "": "not of the form",
}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("calibration", ["sound", "published"])
def test_a_bad_split_is_named_and_nothing_is_reserved(fit, home, split, calibration):
    refused(fit("config2", "--split", split, "--calibration", calibration), home, SPLITS[split])


def test_a_split_is_for_placements_with_edges(fit, home):
    refused(fit("default", "--split", "e6=1"), home, "placement default: the split does not apply, so leave it out")


def test_configuration_4_needs_a_number_of_topics(fit, home):
    for topics in ("auto", 1):
        told = "needs a number of topics, at least 2", f"topics={topics}"
        refused(fit("config4", "--topics", topics), home, *told)


@pytest.mark.parametrize("placement", DENSE)
def test_too_many_words_for_dense_moments_are_refused_before_anything_is_read(dplda, fit, toys, home, placement):
    (home / "words.txt").write_text("\n".join(f"w{i}" for i in range(5001)))
    told = "at most 5000 words, got 5001", "--max-vocabulary"
    refused(fit(placement), home, *told)
    refused(dplda("fit", toys, "--placement", placement, "--max-vocabulary", 5001), home, *told)


def test_a_split_arrives_in_the_plan_and_in_the_record(fit):
    told = fit("config2", "--split", "e6=0.75,e8=0.25", "--epsilon", 0.3, "--json").json
    spent = {event["stage"]: event["noise_multiplier"] ** -2 for event in told["privacy"]["events"]}
    assert spent["tensor"] / spent["moment"] == pytest.approx(3)
    (run,) = Ledger().runs()
    assert run.parameters["split"] == {"e6": 0.75, "e8": 0.25}


FAILED = {
    "config3": (
        "the decomposition is not stable enough",
        "least eigenvalue gap at least",
        {"decomposition"},
    ),
    "config4": (
        "the topics are not stable enough",
        "units at least",
        {"norm", "eigenvalue gap", "topics"},
    ),
}


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("placement", MAY_END_WITHOUT_TOPICS)
def test_a_failed_stability_test_tells_what_was_found_and_what_it_cost(fit, home, any_size, placement, adjacency):
    """Noise that is large enough makes gaps of its own, which are released already: then another dataset is tried."""
    reason, found, unasked = FAILED[placement]
    Corpus.from_counts(synthetic(200, 30, 3, mean_length=30)[0], WORDS).write(home / "few")
    asked = ("--epsilon", 0.2, "--alpha0", 0.001, "--adjacency", adjacency, "--json")
    tries = (fit(placement, *asked, "--dataset", f"few{i}", of=home / "few") for i in range(20))
    answer = next(answer for answer in tries if answer.status)
    assert (answer.status, answer.out) == (4, "")
    statements = [line for line in answer.err.splitlines() if line.startswith("dplda: ")]
    assert len(statements) == 1
    assert reason in statements[0]
    assert f"{found} " in statements[0]
    assert "needed: more than" in statements[0]

    (run,) = [run for run in Ledger().runs() if run.status != "done"]
    assert (run.status, run.model) == ("unsupported", None)
    assert not list(home.glob(f"models/{run.id}*"))
    assert {planned.event.stage for planned in run.plan if not planned.charged} == unasked
    for part in ("Spent: ", f"quote the total of dataset {run.dataset} ", f"recorded as run {run.id}"):
        assert part in statements[0]
    assert run.cost.mu_squared < accountant.cost(run.events).mu_squared
    assert run.cost == accountant.cost([planned.event for planned in run.plan if planned.charged])


@pytest.mark.full
def test_both_adjacencies_reach_the_statement(fit, any_size):
    for placement in ALWAYS_ANSWERS:
        told = fit(placement, "--epsilon", 0.2, "--adjacency", "replace", "--dataset", placement, "--json").json
        assert (told["privacy"]["adjacency"], told["privacy"]["sound"]) == ("replace", True)
        assert told["privacy"]["epsilon"] <= 0.2
