"""A run's request, built before anything private is read: its plan, its reservation and its privacy statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from dplda.accounting.accountant import run_epsilon
from dplda.accounting.events import Event, PrivacyStatement, merged
from dplda.accounting.plan import calibrate, exact_events
from dplda.config import FitSettings
from dplda.corpus import Corpus
from dplda.errors import InputError
from dplda.ledger import Ledger
from dplda.overlap import Fingerprint
from dplda.placements import registry
from dplda.placements.topic_count import most_topics

UNNAMED = "unnamed"  # one budget for all corpora that nobody named: failing closed


class Recorder(Protocol):
    """Receives a run's events: a ledger's reservation, or nothing."""

    run: str

    def charge(self, event: Event) -> None:
        """Make `event` durable before it is answered."""

    def bind(self, fingerprint: Fingerprint) -> None:
        """Attach the documents' fingerprint."""

    def finish(self, *, model: str | None, seconds: Mapping[str, float]) -> None:
        """End the run."""

    def abandon(self, status: str, reason: str) -> None:
        """End the run without a model."""


@dataclass(frozen=True)
class Request:
    """A run that was asked for: its settings, its `placement` and its planned `events`. All of it is public."""

    corpus: Corpus
    settings: FitSettings
    dataset: str
    placement: registry.Placement = field(init=False)
    events: tuple[Event, ...] = field(init=False)

    def __post_init__(self) -> None:
        model, privacy = self.settings.model, self.settings.privacy
        placement = registry.find(model.placement, model.calibration)
        shares = placement.plan(self.settings)
        planned = exact_events(shares) if placement.reason else calibrate(shares, privacy.epsilon, privacy.delta)
        object.__setattr__(self, "placement", placement)
        object.__setattr__(self, "events", planned)

    @property
    def reason(self) -> str:
        """Why the run is not private; empty if it is."""
        simulated = f"{registry.NOT_PRIVATE}: simulated noise from a known seed"
        return self.placement.reason or (simulated if self.settings.privacy.simulate_seed is not None else "")

    @property
    def model_bytes(self) -> int:
        """Room to set aside for the model, generously."""
        vocabulary = self.settings.vocabulary
        words = vocabulary.max_vocabulary if vocabulary.words is None else len(vocabulary.words)
        return (1 << 20) + 8 * most_topics(self.settings) * (words + 1) + 400 * words

    def parameters(self) -> dict[str, Any]:
        """Public settings, for the ledger and the model."""
        return self.settings.to_json() | self.corpus.reading | {"dataset": self.dataset}

    def reserve(self, ledger: Ledger | Literal[False], run: str) -> Recorder:
        """The hold on its budget of the run of this id, on disk before anything private is read."""
        if ledger is False:
            if not self.reason:
                raise InputError("ledger=False is for runs that are not private: give simulate_seed, or use a ledger.")
            return Unrecorded(run)
        return ledger.reserve(
            run=run,
            dataset=self.dataset,
            unit=self.corpus.unit,
            adjacency=self.settings.privacy.adjacency,
            epsilon=self.settings.privacy.epsilon,
            delta=self.settings.privacy.delta,
            events=self.events,
            parameters=self.parameters(),
            sound=not self.reason,
        )

    def statement(self) -> PrivacyStatement:
        """What the run promises."""
        s = self.settings.privacy
        return PrivacyStatement(
            epsilon=float("inf") if self.reason else run_epsilon(self.events, s.delta),
            delta=s.delta,
            unit=self.corpus.unit,
            adjacency=s.adjacency,
            sound=not self.reason,
            events=merged(self.events),
            reason=self.reason,
        )


@dataclass
class Unrecorded:
    """A recorder that writes nothing."""

    run: str

    def charge(self, event: Event) -> None:
        """Keep nothing."""

    def bind(self, fingerprint: Fingerprint) -> None:
        """Keep nothing."""

    def finish(self, *, model: str | None, seconds: Mapping[str, float]) -> None:
        """Keep nothing."""

    def abandon(self, status: str, reason: str) -> None:
        """Keep nothing."""
