"""The exact decompositions whose outputs configurations 3 and 4 release with noise.

Both are free of signs and rotations, so that nothing but eigenvalue gaps decides how stable they are. What they
return is private.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dplda.statistics.coordinates import unpack

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
