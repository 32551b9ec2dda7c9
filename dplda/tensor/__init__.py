"""Symmetric third-order tensors and their eigenpairs: robust, online, noisy, private and joint power methods.

Only `private_power_method` is private. Its seeded noise and floating-point sums are for experiments, and the exception
that it raises for a tensor that is not finite or not symmetric is not differentially private. The placements use the
other functions on released numbers.
"""

from typing import TYPE_CHECKING

from dplda.lazy import lazy

if TYPE_CHECKING:
    from dplda.tensor.eigenpairs import (
        EigenPairs,
        noisy_power_method,
        private_power_method,
        robust_power_method,
        simultaneous_power_method,
    )
    from dplda.tensor.implicit import Implicit
    from dplda.tensor.online import online_power_method

__all__ = [
    "EigenPairs",
    "Implicit",
    "noisy_power_method",
    "online_power_method",
    "private_power_method",
    "robust_power_method",
    "simultaneous_power_method",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "EigenPairs": "eigenpairs",
        "Implicit": "implicit",
        "noisy_power_method": "eigenpairs",
        "online_power_method": "online",
        "private_power_method": "eigenpairs",
        "robust_power_method": "eigenpairs",
        "simultaneous_power_method": "eigenpairs",
    },
)
