"""What one unit really changes, in exact integers, against the sensitivity that the noise is scaled to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gate_helpers import WORDS, curator, passes_over, store_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplda.private import statistics
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.expected_counts import document_completion
from dplda.private.statistics.third_moment_products import _LEAST_TOPICS
from dplda.private.statistics.word_votes import count_votes, word_hashes
from dplda.private.store.units import project

KINDS = ("first", "dense", "second", "core", "third", "products", "projected", "along", "expected", "completion")
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def contribution(kind, seed, spread):
    """One statistic with random released arrays; `spread` makes some words weigh 10^spread times others."""
    random = np.random.default_rng(seed)
    scale = 10 ** random.uniform(-spread, spread, len(WORDS))
    X = np.linalg.qr(random.standard_normal((len(WORDS), 3)))[0]
    return {
        "first": lambda: statistics.first_moment(scale),
        "dense": lambda: statistics.second_moment(scale),
        "second": lambda: statistics.second_moment_times(scale, X),
        "core": lambda: statistics.core(scale, X),
        "third": lambda: statistics.third_moment(scale[:, None] * X),
        "products": lambda: statistics.third_moment(
            scale[:, None] * random.standard_normal((len(WORDS), _LEAST_TOPICS))
        ),
        "projected": lambda: statistics.projected_third_moment(scale, X),
        "along": lambda: statistics.third_moment_along(scale[:, None] * X, np.linalg.qr(X[:3])[0][:, :2]),
        "expected": lambda: statistics.expected_counts(random.dirichlet(ONES, 3).T, 0.1),
        "completion": lambda: document_completion(random.dirichlet(ONES, 3).T, 0.1, random.dirichlet(ONES)),
    }[kind]()


ONES = np.ones(len(WORDS))
counts = st.one_of(st.integers(1, 5), st.sampled_from([1000, 2**31 - 1]))
document = st.dictionaries(st.sampled_from(WORDS), counts, max_size=5)
unit = st.lists(document, min_size=1, max_size=3)
corpora = st.lists(unit, max_size=4)
contributions = st.builds(contribution, st.sampled_from(KINDS), st.integers(0, 99), st.sampled_from([0.0, 1.0, 4.0]))
clips = st.sampled_from([1e-6, 0.05, 1.0, 1e3])


def named(units):
    return [(f"u{i}", counted) for i, documents in enumerate(units) for counted in documents]


def lattice_sum(documents, asked, clip):
    total, mass = passes_over(documents).clipped_sum(asked, clip)
    return np.append(np.asarray(total, object).ravel(), int(mass))


def weighted_square(change, asked):
    weights = np.append(np.tile(asked.weights, asked.n_rows), 1)
    return sum(int(w) * int(z) ** 2 for w, z in zip(weights, change, strict=True))


@relaxed
@given(others=corpora, one=unit, asked=contributions, clip=clips)
def test_adding_a_unit_changes_no_sum_by_more_than_b(others, one, asked, clip):
    base = named(others)
    # In the middle of the store, so that the other units' places change too.
    joined = base[: len(base) // 2] + [("me", counted) for counted in one] + base[len(base) // 2 :]
    change = lattice_sum(joined, asked, clip) - lattice_sum(base, asked, clip)
    assert weighted_square(change, asked) <= BOUND**2
    if asked.matrix.shape[1] < _LEAST_TOPICS:  # exact products are rounded once for all units
        assert np.array_equal(change, lattice_sum([("me", counted) for counted in one], asked, clip))


@relaxed
@given(others=corpora, one=unit, other=unit, asked=contributions, clip=clips)
def test_replacing_a_unit_changes_no_sum_by_more_than_its_replace_factor(others, one, other, asked, clip):
    base = named(others)
    change = lattice_sum([*base, *(("me", c) for c in one)], asked, clip)
    change -= lattice_sum([*base, *(("you", c) for c in other)], asked, clip)
    allowed = curator([], [], adjacency="replace")._sensitivity(asked.statistic.replace_factor)
    assert weighted_square(change, asked) <= round(allowed**2)


def test_the_replace_factors_are_attained():
    first = statistics.first_moment(ONES)
    change = lattice_sum([("a", {"w0": 3})], first, 1e-3) - lattice_sum([("a", {"w1": 3})], first, 1e-3)
    assert math.sqrt(weighted_square(change, first)) > 0.99 * math.sqrt(2) * BOUND
    W = np.zeros((len(WORDS), 1))
    W[0], W[1] = 1.0, -1.0
    third = statistics.third_moment(W)
    change = lattice_sum([("a", {"w0": 3})], third, 1e-3) - lattice_sum([("a", {"w1": 3})], third, 1e-3)
    assert math.sqrt(weighted_square(change, third)) > 1.99 * BOUND


@relaxed
@given(others=corpora, one=unit)
def test_adding_a_unit_changes_votes_reach_size_and_bins_by_at_most_b(others, one):
    def answers(documents):
        passes = passes_over(documents)
        votes, vote_total = count_votes(project(store_of(documents), WORDS), 1, word_hashes(WORDS), 3)
        bins = passes.clip_histogram(statistics.first_moment(ONES), np.arange(passes.n_units()))
        return votes, np.array([vote_total]), np.array([passes.count_units() * BOUND]), bins

    mine = [("me", counted) for counted in one]
    for more, less in zip(answers(mine + named(others)), answers(named(others)), strict=True):
        assert sum(int(z) ** 2 for z in more - less) <= BOUND**2


@relaxed
@given(others=corpora, one=unit, other=unit)
def test_replacing_a_unit_changes_reach_and_size_by_b_and_votes_by_root_two_b(others, one, other):
    def answers(unit):
        documents = named(others) + [("me", counted) for counted in unit]
        votes, vote_total = count_votes(project(store_of(documents), WORDS), 1, word_hashes(WORDS), 3)
        return votes, vote_total, passes_over(documents).count_units()

    votes, vote_total, size = (a - b for a, b in zip(answers(one), answers(other), strict=True))
    assert sum(int(z) ** 2 for z in votes) <= 2 * BOUND**2
    assert abs(vote_total) <= BOUND
    assert abs(size) <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_of_a_thousand_documents_counts_once(kind):
    asked = contribution(kind, 5, 1.0)
    many = [("me", {f"w{i % 8}": 1 + i % 7, f"w{(i + 3) % 8}": 4}) for i in range(1000)]
    assert weighted_square(lattice_sum(many, asked, 1e-3), asked) <= BOUND**2
