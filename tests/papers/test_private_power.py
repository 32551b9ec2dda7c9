"""Private power methods: their noise covers every neighbour, has its exact law, and adds up to what was asked."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import LIBRARIES, outside, planted
from scipy import sparse, stats

from dplda.base.arrays import to_numpy
from dplda.base.errors import InputError
from dplda.budget.accountant import gaussian_delta, run_epsilon
from dplda.budget.events import GAUSSIAN, PURE
from dplda.papers import noisy_power_method, private_low_rank, private_power_method, random_basis
from dplda.papers.neighbours import ENTRY, NEIGHBOURS, REPLACED_ROW, ROW, SPECTRAL, l1_sensitivity, l2_sensitivity

D, P, ROUNDS = 9, 3, 4


def basis(seed: int, d: int = D, p: int = P) -> np.ndarray:
    return random_basis(np.random.default_rng(seed), d, p)


def entry_changes(d: int) -> list[np.ndarray]:
    """All changes of one entry and its mirror image by 1."""
    changes = []
    for i, j in itertools.combinations_with_replacement(range(d), 2):
        change = np.zeros((d, d))
        change[i, j] = change[j, i] = 1
        changes.append(change)
    return changes


def norms(X: np.ndarray, changes: list[np.ndarray]) -> tuple[float, float]:
    """Largest l2 and l1 norms of the changes of A X."""
    moved = [change @ X for change in changes]
    return max(float(np.linalg.norm(Y)) for Y in moved), max(float(np.abs(Y).sum()) for Y in moved)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 4))
def test_entry_sensitivities_are_the_largest_changes_over_all_entries(seed, d, p):
    X = basis(seed, d, min(p, d))
    l2, l1 = norms(X, entry_changes(d))
    assert l2_sensitivity(X, ENTRY) == pytest.approx(l2)
    assert l1_sensitivity(X, ENTRY) == pytest.approx(l1)
    assert l2 <= l2_sensitivity(X, ENTRY, by_largest_entry=True) * (1 + 1e-12)
    assert l1 <= l1_sensitivity(X, ENTRY, by_largest_entry=True) * (1 + 1e-12)
    largest, columns = np.abs(X).max(), X.shape[1]
    assert l2_sensitivity(X, ENTRY, by_largest_entry=True) == pytest.approx(math.sqrt(2 * columns) * largest)
    assert l1_sensitivity(X, ENTRY, by_largest_entry=True) == pytest.approx(2 * columns * largest)


def test_the_paper_counts_one_entry_of_a_symmetric_pair():
    X = basis(0, 8, 1)
    X = np.full_like(X, 1 / math.sqrt(8))
    l2, _ = norms(X, entry_changes(8))
    assert l2 == pytest.approx(math.sqrt(2) * np.abs(X).max())
    assert l2_sensitivity(X, ENTRY, by_largest_entry=True) == pytest.approx(l2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_spectral_and_row_changes_stay_below_their_sensitivities(seed, p):
    random, X = np.random.default_rng(seed), basis(seed, D, p)
    S = random.standard_normal((D, D))
    S = (S + S.T) / np.linalg.norm(S + S.T, 2)
    a, b = (v / np.linalg.norm(v) for v in random.standard_normal((2, D)))
    for neighbours, change in ((SPECTRAL, S), (ROW, np.outer(a, a)), (REPLACED_ROW, np.outer(a, a) - np.outer(b, b))):
        l2, l1 = norms(X, [change])
        assert l2 <= l2_sensitivity(X, neighbours) * (1 + 1e-12)
        assert l1 <= l1_sensitivity(X, neighbours) * (1 + 1e-12)


def test_spectral_and_row_sensitivities_are_attained():
    X = basis(1)
    assert norms(X, [np.eye(D)])[0] == pytest.approx(l2_sensitivity(X, SPECTRAL))
    assert norms(X, [np.outer(X[:, 0], X[:, 0])])[0] == pytest.approx(l2_sensitivity(X, ROW))
    swap = np.outer(X[:, 0], X[:, 0]) - np.outer(X[:, 1], X[:, 1])
    for columns in (X, X[:, :1]):
        assert norms(columns, [swap])[0] == pytest.approx(l2_sensitivity(columns, REPLACED_ROW))
    flat = np.array([[1, 1], [1, -1], [1, 1], [1, -1]]) / 2  # orthonormal, all entries equal in size
    assert norms(flat, [np.eye(4)])[1] == pytest.approx(l1_sensitivity(flat, SPECTRAL))
    swap = np.outer(flat[:, 0], flat[:, 0]) - np.outer(flat[:, 1], flat[:, 1])
    assert norms(flat, [swap])[1] == pytest.approx(l1_sensitivity(flat, REPLACED_ROW))
    assert norms(flat[:, :1], [swap])[1] == pytest.approx(l1_sensitivity(flat[:, :1], REPLACED_ROW))
    assert norms(flat[:, :1], [swap])[1] == pytest.approx(l1_sensitivity(flat[:, :1], ROW))


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_events_add_up_to_at_most_what_was_asked(neighbours, delta, epsilon):
    found = private_power_method(
        np.eye(D),
        basis(0),
        ROUNDS,
        epsilon=epsilon,
        delta=delta,
        rng=np.random.default_rng(0),
        neighbours=neighbours,
    )
    (event,) = found.events
    assert event.count == ROUNDS
    if delta:
        assert event.mechanism == GAUSSIAN
        mu = math.sqrt(ROUNDS) / event.noise_multiplier
        assert 0.98 * delta <= gaussian_delta(mu, epsilon) <= delta
    else:
        assert event.mechanism == PURE
        assert event.epsilon * ROUNDS == pytest.approx(epsilon)
    assert run_epsilon(found.events, delta or 1e-9) <= epsilon


@pytest.mark.parametrize(("delta", "law"), [(1e-5, "norm"), (0.0, "laplace")])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_noise_has_its_law_and_scale(neighbours, delta, law, monkeypatch):
    seen = []

    def spy(A, X, rounds, *, noise):
        for _ in range(400):
            seen.append((X, noise(X)))
        return noisy_power_method(A, X, rounds, noise=noise)

    monkeypatch.setattr("dplda.papers.low_rank.noisy_power_method", spy)
    X = basis(3)
    arguments = {"epsilon": 1.0, "delta": delta, "rng": np.random.default_rng(5), "neighbours": neighbours}
    (event,) = private_power_method(np.eye(D), X, ROUNDS, change=0.5, **arguments).events
    draws = np.concatenate([noise.ravel() for _, noise in seen])
    if delta:
        scale = 0.5 * event.noise_multiplier * l2_sensitivity(X, neighbours)
    else:
        scale = 0.5 / event.epsilon * l1_sensitivity(X, neighbours)
    assert stats.kstest(draws / scale, law).pvalue > 1e-3
    assert stats.kstest(draws / (1.05 * scale), law).pvalue < 0.05


class Ones:
    """In place of random numbers: one standard deviation, or the scale."""

    def standard_normal(self, shape):
        return np.ones(shape)

    def laplace(self, scale, size):
        return np.full(size, scale)


@pytest.mark.parametrize("by_largest_entry", [False, True])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("delta", [1e-5, 0.0])
@pytest.mark.parametrize("method", [private_power_method, private_low_rank])
def test_noise_goes_by_the_iterate_that_it_is_added_at(method, delta, neighbours, by_largest_entry, monkeypatch):
    """Products are zero, so that noise alone is orthogonalised; the iterates are ours, from flat to spiked."""
    flat = np.linalg.qr(np.cos(np.outer(np.arange(D) + 0.5, np.arange(1, P + 1)) * np.pi / D))[0]
    iterates, seen = [flat, basis(1), np.eye(D)[:, :P], flat], []

    def orthonormal(Y, _):
        seen.append(Y)
        return iterates[len(seen) - 1]

    monkeypatch.setattr("dplda.learning.power_method.orthonormal", orthonormal)
    found = method(
        np.zeros((D, D)), flat, 3, epsilon=1.0, delta=delta, rng=Ones(), neighbours=neighbours,
        by_largest_entry=by_largest_entry,
    )  # fmt: skip
    (event,) = found.events
    noises = seen[1:] if method is private_power_method else [*seen[1:], found.right]
    sensitivity = l2_sensitivity if delta else l1_sensitivity
    for X, noise in zip(iterates, noises, strict=method is private_low_rank):
        scale = sensitivity(X, neighbours, by_largest_entry=by_largest_entry)
        np.testing.assert_allclose(noise, scale * (event.noise_multiplier if delta else 1 / event.epsilon))


@LIBRARIES
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_much_epsilon_finds_the_subspace_in_every_library_with_the_same_draws(xp, delta):
    A, V = planted([90.0, 80.0], D, 0.5)

    def run(library):
        random = np.random.default_rng(0)
        return private_power_method(
            library.asarray(A), library.asarray(basis(0)), 5, epsilon=90.0, delta=delta, rng=random
        )

    X = to_numpy(run(xp).components)
    np.testing.assert_allclose(X, run(np).components, atol=1e-9)
    assert outside(X, V) < 0.05


def test_scaling_by_rows_has_less_noise_than_by_the_largest_entry():
    X = basis(4, 60, 6)
    assert l2_sensitivity(X, ENTRY) < 0.8 * l2_sensitivity(X, ENTRY, by_largest_entry=True)


@LIBRARIES
def test_low_rank_is_the_noisy_projection_and_is_charged_for_one_more_question(xp):
    A, V = planted([90.0, 80.0], D, 0.5)
    arguments = {"epsilon": 20.0, "delta": 1e-6}
    found = private_low_rank(xp.asarray(A), xp.asarray(basis(0, D, 4)), 5, rng=np.random.default_rng(1), **arguments)
    (event,) = found.events
    assert event.count == 6
    assert found.subspace.events == found.events
    assert gaussian_delta(math.sqrt(6) / event.noise_multiplier, 20.0) <= 1e-6
    left, right, B = map(to_numpy, (found.left, found.right, found.matrix))
    np.testing.assert_allclose(B, left @ right.T)
    assert np.linalg.matrix_rank(B) == 4
    noise = right - A @ left
    std = event.noise_multiplier * l2_sensitivity(left, ENTRY)
    assert 0.5 * std < noise.std() < 1.5 * std
    assert np.linalg.norm(A - B, 2) <= 0.5 + outside(left, V) * 90 + np.linalg.norm(noise, 2)
    assert np.linalg.norm(A - B, 2) < 60


def test_a_sparse_matrix_and_a_callable_serve_as_well():
    A, _ = planted([9.0, 8.0], D, 0.5)
    runs = [
        private_low_rank(form, basis(0), 3, epsilon=1.0, delta=1e-6, rng=np.random.default_rng(2)).matrix
        for form in (A, sparse.csr_array(A), lambda X: A @ X)
    ]
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-8)
    np.testing.assert_allclose(runs[2], runs[0], atol=1e-8)


def test_the_last_product_of_a_callable_is_looked_at_too():
    calls = itertools.count()
    with pytest.raises(InputError, match="A X must be finite"):
        private_low_rank(
            lambda X: X * (np.nan if next(calls) == 3 else 1.0),
            basis(0),
            3,
            epsilon=1.0,
            delta=1e-6,
            rng=np.random.default_rng(0),
        )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": -1.0, "delta": 0.0}, "epsilon"),
        ({"epsilon": math.inf, "delta": 0.0}, "epsilon"),
        ({"delta": -1e-6}, "delta"),
        ({"delta": 0.5}, "delta"),
        ({"neighbours": "column"}, "neighbours"),
        ({"change": 0.0}, "change"),
        ({"change": math.inf}, "change"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 2.5}, "rounds"),
        ({"A": np.triu(np.ones((D, D)))}, "symmetric"),
        ({"A": np.full((D, D), np.nan)}, "finite"),
        ({"X": np.ones((2, D))}, "1 <= p <= d"),
    ],
)
@pytest.mark.parametrize("method", [private_power_method, private_low_rank])
def test_wrong_arguments_are_refused(method, wrong, message):
    good = {"A": np.eye(D), "X": basis(0), "rounds": 2, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(InputError, match=message):
        method(**{**good, **wrong}, rng=np.random.default_rng(0))
