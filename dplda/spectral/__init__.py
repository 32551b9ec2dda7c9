"""Spectral methods on matrices: noisy, streaming and private power methods, Analyze Gauss, whitening.

Only the functions that say so are private: their seeded noise and floating-point sums are for study, and that data was
refused (not finite, not symmetric) is not protected. What the placements use sees released numbers alone.
"""

from typing import TYPE_CHECKING

from dplda.lazy import lazy

if TYPE_CHECKING:
    from dplda.spectral.adaptive import adaptive_power_iteration
    from dplda.spectral.clipped import clipped_power_iteration
    from dplda.spectral.gauss import analyze_gauss
    from dplda.spectral.power import noisy_power_method
    from dplda.spectral.private import LowRank, private_low_rank, private_power_method
    from dplda.spectral.streaming import streaming_power_method
    from dplda.spectral.subspace import Subspace, random_basis

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
        "LowRank": "private",
        "Subspace": "subspace",
        "adaptive_power_iteration": "adaptive",
        "analyze_gauss": "gauss",
        "clipped_power_iteration": "clipped",
        "noisy_power_method": "power",
        "private_low_rank": "private",
        "private_power_method": "private",
        "random_basis": "subspace",
        "streaming_power_method": "streaming",
    },
)
