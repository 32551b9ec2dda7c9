"""Whitening and unwhitening of LDA moments (Anandkumar et al. 2012, 2014), with the constants of docs/privacy.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dplda.statistics.coordinates import pairings
from dplda.statistics.lda_moments import coefficients


@dataclass(frozen=True)
class Whitening:
    """The whitening W = U diag(values)^(-1/2) of M2, for orthonormal `basis` U (d, k) and `values` (k,) > 0."""

    basis: np.ndarray
    values: np.ndarray

    @property
    def W(self) -> np.ndarray:
        """The whitening matrix (d, k): W' M2 W = I."""
        return np.asarray(self.basis / np.sqrt(self.values))

    def unwhiten(self, values: np.ndarray, vectors: np.ndarray, alpha0: float) -> np.ndarray:
        """Topics (d, r) from eigenpairs of M3(W, W, W): mu_i = (alpha0 + 2) / 2 lambda_i (W')^+ v_i."""
        return np.asarray((alpha0 + 2) / 2 * (self.basis * np.sqrt(self.values)) @ (vectors * values))


def corrected_second_moment(E2: np.ndarray, m: np.ndarray, alpha0: float) -> np.ndarray:
    """M2 = E2 - a m m', LDA's correction, from (projected) averages E2 (p, p) and m (p,)."""
    return E2 - coefficients(alpha0)[0] * np.outer(m, m)


def corrected_third_moment(E3: np.ndarray, E2: np.ndarray, m: np.ndarray, alpha0: float) -> np.ndarray:
    """M3 = E3 + b P(E2, m) + c3 m^3, LDA's correction, from (projected) averages E3 (k, k, k), E2 (k, k) and m (k,)."""
    _, b, c3 = coefficients(alpha0)
    return np.asarray(E3 + b * pairings(E2, m) + c3 * np.einsum("a,b,c->abc", m, m, m))


def leading_eigenvalues(M2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (p,), descending, and the eigenvectors (p, p) of the symmetric M2."""
    values, vectors = np.linalg.eigh((M2 + M2.T) / 2)
    return values[::-1], vectors[:, ::-1]


def noise_level(std: float, p: int) -> float:
    """Expected spectral norm of symmetric Gaussian noise (p, p) of `std` on the diagonal and std / sqrt(2) off it."""
    return float(std * np.sqrt(2 * p))
