"""What is told of perplexity under privacy, against the exact numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import entr

import dplda
from dplda.base.progress import NoProgress
from dplda.learning.coherence import CompletedHalves
from dplda.private import Release
from dplda.private.statistics.clipping import MASS_SHARE
from dplda.private.statistics.expected_counts import COMPLETION_CLIP, MOST
from dplda.runs.corpus import synthetic
from dplda.runs.grid import Documents

N, D, K = 5_000, 300, 4
COUNTS, TOPICS, _ = synthetic(N, D, K, mean_length=60, seed=2)
WORDS = [f"w{i}" for i in range(D)]


def corpus(public: bool = False) -> dplda.Corpus:
    return dplda.Corpus.from_counts(COUNTS, WORDS, name="c", public_vocabulary=public)


@pytest.fixture(scope="module")
def model():
    return dplda.fit(corpus(True), n_topics=K, epsilon=50, ledger=False, simulate_seed=1)


def test_planted_topics_predict_nearly_as_well_as_can_be(model):
    """The perplexity of held-out words lies between that with known proportions and that of word frequencies."""
    found = Documents(corpus(), NoProgress()).evaluate(model)
    frequencies = np.asarray(COUNTS.sum(axis=0)).ravel() / COUNTS.sum()
    unigram = math.exp(entr(frequencies).sum())
    assert 0.6 * unigram < found["perplexity"] < 0.9 * unigram
    assert math.log(unigram / found["perplexity"]) == pytest.approx(found["gain"], abs=0.05)


def test_intervals_hold_the_exact_numbers_as_often_as_they_say(model):
    halves, rng = CompletedHalves(model), np.random.default_rng(0)
    exact = np.array([0.15 * N, 0.02 * N])  # sums of gain and surprise over MOST
    entropy = math.log(halves.prediction(Release(np.zeros((1, 2)), N, 0.0)).perplexity.value)
    gain, perplexity = 0.15 * MOST, math.exp(entropy + (0.02 - 0.15) * MOST)
    for std in (3.0, 100.0):
        held = []
        for _ in range(400):
            total = exact + std * rng.standard_normal(2)
            units = N + std / (MASS_SHARE * COMPLETION_CLIP) * rng.standard_normal()
            found = halves.prediction(Release(total[None], units, std))
            held.append(
                (
                    found.gain.low <= gain <= found.gain.high,
                    found.perplexity.low <= perplexity <= found.perplexity.high,
                )
            )
        assert (np.abs(np.mean(held, axis=0) - 0.95) < 0.04).all()


def test_noise_larger_than_the_corpus_says_nothing(model):
    found = CompletedHalves(model).prediction(Release(np.full((1, 2), 1e6), 1.0, 1e5)).gain
    assert (found.low, found.high) == (-MOST, MOST)


def test_an_answer_is_near_the_exact_one(model):
    exact = Documents(corpus(), NoProgress()).evaluate(model)
    for seed in range(3):
        found = dplda.evaluate(model, corpus(), 2.0, ledger=False, simulate_seed=seed)
        assert abs(found.prediction.gain.value - exact["gain"]) < 0.05
        assert found.prediction.perplexity.value == pytest.approx(exact["perplexity"], rel=0.07)
        assert abs(found.coherence.c_v.value - exact["c_v"]) < 0.05
