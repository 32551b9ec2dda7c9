"""The README's job on the committed sample, read from its folder: every planted theme comes back at epsilon 2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dplda
from dplda.evaluation.topic_quality import matched_error, on_words

CORPORA = Path(__file__).parents[1] / "corpora"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    corpus = dplda.read_corpus(CORPORA, text_field="text", cache=folder / "cache")
    return dplda.fit(corpus, n_topics=8, ledger=dplda.Ledger(folder / "ledger.db"))


def test_every_planted_theme_is_matched_by_a_topic(model):
    themes = json.loads((CORPORA / "_themes.json").read_text())
    words = sorted({word for theme in themes.values() for word in theme} | set(model.vocabulary))
    planted = np.array([[theme.get(word, 0.0) for word in words] for theme in themes.values()])
    error = matched_error(on_words(model.topics, model.vocabulary, words), planted)
    assert error.mean() <= 0.4
    assert error.max() <= 0.5


def test_the_promise_is_the_one_asked_for(model):
    assert model.privacy.sound
    assert (model.privacy.unit, model.privacy.adjacency, model.privacy.delta) == ("document", "add-remove", 1e-6)
    assert 1.9 < model.privacy.epsilon <= 2.0
    assert abs(model.parameters["documents"] - 20_000) < 1000
