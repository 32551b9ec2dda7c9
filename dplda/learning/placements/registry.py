"""The registry of placements: what a placement is, and the only list of them.

The modules of placements are imported when `find` is called, so that the names are known without compilers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from dplda.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from dplda.budget.accountant import Share
    from dplda.learning.recovery import Learned
    from dplda.learning.settings import FitSettings
    from dplda.private import WordFrequencies
    from dplda.private.statistics import Statistic

DEFAULT = "default"
NO_NOISE = "none"  # the placement that adds no noise; its runs do not depend on epsilon
SOUND, PUBLISHED = CALIBRATIONS = ("sound", "published")  # proven noise, and the noise that the paper prints

_NAMES: Mapping[str, tuple[str, ...]] = {
    SOUND: (DEFAULT, "config1", "config2", "config3", "config4", "tensor-power", NO_NOISE),
    PUBLISHED: ("config1", "config2", "config3", "config4"),
}

Learn: TypeAlias = "Callable[[Any, float, WordFrequencies, FitSettings, np.random.Generator], Learned]"


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The budget shares, the algorithm and the rules of a placement under one calibration."""

    # Maps whether the vocabulary is public, the split over edges and the settings to the budget shares of a run.
    shares: Callable[[bool, Mapping[str, float], FitSettings], tuple[Share, ...]]

    # Takes the gate, the noisy number of units, the words, the settings and an `rng` for public starting points, and
    # runs every stage after the vocabulary. The other two take its place if a prior explains the documents, and for the
    # next batch of a series; a placement without them allows no prior.
    learn: Learn
    learn_from_prior: Learn | None = None
    learn_next: Learn | None = None

    # The statistics that it releases, whose kernels are compiled while the documents are read.
    statistics: tuple[Statistic, ...] = ()

    # The edges with noise, and their default parts of the budget; empty if there is nothing to split.
    split: Mapping[str, float] = field(default_factory=dict)

    # The largest vocabulary, and the least number of topics; ``auto`` is allowed only if that is 1.
    most_words: int | None = None
    least_topics: int = 1

    # Whether seed words can guide topics, whether words can be compared with general text (it then chooses how many
    # to learn), whether a cluster can compute it, and whether it adds no noise at all.
    takes_seed_words: bool = False
    compares_words: bool = False
    runs_on_cluster: bool = True
    noiseless: bool = False

    # Why a run is not private or not proven private. If it says so, statistics are released without noise, as events of
    # the mechanism ``exact``; it is empty for a placement whose noise is proven.
    reason: str = ""

    def learner(self, settings: FitSettings, from_prior: bool) -> Learn:
        """Return the algorithm of a run; `from_prior` says that its prior explains the documents."""
        way = self.learn_from_prior if from_prior else self.learn
        learn = self.learn_next if settings.continues_series else way
        assert learn is not None  # `FitSettings` refuses a prior that the placement does not allow
        return learn

    def plan(self, settings: FitSettings) -> tuple[Share, ...]:
        """Return the budget shares of a run; raises `InputError` for settings that the placement does not support."""
        name, topics, vocabulary = settings.model.placement, settings.model.topics, settings.vocabulary
        split = settings.model.split or self.split
        if set(split) != set(self.split):
            edges = f"must name its edges {', '.join(self.split)}" if self.split else "does not apply, so leave it out"
            raise InputError(f"placement {name}: the split {edges}; it names {', '.join(split) or 'none'}.")
        words = vocabulary.max_vocabulary if vocabulary.public is None else len(vocabulary.public)
        if self.most_words is not None and words > self.most_words:
            raise InputError(
                f"placement {name} keeps dense moments, for at most {self.most_words} words, got {words}. "
                "Lower --max-vocabulary, give a shorter --vocabulary, or use the default placement."
            )
        if self.least_topics > 1 and (topics == "auto" or int(topics) < self.least_topics):
            raise InputError(
                f"placement {name} needs a number of topics, at least {self.least_topics}, "
                f"got topics={topics}. Give --topics a number of at least that."
            )
        return self.shares(vocabulary.public is not None, split, settings)


def names(calibration: str = SOUND) -> tuple[str, ...]:
    """Return the names of the placements that exist for `calibration`."""
    return _NAMES.get(calibration, ())


PLACEMENTS = names()
PRIVATE = tuple(name for name in PLACEMENTS if name != NO_NOISE)  # those with proven noise


def find(placement: str, calibration: str = SOUND) -> Placement:
    """Return the placement of that name and calibration; raises `InputError` if there is none."""
    if placement not in names(calibration):
        raise InputError(
            f"calibration {calibration} exists for placements {', '.join(names(calibration))}, not for {placement}."
        )
    return _records()[calibration][placement]


@cache
def _records() -> Mapping[str, Mapping[str, Placement]]:
    from dplda.learning.placements import config1, config2, config3, config4, default, published, tensor_power

    return {
        SOUND: {
            DEFAULT: default.PLACEMENT,
            "config1": config1.PLACEMENT,
            "config2": config2.PLACEMENT,
            "config3": config3.PLACEMENT,
            "config4": config4.PLACEMENT,
            "tensor-power": tensor_power.PLACEMENT,
            NO_NOISE: default.WITHOUT_NOISE,
        },
        PUBLISHED: {
            "config1": published.CONFIG1,
            "config2": published.CONFIG2,
            "config3": published.CONFIG3,
            "config4": published.CONFIG4,
        },
    }
