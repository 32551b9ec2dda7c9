"""Private methods for matrices of rows: a row moves no sum beyond its _threshold, and no search beyond one."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import LIBRARIES, random_rows
from scipy import sparse, stats

from dplda import papers
from dplda.base.arrays import to_numpy
from dplda.base.errors import InputError
from dplda.budget.accountant import cost, gaussian_budget, gaussian_delta, run_epsilon
from dplda.budget.events import PURE
from dplda.papers import adaptive_power_iteration, analyze_gauss, clipped_power_iteration, random_basis
from dplda.papers.adaptive import (
    _HALVINGS,
    _above_threshold,
    _clip,
    _lengths,
    _scores,
    _tail_counts,
    _threshold,
    unit_rows,
)
from dplda.papers.neighbours import l2_sensitivity

METHODS = [adaptive_power_iteration, clipped_power_iteration]
N, D = 3000, 8


def run(method, A, X, rounds=3, seed=0, epsilon=50.0, **options):
    return method(A, X, rounds, epsilon=epsilon, delta=1e-6, rng=np.random.default_rng(seed), **options)


def first_right(A: np.ndarray) -> np.ndarray:
    return np.linalg.svd(A)[2][0]


@given(st.lists(st.floats(0, 2) | st.integers(0, 45).map(lambda j: 2.0**-j), max_size=30))
def test_tail_counts_are_those_of_comparing_every_score(values):
    size = np.array(values)
    expected = [(size > _threshold(j)).sum() for j in range(_HALVINGS + 1)]
    np.testing.assert_array_equal(_tail_counts(size), expected)
    assert _threshold(_HALVINGS) == 1


@LIBRARIES
def test_long_rows_are_cut_and_short_ones_left_alone(xp):
    A = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    expected = [[0.6, 0.8], [0.3, 0.4], [0, 0]]
    cut, norms = unit_rows(xp.asarray(A))
    np.testing.assert_allclose(to_numpy(cut), expected)
    np.testing.assert_allclose(to_numpy(norms), [1, 0.5, 0])
    cut, norms = unit_rows(sparse.csr_array(A))
    np.testing.assert_allclose(cut.toarray(), expected)
    np.testing.assert_allclose(norms, [1, 0.5, 0])
    short = xp.asarray(A[1:])
    assert unit_rows(short)[0] is short
    twice = sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    np.testing.assert_allclose(unit_rows(twice)[0].toarray(), [[0, 1]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize("kind", [np.uint8, np.int8, bool, np.int64])
def test_squares_of_small_whole_numbers_do_not_overflow(form, kind):
    A = (np.array([[16, 16, 0], [1, 0, 0], [0, 100, 100]])).astype(kind)
    cut, norms = unit_rows(form(A))
    np.testing.assert_allclose(_lengths(cut), 1)
    np.testing.assert_allclose(norms, 1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_whose_squares_are_no_numbers_count_as_zero(form):
    A = np.array([[0.5, 0.0], [1e200, 0.0], [1e308, 1e308]])
    cut, norms = unit_rows(form(A))
    np.testing.assert_array_equal(cut @ np.eye(2), [[0.5, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(norms, [0.5, 1, 1])


def test_scores_are_norms_of_contributions():
    A, X = random_rows(20, D), random_basis(np.random.default_rng(1), D, 3)
    expected = [np.linalg.norm(np.outer(a, a) @ X) for a in A]
    np.testing.assert_allclose(_scores(_lengths(A), A @ X), expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_one_more_row_moves_tails_by_at_most_one_and_all_upwards(seed, p):
    random = np.random.default_rng(seed)
    A, X = random_rows(12, D, seed), random_basis(random, D, p)
    more = np.vstack([A, random.standard_normal((1, D)) * 10.0 ** random.integers(-9, 2)])
    before, after = (_tail_counts(_scores(_lengths(B), B @ X)) for B in (A, unit_rows(more)[0]))
    assert set((after - before).tolist()) <= {0, 1}


def sums(method, A: np.ndarray, X: np.ndarray, monkeypatch: pytest.MonkeyPatch, j: int) -> np.ndarray:
    """What a round sums before noise, at the `j`-th _threshold: noise is turned off, and Y read where it is used."""
    name = method.__module__
    seen: list[np.ndarray] = []
    with monkeypatch.context() as patch:
        patch.setattr(f"{name}.standard_normal", lambda random, shape, like: np.zeros(shape))
        patch.setattr("dplda.learning.power_method.orthonormal", lambda Y, _: seen.append(Y) or X)
        if method is adaptive_power_iteration:
            patch.setattr(f"{name}._above_threshold", lambda *_: j)
        else:
            patch.setattr(f"{name}._clip", lambda *_: _threshold(j))
        run(method, A, X, 1)
    return seen[-1]


@pytest.mark.parametrize("method", [*METHODS, analyze_gauss])
def test_long_rows_are_cut_before_anything_is_asked(method):
    A, last = 3 * random_rows(200, D), {"k": 2} if method is analyze_gauss else {"X": np.eye(D)[:, :2], "rounds": 2}
    cut = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1)
    assert not np.allclose(A, cut)
    found = [
        method(B, **last, epsilon=1.0, delta=1e-6, rng=np.random.default_rng(0)).values
        for B in (A, sparse.csr_array(A), cut)
    ]
    np.testing.assert_allclose(found[0], found[2])
    np.testing.assert_allclose(found[1], found[2])


class Ones:
    """In place of random numbers: one standard deviation."""

    def standard_normal(self, shape):
        return np.ones(shape)


@pytest.mark.parametrize(("neighbours", "changes", "bins"), [("row", 1.0, 1.0), ("replaced-row", 2.0, math.sqrt(2))])
def test_searches_and_sums_get_the_noise_that_their_events_state(neighbours, changes, bins, monkeypatch):
    """Scores of every round are those at its own iterate, and noise stands alone where there are no rows."""
    asked, summed, iterates = [], [], [random_basis(np.random.default_rng(i), D, 2) for i in range(3)]

    def orthonormal(Y, _):
        summed.append(Y)
        return iterates[len(summed) - 1]

    def search(*arguments):
        asked.append(arguments)
        return _HALVINGS - 2 - len(asked)

    monkeypatch.setattr("dplda.learning.power_method.orthonormal", orthonormal)
    monkeypatch.setattr("dplda.papers.adaptive._above_threshold", search)
    monkeypatch.setattr("dplda.papers.adaptive._clip", lambda *arguments: asked.append(arguments) or 0.125)
    options = {"epsilon": 1.0, "delta": 1e-6, "rng": Ones(), "neighbours": neighbours}

    none, A = np.zeros((0, D)), random_rows(50, D)
    events = adaptive_power_iteration(none, iterates[0], 2, beta=0.1, **options).events
    assert [arguments[1:3] for arguments in asked] == [(events[0].epsilon, 0.1)] * 2
    for j, noise in zip((_HALVINGS - 3, _HALVINGS - 4), summed[1:], strict=True):
        np.testing.assert_allclose(noise, changes * _threshold(j) * events[1].noise_multiplier)
    asked.clear(), summed.clear()
    adaptive_power_iteration(A, iterates[0], 2, **options)
    for X, arguments in zip(iterates[:2], asked, strict=True):
        np.testing.assert_array_equal(arguments[0], _tail_counts(_scores(_lengths(A), A @ X)))

    asked.clear(), summed.clear()
    events = clipped_power_iteration(none, iterates[0], 2, beyond=0.3, **options).events
    assert [arguments[1:3] for arguments in asked] == [(0.3, bins * events[0].noise_multiplier)]
    np.testing.assert_allclose(summed[1:], changes * 0.125 * events[1].noise_multiplier)
    asked.clear(), summed.clear()
    clipped_power_iteration(A, 3 * iterates[0], 2, **options)  # scores are those at an orthonormal start
    np.testing.assert_allclose(asked[0][0], _scores(_lengths(A), A @ iterates[0]))


class Given:
    """In place of random numbers: those given."""

    def __init__(self, values):
        self.values = values

    def standard_normal(self, count):
        return self.values[:count]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.99), st.sampled_from([0.0, 3.0]))
def test_the_clip_is_the_least_threshold_that_few_scores_exceed_by_noisy_counts_of_bins(seed, beyond, std):
    random = np.random.default_rng(seed)
    size, noise = 2.0 ** -random.uniform(0, 12, 40), random.standard_normal(_HALVINGS + 2)
    edges = [-1.0, *(_threshold(j) for j in range(_HALVINGS + 1)), np.inf]
    counts = [
        ((low < size) & (size <= high)).sum() + std * noise[i]
        for i, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    passed = [j for j in range(_HALVINGS + 1) if sum(counts[j + 1 :]) <= beyond * sum(counts)]
    assert _clip(size, beyond, std, Given(noise)) == _threshold(min(passed, default=_HALVINGS))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("p", full_after(1, [3, 1]))
def test_a_row_moves_a_sum_by_at_most_the_threshold(method, p, monkeypatch):
    random, worst, worst_pair = np.random.default_rng(0), 0.0, 0.0
    A, j = random_rows(30, D), _HALVINGS - 3
    X = random_basis(random, D, p)
    base = sums(method, A, X, monkeypatch, j)
    moves = []
    for _ in range(300):
        a = random.standard_normal(D) + 3 * X[:, 0] * random.integers(0, 2)
        a *= random.uniform(0, 1.5) / np.linalg.norm(a)
        moves.append(sums(method, np.vstack([A, a]), X, monkeypatch, j) - base)
    moves.append(-moves[int(np.argmax([np.linalg.norm(move) for move in moves]))])
    worst = max(float(np.linalg.norm(move)) for move in moves)
    worst_pair = max(float(np.linalg.norm(move - other)) for move in moves for other in moves)
    assert 0.9 * _threshold(j) < worst <= _threshold(j) * (1 + 1e-9)
    assert worst_pair <= 2 * _threshold(j) * (1 + 1e-9)


def test_a_row_at_the_threshold_does_not_exceed_it(monkeypatch):
    A, X = np.eye(D)[:1] / 2, np.eye(D)[:, :1]
    assert _tail_counts(_scores(_lengths(A), A @ X))[_HALVINGS - 2] == 0
    np.testing.assert_array_equal(sums(adaptive_power_iteration, A, X, monkeypatch, _HALVINGS - 2), X / 4)


def test_without_noise_the_filtered_sum_is_applied_once(monkeypatch):
    A, X = random_rows(200, D), random_basis(np.random.default_rng(1), D, 1)
    j = _HALVINGS - 4
    kept = [a for a in A if np.linalg.norm(a) * abs(a @ X[:, 0]) <= _threshold(j)]
    assert 0 < len(kept) < 200
    expected = sum(np.outer(a, a) for a in kept) @ X
    np.testing.assert_allclose(sums(adaptive_power_iteration, A, X, monkeypatch, j), expected)
    factors = [min(1, _threshold(j) / (np.linalg.norm(a) * abs(a @ X[:, 0]))) for a in A]
    expected = sum(f * np.outer(a, a) for f, a in zip(factors, A, strict=True)) @ X
    np.testing.assert_allclose(sums(clipped_power_iteration, A, X, monkeypatch, j), expected)


def test_the_search_is_pure_as_claimed():
    """A row moves the first tails by one; exact odds of where the search stops then differ by at most epsilon."""
    epsilon, tails = 0.8, np.array([30] * 40 + [0])
    losses = []
    for moved in (1, 20, 40, 41):
        more = tails + (np.arange(len(tails)) < moved)
        odds, other = search_odds(tails, epsilon), search_odds(more, epsilon)
        likely = np.minimum(odds, other) > 1e-6
        losses.append(np.abs(np.log(odds[likely] / other[likely])).max())
    assert max(losses) <= epsilon * (1 + 1e-6)
    assert max(losses) > 0.99 * epsilon


def test_the_search_stops_with_the_odds_that_its_proof_is_about():
    epsilon, tails, random = 0.8, np.array([30, 33, 28, 23, 15]), np.random.default_rng(0)
    drawn = [_above_threshold(tails, epsilon, 0.05, random) for _ in range(20_000)]
    counts = np.bincount([min(j, len(tails)) for j in drawn], minlength=len(tails) + 1)
    odds = search_odds(tails, epsilon)
    assert odds.min() > 0.002
    assert stats.chisquare(counts, odds * 20_000).pvalue > 1e-3


def search_odds(tails: np.ndarray, epsilon: float) -> np.ndarray:
    """Odds of the first _threshold at each of `tails` and, last, at none, by integrating over the threshold's noise."""
    grid = np.linspace(-100, 100, 20_001)
    law = stats.laplace(scale=2 / epsilon)
    allowed = 4 / epsilon * math.log((len(tails) + 1) / 0.05) + grid
    stops = np.vstack([law.cdf(allowed - tails[:, None]), np.ones_like(grid)])
    goes = np.cumprod(np.vstack([np.ones_like(grid), 1 - stops[:-1]]), axis=0)
    odds = np.sum(stops * goes * law.pdf(grid), axis=1)
    return odds / odds.sum()


def test_the_search_stops_in_time_and_leaves_out_few():
    epsilon, beta = 0.5, 0.1
    tails = np.maximum(1000 >> np.arange(_HALVINGS + 1), 0)
    late = few = 0
    for seed in range(1000):
        j = _above_threshold(tails, epsilon, beta, np.random.default_rng(seed))
        late += tails[max(j - 1, 0)] == 0 and j > 0
        few += tails[j] <= 8 * math.log((_HALVINGS + 2) / beta) / epsilon
    assert late <= beta * 1000
    assert few >= (1 - beta) * 1000


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("method", METHODS)
def test_events_add_up_to_at_most_what_was_asked(method, epsilon):
    events = run(method, random_rows(50, D), np.eye(D)[:, :1], 7, epsilon=epsilon).events
    assert run_epsilon(events, 1e-6) <= epsilon
    assert cost(events).mu_squared == pytest.approx(gaussian_budget(epsilon, 1e-6) ** 2)
    search, step = events
    assert step.count == 7
    assert (search.mechanism == PURE) == (method is adaptive_power_iteration)
    assert search.count == (7 if search.mechanism == PURE else 1)


@LIBRARIES
@pytest.mark.parametrize("method", METHODS)
def test_the_leading_direction_is_found_alike_in_every_library_and_from_sparse_rows(method, xp):
    A, X = random_rows(N, D), random_basis(np.random.default_rng(1), D, 1)
    found = run(method, xp.asarray(A), xp.asarray(X), 10)
    x = to_numpy(found.components)[:, 0]
    assert 1 - (x @ first_right(A)) ** 2 < 1e-3
    assert found.iterations == len(found.residuals) == 10
    np.testing.assert_allclose(run(method, sparse.csr_matrix(A), X, 10).components[:, 0], x, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_block_finds_the_leading_subspace(method):
    random = np.random.default_rng(0)
    A = random.standard_normal((N, D)) * np.array([3.0, 2.5, 2.0] + [0.5] * (D - 3))
    A /= np.linalg.norm(A, axis=1).max()
    X = run(method, A, random_basis(random, D, 3), 6).components
    V = np.linalg.svd(A)[2][:3].T
    assert np.linalg.norm(V - X @ (X.T @ V), 2) < 0.05


@pytest.mark.parametrize("method", METHODS)
def test_a_replaced_row_costs_twice_the_noise(method, monkeypatch):
    A, X, drawn = random_rows(N, D), np.eye(D)[:, :1], []
    monkeypatch.setattr("dplda.learning.power_method.orthonormal", lambda Y, _: drawn.append(Y) or X)

    def noise(neighbours: str) -> np.ndarray:
        drawn.clear()
        with monkeypatch.context() as patch:
            run(method, A, X, 1, neighbours=neighbours)
            patch.setattr(f"{method.__module__}.standard_normal", lambda random, shape, like: np.zeros(shape))
            run(method, A, X, 1, neighbours=neighbours)
        return drawn[1] - drawn[3]

    np.testing.assert_allclose(noise("replaced-row"), 2 * noise("row"), rtol=1e-6)


@LIBRARIES
def test_analyze_gauss_without_much_noise_is_the_eigendecomposition(xp):
    A = random_rows(N, D)
    found = analyze_gauss(xp.asarray(A), 3, epsilon=90.0, delta=1e-3, rng=np.random.default_rng(0))
    values = np.linalg.eigvalsh(A.T @ A)[::-1][:3]
    np.testing.assert_allclose(to_numpy(found.values), values, rtol=0.02)
    assert abs(to_numpy(found.components)[:, 0] @ first_right(A)) > 0.999
    assert (found.iterations, found.residuals) == (0, ())
    alike = analyze_gauss(sparse.csr_array(A), 3, epsilon=90.0, delta=1e-3, rng=np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(alike.components.T @ to_numpy(found.components)), np.eye(3), atol=1e-6)


def test_analyze_gauss_errs_by_the_angle_that_is_stated():
    A = np.diag([1.0, *[0.5] * 39]).repeat(400, axis=0)
    found = [
        analyze_gauss(A, 1, epsilon=2.0, delta=1e-6, rng=random) for random in map(np.random.default_rng, range(40))
    ]
    sines = [np.linalg.norm(one.components[1:, 0]) for one in found]
    expected = math.sqrt(40 / 2) * found[0].events[0].noise_multiplier / (400 * 0.75)
    assert np.mean(sines) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("neighbours", "change"), [("row", 1.0), ("replaced-row", math.sqrt(2))])
def test_analyze_gauss_adds_isotropic_symmetric_noise(neighbours, change):
    """With no rows the covariance is noise alone; its eigenvalues give it back."""
    random, squares, rest = np.random.default_rng(0), [], []
    for _ in range(500):
        found = analyze_gauss(np.zeros((0, 4)), 4, epsilon=1.0, delta=1e-5, rng=random, neighbours=neighbours)
        E = (found.components * found.values) @ found.components.T
        squares.append(np.diag(E))
        rest.append(E[np.triu_indices(4, 1)])
    std = change * found.events[0].noise_multiplier
    assert stats.kstest(np.ravel(squares) / std, "norm").pvalue > 1e-3
    assert stats.kstest(np.ravel(rest) / std * math.sqrt(2), "norm").pvalue > 1e-3
    assert 0.98e-5 <= gaussian_delta(1 / found.events[0].noise_multiplier, 1.0) <= 1e-5


def test_covariances_of_neighbours_differ_by_what_noise_is_scaled_to():
    """Of one coordinate, of two and of more: the sensitivities that `analyze_gauss` takes are reached."""
    random = np.random.default_rng(0)
    for d in (1, 2, D):
        a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in random.standard_normal((2, 500, d)))
        a[0], b[0] = np.eye(d)[0], np.eye(d)[1] if d > 1 else 0
        one, other = (np.einsum("ni,nj->nij", rows, rows) for rows in (a, b))
        assert np.linalg.norm(one, axis=(1, 2)).max() == pytest.approx(l2_sensitivity(np.eye(d), "row"))
        most = np.linalg.norm(one - other, axis=(1, 2)).max()
        assert most == pytest.approx(l2_sensitivity(np.eye(d), "replaced-row"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"neighbours": "entry"}, "neighbours"),
        ({"A": np.full((4, D), np.nan)}, "finite"),
        ({"A": sparse.csr_array(np.full((4, D), np.inf))}, "finite"),
        ({"A": np.ones(D)}, r"\(n, d\)"),
    ],
)
def test_wrong_arguments_are_refused(wrong, message):
    good = {"epsilon": 1.0, "delta": 1e-6, "rng": np.random.default_rng(0), "neighbours": "row"}
    arguments = {**good, "A": np.ones((4, D)), **wrong}
    for method in METHODS:
        with pytest.raises(InputError, match=message):
            method(X=np.eye(D)[:, :1], rounds=2, **arguments)
    with pytest.raises(InputError, match=message):
        analyze_gauss(k=2, **arguments)


def test_wrong_shares_columns_and_ranks_are_refused():
    A, X, random = np.ones((4, D)), np.eye(D)[:, :1], np.random.default_rng(0)
    for method, name in ((adaptive_power_iteration, "search_share"), (clipped_power_iteration, "beyond")):
        with pytest.raises(InputError, match=name):
            run(method, A, X, **{name: 1.0})
        with pytest.raises(InputError, match="as many rows"):
            run(method, A, X[1:])
        with pytest.raises(InputError, match="rounds"):
            run(method, A, X, 0)
    for k in (0, D + 1, 2.0):
        with pytest.raises(InputError, match="k must be"):
            analyze_gauss(A, k, epsilon=1.0, delta=1e-6, rng=random)


def test_the_page_of_the_papers_names_functions_that_exist(pytestconfig):
    page = (pytestconfig.rootpath / "docs" / "papers.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`papers\.(\w+)`", page))
    assert named <= set(papers.__all__)
    assert {name for name in papers.__all__ if name.islower()} - named == {"random_basis"}
