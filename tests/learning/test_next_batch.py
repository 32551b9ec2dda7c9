"""The next batch of a series: topics keep their numbers, new ones appear, old ones fade, and nothing else is asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import dplda
from dplda.base.distributions import on_words
from dplda.base.errors import InputError
from dplda.budget.events import Stage
from dplda.learning.placements import next_batch
from dplda.model.prior_topics import CountSums, ReleasedCounts

N_WORDS, K = 400, 6
WORDS = [f"w{i}" for i in range(N_WORDS)]
PLANTED = np.random.default_rng(0).dirichlet(np.full(N_WORDS, 0.03), size=K)


def batch_of(weights, seed, n=2500, **options):
    """A corpus of documents about the planted topics, with these relative `weights`."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.maximum(np.array(weights, float), 1e-6) * 0.8, size=n)
    counts = np.array([rng.multinomial(60, row / row.sum()) for row in theta @ PLANTED])
    return dplda.Corpus.from_counts(counts, WORDS, name=f"batch-{seed}", **({"public_vocabulary": True} | options))


def fitted(corpus, prior=None, epsilon=4.0, **options):
    options = {"n_topics": K - 1, "series": "s", "ledger": False, "simulate_seed": 1} | options
    return dplda.fit(corpus, epsilon=epsilon, prior=prior, **options)


def prior_of(model):
    return dplda.released_prior(model, public=True)


def matches(model):
    """The planted topic that each topic is most like, and the cosine."""
    found = on_words(model.topics, model.vocabulary, WORDS)
    cosines = (found / np.linalg.norm(found, axis=1)[:, None]) @ (PLANTED / np.linalg.norm(PLANTED, axis=1)[:, None]).T
    return cosines.argmax(axis=1).tolist(), cosines.max(axis=1)


@pytest.fixture(scope="module")
def first():
    return fitted(batch_of([1, 1, 1, 1, 1, 0], 0))


def test_topics_keep_their_numbers_and_improve(first):
    then = fitted(batch_of([1, 2, 1, 1, 1, 0], 1), prior_of(first))
    assert (matches(then)[0], then.facts.new_topics, then.facts.faded_topics) == (
        matches(first)[0],
        (),
        (),
    )
    assert matches(then)[1].mean() > matches(first)[1].mean()
    grown = matches(then)[0].index(1)
    assert then.prevalence[grown] == pytest.approx(2 / 6, abs=0.05)
    assert then.facts.batch == "batch-1"
    assert then.facts.share_std < 0.01


def test_a_new_topic_gets_the_next_number_and_a_faded_one_keeps_its_words(first):
    model = fitted(batch_of([1, 1, 1, 1, 1, 1], 2), prior_of(first))
    assert model.facts.new_topics == (5,)
    assert matches(model)[0] == [*matches(first)[0], 5]
    assert matches(model)[1][5] > 0.9
    gone = matches(first)[0].index(0)
    for seed in (3, 4):
        model = fitted(batch_of([0, 1, 1, 1, 1, 1], seed), prior_of(model))
        assert model.facts.faded_topics == (gone,)
        assert model.facts.new_topics == ()
    assert matches(model)[0][gone] == 0
    back = fitted(batch_of([1, 1, 1, 1, 1, 1], 5), prior_of(model))
    assert back.facts.faded_topics == ()
    assert back.prevalence[gone] == pytest.approx(1 / 6, abs=0.05)


def test_shares_that_change_are_no_new_topic(first):
    for seed, weights in enumerate([[5, 1, 1, 1, 1, 0], [1, 1, 1, 6, 2, 0], [0.3, 1, 3, 1, 1, 0]], 6):
        assert fitted(batch_of(weights, seed), prior_of(first)).facts.new_topics == ()


def test_a_new_topic_is_held_by_the_batch_in_which_it_is_found(first):
    for seed in range(20, 26):
        model = fitted(batch_of([1, 1, 1, 1, 1, 0.15], seed), prior_of(first), epsilon=2.0)
        assert not set(model.facts.new_topics) & set(model.facts.faded_topics)
        assert np.all(model.counts.sums.total.any(axis=0))


def test_a_word_that_is_no_longer_chosen_leaves_the_list_in_time(first):
    private = [fitted(batch_of([1, 1, 1, 1, 1, 0], 30, public_vocabulary=False), epsilon=8.0)]
    word = private[0].top_words(3)[0][0][0]
    place = WORDS.index(word)
    frequencies = []
    for seed in (31, 32, 33):
        rng = np.random.default_rng(seed)
        theta = rng.dirichlet(np.full(5, 0.8), size=2500)
        topics = PLANTED[:5].copy()
        topics[:, place] = 0
        counts = np.array([rng.multinomial(60, row / row.sum()) for row in theta @ topics])
        private.append(
            fitted(dplda.Corpus.from_counts(counts, WORDS, name=f"b{seed}"), prior_of(private[-1]), epsilon=8.0)
        )
        model = private[-1]
        if word in model.vocabulary:
            index = model.vocabulary.index(word)
            frequencies.append((model.counts.frequencies[index], model.counts.frequency_std[index]))
    assert all(later[0] < earlier[0] and later[1] >= earlier[1] for earlier, later in pairwise(frequencies))


@pytest.mark.parametrize("options", [{}, {"seed_words": {"named": ["w1", "w2", "w3"]}}, {"public": False}])
def test_a_batch_asks_for_size_words_and_counts_alone(first, tmp_path, options):
    public = options.pop("public", True)
    ledger = dplda.Ledger(tmp_path / "l.db")
    ledger.grant("s", unbounded=True)
    corpus = batch_of([1, 1, 1, 1, 1, 0], 9, **({} if public else {"public_vocabulary": False}))
    model = fitted(corpus, prior_of(first), ledger=ledger, epsilon=8.0, **options)
    words = [Stage.FREQUENCY] if public else [Stage.VOCABULARY]
    [run] = ledger.runs()
    assert [p.event.stage for p in run.plan if p.charged] == [
        *("size", *words, "vote total", "refine clip"),
        *["refine"] * next_batch.ROUNDS,
    ]
    assert (run.batch, run.dataset) == ("batch-9", "s")
    assert all(p.charged for p in run.plan)
    assert matches(model)[0][: K - 1] == matches(first)[0]
    assert (list(model.topic_names.values()) == ["named"]) is ("seed_words" in options)


def test_words_that_are_chosen_privately_join_those_of_the_series(first):
    strange = [f"new{i}" for i in range(12)]
    planted = np.zeros((K, N_WORDS + 12))
    planted[:5, :N_WORDS], planted[5, N_WORDS:] = PLANTED[:5], 1 / 12
    counts = np.vstack([np.random.default_rng(3).multinomial(60, row, 1200) for row in planted])
    corpus = dplda.Corpus.from_counts(counts, [*WORDS, *strange], name="later")
    model = fitted(corpus, prior_of(first), epsilon=8.0, max_document_frequency=0.5)
    assert set(strange) <= set(model.vocabulary)
    assert set(first.vocabulary) & set(model.vocabulary)
    assert model.facts.new_topics == (5,)
    assert {word for word, _ in model.top_words(10)[5]} <= set(strange)


def test_words_that_were_left_out_as_too_frequent_are_no_new_topic(first):
    strange = [f"new{i}" for i in range(12)]
    planted = np.zeros((K, N_WORDS + 12))
    planted[:5, :N_WORDS], planted[5, N_WORDS:] = PLANTED[:5], 1 / 12
    counts = np.vstack([np.random.default_rng(3).multinomial(60, row, 1200) for row in planted])
    corpus = dplda.Corpus.from_counts(counts, [*WORDS, *strange], name="later", public_vocabulary=True)
    assert fitted(corpus, prior_of(first), epsilon=8.0).facts.new_topics == (5,)
    known = replace(prior_of(first), too_frequent=tuple(strange))
    assert fitted(corpus, known, epsilon=8.0).facts.new_topics == ()


def test_names_stay_and_no_topic_is_surer_than_before(first):
    prior = prior_of(first)
    named = dplda.PriorTopics(
        prior.topics,
        prior.words,
        "a test",
        True,
        counts=prior.counts,
        names={1: "a, b", 2: "heating"},
        made_names=frozenset({1}),
        probabilities=(0.5,) * 5,
    )
    model = fitted(batch_of([1, 1, 1, 1, 1, 0], 10), named)
    assert model.topic_names == {1: "a, b", 2: "heating"}
    assert model.facts.made_names == ((1,),)
    assert "clear" not in model.verdicts
    assert max(model.probabilities) == 0.5


def test_sums_that_go_on_have_the_recorded_variance():
    rng, std = np.random.default_rng(0), np.array([1.0, 3.0, 0.5])
    truth = np.array([[5.0, 1.0], [2.0, 7.0], [4.0, 4.0]])
    sums = since = kept = None
    totals = []
    for _ in range(4000):
        sums = CountSums(np.zeros((3, 2)), np.zeros(3), 0.0)
        for _ in range(3):
            sums = sums.with_round(truth + std[:, None] * rng.standard_normal((3, 2)), std, 0.7)
        earlier = sums
        for _ in range(2):
            sums = sums.with_round(truth + std[:, None] * rng.standard_normal((3, 2)), std, 0.7)
        since = sums.since(earlier, 0.7**2)
        kept = sums.keeping(earlier, np.array([1]))
        totals.append((sums.counts, since.counts, kept.counts))
    for values, named in zip(np.swapaxes(np.array(totals), 0, 1), (sums, since, kept), strict=True):
        assert values.mean(axis=0) == pytest.approx(truth, rel=0.05)
        spread = values.std(axis=0)
        if named is kept:  # the larger of two variances: that of the topic which is kept, here
            assert spread[:, 1] == pytest.approx(named.std, rel=0.06)
            assert np.all(spread[:, 0] < named.std)
        else:
            assert spread == pytest.approx(np.repeat(named.std[:, None], 2, axis=1), rel=0.06)


def test_released_counts_are_checked_and_follow_their_words():
    sums = CountSums(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 4.0]), 2.0)
    counts = ReleasedCounts(sums, np.array([0.1, 0.2]), np.full(2, 0.01))
    over = counts.over(["a", "b"], ["b", "c"])
    assert over.sums.total.tolist() == [[3.0, 4.0], [0.0, 0.0]]
    assert (over.sums.variance.tolist(), over.frequencies.tolist()) == ([4.0, 0.0], [0.2, 0.0])
    for wrong in (
        CountSums(sums.total, np.array([1.0, -1.0]), 2.0),
        CountSums(sums.total * np.nan, sums.variance, 2.0),
    ):
        with pytest.raises(InputError, match="released counts"):
            ReleasedCounts(wrong, counts.frequencies, counts.frequency_std)
    with pytest.raises(InputError, match="released counts"):
        ReleasedCounts(sums, counts.frequencies[:1], counts.frequency_std)
