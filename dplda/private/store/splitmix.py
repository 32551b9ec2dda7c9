"""The finaliser of SplitMix64, for NumPy arrays and for compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def finalise(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of `x`, an array or number of type uint64 (Steele, Lea and Flood, 2014). A bijection modulo 2^64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
