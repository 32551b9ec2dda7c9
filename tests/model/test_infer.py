from __future__ import annotations

import numpy as np
import pytest
from handmade import make_model
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import psi

from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.model.inference import _CHUNK, _digamma, posterior_mean


@settings(deadline=None)  # the first call compiles
@given(st.floats(1e-6, 1e6))
def test_digamma_agrees_with_scipy(x: float) -> None:
    assert _digamma(x) == pytest.approx(psi(x), rel=1e-10, abs=1e-10)


def reference(topics: np.ndarray, alpha: np.ndarray, row: np.ndarray) -> np.ndarray:
    """The same fixed point, written densely and iterated to the end."""
    gamma = alpha + row.sum() / len(alpha)
    for _ in range(5000):
        joint = topics * np.exp(psi(gamma))[:, None]
        gamma = alpha + (joint / joint.sum(axis=0)) @ row
    return gamma / gamma.sum()


def test_posterior_mean_agrees_with_a_dense_reference() -> None:
    random = np.random.default_rng(3)
    topics = random.dirichlet(np.full(30, 0.5), 4)
    alpha = np.array([0.1, 0.2, 0.4, 0.8])
    counts = random.poisson(1.5, (15, 30))
    answer = posterior_mean(topics, alpha, sparse.csr_matrix(counts, dtype=float))
    for found, row in zip(answer, counts, strict=True):
        np.testing.assert_allclose(found, reference(topics, alpha, row), atol=5e-3)


def test_documents_without_a_known_word_get_the_prior_mean() -> None:
    topics = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    alpha = np.array([1.0, 3.0])
    counts = sparse.csr_matrix([[0.0, 0.0, 0.0], [0.0, 0.0, 7.0]])
    np.testing.assert_allclose(posterior_mean(topics, alpha, counts), [[0.25, 0.75]] * 2)


def test_planted_proportions_are_recovered_from_long_documents() -> None:
    random = np.random.default_rng(5)
    topics = random.dirichlet(np.full(200, 0.1), 5)
    proportions = random.dirichlet(np.ones(5), 40)
    counts = np.array([random.multinomial(5000, p @ topics) for p in proportions])
    answer = posterior_mean(topics, np.ones(5), sparse.csr_matrix(counts, dtype=float))
    assert np.abs(answer - proportions).sum(axis=1).mean() < 0.06


def test_the_answer_does_not_depend_on_how_documents_are_grouped() -> None:
    model = make_model()
    counts = sparse.csr_matrix(np.random.default_rng(0).poisson(0.5, (_CHUNK + 3, 12)), dtype=float)
    together = posterior_mean(model.topics, model.alpha, counts)
    for n in (0, _CHUNK - 1, _CHUNK, _CHUNK + 2):
        np.testing.assert_array_equal(together[n], posterior_mean(model.topics, model.alpha, counts[n])[0])


def test_no_documents_give_no_rows() -> None:
    model = make_model()
    assert posterior_mean(model.topics, model.alpha, sparse.csr_matrix((0, 12))).shape == (0, 3)


def test_a_very_small_prior_does_not_underflow() -> None:
    topics = np.array([[0.5, 0.5], [0.1, 0.9]])
    answer = posterior_mean(topics, np.full(2, 1e-6), sparse.csr_matrix([[0.0, 3.0], [0.0, 0.0]]))
    assert np.isfinite(answer).all()
    np.testing.assert_allclose(answer.sum(axis=1), 1)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_counts_that_are_no_counts_are_refused(bad: float) -> None:
    model = make_model()
    counts = np.zeros((2, 12))
    counts[1, 3] = bad
    with pytest.raises(InputError, match="finite and nonnegative"):
        posterior_mean(model.topics, model.alpha, sparse.csr_matrix(counts))


def test_small_weighted_counts_do_not_underflow_into_the_prior() -> None:
    answer = posterior_mean(np.eye(2), np.array([1e-6, 1e-6]), sparse.csr_matrix([[1e-3, 0.0]]))
    np.testing.assert_allclose(answer[0], [1, 0], atol=0.01)


def test_words_outside_the_model_are_refused_before_compiled_code_sees_them(model: TopicModel) -> None:
    forged = sparse.csr_matrix((1, len(model.vocabulary)))
    forged.data, forged.indices = np.ones(1), np.array([10**6], np.int32)
    forged.indptr = np.array([0, 1], np.int32)
    with pytest.raises(InputError, match="column"):
        model.transform(forged)
