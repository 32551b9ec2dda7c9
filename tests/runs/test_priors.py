"""Where prior topics come from: public text, fitted once, and models that were released."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from full_helpers import full_after

import dplda
from dplda.base.distributions import on_words
from dplda.base.errors import InputError
from dplda.runs import priors
from dplda.runs.corpus import synthetic
from dplda.runs.grid import matched_error

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
    assert found.facts.prior_used
    without = matched_error(np.full((4, 120), 1 / 120), PLANTED).mean()
    assert matched_error(on_words(found.topics, found.vocabulary, WORDS), PLANTED).mean() < 0.6 * without


def test_too_little_public_text_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"49 documents.*need 50"):
        dplda.public_prior(corpus(49), WORDS, cache=tmp_path)
    with pytest.raises(InputError, match="vocabulary must be a list of words"):
        dplda.public_prior(corpus(49), "english:2000", cache=tmp_path)


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="DPLDA_CACHE"):
        dplda.public_prior(corpus(), WORDS, cache=tmp_path / "file")


def test_a_private_release_is_a_prior_and_a_model_that_is_not_private_must_be_public():
    model = dplda.fit(corpus(), vocabulary=WORDS, n_topics=2, simulate_seed=0, ledger=False)
    with pytest.raises(InputError, match="say so with --public-prior"):
        dplda.released_prior(model)
    assert dplda.released_prior(model, public=True).declared_public
    released = replace(model, privacy=replace(model.privacy, sound=True, epsilon=2.0, reason=""))
    prior = dplda.released_prior(released)
    assert not prior.declared_public
    assert prior.source == f"run {model.facts.run}"
    assert prior.to_json()["guarantee"]["epsilon"] == 2.0
    assert np.array_equal(prior.topics, model.topics)


def test_a_declaration_is_passed_on_from_prior_to_prior(tmp_path):
    prior = dplda.public_prior(corpus(), WORDS, cache=tmp_path)
    model = dplda.fit(corpus(), n_topics=4, epsilon=4.0, simulate_seed=0, ledger=False, prior=prior)
    released = replace(model, privacy=replace(model.privacy, sound=True, epsilon=4.0, reason=""))
    again = dplda.released_prior(released)
    assert again.declared_public
    assert again.source.endswith(", from public corpus public text")


@pytest.mark.parametrize("damage", full_after(1, ["model.json removed", "model.json cut", "another prior"]))
def test_a_damaged_cache_is_made_again(tmp_path, damage):
    first = dplda.public_prior(corpus(), WORDS, cache=tmp_path)
    (folder,) = (tmp_path / "priors").iterdir()
    file = folder / "model.json"
    match damage:
        case "model.json removed":
            file.unlink()
        case "model.json cut":
            file.write_bytes(file.read_bytes()[:100])
        case _:
            other = dplda.fit(corpus(), vocabulary=WORDS, n_topics=2, placement="none", ledger=False)
            shutil.rmtree(folder)
            other.save(folder)
    assert dplda.public_prior(corpus(), WORDS, cache=tmp_path).to_json() == first.to_json()
    assert len(list((tmp_path / "priors").iterdir())) == 1


def test_files_of_the_corpus_cannot_be_its_public_prior(tmp_path, monkeypatch):
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    lines = [" ".join(f"word{chr(97 + w % 26)}{chr(97 + w // 26)}" for w in row.indices) for row in COUNTS]
    (tmp_path / "private").mkdir()
    for n in range(60):
        (tmp_path / "private" / f"{n}.txt").write_text(lines[n])
    (tmp_path / "one").symlink_to(tmp_path / "private" / "7.txt")
    read = {"tokenizer": "fast"}
    private = dplda.read_corpus(tmp_path / "private", **read)
    prior = dplda.public_prior(dplda.read_corpus(tmp_path / "private", **read))
    with pytest.raises(InputError, match="files of CORPUS"):
        dplda.fit(private, n_topics=2, simulate_seed=0, ledger=False, prior=prior)
    assert os.path.realpath(tmp_path / "one") in prior.places
    assert dplda.Corpus.from_counts(COUNTS, WORDS).places == frozenset()
