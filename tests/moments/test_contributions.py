"""Every contribution against a brute force over ordered tuples of distinct tokens."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_units import as_document, contribution_of, make_units, norms

from dplda.moments import contributions
from dplda.tensor.symmetric import unpack, unpack_matrix

D = 5
FLOAT32 = {"rtol": 2e-5, "atol": 2e-5}  # the kernels' numbers; the largest here is about 100, and some cancel

documents = st.lists(st.integers(0, D - 1), min_size=3, max_size=7).map(lambda tokens: np.bincount(tokens, minlength=D))
seeds = st.integers(0, 2**32 - 1)
brief = settings(max_examples=40, deadline=None)


def parameters(seed: int, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.uniform(0.2, 4.0, D), random.standard_normal((D, columns))


def tokens_of(counts: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(D), counts)


def average_over_tuples(counts: np.ndarray, scale: np.ndarray, order: int) -> np.ndarray:
    """Mean of s_i e_i x s_j e_j x ... over ordered tuples of `order` distinct tokens, (D, ..., D)."""
    total = np.zeros((D,) * order)
    tuples = list(itertools.permutations(tokens_of(counts), order))
    for words in tuples:
        total[words] += np.prod(scale[list(words)])
    return total / len(tuples)


@brief
@given(documents, seeds)
def test_first_moment_is_the_average_token(counts, seed):
    scale, _ = parameters(seed)
    found = contribution_of(contributions.first_moment(scale), as_document(counts))
    np.testing.assert_allclose(found[:, 0], average_over_tuples(counts, scale, 1), **FLOAT32)


@brief
@given(documents, seeds)
def test_second_moment_times_is_the_average_pair_times_the_block(counts, seed):
    scale, X = parameters(seed)
    found = contribution_of(contributions.second_moment_times(scale, X), as_document(counts))
    np.testing.assert_allclose(found, average_over_tuples(counts, scale, 2) @ X, **FLOAT32)


@brief
@given(documents, seeds)
def test_core_is_the_average_pair_seen_through_the_block(counts, seed):
    scale, X = parameters(seed)
    found = contribution_of(contributions.core(scale, X), as_document(counts))
    expected = X.T @ average_over_tuples(counts, scale, 2) @ X
    np.testing.assert_allclose(unpack_matrix(found[0], 3), expected, **FLOAT32)


@brief
@given(documents, seeds)
def test_third_moment_is_the_average_triple_seen_through_the_whitening(counts, seed):
    scale, W = parameters(seed)
    found = contribution_of(contributions.third_moment(scale[:, None] * W), as_document(counts))
    expected = np.einsum("ijl,ia,jb,lc->abc", average_over_tuples(counts, scale, 3), W, W, W)
    np.testing.assert_allclose(unpack(found[0], 3), expected, **FLOAT32)


@brief
@given(documents, seeds)
def test_expected_counts_divide_each_word_over_topics(counts, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(D), size=3).T
    found = contribution_of(contributions.expected_counts(weights, 0.2), as_document(counts))
    np.testing.assert_allclose(found.sum(axis=1), counts, **FLOAT32)
    assert (found >= 0).all()


@brief
@given(documents, seeds)
def test_a_scale_multiplies_the_rows_of_expected_counts_and_nothing_else(counts, seed):
    scale, X = parameters(seed)
    plain = contribution_of(contributions.expected_counts(np.abs(X), 0.2), as_document(counts))
    scaled = contribution_of(contributions.expected_counts(np.abs(X), 0.2, scale), as_document(counts))
    np.testing.assert_allclose(scaled, scale[:, None] * plain, **FLOAT32)


@brief
@given(documents, seeds, st.randoms(use_true_random=False))
@pytest.mark.parametrize("kind", ["first", "second", "core", "third", "expected"])
def test_split_and_shuffled_entries_of_a_word_change_nothing(kind, counts, seed, shuffler):
    split = [(word, 1) for word in tokens_of(counts).tolist()]
    shuffler.shuffle(split)
    f = every_kind(seed)[kind]
    merged = contribution_of(f, as_document(counts))
    np.testing.assert_allclose(contribution_of(f, split), merged, **FLOAT32)


def every_kind(seed: int) -> dict[str, contributions.Contribution]:
    scale, X = parameters(seed)
    return {
        "first": contributions.first_moment(scale),
        "second": contributions.second_moment_times(scale, X),
        "core": contributions.core(scale, X),
        "third": contributions.third_moment(X),
        "expected": contributions.expected_counts(np.abs(X) + 1e-3, 0.2),
    }


@brief
@given(documents, seeds)
def test_weighted_norms_are_the_closed_forms_of_the_full_arrays(counts, seed):
    scale, X = parameters(seed)
    f = every_kind(seed)
    units = make_units([[as_document(counts)]])
    length = counts.sum()
    for kind, expected in {
        "first": np.sqrt((scale**2 * counts**2).sum()) / length,
        "second": second_norm(counts, scale, X),
        "core": core_norm(counts, scale, X),
        "third": third_norm(counts, X),
    }.items():
        assert norms(f[kind], units)[0] == pytest.approx(expected, rel=1e-5, abs=1e-5), kind


def second_norm(c: np.ndarray, s: np.ndarray, X: np.ndarray) -> float:
    """docs/privacy.md, section 2, (iii)."""
    h, pairs = s * c, c.sum() * (c.sum() - 1)
    y, rows = X.T @ h, (X**2).sum(axis=1)
    square = (h @ h) * (y @ y) - 2 * (s**3 * c**2) @ (X @ y) + (s**4 * c**2) @ rows
    return float(np.sqrt(max(square, 0.0)) / pairs)


def core_norm(c: np.ndarray, s: np.ndarray, X: np.ndarray) -> float:
    """docs/privacy.md, section 2, (iii')."""
    y, R, pairs = X.T @ (s * c), (X.T * (s**2 * c)) @ X, c.sum() * (c.sum() - 1)
    square = (y @ y) ** 2 - 2 * y @ R @ y + (R * R).sum()
    return float(np.sqrt(max(square, 0.0)) / pairs)


def third_norm(c: np.ndarray, W: np.ndarray) -> float:
    """docs/privacy.md, section 2, (iv)."""
    n = float(c.sum())
    y, R, G = W.T @ c, (W.T * c) @ W, W @ W.T
    along = W @ y
    square = (
        (y @ y) ** 3 - 6 * (y @ y) * (y @ R @ y) + 3 * (R * R).sum() * (y @ y) + 6 * (R @ y) @ (R @ y)
        + 4 * c @ along**3 - 12 * c @ (along * np.einsum("ia,ab,ib->i", W, R, W)) + 4 * c @ G**3 @ c
    )  # fmt: skip
    return float(np.sqrt(max(square, 0.0)) / (n * (n - 1) * (n - 2)))


@brief
@given(seeds, st.integers(1, 5))
def test_multiplicities_make_coordinates_isometric(seed, k):
    random = np.random.default_rng(seed)
    triple = contributions.third_moment(np.ones((D, k))).weights
    coordinates = random.standard_normal(len(triple))
    assert triple @ coordinates**2 == pytest.approx((unpack(coordinates, k) ** 2).sum())
    assert triple.sum() == k**3
    pair = contributions.core(np.ones(D), np.ones((D, k))).weights
    coordinates = random.standard_normal(len(pair))
    assert pair @ coordinates**2 == pytest.approx((unpack_matrix(coordinates, k) ** 2).sum())
    assert pair.sum() == k**2


def test_shapes_and_replacement_factors_are_those_of_the_table():
    f = every_kind(0)
    assert {kind: c.shape for kind, c in f.items()} == {
        "first": (D, 1), "second": (D, 3), "core": (1, 6), "third": (1, 10), "expected": (D, 3),
    }  # fmt: skip
    nonnegative = {kind for kind, c in f.items() if c.replace_factor == np.sqrt(2.0)}
    assert nonnegative == {"first", "expected"}
    assert all(f[kind].replace_factor == 2.0 for kind in ("second", "core", "third"))
