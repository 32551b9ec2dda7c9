from __future__ import annotations

from itertools import combinations, permutations
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dplda.runs.grid import diversity, matched_error, npmi

SEEDS = st.integers(0, 2**32 - 1)


def simplex(seed: int, rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(columns, 0.3), rows)


def npmi_of_pair(present: np.ndarray, a: int, b: int) -> float:
    """Bouma's definition, from the documents that hold both, one, the other."""
    both = np.mean(present[:, a] & present[:, b])
    if both in (0, 1):
        return -1.0 if both == 0 else 0.0
    return log(both / (present[:, a].mean() * present[:, b].mean())) / -log(both)


@given(SEEDS, st.integers(2, 5))
def test_npmi_is_the_mean_of_the_definition_over_pairs_of_top_words(seed, top):
    counts = np.random.default_rng(seed).poisson(0.7, (12, 7))
    topics = simplex(seed, 3, 7)
    expected = [
        np.mean([npmi_of_pair(counts > 0, a, b) for a, b in combinations(np.argsort(-row)[:top], 2)]) for row in topics
    ]
    assert npmi(topics, sparse.csr_matrix(counts), top) == pytest.approx(expected)


def test_npmi_of_words_that_always_never_and_everywhere_occur_together():
    counts = np.array([[1, 1, 0, 1], [2, 5, 0, 3], [0, 0, 1, 1], [0, 0, 4, 1]])
    always, never, everywhere = [0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], [0.5, 0, 0, 0.5]
    found = npmi(np.array([always, never, everywhere]), sparse.csr_matrix(counts), top=2)
    assert found == pytest.approx([1.0, -1.0, 0.0])
    one_word = npmi(np.array([[0.5, 0.5]]), sparse.csr_matrix(np.ones((3, 2), int)), top=2)
    assert one_word == pytest.approx([0.0])


def test_diversity_counts_distinct_words():
    topics = np.array([[0.5, 0.4, 0.1, 0.0], [0.5, 0.4, 0.0, 0.1], [0.0, 0.1, 0.5, 0.4]])
    assert diversity(topics, top=2) == 4 / 6
    assert diversity(topics[:1], top=2) == 1.0


@given(SEEDS, st.integers(1, 4), st.integers(1, 4))
def test_matched_error_is_the_best_of_all_matchings(seed, planted, found):
    truth, topics = simplex(seed, planted, 6), simplex(seed + 1, found, 6)
    distance = np.abs(truth[:, None] - topics[None]).sum(axis=2)
    padded = np.full((planted, max(planted, found)), 2.0)
    padded[:, :found] = distance
    best = min(sum(padded[i, p[i]] for i in range(planted)) for p in permutations(range(padded.shape[1]), planted))
    errors = matched_error(topics, truth)
    assert errors.shape == (planted,)
    assert errors.sum() == pytest.approx(best)


@given(SEEDS, st.permutations(range(5)))
def test_matched_error_of_the_truth_in_any_order_is_zero(seed, order):
    truth = simplex(seed, 5, 8)
    assert matched_error(truth[list(order)], truth) == pytest.approx(np.zeros(5))
