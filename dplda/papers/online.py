"""The online tensor power method (Wang and Anandkumar 2016, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from dplda.base.arrays import Array, floats
from dplda.learning.eigenpairs import EigenPairs, Implicit, noisy_tensor_power_method
from dplda.learning.power_method import SampleStream, require_counts, require_up_to


def online_power_method(
    blocks: Iterable[Any],
    rank: int,
    rng: np.random.Generator,
    *,
    samples: int,
    starts: int = 20,
    iterations: int = 20,
) -> EigenPairs:
    """Find `rank` pairs of the third moment E[x^3] of a stream of samples x (d,), which is read once.

    `blocks` are samples (d,), arrays (n, d) or SciPy sparse matrices (n, d), of any sizes. Every step reads the next
    `samples` of them, rank * iterations * samples in all (`itertools.cycle` repeats a stored set). As in the paper, the
    value of a pair is taken one step before its vector.

    Cost (Proposition 3.1): 4 * starts flops for every entry read. Memory: O(d (rank + starts)) and one block with its
    products, (n, starts). The error falls as sqrt(d / samples) once samples are enough for Theorem 3.1. Raises
    `InputError` if the stream ends early, changes its width, or contains NaN or infinity.
    """
    require_counts(samples=samples)
    stream = SampleStream(blocks)
    block = stream.peek(samples)
    d = block.shape[1]
    require_up_to(d, "the length of a sample", rank=rank)

    def along(U: Array) -> Array:
        total = 0.0 * U
        for X in stream.read(samples):
            P = X @ U
            total = total + X.T @ (P * P)
        return floats(total, "the third moment of the samples") / samples

    moment = Implicit(along, d, np.empty(0) if sparse.issparse(block) else block[:0, :])
    return noisy_tensor_power_method(moment, rank, rng, starts=starts, iterations=iterations)
