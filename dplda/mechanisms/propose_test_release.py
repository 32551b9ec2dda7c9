"""Propose-test-release: private tests bound a local sensitivity, and the output is released with noise scaled to it.

Each chain releases its events one by one and stops at the first test that fails (docs/privacy.md, section 3, T4). The
eigen-solvers are exact for a problem within `SOLVER` of theirs, so that every change allowed for is larger by twice
that (section 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dplda.accounting.events import Stage
from dplda.mechanisms.local_sensitivity import (
    KAPPA,
    ROOT2,
    PtrResult,
    StabilityTest,
    TopicStability,
    decomposition_sensitivity,
    moment_changes,
)
from dplda.mechanisms.noise import NoisyValues, ReleaseValues
from dplda.statistics.coordinates import pack, unpack

SINGULAR = 1e-12  # below this an eigenvalue counts as none: no test that passed lets it be so small


@dataclass(frozen=True, repr=False)  # a traceback that shows values must not show these
class PerturbedEigenvectors:
    """Configuration 3: `columns` T(v_i, v_i, .), (k, k), v_i the eigenvectors of T(., ., theta) by falling eigenvalue.

    `gap` is the least gap of those eigenvalues, `norm` the operator norm of the (k, k^2) unfolding of T.
    """

    gap: float
    norm: float
    columns: np.ndarray


def whitened_tensor(coordinates: np.ndarray, K: np.ndarray, largest: float) -> np.ndarray:
    """T (k, k, k): the tensor of `coordinates`, shrunk to Frobenius norm `largest` if it is beyond, plus K."""
    total = unpack(coordinates, len(K))
    shrink = min(1.0, largest / max(float(np.linalg.norm(total)), 1e-300))
    return np.asarray(shrink * total + K)


def decompose(T: np.ndarray, theta: np.ndarray, largest: float) -> PerturbedEigenvectors:
    """Decompose the symmetric T (k, k, k) along theta (k,); gaps are cut at `largest`, which is the gap for k = 1."""
    A = T @ (theta / np.linalg.norm(theta))
    values, V = np.linalg.eigh((A + A.T) / 2)
    V = V[:, ::-1]
    columns = np.einsum("abc,ai,bi->ci", T, V, V, optimize=True)
    norm = float(np.linalg.norm(T.reshape(len(T), -1), 2))
    return PerturbedEigenvectors(float(np.min(np.diff(values), initial=largest)), norm, columns)


@dataclass(frozen=True, repr=False)
class SpectralTopics:
    """Configuration 4: `topics` (d, k), columns (r . x_i) x_i in population w_i (r . mu_i) mu_i.

    `eigenvalues` are the first, the k-th and the next of M, `norm` is the operator norm of B, `gap` the least
    eigenvalue gap of H = R B R with R = M^(-1/2) on the topics' space. Without k positive eigenvalues gap and
    topics are 0.
    """

    eigenvalues: np.ndarray
    norm: float
    gap: float
    topics: np.ndarray


def spectral_topics(M: np.ndarray, B: np.ndarray, r: np.ndarray, k: int) -> SpectralTopics:
    """The k topics behind M and B = M3(., ., h), both (d, d), 2 <= k < d, by falling eigenvalue of H; r (d,) not 0."""
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    norm = float(np.abs(np.linalg.eigvalsh((B + B.T) / 2)).max())
    eigenvalues = values[[-1, -k, -k - 1]]
    if eigenvalues[1] <= SINGULAR:
        return SpectralTopics(eigenvalues, norm, 0.0, np.zeros((len(M), k)))
    U, root = vectors[:, -k:], np.sqrt(values[-k:])
    H = (U.T @ B @ U) / np.outer(root, root)
    turned, V = np.linalg.eigh((H + H.T) / 2)
    X = (U * root) @ V[:, ::-1]
    return SpectralTopics(eigenvalues, norm, float(np.diff(turned).min()), X * (r / np.linalg.norm(r) @ X))


SOLVER = 1e-12  # backward error of eigen-solvers and of the arithmetic around them, over the norm
MOST_UNITS = 1e8  # units that may point the same way in a whitened tensor before it is cut
LARGEST2, LARGEST3 = 2.0, 6.0  # at least the Frobenius norms of M and of B, whatever the corpus and alpha0


def release_decomposition(
    release: ReleaseValues, coordinates: np.ndarray, K: np.ndarray, theta: np.ndarray, change: float
) -> PtrResult:
    """T5: the columns T(v_i, v_i, .), (k, k), of T = tensor of `coordinates` + K, which one unit moves by `change`.

    Charges ``gap``, ``tensor norm`` and, if the gap is shown to be large enough, ``decomposition``.
    """
    K = unpack(pack(K), len(K))
    T = whitened_tensor(coordinates, K, MOST_UNITS * change)
    largest = MOST_UNITS * change + float(np.linalg.norm(K))  # at least the norm of T, and public
    error = SOLVER * largest
    exact, change = decompose(T, theta, largest), change + 2 * error
    gap = release(Stage.GAP, np.array([exact.gap]), KAPPA * change)
    gap_low = float(gap.values[0]) - gap.margin() - KAPPA * error
    norm = release(Stage.TENSOR_NORM, np.array([exact.norm]), change)
    norm_up = max(float(norm.values[0]) + norm.margin(), 0.0) + error
    tests = (
        StabilityTest("least eigenvalue gap at least", gap_low, KAPPA * change),
        StabilityTest("tensor norm at most", norm_up),
    )
    return _released(
        release,
        Stage.DECOMPOSITION,
        exact.columns,
        tests,
        decomposition_sensitivity(gap_low, norm_up, change) + 2 * error,
    )


def release_topics(release: ReleaseValues, units: NoisyValues, exact: SpectralTopics, alpha0: float) -> PtrResult:
    """T6: the columns (r . x_i) x_i, (d, k), of a corpus of about `units` eligible units.

    Charges ``spectrum``, ``norm``, ``eigenvalue gap`` and ``topics``, each if the tests before have passed.
    """
    least_units = max(float(units.values[0]) - units.margin(), 1.0)
    change2, change3 = moment_changes(alpha0, least_units)
    change2, change3 = change2 + 2 * SOLVER * LARGEST2, change3 + 2 * SOLVER * LARGEST3
    tests = [StabilityTest("units at least", least_units)]

    spectrum = release(Stage.SPECTRUM, exact.eigenvalues, change2)
    one, two = spectrum.margin(bounds=4), spectrum.margin(bounds=4, terms=2)
    first, kth, after = map(float, spectrum.values)
    bounds = TopicStability(
        first=max(first, kth) + one,
        least=kth - one,
        most=kth + one,
        gap=kth - after - two,
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
    error = SOLVER * LARGEST3 * (bounds.first + change2) / (bounds.least - change2)  # of H, as if it were of B
    bounds = replace(bounds, norm=norm_up + error, change3=change3 + 2 * error)
    gap = release(Stage.EIGENVALUE_GAP, np.array([exact.gap]), bounds.gap_change)
    gap_low = float(gap.values[0]) - gap.margin()
    tests += [
        StabilityTest("contracted third moment's norm at most", norm_up),
        StabilityTest("least gap of whitened eigenvalues at least", gap_low, bounds.gap_change),
    ]
    error = 2 * SOLVER * (bounds.first + change2)
    return _released(release, Stage.TOPICS, exact.topics, tuple(tests), bounds.sensitivity(gap_low) + error)


def _released(
    release: ReleaseValues, stage: str, value: np.ndarray, tests: tuple[StabilityTest, ...], sensitivity: float
) -> PtrResult:
    """`value` with noise, or nothing if no finite `sensitivity` was shown."""
    if not math.isfinite(sensitivity):
        return PtrResult(None, 0.0, tests)
    answer = release(stage, value, sensitivity)
    return PtrResult(answer.values, answer.std, tests)
