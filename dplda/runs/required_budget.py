"""The least budget or number of documents that a run needs, and the check that ends a run on too few documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from dplda.base.config import RANGES, Range
from dplda.base.errors import UnsupportedByData
from dplda.budget.events import Event, Stage
from dplda.learning.settings import FitSettings
from dplda.learning.vocabulary_size import run_mu
from dplda.runs.forecast import DOCUMENTS, ForecastInputs, enough_words, forecast_with
from dplda.runs.reference_corpora import ReferenceCorpus

# A run continues if 1.5 times the size's upper limit (+2 deviations) would be enough.
_LENIENCY, _DEVIATIONS = 1.5, 2.0
# Least documents * mu: below it, topics are noise, and no prior passes its test (docs/design-log.md).
_LEAST_SIGNAL, _LEAST_FOR_PRIOR = 150.0, 60.0
_STEPS = 16  # bisection steps, which give a precision of about a thousandth, far finer than a forecast


def require_documents(
    settings: FitSettings, events: Sequence[Event], documents: float, unit: str, *, of_prior: bool = False
) -> None:
    """Raise `UnsupportedByData` if the corpus is surely too small to tell anything.

    `documents` is the noisy number of units that a run of `events` released. The corpus is too small if 1.5
    (`documents` + 2 standard deviations of their noise) documents times the run's mu are less than a constant or,
    unless words are public, are expected to give fewer words than the topics need. With `of_prior`, the run may still
    choose among the topics of a prior, which needs fewer documents and no words. The result depends on that release
    and on public numbers alone.
    """
    words_known = of_prior or settings.vocabulary.words is not None
    least = _LEAST_FOR_PRIOR if of_prior else _LEAST_SIGNAL

    def enough(settings: FitSettings, events: Sequence[Event], number: int) -> bool:
        stand_out = number * run_mu(settings) >= least
        return stand_out and (words_known or enough_words(settings, events, number))

    if enough(settings, events, _most(documents, events)):
        return

    def by_budget(epsilon: float) -> bool:
        scaled = _scaled(events, settings, epsilon)
        return enough(_at(settings, epsilon), scaled, _most(documents, scaled))

    counted = "documents" if unit == "document" else f"different values of {unit}"
    budget, number = (
        _least(by_budget, RANGES["epsilon"]),
        _least(lambda n: enough(settings, events, math.ceil(n)), DOCUMENTS),
    )
    signal = _most(documents, events) * run_mu(settings)
    fewer_words = not words_known and signal >= _LEAST_SIGNAL
    ways = {
        f"at least epsilon {rounded_up(budget or 1.0)}": budget is not None,
        f"at least {rounded_up(number or 1.0)} {counted}": number is not None,
        "a public word list (--vocabulary)": fewer_words,
        "public text about the same things (--prior)": not of_prior and signal >= _LEAST_FOR_PRIOR,
        "fewer topics": fewer_words,
    }
    listed = "" if settings.vocabulary.words is None else " with words of the word list"
    raise UnsupportedByData(
        f"the corpus has about {max(0, round(documents)):,} {counted}{listed} (noisy, standard deviation "
        f"{_size_std(events):,.0f}), too few at epsilon {settings.privacy.epsilon:g} to "
        f"{_purpose(settings, of_prior=of_prior)}. Any one of these may be enough: "
        f"{'; '.join(way for way, helps in ways.items() if helps)}."
    )


def _most(documents: float, events: Sequence[Event]) -> int:
    """The largest number of units with which a run of `events` that releases the size `documents` is credited."""
    return max(1, math.ceil(_LENIENCY * (documents + _DEVIATIONS * _size_std(events))))


def _size_std(events: Sequence[Event]) -> float:
    (size,) = (event for event in events if event.stage == Stage.SIZE)
    return size.noise_multiplier or 0.0


def _purpose(settings: FitSettings, *, of_prior: bool) -> str:
    """What a run cannot do with too few documents."""
    if of_prior:
        return "tell whether they are about the topics of the prior"
    if settings.vocabulary.words is not None:
        return "learn topics from them"
    topics = "topics" if settings.model.topics == "auto" else f"{settings.model.topics} topics"
    limit = settings.vocabulary.max_document_frequency
    limited = "" if limit is None else f" that are in at most {limit:.2%} of the documents"
    return f"choose the words{limited} for {topics} privately"


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
