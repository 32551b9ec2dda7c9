"""Synthetic corpora follow their declared model and are reproducible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.learning import synthetic as planted
from dplda.runs.corpus import synthetic

SMALL = {"n_documents": 300, "n_words": 40, "n_topics": 4}


def test_shapes_types_and_simplices_are_as_documented() -> None:
    counts, topics, proportions = synthetic(**SMALL)
    assert counts.shape == (300, 40)
    assert counts.dtype == np.int32
    assert counts.has_canonical_format
    assert counts.data.min() >= 1
    assert topics.shape == (4, 40)
    assert proportions.shape == (300, 4)
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0)


def test_same_seed_gives_same_corpus_and_another_seed_another() -> None:
    first, again, other = synthetic(**SMALL, seed=1), synthetic(**SMALL, seed=1), synthetic(**SMALL, seed=2)
    assert (first[0] != again[0]).nnz == 0
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[0] != other[0]).nnz > 0


@settings(max_examples=25, deadline=None)
@given(
    n_documents=st.integers(1, 60),
    n_words=st.integers(1, 30),
    n_topics=st.integers(1, 5),
    alpha0=st.floats(0.01, 50),
    seed=st.integers(0, 2**32),
)
def test_any_size_is_drawn_and_every_document_can_contribute(**arguments: Any) -> None:
    counts, topics, proportions = synthetic(**arguments, mean_length=5.0)
    assert counts.shape == (arguments["n_documents"], arguments["n_words"])
    assert counts.sum(axis=1).min() >= planted.SHORTEST
    assert np.isfinite(topics).all()
    assert np.isfinite(proportions).all()


def test_lengths_are_three_plus_poisson() -> None:
    lengths = synthetic(20_000, 30, 3, mean_length=12.0)[0].sum(axis=1)
    assert lengths.mean() == pytest.approx(15.0, abs=0.12)
    assert lengths.var() == pytest.approx(12.0, rel=0.05)


def test_words_follow_the_mixture_of_each_documents_topics() -> None:
    counts, topics, proportions = synthetic(5_000, 25, 3, mean_length=200, seed=4)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    expected = lengths[:, None] * (proportions @ topics)
    assert_no_excess(counts.toarray(), expected)
    for topic in range(3):  # among documents rich in one topic, which would show a mix-up of topics
        rich = proportions[:, topic] > 0.7
        assert_no_excess(counts.toarray()[rich], expected[rich])


def assert_no_excess(counts: np.ndarray, expected: np.ndarray) -> None:
    """Column sums lie within five standard deviations of their expectation."""
    observed, mean = counts.sum(axis=0), expected.sum(axis=0)
    assert (np.abs(observed - mean) <= 5 * np.sqrt(mean) + 1e-9).all()


def test_second_moment_is_that_of_independent_words() -> None:
    counts, topics, proportions = synthetic(60_000, 6, 2, mean_length=4, seed=5, concentration=2.0)
    dense = counts.toarray().astype(float)
    lengths = dense.sum(axis=1)
    pairs = (dense / (lengths * (lengths - 1))[:, None]).T @ dense
    pairs -= np.diag((dense / (lengths * (lengths - 1))[:, None]).sum(axis=0))
    mixture = proportions @ topics
    np.testing.assert_allclose(pairs / len(dense), mixture.T @ mixture / len(dense), atol=0.004)


def test_word_frequencies_fall_as_zipfs_law() -> None:
    topics = synthetic(1, 400, 2_000, concentration=0.5, zipf=1.0)[1]
    wanted = np.arange(1, 401) ** -1.0
    np.testing.assert_allclose(topics.mean(axis=0)[:20], (wanted / wanted.sum())[:20], rtol=0.2)


def test_a_word_of_probability_zero_is_never_drawn() -> None:
    topics = np.array([[0.0, 0.5, 0.0, 0.5, 0.0]])
    random = np.random.default_rng(0)
    counts = planted.draw_counts(random, np.full(2_000, 10), np.ones((2_000, 1)), topics)
    assert set(counts.indices) == {1, 3}


def test_blocks_change_only_the_memory_not_the_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "_BLOCK_TOKENS", 500)
    counts, topics, proportions = synthetic(**SMALL, seed=3)
    assert counts.shape == (300, 40)
    expected = np.asarray(counts.sum(axis=1)).ravel()[:, None] * (proportions @ topics)
    assert_no_excess(counts.toarray(), expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_documents", 0),
        ("n_words", 2.5),
        ("n_topics", -1),
        ("alpha0", 0.0),
        ("alpha0", float("nan")),
        ("mean_length", 0),
        ("concentration", float("inf")),
        ("seed", -1),
        ("zipf", float("nan")),
    ],
)
def test_a_number_out_of_range_is_named(name: str, value: float) -> None:
    arguments: dict[str, Any] = {**SMALL, name: value}
    with pytest.raises(InputError, match=f"^{name} must be"):
        synthetic(**arguments)
