"""Coherence estimated from noisy counts of word pairs, against the exact one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from full_helpers import full_after

import dplda
from dplda.accounting.accountant import run_epsilon
from dplda.corpus import synthetic
from dplda.errors import InputError
from dplda.evaluation.topic_quality import npmi
from dplda.lda.coherence import PairCounts, estimated, first_words
from dplda.ledger import Ledger

N, D, K = 20_000, 300, 4
COUNTS, _, _ = synthetic(N, D, K, mean_length=25, seed=2)
WORDS = [f"w{i}" for i in range(D)]


def corpus():
    return dplda.Corpus.from_counts(COUNTS, WORDS, name="c")


@pytest.fixture(scope="module")
def model():
    found = dplda.fit(
        dplda.Corpus.from_counts(COUNTS, WORDS, public_vocabulary=True),
        n_topics=K,
        epsilon=50,
        ledger=False,
        simulate_seed=1,
    )
    return replace(found, privacy=replace(found.privacy, sound=True, reason="", epsilon=1.0))


@pytest.fixture(scope="module")
def exact(model):
    place = [WORDS.index(word) for word in model.vocabulary]
    counts = COUNTS[:, place]
    eligible = np.asarray(counts.sum(axis=1)).ravel() >= 3
    return npmi(model.topics, counts[eligible])[model.listed_topics]


@pytest.mark.parametrize("epsilon", full_after(1, [4.0, 0.5]))
def test_the_estimate_is_near_the_exact_one_and_its_interval_holds_it(model, exact, epsilon):
    for seed in range(4):
        found = dplda.evaluate(model, corpus(), epsilon, ledger=False, simulate_seed=seed).coherence
        assert abs(found.mean - exact.mean()) < (0.05 if epsilon < 1 else 0.02)
        assert found.low <= exact.mean() <= found.high
        assert ((found.topics_low <= exact) & (exact <= found.topics_high)).mean() >= 0.75


def test_counts_without_noise_give_the_exact_coherence(model, exact):
    topics = model.listed_topics
    words = first_words(model, topics)
    present = (COUNTS[:, [WORDS.index(word) for word in model.vocabulary]].toarray() > 0)[
        np.asarray(COUNTS[:, [WORDS.index(word) for word in model.vocabulary]].sum(axis=1)).ravel() >= 3
    ].astype(float)
    low, high = np.triu_indices(10, 1)
    pairs = np.array(
        [[(present[:, w[a]] * present[:, w[b]]).sum() for a, b in zip(low, high, strict=True)] for w in words]
    )
    listed = sorted({word for each in words for word in each})
    counts = PairCounts(pairs, 0.5, present[:, listed].sum(axis=0), len(present), pairs.sum(axis=1), 0.5, len(present))
    found = estimated(model, topics, counts)
    np.testing.assert_allclose(found.topics, exact, atol=0.03)


def test_hopeless_counts_say_nothing(model):
    topics = model.listed_topics
    n_listed = len({word for each in first_words(model, topics) for word in each})
    rng = np.random.default_rng(0)
    noise = PairCounts(
        1e4 * rng.standard_normal((len(topics), 45)), 1e4, 1e4 * rng.standard_normal(n_listed), 50.0,
        1e4 * rng.standard_normal(len(topics)), 1e4, 50.0,
    )  # fmt: skip
    found = estimated(model, topics, noise)
    assert (found.low, found.high) == (-1.0, 1.0)
    assert np.isfinite(found.topics).all()


def test_each_event_is_charged_and_recomputes(model, tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    found = model.evaluate(corpus(), epsilon=1.0, ledger=ledger)
    (run,) = ledger.runs()
    assert [e.stage for e in run.events] == ["size", "pairs clip", "pairs", "pair totals clip", "pair totals"]
    assert run_epsilon(run.events, 1e-6) <= 1.0
    assert all(planned.charged for planned in run.plan)
    assert run.result is not None
    assert run.result["coherence"]["value"] == pytest.approx(found.coherence.mean)
    assert (run.parameters["kind"], run.model) == ("evaluation", None)


def test_a_model_of_few_words_has_no_coherence(tmp_path):
    small = dplda.fit(
        dplda.Corpus.from_counts(COUNTS[:, :8], WORDS[:8], public_vocabulary=True),
        n_topics=2,
        epsilon=50,
        ledger=False,
        simulate_seed=1,
    )
    with pytest.raises(InputError, match="coherence is that of 10 words"):
        dplda.evaluate(small, corpus(), 1.0, ledger=False, simulate_seed=1)
