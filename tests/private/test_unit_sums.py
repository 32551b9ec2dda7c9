"""The sum over units: merged, clipped once, exact in integers, and changed by nobody else's presence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from gpus import EVERYWHERE
from hypothesis import given
from hypothesis import strategies as st
from tiny_units import Units, contribution_of, lattice_sum, make_units, norms, squared_length, summing_on

from dplda.base.threads import run_ranges, split
from dplda.private import statistics
from dplda.private.statistics.clipping import _BOUND_SQUARED, BOUND, MARGIN, MASS_SHARE

D = 7
KINDS = ["first", "dense", "second", "core", "third", "projected", "along", "expected"]
DIRECTIONS = np.array([[0.6, 1.0], [0.0, 0.0], [0.8, 0.0]])  # unit vectors, as columns

document = st.lists(st.tuples(st.integers(0, D - 1), st.integers(1, 9)), max_size=6)
corpora = st.lists(st.lists(document, min_size=1, max_size=4), min_size=1, max_size=6)


@pytest.fixture(scope="module", params=EVERYWHERE, autouse=True)
def _place(request):
    with summing_on(request.param):
        yield


def make(kind: str, seed: int = 1) -> statistics.Contribution:
    random = np.random.default_rng(seed)
    scale, X = random.uniform(0.2, 3.0, D), random.standard_normal((D, 3))
    return {
        "first": lambda: statistics.first_moment(scale),
        "dense": lambda: statistics.second_moment(scale),
        "second": lambda: statistics.second_moment_times(scale, X),
        "core": lambda: statistics.core(scale, X),
        "third": lambda: statistics.third_moment(X),
        "projected": lambda: statistics.projected_third_moment(scale, np.linalg.qr(X)[0]),
        "along": lambda: statistics.third_moment_along(X, DIRECTIONS),
        "expected": lambda: statistics.expected_counts(np.abs(X) + 1e-3, 0.2),
    }[kind]()


def random_corpus(n_units: int = 40, seed: int = 3) -> list[list[list[tuple[int, int]]]]:
    random = np.random.default_rng(seed)

    def one_document() -> list[tuple[int, int]]:
        words = np.flatnonzero(random.random(D) < 0.4)
        return [(int(w), int(random.integers(1, 5))) for w in words]

    return [[one_document() for _ in range(random.integers(1, 5))] for _ in range(n_units)]


def length(entries: list[tuple[int, int]]) -> int:
    return sum(count for _, count in entries)


def exact_unit(f: statistics.Contribution, unit: list[list[tuple[int, int]]]) -> np.ndarray:
    """The unclipped contribution of a unit: the mean of its eligible documents' contributions."""
    return sum((contribution_of(f, entries) / len(eligible(unit)) for entries in eligible(unit)), np.zeros(f.shape))


def eligible(unit: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    return [entries for entries in unit if length(entries) >= 3]


def exact_norm(f: statistics.Contribution, unit: list[list[tuple[int, int]]]) -> float:
    """What a unit is clipped by: the norm of its contribution, or the mean norm of its documents' whole tensors."""
    if f.statistic.norm_bound is not None:
        return float(np.mean([whole_norm(f.scale.astype(float), entries) for entries in eligible(unit)]))
    return float(np.sqrt((exact_unit(f, unit) ** 2 * f.weights).sum()))


def whole_norm(s: np.ndarray, entries: list[tuple[int, int]]) -> float:
    """Norm of the third moment of a document over words, as an array (D, D, D)."""
    c, same = np.zeros(D), np.eye(D)
    for word, count in entries:
        c[word] += count
    tensor = c[:, None, None] * (c[:, None] - same[:, :, None]) * (c - same[:, None, :] - same)
    tensor *= np.einsum("i,j,l->ijl", s, s, s)
    return float(np.linalg.norm(tensor) / (c.sum() * (c.sum() - 1) * (c.sum() - 2)))


@given(unit=st.lists(document, min_size=1, max_size=5), clip=st.floats(1e-3, 1e3))
@pytest.mark.parametrize("kind", KINDS)
def test_a_units_documents_are_averaged_over_their_union_and_clipped_once(kind, unit, clip):
    f = make(kind)
    total, mass = lattice_sum(f, make_units([unit]), clip)
    full = exact_unit(f, unit)
    if not any(length(entries) >= 3 for entries in unit):
        assert not total.any()
        assert mass == 0
        return
    own = exact_norm(f, unit)
    norm = np.hypot(own, MASS_SHARE * clip)
    factor = min(1.0, clip / norm)
    steps = 1 + MARGIN + f.weights.sum() * f.shape[0]  # truncated after a shrink: one step an entry
    atol = clip / BOUND * steps + 1e-5 * norm  # float32, with cancellation
    np.testing.assert_allclose(total * (clip / BOUND), full * factor, rtol=1e-6, atol=atol)
    assert mass == pytest.approx(MASS_SHARE * BOUND * factor, rel=1e-5, abs=2)
    assert norms(f, make_units([unit]))[0] == pytest.approx(own, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_short_documents_have_no_say_in_their_unit(kind):
    f, long_one, short = make(kind), [(1, 2), (4, 3)], [(0, 2)]
    alone = lattice_sum(f, make_units([[long_one]]), 0.5)
    among = lattice_sum(f, make_units([[short, long_one, []]]), 0.5)
    assert np.array_equal(alone[0], among[0])
    assert alone[1] == among[1]
    assert norms(f, make_units([[short, []], [long_one]]))[0] == -1.0


@pytest.mark.parametrize("kind", KINDS)
def test_duplicated_entries_and_documents_cannot_pass_the_clip(kind):
    f = make(kind)
    for unit in ([[(2, 1)] * 100], [[(2, 1), (3, 2)] * 30] * 50, [[(w, 9) for w in range(D)]] * 60):
        total, mass = lattice_sum(f, make_units([unit]), 0.01)
        square = squared_length(total, mass, f.weights)
        assert square <= _BOUND_SQUARED
        seen = np.linalg.norm(np.append(np.sqrt(f.weights) * exact_unit(f, unit), 0.0)) / exact_norm(f, unit)
        assert square > 0.98 * seen**2 * _BOUND_SQUARED  # a tensor's projection shows a part of its norm


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_whose_union_outgrows_the_first_buffer_is_summed_whole(kind):
    random, d = np.random.default_rng(8), 400
    X = random.standard_normal((d, 2))
    f = {
        "first": statistics.first_moment(np.ones(d)),
        "dense": statistics.second_moment(np.ones(d)),
        "second": statistics.second_moment_times(np.ones(d), X),
        "core": statistics.core(np.ones(d), X),
        "third": statistics.third_moment(X),
        "projected": statistics.projected_third_moment(np.ones(d), np.linalg.qr(X)[0]),
        "along": statistics.third_moment_along(X, DIRECTIONS[:2]),
        "expected": statistics.expected_counts(np.abs(X) + 0.01, 0.1),
    }[kind]
    unit = [[(int(w), 1) for w in np.sort(random.permutation(d)[:30])] for _ in range(60)]
    clip = 2 * norms(f, make_units([unit]))[0]
    total, _ = lattice_sum(f, make_units([unit]), clip)
    np.testing.assert_allclose(total * (clip / BOUND), exact_unit(f, unit), rtol=0, atol=clip / BOUND)


@given(units=corpora, index=st.integers(0, 5), clip=st.floats(1e-2, 10.0))
@pytest.mark.parametrize("kind", KINDS)
def test_removing_a_unit_takes_away_exactly_its_own_integers(kind, units, index, clip):
    f, index = make(kind), index % len(units)
    everyone, mass = lattice_sum(f, make_units(units), clip)
    others, other_mass = lattice_sum(f, make_units(units[:index] + units[index + 1 :]), clip)
    alone, own_mass = lattice_sum(f, make_units([units[index]]), clip)
    assert np.array_equal(everyone - others, alone)
    assert mass - other_mass == own_mass
    assert squared_length(alone, own_mass, f.weights) <= _BOUND_SQUARED


@given(first=st.lists(document, min_size=1, max_size=4), second=st.lists(document, min_size=1, max_size=4))
@pytest.mark.parametrize("kind", KINDS)
def test_replacing_a_unit_moves_the_sum_by_at_most_its_sensitivity(kind, first, second):
    f, clip = make(kind), 0.05
    a, mass_a = lattice_sum(f, make_units([first]), clip)
    b, mass_b = lattice_sum(f, make_units([second]), clip)
    square = round(f.statistic.replace_factor**2)
    assert squared_length(a - b, mass_a - mass_b, f.weights) <= square * _BOUND_SQUARED
    if square == 2:
        assert a.min() >= 0


@pytest.mark.parametrize(
    ("kind", "other"),
    [("second", [(0, 1), (3, 4)]), ("core", [(0, 2), (3, 2)]), ("third", [(3, 3)]), ("along", [(3, 3)])],
)
def test_signed_kinds_need_more_than_the_nonnegative_sensitivity(kind, other):
    flip = np.where(np.arange(D) < 3, 1.0, -1.0)[:, None]
    f = {
        "second": statistics.second_moment_times(np.ones(D), flip),
        "core": statistics.core(np.ones(D), flip),
        "third": statistics.third_moment(flip),
        "along": statistics.third_moment_along(flip, np.ones((1, 1))),
    }[kind]
    a, b = (lattice_sum(f, make_units([[entries]]), 0.001) for entries in ([(0, 3)], other))
    assert 2 * _BOUND_SQUARED < squared_length(a[0] - b[0], a[1] - b[1], f.weights) <= 4 * _BOUND_SQUARED


@pytest.mark.parametrize("kind", KINDS)
def test_the_sum_is_the_same_integers_however_the_work_is_cut(kind):
    f, units = make(kind), make_units(random_corpus())
    whole, mass = lattice_sum(f, units, 0.3)
    for parts in (2, 3, 7, 100):
        ranges = split(units.indptr[units.unit_ptr], parts)
        for order in (ranges, ranges[::-1]):
            results = run_ranges(lambda a, b: lattice_sum(f, units, 0.3, a, b), order)
            assert np.array_equal(sum(total for total, _ in results), whole)
            assert sum(share for _, share in results) == mass


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_units_does_not_matter(kind):
    f, corpus = make(kind), random_corpus()
    forwards, backwards = (lattice_sum(f, make_units(c), 0.3) for c in (corpus, corpus[::-1]))
    assert np.array_equal(forwards[0], backwards[0])
    assert forwards[1] == backwards[1]


EXTREMES = [0.0, 1.0, -1.0, 1e-320, 5e-324, 1e-160, 1e150, 1e200, -1e308, np.inf, -np.inf, np.nan]


@given(
    entries=st.lists(st.sampled_from(EXTREMES), min_size=4 * D, max_size=4 * D),
    clip=st.sampled_from([1e-300, 2.0**-12, 1.0, 2.0**24]),
    units=corpora,
)
@pytest.mark.parametrize("kind", KINDS)
def test_no_float_however_odd_makes_a_unit_exceed_the_bound(kind, entries, clip, units):
    scale, X = np.array(entries[:D]), np.array(entries[D:]).reshape(D, 3)
    f = {
        "first": lambda: statistics.first_moment(scale),
        "dense": lambda: statistics.second_moment(scale),
        "second": lambda: statistics.second_moment_times(scale, X),
        "core": lambda: statistics.core(scale, X),
        "third": lambda: statistics.third_moment(X),
        "projected": lambda: statistics.projected_third_moment(scale, X),
        "along": lambda: statistics.third_moment_along(X, X[:3]),
        "expected": lambda: statistics.expected_counts(X, 0.2),
    }[kind]()
    for unit in units:
        total, mass = lattice_sum(f, make_units([unit]), clip)
        assert squared_length(total, mass, f.weights) <= _BOUND_SQUARED


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_that_meets_a_number_that_is_not_finite_contributes_nothing_and_spares_the_rest(kind):
    healthy, unhealthy = [[(1, 2), (2, 2)]], [[(w, 2) for w in range(5)]]
    for bad, word in itertools.product([np.inf, -np.inf, np.nan], [0, 3, 4]):
        f = make(kind)
        (f.scale if kind in ("first", "dense", "second", "projected") else f.matrix)[word] = bad
        alone = lattice_sum(f, make_units([healthy]), 0.3)
        total, mass = lattice_sum(f, make_units([unhealthy, healthy]), 0.3)
        assert np.array_equal(total, alone[0]), (bad, word)
        assert mass == alone[1] > 0, (bad, word)


def test_an_empty_corpus_sums_to_zero():
    f = make("second")
    total, mass = lattice_sum(f, Units(*(np.zeros(n, t) for n, t in ((1, "i8"), (0, "i4"), (0, "i4"), (1, "i8")))), 1.0)
    assert not total.any()
    assert mass == 0


@pytest.mark.parametrize("kind", ["first", "dense", "second", "expected"])
def test_a_vocabulary_of_one_word_is_no_special_case(kind):
    X = np.array([[0.5, 0.25]])
    f = {
        "first": statistics.first_moment(np.ones(1)),
        "dense": statistics.second_moment(np.ones(1)),
        "second": statistics.second_moment_times(np.ones(1), X),
        "expected": statistics.expected_counts(X, 0.1),
    }[kind]
    merged, split_up = (lattice_sum(f, make_units([[d]]), 100.0) for d in ([(0, 6)], [(0, 2), (0, 1), (0, 3)]))
    assert np.abs(merged[0] - split_up[0]).max() <= 1
