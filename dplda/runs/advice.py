"""Which settings of `dplda fit` are most likely to give topics, by the forecast for a number of units.

From public numbers and a rough number of units alone, which `dplda check` and dry runs estimate from the first records.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

from dplda.learning.settings import DEFAULTS, FitSettings
from dplda.runs.enough import probably_enough
from dplda.runs.fit_options import FitOptions
from dplda.runs.forecast import MANY_SUBJECTS, ONE_SUBJECT, ForecastInputs, forecast_prior, least_documents

# Topics and epsilon, the first being the default. A setting is advised if at least half of its topics are forecast to
# stand out in text about many subjects.
USUAL = int(DEFAULTS.model.topics), DEFAULTS.privacy.epsilon
_SETTINGS = (USUAL, (8, 4.0), (5, 4.0))
_FEW_TOPICS = 3
_FEW_WORDS, _MANY_WORDS = 100, 600  # of measured runs whose topics had other verdicts


@dataclass(frozen=True)
class Advice:
    """Settings for a number of units, and what to expect of them."""

    topics: int
    epsilon: float
    surviving: int
    """The topics that are forecast to stand out from the noise in text about many subjects, without a prior."""
    surviving_in_one: int
    """The same in text about one subject."""
    ends_with_topics: bool
    """Whether a run without a prior gives topics in 9 of 10 cases or more."""
    enough_words: bool
    """Whether enough words are forecast to be in so many units that a run can choose them privately."""
    prior_helps: bool
    """Whether a run with a prior about the same things gives topics in nearly all cases."""
    words: int
    """The words that the run is forecast to learn from."""
    least_units: tuple[int, int] | None
    """The least numbers of units at which all topics are forecast to stand out in text about many subjects, and about
    one; None if no number is enough."""
    automatic: bool = False
    """Whether the run takes as many topics as stand out; `topics` is then the most that it can take."""

    @property
    def options(self) -> str:
        """The options of `dplda fit` for these settings."""
        return typed_options(self.topics, self.epsilon)

    @property
    def likely(self) -> bool:
        """Whether at least half of the topics are forecast to stand out from the noise; for ``auto``, a few of them."""
        return self.ends_with_topics and self.surviving >= (_FEW_TOPICS if self.automatic else self.topics / 2)

    @property
    def some_clear(self) -> bool:
        """Whether some topics are likely to be called clear."""
        return self.likely and self.words >= _MANY_WORDS

    @property
    def verdicts(self) -> str:
        """Which verdicts to expect, from measured runs by their number of words; little else says more beforehand.

        The runs are those on small collections in docs/benchmarks.md, without a prior.
        """
        if self.words < _FEW_WORDS:
            kinds, measured, real = "called weak or noise, hints at best", "50 to 68", "one in ten topics or fewer"
        elif self.words < _MANY_WORDS:
            kinds, measured, real = "called weak, which are hints", "113 to 450", "one in four topics or fewer"
        else:
            kinds, measured, real = "of which some are called clear", "665 to 691", "three to seven of ten topics"
        return (
            f"Expect topics {kinds}: about {self.words:,} words would be learned from, and of the measured runs "
            f"nearest to that, with {measured} words, an ordinary fit, without noise, usually had {real}, too."
        )


def advise(units: int, like: FitSettings = DEFAULTS) -> Advice:
    """Return the first settings that are likely to give topics of `units` units; the last ones if none are.

    Words are chosen as in the settings `like`, which also say whether the run is on a batch of a series.
    """
    judged = _judged(units, like)
    return next((advice for advice in judged if advice.likely), judged[-1])


def clearer(units: int, like: FitSettings = DEFAULTS) -> Advice | None:
    """Return the first settings that are likely to give some clear topics of `units` units; None if none are."""
    return next((advice for advice in _judged(units, like) if advice.some_clear), None)


def propose(units: int) -> Advice:
    """Return the settings to propose for `units` units: the first that give clear topics, else those of `advise`."""
    return clearer(units) or advise(units)


def _judged(units: int, like: FitSettings) -> list[Advice]:
    settings = (
        FitOptions(n_topics=topics, epsilon=epsilon, words=like.vocabulary.words).settings(
            series=like.series, batch=like.batch
        )
        for topics, epsilon in _SETTINGS
    )
    return [judge(each, units) for each in settings]


def judge(settings: FitSettings, units: int) -> Advice:
    """Return what to expect of a run of `settings` over `units` units."""
    public = settings.vocabulary.public is not None
    inputs = ForecastInputs(settings, units, public)
    many, one = (least_documents(inputs, kind) for kind in (MANY_SUBJECTS, ONE_SUBJECT))
    expected = inputs.forecast(MANY_SUBJECTS)
    enough_words = len(expected.stages) > 2
    return Advice(
        inputs.most_topics,
        settings.privacy.epsilon,
        min(expected.supported, inputs.most_topics),
        min(inputs.forecast(ONE_SUBJECT).supported, inputs.most_topics),
        enough_words and probably_enough(settings, inputs.events, units),
        enough_words,
        units >= forecast_prior(settings, units, public_vocabulary=public).least_documents,
        expected.words,
        None if many is None or one is None else (many, one),
        settings.model.topics == "auto",
    )


def enough_for_prior(settings: FitSettings, units: int) -> bool:
    """Return whether a run of `settings` with a prior tests it, in 9 of 10 cases or more."""
    events = ForecastInputs(settings, units, settings.vocabulary.public is not None).events
    return probably_enough(settings, events, units, of_prior=True)


def typed_options(topics: int | None, epsilon: float | None) -> str:
    """Return the options of `dplda fit` for these settings, without those that are None."""
    named = {"--topics": topics, "--epsilon": epsilon}
    return " ".join(f"{name} {value:g}" for name, value in named.items() if value is not None)


def supported_topics(settings: FitSettings, units: int) -> int:
    """Return the largest number of topics, fewer than `settings` ask for, that are all forecast to stand out.

    It is 0 if there is none from 2 on, or if seed words or ``auto`` decide on the number.
    """
    model = settings.model
    if model.topics == "auto" or model.seed_words:
        return 0

    def too_many(topics: int) -> bool:
        fewer = judge(replace(settings, model=replace(model, topics=topics), prior=None), units)
        return not fewer.ends_with_topics or fewer.surviving < topics

    enough = bisect_left(range(2, int(model.topics)), True, key=too_many) + 1
    return enough if enough > 1 else 0
