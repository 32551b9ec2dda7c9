"""The least budget or number of documents that a run needs, and the check that ends a run on too few documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from dplda.accounting.events import Event, Stage
from dplda.config import RANGES, FitSettings, Range
from dplda.errors import UnsupportedByData
from dplda.lda.vocabulary_size import run_mu
from dplda.planning.forecast import DOCUMENTS, ForecastInputs, enough_words, forecast_with
from dplda.planning.reference_corpora import ReferenceCorpus

# A run continues if a typical corpus with 1.5 times the size's upper limit (+2 deviations) would give enough words.
_LENIENCY, _DEVIATIONS = 1.5, 2.0
_STEPS = 16  # bisection steps, which give a precision of about a thousandth, far finer than a forecast


def require_documents(settings: FitSettings, events: Sequence[Event], documents: float, unit: str) -> None:
    """Raise `UnsupportedByData` if the corpus is surely too small for its words to be chosen privately.

    `documents` is the noisy number of units that a run of `events` released. The corpus is too small if 1.5
    (`documents` + 2 standard deviations of their noise) documents are expected to give fewer words than the topics
    need. The result depends on that release and on public numbers alone. Never raises for public words, whose
    frequencies are not known.
    """
    if settings.vocabulary.words is not None:
        return
    (std,) = (event.noise_multiplier or 0.0 for event in events if event.stage == Stage.SIZE)
    most = max(1, math.ceil(_LENIENCY * (documents + _DEVIATIONS * std)))
    if enough_words(settings, events, most):
        return

    def by_budget(epsilon: float) -> bool:
        return enough_words(_at(settings, epsilon), _scaled(events, settings, epsilon), most)

    enough = _least(lambda number: enough_words(settings, events, math.ceil(number)), DOCUMENTS)
    budget = _least(by_budget, RANGES["epsilon"])
    ways = [] if budget is None else [f"at least epsilon {rounded_up(budget)}"]
    counted = "documents" if unit == "document" else f"different values of {unit}"
    ways += [] if enough is None else [f"at least {rounded_up(enough)} {counted}"]
    ways += ["a public word list (--vocabulary)", "public text about the same things (--prior)", "fewer topics"]
    topics = "topics" if settings.model.topics == "auto" else f"{settings.model.topics} topics"
    limit = settings.vocabulary.max_document_frequency
    limited = "" if limit is None else f" that are in at most {limit:.2%} of the documents"
    raise UnsupportedByData(
        f"the corpus has about {max(0, round(documents)):,} {counted} (noisy, standard deviation {std:,.0f}), too few "
        f"at epsilon {settings.privacy.epsilon:g} to choose the words{limited} for {topics} privately. Any one of "
        f"these may be enough: {'; '.join(ways)}."
    )


def least_epsilon(inputs: ForecastInputs, kind: ReferenceCorpus) -> float | None:
    """The least epsilon in range at which a corpus of `kind` supports all requested topics, or None.

    Multipliers are inversely proportional to the total GDP parameter, so one calibration serves all budgets.
    """
    settings, events = inputs.settings, inputs.events

    def supports(epsilon: float) -> bool:
        changed = replace(inputs, settings=_at(settings, epsilon))
        return forecast_with(changed, kind, _scaled(events, settings, epsilon)).supported >= inputs.most_topics

    return _least(supports, RANGES["epsilon"])


def least_documents(inputs: ForecastInputs, kind: ReferenceCorpus) -> int | None:
    """The least number of documents at which a corpus of `kind` supports all requested topics, or None."""
    events = inputs.events

    def supports(documents: float) -> bool:
        changed = replace(inputs, documents=math.ceil(documents))
        return forecast_with(changed, kind, events).supported >= inputs.most_topics

    least = _least(supports, DOCUMENTS)
    return None if least is None else math.ceil(least)


def rounded_up(value: float) -> str:
    """`value` rounded up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / unit - 1e-6) * unit:,.{max(0, -round(math.log10(unit)))}f}"


def _at(settings: FitSettings, epsilon: float) -> FitSettings:
    return replace(settings, privacy=replace(settings.privacy, epsilon=epsilon))


def _scaled(events: Sequence[Event], settings: FitSettings, epsilon: float) -> list[Event]:
    """The `events` of a run with these settings, as they would be at another `epsilon`."""
    factor = run_mu(settings) / run_mu(_at(settings, epsilon))
    return [replace(event, noise_multiplier=factor * (event.noise_multiplier or 0.0)) for event in events]


def _least(holds: Callable[[float], bool], within: Range) -> float | None:
    """The least number of a range at which `holds` is true, found by bisection on a log scale; None without one."""
    low, high = within.low, within.high
    if not holds(high):
        return None
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
