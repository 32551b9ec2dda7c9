"""Whether a corpus has enough documents for a run, from its noisy size and a few public numbers.

A real run calls `require_documents` once. Forecasts (`dplda.runs.forecast`) read the same numbers: how frequent words
are in typical text, how many documents must contain a word for a run to release it, and the search for the least budget
or number of documents that would do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dplda.base.config import DEFAULT_GRANT, RANGES, Range
from dplda.base.errors import UnsupportedByData
from dplda.budget.events import Event, Stage
from dplda.learning.model_size import frequency_limit, run_mu
from dplda.learning.settings import LISTED, FitSettings
from dplda.private.noise import selection_threshold
from dplda.private.statistics import NONNEGATIVE
from dplda.private.statistics.clipping import BOUND, MOST_WORDS
from dplda.text.records import DOCUMENT

COUNTS_OF_PERSONS = "Far fewer are enough for counts: `dplda count --persons`, of people in categories that you name."
DOCUMENTS = Range(low=1, high=10**12, unit="documents", integer=True)
VOTE = 0.095  # mean vote for a word by a document that contains it

# The share of documents that contain the word of each rank; the last is extrapolated. Measured on two public corpora in
# English, with one document per unit and without stop words (`dplda.runs.forecast`).
_RANKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 300, 1000, 3000, 10_000, 1_000_000)
_HELD = (0.62, 0.58, 0.51, 0.40, 0.25, 0.18, 0.137, 0.108, 0.076, 0.039, 0.016, 0.0053, 0.0011, 2e-6)
_FREQUENT = 100  # more than the number of typical words that are too frequent to be modelled

# A run continues if 1.5 times the size's upper limit (+2 deviations) would be enough.
_LENIENCY, _DEVIATIONS = 1.5, 2.0
_RARELY = 1.3  # standard deviations; noise is below minus this in one case of ten
# Least documents * mu: below it, topics are noise, listed words are mostly in no document, and no prior passes its test
# (docs/design-log.md).
_LEAST_SIGNAL, _LEAST_LISTED, _LEAST_FOR_PRIOR = 150.0, 750.0, 60.0
_LISTED_PER_TOPIC = 5  # words of typical text above the noise, for each topic, if words are listed
_STEPS = 16  # of bisection: a precision of about a thousandth, far finer than a forecast


def probably_enough(
    settings: FitSettings, events: Sequence[Event], documents: float, *, of_prior: bool = False
) -> bool:
    """Return whether a run of `events` over `documents` units passes `require_documents` in 9 of 10 cases or more."""
    return _enough(settings, events, _most(documents - _RARELY * _size_std(events), events), of_prior=of_prior)


def require_documents(
    settings: FitSettings, events: Sequence[Event], documents: float, unit: str, *, of_prior: bool = False
) -> None:
    """Raise `UnsupportedByData` if the corpus is surely too small to tell anything.

    `documents` is the noisy number of units that a run of `events` released. The corpus is too small if 1.5
    (`documents` + 2 standard deviations of their noise) documents times the run's mu are less than a constant or,
    unless words are public, are expected to give fewer words than the topics need: words above the threshold, or listed
    ones above the noise. With `of_prior`, the run may still
    choose among the topics of a prior, which needs fewer documents and no words. The result depends on that release
    and on public numbers alone.
    """
    if _enough(settings, events, _most(documents, events), of_prior=of_prior):
        return
    vocabulary = settings.vocabulary
    listed = vocabulary.public is None and vocabulary.words == LISTED
    words_known = of_prior or vocabulary.public is not None
    few = documents - _RARELY * _size_std(events)  # what is proposed shall succeed even with so few

    def enough_at(epsilon: float) -> bool:
        scaled = scale_events(events, settings, epsilon)
        return probably_enough(with_epsilon(settings, epsilon), scaled, few, of_prior=of_prior)

    signal = _most(documents, events) * run_mu(settings)
    stands_out = signal >= _least(settings, of_prior=of_prior)
    topics = "topics" if settings.model.topics == "auto" else f"{settings.model.topics} topics"
    limit = vocabulary.max_document_frequency
    limited = "" if limit is None else f" that are in at most {limit:.2%} of the documents"
    purpose = f"choose the words{limited} for {topics} privately"
    if of_prior:
        purpose = "tell whether they are about the topics of the prior"
    elif words_known or (listed and not stands_out):
        purpose = "learn topics from them"

    counted = "documents" if unit == "document" else f"different values of {unit}"
    budget = find_least(enough_at, RANGES["epsilon"])
    number = find_least(lambda n: _enough(settings, events, math.ceil(n), of_prior=of_prior), DOCUMENTS)
    fewer_words = not words_known and stands_out
    prior = not of_prior and documents * run_mu(settings) >= _LEAST_FOR_PRIOR
    ways = {
        f"at least epsilon {rounded_up(budget or 1.0)}": budget is not None and budget <= DEFAULT_GRANT[0],
        f"at least {rounded_up(number or 1.0)} {counted}": number is not None,
        "a public word list (--vocabulary)": fewer_words,
        "public text about the same things (dplda fit --prior)": prior,
        "fewer topics": fewer_words,
    }
    counted += "" if vocabulary.public is None else " with words of the word list"
    helping = [way for way, helps in ways.items() if helps]
    raise UnsupportedByData(
        f"the corpus has about {max(0, round(documents)):,} {counted} (noisy, standard deviation "
        f"{_size_std(events):,.0f}), too few at epsilon {settings.privacy.epsilon:g} to "
        f"{purpose}. With {'any one of these' if len(helping) > 1 else 'this'}, a run very probably goes on (good "
        f"topics need more): {'; '.join(helping)}."
        f"{'' if unit == DOCUMENT else f' {COUNTS_OF_PERSONS}'}"
    )


def _least(settings: FitSettings, *, of_prior: bool) -> float:
    """Return the least number of documents times mu."""
    vocabulary = settings.vocabulary
    if of_prior:
        return _LEAST_FOR_PRIOR
    return _LEAST_LISTED if vocabulary.public is None and vocabulary.words == LISTED else _LEAST_SIGNAL


def _enough(settings: FitSettings, events: Sequence[Event], documents: int, *, of_prior: bool) -> bool:
    """Return whether exactly so many `documents` of typical text can give topics, and the words that they need."""
    stand_out = documents * run_mu(settings) >= _least(settings, of_prior=of_prior)
    if of_prior or settings.vocabulary.public is not None or not stand_out:
        return stand_out
    multiplier = next(event.noise_multiplier or 0.0 for event in events if event.stage == Stage.VOCABULARY)
    needed, words = multiplier, _LISTED_PER_TOPIC * settings.model.least_words
    if settings.vocabulary.words != LISTED:
        needed = votes_needed(multiplier, sum(event.delta for event in events), settings.privacy.adjacency)
        words = settings.model.least_words
    return len(typical_words(settings, needed / (VOTE * documents))) >= words


def _most(documents: float, events: Sequence[Event]) -> int:
    """Return the most units that a corpus is assumed to have, if a run of `events` released the size `documents`."""
    return max(1, math.ceil(_LENIENCY * (documents + _DEVIATIONS * _size_std(events))))


def _size_std(events: Sequence[Event]) -> float:
    (size,) = (event for event in events if event.stage == Stage.SIZE)
    return size.noise_multiplier or 0.0


def votes_needed(multiplier: float, delta: float, adjacency: str, most: int = MOST_WORDS) -> float:
    """Return the threshold of the noisy sum of votes for a word: with such a sum, a word passes with probability 1/2.

    `multiplier` is the noise multiplier of the votes, `delta` the probability that the run releases a word of a single
    unit, and `most` for how many words a unit votes.
    """
    replaces = adjacency == "replace"
    std = multiplier * (NONNEGATIVE if replaces else 1.0)
    return selection_threshold(std * BOUND, delta / (2 if replaces else 1), most) / BOUND


def typical_words(settings: FitSettings, least: float = 0.0) -> np.ndarray:
    """Return the document frequencies (n_words,) of the words of typical text that a fit models, descending.

    The fit is assumed to release the words above `least`.
    """
    most = settings.vocabulary.max_vocabulary
    frequencies = word_frequencies(most + _FREQUENT, least)
    return frequencies[frequencies <= frequency_limit(frequencies, settings)][:most]


def word_frequencies(words: int, least: float = 0.0) -> np.ndarray:
    """Return document frequencies of the `words` most frequent words of typical text, descending, down to `least`."""
    ranks = np.arange(1, words + 1)
    shares = np.exp(np.interp(np.log(ranks), np.log(_RANKS), np.log(_HELD)))
    return np.asarray(shares[shares >= least])


def find_least(holds: Callable[[float], bool], within: Range) -> float | None:
    """Find the least number in a range at which `holds` is true, by bisection on a log scale; None if there is none."""
    low, high = within.low, within.high
    if not holds(high):
        return None
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def with_epsilon(settings: FitSettings, epsilon: float) -> FitSettings:
    """Return `settings` with another `epsilon`."""
    return replace(settings, privacy=replace(settings.privacy, epsilon=epsilon))


def scale_events(events: Sequence[Event], settings: FitSettings, epsilon: float) -> list[Event]:
    """Return the `events` of a run with these settings, as they would be at another `epsilon`.

    Multipliers are inversely proportional to the total GDP parameter.
    """
    factor = run_mu(settings) / run_mu(with_epsilon(settings, epsilon))
    return [replace(event, noise_multiplier=factor * (event.noise_multiplier or 0.0)) for event in events]


def rounded_up(value: float) -> str:
    """Round `value` up to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / unit - 1e-6) * unit:,.{max(0, -round(math.log10(unit)))}f}"
