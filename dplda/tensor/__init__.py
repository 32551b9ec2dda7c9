"""Symmetric third-order tensors and their decomposition: robust, online, private and simultaneous power methods.

Only `private_power_method` is private: its seeded noise and floating-point sums are for study, and that a tensor was
refused (not finite, not symmetric) is not protected. What the placements use sees released numbers alone.
"""

from typing import TYPE_CHECKING

from dplda.lazy import lazy

if TYPE_CHECKING:
    from dplda.tensor.eigenpairs import EigenPairs, robust_power_method, simultaneous_power_method
    from dplda.tensor.implicit import Implicit
    from dplda.tensor.online import online_power_method
    from dplda.tensor.private_eigenpairs import noisy_power_method, private_power_method

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
        "noisy_power_method": "private_eigenpairs",
        "online_power_method": "online",
        "private_power_method": "private_eigenpairs",
        "robust_power_method": "eigenpairs",
        "simultaneous_power_method": "eigenpairs",
    },
)
