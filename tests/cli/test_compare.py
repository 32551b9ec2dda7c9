from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from scipy import sparse

from dplda.base.errors import UnsupportedByData
from dplda.budget import Ledger
from dplda.budget.accountant import cost
from dplda.cli.compare_command import compare
from dplda.cli.main import main
from dplda.learning.placements import registry
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.runs import grid as grid_module
from dplda.runs.corpus import synthetic

SMALL = ("--epsilons", "0.5,1", "--placements", "default")
PLANTED = ("--synthetic", "3000,12,2,30", *SMALL)
PRIVATE = ("notes.npz", "--vocabulary", "words.txt", "--topics", 2, *SMALL)


@pytest.fixture
def notes(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private corpus of 3,000 documents over 12 words, with a public list of them."""
    monkeypatch.setattr(ExactNoise, "gaussian", SimulatedNoise(0).gaussian)  # fast: noise is tested elsewhere
    counts = synthetic(n_documents=3000, n_words=12, n_topics=2, mean_length=30, seed=1)[0]
    sparse.save_npz(home / "notes.npz", counts)
    for name in ("words.txt", "notes.vocab"):
        (home / name).write_text("\n".join(f"w{i}" for i in range(12)) + "\n", encoding="utf-8")
    return home


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What each call of the real `fit` was asked."""
    asked, fit = [], grid_module.fit

    def count(*args, **given):
        asked.append(given)
        return fit(*args, **given)

    monkeypatch.setattr(grid_module, "fit", count)
    return asked


def test_a_planted_comparison_is_free_measured_and_continued_without_a_run(dplda, counted) -> None:
    first = dplda("compare", *PLANTED, "--json")
    assert first.status == 0, first.err
    record = first.json
    assert set(record) == {
        *("comparison", "corpus", "kind", "parameters", "charged", "outcomes", "seconds_are_local", "report"),
    }
    assert (record["kind"], record["charged"], record["report"]) == ("planted", None, None)
    assert [(o["placement"], o["epsilon"], o["repeat"]) for o in record["outcomes"]] == [
        ("default", 0.5, 0),
        ("default", 1.0, 0),
    ]
    assert all(0 < o["error"] < 2 and o["coherence"] is None for o in record["outcomes"])
    assert (Ledger().runs(), Ledger().datasets(), len(counted)) == ([], [], 2)
    assert "Nothing is charged" in first.err
    again = dplda("compare", *PLANTED, "--json")
    assert (again.json, len(counted)) == (record, 2)
    assert "2 of 2 cells were done already" in again.err
    fresh = dplda("compare", *PLANTED, "--json", "--fresh").json
    assert fresh["comparison"] != record["comparison"]
    assert [o["error"] for o in fresh["outcomes"]] == [o["error"] for o in record["outcomes"]]
    assert len(counted) == 4
    assert dplda("compare", *PLANTED, "--seed", 1, "--json").json["outcomes"] != record["outcomes"]


def test_a_public_corpus_is_free_and_its_coherence_is_measured(dplda, notes) -> None:
    answer = dplda("compare", *PRIVATE, "--public", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["charged"] is None
    for outcome in answer.json["outcomes"]:
        assert -1 <= outcome["coherence"] <= 1
        assert 0 < outcome["diversity"] <= 1
        assert outcome["error"] is None
        assert set(outcome["seconds"]) > {"read", "core"}
    assert (Ledger().runs(), Ledger().datasets()) == ([], [])


@pytest.mark.parametrize("name", [(), ("--dataset", "elsewhere")])
def test_a_corpus_with_a_bounded_budget_is_not_taken_for_public(dplda, notes, counted, name) -> None:
    assert dplda("compare", *PRIVATE, "--epsilons", 0.5, "--yes").status == 0
    before, asked = Ledger().verify().length, len(counted)
    answer = dplda("compare", *PRIVATE, "--public", *name, "--placements", "none", "--json", "--output", "r.html")
    assert (answer.status, answer.out) == (3, "")
    assert "dplda budget grant notes --unbounded" in answer.err
    assert len(answer.err.splitlines()) == 1
    assert (Ledger().verify().length, len(counted), (notes / "r.html").exists()) == (before, asked, False)
    assert dplda("budget", "grant", "notes", "--unbounded").status == 0
    assert dplda("compare", *PRIVATE, "--public", *name, "--placements", "none", "--json").status == 0


def test_a_comparison_that_another_process_is_making_is_refused_in_one_line(dplda, notes, monkeypatch) -> None:
    fit, others = grid_module.fit, []

    def meanwhile(*args, **given):
        others.append(main(["compare", *map(str, PRIVATE), "--yes", "--epsilons", "0.5"]))
        return fit(*args, **given)

    monkeypatch.setattr(grid_module, "fit", meanwhile)
    answer = dplda("compare", *PRIVATE, "--yes")
    assert (answer.status, others) == (0, [2, 2])
    assert answer.err.count("Another process") == 2
    assert len(Ledger().runs()) == 2


def test_a_private_corpus_is_charged_what_was_told_and_nothing_is_measured(dplda, notes, counted) -> None:
    answer = dplda("compare", *PRIVATE, "--yes", "--json")
    assert answer.status == 0, answer.err
    ledger = Ledger()
    charged = answer.json["charged"]
    assert set(charged) == {"dataset", "mu_squared", "share"}, "what is left depends on linked datasets"
    assert charged["dataset"] == "notes"
    assert charged["mu_squared"] == pytest.approx(ledger.dataset("notes").spent.mu_squared)
    assert charged["share"] == pytest.approx(1 - ledger.dataset("notes").remaining)
    for outcome in answer.json["outcomes"]:
        assert [outcome[name] for name in ("error", "coherence", "diversity")] == [None] * 3
        assert (outcome["sound"], outcome["seconds"]) == (True, {})
    assert [o["run"] for o in answer.json["outcomes"]] == [run.id for run in ledger.runs()]
    assert "2 runs cost" in answer.err
    assert all(asked["simulate_seed"] is None for asked in counted)
    again = dplda("compare", *PRIVATE, "--json")
    assert (again.status, len(counted)) == (0, 2)
    assert again.json["outcomes"] == answer.json["outcomes"]
    assert again.json["charged"]["mu_squared"] == 0


def test_only_what_is_left_of_an_interrupted_comparison_is_priced_and_run(dplda, notes, monkeypatch) -> None:
    fit = grid_module.fit

    def interrupted(*args, **given):
        if given["epsilon"] == 1.0:
            progress = given["progress"]
            monkeypatch.setattr(progress, "start", lambda stage, total=None: _interrupt_at(stage, "core"))
        return fit(*args, **given)

    monkeypatch.setattr(grid_module, "fit", interrupted)
    answer = dplda("compare", *PRIVATE, "--yes")
    assert answer.status == 130
    assert "1 of 2 cells are done; the same command continues" in answer.err
    spent = Ledger().dataset("notes").spent
    monkeypatch.setattr(grid_module, "fit", fit)
    again = dplda("compare", *PRIVATE, "--yes", "--json")
    assert again.status == 0
    assert "1 of 2 cells were done already" in again.err
    assert "1 cell(s) were interrupted" in again.err
    runs = Ledger().runs()
    assert [run.status for run in runs] == ["done", "cancelled", "done"]
    assert again.json["charged"]["mu_squared"] == pytest.approx(cost(runs[2].events).mu_squared)
    assert Ledger().dataset("notes").spent.mu_squared == pytest.approx((spent + cost(runs[2].events)).mu_squared)


def _interrupt_at(stage: str, wanted: str) -> None:
    if stage == wanted:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "more",
    [
        ("--repeats", 200),
        ("--placements", "default,none"),
        ("--placements", "none"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(dplda, notes, counted, more) -> None:
    answer = dplda("compare", *PRIVATE, *more, "--yes", "--json")
    assert (answer.status, answer.out) == (3, "")
    assert "dplda budget grant notes" in answer.err
    assert (Ledger().runs(), Ledger().datasets(), Ledger().verify().length, counted) == ([], [], 0, [])


def test_no_noise_is_compared_on_a_dataset_without_bound(dplda, notes) -> None:
    assert dplda("budget", "grant", "notes", "--unbounded").status == 0
    answer = dplda("compare", *PRIVATE, "--placements", "default,none", "--yes")
    assert answer.status == 0
    assert "the grant is unbounded" in answer.err
    assert [run.sound for run in Ledger().runs()] == [True, True, False]
    assert "NO" in answer.out


def test_nothing_is_spent_without_consent(dplda, notes, counted, monkeypatch) -> None:
    nobody = dplda("compare", *PRIVATE)
    assert nobody.status == 2
    assert "add --yes" in nobody.err
    monkeypatch.setattr("dplda.cli.console.sys.stdin", SimpleNamespace(isatty=lambda: True, readline=lambda: ""))
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    assert dplda("compare", *PRIVATE).status == 130
    assert (Ledger().verify().length, counted) == (0, [])
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "y")
    assert dplda("compare", *PRIVATE).status == 0
    assert len(counted) == 2


def test_a_cell_that_the_data_cannot_support_is_told_and_the_rest_goes_on(dplda, monkeypatch) -> None:
    fit = grid_module.fit

    def refused(*args, **given):
        if given["epsilon"] == 0.5:
            raise UnsupportedByData("the released gap is too small.")
        return fit(*args, **given)

    monkeypatch.setattr(grid_module, "fit", refused)
    answer = dplda("compare", *PLANTED, "--json")
    assert answer.status == 0
    assert [(o["status"], o["error"] is None) for o in answer.json["outcomes"]] == [
        ("unsupported", True),
        ("done", False),
    ]
    told = dplda("compare", *PLANTED)
    assert "default, sound, epsilon 0.5, repeat 0: the released gap is too small." in told.out
    assert "0 of 1" in told.out
    assert "none of these models is private" in told.out


def test_a_free_cell_that_the_data_cannot_support_claims_no_epsilon_and_no_record(dplda, home) -> None:
    answer = dplda("compare", "--synthetic", "20,12,2,30", *SMALL, "--placements", "config4", "--json")
    assert answer.status == 0, answer.err
    for outcome in answer.json["outcomes"]:
        assert (outcome["status"], outcome["run"]) == ("unsupported", "")
        assert outcome["message"].endswith(" NOT PRIVATE: simulated noise from a known seed.")
        assert "recorded" not in outcome["message"]


def test_the_report_is_given_the_comparison_and_a_model_of_each_method(dplda, home, monkeypatch) -> None:
    written = {}

    def write_report(models, path, comparison, guarantees):
        assert guarantees == {}, "the page says what the comparison cost"
        written.update(models=models, path=path, comparison=comparison)

    monkeypatch.setitem(sys.modules, "dplda.report", SimpleNamespace(write_report=write_report))
    answer = dplda("compare", *PLANTED, "--placements", "default,none", "--repeats", 2, "--output", "r.html", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["report"] == "r.html"
    assert (written["path"], written["comparison"].name) == (Path("r.html"), answer.json["comparison"])
    assert len(written["comparison"].outcomes) == 6
    chosen = [
        o["run"] for o in answer.json["outcomes"] if (o["placement"], o["epsilon"], o["repeat"]) == ("default", 1, 0)
    ]
    chosen += [o["run"] for o in answer.json["outcomes"] if (o["placement"], o["repeat"]) == ("none", 0)]
    assert [model.facts.run for model in written["models"]] == chosen


def test_all_placements_but_the_one_without_noise_are_compared_by_default() -> None:
    (option,) = [option for option in compare.params if option.name == "placements"]
    assert option.default.split(",") == list(registry.PRIVATE)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("x", *PLANTED),
        (*PLANTED, "--public"),
        (*PLANTED, "--vocabulary", "words.txt"),
        ("notes.npz", "--seed", 1),
        ("--synthetic", "300,12"),
        ("--synthetic", "300,12,many"),
        ("--synthetic", "300,12,2,30,1"),
        (*PLANTED, "--epsilons", "0.5,much"),
        (*PLANTED, "--epsilons", "0"),
        (*PLANTED, "--epsilons", "1,1"),
        (*PLANTED, "--placements", "elsewhere"),
        (*PLANTED, "--calibrations", "sloppy"),
        (*PLANTED, "--repeats", 0),
        (*PLANTED, "--topics", 13),
        (*PLANTED, "--topics", 0),
        (*PLANTED, "--output", "words.txt"),
        (*PLANTED, "--output", "nowhere/r.html"),
        ("nowhere.npz",),
    ],
)
def test_wrong_usage_is_one_line_and_nothing_starts(dplda, notes, counted, arguments) -> None:
    answer = dplda("compare", *arguments, "--json")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("dplda: ")
    assert len(answer.err.splitlines()) == 1
    assert counted == []
