"""Where prior topics come from: public text, fitted once, and models that were released."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dplda
from dplda import priors
from dplda.corpus import synthetic
from dplda.errors import InputError
from dplda.evaluation.topic_quality import matched_error, on_words

WORDS = [f"w{i}" for i in range(120)]
COUNTS, PLANTED, _ = synthetic(600, 120, 4, mean_length=50, seed=0)


def corpus(rows=600):
    return dplda.Corpus.from_counts(COUNTS[:rows], WORDS, name="public text")


def test_public_text_is_fitted_once_for_each_word_list_and_text(tmp_path, monkeypatch):
    fits = []
    learn = priors.fit
    monkeypatch.setattr(priors, "fit", lambda *given, **more: fits.append(more["n_topics"]) or learn(*given, **more))
    first = dplda.public_prior(corpus(), WORDS, cache=tmp_path)
    assert len(first) == 600 // priors.DOCUMENTS_PER_TOPIC
    again = dplda.public_prior(corpus(), WORDS, cache=tmp_path)
    assert again.to_json() == first.to_json()
    assert first.source == "public corpus public text"
    assert first.declared_public
    assert len(dplda.public_prior(corpus(400), WORDS, cache=tmp_path)) == 16
    assert set(dplda.public_prior(corpus(), WORDS[:50], cache=tmp_path).words) <= set(WORDS[:50])
    assert fits == [24, 16, 24]


def test_prior_topics_of_public_text_hold_the_topics_of_private_text_like_it(tmp_path):
    prior = dplda.public_prior(corpus(), WORDS, cache=tmp_path)
    private, *_ = synthetic(500, 120, 4, mean_length=50, seed=0)
    found = dplda.fit(
        dplda.Corpus.from_counts(private, WORDS), n_topics=4, epsilon=2.0, simulate_seed=0, ledger=False, prior=prior
    )
    assert found.parameters["prior_used"]
    without = matched_error(np.full((4, 120), 1 / 120), PLANTED).mean()
    assert matched_error(on_words(found.topics, found.vocabulary, WORDS), PLANTED).mean() < 0.6 * without


def test_too_little_public_text_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"has 49 documents, and prior topics need 50"):
        dplda.public_prior(corpus(49), WORDS, cache=tmp_path)


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Set DPLDA_CACHE to another folder"):
        dplda.public_prior(corpus(), WORDS, cache=tmp_path / "file")


def test_a_private_release_is_a_prior_and_a_model_that_is_not_private_must_be_public():
    model = dplda.fit(corpus(), vocabulary=WORDS, n_topics=2, simulate_seed=0, ledger=False)
    with pytest.raises(InputError, match="say so with --public-prior"):
        dplda.released_prior(model)
    assert dplda.released_prior(model, public=True).declared_public
    released = replace(model, privacy=replace(model.privacy, sound=True, epsilon=2.0, reason=""))
    prior = dplda.released_prior(released)
    assert not prior.declared_public
    assert prior.source == f"run {model.parameters['run']}"
    assert np.array_equal(prior.topics, model.topics)
