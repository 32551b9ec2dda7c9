"""Symmetric third-order tensors by their coordinates a <= b <= c."""

from __future__ import annotations

import numpy as np

from dplda.moments.coordinates import unpack as unpack
from dplda.moments.coordinates import unpack_matrix as unpack_matrix


def pairings(A: np.ndarray, m: np.ndarray) -> np.ndarray:
    """P(A, m)_abc = A_ab m_c + A_ac m_b + A_bc m_a for symmetric A (k, k) and m (k,)."""
    Am = A[:, :, None] * m
    return np.asarray(Am + Am.transpose(0, 2, 1) + Am.transpose(2, 0, 1))
