"""Symmetric matrices and third-order tensors as vectors of their distinct coordinates."""

from __future__ import annotations

import numpy as np

from dplda.statistics.coordinates import unpack as unpack
from dplda.statistics.coordinates import unpack_matrix as unpack_matrix


def unpack_offsets(coordinates: np.ndarray) -> np.ndarray:
    """The symmetric (d, d) matrix whose entry at i and (i + j) mod d is `coordinates` (d, d // 2 + 1) at (i, j).

    For even d the rows from d // 2 on of the last column, which would name the same pairs again, are not read.
    """
    d = len(coordinates)
    rows = np.arange(d)
    A = np.empty((d, d))
    for offset in range(d // 2 + 1):
        i = rows[: d // 2] if 0 < 2 * offset == d else rows
        j = (i + offset) % d
        A[i, j] = A[j, i] = coordinates[i, offset]
    return A


def pairings(A: np.ndarray, m: np.ndarray) -> np.ndarray:
    """P(A, m)_abc = A_ab m_c + A_ac m_b + A_bc m_a for symmetric A (k, k) and m (k,)."""
    Am = A[:, :, None] * m
    return np.asarray(Am + Am.transpose(0, 2, 1) + Am.transpose(2, 0, 1))
