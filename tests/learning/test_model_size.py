"""Which released words are modelled: post-processing, told apart in its messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplda.base.errors import UnsupportedByData
from dplda.budget.accountant import gaussian_budget
from dplda.learning.model_size import certain_words, frequency_limit, modelled_words, most_words, supported_words
from dplda.learning.recovery import word_scale
from dplda.learning.settings import FitSettings
from dplda.private import WordFrequencies


def found(*frequencies, std=0.001):
    return WordFrequencies(tuple(f"w{i}" for i in range(len(frequencies))), np.array(frequencies), std)


def test_words_above_the_limit_go_and_the_most_frequent_of_the_rest_stay_in_order():
    settings = FitSettings.of(topics=2, max_vocabulary=2, max_document_frequency=0.1)
    kept = modelled_words(found(0.5, 0.11, 0.1, 0.05, 0.01), settings)
    assert kept.words == ("w2", "w3")
    assert kept.frequencies.tolist() == [0.1, 0.05]
    assert kept.std == 0.001


def test_a_limit_of_the_user_is_kept_and_the_usual_one_rises_until_enough_words_are_left():
    frequencies = np.array([0.9, 0.7, 0.5, 0.3, *np.linspace(0.24, 0.01, 16)])
    assert frequency_limit(frequencies, FitSettings.of(topics=1, max_document_frequency=0.01)) == 0.01
    assert frequency_limit(frequencies, FitSettings.of(topics=1)) == 0.2  # fewer than 250 words are below
    assert frequency_limit(frequencies, FitSettings.of(topics=2)) == pytest.approx(0.24)  # the 16 least frequent
    assert frequency_limit(frequencies, FitSettings.of(topics=20)) == 0.9
    many = np.append(frequencies, np.linspace(0.15, 0.01, 245))
    assert 0.1 < frequency_limit(many, FitSettings.of(topics=1)) < 0.2  # of the 250 least frequent
    assert frequency_limit(np.append(many, np.linspace(0.1, 0.01, 250)), FitSettings.of(topics=1)) == 0.1
    assert frequency_limit(np.zeros(0), FitSettings.of(topics=20)) == 0.1


@pytest.mark.parametrize(
    ("released", "message"),
    [
        (found(0.05), "only 1 words .* and 6 are needed"),
        (
            found(0.6, 0.5, 0.4, 0.3, 0.2, 0.05),
            "6 words .* only 1 .* at most 10% .* --max-document-frequency",
        ),
    ],
)
def test_too_few_words_say_which_of_two_reasons_it_was(released, message):
    with pytest.raises(UnsupportedByData, match=message):
        modelled_words(released, FitSettings.of(topics=3, max_document_frequency=0.1))


def test_scaling_flattens_frequencies_but_not_noise():
    scale = word_scale(found(0.4, 0.1, 0.0, -0.01, std=0.01))
    assert scale[0] < scale[1] < scale[2] == scale[3]
    assert scale[2] == pytest.approx(1 / np.sqrt(0.01 / 0.5))
    assert np.isfinite(word_scale(found(-0.1, 0.0, std=0.0))).all()


def test_as_many_words_are_supported_as_the_noise_allows_in_their_order():
    words = found(*np.tile([0.01, 0.03, 0.02], 1000))

    def supported(documents, **settings):
        fit_settings = FitSettings.of(**settings)
        return supported_words(words, most_words(documents, fit_settings), fit_settings)

    few = supported(10.0, topics=20)
    assert few.words == tuple(f"w{i}" for i in range(1, 600, 3)), "ten for each topic"
    assert few.frequencies.tolist() == [0.03] * 200
    mu = gaussian_budget(1.0, 1e-6)
    more = supported(20_000.0, topics=20, epsilon=1.0)
    assert len(more.words) == math.ceil(2 * 20_000 * mu / 20)
    assert supported(20_000.0, topics="auto", epsilon=1.0) is not words
    assert supported(10.0, topics=20, placement="none") is words


def test_words_that_are_sure_to_be_in_documents_are_kept_and_enough_for_the_topics():
    drawn = np.random.default_rng(0)
    settings, kept_absent = FitSettings.of(topics=2), 0
    for _ in range(200):
        held = np.repeat([0.0, 0.006, 0.1], [500, 20, 30])
        words = found(*held + drawn.normal(0, 0.001, len(held)))
        kept = certain_words(words, settings).words
        kept_absent += any(int(word[1:]) < 500 for word in kept)
        assert {f"w{i}" for i in range(520, 550)} <= set(kept)
    assert 0 < kept_absent <= 20, "about one run in twenty keeps a word that no document holds"
    few = certain_words(found(*[0.0, 0.001, 0.002] * 20, 0.1), settings)
    assert few.words == (*(f"w{i}" for i in range(2, 57, 3)), "w60"), "ten for each topic, in their order"
    assert certain_words(found(0.1, -0.2), FitSettings.of(topics=2)).words == ("w0", "w1")
