"""The README's job on the committed sample, read from its folder: every planted theme comes back at epsilon 2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from ledger_helpers import DEFAULT_TOTAL
from registry_schema import complaints, filled

import dplda
from dplda.audit.compliance_forms import FORMS, write_form
from dplda.base.distributions import on_words
from dplda.base.software import describe
from dplda.report import all_runs
from dplda.runs.grid import matched_error

CORPORA = Path(__file__).parents[1] / "corpora"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return dplda.Ledger(tmp_path_factory.mktemp("ledger") / "ledger.db")


@pytest.fixture(scope="module")
def model(ledger, tmp_path_factory):
    corpus = dplda.read_corpus(CORPORA, text_field="text", cache=tmp_path_factory.mktemp("cache"))
    return dplda.fit(corpus, n_topics=8, ledger=ledger)


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
    assert abs(model.facts.documents - 20_000) < 1000


@pytest.mark.parametrize("kind", FORMS)
def test_papers_on_it_state_its_promise_and_ask_the_deployer(model, ledger, kind):
    together = all_runs(ledger.datasets(), [model], ledger.runs())[model.facts.dataset]
    text, missing = write_form(kind, model, together)
    assert model.privacy.in_words in text
    assert f"the guarantee is the whole grant: {DEFAULT_TOTAL}" in text
    assert describe(model.facts.software) in text or kind == "checklist"
    assert [question.name for question in missing] == list(FORMS[kind].asks)


def test_the_registry_accepts_its_entry_and_the_run_fills_most_of_it(model):
    text, _ = write_form("registry", model)
    assert complaints(text) == []
    assert len(filled(text)) >= 25
    loss = yaml.safe_load(text)["deployment"]["privacy_loss"]["privacy_parameters"]
    assert model.privacy.epsilon <= loss["epsilon"] <= 2.0
    assert loss["delta"] == model.privacy.delta
