"""Mixtures of pairs of words: planted topics from exact and noisy second moments, and how well they agree."""

from __future__ import annotations

import numpy as np
import pytest

from dplda.base.distributions import match_topics
from dplda.learning.pair_mixture import NoisyPairs, agreement, fit_mixture
from dplda.learning.refinement import Guide, first_words
from dplda.private.statistics.lda_moments import population_moments
from dplda.runs.grid import matched_error

N_WORDS, K, ALPHA0 = 60, 4, 1.0
NOT_GUIDED = Guide(np.zeros((N_WORDS, 0)), np.zeros(0, np.int64))


def planted(seed=0):
    """Topics (K, N_WORDS) whose words overlap little, their prevalence, and population moments."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(N_WORDS, 0.08), K)
    prevalence = np.array([0.4, 0.3, 0.2, 0.1])
    return topics, prevalence, population_moments(topics, ALPHA0 * prevalence)


def noisy(moments, total, std, seed=0):
    """`total` pairs with the law of `moments`, and symmetric noise of `std`."""
    upper = np.triu(np.random.default_rng(seed).normal(0.0, std, (N_WORDS, N_WORDS)), 1)
    return NoisyPairs(total * moments.E2 + upper + upper.T, std, moments.m)


def test_exact_pairs_give_the_planted_topics_and_their_prevalence():
    topics, prevalence, moments = planted()
    found = fit_mixture(noisy(moments, 1.0, 0.0), K, ALPHA0, NOT_GUIDED)
    assert matched_error(found.topics.T, topics).mean() < 0.2
    np.testing.assert_allclose(found.prevalence[match_topics(topics, found.topics.T)[1]], prevalence, atol=0.05)


def test_the_background_has_more_weight_the_more_topics_documents_have():
    topics, prevalence, _ = planted()
    weights = []
    for alpha0 in (0.1, 1.0, 10.0):
        moments = population_moments(topics, alpha0 * prevalence)
        weights.append(fit_mixture(noisy(moments, 1.0, 0.0), K, ALPHA0, NOT_GUIDED).background)
    assert weights[0] < 0.05
    assert weights[0] < weights[1] < weights[2]


def test_noise_costs_more_the_larger_it_is_and_little_where_it_is_small():
    topics, _, moments = planted(1)
    errors = [
        matched_error(fit_mixture(noisy(moments, 1e5, std), K, ALPHA0, NOT_GUIDED).topics.T, topics).mean()
        for std in (1.0, 20.0, 500.0)
    ]
    assert errors[0] < 0.2
    assert errors[0] < errors[1] < errors[2]


def test_a_mixture_is_a_function_of_the_released_pairs():
    _, _, moments = planted()
    pairs = noisy(moments, 1e4, 5.0)
    first, again = (fit_mixture(pairs, K, ALPHA0, NOT_GUIDED) for _ in range(2))
    np.testing.assert_array_equal(first.topics, again.topics)
    other = fit_mixture(pairs, K, ALPHA0, NOT_GUIDED, stream=1)
    assert not np.array_equal(first.topics, other.topics)


def test_halves_have_independent_noise_of_twice_the_variance():
    zero = np.zeros((200, 200))
    upper = np.triu(np.random.default_rng(3).normal(0.0, 2.0, zero.shape), 1)
    first, second = NoisyPairs(upper + upper.T, 2.0, np.full(200, 1 / 200)).halves()
    above = np.triu_indices(200, 1)
    x, y = first.counts[above], second.counts[above]
    assert x.std() == pytest.approx(first.std, rel=0.02) == pytest.approx(second.std, rel=0.02)
    assert y.std() == pytest.approx(2.0 * np.sqrt(2), rel=0.02)
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.03
    np.testing.assert_array_equal(first.counts, first.counts.T)
    np.testing.assert_allclose((first.counts + second.counts) / 2, upper + upper.T)


def test_guided_topics_keep_their_columns_and_their_words():
    topics, _, moments = planted()
    words = first_words(topics.T)[2][:5]
    seeds = np.zeros((N_WORDS, 1))
    seeds[words] = 1 / 5
    found = fit_mixture(noisy(moments, 1e5, 5.0), K, ALPHA0, Guide(seeds, np.array([0])))
    assert set(words) <= set(first_words(found.topics)[0].tolist())
    assert match_topics(topics, found.topics.T)[1][2] == 0


def test_topics_agree_with_themselves_and_words_are_counted_once_a_half():
    _, _, moments = planted()
    found = fit_mixture(noisy(moments, 1.0, 0.0), K, ALPHA0, NOT_GUIDED)
    cosines, common = agreement(found, [found, found])
    np.testing.assert_allclose(cosines, 1.0)
    assert (common == 2).all()
    shuffled = fit_mixture(noisy(moments, 1e3, 400.0), K, ALPHA0, NOT_GUIDED)
    cosines, common = agreement(found, [found, shuffled])
    assert (cosines[1] < 0.9).all()
    assert set(np.unique(common)) <= {1.0, 2.0}


def test_estimated_pairs_are_nonnegative_symmetric_and_closer_than_noisy_ones():
    _, _, moments = planted()
    pairs = noisy(moments, 1e4, 10.0)
    estimated = pairs.estimate()
    np.testing.assert_array_equal(estimated, estimated.T)
    assert (estimated >= 0).all()
    assert not estimated.diagonal().any()
    above = np.triu_indices(N_WORDS, 1)
    exact = 1e4 * moments.E2
    assert np.linalg.norm((estimated - exact)[above]) < 0.7 * np.linalg.norm((pairs.counts - exact)[above])
