"""The compiled E-step against an independent implementation with SciPy's digamma."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma
from tiny_units import as_document, contribution_of, lattice_sum, make_units

from dplda.private.statistics import expected_counts, topic_proportions
from dplda.private.statistics.clipping import UNROLLED, aligned, padded
from dplda.private.statistics.expected_counts import E_STEPS, LEAST, TOLERANCE, _exp_digamma, gather, posterior
from dplda.private.statistics.unit_sums import flat_rows
from dplda.runs.corpus import synthetic

SIZES = st.sampled_from([1, 2, 8, UNROLLED - 1, UNROLLED, UNROLLED + 1, 3 * UNROLLED])


def ascend(theta, counts, columns, prior):
    """One step of coordinate ascent of Blei, Ng, Jordan (2003), section 5.2, with phi (n, k) held as a table."""
    phi = theta * columns
    return prior + counts @ (phi / phi.sum(axis=1, keepdims=True))


def reference(counts, columns, prior, steps, power=3.0):
    """gamma (k,) after so many steps; every other one, from the third on, longer by `power` in the logarithm."""
    k = columns.shape[1]
    before, theta = np.empty(k), np.ones(k)
    for step in range(1, steps + 1):
        gamma = ascend(theta, counts, columns, prior)
        if step % 2 and 1 < step < steps:
            gamma = np.maximum(before * (gamma / before) ** power, prior + (gamma - prior) / 4 if power > 1 else 0)
        before, theta = gamma, np.exp(digamma(gamma))
    return gamma


def plain_steps(counts, columns, prior, steps):
    """Expected counts (n, k) after so many steps of coordinate ascent."""
    phi = np.exp(digamma(reference(counts, columns, prior, steps, power=1.0))) * columns
    return counts[:, None] * phi / phi.sum(axis=1, keepdims=True)


def found_posterior(words, counts, topics, prior):
    """theta (k,), gamma (k,) and the number of steps of the compiled E-step."""
    k, wide = topics.shape[1], padded(len(words), UNROLLED)
    stride, rows = padded(k), padded(k, 4)
    table, amounts, before = aligned(rows * wide), aligned(2 * wide), aligned(stride)
    table[:] = amounts[:] = before[:] = np.nan  # room is not read before it is written
    theta, gamma = aligned(stride), aligned(stride)
    flat, _ = flat_rows(topics.astype(np.float32))
    assert gather(words, counts, 0, len(words), flat, stride, rows, table, amounts) == wide
    steps = posterior(table, amounts, wide, float(counts.sum()), k, np.float32(prior), before, theta, gamma)
    return theta[:k], gamma[:k], steps


def some_document(seed, k, n):
    random = np.random.default_rng(seed)
    topics = random.dirichlet(np.full(n + 5, 0.5), size=k).T + 1e-9
    words = np.sort(random.permutation(n + 5)[:n]).astype(np.int32)
    return words, random.integers(1, 9, size=n).astype(np.int32), topics


# Topics and counts are float32, so that six digits of exp(digamma) are as good as more, and cost half as much.
@given(st.floats(2e-2, 1e6))
def test_exp_digamma_is_accurate_beyond_five_digits(x):
    assert _exp_digamma(x) == pytest.approx(np.exp(digamma(x)), rel=3e-6, abs=0)


def test_exp_digamma_is_accurate_on_a_grid_across_its_whole_range():
    for x in np.geomspace(1e-3, 1e6, 2000):
        assert _exp_digamma(x) == pytest.approx(np.exp(digamma(x)), rel=3e-6, abs=1e-37)


@pytest.mark.parametrize("x", [0.0, -2.0, -1.5, -1e300, -np.inf, np.nan])
def test_exp_digamma_outside_its_domain_is_nan_and_returns_at_once(x):
    assert np.isnan(_exp_digamma(x))


@given(st.integers(0, 2**32 - 1), st.integers(1, 21), SIZES, st.floats(0.01, 5.0))
def test_posterior_and_expected_counts_agree_with_the_reference(seed, k, n, prior):
    words, counts, topics = some_document(seed, k, n)
    theta, gamma, steps = found_posterior(words, counts, topics, prior)
    assert steps % 2 == 1
    assert 3 <= steps <= E_STEPS
    exact = reference(counts, topics[words], prior, steps)
    np.testing.assert_allclose(gamma, exact, rtol=2e-3, atol=1e-4 * counts.sum())
    np.testing.assert_allclose(theta, np.exp(digamma(gamma)), rtol=1e-5, atol=float(LEAST))
    phi = theta * topics[words]
    phi /= phi.sum(axis=1, keepdims=True)
    document = list(zip(words.tolist(), counts.tolist(), strict=True))
    found = contribution_of(expected_counts(topics, prior), document)
    np.testing.assert_allclose(found[words], counts[:, None] * phi, rtol=1e-4, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(2, 21), SIZES, st.floats(0.05, 5.0))
def test_an_e_step_ends_where_another_step_moves_little(seed, k, n, prior):
    words, counts, topics = some_document(seed, k, n)
    theta, gamma, steps = found_posterior(words, counts, topics, prior)
    moved = np.abs(ascend(theta, counts, topics[words], prior) - gamma).sum()
    assert steps == E_STEPS or moved < 2 * TOLERANCE * counts.sum()


def test_expected_counts_of_a_corpus_are_those_of_fifty_plain_steps_within_half_a_percent():
    counts, topics = synthetic(600, 300, 8, mean_length=60, seed=4)[:2]
    f = expected_counts(topics.T, 0.1)
    many, few, found = np.zeros((3, *topics.T.shape))
    for row in counts.toarray().astype(np.int64):
        words = np.flatnonzero(row)
        if row.sum() < 3:
            continue
        dense = np.zeros((2, *topics.T.shape))
        for i, steps in enumerate((50, E_STEPS)):
            dense[i, words] = plain_steps(row[words], topics.T[words], 0.1, steps)
        many, few = many + dense[0], few + dense[1]
        found = found + contribution_of(f, as_document(row))
    assert np.abs(found - many).sum() < 0.005 * many.sum()
    assert np.abs(found - many).sum() < 0.5 * np.abs(few - many).sum()


def test_what_a_longer_document_left_behind_reaches_no_other():
    random = np.random.default_rng(2)
    topics = random.dirichlet(np.full(400, 0.3), size=5).T
    f = expected_counts(topics, 0.1)
    documents = [
        [(int(w), int(random.integers(1, 5))) for w in np.sort(random.permutation(400)[:n])]
        for n in (3 * UNROLLED, 5, UNROLLED + 6, 2 * UNROLLED, 3)
    ]
    together, mass = lattice_sum(f, make_units([[document] for document in documents]), 1.0)
    alone = [lattice_sum(f, make_units([[document]]), 1.0) for document in documents]
    np.testing.assert_array_equal(together, sum(total for total, _ in alone))
    assert mass == sum(each for _, each in alone)


def test_expected_counts_of_words_that_no_topic_has_are_finite_and_no_larger_than_the_counts():
    found = contribution_of(expected_counts(np.zeros((4, 3)), 0.1), [(0, 2), (3, 5)])
    assert np.isfinite(found).all()
    assert (found.sum(axis=1) <= [2, 0, 0, 5]).all()


def test_topic_proportions_are_those_of_the_reference_posterior():
    words, counts, topics = some_document(3, 4, 9)
    document = list(zip(words.tolist(), counts.tolist(), strict=True))
    found = contribution_of(topic_proportions(topics, 0.05), document)[0]
    gamma = reference(counts, topics[words], 0.05, E_STEPS)
    np.testing.assert_allclose(found, (gamma - 0.05) / counts.sum(), atol=2e-3)
