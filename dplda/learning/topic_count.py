"""The number of topics of a run: as requested, or with ``auto`` as many as released eigenvalues support.

`spectrum_facts` counts the eigenvalues of the noisy second moment above `noise_level`, and `topic_count` decides. All
of it is post-processing of releases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dplda.base.errors import UnsupportedByData
from dplda.learning.settings import FitSettings

_AUTOMATIC_TOPICS = 40  # maximum number of topics that --topics auto can find


def most_topics(settings: FitSettings) -> int:
    """The largest number of topics that a run can learn; public."""
    return _AUTOMATIC_TOPICS if settings.model.topics == "auto" else int(settings.model.topics)


def noise_level(std: float, p: int) -> float:
    """Expected spectral norm of symmetric Gaussian noise (p, p) of `std` on the diagonal and std / sqrt(2) off it."""
    return float(std * np.sqrt(2 * p))


def spectrum_facts(eigenvalues: np.ndarray, noise: float) -> dict[str, Any]:
    """The released facts of a run about the `eigenvalues` of its noisy M2, whose noise has spectral norm `noise`."""
    return {
        "supported_topics": int((eigenvalues > noise).sum()),
        "core_eigenvalues": [float(value) for value in eigenvalues],
        "core_noise_level": noise,
    }


def topic_count(settings: FitSettings, supported: int, most: int) -> int:
    """The number of topics requested; for ``--topics auto`` the number `supported` by the data, up to `most`.

    `supported` counts released eigenvalues above the noise level; for ``auto``, raises `UnsupportedByData` if it is 0.
    """
    if settings.model.topics != "auto":
        return int(settings.model.topics)
    if supported == 0:
        raise UnsupportedByData(
            "the noisy second moment supports no topic at all. Use more documents or a larger epsilon, "
            "or ask for a number of topics."
        )
    return min(supported, most_topics(settings), most)
