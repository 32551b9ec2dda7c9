"""Every noise placement with its calibrations: what it asks and how it learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dplda.errors import InputError
from dplda.placements import default
from dplda.placements.learned import Learned
from dplda.privacy.curator import Gate, WordFrequencies
from dplda.privacy.plan import Share
from dplda.settings import FitSettings

SOUND, PUBLISHED = "sound", "published"
CALIBRATIONS = (SOUND, PUBLISHED)
NOT_PRIVATE = "NOT PRIVATE"


@dataclass(frozen=True)
class Placement:
    """How a run asks and learns.

    `shares` plans it, given whether the vocabulary is public, the split over edges and the settings; `learn` runs
    every stage after the vocabulary; `split` are the edges of the paper's graph that carry noise, with their default
    parts of the budget. A `reason` says why the run is not (proven) private: its statistics and events are then exact.
    """

    shares: Callable[[bool, Mapping[str, float], FitSettings], tuple[Share, ...]]
    learn: Callable[[Gate, WordFrequencies, FitSettings, np.random.Generator], Learned]
    split: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""

    def plan(self, public_vocabulary: bool, settings: FitSettings) -> tuple[Share, ...]:
        """The run's shares, by the split of `settings` if it has one. Raises `InputError` for one about other edges."""
        split = settings.split or self.split
        if set(split) != set(self.split):
            edges = ", ".join(self.split) or "none"
            raise InputError(
                f"split must give every edge of placement {settings.placement} its part, and no other: {edges}; "
                f"got {', '.join(split)}."
            )
        return self.shares(public_vocabulary, split, settings)


_PLACEMENTS: Mapping[tuple[str, str], Placement] = {
    ("default", SOUND): Placement(lambda public, split, asked: default.shares(public, asked.topics), default.learn),
    ("none", SOUND): Placement(
        lambda public, split, asked: default.shares(public, asked.topics),
        default.learn,
        reason=f"{NOT_PRIVATE}: exact statistics, no noise at all",
    ),
}


def find(placement: str, calibration: str) -> Placement:
    """The placement of that name and calibration; raises `InputError` if there is none."""
    found = _PLACEMENTS.get((placement, calibration))
    if found is None:
        names = ", ".join(name for name, kind in _PLACEMENTS if kind == calibration)
        raise InputError(f"calibration {calibration!r} exists for placements {names}; got placement {placement!r}.")
    return found
