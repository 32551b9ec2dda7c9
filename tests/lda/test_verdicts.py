"""Which topics a run calls clear, weak and noise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from full_helpers import full_after

import dplda
from dplda.corpus import synthetic
from dplda.errors import NoisyTopicsWarning
from dplda.lda import verdicts

WORDS = [f"w{i}" for i in range(200)]
TOPICS = np.eye(4)


def test_without_noise_every_topic_is_clear():
    assert verdicts.of_refinement(TOPICS, TOPICS, np.ones(4), np.full(4, np.inf)) == ["clear"] * 4


def test_each_number_moves_the_verdict_the_way_it_should():
    start = np.eye(4)
    good = verdicts.of_refinement(TOPICS, start, np.full(4, 0.9999), np.full(4, 50.0))
    assert good == ["clear"] * 4
    assert "clear" not in verdicts.of_refinement(
        TOPICS, np.roll(start, 1, axis=1), np.full(4, 0.9999), np.full(4, 50.0)
    )
    assert "clear" not in verdicts.of_refinement(TOPICS, start, np.full(4, 0.5), np.full(4, 0.5))
    twins = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    told = verdicts.of_refinement(twins, twins, np.full(3, 0.999), np.full(3, 10.0))
    assert told[0] == told[1] != "clear"


def test_topics_found_nowhere_in_the_spectrum_are_noise():
    assert verdicts.of_refinement(TOPICS, np.roll(TOPICS, 1, axis=1), np.full(4, 0.9), np.full(4, 0.5)) == ["noise"] * 4


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
@pytest.mark.parametrize(
    "placement", full_after(3, ["default", "config1", "config2", "config3", "tensor-power", "none"])
)
def test_every_placement_gives_a_verdict_on_every_topic(placement):
    assert len(_fit(20_000, epsilon=100.0, placement=placement).verdicts) == 5


def test_many_documents_give_clear_topics_and_few_give_noise_with_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(_fit(20_000, epsilon=8.0).verdicts) == {"clear"}
    with pytest.warns(NoisyTopicsWarning, match=r"\d of 5 topics cannot be told from noise") as caught:
        model = _fit(40, epsilon=0.5)
    assert "noise" in model.verdicts
    assert caught[0].filename == __file__


def test_chosen_topics_are_clear_if_they_stand_out_from_those_that_were_not_chosen():
    chosen, others = np.array([10.0, 6.0, 5.2]), np.array([5.0, 1.0])
    assert verdicts.of_choice(chosen, others, 1.0) == ["clear", "clear", "weak"]
    assert verdicts.of_choice(chosen, others, 0.0) == ["clear"] * 3
    assert verdicts.of_choice(np.array([4.0, 2.0, 1.0]), np.zeros(0), 1.0) == ["clear", "weak", "noise"]
    assert verdicts.of_choice(np.zeros(0), others, 1.0) == []
