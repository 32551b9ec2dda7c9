"""Coherence estimated from noisy counts of word pairs, against the exact one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from full_helpers import full_after
from scipy import sparse

import dplda
from dplda.base.errors import InputError
from dplda.budget import Ledger
from dplda.budget.accountant import run_epsilon
from dplda.learning.coherence import PairCounts, c_v, estimate_coherence, paired_words
from dplda.model.run_facts import RunFacts
from dplda.runs.corpus import synthetic
from dplda.runs.grid import npmi, pair_npmi

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
        assert abs(found.mean.value - exact.mean()) < (0.05 if epsilon < 1 else 0.02)
        assert found.mean.low <= exact.mean() <= found.mean.high
        assert ((found.topics.low <= exact) & (exact <= found.topics.high)).mean() >= 0.75


def counted(model, matrix, std=0.5):
    """The counts of the documents of `matrix` (n, n_words), as good as without noise, and their exact coherence."""
    matrix = sparse.csr_matrix(matrix)
    present = (matrix.toarray() > 0).astype(float)
    words = paired_words(model, range(len(model.topics)))
    low, high = np.triu_indices(10, 1)
    pairs = np.array(
        [[(present[:, w[a]] * present[:, w[b]]).sum() for a, b in zip(low, high, strict=True)] for w in words]
    )
    listed = sorted({word for each in words for word in each})
    counts = PairCounts(pairs, std, pairs.sum(axis=1), std, present[:, listed].sum(axis=0), std, len(present), std)
    return counts, pair_npmi(model.topics, matrix)


def test_counts_without_noise_give_the_exact_coherence(model):
    matrix = COUNTS[:, [WORDS.index(word) for word in model.vocabulary]]
    counts, exact = counted(model, matrix[np.asarray(matrix.sum(axis=1)).ravel() >= 3])
    found = estimate_coherence(model, range(K), counts)
    np.testing.assert_allclose(found.topics.value, exact.mean(axis=1), atol=0.005)
    assert found.c_v.value == pytest.approx(c_v(exact).mean(), abs=0.005)


def handmade(model, topics, prevalence=None):
    """The `model` with other `topics` (k, n_words)."""
    k, n_words = topics.shape
    return replace(
        model,
        topics=topics / topics.sum(axis=1, keepdims=True),
        prevalence=np.full(k, 1 / k) if prevalence is None else np.array(prevalence),
        vocabulary=tuple(f"w{i}" for i in range(n_words)),
        facts=RunFacts(alpha=[1 / k] * k, run="x"),
        counts=None,
    )


def two_topics(n=20_000, share=1.0, held=0.6, exclusive=False, seed=0):
    """Documents of which a `share` hold words of one of two topics; `exclusive` halves of a topic never meet."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((n, 60), int)
    topic, half = rng.integers(2, size=n), rng.integers(2, size=n)
    about = rng.random(n) < share
    for word in range(10):
        own = about & (~np.array(exclusive) | (half == word // 5)) & (rng.random(n) < held)
        matrix[np.flatnonzero(own), 20 * topic[own] + word] = 1
    matrix[np.arange(n), 40 + rng.integers(20, size=n)] += 3
    topics = np.full((2, 60), 1e-3)
    topics[0, :10] = topics[1, 20:30] = 1
    return matrix, topics


@pytest.mark.parametrize(
    "case", [{"exclusive": True}, {"share": 0.06}, {"share": 0.3, "held": 0.9}], ids=["never", "rare", "often"]
)
@pytest.mark.parametrize("epsilon", full_after(1, [1.0, 100.0]))
def test_rare_exclusive_and_common_words_are_told(model, case, epsilon):
    matrix, topics = two_topics(**case)
    model = handmade(model, topics)
    exact = pair_npmi(model.topics, sparse.csr_matrix(matrix)).mean()
    corpus = dplda.Corpus.from_counts(sparse.csr_matrix(matrix), list(model.vocabulary), name="c")
    found = dplda.evaluate(model, corpus, epsilon, ledger=False, simulate_seed=1).coherence.mean
    assert found.low <= exact <= found.high
    assert found.high - found.low < (0.03 if epsilon > 1 else 0.5)


def test_words_of_no_topic_that_is_present_are_no_obstacle(model, tmp_path):
    matrix, topics = two_topics()
    topics[1, 30:] = topics[0, 20:30] = 0.0
    matrix, absent = sparse.csr_matrix(matrix), handmade(model, topics, prevalence=[1.0, 0.0])
    corpus = dplda.Corpus.from_counts(matrix, list(absent.vocabulary), name="c")
    found = dplda.evaluate(absent, corpus, 4.0, ledger=Ledger(tmp_path / "l.db"))
    assert np.isfinite(found.coherence.topics.value).all()


@pytest.mark.full
@pytest.mark.parametrize("epsilon", full_after(1, [0.05, 0.001, 1.0]))
def test_intervals_of_few_documents_hold_the_exact_coherence(model, epsilon):
    matrix, topics = two_topics(n=300, held=0.3)
    model = handmade(model, topics)
    exact = pair_npmi(model.topics, sparse.csr_matrix(matrix)).mean()
    corpus = dplda.Corpus.from_counts(sparse.csr_matrix(matrix), list(model.vocabulary), name="c")
    means = [
        dplda.evaluate(model, corpus, epsilon, ledger=False, simulate_seed=seed).coherence.mean for seed in range(12)
    ]
    assert np.mean([each.low <= exact <= each.high for each in means]) >= 0.75
    assert all(np.isfinite(each.value) for each in means)


def test_hopeless_counts_say_nothing(model):
    topics = model.listed_topics
    n_listed = len({word for each in paired_words(model, topics) for word in each})
    rng = np.random.default_rng(0)
    noise = PairCounts(
        1e4 * rng.standard_normal((len(topics), 45)), 1e4, 1e4 * rng.standard_normal(len(topics)), 1e4,
        1e4 * rng.standard_normal(n_listed), 1e4, 50.0, 1e4,
    )  # fmt: skip
    found = estimate_coherence(model, topics, noise)
    assert (found.mean.low, found.mean.high) == (-1.0, 1.0)
    assert np.isfinite(found.topics.value).all()


def test_each_event_is_charged_and_recomputes(model, tmp_path):
    ledger = Ledger(tmp_path / "l.db")
    found = model.evaluate(corpus(), epsilon=1.0, ledger=ledger)
    assert repr(found).startswith(f"Evaluation(NPMI {found.coherence.mean.value:.4g} (")
    (run,) = ledger.runs()
    assert [e.stage for e in run.events] == [*("pairs clip", "pairs", "pair totals clip", "pair totals", "prediction")]
    assert run_epsilon(run.events, 1e-6) <= 1.0
    assert all(planned.charged for planned in run.plan)
    assert run.result is not None
    assert run.result["coherence"]["value"] == pytest.approx(found.coherence.mean.value)
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
