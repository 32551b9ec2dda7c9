"""Runs with prior topics: chosen if they explain the documents, ignored if not, and charged alike."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from full_helpers import full_after

import dplda
from dplda.base.distributions import on_words
from dplda.base.errors import InputError, UnsupportedByData
from dplda.budget.accountant import cost
from dplda.learning.placements import default, from_prior
from dplda.learning.settings import FitSettings
from dplda.model.prior_topics import PriorTopics
from dplda.private import WordFrequencies
from dplda.runs.corpus import synthetic
from dplda.runs.grid import matched_error

N_WORDS, K = 300, 5
WORDS = tuple(f"w{i}" for i in range(N_WORDS))
COUNTS, PLANTED, _ = synthetic(3000, N_WORDS, K, mean_length=60, seed=4)
OTHERS = np.random.default_rng(1).dirichlet(np.full(N_WORDS, 0.05), size=15)


def prior_of(topics, words=WORDS):
    return PriorTopics(topics, tuple(words), "a test", True)


KNOWN = prior_of(np.random.default_rng(2).permutation(np.vstack([PLANTED, OTHERS])))
UNRELATED = prior_of(OTHERS)


def fitted(prior, *, public=True, seed=0, **options):
    corpus = dplda.Corpus.from_counts(COUNTS, WORDS, public_vocabulary=public)
    options = {"epsilon": 1.0, "n_topics": K, "ledger": False, "simulate_seed": seed} | options
    return dplda.fit(corpus, prior=prior, **options)


@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_planted_topics_are_chosen_from_a_prior_that_holds_them(epsilon, public):
    model = fitted(KNOWN, epsilon=epsilon, public=public)
    assert model.facts.prior_used is True
    topics = on_words(model.topics, model.vocabulary, WORDS)
    assert matched_error(topics, PLANTED).max() < 0.06  # words that seem to be absent are left out
    assert set(model.probabilities) == {0.39}
    assert model.facts.prior.topics == 20
    assert model.facts.prior_share == pytest.approx(1.0, abs=0.2 / epsilon)


def test_a_prior_about_something_else_is_not_used_and_its_test_is_all_that_it_costs():
    model, without = fitted(UNRELATED, epsilon=8.0), fitted(None, epsilon=8.0)
    assert model.facts.prior_used is False
    assert matched_error(model.topics, on_words(PLANTED, WORDS, model.vocabulary)).mean() < 0.5
    assert without.facts.prior is None
    shares = default.shares(True, 20, with_prior=True)
    tested = sum(share.weight for share in shares if share.stage == "prior gain")
    assert tested / sum(share.weight for share in shares) < 0.07


@pytest.mark.parametrize(("without_exchanged", "used"), [(False, False), (True, True)])
def test_a_prior_whose_gain_comes_from_noisy_frequencies_is_not_used(monkeypatch, without_exchanged, used):
    """Documents of a few words gain from any topics where the noise hides which words these are."""
    if without_exchanged:
        monkeypatch.setattr(from_prior, "_LEAST_OVER_EXCHANGED", -1.0)
    few = np.r_[np.full(10, 0.09), np.full(N_WORDS - 10, 0.1 / (N_WORDS - 10))]
    prior = prior_of(np.random.default_rng(1).dirichlet(np.full(N_WORDS, 0.05), size=60))
    told: list[bool] = []
    explains = from_prior.explains
    monkeypatch.setattr("dplda.runs.words.explains", lambda *given: told.append(explains(*given)) or told[-1])
    for seed in range(3):
        counts = np.random.default_rng(seed).multinomial(40, few, size=600)
        corpus = dplda.Corpus.from_counts(counts, WORDS, public_vocabulary=True)
        with suppress(UnsupportedByData):
            dplda.fit(corpus, n_topics=K, epsilon=0.5, ledger=False, simulate_seed=0, prior=prior)
    assert told == [used] * 3


def test_exchanged_topics_have_the_lifts_of_the_prior_at_other_words():
    topics = OTHERS.T
    exchanged = from_prior._exchanged(topics)
    np.testing.assert_allclose(exchanged.sum(axis=0), 1)
    mean = topics.mean(axis=1, keepdims=True)
    for own, other in zip((topics / mean).T, (exchanged / mean).T, strict=True):
        sizes = np.sort(other) / np.sort(own)
        np.testing.assert_allclose(sizes, sizes[0])  # up to the scale of the column
        assert abs(np.corrcoef(own, other)[0, 1]) < 0.3


def test_words_are_chosen_privately_if_the_prior_is_not_used():
    model = fitted(UNRELATED, epsilon=16.0, public=False)
    assert model.facts.prior_used is False
    assert model.facts.frequency_limit is not None
    assert model.facts.vocabulary == "private"


def test_a_prior_without_common_words_is_not_asked_about():
    strange = prior_of(OTHERS, [f"other{i}" for i in range(N_WORDS)])
    model = fitted(strange, epsilon=8.0)
    assert model.facts.prior_used is False


def test_too_few_documents_for_private_words_are_enough_for_a_prior(tmp_path):
    few = dplda.Corpus.from_counts(COUNTS[:400], WORDS)
    with pytest.raises(UnsupportedByData, match="public text"):
        dplda.fit(few, n_topics=K, epsilon=1.0, simulate_seed=0, ledger=False)
    with pytest.raises(UnsupportedByData, match="the prior does not explain"):
        dplda.fit(few, n_topics=K, epsilon=1.0, simulate_seed=0, ledger=False, prior=UNRELATED)
    model = dplda.fit(few, n_topics=K, epsilon=1.0, simulate_seed=0, ledger=False, prior=KNOWN)
    assert model.facts.prior_used
    assert tuple(model.vocabulary) == WORDS


@pytest.mark.parametrize("prior", [KNOWN, UNRELATED])
@pytest.mark.parametrize("public", full_after(1, [False, True]))
def test_both_ways_charge_planned_events_only(prior, public, tmp_path):
    ledger = dplda.Ledger(tmp_path / "ledger.db")
    corpus = dplda.Corpus.from_counts(COUNTS, WORDS, public_vocabulary=public)
    model = dplda.fit(corpus, n_topics=K, epsilon=8.0, ledger=ledger, prior=prior)
    (run,) = ledger.runs()
    charged = [planned.event for planned in run.plan if planned.charged]
    assert cost(charged).mu_squared <= cost(run.events).mu_squared
    assert model.privacy.sound
    assert model.privacy.epsilon <= 8.0
    stages = {event.stage for event in charged}
    assert {"size", "frequency", "prior gain", "start", "refine"} <= stages
    assert ("mean" in stages) == (prior is UNRELATED)
    assert ("vocabulary" in stages) == (prior is UNRELATED and not public)
    assert run.parameters["prior"]["digest"] == prior.to_json()["digest"]


def test_the_exact_gate_chooses_without_noise():
    model = fitted(KNOWN, placement="none")
    assert matched_error(model.topics, PLANTED).max() < 0.01


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"placement": "config2"}, "not for config2"),
        ({"topics": 21}, "up to 20, got topics=21"),
        ({"topics": "auto"}, "--topics 12"),
        ({"device": "cuda"}, "--device cpu"),
        ({"seed_words": {"a": ("w1", "x", "y")}}, "1 of the 3 .*'a'.*unknown: x, y"),
    ],
)
def test_settings_that_a_prior_does_not_go_with_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        FitSettings.of(prior=KNOWN, **settings)


def test_topics_over_other_words_are_positive_and_keep_their_shares():
    prior = prior_of(np.array([[0.5, 0.25, 0.25]]), ["a", "b", "c"])
    found = prior.over(("c", "x", "a"))
    assert found.sum() == pytest.approx(1.0)
    assert found[2] / found[0] == pytest.approx(2.0, rel=1e-4)
    assert 0 < found[1] < 1e-5
    assert prior_of(np.array([[0.5, 0.5, 0.0]]), ["a", "b", "c"]).to_json()["digest"] != prior.to_json()["digest"]


@pytest.mark.parametrize(
    ("topics", "words", "message"),
    [
        ([[0.5, 0.6, -0.1]], "abc", "finite, nonnegative and sum to 1"),
        ([[0.5, 0.5, np.nan]], "abc", "finite, nonnegative and sum to 1"),
        ([[0.5, 0.5]], "abc", r"an array of shape \(1, 2\) for 3 words"),
        ([0.5, 0.5], "ab", "1 to 500 topics"),
        (np.full((501, 2), 0.5), "ab", "1 to 500 topics"),
        ([[0.5, 0.5]], "aa", "distinct, non-empty words"),
    ],
)
def test_what_are_no_topics_is_no_prior(topics, words, message):
    with pytest.raises(InputError, match=message):
        prior_of(np.array(topics), words)


def test_anything_else_is_no_prior():
    with pytest.raises(InputError, match="prior must be PriorTopics, got str"):
        FitSettings.of(prior="public.jsonl")


def test_text_about_other_topics_does_not_count_for_those_that_are_chosen():
    model = fitted(KNOWN, n_topics=2, placement="none")
    everything = fitted(KNOWN, placement="none")
    two = np.sort(everything.prevalence)[-2:].sum()
    assert model.facts.prior_share == pytest.approx(two, abs=0.01)
    ratio = everything.prevalence[0] / everything.prevalence[1]
    assert model.prevalence[0] / model.prevalence[1] == pytest.approx(ratio, rel=0.01)


def frequencies_of(found, std=1e-3):
    found = np.asarray(found, dtype=float)
    return WordFrequencies(WORDS[: len(found)], found, std)


def test_words_and_topics_that_the_documents_do_not_contain_are_left_out():
    topics = np.zeros((3, 9)) + 1e-9
    topics[0, :3], topics[1, 3:6], topics[2, 6:] = 1 / 3, 1 / 3, 1 / 3
    prior = prior_of(topics / topics.sum(axis=1, keepdims=True), WORDS[:9])
    kept = from_prior.present(prior, frequencies_of([0.3, 0.3, 0.3, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0]))
    assert kept.words == WORDS[:5]
    assert kept.topics.shape == (5, 2)
    np.testing.assert_allclose(kept.topics.sum(axis=0), 1.0)
    assert kept.frequencies.sum() == pytest.approx(1.0)
    seeded = from_prior.present(prior, frequencies_of([0.3] * 5 + [0.0] * 4), [WORDS[8]])
    assert WORDS[8] in seeded.words


def test_topics_that_have_become_alike_are_merged():
    common, own = np.full(4, 0.2), np.full(4, 0.05)
    topics = np.array([[*common, *own, *(0 * own)], [*common, *(0 * own), *own]])
    prior = prior_of(topics, WORDS[:12])
    assert from_prior.present(prior, frequencies_of([0.3] * 12)).topics.shape[1] == 1


def test_noise_alone_leaves_the_prior_as_it_is():
    noise = 0.05 * np.random.default_rng(3).standard_normal(N_WORDS)
    kept = from_prior.present(KNOWN, frequencies_of(noise, 0.05))
    assert kept.topics.shape == (N_WORDS, 20)
    np.testing.assert_allclose(kept.topics, KNOWN.over(WORDS), rtol=1e-6)


def test_a_prior_without_common_words_leaves_nothing():
    strange = prior_of(OTHERS, [f"other{i}" for i in range(N_WORDS)])
    assert from_prior.present(strange, frequencies_of([0.1] * 9)).topics.shape[0] == 0
