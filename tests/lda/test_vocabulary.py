"""Which released words are modelled: post-processing, told apart in its messages."""

from __future__ import annotations

import numpy as np
import pytest

from dplda.errors import UnsupportedByData
from dplda.lda.recovery import require_words, within_limits, word_scale
from dplda.mechanisms.curator import WordFrequencies


def found(*frequencies, std=0.001):
    return WordFrequencies(tuple(f"w{i}" for i in range(len(frequencies))), np.array(frequencies), std)


def test_words_above_the_limit_go_and_the_most_frequent_of_the_rest_stay_in_order():
    kept = within_limits(found(0.5, 0.11, 0.1, 0.05, 0.01), most=2, limit=0.1)
    assert kept.words == ("w2", "w3")
    assert kept.frequencies.tolist() == [0.1, 0.05]
    assert kept.std == 0.001


def test_enough_words_pass_silently():
    require_words(found(0.1, 0.1), found(0.1, 0.1), 2, 0.1)


@pytest.mark.parametrize(
    ("released", "message"),
    [
        (found(0.05), "only 1 words passed the private vocabulary threshold, 3 are needed"),
        (found(0.5, 0.4, 0.05), "3 words passed .* but only 1 of them are in at most 10% .* --max-document-frequency"),
    ],
)
def test_too_few_words_say_which_of_two_reasons_it_was(released, message):
    with pytest.raises(UnsupportedByData, match=message):
        require_words(within_limits(released, 10, 0.1), released, 3, 0.1)


def test_scaling_flattens_frequencies_but_not_noise():
    scale = word_scale(found(0.4, 0.1, 0.0, -0.01, std=0.01))
    assert scale[0] < scale[1] < scale[2] == scale[3]
    assert scale[2] == pytest.approx(1 / np.sqrt(0.01 / 0.5))
    assert np.isfinite(word_scale(found(-0.1, 0.0, std=0.0))).all()
