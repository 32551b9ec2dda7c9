"""The main job on real text, at full size. Slow; needs DPLDA_SHARED_DATA, a folder with the two corpora."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant

import dplda
from dplda.cli.main import main
from dplda.runs.corpus import counts_for
from dplda.runs.grid import diversity, npmi

DATA = os.environ.get("DPLDA_SHARED_DATA", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA, reason="DPLDA_SHARED_DATA does not name the folder of real corpora"),
]
THEMES_OF_FILMS = (
    {"horror", "killer", "gore", "blood", "scary", "zombie"},
    {"father", "mother", "family", "wife", "daughter", "son"},
    {"music", "song", "songs", "musical", "dance", "singing"},
    {"war", "american", "soldiers", "army", "german", "country"},
    {"series", "episode", "episodes", "tv", "season", "shows"},
)
THEMES_OF_NEWS = (
    {"space", "nasa", "orbit", "shuttle", "launch", "earth"},
    {"game", "team", "games", "hockey", "players", "season", "win"},
    {"god", "jesus", "christian", "bible", "church", "christians"},
    {"windows", "dos", "file", "graphics", "program", "window"},
)


@pytest.fixture(autouse=True)
def private_places(tmp_path, monkeypatch):
    monkeypatch.setenv("DPLDA_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def recomputed_epsilon(privacy):
    accountant, failures = PLDAccountant(), 0.0
    for event in privacy["events"]:
        accountant.compose(GaussianDpEvent(event["noise_multiplier"]), event["count"])
        failures += event.get("delta", 0.0)
    return accountant.get_epsilon(privacy["delta"] - failures)


def themes_found(model, themes):
    tops = [{word for word, _ in words} for words in model.top_words(10)]
    return [any(len(theme & top) >= 3 for top in tops) for theme in themes]


def test_reviews_at_epsilon_two_from_raw_text(capsys):
    reviews = str(Path(DATA) / "imdb.jsonl.gz")
    assert main(["fit", reviews, "--text-field", "text", "--topics", "20", "--epsilon", "2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["vocabulary_size"] == 2000
    assert record["privacy"]["delta"] == 1e-6
    assert recomputed_epsilon(record["privacy"]) <= 2.0
    model = dplda.load(record["model"])
    counts = counts_for(model.vocabulary, dplda.read_corpus(reviews, text_field="text").open())[0]
    assert npmi(model.topics, counts).mean() >= 0.10
    assert diversity(model.topics) >= 0.8
    assert all(themes_found(model, THEMES_OF_FILMS))


def test_films_as_units_protect_all_reviews_of_a_film():
    corpus = dplda.read_corpus(Path(DATA) / "imdb.jsonl.gz", text_field="text", unit_field="movie")
    model = dplda.fit(corpus, epsilon=4.0)
    assert model.privacy.unit == "movie"
    assert sum(themes_found(model, THEMES_OF_FILMS)) >= 3  # of five: 14,000 units leave room for chance


def test_newsgroups_at_epsilon_eight_from_a_folder_of_mixed_encodings(tmp_path):
    with tarfile.open(Path(DATA) / "20news-bydate.tar.gz") as archive:
        archive.extractall(tmp_path / "news", filter="data")
    files = sum(path.is_file() for path in (tmp_path / "news").rglob("*"))
    corpus = dplda.read_corpus(tmp_path / "news")
    model = dplda.fit(corpus, epsilon=8.0)
    assert corpus.open().n_documents == files
    assert all(themes_found(model, THEMES_OF_NEWS))
