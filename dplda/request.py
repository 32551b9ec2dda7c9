"""A run's request, built before anything private is read: its plan, its reservation and its privacy statement."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from dplda.accounting.accountant import run_epsilon
from dplda.accounting.events import Event, PrivacyStatement, merged
from dplda.accounting.plan import calibrate, exact_events
from dplda.corpus import Corpus
from dplda.errors import InputError
from dplda.ledger import Ledger
from dplda.overlap import Fingerprint
from dplda.placements import registry
from dplda.placements.topic_count import most_topics
from dplda.settings import FitSettings

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
    corpus: Corpus
    settings: FitSettings
    words: tuple[str, ...] | None
    calibration: str
    dataset: str
    placement: registry.Placement = field(init=False)
    events: tuple[Event, ...] = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        placement = registry.find(settings.placement, self.calibration)
        shares = placement.plan(None if self.words is None else len(self.words), settings)
        planned = exact_events(shares) if placement.reason else calibrate(shares, settings.epsilon, settings.delta)
        object.__setattr__(self, "placement", placement)
        object.__setattr__(self, "events", planned)

    @property
    def reason(self) -> str:
        """Why the run is not private; empty if it is."""
        simulated = f"{registry.NOT_PRIVATE}: simulated noise from a known seed"
        return self.placement.reason or (simulated if self.settings.simulate_seed is not None else "")

    @property
    def model_bytes(self) -> int:
        """Room to set aside for the model, generously."""
        words = len(self.words) if self.words is not None else self.settings.max_vocabulary
        return (1 << 20) + 8 * most_topics(self.settings) * (words + 1) + 400 * words

    def parameters(self) -> dict[str, Any]:
        """Public settings, for the ledger and the model."""
        asked = {name: value for name, value in asdict(self.settings).items() if value is not None}
        return (
            asked
            | self.corpus.reading
            | {
                "dataset": self.dataset,
                "calibration": self.calibration,
                "vocabulary": "private" if self.words is None else "public",
            }
        )

    def reserve(self, ledger: Ledger | Literal[False]) -> Recorder:
        """The run's hold on its budget, on disk before anything private is read."""
        if ledger is False:
            if not self.reason:
                raise InputError("ledger=False is for runs that are not private: give simulate_seed, or use a ledger.")
            return Unrecorded(f"unrecorded-{secrets.token_hex(3)}")
        return ledger.reserve(
            dataset=self.dataset,
            unit=self.corpus.unit,
            adjacency=self.settings.adjacency,
            epsilon=self.settings.epsilon,
            delta=self.settings.delta,
            events=self.events,
            parameters=self.parameters(),
            sound=not self.reason,
        )

    def statement(self) -> PrivacyStatement:
        """What the run promises."""
        s = self.settings
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


def public_words(words: Sequence[str] | None, settings: FitSettings) -> tuple[str, ...] | None:
    """`words` as a checked public vocabulary; raises `InputError` if it is unfit or too small for the topics."""
    if words is None:
        return None
    public = tuple(words)
    if not all(isinstance(word, str) and word for word in public) or len(set(public)) != len(public):
        raise InputError("vocabulary must be distinct, non-empty words. Remove what is empty or repeated.")
    topics = 2 if settings.topics == "auto" else int(settings.topics)
    if len(public) < topics:
        raise InputError(
            f"topics must not exceed the number of words, got topics={settings.topics} with "
            f"{len(public)} words in the vocabulary. Ask for fewer topics or give more words."
        )
    return public
