from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from handmade import make_model
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.report import comparison_of_runs

seeds = st.integers(0, 10_000)


def drawn(seed: int, n_topics: int = 5, n_words: int = 9) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_words, 0.3), n_topics)


def with_topics(model: TopicModel, topics: np.ndarray, vocabulary: list[str]) -> TopicModel:
    k = len(topics)
    facts = replace(model.facts, alpha=(0.3,) * k)
    return replace(model, topics=topics, vocabulary=vocabulary, prevalence=np.full(k, 1 / k), facts=facts)


@given(seeds)
def test_hellinger_is_the_scaled_distance_of_square_roots(seed: int) -> None:
    topics = drawn(seed)
    expected = squareform(pdist(np.sqrt(topics))) / np.sqrt(2)
    assert comparison_of_runs.hellinger(topics, topics) == pytest.approx(expected, abs=1e-7)
    assert comparison_of_runs.hellinger(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])) == 1


@given(seeds, seeds, st.integers(1, 4), st.integers(1, 4))
def test_the_matching_is_the_best_of_all(one: int, other: int, k: int, l: int) -> None:  # noqa: E741
    base = make_model()
    words = [f"w{j}" for j in range(9)]
    first, second = with_topics(base, drawn(one, k), words), with_topics(base, drawn(other, l), words)
    matched = comparison_of_runs._match(first, second)
    found = matched.partner >= 0
    small, large = sorted((k, l))
    assert found.sum() == len(set(matched.partner[found])) == small
    similarity = matched.similarity if k <= l else matched.similarity.T
    best = max(similarity[range(small), list(p)].mean() for p in itertools.permutations(range(large), small))
    assert matched.agreement == pytest.approx(best)


def test_the_same_topics_in_another_order_over_words_in_another_order_agree_fully() -> None:
    model = make_model(4, 12)
    topics, words = np.array([2, 0, 3, 1]), np.random.default_rng(1).permutation(12)
    other = with_topics(model, model.topics[topics][:, words], [model.vocabulary[w] for w in words])
    matched = comparison_of_runs._match(model, other)
    assert matched.agreement == pytest.approx(1, abs=1e-6)
    assert [int(topics[partner]) for partner in matched.partner] == [0, 1, 2, 3]


def test_words_of_one_run_only_count_as_probability_zero_in_the_other() -> None:
    base = make_model()
    first = with_topics(base, drawn(1, 3, 4), list("abcd"))
    second = with_topics(base, drawn(2, 3, 5), list("cdefg"))
    union = np.zeros((2, 3, 7))
    union[0, :, :4], union[1, :, 2:] = first.topics, second.topics
    assert comparison_of_runs._match(first, second).similarity == pytest.approx(
        1 - comparison_of_runs.hellinger(union[0], union[1])
    )
    assert comparison_of_runs._shared_words(first, second) == ["c", "d"]


def test_runs_without_a_common_word_are_refused_in_words_that_name_none() -> None:
    base = make_model()
    first, second = (with_topics(base, drawn(1, 2, 3), words) for words in (["ape", "bee", "cat"], ["x", "y", "z"]))
    with pytest.raises(InputError, match="no word in common") as refused:
        comparison_of_runs._match(first, second)
    assert not any(word in str(refused.value).split() for word in (*first.vocabulary, *second.vocabulary))


def test_agreements_are_symmetric_with_ones_on_the_diagonal() -> None:
    models = [make_model(3, 12, seed) for seed in range(4)]
    table = comparison_of_runs._agreements(models)
    assert np.array_equal(table, table.T)
    assert np.all(np.diag(table) == 1)
    assert table[0, 2] == pytest.approx(comparison_of_runs._match(models[0], models[2]).agreement)
