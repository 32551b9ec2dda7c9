"""Printed sensitivities and noise: their worked figures, where they are exceeded, and how a budget is shared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import laplace, norm

from dplda.base.errors import InputError
from dplda.learning.placements import published as published_noise
from dplda.learning.placements.published import EDGES, Quantities, _gaussian_scale, edge_budgets, edge_noise
from dplda.private.statistics.lda_moments import pairings

Q = Quantities(
    documents=2e4, words=100, topics=4, alpha0=1.0, sigma_1=0.4, sigma_k=0.2, tensor_1=2.0, gamma_s=0.3
)  # above every floor


def true_delta(multiplier: float, epsilon: float) -> float:
    mu = 1 / multiplier
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def test_theorem_4_at_alpha0_1():
    """a = 1/2, b = -1/3, c3 = 1/3: 2 + 2 and, for many documents, 2 + 4/3 + 2."""
    assert published_noise.delta_2(100, 1.0) == pytest.approx(0.04)
    assert published_noise.delta_3(1e9, 1.0) * 1e9 == pytest.approx(2 + 4 / 3 + 2, rel=1e-6)
    assert published_noise.m3_norm(1e9, 1.0) == pytest.approx(1 + 2 + 1, rel=1e-6)


def test_one_document_moves_m3_by_more_than_theorem_4_prints():
    """Erratum of (96): word 0 three times in every document but one, which has word 1 or word 2 three times."""
    N, alpha0 = 200, 0.1
    _, b, c3 = published_noise.coefficients(alpha0)

    def third_moment(other: int) -> np.ndarray:
        m = np.zeros(3)
        m[[0, other]] = (N - 1) / N, 1 / N
        E3 = np.zeros((3, 3, 3))
        E3[(np.arange(3),) * 3] = m
        return E3 + b * pairings(np.diag(m), m) + c3 * np.einsum("a,b,c->abc", m, m, m)

    assert np.abs(third_moment(1) - third_moment(2)).sum() > published_noise.delta_3(N, alpha0)


def test_theorem_5_at_the_spectrum_of_the_erratum():
    """Documents of one word each, 101, 100 and 10 of a kind, alpha0 near 0: 8.49e-2 (docs/papers.md, errata)."""
    q = replace(Q, documents=211, topics=2, alpha0=1e-9, sigma_k=100 / 211)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published_noise, "_FLOOR", 0.0)
        assert published_noise._delta_whitened(q) == pytest.approx(8.49e-2, rel=1e-3)


def test_theorems_6_and_7_build_on_theorem_5():
    D, change = published_noise._delta_whitened(Q), published_noise.delta_2(Q.documents, 1.0)
    assert published_noise._delta_pairs(Q) == pytest.approx(4 * D / 0.3)
    C = 3 / (2 * math.sqrt(2))
    terms = 2 * math.sqrt(0.4) * 4 * D / 0.3, 2 * math.sqrt(0.4) / 0.2 * change, math.sqrt(0.4 + change) * 4 * D / 0.3
    assert published_noise._delta_topics(Q) == pytest.approx(C * sum(terms))


@pytest.mark.parametrize(("epsilon", "known"), [(1.0, 3.7830), (2.0, 1.9234), (5.0, 0.8055)])
def test_proposition_22_prints_too_little_noise_by_a_root_of_two(epsilon, known):
    scale = _gaussian_scale(epsilon, 1e-6)
    assert scale == pytest.approx(known, abs=1e-4)
    assert true_delta(scale, epsilon) > 1e-6
    assert true_delta(math.sqrt(2) * scale, epsilon) < 1e-6
    exact = brentq(lambda s: true_delta(s, epsilon) - 1e-6, 0.1, 100)
    assert scale < exact < math.sqrt(2) * scale


@given(st.floats(0.01, 20), st.floats(1e-9, 0.1), st.floats(0.05, 0.9))
def test_edges_share_the_budget_by_simple_composition(epsilon, delta, first):
    split = {"e3": first, "e4": 0.6 * (1 - first), "e8": 0.4 * (1 - first)}
    budgets = edge_budgets("config1", epsilon, delta, split)
    assert budgets["e3"] == pytest.approx((first * epsilon, first * delta))
    assert np.sum(list(budgets.values()), axis=0) == pytest.approx([epsilon, delta])


@pytest.mark.parametrize(
    "split", [{"e6": 1.0}, {"e6": 0.5, "e7": 0.5}, {"e6": 0.9, "e8": 0.2}, {"e6": 1.5, "e8": -0.5}]
)
def test_a_split_over_other_edges_or_off_one_is_refused(split):
    with pytest.raises(InputError, match="edges e6, e8 of config2"):
        edge_budgets("config2", 1.0, 1e-6, split)


@pytest.mark.parametrize(("edge", "parts"), [("e3", 1), ("e4", 1), ("e8", 1), ("e6", 2), ("e7", 3), ("e9", 4)])
def test_an_edge_pays_for_its_noisy_bounds_in_even_parts(edge, parts):
    noise = edge_noise(edge, Q, 1.2, 1e-5)
    assert noise.std / noise.sensitivity == pytest.approx(_gaussian_scale(1.2 / parts, 1e-5 / parts))
    assert (noise.epsilon, noise.delta) == (1.2, 1e-5)


def test_noisy_bounds_fail_as_often_as_they_may():
    random = np.random.default_rng(0)
    bounds = [published_noise._noisy_bounds(Q, 0.5, 0.05, random.laplace) for _ in range(4000)]
    for failed in (
        [b.sigma_k > Q.sigma_k for b in bounds],
        [b.gamma_s > Q.gamma_s for b in bounds],
        [b.sigma_1 < Q.sigma_1 for b in bounds],
    ):
        assert np.mean(failed) == pytest.approx(0.05, abs=0.015)
    moved = (
        published_noise._noisy_bounds(Q, 0.5, 0.05, lambda: 1.0).sigma_k
        - published_noise._noisy_bounds(Q, 0.5, 0.05, float).sigma_k
    )
    assert moved == pytest.approx(published_noise.delta_2(Q.documents, 1.0) / 0.5)
    assert laplace.sf(-math.log(2 * 0.05)) == pytest.approx(0.05)


@pytest.mark.parametrize("alpha0", [0.1, 1.0, 10.0])
def test_floors_are_a_tenth_in_the_units_of_the_code(alpha0):
    """Its M2 is the sum of alpha_i mu_i mu_i' and its whitened values are 1 / sqrt(alpha_i)."""
    alpha = alpha0 * 0.3
    eigenvalue, value = alpha / (alpha0 * (alpha0 + 1)), 2 / (alpha0 + 2) * math.sqrt(alpha0 * (alpha0 + 1) / alpha)
    assert published_noise._sigma_floor(alpha0) / eigenvalue == pytest.approx(0.1 / alpha)
    assert published_noise.gap_floor(alpha0) / value == pytest.approx(0.1 * math.sqrt(alpha))


@pytest.mark.parametrize("edge", ["e6", "e7", "e9"])
def test_no_spectrum_makes_a_sensitivity_infinite(edge):
    for spectrum in ({"sigma_k": 0.0}, {"gamma_s": 0.0}, {"sigma_k": -1.0, "sigma_1": -1.0, "gamma_s": -1.0}):
        assert 0 < edge_noise(edge, replace(Q, **spectrum), 0.01, 1e-9, lambda: -5.0).std < 1e6


def test_every_edge_of_every_placement_has_noise():
    for placement, edges in EDGES.items():
        assert set(edge_budgets(placement, 1.0, 1e-6)) == set(edges)
        assert all(edge_noise(edge, Q, 1.0, 1e-6).std > 0 for edge in edges)
