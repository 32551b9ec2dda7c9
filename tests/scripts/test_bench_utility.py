"""The utility benchmark measures what is missing and nothing twice, and draws what was measured."""

from __future__ import annotations

import gzip
import json
import xml.etree.ElementTree as ElementTree

import click
import numpy as np
import pytest
from scipy import sparse

from benchmarks import corpora, figures, small, systems, utility, utility_report
from benchmarks.commands import cli

SMALL = {"n_documents": 400, "n_words": 60, "n_topics": 3, "alpha0": 1.0, "mean_length": 30.0}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "PLANTED", SMALL)
    utility._planted.cache_clear()
    yield tmp_path / "results.jsonl"
    utility._planted.cache_clear()


def run(results, *arguments):
    """Measure the planted corpus at two epsilons and without noise; the records there are afterwards."""
    cli(["utility", "--results", str(results), "--corpus", "synthetic", *arguments], standalone_mode=False)
    return [json.loads(line) for line in results.read_text().splitlines()]


def record(system, epsilon, seed, error, settings="now"):
    measures = {"npmi": error / 2, "nmi": 0.3, "diversity": 1 - error / 2, "error": error}
    key = {"corpus": "synthetic", "half": "all", "system": system, "settings": settings}
    return key | {"epsilon": epsilon, "seed": seed} | measures


def test_private_systems_are_measured_at_every_epsilon_and_the_others_once(results, any_size):
    chosen = "--system dplda --system variational --system random"
    found = run(results, *chosen.split(), "--epsilons", "1,none", "--seeds", "2")
    told = [(entry["seed"], entry["system"], entry["epsilon"]) for entry in found]
    systems = [("dplda", 1.0), ("dplda", None), ("variational", 1.0), ("variational", None), ("random", None)]
    assert told == [(seed, *system) for seed in (0, 1) for system in systems]
    assert all(0 <= entry["error"] <= 2 and 0 < entry["diversity"] <= 1 and -1 <= entry["npmi"] <= 1 for entry in found)


def test_an_interrupted_benchmark_measures_only_what_is_missing(results):
    first = run(results, "--system", "random", "--seeds", "1")
    again = run(results, "--system", "random", "--seeds", "3")
    assert again[0] == first[0]
    assert [entry["seed"] for entry in again] == [0, 1, 2]


def test_other_settings_are_measured_anew(results):
    peer = ["--system", "variational", "--epsilons", "1", "--seeds", "1"]
    for settings, known in ((["--clip", "1"], 1), (["--clip", "2"], 2), (["--clip", "2", "--rounds", "3"], 3)):
        assert len(run(results, *peer, *settings)) == known
    assert len(run(results, *peer, "--clip", "1")) == known
    assert len({entry["error"] for entry in run(results, *peer, "--clip", "1")}) == known


def test_settings_of_dplda_follow_its_source_and_its_noise(tmp_path, monkeypatch):
    monkeypatch.setattr(utility.dplda, "__file__", str(tmp_path / "__init__.py"))
    seen = []
    for source, exact in (("a = 1", False), ("a = 2", False), ("a = 2", True)):
        (tmp_path / "module.py").write_text(source)
        seen.append(utility.dplda_settings(utility.Options([], [], exact=exact)))
    assert len(set(seen)) == 3


@pytest.mark.parametrize("arguments", [["--exact"], []])
def test_dplda_is_fitted_with_the_noise_asked_for(results, arguments, monkeypatch):
    asked = []
    fit = systems.dplda.fit
    monkeypatch.setattr(systems.dplda, "fit", lambda *a, **k: asked.append(fit(*a, **k)) or asked[-1])
    run(results, "--system", "dplda", "--epsilons", "8", "--seeds", "1", *arguments)
    privacy = asked[0].privacy
    assert privacy.sound is bool(arguments)
    assert (privacy.delta, privacy.adjacency) == (1e-6, "add-remove")


def test_agreement_counts_documents_without_words_of_topics_as_a_topic_of_their_own():
    counts = sparse.csr_matrix([[3, 1, 0, 0], [2, 0, 0, 1], [0, 0, 4, 0], [0, 0, 1, 1], [0, 0, 0, 9], [0, 0, 0, 0]])
    topics = np.array([[0.8, 0.2, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])  # no topic produces the last word
    assert small.agreement(["a", "a", "b", "b", "c", "c"], topics, counts) == pytest.approx(1.0)
    assert small.agreement(["a", "a", "b", "b", "b", "b"], topics, counts) < 0.9


@pytest.mark.parametrize("labelled", [True, False])
def test_topics_are_compared_with_the_labels_of_texts_that_have_some(tmp_path, labelled):
    path = tmp_path / "items.jsonl.gz"
    rng = np.random.default_rng(0)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for number in range(40):
            words = [f"word{chr(97 + place)}" for place in rng.choice(20, 2, replace=False)]
            record = {"text": " ".join(words)} | ({"label": number % 2} if labelled else {})
            file.write(json.dumps(record) + "\n")
    options = utility.Options(["agnews"], ["random"], half="report", files={"agnews": path})
    found = utility.one({"corpus": "agnews", "system": "random", "epsilon": None, "seed": 0}, options)
    assert ("nmi" in found) is labelled
    assert utility.load("agnews", 0, options).labels == (["1"] * 20 if labelled else None)


def test_random_words_are_ten_a_topic_and_new_with_each_seed():
    one, other = (systems.random_words(4, 50, seed) for seed in (0, 1))
    np.testing.assert_allclose(one.sum(axis=1), 1.0)
    assert ((one > 0).sum(axis=1) == 10).all()
    assert not np.array_equal(one, other)


def test_a_missing_raw_file_is_named(results):
    with pytest.raises(click.UsageError, match="--imdb must name the raw file"):
        utility.measure(results, utility.Options(["imdb"], ["random"]))


def test_newsgroups_are_never_tuned_on(results, tmp_path):
    options = utility.Options(["news"], ["random"], half="tune", files={"news": tmp_path / "x"})
    with pytest.raises(click.UsageError, match="for reporting"):
        utility.measure(results, options)


def test_tables_hold_mean_and_spread_over_seeds_of_the_latest_settings():
    records = [record("dplda", 1.0, 0, 9.0, settings="before")]
    records += [record("dplda", 1.0, seed, error) for seed, error in enumerate((0.1, 0.2, 0.3))]
    records += [record("tomotopy", None, 0, 0.02)]
    found = utility_report.newest(records, "synthetic", "all")
    lines = utility_report.table(found, ["error"]).splitlines()
    assert lines[0] == "| mean matched l1 error | ε = 1 | no noise | seeds |"
    assert lines[2:] == ["| dplda | 0.200 ± 0.100 |  | 3 |", "| tomotopy |  | 0.020 | 1 |"]
    lines = utility_report.table(found, ["npmi", "diversity"]).splitlines()
    assert lines[0] == "| NPMI@10 (diversity) | ε = 1 | no noise | seeds |"
    assert lines[2] == "| dplda | 0.100 ± 0.050 (0.90) |  | 3 |"
    lines = utility_report.table(found, ["npmi", "nmi", "diversity"]).splitlines()
    assert lines[0] == "| NPMI@10 (NMI with labels, diversity) | ε = 1 | no noise | seeds |"
    assert lines[2] == "| dplda | 0.100 ± 0.050 (0.30, 0.90) |  | 3 |"


def test_the_figure_is_the_same_for_the_same_results_and_other_for_others(tmp_path):
    records = [record("dplda", epsilon, 0, error) for epsilon, error in ((1.0, 0.3), (8.0, 0.1), (None, 0.05))]
    records += [record("random", None, 0, 1.9)]
    results = utility_report.newest(records, "synthetic", "all")
    drawn = []
    for number in range(3):
        path = tmp_path / f"{number}.svg"
        if number == 2:
            results["dplda"][8.0][0]["error"] = 0.2
        utility_report.draw(results, "synthetic", path)
        ElementTree.parse(path)
        drawn.append(path.read_bytes())
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_was_measured_is_told_as_tables(results, capsys):
    run(results, "--system", "random", "--seeds", "1")
    assert capsys.readouterr().out.startswith("**Planted topics**\n\n| mean matched l1 error |")


def test_drawing_writes_only_corpora_that_were_measured(results, tmp_path, capsys):
    run(results, "--system", "random", "--seeds", "2")
    cli(["utility", "--results", str(results), "--draw", str(tmp_path / "figures")], standalone_mode=False)
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["utility-synthetic.svg"]
    assert "| random words |" in capsys.readouterr().out


def test_labels_keep_their_distance_and_stay_inside():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    axes.set_ylim(0, 1)
    ends = {"dplda": 0.3, "random": 0.31, "tomotopy": 0.97, "variational": 0.97, "gensim": 0.99}
    figures.label(axes, {name: (name, "#000000", end) for name, end in ends.items()})
    heights = sorted(text.get_position()[1] for text in axes.texts)
    assert min(np.diff(heights)) > 0.06
    assert heights[-1] <= 1.0
    assert heights[0] == pytest.approx(0.3)
