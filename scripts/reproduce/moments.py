"""DeCarolis et al.: are the moments unbiased (Lemmas 24 to 26), and are the sensitivities what is printed?

Unbiased: the mean of estimates over many small corpora of a known LDA against its exact moments, for the corrected
U-statistics, for the plug-in averages that `dplda` releases, and for what the lemmas print. Sensitivities: the largest
change over pairs of neighbouring corpora (one document replaced) against the printed bounds of Theorem 4, Theorem 5
and Lemma 9, and against the corrected ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplda.learning.placements import published
from dplda.learning.recovery import corrected_second_moment, corrected_third_moment
from dplda.private.statistics.lda_moments import coefficients, pairings, population_moments
from reproduce.common import curve, exponent, finish, guide, panels, report, table

ALPHA = np.array([0.4, 0.8])
TOPICS = np.array([[0.6, 0.2, 0.1, 0.1], [0.05, 0.15, 0.3, 0.5]])
DOCUMENTS = 8  # of each small corpus, few so that a bias of order 1 / N shows
NEIGHBOURS = 40  # documents of the corpora whose neighbours are searched


Rows = Sequence[tuple[float, ...]]


@dataclass(frozen=True)
class Sizes:
    """How far each part goes."""

    corpora: int
    alphas: tuple[float, ...]
    ties: tuple[int, ...]  # documents of the least frequent of three kinds
    rare: tuple[int, ...]  # documents of the corpora for Lemma 9
    angles: int


SIZES = {
    "full": Sizes(
        200_000,
        tuple(10.0 ** np.arange(-2, 2.01, 0.25)),
        (10**2, 10**3, 10**4, 10**5, 10**6, 10**7),
        (10**2, 10**3, 10**4, 10**5, 10**6),
        1441,
    ),
    "quick": Sizes(20_000, (0.01, 0.1, 1.0, 10.0, 100.0), (10**2, 10**4, 10**6), (10**2, 10**4, 10**6), 361),
}


def main(quick: bool, seed: int, figure: Path) -> None:
    """Measure, print and draw."""
    sizes, random = SIZES["quick" if quick else "full"], np.random.default_rng(seed)
    report("bias")
    bias = biases(sizes.corpora, random)
    report("Theorem 4")
    changes = [(alpha0, *largest_changes(alpha0)) for alpha0 in sizes.alphas]
    report("Theorem 5")
    ties = [near_tie(n, sizes.angles) for n in sizes.ties]
    rare = [rare_document(n) for n in sizes.rare]
    print_tables(bias, changes, ties, rare)
    draw(bias, changes, ties, rare, figure)


def document_moments(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equations (6) to (8): (n, d), (n, d, d) and (n, d, d, d) averages over distinct tokens of documents (n, d)."""
    c, eye = counts.astype(float), np.eye(counts.shape[1])
    length = c.sum(axis=1)
    second = np.einsum("ni,nj->nij", c, c) - np.einsum("ni,ij->nij", c, eye)
    cross = np.einsum("ni,nj->nij", c, c)
    third = np.einsum("ni,nj,nk->nijk", c, c, c) + 2 * np.einsum("ni,ij,jk->nijk", c, eye, eye)
    third -= np.einsum("nij,ik->nijk", cross, eye) + np.einsum("nij,jk->nijk", cross, eye)
    third -= np.einsum("nik,ij->nijk", cross, eye)
    pairs, triples = length * (length - 1), length * (length - 1) * (length - 2)
    return c / length[:, None], second / pairs[:, None, None], third / triples[:, None, None, None]


@dataclass(frozen=True)
class Sums:
    """Sums over a corpus of N documents: of moments, and of their products within a document."""

    N: float
    one: np.ndarray
    two: np.ndarray
    three: np.ndarray
    one_one: np.ndarray
    two_one: np.ndarray
    one_one_one: np.ndarray


def sums(counts: np.ndarray, times: np.ndarray) -> Sums:
    """Sums over a corpus in which document i, counts[i], comes times[i] times."""
    one, two, three = document_moments(counts)
    w = times.astype(float)
    return Sums(
        N=float(w.sum()),
        one=w @ one,
        two=np.einsum("n,nij->ij", w, two),
        three=np.einsum("n,nijk->ijk", w, three),
        one_one=np.einsum("n,ni,nj->ij", w, one, one),
        two_one=np.einsum("n,nij,nk->ijk", w, two, one),
        one_one_one=np.einsum("n,ni,nj,nk->ijk", w, one, one, one),
    )


def three_places(T: np.ndarray) -> np.ndarray:
    """The sum of T_ijk over the places of its last index; T is symmetric in the others."""
    return T + T.transpose(0, 2, 1) + T.transpose(2, 0, 1)


def unbiased(s: Sums, alpha0: float) -> tuple[np.ndarray, np.ndarray]:
    """M2 and M3 by U-statistics: every product is over distinct documents (what the proof of Lemma 26 is about)."""
    a, b, c3 = coefficients(alpha0)
    pairs, triples = s.N * (s.N - 1), s.N * (s.N - 1) * (s.N - 2)
    mm = (np.outer(s.one, s.one) - s.one_one) / pairs
    Em = (np.multiply.outer(s.two, s.one) - s.two_one) / pairs
    mmm = np.einsum("i,j,k->ijk", s.one, s.one, s.one) - pairings(s.one_one, s.one) + 2 * s.one_one_one
    return s.two / s.N - a * mm, s.three / s.N + b * three_places(Em) + c3 * mmm / triples


def plug_in(s: Sums, alpha0: float) -> tuple[np.ndarray, np.ndarray]:
    """M2 and M3 from plain averages, as `dplda` computes them from released sums."""
    m, E2 = s.one / s.N, s.two / s.N
    return corrected_second_moment(E2, m, alpha0), corrected_third_moment(s.three / s.N, E2, m, alpha0)


def as_printed(s: Sums, alpha0: float) -> tuple[np.ndarray, np.ndarray]:
    """M2 with alpha0 / (alpha0 + 2), as after (32); M3 with B1 of (20), its B3 a copy of B2, and (21) over N^3."""
    _, b, c3 = coefficients(alpha0)
    m, E2 = s.one / s.N, s.two / s.N
    B1 = b * s.N / (s.N - 1) * np.multiply.outer(E2, m)
    B2 = B1.transpose(0, 2, 1)  # [B2]_ijk = [B1]_ikj
    B3 = B1.transpose(1, 2, 0)  # [B3]_ijk = [B1]_kij
    return E2 + b * np.outer(m, m), s.three / s.N + B1 + B2 + B3 + c3 * np.einsum("i,j,k->ijk", m, m, m)


def draw_corpus(random: np.random.Generator) -> np.ndarray:
    """Counts (DOCUMENTS, d) of a corpus of LDA with documents of three to eight tokens."""
    topics = random.dirichlet(ALPHA, DOCUMENTS)
    return random.multinomial(random.integers(3, 9, DOCUMENTS), topics @ TOPICS)


def biases(corpora: int, random: np.random.Generator) -> dict[str, dict[int, float]]:
    """Relative errors of means of estimates, by estimator and number of corpora averaged."""
    exact, alpha0 = population_moments(TOPICS, ALPHA), float(ALPHA.sum())
    estimators = {"U-statistics": unbiased, "plug-in": plug_in, "as printed": as_printed}
    totals: dict[str, list[np.ndarray]] = {name: [np.zeros((4, 4)), np.zeros((4, 4, 4))] for name in estimators}
    found: dict[str, dict[int, float]] = {f"M{i} {name}": {} for name in estimators for i in (2, 3)}
    marks = {round(10 ** float(x)) for x in np.arange(1, math.log10(corpora) + 0.01, 0.5)} | {corpora}
    once = np.ones(DOCUMENTS)
    for seen in range(1, corpora + 1):
        s = sums(draw_corpus(random), once)
        for name, estimator in estimators.items():
            for i, estimate in enumerate(estimator(s, alpha0)):
                totals[name][i] += estimate
                if seen in marks:
                    truth = (exact.M2, exact.M3)[i]
                    error = np.linalg.norm(totals[name][i] / seen - truth) / np.linalg.norm(truth)
                    found[f"M{i + 2} {name}"][seen] = float(error)
    return found


def largest_changes(alpha0: float) -> tuple[float, float]:
    """N times the largest l1 changes of M2 and M3 over the searched neighbours.

    N - 1 documents are of one kind or of two in equal parts, the last one is any other: kinds are all documents of
    three tokens over three words. A change is convex in every document, so that extreme corpora are the ones to search.
    """
    kinds = np.array([kind for kind in itertools.product(range(4), repeat=3) if sum(kind) == 3])
    most2 = most3 = 0.0
    for i, j in itertools.combinations_with_replacement(range(len(kinds)), 2):
        base = np.zeros(len(kinds))
        base[i] += NEIGHBOURS // 2
        base[j] += NEIGHBOURS - 1 - NEIGHBOURS // 2
        estimates = [unbiased(sums(kinds, base + np.eye(len(kinds))[last]), alpha0) for last in range(len(kinds))]
        for (A2, A3), (B2, B3) in itertools.combinations(estimates, 2):
            most2, most3 = max(most2, np.abs(A2 - B2).sum()), max(most3, np.abs(A3 - B3).sum())
    return NEIGHBOURS * most2, NEIGHBOURS * most3


def corrected_delta_3(documents: float, alpha0: float) -> float:
    """The l1 sensitivity of M3 with all three terms B counted."""
    _, b, c3 = coefficients(alpha0)
    return (2 - 12 * b + 6 * c3) / documents


def whitened(
    counts: np.ndarray, times: np.ndarray, k: int, W: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T = E3(W, W, W), W and the eigenvalues of E2, at alpha0 = 0; W whitens E2 unless it is given."""
    s = sums(counts, times)
    values, vectors = np.linalg.eigh(s.two / s.N)
    values, vectors = values[::-1], vectors[:, ::-1]
    if W is None:
        W = vectors[:, :k] / np.sqrt(values[:k])
    return np.einsum("ijl,ia,jb,lc->abc", s.three / s.N, W, W, W), W, values


def theorem_5(documents: float, sigma_k: float, k: int) -> float:
    """The printed sensitivity of the whitened M3 at alpha0 = 0 (equation 113)."""
    change, root = published.delta_2(documents, 0.0), math.sqrt(sigma_k - published.delta_2(documents, 0.0))
    whitener = (math.sqrt(2 * k) * change / (sigma_k * root)) ** 3
    return published.m3_norm(documents, 0.0) * whitener + published.delta_3(documents, 0.0) * (math.sqrt(k) / root) ** 3


def near_tie(n: int, angles: int) -> tuple[float, float, float, float]:
    """N, the change of T when one document of a corpus with a near tie at the cut is replaced, the claim, and W fixed.

    4 n documents of one word, n + 3 of a second, n of a third; one of the second becomes one of second and third. The
    gap is 3 / N, above Delta_2 = 2 / N as Theorem 5 asks. The change is the least over all rotations and reflections.
    """
    kinds = np.array([[3, 0, 0], [0, 3, 0], [0, 0, 3], [0, 2, 2]])
    before, after = np.array([4 * n, n + 3, n, 0]), np.array([4 * n, n + 2, n, 1])
    T, W, values = whitened(kinds, before, 2)
    other = whitened(kinds, after, 2)[0]
    turned = [np.linalg.norm(T - rotated(other, R)) for R in rotations(angles)]
    fixed = np.linalg.norm(T - whitened(kinds, after, 2, W)[0])
    N = float(before.sum())
    return N, float(min(turned)), theorem_5(N, values[1], 2), float(fixed)


def rotations(angles: int) -> list[np.ndarray]:
    """Rotations and reflections of the plane."""
    turns = np.linspace(0, 2 * np.pi, angles)
    return [np.array([[np.cos(t), -f * np.sin(t)], [np.sin(t), f * np.cos(t)]]) for t in turns for f in (1, -1)]


def rotated(T: np.ndarray, R: np.ndarray) -> np.ndarray:
    """T(R, R, R)."""
    return np.einsum("abc,ax,by,cz->xyz", T, R, R, R)


def rare_document(N: int) -> tuple[float, float, float]:
    """N, and the changes of gamma_s and of sigma_k times N when one document of two kinds is replaced.

    One document of a rare word becomes two, at alpha0 = 0, where whitened values are (N / n_i)^(1/2). sigma_k: k = 1
    and alpha0 so large that a is 1, one of N equal documents is replaced.
    """
    kinds = np.array([[3, 0], [0, 3]])

    def gamma(rare: int) -> float:
        T, _, _ = whitened(kinds, np.array([N - rare, rare]), 2)
        values = np.sort(np.abs(T[[0, 1], [0, 1], [0, 1]]))
        return float(values[1] - values[0]) / 4

    def sigma(rare: int) -> float:
        return float(np.linalg.eigvalsh(unbiased(sums(kinds, np.array([N - rare, rare])), 1e12)[0])[-1])

    return N, abs(gamma(1) - gamma(2)), N * abs(sigma(0) - sigma(1))


def print_tables(bias: dict[str, dict[int, float]], changes: Rows, ties: Rows, rare: Rows) -> None:
    """One table for each claim."""
    marks = sorted(next(iter(bias.values())))
    shown = marks[:: max(1, len(marks) // 4)]
    print(f"**Lemmas 24 to 26**: relative error of the mean estimate, corpora of {DOCUMENTS} documents\n")
    header = ["estimate", *(f"{mark} corpora" for mark in shown), "exponent"]
    rows = [[name, *(e[mark] for mark in shown), exponent(marks, [e[m] for m in marks])] for name, e in bias.items()]
    print(table(header, rows))
    print(f"**Theorem 4**: N times l1 sensitivities, N = {NEIGHBOURS}\n")
    header = ["alpha0", "M2 realised", "M2 printed", "M3 realised", "M3 printed", "M3 corrected"]
    print(table(header, [theorem_4_row(*change) for change in changes]))
    print("**Theorem 5**: change of the whitened tensor, one document replaced, near tie at the cut\n")
    print(table(["N", "best over rotations", "printed bound", "W fixed (config 2)"], ties))
    print("**Lemma 9**: printed 1 for gamma_s, and 1/N in the proof for sigma_k\n")
    print(table(["N", "gamma_s changes by", "sigma_k changes by, times N"], rare))


def theorem_4_row(alpha0: float, most2: float, most3: float) -> list[float]:
    """Realised changes beside the bounds, all times N."""
    N = NEIGHBOURS
    bounds = [N * bound(N, alpha0) for bound in (published.delta_2, published.delta_3, corrected_delta_3)]
    return [alpha0, most2, bounds[0], most3, *bounds[1:]]


def draw(bias: dict[str, dict[int, float]], changes: Rows, ties: Rows, rare: Rows, path: Path) -> None:
    """One panel for each claim."""
    figure, (a, b, c, d) = panels(2, 2)
    for i, (name, errors) in enumerate(bias.items()):
        curve(a, list(errors), list(errors.values()), i, name)
    marks = list(next(iter(bias.values())))
    guide(a, marks, bias["M3 U-statistics"][marks[0]], -0.5, "slope −1/2")
    a.set(xscale="log", yscale="log", xlabel="corpora averaged", ylabel="relative error", title="Lemmas 24–26: bias")
    rows = np.array([theorem_4_row(*change) for change in changes])
    for i, (column, name) in enumerate(
        ((3, "M3 realised"), (4, "M3 printed (96)"), (5, "M3 corrected"), (1, "M2 realised"), (2, "M2 printed (82)"))
    ):
        curve(b, rows[:, 0], rows[:, column], i, name)
    b.set(xscale="log", xlabel="α₀", ylabel="N · l1 change", title="Theorem 4")
    for i, name in ((1, "realised, best rotation"), (2, "printed bound (113)"), (3, "realised, W fixed")):
        curve(c, [tie[0] for tie in ties], [tie[i] for tie in ties], i - 1, name)
    c.set(xscale="log", yscale="log", xlabel="documents N", ylabel="change of whitened M3", title="Theorem 5")
    curve(d, [found[0] for found in rare], [found[1] for found in rare], 0, "γₛ realised")
    guide(d, [found[0] for found in rare], 1.0, 0.0, "γₛ printed: 1")
    curve(d, [found[0] for found in rare], [found[2] for found in rare], 1, "N · σₖ realised (printed: 1)")
    d.set(xscale="log", yscale="log", xlabel="documents N", ylabel="change", title="Lemma 9")
    for ax in (a, b, c, d):
        ax.legend(fontsize=6.5, frameon=False)
    finish(figure, path)
