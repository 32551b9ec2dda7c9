"""Rivals get the same documents and budget as dplda, and what their topics reveal is computed exactly."""

from __future__ import annotations

import gzip
import json
import sys

import click
import numpy as np
import pytest

from benchmarks import options, rivals, rivals_report
from benchmarks.commands import cli
from dplda.base.errors import InputError

ABOUT = {"sport": "goal team match score player", "money": "bank price stock market trade"}
MODELS = """
import json
import numpy as np
def train_dp_lda_gibbs(): ...
def fdptm(text, choose, words, train, topics):
    if "nothing" in text[0]:
        raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
    open("{told}", "w").write(json.dumps([words, topics, choose, train.__name__]))
    return None, np.array(["goal", "bank"]), np.array([[7.5, 1.5], [0.5, 2.5]]) / [[9.0], [3.0]]
"""


@pytest.fixture
def news(tmp_path):
    """120 items about two things, each of three of its words."""
    rng, path = np.random.default_rng(0), tmp_path / "news.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for number in range(120):
            label = list(ABOUT)[number % 2]
            text = " ".join(rng.choice(ABOUT[label].split(), 3))
            file.write(json.dumps({"text": text, "label": label}) + "\n")
    return path


@pytest.fixture
def rival(tmp_path):
    """A checkout that takes the place of the rivals', and the file where it writes what it was asked."""
    told = tmp_path / "told.json"
    (tmp_path / "defense").mkdir()
    (tmp_path / "topic_models.py").write_text(MODELS.replace("{told}", str(told)))
    (tmp_path / "defense" / "fdptm_helpers.py").write_text("choose_vocab = 'their words'")
    return tmp_path, told


def run(results, *arguments):
    """Measure, and return the records that are there afterwards."""
    cli(["rivals", "--results", str(results), *map(str, arguments)], standalone_mode=False)
    return [json.loads(line) for line in results.read_text().splitlines()]


def record(system, epsilon, seed, **measures):
    key = {"corpus": "tweets", "system": system, "settings": "now", "epsilon": epsilon, "seed": seed}
    return key | {"topics": 5, "words": 9, "npmi": 0.1, "nmi": 0.5, "diversity": 1.0, "seconds": 1.0} | measures


def settings(news, folder=None):
    return rivals.Options(["news-items"], [], [], 1, {"agnews": news}, folder, sys.executable)


def test_choices_are_those_that_the_module_knows():
    assert tuple(rivals.SYSTEMS) == options.RIVALS
    assert tuple(rivals.CORPORA) == options.RIVAL_CORPORA == tuple(rivals_report.TITLES)


def test_systems_without_privacy_are_measured_once_and_only_what_is_missing(news, tmp_path, monkeypatch):
    monkeypatch.setattr(rivals.corpora, "MOST_DOCUMENTS", 1.0)
    results = tmp_path / "results.jsonl"
    chosen = ["--agnews", news, "--system", "nmf", "--system", "sklearn"]
    first = run(results, *chosen, "--seeds", 1)
    again = run(results, *chosen, "--seeds", 2)
    assert again[:2] == first
    told = [(entry["seed"], entry["system"], entry["epsilon"]) for entry in again]
    assert told == [(seed, system, None) for seed in (0, 1) for system in ("nmf", "sklearn")]
    assert {(entry["words"], entry["topics"]) for entry in again} == {(10, 4)}
    assert all(0.3 < entry["nmi"] <= 1 for entry in again)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(click.UsageError, match="--agnews must be given, or leave news-items out"):
        run(tmp_path / "results.jsonl", "--corpus", "news-items", "--system", "nmf")


def test_the_private_rival_gets_the_documents_and_the_budget_in_a_process_of_its_own(news, rival, monkeypatch):
    monkeypatch.setattr(rivals.corpora, "MOST_DOCUMENTS", 1.0)
    folder, told = rival
    case = rivals.CORPORA["news-items"][1](news)
    found = rivals.SYSTEMS["manzonelli"].learn(case, 4, 3.0, 0, settings(news, folder))
    words, topics, choose, train = json.loads(told.read_text())
    assert (words, topics) == (
        {"alpha_cutoff": 3, "epsilon": 1.5, "delta": 1e-6},
        {"k": 4, "epsilon": 1.5, "n_iters": 30},
    )
    assert (choose, train) == ("their words", "train_dp_lda_gibbs")
    assert found.words == ["goal", "bank"]
    np.testing.assert_allclose(found.topics.sum(axis=1), 1.0)
    assert found.assigned is None


def test_a_rival_that_finds_no_words_has_no_topics(news, rival, monkeypatch):
    monkeypatch.setattr(rivals, "plain", lambda case: ["nothing"])
    record = {"corpus": "news-items", "system": "manzonelli", "epsilon": 1.0, "seed": 0}
    assert rivals.one(record, settings(news, rival[0]))["topics"] == 0


def test_code_that_is_missing_or_fails_is_told_in_one_line(news, rival, monkeypatch):
    monkeypatch.setattr(rivals, "plain", lambda case: ["goal"])
    learn, case = rivals.SYSTEMS["manzonelli"].learn, rivals.CORPORA["news-items"][1](news)
    with pytest.raises(click.UsageError, match="--manzonelli must name their code"):
        learn(case, 4, 1.0, 0, settings(news))
    (rival[0] / "topic_models.py").write_text("import a_module_that_is_not_there")
    with pytest.raises(InputError, match="did not run manzonelli to its end"):
        learn(case, 4, 1.0, 0, settings(news, rival[0]))


@pytest.mark.parametrize("prior", [0.2, 1 / 3, 1.0])
@pytest.mark.parametrize("least", [0, 3])
def test_published_topics_of_gibbs_samples_tell_the_exact_number_of_each_word(prior, least):
    counts = np.random.default_rng(0).poisson(2.0, (4, 50)) + least
    counts[:, 0] += 100
    topics = (counts + prior) / (counts + prior).sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(rivals.word_totals(topics, prior), counts.sum(axis=0))
    noisy = topics * np.random.default_rng(1).uniform(0.99, 1.01, topics.shape)
    assert not np.array_equal(rivals.word_totals(noisy, prior, most=10_000), counts.sum(axis=0))


def test_events_of_tweets_are_told_by_their_order(tmp_path):
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "pheme_raw.json"
    path.write_text(json.dumps({"text": ["shots https://t.co/x"] * 5802}))
    case = rivals.tweets(tmp_path)
    assert (case.texts[0], case.labels[889], case.labels[890], case.topics) == ("shots ", "Ottawa", "Germanwings", 5)
    path.write_text(json.dumps({"text": ["shots"]}))
    rivals.tweets.cache_clear()
    with pytest.raises(InputError, match="has 1 tweets instead of 5802"):
        rivals.tweets(tmp_path)


def test_rivals_get_words_of_letters_that_are_not_in_too_many_documents():
    texts = [f"Usual it's {chr(97 + n) * 3} pear's" for n in range(20)]
    case = rivals.Labelled("items", texts, ["x"] * 20, 2)
    assert rivals.plain(case) == [chr(97 + n) * 3 for n in range(20)]
    assert rivals.plain(rivals.Labelled("tweets", texts, ["x"] * 20, 2))[0] == "usual aaa"


def test_tables_hold_medians_and_say_how_many_runs_had_topics():
    records = [record("dplda", 2.0, seed, npmi=npmi) for seed, npmi in enumerate((0.1, 0.2, 0.9))]
    records += [record("manzonelli", 2.0, 0), record("manzonelli", 2.0, 1, topics=0)]
    records += [record("bertopic, automatic", None, 0, topics=70, seconds=40.0)]
    cells = rivals_report.newest(records)
    assert rivals_report.table(cells, ["dplda", "manzonelli"]).splitlines()[2:] == [
        "| dplda | 2 | 0.200, 0.50, 1.00, 1.0 s |",
        "| Manzonelli and others | 2 | 0.100, 0.50, 1.00, 1.0 s (1 of 2) |",
    ]
    assert rivals_report.table(cells, ["bertopic, automatic"]).splitlines()[2] == (
        "| BERTopic, automatic |  | 70 topics: 0.100, 0.50, 1.00, 40 s |"
    )


def test_the_figure_is_drawn_without_what_has_no_topics(tmp_path):
    records = [record("dplda", epsilon, 0) for epsilon in (1.0, 8.0)] + [record("nmf", None, 0)]
    records += [record("manzonelli", 1.0, 0, topics=0)]
    rivals_report.write(records, tmp_path)
    drawn = (tmp_path / "rivals.svg").read_text()
    assert "<!-- scikit-learn NMF -->" in drawn
    assert "Manzonelli" not in drawn
