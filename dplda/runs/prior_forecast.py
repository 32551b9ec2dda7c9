"""Forecasts of runs with prior topics, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dplda.budget.budget_plan import calibrate
from dplda.budget.events import Stage
from dplda.learning.placements import default
from dplda.learning.settings import FitSettings
from dplda.private.statistics import NONNEGATIVE, SIGNED
from dplda.private.statistics.topic_proportions import MOST_GAIN

_STANDS_OUT = 3.0  # standard deviations above 0 from which on a sum stands out from its noise
_GAIN = 0.3  # a document's mean gain less the least one, for public text about the same things (docs/design-log.md)
_DEVIATIONS = 4.0  # of the noise of the test, above which it succeeds nearly always


@dataclass(frozen=True)
class PriorForecast:
    """The expected result if the prior explains the documents.

    `least_share` is the least share of the text with which a topic stands out from the noise. `least_documents` is the
    least number of documents with which the test of the prior succeeds nearly always.
    """

    least_share: float
    least_documents: int


def forecast_prior(settings: FitSettings, documents: int, *, public_vocabulary: bool) -> PriorForecast:
    """The forecast for a run over `documents` with a prior."""
    shares = default.shares(public_vocabulary, settings.model.topics, with_prior=True)
    events = calibrate(shares, settings.privacy.epsilon, settings.privacy.delta)
    replace = settings.privacy.adjacency == "replace"
    sums = [event for event in events if event.stage in (Stage.START, Stage.REFINE)]
    precision = sum((event.noise_multiplier or math.inf) ** -2 for event in sums)
    std = precision**-0.5 * (NONNEGATIVE if replace else 1.0)
    (test,) = (event for event in events if event.stage == Stage.PRIOR_GAIN)
    noise = (test.noise_multiplier or 0.0) * MOST_GAIN * (SIGNED if replace else 1.0)
    return PriorForecast(min(1.0, _STANDS_OUT * std / documents), math.ceil(_DEVIATIONS * noise / _GAIN))
