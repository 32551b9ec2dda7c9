"""Spectral methods on matrices: noisy, streaming, private and adaptive power methods, and Analyze Gauss.

Only the functions that say so are private. Their seeded noise and floating-point sums are for experiments, and the
exception that they raise for data that are not finite or not symmetric is not differentially private. The placements
use the other functions on released numbers.
"""

from typing import TYPE_CHECKING

from dplda.lazy import lazy

if TYPE_CHECKING:
    from dplda.spectral.adaptive import adaptive_power_iteration, clipped_power_iteration
    from dplda.spectral.low_rank import LowRank, analyze_gauss, private_low_rank, private_power_method
    from dplda.spectral.power_method import Subspace, noisy_power_method, random_basis, streaming_power_method

__all__ = [
    "LowRank",
    "Subspace",
    "adaptive_power_iteration",
    "analyze_gauss",
    "clipped_power_iteration",
    "noisy_power_method",
    "private_low_rank",
    "private_power_method",
    "random_basis",
    "streaming_power_method",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "LowRank": "low_rank",
        "Subspace": "power_method",
        "adaptive_power_iteration": "adaptive",
        "analyze_gauss": "low_rank",
        "clipped_power_iteration": "adaptive",
        "noisy_power_method": "power_method",
        "private_low_rank": "low_rank",
        "private_power_method": "low_rank",
        "random_basis": "power_method",
        "streaming_power_method": "power_method",
    },
)
