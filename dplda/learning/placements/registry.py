"""The registry of placements: shares and algorithm by name and calibration (sound, or noise as published)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dplda.base.config import NO_NOISE, PUBLISHED, SOUND
from dplda.base.errors import InputError
from dplda.budget.accountant import Share
from dplda.learning.placements import config1, config2, config3, config4, default, next_batch, published, tensor_power
from dplda.learning.placements import published as published_noise
from dplda.learning.placements.stages import MOST_DENSE_WORDS
from dplda.learning.recovery import Learned
from dplda.learning.settings import FitSettings
from dplda.private import WordFrequencies
from dplda.private.statistics import Statistic
from dplda.private.statistics.expected_counts import EXPECTED_COUNTS
from dplda.private.statistics.moments import CORE, FIRST_MOMENT, SECOND_MOMENT, SECOND_MOMENT_TIMES
from dplda.private.statistics.third_moment import PROJECTED_THIRD_MOMENT, THIRD_MOMENT, THIRD_MOMENT_ALONG

NOT_PRIVATE = "NOT PRIVATE"
_NOT_PROVEN = "NOT PROVEN PRIVATE"
_MOMENTS = SECOND_MOMENT, FIRST_MOMENT, THIRD_MOMENT
_DEFAULT_STATISTICS = EXPECTED_COUNTS, THIRD_MOMENT, CORE, SECOND_MOMENT_TIMES, FIRST_MOMENT  # slow to compile first


Learn = Callable[[Any, float, WordFrequencies, FitSettings, np.random.Generator], Learned]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The budget shares and the algorithm of a placement under one calibration.

    `shares` maps (whether the vocabulary is public, the split over edges, the settings) to the budget shares of a run.
    `learn` takes the gate, the noisy number of units, the words, the settings and an `rng` for public starting points,
    and runs every stage after the vocabulary. `learn_from_prior` takes its place if a prior explains the documents
    (`prior_start.explains`), and `learn_next` for the next batch of a series. `split` maps the edges with noise to
    their default parts of the budget.

    `most_words` is the largest vocabulary, and `least_topics` the least number of topics; ``auto`` is allowed only if
    `least_topics` is 1. `reason` says why a run is not private or not proven private. For a sound placement it is
    empty; otherwise statistics are released without noise, as events of the mechanism ``exact``. `statistics` are the
    statistics that the placement releases; their kernels are compiled while the documents are read.
    """

    shares: Callable[[bool, Mapping[str, float], FitSettings], tuple[Share, ...]]
    learn: Learn
    learn_from_prior: Learn = default.learn_from_prior
    learn_next: Learn = next_batch.learn
    split: Mapping[str, float] = field(default_factory=dict)
    most_words: int | None = None
    least_topics: int = 1
    reason: str = ""
    statistics: tuple[Statistic, ...] = ()

    def learner(self, settings: FitSettings, from_prior: bool) -> Learn:
        """The algorithm of a run; `from_prior` says that its prior explains the documents."""
        if settings.continues_series:
            return self.learn_next
        return self.learn_from_prior if from_prior else self.learn

    def plan(self, settings: FitSettings) -> tuple[Share, ...]:
        """The budget shares of a run; raises `InputError` for settings that the placement does not support."""
        split = settings.model.split or self.split
        if set(split) != set(self.split):
            edges = f"must name its edges {', '.join(self.split)}" if self.split else "does not apply, so leave it out"
            raise InputError(
                f"placement {settings.model.placement}: the split {edges}; it names {', '.join(split) or 'none'}."
            )
        vocabulary = settings.vocabulary
        words = vocabulary.max_vocabulary if vocabulary.words is None else len(vocabulary.words)
        if self.most_words is not None and words > self.most_words:
            raise InputError(
                f"placement {settings.model.placement} keeps dense moments, for at most {self.most_words} words, "
                f"got {words}. "
                "Lower --max-vocabulary, give a shorter --vocabulary, or use the default placement."
            )
        if self.least_topics > 1 and (
            settings.model.topics == "auto" or int(settings.model.topics) < self.least_topics
        ):
            raise InputError(
                f"placement {settings.model.placement} needs a number of topics, at least {self.least_topics}, "
                f"got topics={settings.model.topics}. Give --topics a number of at least that."
            )
        return self.shares(vocabulary.words is not None, split, settings)


def _dense(module: Any, **more: Any) -> Placement:
    """A sound placement that releases or computes a dense second moment."""
    return Placement(shares=module.shares, learn=module.learn, split=module.SPLIT, most_words=MOST_DENSE_WORDS, **more)


def _published(name: str) -> Placement:
    return Placement(
        shares=lambda public_vocabulary, split, settings: published.shares(public_vocabulary, settings),
        learn=published.learn,
        split=published_noise.equal_split(name),
        most_words=MOST_DENSE_WORDS,
        least_topics=2,
        statistics=_MOMENTS,
        reason=f"{_NOT_PROVEN}: {published.REASON[name]}",
    )


def _default(reason: str = "") -> Placement:
    rounds = default.EXACT_ROUNDS if reason else default.REFINE_ROUNDS

    def shares(public_vocabulary: bool, split: Mapping[str, float], settings: FitSettings) -> tuple[Share, ...]:
        if settings.continues_series:
            return next_batch.shares(public_vocabulary)
        return default.shares(public_vocabulary, settings.model.topics, rounds, with_prior=settings.prior is not None)

    return Placement(
        shares=shares,
        learn=default.learn,
        statistics=_DEFAULT_STATISTICS if reason else (*_DEFAULT_STATISTICS, SECOND_MOMENT),
        reason=reason,
    )


_PLACEMENTS: Mapping[tuple[str, str], Placement] = {
    ("default", SOUND): _default(),
    ("config1", SOUND): _dense(config1, statistics=(SECOND_MOMENT, FIRST_MOMENT, PROJECTED_THIRD_MOMENT)),
    ("config2", SOUND): _dense(config2, statistics=_MOMENTS),
    ("config3", SOUND): _dense(config3, statistics=_MOMENTS),
    ("config4", SOUND): _dense(config4, least_topics=2),
    ("tensor-power", SOUND): _dense(tensor_power, statistics=(*_MOMENTS, THIRD_MOMENT_ALONG)),
    (NO_NOISE, SOUND): _default(reason=f"{NOT_PRIVATE}: exact statistics, no noise at all"),
    **{(name, PUBLISHED): _published(name) for name in published_noise.EDGES},
}


def names(calibration: str = SOUND) -> tuple[str, ...]:
    """The names of the placements that exist for `calibration`."""
    return tuple(name for name, kind in _PLACEMENTS if kind == calibration)


PRIVATE = tuple(name for name in names() if not _PLACEMENTS[name, SOUND].reason)  # those with proven noise


def find(placement: str, calibration: str = SOUND) -> Placement:
    """The placement of that name and calibration; raises `InputError` if there is none."""
    if (placement, calibration) not in _PLACEMENTS:
        raise InputError(
            f"calibration {calibration} exists for placements {', '.join(names(calibration))}, not for {placement}."
        )
    return _PLACEMENTS[placement, calibration]
