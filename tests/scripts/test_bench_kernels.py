from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from full_helpers import full_after
from scipy import sparse

from benchmarks import kernel_costs, kernels
from benchmarks.corpora import planted_topics, stored_counts, write_store
from benchmarks.kernel_costs import Cost, Size
from dplda.private import statistics
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.expected_counts import _exp_digamma
from dplda.private.store.units import UnitCounts

D, P, R = 7, 3, 2
Document = tuple[list[int], list[int]]  # words and counts
DOCUMENTS: list[Document] = [([0, 2, 3], [2, 1, 1]), ([1, 4, 5, 6], [1, 3, 1, 2])]
STEPS, ALPHA = 40, 2.0  # plain steps, after which nothing moves any more


class Tally:
    """Operations done, numbers gathered from rows, and coordinates added to a sum."""

    def __init__(self) -> None:
        self.flops = self.gathered = self.touched = 0


class Counted:
    """A number whose arithmetic is counted."""

    def __init__(self, value: float, tally: Tally) -> None:
        self.value, self.tally = float(value), tally

    def _made(self, value: float) -> Counted:
        self.tally.flops += 1
        return Counted(value, self.tally)

    def __add__(self, other: Counted | float) -> Counted:
        return self._made(self.value + float(other))

    def __mul__(self, other: Counted | float) -> Counted:
        return self._made(self.value * float(other))

    def __sub__(self, other: Counted | float) -> Counted:
        return self._made(self.value - float(other))

    def __truediv__(self, other: Counted | float) -> Counted:
        return self._made(self.value / float(other))

    __radd__, __rmul__ = __add__, __mul__

    def __rtruediv__(self, other: float) -> Counted:
        return self._made(float(other) / self.value)

    def __float__(self) -> float:
        return self.value

    def __gt__(self, other: float) -> bool:
        return self.value > other


class Work:
    """One document's numbers, counted, and what is done with a contribution of it."""

    def __init__(self, tally: Tally, document: Document, matrix: np.ndarray) -> None:
        self.tally, (self.words, counts), self._matrix = tally, document, matrix
        self.length = float(sum(counts))
        self.counts = [self.number(c) for c in counts]

    def number(self, value: float) -> Counted:
        return Counted(value, self.tally)

    def zeros(self, *shape: int) -> np.ndarray:
        return np.array([self.number(0.0) for _ in range(int(np.prod(shape)))]).reshape(shape)

    def rows(self) -> Iterator[tuple[Counted, np.ndarray]]:
        """Each entry's share, and its row of the matrix."""
        for word, count in zip(self.words, self.counts, strict=True):
            self.tally.gathered += self._matrix.shape[1]
            yield count * (1 / self.length), np.array([self.number(x) for x in self._matrix[word]])

    def add(self, contribution: np.ndarray, total: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Norm, scaling, exact check and sum of every coordinate, as for `quantise`."""
        norm, check, places = self.number(0.0), self.number(0.0), np.ndindex(contribution.shape)
        for place in places:
            x, weight = contribution[place], None if weights is None else self.number(weights[place])
            norm = norm + (x * x if weight is None else weight * (x * x))
            z = x * 1.0
            check = check + (z * z if weight is None else weight * (z * z))
            total[place] = float(z + total[place])
            self.tally.touched += 1


def first(work: Work, total: np.ndarray) -> None:
    rows = np.array([[share * row[0]] for share, row in work.rows()])
    _scatter(work, rows, total)


def second_times(work: Work, total: np.ndarray) -> None:
    y, kept = work.zeros(P), []
    for share, row in work.rows():
        kept.append((share, row))
        for a in range(P):
            y[a] = y[a] + share * row[a]
    y = np.array([x * (work.length / (work.length - 1)) for x in y])
    lattice = 1 / (work.length - 1)
    out = []
    for share, row in kept:
        h = share * 1.0  # times the word's scale, one here
        out.append([h * (y[a] - row[a] * lattice) for a in range(P)])
    _scatter(work, np.array(out), total)


def core(work: Work, total: np.ndarray) -> None:
    y, pairs = work.zeros(P), _pairs(P)
    r = work.zeros(len(pairs))
    for share, row in work.rows():
        _project(share, row, y, pairs, r)
    out = [y[a] * y[b] - r[t] * (1 / work.length) for t, (a, b) in enumerate(pairs)]
    _single(work, out, total, work.length / (work.length - 1), [1 if a == b else 2 for a, b in pairs])


def third(work: Work, total: np.ndarray) -> None:
    y, pairs, places = work.zeros(P), _pairs(P), _triples(P)
    r, q = work.zeros(len(pairs)), work.zeros(len(places))
    for share, row in work.rows():
        products = _project(share, row, y, pairs, r)
        for t, (a, b, c) in enumerate(places):
            q[t] = q[t] + products[a, b] * row[c]
    length = work.length
    R = {pair: x * (1 / length) for pair, x in zip(pairs, r, strict=True)}
    outside = {(a, b): y[a] * y[b] - R[a, b] for a, b in pairs}
    out = []
    for t, (a, b, c) in enumerate(places):
        mixed = R[a, c] * y[b] + R[b, c] * y[a]
        out.append(outside[a, b] * y[c] - mixed + q[t] * (2 / length**2))
    weights = [{1: 1, 2: 3, 3: 6}[len({a, b, c})] for a, b, c in places]
    _single(work, out, total, length**2 / ((length - 1) * (length - 2)), weights)


def along(work: Work, total: np.ndarray) -> None:
    y, r, kept, length = work.zeros(P + R), work.zeros(R), [], work.length
    for share, row in work.rows():
        z = [share * x for x in row]
        for a in range(P + R):
            y[a] = y[a] + z[a]
        for j in range(R):
            r[j] = r[j] + z[P + j] * row[P + j]
        kept.append((z, row))
    out = work.zeros(R, P)
    for z, row in kept:
        for j in range(R):
            factor = z[P + j] * (row[P + j] * (1 / length) - y[P + j])
            for a in range(P):
                out[j, a] = out[j, a] + factor * row[a]
    for j in range(R):
        outside = y[P + j] * y[P + j] - r[j] * (1 / length)
        for a in range(P):
            out[j, a] = outside * y[a] + out[j, a] * (2 / length)
    _single(work, out.reshape(-1), total, length**2 / ((length - 1) * (length - 2)), None)


def expected(work: Work, total: np.ndarray) -> None:
    theta = np.array([work.number(1.0) for _ in range(P)])
    rows = [row for _, row in _without_shares(work)]
    for _ in range(STEPS):
        gamma = work.zeros(P)
        for count, row in zip(work.counts, rows, strict=True):
            quotient = count / _mass(work, theta, row)
            for z in range(P):
                gamma[z] = gamma[z] + quotient * row[z]
        gamma = np.array([ALPHA + theta[z] * gamma[z] for z in range(P)])
        theta = np.array([_exp_digamma.py_func(x) for x in gamma])
    out = []
    for count, row in zip(work.counts, rows, strict=True):
        share = 1.0 * (count / _mass(work, theta, row))
        out.append([share * theta[z] * row[z] for z in range(P)])
    _scatter(work, np.array(out), total)


def _without_shares(work: Work) -> list[tuple[Counted, np.ndarray]]:
    before = work.tally.flops
    rows = list(work.rows())
    work.tally.flops = before
    return rows


def _mass(work: Work, theta: np.ndarray, row: np.ndarray) -> Counted:
    mass = work.number(1e-30)
    for weight, x in zip(theta, row, strict=True):
        mass = mass + weight * x
    return mass


def _project(
    share: Counted, row: np.ndarray, y: np.ndarray, pairs: list[tuple[int, int]], r: np.ndarray
) -> dict[tuple[int, int], Counted]:
    z = [share * x for x in row]
    for a in range(P):
        y[a] = y[a] + z[a]
    products = {(a, b): z[a] * row[b] for a, b in pairs}
    for t, pair in enumerate(pairs):
        r[t] = r[t] + products[pair]
    return products


def _scatter(work: Work, rows: np.ndarray, total: np.ndarray) -> None:
    part = np.zeros(rows.shape)
    work.add(rows, part)
    total[work.words] += part


def _single(work: Work, out: Sequence[Counted], total: np.ndarray, norm: float, weights: list[int] | None) -> None:
    """`norm` belongs to the document and is part of the factor that scales to the lattice."""
    part = np.zeros(len(out))
    work.add(np.array(out), part, None if weights is None else np.array(weights))
    total[0] += norm * part


def _pairs(p: int) -> list[tuple[int, int]]:
    return list(itertools.combinations_with_replacement(range(p), 2))


def _triples(k: int) -> list[tuple[int, int, int]]:
    return list(itertools.combinations_with_replacement(range(k), 3))


SIZE = Size(len(DOCUMENTS), 7, D, STEPS * len(DOCUMENTS), STEPS * 7)
X = np.random.default_rng(0).uniform(0.1, 1.0, (D, P)).astype(np.float32)
U = np.linalg.qr(np.random.default_rng(1).standard_normal((P, R)))[0]
CASES: dict[str, tuple[Callable[[Work, np.ndarray], None], Contribution, Cost]] = {
    "first": (first, statistics.first_moment(X[:, 0]), kernel_costs.first_moment(SIZE)),
    "second": (
        second_times,
        statistics.second_moment_times(np.ones(D), X),
        kernel_costs.second_moment_times(SIZE, P),
    ),
    "core": (core, statistics.core(np.ones(D), X), kernel_costs.core(SIZE, P)),
    "third": (third, statistics.third_moment(X), kernel_costs.third_moment(SIZE, P)),
    "along": (along, statistics.third_moment_along(X, U), kernel_costs.third_moment_along(SIZE, P, R)),
    "expected": (expected, statistics.expected_counts(X, ALPHA), kernel_costs.expected_counts(SIZE, P)),
}


def tiny() -> UnitCounts:
    words = np.concatenate([np.array(words, np.int32) for words, _ in DOCUMENTS])
    counts = np.concatenate([np.array(counts, np.int32) for _, counts in DOCUMENTS])
    indptr = np.cumsum([0, *(len(words) for words, _ in DOCUMENTS)]).astype(np.int64)
    return UnitCounts(indptr, words, counts, np.arange(len(DOCUMENTS) + 1), D)


@pytest.mark.parametrize("name", full_after(1, CASES))
def test_costs_are_those_of_a_counted_sum_that_is_the_kernel_s(name: str) -> None:
    reference, f, cost = CASES[name]
    tally, total = Tally(), np.zeros(f.shape)
    matrix = f.scale[:, None] if name == "first" else f.matrix
    for document in DOCUMENTS:
        reference(Work(tally, document, matrix), total)
    assert tally.flops == cost.flops
    assert cost.caches == kernel_costs.NUMBER * tally.gathered + kernel_costs.SUM * tally.touched

    clip = 100.0
    found = kernels.clipped_sum(tiny(), f, clip) * (clip / BOUND)
    assert found == pytest.approx(total, abs=0.01 if name == "expected" else 1e-3)  # an E-step ends near its limit


@pytest.mark.parametrize("name", CASES)
def test_memory_is_that_of_the_arrays(name: str) -> None:
    _, f, cost = CASES[name]
    counts, matrix = tiny(), f.scale if name == "first" else f.matrix
    chosen = np.arange(counts.n_units)
    pointers = counts.indptr[1:].nbytes + counts.unit_ptr[1:].nbytes + chosen.nbytes
    sums = 2 * 8 * int(np.prod(f.shape))
    assert cost.memory == counts.words.nbytes + counts.counts.nbytes + pointers + matrix.nbytes + sums


@pytest.mark.full
def test_table_of_a_tiny_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"MATRIX": 64, "LARGE": 1 << 12, "SMALL": 1 << 10, "PILOT": 20}.items():
        monkeypatch.setattr(kernels, name, value)
    write_store(tmp_path / "store", 60, 50, 4)
    kernels.measure(tmp_path / "store", 4, 50, 30, documents=60, repeats=1, seconds=0.001)
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len({len(row) for row in rows[:1] + rows[2:]}) == 1
    assert [row[0].strip("| ") for row in rows[2:]] == [name for name, *_ in kernels.kernels(planted_topics(50, 4, 30))]


def planted() -> tuple[sparse.csr_matrix, np.ndarray]:
    return sparse.csr_matrix(np.ones((2, 30), np.int32)), planted_topics(50, 4, 30)


def test_topics_are_told_from_the_numbers_alone(tmp_path: Path) -> None:
    write_store(tmp_path / "store", 20_000, 40, 3)
    counts = stored_counts(tmp_path / "store", 20_000, 40)
    found = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    assert found == pytest.approx(planted_topics(40, 3, 40).mean(axis=0), abs=0.01)
    assert stored_counts(tmp_path / "store", 17, 5).shape == (17, 5)
    assert planted_topics(40, 3, 5).sum(axis=1) == pytest.approx(1.0)
