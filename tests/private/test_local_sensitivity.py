"""T5 and T6: what one unit can move, searched for against the bounds that the noise is scaled to."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from dplda.private import PtrResult, StabilityTest
from dplda.private.propose_test_release import (
    KAPPA,
    ROOT2,
    TopicStability,
    _whitened_tensor,
    decompose,
    decomposition_sensitivity,
    moment_changes,
    spectral_topics,
)
from dplda.private.statistics.exact_moments import ExactMoments
from dplda.private.statistics.lda_moments import pack, population_moments, unpack

FAR = 1e9


def symmetric(T):
    """T with its coordinates a <= b <= c everywhere."""
    return unpack(pack(T), len(T))


def symmetrised(T):
    return sum(T.transpose(p) for p in itertools.permutations(range(3))) / 6


def random_tensor(random, k, kind):
    lengths, U = random.uniform(0.5, 3, k), np.linalg.qr(random.standard_normal((k, k)))[0]
    T = np.einsum("i,ai,bi,ci->abc", lengths, U, U, U)
    noise = symmetric(random.standard_normal((k, k, k)))
    return {"orthogonal": T, "noisy": T + 0.2 * noise, "any": noise}[kind]


def steepest(T, theta):
    """The direction in which the columns of T move fastest."""
    size = len(pack(T))
    moves = []
    for unit in np.eye(size):
        E = 1e-6 * unpack(unit, len(T))
        moves.append((decompose(T + E, theta, FAR).columns - decompose(T - E, theta, FAR).columns).ravel())
    return unpack(np.linalg.svd(np.array(moves).T)[2][0], len(T))


def directions(T, theta, random):
    """Random changes, those that close the least gap or turn its two vectors, and the steepest."""
    values, V = np.linalg.eigh(T @ theta)
    i = int(np.argmin(np.diff(values)))
    v, w = V[:, i], V[:, i + 1]
    closing = [np.multiply.outer(B, theta) for B in (np.outer(v, v) - np.outer(w, w), np.outer(v, w) + np.outer(w, v))]
    found = [symmetric(random.standard_normal(T.shape)), *map(symmetrised, closing), steepest(T, theta)]
    return [E / np.linalg.norm(E) for E in found]


@pytest.mark.parametrize("kind", ["orthogonal", "noisy", "any"])
def test_no_change_of_the_tensor_moves_its_decomposition_beyond_t5(kind):
    random = np.random.default_rng(len(kind))
    worst = {"gap": 0.0, "norm": 0.0, "columns": 0.0}
    for k in (2, 3, 4) * 8:
        T, theta = random_tensor(random, k, kind), random.standard_normal(k)
        theta /= np.linalg.norm(theta)
        before = decompose(T, theta, FAR)
        for E, part, sign in itertools.product(directions(T, theta, random), (1e-3, 0.3, 0.9, 0.99), (1, -1)):
            change = part * before.gap / KAPPA
            after = decompose(T + sign * change * E, theta, FAR)
            bound = decomposition_sensitivity(before.gap, before.norm, change)
            worst["gap"] = max(worst["gap"], abs(after.gap - before.gap) / (KAPPA * change))
            worst["norm"] = max(worst["norm"], abs(after.norm - before.norm) / change)
            worst["columns"] = max(worst["columns"], float(np.linalg.norm(after.columns - before.columns)) / bound)
    assert max(worst.values()) <= 1 + 1e-6
    assert worst["gap"] > 0.9  # the search is near what can be reached
    assert worst["columns"] > 0.1


@pytest.mark.parametrize(("gap", "norm", "change"), [(1.0, 3.0, 0.1), (0.2, 2.0, 0.01), (0.5, 1.0, 0.3)])
def test_t5_is_the_integral_of_its_proof(gap, norm, change):
    def speed(t):
        return change + 2 * (norm + t * change) * change / (gap - KAPPA * t * change)

    assert decomposition_sensitivity(gap, norm, change) == pytest.approx(quad(speed, 0, 1, epsabs=1e-12)[0], rel=1e-9)


positive = st.floats(1e-3, 1e3)


@given(gap=positive, norm=positive, change=positive, more=st.floats(1.0, 10.0))
def test_t5_takes_one_sided_bounds(gap, norm, change, more):
    bound = decomposition_sensitivity(gap, norm, change)
    assert math.isinf(bound) == (KAPPA * change >= gap)
    slack = 1 + 1e-9
    assert decomposition_sensitivity(gap * more, norm, change) <= bound * slack
    assert bound <= decomposition_sensitivity(gap, norm * more, change) * slack
    assert bound <= decomposition_sensitivity(gap, norm, change * more) * slack


@pytest.mark.parametrize("gap", [0.0, -1.0, -math.inf])
def test_without_a_gap_nothing_is_bounded(gap):
    assert math.isinf(decomposition_sensitivity(gap, 1.0, 1e-9))


@given(seed=st.integers(0, 999), largest=st.sampled_from([0.1, 1.0, 10.0]), k=st.integers(1, 4))
def test_cutting_a_tensor_brings_neighbours_no_further_apart(seed, largest, k):
    random = np.random.default_rng(seed)
    K = symmetric(random.standard_normal((k, k, k)))
    size = k * (k + 1) * (k + 2) // 6
    one = random.standard_normal(size) * random.uniform(0, 3)
    other = one + random.standard_normal(size) * random.uniform(0, 3)
    cut = _whitened_tensor(one, K, largest), _whitened_tensor(other, K, largest)
    assert np.linalg.norm(cut[0] - K) <= largest * (1 + 1e-9)
    assert np.linalg.norm(cut[0] - cut[1]) <= np.linalg.norm(unpack(one - other, k)) * (1 + 1e-9)
    if np.linalg.norm(unpack(one, k)) <= largest:
        np.testing.assert_allclose(cut[0], unpack(one, k) + K)


def test_the_decomposition_of_an_orthogonal_tensor_is_its_topics():
    random = np.random.default_rng(4)
    U = np.linalg.qr(random.standard_normal((3, 3)))[0]
    lengths, theta = np.array([2.0, 1.5, 1.0]), U @ np.array([0.7, 0.6, 0.4])
    found = decompose(np.einsum("i,ai,bi,ci->abc", lengths, U, U, U), 5 * theta, FAR)
    np.testing.assert_allclose(found.columns, U * lengths, atol=1e-12)
    assert found.gap == pytest.approx(np.min(-np.diff([1.4, 0.9, 0.4])) / np.linalg.norm(theta))
    assert found.norm == pytest.approx(2.0)


def random_pair(random, sign):
    """(M, B, k): M with k eigenvalues apart from others around `sign`, B near a sum of k products, and r."""
    d = int(random.integers(3, 6))
    k = int(random.integers(2, min(d, 4)))
    U = np.linalg.qr(random.standard_normal((d, d)))[0]
    values = np.concatenate([random.uniform(0.3, 2, k), sign * random.uniform(0, 0.2, d - k)])
    turn = np.linalg.qr(random.standard_normal((k, k)))[0]
    X = (U[:, :k] * np.sqrt(values[:k])) @ turn
    G = 0.1 * random.standard_normal((d, d))
    return (U * values) @ U.T, (X * random.uniform(0.2, 1.5, k)) @ X.T + G + G.T, k, random.uniform(size=d)


def known(exact, change2, change3):
    """The constants of T6 at the exact values themselves."""
    first, kth, after = exact.eigenvalues
    return TopicStability(
        first=first, least=kth, most=kth, gap=kth - after, norm=exact.norm, change2=change2, change3=change3
    )


def triangle(size, random, function):
    """Steepest direction of `function` over symmetric (size, size) arrays, and a random one; unit Frobenius norm."""
    i, j = np.triu_indices(size)
    basis = np.zeros((len(i), size, size))
    basis[np.arange(len(i)), i, j] = basis[np.arange(len(i)), j, i] = np.where(i == j, 1.0, 1 / ROOT2)
    moves = [(function(1e-6 * E) - function(-1e-6 * E)).ravel() for E in basis]
    best = np.linalg.svd(np.array(moves).T)[2][0]
    some = random.standard_normal(len(i))
    return [np.tensordot(x / np.linalg.norm(x), basis, 1) for x in (best, some)]


@pytest.mark.parametrize("sign", [0.0, 1.0, -1.0, -10.0])
def test_no_change_of_the_moments_moves_the_topics_beyond_t6(sign):
    random = np.random.default_rng(7)
    worst = {"eigenvalues": 0.0, "gap below": 0.0, "gap": 0.0, "topics": 0.0}
    for _ in range(20):
        M, B, k, r = random_pair(random, sign)
        before = spectral_topics(M, B, r, k)
        along2 = triangle(len(M), random, lambda E: spectral_topics(M + E, B, r, k).topics)  # noqa: B023
        along3 = triangle(len(M), random, lambda E: spectral_topics(M, B + E, r, k).topics)  # noqa: B023
        for (E, F), change2, ratio in itertools.product(
            zip([*along2, along2[0]], [*along3, -along3[0]], strict=True), (1e-5, 1e-3, 5e-3), (0.1, 10)
        ):
            bounds = known(before, change2, ratio * change2)
            if not bounds.separated:
                continue
            after = spectral_topics(M + change2 * E, B + ratio * change2 * F, r, k)
            moved, allowed = after.eigenvalues - before.eigenvalues, bounds.sensitivity(before.gap)
            worst["eigenvalues"] = max(worst["eigenvalues"], np.linalg.norm(moved) / change2)
            worst["gap below"] = max(worst["gap below"], abs(moved[1] - moved[2]) / (ROOT2 * change2))
            worst["gap"] = max(worst["gap"], abs(after.gap - before.gap) / bounds.gap_change)
            worst["topics"] = max(worst["topics"], np.linalg.norm(after.topics - before.topics) / allowed)
    assert max(worst.values()) <= 1 + 1e-6
    assert min(worst.values()) > 0.05


parameters = st.fixed_dictionaries(
    {
        "first": st.floats(1.0, 2.0),
        "least": st.floats(0.1, 0.5),
        "most": st.floats(0.5, 1.0),
        "gap": st.floats(0.05, 0.5),
        "norm": st.floats(0.0, 2.0),
        "change2": st.floats(1e-6, 0.05),
        "change3": st.floats(1e-6, 0.05),
    }
)


@given(at=parameters, gap=st.floats(0.1, 10.0), more=st.floats(1.0, 2.0))
def test_t6_takes_one_sided_bounds(at, gap, more):
    bounds = TopicStability(**at)
    if not bounds.separated:
        return
    for name, better in [(name, name in ("least", "gap")) for name in at]:
        worse = replace(bounds, **{name: at[name] / more if better else at[name] * more})
        if worse.separated:
            assert worse.gap_change >= bounds.gap_change * (1 - 1e-9)
            assert worse.sensitivity(gap) >= bounds.sensitivity(gap) * (1 - 1e-9)
    assert bounds.sensitivity(gap * more) <= bounds.sensitivity(gap)
    assert math.isinf(bounds.sensitivity(bounds.gap_change))


def test_spaces_that_a_neighbour_may_mix_are_not_separated():
    bounds = TopicStability(first=1.0, least=0.1, most=0.2, gap=0.1, norm=1.0, change2=0.01, change3=0.01)
    assert bounds.separated
    assert not replace(bounds, least=0.01).separated
    assert not replace(bounds, gap=0.01 * ROOT2).separated


DOCUMENTS = [np.array(c, float) for c in itertools.product(range(4), repeat=3) if sum(c) == 3]
H3 = np.array([0.2, 1.0, 0.5])


def shares(c):
    """m, E2 and E3(., ., h) of one document of three tokens."""
    R, Q = np.diag(c), np.zeros((3, 3, 3))
    np.einsum("iii->i", Q)[:] = c
    E3 = np.einsum("i,j,k->ijk", c, c, c) - 3 * symmetrised(np.einsum("ij,k->ijk", R, c)) + 2 * Q
    return c / 3, (np.outer(c, c) - R) / 6, (E3 / 6) @ H3


@pytest.mark.parametrize("alpha0", [0.1, 1.0, 10.0])
def test_no_neighbouring_corpus_moves_the_moments_beyond_their_bounds(alpha0):
    random, every = np.random.default_rng(1), [shares(c) for c in DOCUMENTS]
    worst = np.zeros(2)

    def moments(counts):
        units = int(counts.sum())
        means = [np.tensordot(counts, np.array(part), 1) / max(units, 1) for part in zip(*every, strict=True)]
        return ExactMoments(units, *means).corrected(alpha0, H3)

    for units in (0, 1, 2, 5, 40):
        counts = random.multinomial(units, random.dirichlet(np.full(len(every), 0.1)))
        base = moments(counts)
        steps = [*np.eye(len(every), dtype=int), *(-np.eye(len(every), dtype=int))]
        steps += [a - b for a in steps[: len(every)] for b in steps[: len(every)]]  # added, removed, replaced
        for step in (s for s in steps if (counts + s).min() >= 0 and s.any()):
            moved = [np.linalg.norm(x - y) for x, y in zip(moments(counts + step), base, strict=True)]
            worst = np.maximum(worst, np.array(moved) / moment_changes(alpha0, max(units, 1)))
    assert worst.max() <= 1 + 1e-9
    assert worst.max() > 0.3


def test_the_topics_of_the_population_moments_are_the_topics():
    alpha, alpha0 = np.array([0.2, 0.3, 0.5]), 1.0
    mu = np.random.default_rng(2).dirichlet(np.ones(6), 3)
    p, h, r = population_moments(mu, alpha), np.linspace(0, 1, 6), np.arange(1.0, 7.0)
    found = spectral_topics(*ExactMoments(1, p.m, p.E2, p.E3 @ h).corrected(alpha0, h), r, 3)
    order = np.argsort(-(mu @ h))
    np.testing.assert_allclose((found.topics / found.topics.sum(axis=0)).T, mu[order], atol=1e-9)
    along = mu[order] @ (r / np.linalg.norm(r))
    np.testing.assert_allclose(alpha0 * (alpha0 + 1) * found.topics.sum(axis=0) / along, alpha[order], rtol=1e-9)


def test_without_k_positive_eigenvalues_gap_and_topics_are_zero():
    for M in (np.zeros((4, 4)), -np.eye(4), np.diag([1.0, 0, 0, 0]), np.diag([1.0, 1e-300, 0, 0])):
        found = spectral_topics(M, np.eye(4), np.ones(4), 2)
        assert found.gap == 0
        assert not found.topics.any()


def test_findings_name_what_was_tested_and_what_it_had_to_exceed():
    tested = PtrResult(
        None,
        0.0,
        (
            StabilityTest("norm at most", 2.0),
            StabilityTest("gap at least", 0.5, 1.0),
        ),
    )
    assert tested.findings == "norm at most 2; gap at least 0.5 (needed: more than 1)"
    assert [test.passed for test in tested.tests] == [True, False]
