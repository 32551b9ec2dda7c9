"""The paper's utility bounds: as printed, above what runs measure, and least at the split that is found."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from population_gate import PopulationGate, some_words
from scipy.optimize import linear_sum_assignment

from dplda.learning.placements import published
from dplda.learning.placements import published as utility
from dplda.learning.placements.published import (
    EDGES,
    Quantities,
    _gaussian_scale,
    best_split,
    bound,
    edge_noise,
    planted_quantities,
)
from dplda.learning.settings import FitSettings
from dplda.private.statistics.lda_moments import population_moments
from dplda.runs.corpus import synthetic

Q = Quantities(
    documents=1e6, words=50, topics=4, alpha0=1.0, sigma_1=0.4, sigma_k=0.2, tensor_1=2.0, gamma_s=0.3
)  # above every floor
C = 3 / (2 * math.sqrt(2))  # (alpha0 + 2) / (2 sqrt(alpha0 (alpha0 + 1)))


def matrix(edge: str, share: float) -> float:
    return 2 * math.sqrt(50) * edge_noise(edge, Q, share, 1e-6 * share).std


def test_config_2_is_equation_134():
    E8, E6 = matrix("e8", 0.5), utility._gaussian_tensor_norm(edge_noise("e6", Q, 0.5, 5e-7).std, 4)
    pairs = 2 * math.sqrt(4) * E6 / 0.3
    first, second = C * 2 * math.sqrt(0.4) * pairs, C * 2 * math.sqrt(0.4) / 0.2 * E8
    assert bound("config2", Q, 1.0, 1e-6) == pytest.approx(first + second + C * math.sqrt(0.4 + E8) * pairs)


def test_config_1_is_equation_128_with_all_of_w():
    third = 1 / 3
    E4, E8 = matrix("e4", third), matrix("e8", third)
    E3 = utility._gaussian_tensor_norm(edge_noise("e3", Q, third, third * 1e-6).std, 50)
    phi = 4 * (E4 / (0.2 * math.sqrt(0.1))) ** 3 + E3 * 0.1**-1.5  # (111) is 4 at alpha0 = 1
    pairs = 2 * math.sqrt(4) * phi / 0.3
    expected = C * (2 * math.sqrt(0.4) * (pairs + E8 / 0.2) + math.sqrt(0.4 + E8) * pairs)
    assert bound("config1", Q, 1.0, 1e-6) == pytest.approx(expected, rel=1e-5)


def test_config_3_is_equation_140():
    E8, std, t = matrix("e8", 0.5), edge_noise("e7", Q, 0.5, 5e-7).std, math.log(20)
    Y, n = std * math.sqrt(4 + 2 * math.sqrt(4 * t) + 2 * t), std * math.sqrt(2 * math.log(40))
    expected = C * (2 * math.sqrt(0.4) * (Y + E8 / 0.2) + math.sqrt(0.4 + E8) * n)
    assert bound("config3", Q, 1.0, 1e-6) == pytest.approx(expected)


def test_config_4_is_the_norm_of_equation_141():
    noise, t = edge_noise("e9", Q, 1.0, 1e-6), math.log(20)
    assert noise.std == pytest.approx(noise.sensitivity * _gaussian_scale(0.25, 2.5e-7))
    expected = noise.std * math.sqrt(50 + 2 * math.sqrt(50 * t) + 2 * t)
    assert bound("config4", Q, 1.0, 1e-6) == pytest.approx(expected)


def test_norms_of_gaussian_noise_fail_no_more_often_than_they_may():
    random = np.random.default_rng(0)
    numbers, vectors = random.normal(0, 0.3, 20_000), random.normal(0, 0.3, (4000, 7))
    assert np.mean(np.abs(numbers) > utility._gaussian_norm(0.3)) < 0.05
    assert np.mean(np.linalg.norm(vectors, axis=1) > utility._gaussian_vector_norm(0.3, 7)) < 0.05
    E = published._symmetric_matrix(random.normal(0, 0.3, (400, 400)))
    assert np.linalg.norm(E, 2) == pytest.approx(utility._gaussian_matrix_norm(0.3, 400), rel=0.05)
    assert utility._gaussian_tensor_norm(0.3, 6) == pytest.approx(6.130, abs=1e-3)
    T, starts = random.normal(0, 0.3, (6, 6, 6)), random.standard_normal((3, 6, 5000))
    u, v, w = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    assert np.einsum("abc,an,bn,cn->n", T, u, v, w, optimize=True).max() < utility._gaussian_tensor_norm(0.3, 6)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(list(EDGES)), st.floats(3, 9), st.floats(0.1, 8))
def test_more_documents_and_more_budget_give_less_error(placement, power, epsilon):
    q = replace(Q, documents=10**power)
    here = bound(placement, q, epsilon, 1e-6)
    assert bound(placement, replace(q, documents=2 * q.documents), epsilon, 1e-6) < here
    assert bound(placement, q, 1.5 * epsilon, 1e-6) < here


@pytest.mark.parametrize("documents", [1e5, 1e9])
@pytest.mark.parametrize("placement", [name for name, edges in EDGES.items() if len(edges) > 1])
def test_no_split_on_a_grid_beats_the_best(placement, documents):
    q, edges = replace(Q, documents=documents), EDGES[placement]
    split = best_split(placement, q, 1.0, 1e-6)
    assert sum(split.values()) == pytest.approx(1)
    least = bound(placement, q, 1.0, 1e-6, split)
    steps = np.arange(1, 20) / 20
    grid = [
        dict(zip(edges, (*first, 1 - sum(first)), strict=True))
        for first in np.stack(np.meshgrid(*[steps] * (len(edges) - 1)), -1).reshape(-1, len(edges) - 1).tolist()
        if sum(first) < 0.99
    ]
    assert least <= min(bound(placement, q, 1.0, 1e-6, other) for other in grid) * (1 + 1e-4)


def test_config_4_has_nothing_to_split():
    assert best_split("config4", Q, 1.0, 1e-6) == {"e9": 1.0}


@pytest.mark.parametrize("alpha0", [0.5, 2.0])
def test_planted_quantities_are_those_of_the_population(alpha0):
    q = planted_quantities(1000, 20, 3, alpha0, seed=4)
    topics = synthetic(500, 20, 3, alpha0=alpha0, seed=4)[1]
    moments = population_moments(topics, np.full(3, alpha0 / 3))
    values, vectors = np.linalg.eigh(moments.M2)
    assert (q.sigma_1, q.sigma_k) == (pytest.approx(values[-1]), pytest.approx(values[-3]))
    W = vectors[:, -3:] / np.sqrt(values[-3:])
    T = np.einsum("abc,ai,bj,cl->ijl", moments.M3, W, W, W, optimize=True)
    assert np.linalg.norm(T) == pytest.approx(q.tensor_1 * math.sqrt(3))  # three equal orthonormal components
    assert q.gamma_s == 0


@pytest.mark.parametrize("placement", EDGES)
def test_runs_stay_below_the_bound_where_it_says_something(placement):
    """Population moments of 10 words and 3 topics, as of ever more documents."""
    topics, k, d = synthetic(1, 10, 3, seed=2)[1], 3, 10
    asked, told = FitSettings.of(placement=placement, topics=k, epsilon=4.0), 0
    for documents in (1e6, 1e8, 1e10, 1e12):
        promised = bound(
            placement, planted_quantities(documents, d, k, seed=2), asked.privacy.epsilon, asked.privacy.delta
        )
        for seed in range(5):
            gate = PopulationGate(topics, np.full(k, 1 / k), documents)
            found = published.learn(gate, gate.size(), some_words(d), asked, np.random.default_rng(seed))
            distance = np.linalg.norm(topics[:, None] - found.topics, axis=2)
            assert distance[linear_sum_assignment(distance)].max() < promised
        told += promised < math.sqrt(2)
    assert told >= 2
