"""Third moments by matrix products: exact sums, the integers of a unit in exact arithmetic, and neighbours."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_units import make_units, squared_length

from dplda.private import statistics
from dplda.private.statistics import third_moment_products as products
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.private.statistics.lda_moments import rising
from dplda.private.statistics.third_moment_products import ProductSums, sums_of
from dplda.private.statistics.unit_sums import UnitSums

D, K = 30, 40
ROUNDING = 0.5 * (1 + 2**-8) * K**1.5  # of a finished tensor
rng = np.random.default_rng(0)
ROWS = {
    "ordinary": rng.standard_normal((D, K)),
    "scaled": rng.standard_normal((D, K)) * 10.0 ** rng.integers(-3, 4, (D, 1)),
    "opposite": np.repeat(rng.standard_normal((D // 2, K)), 2, axis=0) * np.tile([[1.0], [-1.0]], (D // 2, 1)),
}
documents = st.lists(st.integers(0, D - 1), min_size=3, max_size=30).map(
    lambda tokens: [(w, tokens.count(w)) for w in sorted(set(tokens))]
)
units = st.lists(st.lists(documents, min_size=1, max_size=3), min_size=1, max_size=4)


def summed(sums, counts, chosen, clip):
    return sums.total(counts, np.asarray(chosen, np.int64), clip)


def same(one, other):
    """Whether two results are equal; their first two arrays together are one sum, as are the next two."""
    sums = ((a * 2**24 + b, c * 2**22 + d, *rest) for a, b, c, d, *rest in (one, other))
    return all(np.array_equal(a, b) for a, b in zip(*sums, strict=True))


@pytest.mark.parametrize("rows", ROWS)
def test_products_agree_with_the_tensors_of_single_units(rows):
    W = ROWS[rows]
    contribution = statistics.third_moment(W)
    some = np.random.default_rng(1)
    counts = make_units(
        [
            [
                [(int(w), int(some.integers(1, 4))) for w in np.sort(some.permutation(D)[: some.integers(3, 12)])]
                for _ in range(1 + unit % 3)
            ]
            for unit in range(200)
        ]
    )
    slow, fast, everyone = UnitSums(contribution), ProductSums(contribution), np.arange(200)
    found, expected = fast.norms(counts, everyone), slow.norms(counts, everyone)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    clip = float(np.quantile(expected, 0.7))
    total, mass = fast.finish(summed(fast, counts, everyone, clip))
    other, other_mass = slow.total(counts, everyone, clip)
    length = np.sqrt((contribution.weights * (total - other).astype(float) ** 2).sum())
    assert length < 200 * 0.006 * BOUND
    assert abs(mass - other_mass) <= 200 * 0.006 * BOUND


@given(units, st.sampled_from(list(ROWS)), st.floats(0.01, 100.0), st.randoms())
@settings(deadline=None, max_examples=40)
def test_sums_are_those_of_the_units_in_any_order_and_division(drawn, rows, share, random):
    sums = ProductSums(statistics.third_moment(ROWS[rows]))
    counts = make_units(drawn)
    everyone = list(range(counts.n_units))
    clip = share * float(max(sums.norms(counts, np.arange(counts.n_units)).max(), 1e-9))
    whole = summed(sums, counts, everyone, clip)
    random.shuffle(everyone)
    assert same(whole, summed(sums, counts, everyone, clip))
    single = [summed(sums, counts, [unit], clip) for unit in everyone]
    assert same(whole, [sum(parts[1:], parts[0]) for parts in zip(*single, strict=True)])


def by_hand(W, documents, clip, b):
    """V_u and the mass of docs/privacy.md in exact arithmetic, from the norm bound `b`; 2^34 times the tensor."""
    margin = 1.01 * K**1.5 + 2
    most = min(BOUND / clip, (BOUND - margin) / np.hypot(b, clip / 8))
    slack = sum(slack_by_hand(W, document, most / len(documents)) for document in documents)
    factor = min(most, (BOUND - margin - slack) / np.hypot(b, clip / 8))
    T = sum(tensor_by_hand(W, document, factor / len(documents)) for document in documents)
    return T, round(factor * MASS_SHARE * clip)


def slack_by_hand(W, document, factor):
    words, c = (np.array(x) for x in zip(*document, strict=True))
    length = c.sum()
    rho = (factor * length / (length - 1) * length / (length - 2)) ** (1 / 3)
    x, m = c / length, 2.0 ** np.ceil(np.log2(np.abs(W[words]).max(axis=1)))
    n, delta = np.linalg.norm(W[words], axis=1) / m, 0.5 * K**0.5 * 2**-8
    y, g, q = rho * np.linalg.norm(x @ W[words]) + delta, rho**2 * x * m**2 / length, rho**3 * x * m**3 / length**2
    terms = y * (2**-11 * n**2 + 2**-17 * K * g) + delta * g * n**2 + 2**-5 * n**3
    terms += q / 2 * (2**-16 * K * n + 2**-14 * K**0.5 * n**2)
    return 1.05 * 3 * (delta * y**2 + terms.sum())


def tensor_by_hand(W, document, factor):
    """2^34 times what a document adds to V_u."""
    peaks = 2.0 ** np.ceil(np.log2(np.abs(W).max(axis=1)))
    words, c = (np.array(x) for x in zip(*document, strict=True))
    length = c.sum()
    rho = (factor * length / (length - 1) * length / (length - 2)) ** (1 / 3)
    x, w, m = c / length, W[words], peaks[words]
    y = np.rint(2.0**8 * rho * (x @ w)).astype(int).astype(object)
    g = np.rint(2.0**10 * rho**2 * x / length * m**2).astype(int).astype(object)
    q = np.rint(2.0**4 * 2 / 3 * rho**3 * x / length**2 * m**3).astype(int).astype(object)
    T = 2**10 * (y[:, None, None] * y[None, :, None] * y[None, None, :])
    for i in range(len(words)):
        p = np.rint(2.0**16 * np.outer(w[i], w[i]) / m[i] ** 2).astype(int).astype(object)
        o = np.rint(2.0**14 * w[i] / m[i]).astype(int).astype(object)
        A = p[:, :, None] * (g[i] * y - q[i] * o)[None, None, :]
        T = T - A - A.transpose(0, 2, 1) - A.transpose(2, 1, 0)
    return T


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("share", full_after(1, [5.0, 0.3]))
def test_a_unit_is_that_of_the_theorem_and_within_its_bound(rows, share):
    W = statistics.third_moment(ROWS[rows]).matrix.astype(float)
    contribution, some = statistics.third_moment(W), np.random.default_rng(5)
    sums = ProductSums(contribution)
    for n in (1, 1, 3):
        documents = [
            [(int(w), int(some.integers(1, 5))) for w in np.sort(some.permutation(D)[: some.integers(3, 8)])]
            for _ in range(n)
        ]
        counts = make_units([documents])
        b = float(sums.norms(counts, np.zeros(1, np.int64))[0])
        clip = share * b
        parts = summed(sums, counts, [0], clip)
        if parts[5].any():
            continue  # took the other way
        T, mass = by_hand(W, documents, clip, b)
        a, e, c = rising(K)
        exact = T[a, e, c]
        for many in (1, 3, 10**7, 3 * 10**9):  # so many equal units: sums are far above 2^53
            found, found_mass = sums.finish([many * part for part in parts])
            off = (Fraction(int(z)) - Fraction(many * int(t), 2**34) for z, t in zip(found[0], exact, strict=True))
            assert max(map(abs, off)) <= Fraction(1, 2) + Fraction(1, 2**9)
            assert found_mass == many * mass
        length = np.sqrt(float(sum(int(m) * int(t) ** 2 for m, t in zip(contribution.weights, exact, strict=True))))
        assert np.hypot(length / 2**34, mass) <= BOUND - 2 * ROUNDING


@given(units, st.sampled_from(list(ROWS)), st.floats(0.01, 10.0))
@settings(deadline=None, max_examples=30)
def test_taking_a_unit_away_or_replacing_it_changes_the_result_within_the_sensitivity(drawn, rows, share):
    contribution = statistics.third_moment(ROWS[rows])
    sums = ProductSums(contribution)
    counts = make_units([*drawn, drawn[0][::-1], [[(0, 50)]]])
    n = counts.n_units
    clip = share * float(np.median(sums.norms(counts, np.arange(n))))
    found = [sums.finish(summed(sums, counts, [*range(n - 2), *more], clip)) for more in ([], [n - 2], [n - 1])]
    for first, second, bound in ((0, 1, 1), (0, 2, 1), (1, 2, 2)):
        total, mass = found[first][0] - found[second][0], found[first][1] - found[second][1]
        assert squared_length(total, mass, contribution.weights) <= (bound * BOUND) ** 2


def exact_norm(W, document):
    """The norm of a document's contribution by the Gram matrix, in fractions."""
    words, c = zip(*document, strict=True)
    rows = [[Fraction(float(x)) for x in W[w]] for w in words]
    n, gram = len(words), [[sum(x * z for x, z in zip(a, b, strict=True)) for b in rows] for a in rows]
    v = [sum(c[j] * gram[i][j] for j in range(n)) for i in range(n)]
    square = sum(c[i] * v[i] for i in range(n))
    yRy = sum(c[i] * v[i] ** 2 for i in range(n))
    RR = sum(c[i] * c[j] * gram[i][j] ** 2 for i in range(n) for j in range(n))
    RyRy = sum(c[i] * c[j] * v[i] * v[j] * gram[i][j] for i in range(n) for j in range(n))
    Qy = sum(c[i] * v[i] ** 3 for i in range(n))
    QP = sum(c[i] * v[i] * sum(c[j] * gram[i][j] ** 2 for j in range(n)) for i in range(n))
    QQ = sum(c[i] * c[j] * gram[i][j] ** 3 for i in range(n) for j in range(n))
    length = sum(c)
    whole = square**3 - 6 * square * yRy + 3 * RR * square + 6 * RyRy + 4 * Qy - 12 * QP + 4 * QQ
    return float(whole) ** 0.5 / (length * (length - 1) * (length - 2))


@pytest.mark.parametrize("rows", ROWS)
def test_the_norm_bound_is_never_below_the_norm_and_close_to_it(rows):
    W = statistics.third_moment(ROWS[rows]).matrix
    sums, some = ProductSums(statistics.third_moment(W)), np.random.default_rng(3)
    cases = [[(0, 3)], [(0, 2), (1, 1)], [(0, 50), (1, 50)], [(0, 1), (1, 1), (2, 1)], [(4, 2), (5, 2), (6, 1)]]
    cases += [[(int(w), int(some.integers(1, 9))) for w in np.sort(some.permutation(D)[:6])] for _ in range(10)]
    found = sums.norms(make_units([[document] for document in cases]), np.arange(len(cases)))
    bounds = sums._bounds(make_units([[document] for document in cases]), np.arange(len(cases)))
    for bound, norm, document in zip(bounds, found, cases, strict=True):
        exact = exact_norm(W, document)
        assert exact <= bound
        assert norm == pytest.approx(exact, rel=1e-4, abs=1e-4 * float(np.abs(W[[w for w, _ in document]]).max()) ** 3)
        assert bound == np.inf or bound <= exact * (1 + 1e-4)
    assert np.isfinite(bounds).sum() > len(cases) / 3


def exact_mean(W, documents):
    """The mean of the documents' contributions, formed coordinate by coordinate."""
    mean = np.zeros((K, K, K), np.longdouble)
    for document in documents:
        words, c = (np.array(x) for x in zip(*document, strict=True))
        w, c = W[words].astype(np.longdouble), c.astype(np.longdouble)
        y, R, Q = c @ w, (c[:, None] * w).T @ w, np.einsum("i,ia,ib,ic->abc", c, w, w, w)
        P = R[:, :, None] * y
        T = y[:, None, None] * y[:, None] * y - P - P.transpose(0, 2, 1) - P.transpose(2, 1, 0) + 2 * Q
        mean += T / (c.sum() * (c.sum() - 1) * (c.sum() - 2)) / len(documents)
    return mean


@pytest.mark.parametrize("rows", ROWS)
def test_the_norm_bound_of_several_documents_is_never_below_the_norm_of_their_mean(rows):
    W = statistics.third_moment(ROWS[rows]).matrix
    sums, some = ProductSums(statistics.third_moment(W)), np.random.default_rng(4)
    one, opposite = [(0, 3), (2, 1), (4, 2)], [(1, 3), (3, 1), (5, 2)]  # with opposite rows, their mean is 0
    cases = [[one, one], [one, opposite], [one, one, opposite], [[(0, 3)], [(0, 2), (1, 1)]]]
    cases += [
        [
            [(int(w), int(some.integers(1, 9))) for w in np.sort(some.permutation(D)[: some.integers(2, 9)])]
            for _ in range(some.integers(2, 6))
        ]
        for _ in range(10)
    ]
    cases = [[document for document in unit if sum(c for _, c in document) >= 3] for unit in cases]
    bounds = sums._bounds(make_units(cases), np.arange(len(cases)))
    for bound, unit in zip(bounds, cases, strict=True):
        exact = float(np.sqrt((exact_mean(W, unit) ** 2).sum()))
        assert exact <= bound
        assert bound == np.inf or bound <= exact * (1 + 1e-4)
    assert np.isfinite(bounds).sum() >= len(cases) - 2, "all but those that cancel"
    alone = sums._bounds(make_units([[document] for document in cases[4]]), np.arange(len(cases[4])))
    assert bounds[4] < alone.mean(), "the norm of a mean, and not the mean of the norms"


def test_a_unit_of_more_documents_than_a_batch_has_rows_for_takes_the_other_way():
    contribution = statistics.third_moment(ROWS["ordinary"])
    sums, slow = ProductSums(contribution), UnitSums(contribution)
    document = [(0, 2), (1, 1), (2, 2)]
    most = products._MOST_DOCUMENTS
    counts = make_units([[document] * most, [document] * (most + 1), [[(3, 1)], document, document, [(3, 2)]]])
    assert np.isfinite(sums._bounds(counts, np.arange(3))).tolist() == [True, False, True]
    parts = summed(sums, counts, [1, 2], 1.0)
    assert np.array_equal(parts[5], slow.total(counts, np.array([1]), 1.0)[0])
    assert not summed(sums, counts, [0], 1.0)[5].any()
    found, mass = sums.finish(summed(sums, counts, [2], 1.0))
    alone, expected = sums.finish(summed(sums, make_units([[document]]), [0], 1.0))
    assert squared_length(found - alone, mass - expected, contribution.weights) < (0.001 * BOUND) ** 2, (
        "equal documents"
    )


def test_units_that_cannot_be_written_in_integers_take_the_other_way():
    W = ROWS["ordinary"].copy()
    W[3] = np.inf
    W[4] = 1e12
    contribution = statistics.third_moment(W)
    sums, slow = ProductSums(contribution), UnitSums(contribution)
    ordinary = [(0, 2), (1, 1), (2, 2)]
    odd = [[(0, 1), (3, 2)], [(2, 1), (1, 2)], [(0, 1), (0, 2)], [(4, 1), (5, 2)]]
    odd_units = [unit for document in odd for unit in ([document], [ordinary, document], [document, ordinary])]
    counts = make_units([[ordinary], *odd_units])
    parts = summed(sums, counts, range(13), 1.0)
    expected, mass = slow.total(counts, np.arange(1, 13), 1.0)
    assert np.array_equal(parts[5], expected)
    alone = summed(sums, counts, [0], 1.0)
    assert same(parts[:5], alone[:5])
    assert parts[6] == mass + alone[6]


def test_rows_that_are_zero_or_tiny_do_not_break_bounds():
    W = ROWS["ordinary"].copy()
    W[:10], W[10:20] = 0.0, W[10:20] * 1e-36
    contribution = statistics.third_moment(W)
    sums, slow = ProductSums(contribution), UnitSums(contribution)
    counts = make_units([[[(0, 3)]], [[(0, 1), (12, 2)]], [[(11, 1), (12, 2)]], [[(3, 1), (21, 2), (22, 1)]]])
    for unit, other in zip(sums.norms(counts, np.arange(4)), slow.norms(counts, np.arange(4)), strict=True):
        assert unit == pytest.approx(other, rel=1e-4)
    parts = summed(sums, counts, [3], 0.1)
    assert not parts[5].any()


def test_misstated_weights_are_clipped_unit_by_unit():
    """Clipping and noise use the same weights."""
    contribution = statistics.third_moment(ROWS["ordinary"])
    misstated = replace(contribution, weights=1000 * contribution.weights)
    assert isinstance(sums_of(misstated), UnitSums)


def test_batches_and_conversions_do_not_change_sums(monkeypatch):
    contribution = statistics.third_moment(ROWS["ordinary"])
    some = np.random.default_rng(2)
    counts = make_units(
        [[[(int(w), int(some.integers(1, 4))) for w in np.sort(some.permutation(D)[:5])]] for _ in range(150)]
    )
    whole = summed(ProductSums(contribution), counts, range(150), 0.5)
    monkeypatch.setattr(products, "_FLUSH", 64)
    monkeypatch.setattr(products, "_BUFFER", 1)
    assert same(whole, summed(ProductSums(contribution), counts, range(150), 0.5))


def test_few_topics_and_other_statistics_are_summed_unit_by_unit():
    assert isinstance(sums_of(statistics.third_moment(np.ones((3, products._LEAST_TOPICS)))), ProductSums)
    assert isinstance(sums_of(statistics.third_moment(np.ones((3, products._LEAST_TOPICS - 1)))), UnitSums)
    assert isinstance(sums_of(statistics.core(np.ones(3), np.ones((3, 50)))), UnitSums)
