"""Topics on the same words and their matches, against enumeration."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplda.base.distributions import match_topics, on_words

SEEDS = st.integers(0, 2**32 - 1)


def distributions(seed, n_topics, n_words):
    return np.random.default_rng(seed).dirichlet(np.ones(n_words), n_topics)


@given(SEEDS, st.permutations("abcdef"))
def test_topics_laid_out_over_other_words_keep_each_words_probability(seed, words):
    topics = distributions(seed, 2, 6)
    wanted = [*"fdbxa"]
    laid = on_words(topics, words, wanted)
    for column, word in enumerate(wanted):
        expected = topics[:, words.index(word)] if word in words else 0.0
        assert np.all(laid[:, column] == expected)


@given(SEEDS, st.integers(1, 4), st.integers(1, 4))
def test_the_matching_has_the_largest_sum_of_cosines_of_all_one_to_one_matchings(seed, n_first, n_second):
    first, second = distributions(seed, n_first, 5), distributions(seed + 1, n_second, 5)
    rows, columns, cosines = match_topics(first, second)
    for row, column, cosine in zip(rows, columns, cosines, strict=True):
        norms = np.linalg.norm(first[row]) * np.linalg.norm(second[column])
        assert cosine == pytest.approx(first[row] @ second[column] / norms)
    few, many = sorted((first, second), key=len)
    one, other = (topics / np.linalg.norm(topics, axis=1, keepdims=True) for topics in (few, many))
    best = max(
        sum(one[i] @ other[j] for i, j in enumerate(order)) for order in permutations(range(len(many)), len(few))
    )
    assert len(set(rows)) == len(set(columns)) == len(few)
    assert cosines.sum() == pytest.approx(best)


def test_a_topic_without_words_has_cosine_zero():
    rows, columns, cosines = match_topics(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert (rows.tolist(), columns.tolist(), cosines.tolist()) == ([0, 1], [1, 0], [1.0, 0.0])
