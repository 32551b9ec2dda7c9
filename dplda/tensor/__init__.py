"""Symmetric third-order tensors and their decomposition: robust, online, private and simultaneous power methods.

Only `private_power_method` is private, and its seeded noise is for study; what the placements use sees released numbers
alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dplda.tensor.implicit import Implicit
    from dplda.tensor.noisy import noisy_power_method
    from dplda.tensor.online import online_power_method
    from dplda.tensor.power import Decomposition, robust_power_method
    from dplda.tensor.private import private_power_method
    from dplda.tensor.simultaneous import simultaneous_power_method

__all__ = [
    "Decomposition",
    "Implicit",
    "noisy_power_method",
    "online_power_method",
    "private_power_method",
    "robust_power_method",
    "simultaneous_power_method",
]

_HOMES = {
    "Decomposition": "power",
    "Implicit": "implicit",
    "noisy_power_method": "noisy",
    "online_power_method": "online",
    "private_power_method": "private",
    "robust_power_method": "power",
    "simultaneous_power_method": "simultaneous",
}


def __getattr__(name: str) -> Any:
    """Import public names when first used: importing one method loads no other."""
    if name in _HOMES:
        return getattr(import_module(f"dplda.tensor.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'dplda.tensor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
