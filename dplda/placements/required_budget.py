"""The least epsilon, or number of documents, that supports all topics: bisection on the forecast."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from dplda.accounting.accountant import gaussian_budget
from dplda.placements.forecast import DOCUMENTS, ForecastInputs, forecast
from dplda.placements.reference_corpora import ReferenceCorpus
from dplda.settings import RANGES, Range

STEPS = 16  # of bisection: to a thousandth, far below what a forecast can tell apart


def least_epsilon(outlook: ForecastInputs, kind: ReferenceCorpus) -> float | None:
    """The least epsilon in range at which a corpus of `kind` supports all topics asked for; None if none does.

    Multipliers go with the inverse of the whole GDP parameter, so that one calibration serves all budgets.
    """
    settings, events = outlook.settings, outlook.events
    now = gaussian_budget(settings.epsilon, settings.delta)

    def supports(epsilon: float) -> bool:
        factor = now / gaussian_budget(epsilon, settings.delta)
        scaled = [replace(event, noise_multiplier=factor * (event.noise_multiplier or 0.0)) for event in events]
        asked = replace(outlook, settings=replace(settings, epsilon=epsilon))
        return forecast(asked, kind, scaled).supported >= outlook.most_topics

    return _least(supports, RANGES["epsilon"])


def least_documents(outlook: ForecastInputs, kind: ReferenceCorpus) -> int | None:
    """The least number of documents at which a corpus of `kind` supports all topics asked for; None if none does."""
    events = outlook.events

    def supports(documents: float) -> bool:
        asked = replace(outlook, documents=math.ceil(documents))
        return forecast(asked, kind, events).supported >= outlook.most_topics

    least = _least(supports, DOCUMENTS)
    return None if least is None else math.ceil(least)


def _least(holds: Callable[[float], bool], within: Range) -> float | None:
    """The least number of a range at which `holds`, by bisection of its logarithm."""
    low, high = within.low, within.high
    if not holds(high):
        return None
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
