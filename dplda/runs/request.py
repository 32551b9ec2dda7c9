"""A requested run: its settings, checked, with the plan of its events and the place where it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dplda.base.config import NO_NOISE, ExecutionSettings, PrivacySettings
from dplda.base.errors import InputError
from dplda.budget import Ledger
from dplda.budget.budget_plan import calibrate, exact_events
from dplda.budget.events import Event
from dplda.learning.placements import prior_start, registry
from dplda.learning.settings import FitSettings, ModelSettings, VocabularySettings
from dplda.learning.topic_count import most_topics
from dplda.model.prior_topics import PriorTopics
from dplda.model.topic_model import TopicModel
from dplda.private.statistics import Statistic
from dplda.runs.corpus import Corpus
from dplda.runs.public_words import usable_seed_words, usable_words, warn_of_prior_words
from dplda.runs.run_words import PublicFacts
from dplda.runs.series import find_place


def requested(
    corpus: Corpus,
    ledger: Ledger | Literal[False],
    *,
    dataset: str | None,
    series: str | None,
    batch: str | None,
    prior: PriorTopics | None,
    topics: int | Literal["auto"],
    words: Sequence[str] | None,
    **named: Any,
) -> Request:
    """The run that `fit` is asked for; `named` are the other settings, as in `FitSettings.of`.

    Public words that the documents cannot contain are left out, with a warning (`dplda.runs.public_words`). Raises
    `InputError` for settings that are out of range or contradict each other.
    """
    public = words if words is not None else corpus.public_vocabulary
    seed_words = named.pop("seed_words", None)
    private = named.get("simulate_seed") is None and named.get("placement") != NO_NOISE
    place = find_place(corpus, ledger, dataset=dataset, series=series, batch=batch, prior=prior, private=private)
    n_topics = place.topics(topics)
    if public is not None:
        listed = VocabularySettings(words=tuple(public)).words or ()
        needed = 0 if named.get("placement") == NO_NOISE else ModelSettings(topics=n_topics).words_needed
        public = usable_words(corpus.tokenization, listed, needed)
    if place.prior is not None:
        warn_of_prior_words(corpus.tokenization, place.prior)
    settings = FitSettings.of(
        **named,
        topics=n_topics,
        words=public,
        seed_words=None if seed_words is None else usable_seed_words(corpus.tokenization, seed_words),
        prior=place.prior,
        series=place.series,
        batch=place.batch,
    )
    return Request(corpus, settings, place.dataset, place.earlier)


@dataclass(frozen=True)
class Request:
    """A requested run: its settings, its `placement` and its planned `events`. All of it is public.

    `earlier` is the model of the previous batch, if the run is on a batch of a series.
    """

    corpus: Corpus
    settings: FitSettings
    dataset: str
    earlier: TopicModel | None = None
    placement: registry.Placement = field(init=False)
    events: tuple[Event, ...] = field(init=False)

    def __post_init__(self) -> None:
        model, privacy = self.settings.model, self.settings.privacy
        if self.settings.prior is not None and self.settings.prior.places & self.corpus.places:
            raise InputError(
                "the prior was learned without noise from files of CORPUS: its topics would give them away. Give other "
                "text that is public as the prior."
            )
        placement = registry.find(model.placement, model.calibration)
        shares = placement.plan(self.settings)
        planned = exact_events(shares) if placement.reason else calibrate(shares, privacy.epsilon, privacy.delta)
        object.__setattr__(self, "placement", placement)
        object.__setattr__(self, "events", planned)

    @property
    def privacy(self) -> PrivacySettings:
        """See `dplda.runs.recording.Planned`."""
        return self.settings.privacy

    @property
    def execution(self) -> ExecutionSettings:
        """See `dplda.runs.recording.Planned`."""
        return self.settings.execution

    @property
    def batch(self) -> str | None:
        """See `dplda.runs.recording.Planned`."""
        return self.settings.batch

    @property
    def id_field(self) -> str | None:
        """See `dplda.runs.recording.Planned`."""
        return self.corpus.id_field

    @property
    def reason(self) -> str:
        """Why the run is not private; empty if it is private."""
        return self.placement.reason or self.privacy.reason

    @property
    def public_facts(self) -> PublicFacts:
        """The public facts of the run before its first query."""
        return PublicFacts(
            settings=self.settings,
            events=self.events,
            reading=self.corpus.reading,
            unit=self.corpus.unit,
            private=not self.placement.reason,
        )

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics that the run may release."""
        return self.placement.statistics + (() if self.settings.prior is None else prior_start.STATISTICS)

    @property
    def model_bytes(self) -> int:
        """An upper estimate of the model's size on disk."""
        vocabulary = self.settings.vocabulary
        words = vocabulary.max_vocabulary if vocabulary.words is None else len(vocabulary.words)
        return (1 << 20) + 16 * most_topics(self.settings) * (words + 1) + 400 * words

    def parameters(self) -> dict[str, Any]:
        """Public settings, for the ledger and the model."""
        return self.corpus.reading | self.settings.to_json() | {"dataset": self.dataset}
