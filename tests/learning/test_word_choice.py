from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.learning.model_size import supported_words
from dplda.learning.settings import FitSettings
from dplda.learning.word_choice import characteristic_scores, posterior_means
from dplda.private import WordFrequencies

N_WORDS, LENGTH = 4000, 60.0
GENERAL = 0.05 / (10 + np.arange(N_WORDS))  # a law of Zipf


def corpus(std: float, seed: int = 0) -> tuple[WordFrequencies, np.ndarray, np.ndarray]:
    """Noisy frequencies of words that are as frequent as in general text times a lift, with true ones and lifts."""
    rng = np.random.default_rng(seed)
    lifts = np.exp(rng.normal(-0.5, 1.5, N_WORDS))
    true = -np.expm1(-LENGTH * lifts * GENERAL)
    names = tuple(f"w{index}" for index in range(N_WORDS))
    return WordFrequencies(names, true + rng.normal(0, std, N_WORDS), std, GENERAL), true, lifts


def test_without_noise_the_frequencies_are_those_of_the_corpus_and_the_score_weighs_them_by_the_lift() -> None:
    words, true, lifts = corpus(1e-5)
    frequencies, _ = posterior_means(words)
    frequent = true > 1e-3
    np.testing.assert_allclose(frequencies[frequent], true[frequent], rtol=0.2)  # the grid has steps of a quarter
    length = LENGTH * (lifts * GENERAL).sum() / GENERAL.sum()
    expected = true * np.maximum(1 + np.log(lifts * LENGTH / length), 0.02)
    large = frequent & (expected > 0.3 * true)
    np.testing.assert_allclose(characteristic_scores(words)[large], expected[large], rtol=0.5)


def test_where_noise_dominates_the_order_is_that_of_general_text() -> None:
    words, *_ = corpus(1.0)
    frequencies, _ = posterior_means(words)
    order = np.argsort(-frequencies, kind="stable")
    assert np.median(order[:50]) < N_WORDS / 4


@pytest.mark.parametrize("std", [0.003, 0.01, 0.03])
def test_estimates_are_nearer_to_the_truth_than_the_noisy_frequencies_and_than_general_text(std: float) -> None:
    words, true, _ = corpus(std)
    frequencies, _ = posterior_means(words)
    scaled = GENERAL * true.sum() / GENERAL.sum()
    error, of_noise, of_general = (np.square(each - true).sum() for each in (frequencies, words.frequencies, scaled))
    assert error < 0.8 * min(of_noise, of_general)


def test_a_word_that_general_text_hardly_has_is_chosen_if_the_documents_have_it() -> None:
    words, *_ = corpus(0.005)
    frequencies, language = np.append(words.frequencies, 0.06), np.append(GENERAL, 1e-7)
    added = WordFrequencies((*words.words, "covid19"), frequencies, words.std, language)
    assert "covid19" in supported_words(added, 20, FitSettings.of()).words


def test_seed_words_are_kept_and_the_limit_of_words_holds() -> None:
    words, *_ = corpus(0.01)
    asked = FitSettings.of(topics=2, seed_words={"one": ("w3999",)}, max_vocabulary=40)
    kept = supported_words(words, 100, asked)
    assert "w3999" in kept.words
    assert len(kept.words) in (40, 41)
    assert kept.language is not None
    assert kept.language.tolist() == [GENERAL[int(word[1:])] for word in kept.words]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.floats(-10, 10), st.floats(1e-9, 0.05)), min_size=1, max_size=30),
    st.floats(1e-6, 10),
)
def test_any_released_numbers_give_frequencies_and_scores(pairs: list[tuple[float, float]], std: float) -> None:
    noisy, general = np.array(pairs).T
    words = WordFrequencies(tuple(map(str, range(len(pairs)))), noisy, std, general)
    frequencies, counts = posterior_means(words)
    assert ((frequencies >= 0) & (frequencies <= 1 + 1e-9)).all()
    assert np.isfinite(counts).all()
    assert (characteristic_scores(words) >= 0).all()
