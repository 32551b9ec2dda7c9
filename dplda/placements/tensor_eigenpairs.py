"""Eigenpairs of a released whitened tensor, computed on the device of the run."""

from __future__ import annotations

import numpy as np

from dplda.compute.arrays import to_device, to_numpy
from dplda.tensor.power import EigenPairs, robust_power_method

STARTS = 5  # random starts of each pair, for every topic


def eigenpairs(T: np.ndarray, rng: np.random.Generator) -> EigenPairs:
    """The k pairs of the symmetric T (k, k, k), in NumPy's arrays, by the robust power method."""
    found = robust_power_method(to_device(T), len(T), rng, starts=STARTS * len(T))
    return EigenPairs(to_numpy(found.values), to_numpy(found.vectors), found.iterations, to_numpy(found.residuals))
