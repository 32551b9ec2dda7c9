"""Uniform variates that are the same on every machine, for generated text."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Uniforms:
    """Uniform variates in [0, 1) from the raw stream of PCG64."""

    def __init__(self, seed: int | list[int]) -> None:
        self._bits = np.random.PCG64(seed)

    def draw(self, *shape: int) -> npt.NDArray[np.float64]:
        """An array of `shape`, with 53 random bits per entry."""
        raw = self._bits.random_raw(int(np.prod(shape)))
        return np.asarray((raw >> np.uint64(11)) * 2.0**-53, dtype=np.float64).reshape(shape)

    def pick(self, probabilities: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
        """`n` indices with these `probabilities`, by inversion of the distribution function."""
        cumulative = np.cumsum(probabilities)
        return np.searchsorted(cumulative / cumulative[-1], self.draw(n), side="right")
