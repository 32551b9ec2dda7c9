"""Lists of placements for tests, taken from the registry, so that a new placement runs in every test of all."""

from dplda.learning.placements import registry
from dplda.learning.placements.registry import PUBLISHED, SOUND
from dplda.learning.settings import FitSettings

PRIVATE = registry.PRIVATE
EXACT = tuple(name for name in registry.names(SOUND) if name not in PRIVATE)  # the baselines without noise
EVERY = *PRIVATE, *EXACT
CALIBRATED = [(name, kind) for kind in registry.CALIBRATIONS for name in registry.names(kind)]
OF_THE_PAPER = registry.names(PUBLISHED)
SPLIT = tuple(name for name in PRIVATE if len(registry.find(name).split) > 1)  # over several edges
DENSE = tuple(name for name in PRIVATE if registry.find(name).most_words is not None)


def _tests_nothing(name: str) -> bool:
    placement = registry.find(name)
    settings = FitSettings.of(placement=name, topics=3)
    return not any(share.may_fail for share in placement.plan(settings))


ALWAYS_ANSWERS = tuple(name for name in PRIVATE if _tests_nothing(name))  # their runs pass no test of the data
MAY_END_WITHOUT_TOPICS = tuple(name for name in PRIVATE if name not in ALWAYS_ANSWERS)
