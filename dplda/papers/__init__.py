"""Algorithms of the papers on matrices and tensors, as a library (docs/papers.md).

Matrices: noisy, streaming, private and adaptive power methods, and Analyze Gauss. Symmetric third-order tensors and
their eigenpairs: robust, online, noisy, private and joint power methods.

Only the functions that say so are private. Their seeded noise and floating-point sums are for experiments, and the
exception that they raise for data that are not finite or not symmetric is not differentially private. The placements
use the other functions on released numbers.
"""

from dplda.learning.eigenpairs import EigenPairs, Implicit, noisy_tensor_power_method, robust_power_method
from dplda.learning.power_method import Subspace, noisy_power_method, random_basis
from dplda.papers.adaptive import adaptive_power_iteration, clipped_power_iteration
from dplda.papers.low_rank import LowRank, analyze_gauss, private_low_rank, private_power_method
from dplda.papers.streams import online_power_method, streaming_power_method
from dplda.papers.tensors import private_tensor_power_method, simultaneous_power_method

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
