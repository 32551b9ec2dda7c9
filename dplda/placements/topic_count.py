"""The number of topics: the one requested, or the most that the noisy second moment supports."""

from __future__ import annotations

from dplda.config import FitSettings
from dplda.errors import UnsupportedByData

AUTOMATIC_TOPICS = 40  # the most topics that --topics auto can find


def most_topics(settings: FitSettings) -> int:
    """The most topics that the run can end with; public."""
    return AUTOMATIC_TOPICS if settings.model.topics == "auto" else int(settings.model.topics)


def topic_count(settings: FitSettings, supported: int, most: int) -> int:
    """The topics asked for; for ``--topics auto`` those `supported` by eigenvalues above the noise, all released."""
    if settings.model.topics != "auto":
        return int(settings.model.topics)
    if supported == 0:
        raise UnsupportedByData(
            "the noisy second moment supports no topic at all. Use more documents or a larger epsilon, "
            "or ask for a number of topics."
        )
    return min(supported, most_topics(settings), most)
