from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from handmade import make_model
from scipy import sparse

from dplda.base.progress import NoProgress
from dplda.learning.placements import published as utility
from dplda.runs import grid as measures
from dplda.runs.corpus import Corpus, synthetic
from dplda.runs.grid import Documents, planted

KEY = bytes(range(32))
SIZES = {"n_documents": 200, "n_words": 12, "n_topics": 3, "mean_length": 20.0, "alpha0": 1.0, "seed": 4}
TRUE = synthetic(**SIZES)[1]
RUN = {"calibration": "sound", "placement": "config2", "epsilon": 1.0, "delta": 1e-6}


def model_of(topics, words, **changes):
    model = make_model()
    return replace(model, topics=topics, vocabulary=words, facts=replace(model.facts, **RUN | changes))


def test_the_truth_has_no_error_in_any_order_of_topics_and_words():
    corpus, judge = planted(**SIZES)
    order = np.random.default_rng(0).permutation(12)
    assert corpus.public_vocabulary
    model = model_of(TRUE[::-1][:, order], [corpus.public_vocabulary[i] for i in order])
    assert judge.measure(model)["error"] == pytest.approx(0.0)
    other = model_of(np.full((3, 12), 1 / 12), list(corpus.public_vocabulary))
    assert judge.measure(other)["error"] == pytest.approx(np.abs(TRUE - 1 / 12).sum(axis=1).mean())


def test_the_papers_bound_is_told_of_its_own_noise_and_as_many_topics_as_there_are():
    corpus, judge = planted(**SIZES)
    words = list(corpus.public_vocabulary)
    quantities = utility.planted_quantities(200, 12, 3, 1.0, seed=4)
    expected = utility.bound("config2", quantities, 1.0, 1e-6)
    assert judge.measure(model_of(TRUE, words, calibration="published"))["bound"] == pytest.approx(expected)
    split = {"e6": 0.9, "e8": 0.1}
    told = judge.measure(model_of(TRUE, words, calibration="published", split=split))["bound"]
    assert told == pytest.approx(utility.bound("config2", quantities, 1.0, 1e-6, split)) != pytest.approx(expected)
    assert judge.measure(model_of(TRUE, words))["bound"] is None


def test_documents_judge_by_the_counts_of_the_models_own_words():
    counts = synthetic(**SIZES)[0]
    words = [f"w{i:03d}" for i in range(12)]
    kept = [7, 3, 11, 0, 5]
    corpus = Corpus.from_counts(counts, words)
    topics = np.random.default_rng(1).dirichlet(np.ones(5), 3)
    found = Documents(corpus, NoProgress()).measure(model_of(topics, [words[i] for i in kept]))
    assert found["coherence"] == pytest.approx(measures.npmi(topics, sparse.csr_matrix(counts[:, kept])).mean())
    assert found["diversity"] == measures.diversity(topics)


def test_the_same_documents_are_known_again_and_others_are_not():
    identities = [planted(**{**SIZES, **changes})[1].identity(KEY) for changes in ({}, {}, {"seed": 5})]
    assert identities[0] == identities[1] != identities[2]
    assert planted(**SIZES)[1].identity(bytes(32)) != identities[0]
