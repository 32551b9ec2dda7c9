"""Algorithms of the papers on matrices and tensors, as a library (docs/papers.md).

Matrices: noisy, streaming, private and adaptive power methods, and Analyze Gauss. Symmetric third-order tensors and
their eigenpairs: robust, online, noisy, private and joint power methods.

Only the functions that say so are private. Their seeded noise and floating-point sums are for experiments, and the
exception that they raise for data that are not finite or not symmetric is not differentially private. The placements
use the other functions on released numbers.
"""

from typing import TYPE_CHECKING

from dplda.base.lazy import lazy

if TYPE_CHECKING:
    from dplda.learning.eigenpairs import (
        EigenPairs,
        Implicit,
        noisy_tensor_power_method,
        private_tensor_power_method,
        robust_power_method,
        simultaneous_power_method,
    )
    from dplda.learning.power_method import Subspace, noisy_power_method, random_basis, streaming_power_method
    from dplda.papers.adaptive import adaptive_power_iteration, clipped_power_iteration
    from dplda.papers.low_rank import LowRank, analyze_gauss, private_low_rank, private_power_method
    from dplda.papers.online import online_power_method

__all__ = [
    "EigenPairs",
    "Implicit",
    "LowRank",
    "Subspace",
    "adaptive_power_iteration",
    "analyze_gauss",
    "clipped_power_iteration",
    "noisy_power_method",
    "noisy_tensor_power_method",
    "online_power_method",
    "private_low_rank",
    "private_power_method",
    "private_tensor_power_method",
    "random_basis",
    "robust_power_method",
    "simultaneous_power_method",
    "streaming_power_method",
]

__getattr__, __dir__ = lazy(
    "dplda",
    {
        "EigenPairs": "learning.eigenpairs",
        "Implicit": "learning.eigenpairs",
        "LowRank": "papers.low_rank",
        "Subspace": "learning.power_method",
        "adaptive_power_iteration": "papers.adaptive",
        "analyze_gauss": "papers.low_rank",
        "clipped_power_iteration": "papers.adaptive",
        "noisy_power_method": "learning.power_method",
        "noisy_tensor_power_method": "learning.eigenpairs",
        "online_power_method": "papers.online",
        "private_low_rank": "papers.low_rank",
        "private_power_method": "papers.low_rank",
        "private_tensor_power_method": "learning.eigenpairs",
        "random_basis": "learning.power_method",
        "robust_power_method": "learning.eigenpairs",
        "simultaneous_power_method": "learning.eigenpairs",
        "streaming_power_method": "learning.power_method",
    },
)
