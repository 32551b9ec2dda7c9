"""Contributions average to the exact population moments of a small known LDA, short documents included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from full_helpers import full_after
from tiny_units import Units, as_document, contribution_of, lattice_sum, norms

from dplda.learning.synthetic import draw_counts
from dplda.private import statistics
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.private.statistics.lda_moments import (
    PopulationMoments,
    population_moments,
    unpack,
    unpack_matrix,
    unpack_offsets,
)

TOPICS = np.array([[0.35, 0.30, 0.20, 0.05, 0.06, 0.04], [0.05, 0.10, 0.05, 0.40, 0.15, 0.25]])
ALPHA = np.array([0.4, 0.8])
LENGTHS = np.arange(1, 13)  # two of these twelve are too short to contribute
BATCHES, REPEATS = 60, 50
SCALE = np.array([0.7, 1.4, 1.0, 2.0, 0.5, 1.1])
DIRECTIONS = np.array([[0.6, 1.0, -0.28], [0.8, 0.0, 0.96]])  # unit vectors, as columns


def examples(d: int, s: np.ndarray, seed: int = 5) -> dict[str, statistics.Contribution]:
    random = np.random.default_rng(seed)
    return {
        "m": statistics.first_moment(s),
        "dense E2": statistics.second_moment(s),
        "E2": statistics.second_moment_times(s, np.eye(d)),
        "E2 X": statistics.second_moment_times(s, random.standard_normal((d, 3))),
        "core": statistics.core(s, random.standard_normal((d, 3))),
        "E3": statistics.third_moment(s[:, None] * np.eye(d)),
        "E3 W": statistics.third_moment(s[:, None] * random.standard_normal((d, 2))),
        "E3 Q": statistics.projected_third_moment(s, np.linalg.qr(random.standard_normal((d, 2)))[0]),
        "along": statistics.third_moment_along(s[:, None] * random.uniform(0.0, 2.0, (d, 2)), DIRECTIONS),
    }


def expected(name: str, f: statistics.Contribution, s: np.ndarray, exact: PopulationMoments) -> np.ndarray:
    E2 = s[:, None] * exact.E2 * s
    if name == "m":
        return (s * exact.m)[:, None]
    if name == "dense E2":
        return E2
    if name.startswith("E2"):
        return E2 @ f.matrix
    if name == "core":
        return f.matrix.T @ E2 @ f.matrix
    W = f.matrix[:, : f.matrix.shape[1] - f.directions]  # the scale is in the matrix
    tensor = np.einsum("ijl,ia,jb,lc->abc", exact.E3, W, W, W)
    return np.einsum("abc,bu,cu->ua", tensor, DIRECTIONS, DIRECTIONS) if name == "along" else tensor


def full_array(name: str, f: statistics.Contribution, found: np.ndarray) -> np.ndarray:
    if name == "core":
        return unpack_matrix(found[0], f.matrix.shape[1])
    if name == "dense E2":
        return unpack_offsets(found)
    if name == "along":
        return found.reshape(DIRECTIONS.shape[::-1])
    return unpack(found[0], f.matrix.shape[1]) if name.startswith("E3") else found


@pytest.fixture(scope="module")
def corpus() -> Units:
    """Batches of the same lengths, every document a unit."""
    random = np.random.default_rng(2012)
    lengths = np.tile(LENGTHS, BATCHES * REPEATS)
    counts = draw_counts(random, lengths, random.dirichlet(ALPHA, size=len(lengths)), TOPICS)
    pointers = np.arange(len(lengths) + 1)
    return Units(counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data, pointers)


@pytest.mark.parametrize("name", list(examples(6, SCALE)))
def test_a_large_corpus_averages_to_the_population_moment(corpus, name):
    f = examples(6, SCALE)[name]
    clip = 1.01 * norms(f, corpus).max()
    size = REPEATS * len(LENGTHS)
    eligible = REPEATS * int((LENGTHS >= 3).sum())
    means = []
    for batch in range(BATCHES):
        total, mass = lattice_sum(f, corpus, clip, batch * size, (batch + 1) * size)
        assert mass == eligible * round(MASS_SHARE * BOUND)
        means.append(full_array(name, f, total * (clip / BOUND)) / eligible)
    error = np.std(means, axis=0, ddof=1) / np.sqrt(BATCHES)
    away = np.abs(np.mean(means, axis=0) - expected(name, f, SCALE, population_moments(TOPICS, ALPHA)))
    assert (away <= 5 * error + clip / BOUND).all()
    assert error.max() < 0.02 * np.abs(means).max()  # the check is sharp enough to see a wrong constant


@pytest.mark.parametrize("length", full_after(1, [3, 4]))
@pytest.mark.parametrize("name", list(examples(3, np.ones(3))))
def test_the_expectation_over_all_documents_is_the_population_moment(name, length):
    topics, alpha, s = (
        np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]),
        np.array([0.5, 1.2]),
        np.array([0.8, 1.5, 1.1]),
    )
    f = examples(3, s)[name]
    average, certainty = np.zeros(f.shape), 0.0
    for tokens in itertools.product(range(3), repeat=length):
        probability = probability_of(tokens, topics, alpha)
        average += probability * contribution_of(f, as_document(np.bincount(tokens, minlength=3)))
        certainty += probability
    assert certainty == pytest.approx(1.0, abs=1e-12)
    moment = expected(name, f, s, population_moments(topics, alpha))
    np.testing.assert_allclose(full_array(name, f, average), moment, rtol=0, atol=2e-7)  # float32


def probability_of(tokens: tuple[int, ...], topics: np.ndarray, alpha: np.ndarray) -> float:
    """Probability of a sequence of tokens: a sum over their topics, drawn from a Polya urn."""
    total = 0.0
    for themes in itertools.product(range(len(alpha)), repeat=len(tokens)):
        urn, probability = alpha.copy(), 1.0
        for theme, word in zip(themes, tokens, strict=True):
            probability *= urn[theme] / urn.sum() * topics[theme, word]
            urn[theme] += 1
        total += probability
    return total
