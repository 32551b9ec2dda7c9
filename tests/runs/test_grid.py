from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from grids import COMMON, Watching, planted_grid, private_grid, public_grid

import dplda
from dplda.base import software
from dplda.base.config import PrivacySettings
from dplda.base.errors import BudgetRefused, InputError, UnsupportedByData
from dplda.base.progress import NoProgress
from dplda.budget import Status
from dplda.budget.accountant import cost
from dplda.budget.comparisons import Cell
from dplda.model.run_facts import RunFacts
from dplda.runs import grid as grid_module
from dplda.runs.corpus import Corpus
from dplda.runs.grid import Documents, _noise_seed


class Fits:
    """Stands for `fit`: keeps what it was asked and saves nothing."""

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.fails: dict[int, BaseException] = {}

    def __call__(self, corpus, **given):
        self.asked.append(given)
        given["seconds"]["read"] = 0.5
        if len(self.asked) in self.fails:
            raise self.fails[len(self.asked)]
        return SimpleNamespace(facts=RunFacts(run=f"run-{len(self.asked)}"))


@pytest.fixture
def fits(monkeypatch) -> Fits:
    stand_in = Fits()
    monkeypatch.setattr(grid_module, "fit", stand_in)
    return stand_in


def run(grid, ledger, log=None):
    log = log or grid.begin(ledger)
    watching = Watching()
    grid.run(ledger, log, Path("models"), watching)
    return grid.comparison(log), watching


def test_a_comparison_is_found_again_by_other_code(ledger, monkeypatch):
    before = private_grid().key(ledger)
    monkeypatch.setattr(software, "code_digest", lambda: "0" * 64)
    assert private_grid().key(ledger) == before


def test_every_cell_is_run_once_in_order_of_repeats_and_kept(ledger, fits):
    grid = private_grid(repeats=2)
    comparison, watching = run(grid, ledger)
    expected = [Cell("default", "sound", epsilon, repeat) for repeat, epsilon in product((0, 1), (0.5, 1.0))]
    assert [outcome.cell for outcome in comparison.outcomes] == grid.cells == expected
    assert watching.cells == [(cell, number, 4) for number, cell in enumerate(expected, 1)]
    assert [(asked["epsilon"], asked["placement"], asked["calibration"]) for asked in fits.asked] == [
        (cell.epsilon, "default", "sound") for cell in expected
    ]
    assert [outcome.run for outcome in comparison.outcomes] == ["run-1", "run-2", "run-3", "run-4"]
    assert all(outcome.status == Status.DONE for outcome in comparison.outcomes)


def test_what_has_ended_is_not_run_again_and_what_was_interrupted_is(ledger, fits):
    grid = private_grid(repeats=2)
    fits.fails[3] = KeyboardInterrupt()
    log = grid.begin(ledger)
    with pytest.raises(KeyboardInterrupt):
        run(grid, ledger, log)
    assert (len(log.outcomes()), log.interrupted()) == (2, [grid.cells[2]])
    comparison, watching = run(grid, ledger, ledger.comparison(grid.key(ledger)))
    assert [number for _, number, _ in watching.cells] == [3, 4]
    assert [outcome.run for outcome in comparison.outcomes] == ["run-1", "run-2", "run-4", "run-5"]
    assert log.interrupted() == []


def test_a_wider_grid_of_the_same_comparison_runs_only_what_is_new(ledger, fits):
    comparison, _ = run(private_grid(), ledger)
    wider = private_grid(epsilons=[1.0, 2.0])
    continued, watching = run(wider, ledger, ledger.comparison(wider.key(ledger)))
    assert [cell.epsilon for cell, _, _ in watching.cells] == [2.0]
    assert continued.name == comparison.name
    assert [outcome.cell.epsilon for outcome in continued.outcomes] == [1.0, 2.0]


def test_a_cell_that_the_data_cannot_support_is_an_outcome(ledger, fits):
    fits.fails[1] = UnsupportedByData("no word passed")
    comparison, _ = run(private_grid(), ledger)
    assert [(o.status, o.message, o.run, o.model) for o in comparison.outcomes] == [
        (Status.UNSUPPORTED, "no word passed", "", None),
        (Status.DONE, "", "run-2", str((Path("models") / "run-2").resolve())),
    ]


def test_a_refusal_in_the_middle_ends_the_comparison_and_keeps_what_is_done(ledger, fits):
    fits.fails[2] = BudgetRefused("no")
    grid = private_grid()
    log = grid.begin(ledger)
    with pytest.raises(BudgetRefused):
        run(grid, ledger, log)
    assert [outcome.run for outcome in grid.comparison(log).outcomes] == ["run-1"]


def test_private_runs_draw_exact_noise_and_are_recorded_and_tell_no_seconds(ledger, fits):
    comparison, _ = run(private_grid(), ledger)
    assert all((asked["ledger"], asked["simulate_seed"]) == (ledger, None) for asked in fits.asked)
    assert all((o.seconds, o.error, o.coherence, o.diversity) == ({}, None, None, None) for o in comparison.outcomes)
    assert comparison.parameters["noise"] == "exact"


def test_free_runs_draw_simulated_noise_another_in_each_cell_and_are_not_recorded(ledger, monkeypatch, fits):
    grid = planted_grid(repeats=2)
    monkeypatch.setattr(type(grid.judge), "measure", lambda self, model: {"error": 0.25})
    comparison, _ = run(grid, ledger)
    assert [asked["ledger"] for asked in fits.asked] == [False] * 4
    seeds = [asked["simulate_seed"] for asked in fits.asked]
    assert seeds == [_noise_seed(0, cell) for cell in grid.cells]
    assert len(set(seeds)) == 4
    assert all((o.seconds, o.error, o.sound) == ({"read": 0.5}, 0.25, True) for o in comparison.outcomes)
    assert (comparison.parameters["noise"], comparison.parameters["seed"]) == ("simulated", 0)


def test_the_noise_of_a_cell_does_not_depend_on_what_else_is_compared():
    cell = Cell("default", "sound", 1.0, 0)
    assert _noise_seed(0, cell) == _noise_seed(0, replace(cell, epsilon=1))
    others = [replace(cell, epsilon=2.0), replace(cell, repeat=1), replace(cell, placement="none")]
    seeds = {_noise_seed(0, cell), _noise_seed(1, cell), *(_noise_seed(0, other) for other in others)}
    assert len(seeds) == 5
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_no_noise_is_tried_at_one_epsilon_only_and_is_not_sound(ledger, fits):
    grid = private_grid(placements=["default", "none"])
    assert [cell.epsilon for cell in grid.cells if cell.placement == "none"] == [0.5]
    comparison, _ = run(grid, ledger)
    assert {o.cell.placement: o.sound for o in comparison.outcomes} == {"default": True, "none": False}


def test_a_placement_is_compared_with_the_calibrations_that_it_has():
    grid = private_grid(placements=["default", "config2"], calibrations=["sound", "published"], epsilons=[1.0])
    pairs = [(cell.placement, cell.calibration) for cell in grid.cells]
    assert pairs == [("default", "sound"), ("config2", "sound"), ("config2", "published")]
    with pytest.raises(InputError, match="published"):
        _ = private_grid(calibrations=["published"]).cells


def test_a_placement_that_cannot_run_is_refused_even_if_another_calibration_could():
    one_topic = COMMON | {"n_topics": 1}
    assert private_grid(placements=["config2"], common=one_topic).cells
    with pytest.raises(InputError, match="topics"):
        _ = private_grid(placements=["config2"], calibrations=["sound", "published"], common=one_topic).cells


def test_a_comparison_is_known_again_by_corpus_and_parameters_but_not_by_its_grid(ledger):
    key = private_grid().key(ledger)
    for same in ({"epsilons": [4.0]}, {"repeats": 3}, {"placements": ["none"]}):
        assert private_grid(**same).key(ledger) == key
    changed = COMMON | {"alpha0": 2.0}
    for other in ({"dataset": "d"}, {"source": "e"}, {"common": changed}, {"words": ("w1", "w2")}, {"words": None}):
        assert private_grid(**other).key(ledger) != key
    assert planted_grid(seed=1).key(ledger) != planted_grid().key(ledger) == planted_grid(repeats=2).key(ledger)


def test_a_public_corpus_is_known_again_by_its_documents(ledger):
    grid = public_grid()
    other = Corpus.from_counts([[3] + [0] * 11], grid.words, public_vocabulary=True)
    assert replace(grid, judge=Documents(other, NoProgress())).key(ledger) != grid.key(ledger)


def test_nothing_private_is_read_to_plan_to_price_and_to_begin(ledger, monkeypatch):
    grid = private_grid()
    monkeypatch.setattr(Corpus, "open", lambda *_: pytest.fail("read"))
    grid.quote(ledger, grid.cells)
    assert grid.comparison(grid.begin(ledger)).outcomes == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"repeats": 0}, "repeats must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"epsilons": []}, "epsilons must be a list"),
        ({"epsilons": [1.0, 1.0]}, "epsilons must be a list with at least one entry and no repetitions"),
        ({"placements": ["nowhere"]}, "placements must be one of"),
        ({"calibrations": ["sloppy"]}, "calibrations must be one of"),
        ({"epsilons": [1.0, -1.0]}, "epsilon must be a number"),
        ({"common": COMMON | {"n_topics": 13}}, "topics must not exceed"),
    ],
)
def test_what_no_run_takes_is_bad_input_before_anything_runs(changes, message):
    with pytest.raises(InputError, match=message):
        _ = private_grid(**changes).cells


def test_a_quote_is_what_the_ledger_counts_after_the_runs(ledger, tmp_path):
    grid = private_grid()
    quote = grid.quote(ledger, grid.cells)
    log = grid.begin(ledger)
    grid.run(ledger, log, tmp_path / "models", Watching())
    spent = ledger.dataset("notes").spent
    assert quote.cost.mu_squared == pytest.approx(spent.mu_squared)
    assert quote.cost.delta == pytest.approx(spent.delta)
    planned = [cost(run.events) for run in ledger.runs()]
    assert quote.cost.mu_squared == pytest.approx(sum(each.mu_squared for each in planned))
    models = [dplda.load(outcome.model) for outcome in grid.comparison(log).outcomes]
    assert [model.facts.run for model in models] == [run.id for run in ledger.runs()]
    assert all(model.privacy.sound for model in models)


def test_a_planted_comparison_is_reproducible_measured_and_free(ledger, tmp_path):
    errors = []
    for folder in ("a", "b"):
        grid = planted_grid(epsilons=[1.0, 100.0], placements=["default", "none"])
        log = grid.begin(ledger)
        grid.run(ledger, log, tmp_path / folder, Watching())
        errors.append([outcome.error for outcome in grid.comparison(log).outcomes])
    assert errors[0] == errors[1]
    noisy, clear, exact = errors[0]
    assert 0 < exact < 0.5
    assert exact <= clear + 0.05 <= noisy + 0.1
    assert (ledger.runs(), ledger.datasets()) == ([], [])


@pytest.mark.parametrize("name", ["notes", "elsewhere"])
def test_documents_with_a_bounded_budget_are_not_compared_as_public(ledger, fits, name):
    run = ledger.reserve(
        dataset="notes",
        unit="document",
        privacy=PrivacySettings(epsilon=1.0),
        events=next(iter(private_grid().runs.values())).events,
        parameters={},
        sound=True,
    )
    run.bind(public_grid().judge.identity(ledger.key))
    grid = public_grid(dataset=name)
    log = grid.begin(ledger)
    for attempt in (lambda: grid.quote(ledger, grid.cells), lambda: grid.run(ledger, log, Path("models"), Watching())):
        with pytest.raises(BudgetRefused, match="budget grant notes --unbounded"):
            attempt()
    assert (fits.asked, log.interrupted()) == ([], [])
    assert planted_grid(dataset=name).quote(ledger, []) is None
    ledger.grant("notes", unbounded=True)
    assert grid.quote(ledger, grid.cells) is None


def test_public_documents_that_the_ledger_does_not_know_are_free(ledger):
    ledger.grant("others", 1.0, 1e-6)
    grid = public_grid()
    assert grid.quote(ledger, grid.cells) is None
