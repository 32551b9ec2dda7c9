"""Propose-test-release: outputs with noise scaled to their local sensitivity (docs/privacy.md, T4 to T6).

A release first consists of private bounds, and then of the output. Some of the bounds are tests (docs/privacy.md,
section 3, T4). If a test fails, the output is neither released nor charged; each function says which bounds it charges
before it stops. The eigen-solvers are backward stable: their result is exact for an input within relative distance
`_SOLVER` of the given one. Every sensitivity is therefore increased by twice that distance (section 5).

Whatever depends on the data enters a sensitivity as a one-sided bound from a private test, in which the sensitivity is
monotone. M and B = M3(., ., h), both (d, d), are the moments of the placement ``config4``; this B is not the bound of
the lattice. L_H is T6's bound, in Frobenius norm, on how much one unit can change H.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dplda.budget.events import Stage
from dplda.private.gate import PtrResult, StabilityTest
from dplda.private.noise import NoisyValues, ReleaseValues
from dplda.private.statistics.lda_moments import coefficients, pack, unpack

KAPPA = 2 / math.sqrt(3)  # T5 (1): the Lipschitz constant of an eigenvalue gap of T(., ., theta)
ROOT2 = math.sqrt(2)
_SINGULAR = 1e-12  # eigenvalues of M up to this count as 0; no test passes for one so small
_SOLVER = 1e-12  # bound on the backward error of eigen-solvers and the arithmetic around them, relative to the norm
_MOST_UNITS = 1e8  # a whitened tensor's norm is cut to this many times its largest change by one unit
_LARGEST2, _LARGEST3 = 2.0, 6.0  # upper bounds of the Frobenius norms of M and of B for every corpus and alpha0


def decomposition_sensitivity(gap: float, norm: float, change: float) -> float:
    """Return T5's bound on the Frobenius change of the columns T(v_i, v_i, .), if T changes by at most `change`.

    `gap` is at most the least eigenvalue gap of T(., ., theta), `norm` at least the operator norm of the (k, k^2)
    unfolding of T. Infinite unless `gap` exceeds `KAPPA` times `change`.
    """
    closing = KAPPA * change / gap if gap > 0 else math.inf
    if closing >= 1:
        return math.inf
    turned = -math.log1p(-closing) / KAPPA
    return (1 - 2 / KAPPA) * change + (2 * norm + 2 * gap / KAPPA) * turned


def moment_changes(alpha0: float, units: float) -> tuple[float, float]:
    """Return (Delta2, Delta3) of T6, for a corpus of at least `units` eligible units.

    In Frobenius norm, one unit changes M = E2 - a m m', a = alpha0 / (alpha0 + 1), by at most Delta2, and B by at most
    Delta3.
    """
    a, b, c3 = coefficients(alpha0)
    return ROOT2 * (1 + 2 * a) / units, (ROOT2 + abs(b) * (5 * ROOT2 + 1) + c3 * (2 * ROOT2 + 1)) / units


@dataclass(frozen=True, kw_only=True)
class TopicStability:
    """The constants of T6 from bounds of the eigenvalues l_1 >= l_2 >= ... of M and of the norm of B."""

    first: float  # >= l_1
    least: float  # <= l_k
    most: float  # >= l_k
    gap: float  # <= l_k - l_(k+1)
    norm: float  # >= the operator norm of B
    change2: float  # >= the change of M by one unit, in Frobenius norm
    change3: float  # >= the change of B by one unit, in Frobenius norm

    @property
    def separated(self) -> bool:
        """Whether l_k and l_k - l_(k+1) are positive in every neighbouring corpus; the other methods assume this."""
        return self._least > 0 and self._gap > 0

    @property
    def gap_change(self) -> float:
        """sqrt(2) L_H: the largest change of an eigenvalue gap of H = R B R, R = M^(-1/2) on the topics' space."""
        root, norm = math.sqrt(self._least), self.norm + self.change3
        turned = max(0.5 / (self._least * root), 1 / (ROOT2 * root * self._gap))
        return ROOT2 * (2 * norm / root * turned * self.change2 + self.change3 / self._least)

    def sensitivity(self, gap: float) -> float:
        """Return T6's bound on the change of the topics (r . x_i) x_i, in Frobenius norm.

        `gap` is at most the least eigenvalue gap of H. Infinite unless it exceeds `gap_change`.
        """
        least_gap = gap - self.gap_change
        if least_gap <= 0:
            return math.inf
        first, most = math.sqrt(self.first + self.change2), math.sqrt((self.most + self.change2) / 2)
        stretched = max(0.5 / math.sqrt(self._least), most / self._gap)
        return 2 * first * (stretched * self.change2 + first * self.gap_change / ROOT2 / least_gap)

    @property
    def _least(self) -> float:
        return self.least - self.change2

    @property
    def _gap(self) -> float:
        return self.gap - ROOT2 * self.change2


@dataclass(frozen=True, repr=False)  # no repr: a traceback that prints variables cannot show private values
class PerturbedEigenvectors:
    """The exact `columns` T(v_i, v_i, .), (k, k), of the placement ``config3``; only the release adds noise to them.

    v_i are the eigenvectors of T(., ., theta / |theta|) by descending eigenvalue. `gap`, the least eigenvalue gap, and
    `norm`, the operator norm of the (k, k^2) unfolding of T, bound how much one unit can perturb them.
    """

    gap: float
    norm: float
    columns: np.ndarray


def _whitened_tensor(coordinates: np.ndarray, K: np.ndarray, largest: float) -> np.ndarray:
    """Return T (k, k, k): `unpack(coordinates)`, shrunk to Frobenius norm `largest` if it exceeds that, plus K."""
    total = unpack(coordinates, len(K))
    shrink = min(1.0, largest / max(float(np.linalg.norm(total)), 1e-300))
    return np.asarray(shrink * total + K)


def decompose(T: np.ndarray, theta: np.ndarray, largest: float) -> PerturbedEigenvectors:
    """Decompose the symmetric T (k, k, k) along theta / |theta|.

    The gap is capped at `largest`, a public upper bound on the Frobenius norm of T. For k = 1 the gap is `largest`.
    """
    A = T @ (theta / np.linalg.norm(theta))
    values, V = np.linalg.eigh((A + A.T) / 2)
    V = V[:, ::-1]
    columns = np.einsum("abc,ai,bi->ci", T, V, V, optimize=True)
    norm = float(np.linalg.norm(T.reshape(len(T), -1), 2))
    return PerturbedEigenvectors(float(np.min(np.diff(values), initial=largest)), norm, columns)


@dataclass(frozen=True, repr=False)
class SpectralTopics:
    """The exact `topics` (d, k) of the placement ``config4``; only the release adds noise.

    The columns are (r . x_i) x_i, with |r| = 1.

    Let R = M^(-1/2) on the span of the k leading eigenvectors of M, and v_i the eigenvectors of H = R B R in that span.
    Then x_i = M^(1/2) v_i. For the population's M = sum w_i mu_i mu_i' with topics mu_i, the columns are
    w_i (r . mu_i) mu_i (docs/privacy.md, section 3).

    `eigenvalues` are the 1st, k-th and (k + 1)-th of M; `norm` is the operator norm of B; `gap` is the least eigenvalue
    gap of H. Without k positive eigenvalues, gap and topics are 0.
    """

    eigenvalues: np.ndarray
    norm: float
    gap: float
    topics: np.ndarray


def spectral_topics(M: np.ndarray, B: np.ndarray, r: np.ndarray, k: int) -> SpectralTopics:
    """Return the k topics of M and B = M3(., ., h), both (d, d), by descending eigenvalue of H, for 2 <= k < d.

    r (d,) is scaled to norm 1.
    """
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    norm = float(np.abs(np.linalg.eigvalsh((B + B.T) / 2)).max())
    eigenvalues = values[[-1, -k, -k - 1]]
    if eigenvalues[1] <= _SINGULAR:
        return SpectralTopics(eigenvalues, norm, 0.0, np.zeros((len(M), k)))
    U, root = vectors[:, -k:], np.sqrt(values[-k:])
    H = (U.T @ B @ U) / np.outer(root, root)
    rotated, V = np.linalg.eigh((H + H.T) / 2)
    X = (U * root) @ V[:, ::-1]
    return SpectralTopics(eigenvalues, norm, float(np.diff(rotated).min()), X * (r / np.linalg.norm(r) @ X))


def release_decomposition(
    release: ReleaseValues, coordinates: np.ndarray, K: np.ndarray, theta: np.ndarray, change: float
) -> PtrResult:
    """Release the columns T(v_i, v_i, .), (k, k), of T = `unpack(coordinates)` + K (T5).

    `coordinates` (k (k + 1) (k + 2) / 6,) are the entries at a <= b <= c of the clipped mean of E3(W, W, W), and K (k,
    k, k) is LDA's correction. A unit changes T by at most `change` in Frobenius norm. Charges ``gap``, ``tensor norm``
    and, if the test of the gap passes, ``decomposition``.
    """
    K = unpack(pack(K), len(K))
    T = _whitened_tensor(coordinates, K, _MOST_UNITS * change)
    largest = _MOST_UNITS * change + float(np.linalg.norm(K))  # public, and at least the norm of T
    error = _SOLVER * largest
    exact = decompose(T, theta, largest)
    change += 2 * error
    gap = release(Stage.GAP, np.array([exact.gap]), KAPPA * change)
    gap_low = float(gap.values[0]) - gap.margin() - KAPPA * error
    norm = release(Stage.TENSOR_NORM, np.array([exact.norm]), change)
    norm_up = max(float(norm.values[0]) + norm.margin(), 0.0) + error
    tests = (
        StabilityTest("least eigenvalue gap at least", gap_low, KAPPA * change),
        StabilityTest("tensor norm at most", norm_up),
    )
    sensitivity = decomposition_sensitivity(gap_low, norm_up, change) + 2 * error
    return _release_if_stable(release, Stage.DECOMPOSITION, exact.columns, tests, sensitivity)


def release_topics(release: ReleaseValues, units: NoisyValues, exact: SpectralTopics, alpha0: float) -> PtrResult:
    """Release the columns of `SpectralTopics`, (d, k), with noise scaled to their local sensitivity (T6).

    `units` is the noisy number of eligible units. Charges ``spectrum``, ``norm``, ``eigenvalue gap`` and ``topics``
    until a test fails.
    """
    least_units = max(float(units.values[0]) - units.margin(), 1.0)
    change2, change3 = moment_changes(alpha0, least_units)
    change2 += 2 * _SOLVER * _LARGEST2
    change3 += 2 * _SOLVER * _LARGEST3
    tests = [StabilityTest("units at least", least_units)]

    spectrum = release(Stage.SPECTRUM, exact.eigenvalues, change2)
    margin, margin_of_difference = spectrum.margin(bounds=4), spectrum.margin(bounds=4, terms=2)
    first, kth, after = map(float, spectrum.values)
    bounds = TopicStability(
        first=max(first, kth) + margin,
        least=kth - margin,
        most=kth + margin,
        gap=kth - after - margin_of_difference,
        norm=0.0,
        change2=change2,
        change3=change3,
    )
    tests += [
        StabilityTest("first eigenvalue at most", bounds.first),
        StabilityTest("last topic's eigenvalue at least", bounds.least, change2),
        StabilityTest("its gap to the next at least", bounds.gap, ROOT2 * change2),
    ]
    if not bounds.separated:
        return PtrResult(None, 0.0, tuple(tests))

    norm = release(Stage.NORM, np.array([exact.norm]), change3)
    norm_up = max(float(norm.values[0]) + norm.margin(), 0.0)
    # The solver's error in H, expressed as an error in B.
    error = _SOLVER * _LARGEST3 * (bounds.first + change2) / (bounds.least - change2)
    bounds = replace(bounds, norm=norm_up + error, change3=change3 + 2 * error)
    gap = release(Stage.EIGENVALUE_GAP, np.array([exact.gap]), bounds.gap_change)
    gap_low = float(gap.values[0]) - gap.margin()
    tests += [
        StabilityTest("contracted third moment's norm at most", norm_up),
        StabilityTest("least gap of whitened eigenvalues at least", gap_low, bounds.gap_change),
    ]
    sensitivity = bounds.sensitivity(gap_low) + 2 * _SOLVER * (bounds.first + change2)
    return _release_if_stable(release, Stage.TOPICS, exact.topics, tuple(tests), sensitivity)


def _release_if_stable(
    release: ReleaseValues, stage: str, value: np.ndarray, tests: tuple[StabilityTest, ...], sensitivity: float
) -> PtrResult:
    """Return `value` with noise, or no value if `sensitivity` is not finite."""
    if not math.isfinite(sensitivity):
        return PtrResult(None, 0.0, tests)
    answer = release(stage, value, sensitivity)
    return PtrResult(answer.values, answer.std, tests)
