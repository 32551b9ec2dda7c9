"""Guided topics: matched with their words, held near them, and named in the released model."""

from __future__ import annotations

import numpy as np
import pytest

import dplda
from dplda.base.errors import InputError, UnsupportedByData
from dplda.learning.refinement import PULL, guide, seed_distributions, seen_lists
from dplda.learning.settings import FitSettings
from dplda.model.prior_topics import PriorTopics
from dplda.runs.corpus import synthetic

N_WORDS, K = 300, 6
WORDS = tuple(f"w{i}" for i in range(N_WORDS))
COUNTS, PLANTED, _ = synthetic(8000, N_WORDS, K, mean_length=60, seed=4)


def characteristic(topic: int, n: int = 5) -> tuple[str, ...]:
    """The most frequent words of a planted topic that are nowhere more frequent."""
    own = np.where(PLANTED.argmax(axis=0) == topic, PLANTED[topic], 0)
    return tuple(WORDS[word] for word in np.argsort(-own)[:n])


SEEDS = {"fourth": characteristic(3), "first": characteristic(0)}


def fitted(seed_words=SEEDS, *, public=True, **options):
    corpus = dplda.Corpus.from_counts(COUNTS, WORDS, public_vocabulary=public)
    options = {"epsilon": 2.0, "n_topics": K, "ledger": False, "simulate_seed": 0} | options
    return dplda.fit(corpus, seed_words=seed_words, **options)


def test_seed_words_weigh_as_their_frequencies_and_unknown_ones_do_not_count():
    found = seed_distributions({"x": ("a", "c", "strange"), "y": ("b",)}, ("a", "b", "c"), np.array([0.3, 0.6, 0.1]))
    np.testing.assert_allclose(found, [[0.75, 0], [0, 1], [0.25, 0]])
    with pytest.raises(UnsupportedByData, match=r"topic 'x' .* 3 words"):
        seed_distributions({"x": ("strange",)}, ("a", "b", "c"), np.full(3, 1 / 3))


def test_a_list_whose_words_do_not_stand_out_from_the_noise_guides_none():
    words, frequencies = ("a", "b", "c", "d"), np.array([0.3, 0.1, -0.05, 0.1])
    lists = {"frequent": ("a", "b"), "absent": ("c", "d"), "strange": ("x",)}
    seen, facts = seen_lists(lists, words, frequencies, 0.1)
    assert list(seen) == ["frequent", "strange"], "a list without words of the run is refused later"
    assert facts == {"unseen_seeds": ["absent"]}
    assert seen_lists({"b": ("b",)}, words, frequencies, np.full(4, 0.03))[1] == {}
    assert seen_lists({"b": ("b",)}, words, frequencies, np.full(4, 0.05))[1] == {"unseen_seeds": ["b"]}
    assert seen_lists(None, words, frequencies, 0.1) == ({}, {})


def test_names_of_lists_that_guided_nothing_are_told_and_given_to_no_topic():
    model = fitted({"absent": ("never-heard", "unheard"), "third": characteristic(2, 15)[10:]}, public=False)
    assert list(model.topic_names.values()) == ["third"]
    assert model.facts.unseen_seeds == ("absent",)
    assert "The seed words of absent guided no topic" in model.facts.about_unseen_seeds
    assert "The seed words of absent guided no topic" in model.facts.about_verdicts
    assert "(third): such a topic" in model.facts.about_verdicts


def test_each_list_guides_the_topic_that_fits_it_best_and_no_two_the_same():
    topics = np.array([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7]])
    words, frequencies = ("a", "b", "c"), np.full(3, 1 / 3)
    found = guide({"c": ("c",), "a": ("a",)}, words, frequencies, topics)
    assert found.columns.tolist() == [2, 0]
    assert found.names(("c", "a"), 3) == ["a", "", "c"]
    assert sorted(guide({"1": ("a",), "2": ("a", "b")}, words, frequencies, topics).columns) == [0, 1]


def test_counts_of_guided_topics_keep_their_sums_and_others_stay():
    counts = np.random.default_rng(0).random((3, 3))
    found = guide({"c": ("c",)}, ("a", "b", "c"), np.full(3, 1 / 3), counts / counts.sum(axis=0))
    mixed = found.counts(counts)
    np.testing.assert_allclose(mixed.sum(axis=0), counts.sum(axis=0))
    (guided,) = found.columns
    others = [topic for topic in range(3) if topic != guided]
    np.testing.assert_array_equal(mixed[:, others], counts[:, others])
    assert mixed[2, guided] == pytest.approx((1 - PULL) * counts[2, guided] + PULL * counts[:, guided].sum())
    without = guide({}, ("a", "b", "c"), np.full(3, 1 / 3), counts)
    assert without.start(counts) is counts
    assert without.names((), 3) == []


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_guided_topics_are_those_that_their_words_were_taken_from(epsilon):
    model = fitted(epsilon=epsilon)
    names = model.topic_names
    assert sorted(names.values()) == ["first", "fourth"]
    place = {word: index for index, word in enumerate(model.vocabulary)}
    for topic, name in names.items():
        planted = PLANTED[{"first": 0, "fourth": 3}[name]][[WORDS.index(word) for word in model.vocabulary]]
        assert np.abs(model.topics[topic] - planted / planted.sum()).sum() < 0.8
        assert {word for word, _ in model.top_words(25)[topic]} >= {word for word in SEEDS[name] if word in place}
    assert model.facts.seed_words == {name: tuple(words) for name, words in SEEDS.items()}


def test_without_seed_words_nothing_changes_and_no_names_are_released():
    model, empty = fitted(None), fitted({})
    assert model.topic_names == {}
    assert model.facts.topic_names is None
    np.testing.assert_array_equal(model.topics, empty.topics)


def test_seed_words_that_are_not_chosen_privately_are_words_of_the_run():
    model = fitted({"rare": ("never-heard", *characteristic(2, 15)[10:])}, public=False, epsilon=8.0)
    assert "never-heard" in model.vocabulary
    assert list(model.topic_names.values()) == ["rare"]


def test_guided_topics_of_a_prior_are_never_left_out():
    others = np.random.default_rng(1).dirichlet(np.full(N_WORDS, 0.05), size=15)
    prior = PriorTopics(np.vstack([others, PLANTED]), WORDS, "a test", True)
    unheard = tuple(WORDS[word] for word in np.argsort(PLANTED.max(axis=0))[:3])
    model = fitted({**SEEDS, "unheard": unheard}, prior=prior, n_topics=7)
    assert model.facts.prior_used
    assert set(model.topic_names.values()) == {"first", "fourth", "unheard"}
    shares = {name: model.prevalence[topic] for topic, name in model.topic_names.items()}
    assert shares["unheard"] < min(shares["first"], shares["fourth"])
    first, unheard = (next(t for t, name in model.topic_names.items() if name == of) for of in ("first", "unheard"))
    assert model.verdicts[first] == "weak"
    assert model.verdicts[unheard] == "noise"
    assert model.given == set(model.topic_names)
    assert [chance is None for chance in model.probabilities] == [topic in model.given for topic in range(7)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"topics": 1}, "at least 2, got topics=1"),
        ({"topics": "auto"}, "got topics=auto"),
        ({"placement": "config2"}, "not for config2"),
        ({"seed_words": {"a": ()}}, "at least one word"),
        ({"seed_words": {"": ("x",)}}, "at least one word"),
        ({"seed_words": {"a": ("x",), "b": ("x",)}}, "'x' is listed twice"),
    ],
)
def test_settings_that_seed_words_do_not_go_with_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        FitSettings.of(**({"seed_words": SEEDS} | settings))
