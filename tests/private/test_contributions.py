"""Every contribution against a brute force over ordered tuples of distinct tokens."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import given
from hypothesis import strategies as st
from tiny_units import as_document, contribution_of, lattice_sum, make_units, norms, pack_offsets

from dplda.private import statistics
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.lda_moments import unpack, unpack_matrix, unpack_offsets

D = 5
FLOAT32: dict[str, Any] = {
    "rtol": 2e-5,
    "atol": 2e-4,
}  # the kernels' numbers; the largest here is about 100, and some cancel

documents = st.lists(st.integers(0, D - 1), min_size=3, max_size=7).map(lambda tokens: np.bincount(tokens, minlength=D))
seeds = st.integers(0, 2**32 - 1)


def parameters(seed: int, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.uniform(0.2, 4.0, D), random.standard_normal((D, columns))


def tokens_of(counts: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(counts)), counts)


def average_over_tuples(counts: np.ndarray, scale: np.ndarray, order: int) -> np.ndarray:
    """Mean of s_i e_i x s_j e_j x ... over ordered tuples of `order` distinct tokens, (len(scale), ...)."""
    total = np.zeros((len(scale),) * order)
    tuples = list(itertools.permutations(tokens_of(counts), order))
    for words in tuples:
        total[words] += np.prod(scale[list(words)])
    return total / len(tuples)


@given(documents, seeds)
def test_first_moment_is_the_average_token(counts, seed):
    scale, _ = parameters(seed)
    found = contribution_of(statistics.first_moment(scale), as_document(counts))
    np.testing.assert_allclose(found[:, 0], average_over_tuples(counts, scale, 1), **FLOAT32)


@given(st.integers(1, 7), st.data(), seeds)
def test_second_moment_is_the_average_pair(d, data, seed):
    counts = np.bincount(data.draw(st.lists(st.integers(0, d - 1), min_size=3, max_size=7)), minlength=d)
    scale = np.random.default_rng(seed).uniform(0.2, 4.0, d)
    f, document, exact = statistics.second_moment(scale), as_document(counts), average_over_tuples(counts, scale, 2)
    np.testing.assert_allclose(unpack_offsets(contribution_of(f, document)), exact, **FLOAT32)
    total, _ = lattice_sum(f, make_units([[document]]), 64.0)
    np.testing.assert_allclose(total * (64.0 / BOUND), pack_offsets(exact), **FLOAT32)


@given(documents, seeds)
def test_second_moment_times_is_the_average_pair_times_the_block(counts, seed):
    scale, X = parameters(seed)
    found = contribution_of(statistics.second_moment_times(scale, X), as_document(counts))
    np.testing.assert_allclose(found, average_over_tuples(counts, scale, 2) @ X, **FLOAT32)


@given(documents, seeds)
def test_core_is_the_average_pair_seen_through_the_block(counts, seed):
    scale, X = parameters(seed)
    found = contribution_of(statistics.core(scale, X), as_document(counts))
    expected = X.T @ average_over_tuples(counts, scale, 2) @ X
    np.testing.assert_allclose(unpack_matrix(found[0], 3), expected, **FLOAT32)


@given(documents, seeds)
def test_third_moment_is_the_average_triple_seen_through_the_whitening(counts, seed):
    scale, W = parameters(seed)
    found = contribution_of(statistics.third_moment(scale[:, None] * W), as_document(counts))
    expected = np.einsum("ijl,ia,jb,lc->abc", average_over_tuples(counts, scale, 3), W, W, W)
    np.testing.assert_allclose(unpack(found[0], 3), expected, **FLOAT32)


@given(documents, seeds)
def test_projected_third_moment_is_the_average_triple_seen_through_the_columns(counts, seed):
    scale, X = parameters(seed)
    Q = np.linalg.qr(X)[0]
    found = contribution_of(statistics.projected_third_moment(scale, Q), as_document(counts))
    expected = np.einsum("ijl,ia,jb,lc->abc", average_over_tuples(counts, scale, 3), Q, Q, Q)
    np.testing.assert_allclose(unpack(found[0], 3), expected, **FLOAT32)


@given(documents, seeds, st.sampled_from([(1, 1), (3, 2), (2, 5), (16, 1), (17, 3), (3, 17)]))
def test_third_moment_along_is_the_average_triple_contracted_twice(counts, seed, shape):
    random = np.random.default_rng(seed)
    W, U = random.standard_normal((D, shape[0])), unit_columns(random.standard_normal(shape))
    found = contribution_of(statistics.third_moment_along(W, U), as_document(counts))
    tensor = np.einsum("ijl,ia,jb,lc->abc", average_over_tuples(counts, np.ones(D), 3), W, W, W)
    expected = np.einsum("abc,bu,cu->ua", tensor, U, U)
    atol = 1e-6 * np.abs(W).sum(axis=1).max() ** 3
    np.testing.assert_allclose(found.reshape(shape[::-1]), expected, rtol=2e-5, atol=atol)


def unit_columns(U: np.ndarray) -> np.ndarray:
    return U / np.linalg.norm(U, axis=0)


@given(documents, seeds)
def test_expected_counts_divide_each_word_over_topics(counts, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(D), size=3).T
    found = contribution_of(statistics.expected_counts(weights, 0.2), as_document(counts))
    np.testing.assert_allclose(found.sum(axis=1), counts, **FLOAT32)
    assert (found >= 0).all()


@given(documents, seeds)
def test_a_scale_multiplies_the_rows_of_expected_counts_and_nothing_else(counts, seed):
    scale, X = parameters(seed)
    plain = contribution_of(statistics.expected_counts(np.abs(X), 0.2), as_document(counts))
    scaled = contribution_of(statistics.expected_counts(np.abs(X), 0.2, scale), as_document(counts))
    np.testing.assert_allclose(scaled, scale[:, None] * plain, **FLOAT32)


@given(documents, seeds, st.randoms(use_true_random=False))
@pytest.mark.parametrize(
    "kind", full_after(3, ["first", "dense", "second", "core", "third", "projected", "along", "expected"])
)
def test_split_and_shuffled_entries_of_a_word_change_nothing(kind, counts, seed, shuffler):
    split = [(word, 1) for word in tokens_of(counts).tolist()]
    shuffler.shuffle(split)
    f = every_kind(seed)[kind]
    merged = contribution_of(f, as_document(counts))
    np.testing.assert_allclose(contribution_of(f, split), merged, **FLOAT32)
    assert norms(f, make_units([[split]]))[0] == pytest.approx(
        norms(f, make_units([[as_document(counts)]]))[0], rel=1e-4
    )


def every_kind(seed: int) -> dict[str, statistics.Contribution]:
    scale, X = parameters(seed)
    return {
        "first": statistics.first_moment(scale),
        "dense": statistics.second_moment(scale),
        "second": statistics.second_moment_times(scale, X),
        "core": statistics.core(scale, X),
        "third": statistics.third_moment(X),
        "projected": statistics.projected_third_moment(scale, np.linalg.qr(X)[0]),
        "along": statistics.third_moment_along(X, unit_columns(X[:3, :2])),
        "expected": statistics.expected_counts(np.abs(X) + 1e-3, 0.2),
    }


@given(documents, seeds)
def test_weighted_norms_are_the_closed_forms_of_the_full_arrays(counts, seed):
    scale, X = parameters(seed)
    f = every_kind(seed)
    units = make_units([[as_document(counts)]])
    length = counts.sum()
    for kind, expected in {
        "first": np.sqrt((scale**2 * counts**2).sum()) / length,
        "dense": dense_norm(counts, scale),
        "second": second_norm(counts, scale, X),
        "core": core_norm(counts, scale, X),
        "third": third_norm(counts, X),
        "projected": whole_third_norm(counts, scale),
    }.items():
        assert norms(f[kind], units)[0] == pytest.approx(expected, rel=1e-5, abs=1e-5), kind


def power_sum(c: np.ndarray, s: np.ndarray, a: int, b: int) -> float:
    return float((s**a) @ (c.astype(float) ** b))


def dense_norm(c: np.ndarray, s: np.ndarray) -> float:
    """docs/privacy.md, section 2, (ii)."""
    square = power_sum(c, s, 2, 2) ** 2 - 2 * power_sum(c, s, 4, 3) + power_sum(c, s, 4, 2)
    return float(np.sqrt(max(square, 0.0)) / (c.sum() * (c.sum() - 1)))


def whole_third_norm(c: np.ndarray, s: np.ndarray) -> float:
    """docs/privacy.md, section 2, (v)."""
    n, p22 = float(c.sum()), power_sum(c, s, 2, 2)
    square = (
        p22**3 - 6 * p22 * power_sum(c, s, 4, 3) + 3 * p22 * power_sum(c, s, 4, 2)
        + 10 * power_sum(c, s, 6, 4) - 12 * power_sum(c, s, 6, 3) + 4 * power_sum(c, s, 6, 2)
    )  # fmt: skip
    return float(np.sqrt(max(square, 0.0)) / (n * (n - 1) * (n - 2)))


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


@given(documents, seeds)
def test_the_norm_of_the_whole_third_moment_bounds_every_projection_and_is_that_of_the_array(counts, seed):
    scale, _ = parameters(seed)
    units, whole = make_units([[as_document(counts)]]), average_over_tuples(counts, scale, 3)
    for columns in (1, 3, D):
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((D, columns)))[0]
        asked = norms(statistics.projected_third_moment(scale, Q), units)[0]
        assert asked == pytest.approx(np.linalg.norm(whole), rel=1e-5)
        assert asked >= norms(statistics.third_moment(scale[:, None] * Q), units)[0] * (1 - 1e-5)


@pytest.mark.parametrize("counts", [[1, 1, 1, 1, 1], [1, 2, 1, 3, 1], [2, 1, 5, 9, 1]])
def test_the_norm_of_the_whole_third_moment_keeps_its_digits_where_the_closed_form_cancels(counts):
    """Scales as in PRIVACY rule 11: the word of scale 1e6 occurs once, so its sixth power is not in the norm."""
    c, scale = np.roll(counts, 1 - counts.index(1)), np.array([1.0, 2.0**20, 1.0, 0.5, 2.0])
    s = [Fraction(x) for x in scale.tolist()]
    square = Fraction(0)
    for i, j, k in itertools.product(range(D), repeat=3):
        left = int(c[i]) * int(c[j] - (i == j)) * int(c[k] - (i == k) - (j == k))
        square += (left * s[i] * s[j] * s[k]) ** 2
    n = int(c.sum())
    exact = float(square) ** 0.5 / (n * (n - 1) * (n - 2))
    f = statistics.projected_third_moment(scale, np.eye(D)[:, :1])
    assert norms(f, make_units([[as_document(c)]]))[0] == pytest.approx(exact, rel=1e-12)
    assert whole_third_norm(c, scale) != pytest.approx(exact, rel=1e-3)


@given(seeds, st.integers(1, 5))
def test_multiplicities_make_coordinates_isometric(seed, k):
    random = np.random.default_rng(seed)
    triple = statistics.third_moment(np.ones((D, k))).weights
    coordinates = random.standard_normal(len(triple))
    assert triple @ coordinates**2 == pytest.approx((unpack(coordinates, k) ** 2).sum())
    assert triple.sum() == k**3
    A = random.standard_normal((k, k))
    A = A + A.T
    offsets = statistics.second_moment(np.ones(k)).weights
    assert (pack_offsets(A) ** 2 @ offsets).sum() == pytest.approx((A**2).sum())
    assert (pack_offsets(np.ones((k, k))) @ offsets).sum() == k**2
    pair = statistics.core(np.ones(D), np.ones((D, k))).weights
    coordinates = random.standard_normal(len(pair))
    assert pair @ coordinates**2 == pytest.approx((unpack_matrix(coordinates, k) ** 2).sum())
    assert pair.sum() == k**2


def test_shapes_and_replacement_factors_are_those_of_the_table():
    f = every_kind(0)
    assert {kind: c.shape for kind, c in f.items()} == {
        "first": (D, 1), "dense": (D, 3), "second": (D, 3), "core": (1, 6), "third": (1, 10), "projected": (1, 10),
        "along": (1, 6), "expected": (D, 3),
    }  # fmt: skip
    nonnegative = {kind for kind, c in f.items() if c.statistic.replace_factor == np.sqrt(2.0)}
    assert nonnegative == {"first", "dense", "expected"}
    assert all(f[kind].statistic.replace_factor == 2.0 for kind in ("second", "core", "third", "projected", "along"))
