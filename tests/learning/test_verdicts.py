"""Which topics a run calls clear, weak and noise."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from full_helpers import full_after
from placement_lists import EVERY

import dplda
from dplda.base.errors import NoisyTopicsWarning
from dplda.learning import verdicts
from dplda.learning.refinement import Refined, top_word_probabilities
from dplda.model.prior_topics import CountSums
from dplda.runs.corpus import synthetic

WORDS = [f"w{i}" for i in range(200)]
TOPICS = np.eye(4)


SIZE = verdicts.RunSize(tuple(WORDS[:4]), 60.0, 1000.0, 4)


def refined_of(topics, agreement=1.0, signal=np.inf):
    k = topics.shape[1]
    counts = topics * 100
    return Refined(counts, CountSums(counts, np.zeros(len(counts)), 1.0), np.full(k, agreement), np.full(k, signal))


def probabilities(topics, start, agreement, signal, **size):
    refined = refined_of(topics, agreement, signal)
    return verdicts.TOPICS_OF_MOMENTS(verdicts.evidence_of_moments(refined, start, replace(SIZE, **size)))


def test_without_noise_every_topic_and_word_is_certain():
    sure = verdicts.of_refinement(refined_of(TOPICS), TOPICS, np.full(4, 0.25), SIZE)
    assert (sure["verdicts"], sure["topic_probabilities"]) == (["clear"] * 4, [1.0] * 4)
    assert all(set(words.values()) == {1.0} for words in sure["word_probabilities"])


def test_each_number_moves_the_probability_the_way_it_should():
    twins, moved = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.roll(TOPICS, 1, axis=1)
    good = probabilities(TOPICS, TOPICS, 0.99, 50.0)
    assert np.all(probabilities(TOPICS, moved, 0.99, 50.0) < good)
    assert np.all(probabilities(TOPICS, TOPICS, 0.99, 5.0) < good)
    assert np.all(probabilities(TOPICS, TOPICS, 0.99, 50.0, supported=1) < good)
    told = probabilities(twins, twins, 0.9, 3.0)
    assert np.all((told > 0) & (told < 1))


def test_numbers_beyond_what_was_observed_are_taken_as_its_limit():
    limit = probabilities(TOPICS, TOPICS, 1 - 1e-7, 1e6, budget=1e5)
    assert probabilities(TOPICS, TOPICS, 1.0, 1e9, budget=1e9) == pytest.approx(limit)


def test_in_runs_with_seed_words_a_large_mixture_is_not_called_clear():
    """What guided topics leave to the others agrees with itself, and no ordinary fit has it."""
    large = np.array([4.0, 1.0, 1.0, 1.0])
    mass = TOPICS * large
    refined = replace(refined_of(TOPICS, 0.999, 60.0), counts=100 * mass)
    plain, seeded, none = (
        np.array(verdicts.of_refinement(refined, TOPICS, np.full(4, 0.25), SIZE, guided=guided)["topic_probabilities"])
        for guided in ((), (1, 2), np.zeros(0, np.int64))
    )
    assert (plain == none).all()
    assert seeded[0] < plain[0] - 0.2
    assert seeded[1] == seeded[2] != seeded[3], "a guided topic and one of the same size that is not"


def test_words_are_surer_the_surer_their_topic_and_their_count():
    posterior = np.array([[0.99, 0.9, 0.6], [0.99, 0.9, 0.6]])
    real, not_real = verdicts.of_words(posterior, np.array([0.97, 0.1]))
    assert np.all(real > not_real)
    assert np.all(np.diff(real) < 0)


def test_probabilities_have_names():
    assert verdicts.of_probabilities(np.array([0.6, 0.5, 0.05])) == ["clear", "weak", "noise"]


def test_a_run_tells_how_sure_its_topics_and_their_words_are(any_size):
    models = [_fit(20_000, epsilon=8.0), _fit(2000, epsilon=4.0), _fit(300, epsilon=0.5)]
    for model in models:
        for topic, words in enumerate(model.word_probabilities):
            assert list(words) == [word for word, _ in model.top_words(10)[topic]]
    sure = [np.mean(model.probabilities) for model in models]
    assert sure == sorted(sure, reverse=True)
    assert sure[0] > 0.4 > 0.1 > sure[-1]


def test_posterior_probabilities_of_top_words_are_those_of_redrawn_counts():
    rng = np.random.default_rng(0)
    frequencies, std, inside = np.full(60, 1 / 60), np.full(60, 4.0), []
    for _ in range(150):
        truth = np.column_stack([rng.gamma(0.4, 40.0, 60) for _ in range(3)])
        counts = truth + 4.0 * rng.standard_normal((60, 3))
        top, chance = top_word_probabilities(CountSums(counts, std**2, 1.0), frequencies)
        for topic in range(3):
            first = set(np.argsort(-truth[:, topic])[:10].tolist())
            inside += [(p, int(word) in first) for word, p in zip(top[topic], chance[topic], strict=True)]
    told, found = np.array(inside).T
    for low, high in ((0.4, 0.7), (0.7, 0.95), (0.95, 1.01)):
        cell = (told >= low) & (told < high)
        assert found[cell].mean() == pytest.approx(told[cell].mean(), abs=0.1)


@pytest.mark.parametrize(("supported", "expected"), [(0, "noise"), (2, "weak"), (4, "clear"), (9, "clear")])
def test_spectral_topics_follow_the_eigenvalues(supported, expected):
    assert verdicts.of_spectrum(TOPICS, supported) == [expected] * 4


def test_spectral_twins_are_weak():
    assert verdicts.of_spectrum(np.array([[1.0, 0.99, 0.0], [0.0, 0.01, 1.0]]), 3) == ["weak", "weak", "clear"]


def test_released_columns_are_compared_with_their_noise():
    columns = np.array([[40.0, 8.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert verdicts.of_columns(columns, 2.0) == ["clear", "weak", "noise"]
    assert verdicts.of_columns(columns, 0.0) == ["clear"] * 3


def _fit(n_documents, **options):
    counts, _, _ = synthetic(n_documents, 200, 5, mean_length=60, seed=1)
    corpus = dplda.Corpus.from_counts(counts, WORDS, public_vocabulary=True)
    return dplda.fit(corpus, n_topics=5, ledger=False, simulate_seed=0, **options)


# config4 releases nothing of a corpus of this size: its stability tests fail even at the largest epsilon.
@pytest.mark.parametrize("placement", full_after(3, [name for name in EVERY if name != "config4"]))
def test_every_placement_gives_a_verdict_on_every_topic(placement):
    assert len(_fit(20_000, epsilon=100.0, placement=placement).verdicts) == 5


def test_many_documents_give_clear_topics_and_few_give_noise_with_a_warning(any_size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verdicts_of_many = _fit(20_000, epsilon=8.0).verdicts
    assert "clear" in verdicts_of_many
    assert "noise" not in verdicts_of_many
    with pytest.warns(NoisyTopicsWarning, match=r"\d of 5 topics cannot be distinguished from noise, and ") as caught:
        model = _fit(40, epsilon=0.5)
    assert "noise" in model.verdicts
    assert caught[0].filename == __file__


def test_chosen_topics_of_a_prior_are_weak_and_noise_if_they_do_not_stand_out():
    sure = verdicts.of_prior(np.array([40.0, 5.0, 1.0]), 80)
    assert sure["topic_probabilities"][0] == 0.39
    assert 0.38 < sure["topic_probabilities"][1] <= 0.39
    assert sure["verdicts"] == ["weak", "weak", "noise"]
    assert "given" not in sure
    given = verdicts.of_prior(np.array([5.0, 1.0, 40.0]), 80, given=2)
    assert given["topic_probabilities"] == [None, None, 0.39], "those of chosen topics say nothing about given ones"
    assert (given["verdicts"], given["given"]) == (["weak", "noise", "weak"], [True, True, False])
