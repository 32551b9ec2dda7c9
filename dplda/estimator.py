"""Fitting a model end to end: reserve, read, ask the curator, learn, save, record."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from dplda.corpus import Corpus
from dplda.corpus.fingerprint import fingerprint
from dplda.errors import DpldaError, InputError, UnsupportedByData
from dplda.ledger import Ledger
from dplda.model.space import release_space, reserve_space
from dplda.model.topics import TopicModel
from dplda.placements import default, none
from dplda.placements.vocabulary import require_words, within_limits
from dplda.privacy.accountant import run_epsilon
from dplda.privacy.curator import Curator, Gate, WordFrequencies
from dplda.privacy.events import Event, PrivacyStatement, merged
from dplda.privacy.noise import ExactNoise, SimulatedNoise
from dplda.privacy.plan import calibrate
from dplda.progress import Progress, Silent
from dplda.settings import FitSettings, check_choice

CALIBRATIONS = ("sound",)
ENGINES = ("local",)
DEVICES = ("cpu", "auto")
NOT_PRIVATE = "NOT PRIVATE"


class Recorder(Protocol):
    """What a run writes its questions into: a ledger's reservation, or nothing."""

    run: str

    def ask(self, event: Event) -> None:
        """Make `event` durable before it is answered."""

    def bind(self, fingerprint: str) -> None:
        """Attach the documents' fingerprint."""

    def finish(self, *, model: str | None, seconds: Mapping[str, float]) -> None:
        """End the run."""

    def abandon(self, status: str, reason: str) -> None:
        """End the run without a model."""


def fit(
    corpus: Corpus,
    dataset: str | None = None,
    n_topics: int | Literal["auto"] = 20,
    epsilon: float = 2.0,
    delta: float = 1e-6,
    placement: str = "default",
    calibration: str = "sound",
    vocabulary: Sequence[str] | None = None,
    ledger: Ledger | Literal[False] | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    device: str = "cpu",
    simulate_seed: int | None = None,
    *,
    adjacency: str = "add-remove",
    max_vocabulary: int = 2000,
    max_document_frequency: float = 0.1,
    alpha0: float = 1.0,
    out: str | Path | None = None,
    models: str | Path | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> TopicModel:
    """Learn `n_topics` topics of `corpus` under (epsilon, delta) differential privacy per unit.

    `epsilon` is in nats, for the whole run; `vocabulary` is a public word list (None: chosen privately and
    charged); `simulate_seed` makes the noise reproducible and the run not private. The model is saved in
    `out`, or in ``models/<run>`` if `models` is given. `seconds` is filled with the time of each stage, which
    is private and stays on this machine. `ledger=False` writes none and is for simulations.

    Raises `InputError` for bad input and `BudgetRefused` when the ledger does not allow the run, both with
    nothing spent, and `UnsupportedByData` when the released numbers cannot support the request.
    """
    settings = FitSettings(
        topics=n_topics,
        epsilon=epsilon,
        delta=delta,
        placement=placement,
        adjacency=adjacency,
        max_vocabulary=max_vocabulary,
        max_document_frequency=max_document_frequency,
        alpha0=alpha0,
        simulate_seed=simulate_seed,
    )
    check_choice("calibration", calibration, CALIBRATIONS)
    check_choice("engine", engine, ENGINES)
    check_choice("device", device, DEVICES)
    if scheduler is not None:
        raise InputError("scheduler is for --engine dask; leave it out with --engine local.")
    words = _public_words(vocabulary if vocabulary is not None else corpus.public_vocabulary, settings)
    request = _Request(corpus, settings, words, calibration, dataset or _dataset_name(corpus))
    folder = Path(out) if out is not None else Path(models) / f".{secrets.token_hex(8)}" if models else None
    if folder is not None:
        reserve_space(folder, request.model_bytes)
    watch = Stopwatch(progress or Silent(), seconds if seconds is not None else {})
    with _released_on_failure(folder):
        recorder = request.reserve(ledger)
        with _abandoned_on_failure(recorder):
            model = _learn(request, recorder, ledger, watch)
            if folder is not None:
                final = folder if out is not None else folder.rename(folder.parent / recorder.run)
                folder = final
                watch.start("save")
                model.save(final)
            watch.stop()
            recorder.finish(model=str(folder.resolve()) if folder else None, seconds=watch.seconds)
    return model


@dataclass
class Stopwatch:
    """Times stages as they are announced, and passes the announcements on."""

    progress: Progress
    seconds: dict[str, float]
    _stage: str | None = None
    _since: float = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """End the stage before and begin `stage`; a clip belongs to its stage."""
        self.stop()
        self._stage, self._since = stage.removesuffix(" clip"), time.perf_counter()
        self.progress.start(stage, total)

    def advance(self, amount: int = 1) -> None:
        """Pass on."""
        self.progress.advance(amount)

    def stop(self) -> None:
        """End the current stage."""
        if self._stage is not None:
            spent = time.perf_counter() - self._since
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + spent
        self._stage = None


@dataclass(frozen=True)
class _Request:
    corpus: Corpus
    settings: FitSettings
    words: tuple[str, ...] | None
    calibration: str
    dataset: str
    events: tuple[Event, ...] = field(init=False)

    def __post_init__(self) -> None:
        shares = default.shares(self.words is not None)
        exact = self.settings.placement == "none"
        planned = none.events(shares) if exact else calibrate(shares, self.settings.epsilon, self.settings.delta)
        object.__setattr__(self, "events", planned)

    @property
    def reason(self) -> str:
        """Why the run is not private; empty if it is."""
        if self.settings.placement == "none":
            return f"{NOT_PRIVATE}: exact statistics, no noise at all"
        if self.settings.simulate_seed is not None:
            return f"{NOT_PRIVATE}: simulated noise from a known seed"
        return ""

    @property
    def model_bytes(self) -> int:
        """Room to set aside for the model, generously."""
        words = len(self.words) if self.words is not None else self.settings.max_vocabulary
        topics = default.AUTOMATIC_TOPICS if self.settings.topics == "auto" else int(self.settings.topics)
        return (1 << 20) + 8 * topics * (words + 1) + 400 * words

    def parameters(self) -> dict[str, Any]:
        """Public settings, for the ledger and the model."""
        asked = {name: value for name, value in asdict(self.settings).items() if value is not None}
        return asked | {
            "dataset": self.dataset,
            "calibration": self.calibration,
            "vocabulary": "private" if self.words is None else "public",
        }

    def reserve(self, ledger: Ledger | Literal[False] | None) -> Recorder:
        """The run's hold on its budget, on disk before anything private is read."""
        if ledger is False:
            if not self.reason:
                raise InputError("ledger=False is for runs that are not private: give simulate_seed, or use a ledger.")
            return _Unrecorded(f"unrecorded-{secrets.token_hex(3)}")
        return (ledger or Ledger()).reserve(
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
class _Unrecorded:
    """A recorder that keeps nothing."""

    run: str

    def ask(self, event: Event) -> None:
        pass

    def bind(self, fingerprint: str) -> None:
        pass

    def finish(self, *, model: str | None, seconds: Mapping[str, float]) -> None:
        pass

    def abandon(self, status: str, reason: str) -> None:
        pass


def _learn(
    request: _Request, recorder: Recorder, ledger: Ledger | Literal[False] | None, watch: Stopwatch
) -> TopicModel:
    settings, asked = request.settings, list[Event]()
    watch.start("read")
    store = request.corpus.open(watch)
    if ledger is not False:
        recorder.bind(fingerprint(store, (ledger or Ledger()).key))

    def ask(event: Event) -> None:
        recorder.ask(event)
        asked.append(event)

    seed = settings.simulate_seed
    noise = ExactNoise() if seed is None else SimulatedNoise(seed)
    curator = Curator(store, request.events, ask, noise, adjacency=settings.adjacency, progress=watch)
    gate: Gate = none.Exposed(curator, settings.max_vocabulary) if settings.placement == "none" else curator
    try:
        found = _words(gate, request)
    except UnsupportedByData as error:
        spent = run_epsilon(asked, settings.delta)
        raise UnsupportedByData(
            f"{error} Spent: epsilon {spent:.3g} at delta {settings.delta:g}, recorded as run {recorder.run}."
        ) from None
    learned = default.learn(gate, found, settings, np.random.default_rng(seed))
    watch.start("model")
    return TopicModel(
        topics=learned.topics,
        prevalence=learned.prevalence,
        vocabulary=list(found.words),
        privacy=request.statement(),
        parameters=request.parameters()
        | {
            "run": recorder.run,
            "documents": round(learned.documents),
            "alpha": [float(a) for a in settings.alpha0 * learned.prevalence],
            **learned.facts,
        },
    )


def _words(gate: Gate, request: _Request) -> WordFrequencies:
    settings = request.settings
    if request.words is not None:
        gate.use_words(request.words)
        found = gate.word_frequencies()
    else:
        found = within_limits(gate.choose_words(), settings.max_vocabulary, settings.max_document_frequency)
    require_words(found, settings.topics, chosen_privately=request.words is None)
    if request.words is None:
        gate.use_words(found.words)
    return found


def _public_words(words: Sequence[str] | None, settings: FitSettings) -> tuple[str, ...] | None:
    if words is None:
        return None
    public = tuple(words)
    if not all(isinstance(word, str) and word for word in public) or len(set(public)) != len(public):
        raise InputError("vocabulary must be distinct, non-empty words. Remove what is empty or repeated.")
    topics = 2 if settings.topics == "auto" else int(settings.topics)
    if len(public) < max(3, topics):
        raise InputError(
            f"topics must not exceed the number of words, got topics={settings.topics} with "
            f"{len(public)} words in the vocabulary. Ask for fewer topics or give more words."
        )
    return public


def _dataset_name(corpus: Corpus) -> str:
    if corpus.name:
        return corpus.name
    raise InputError("dataset must be named: counts have no file name. Give dataset='...' to fit.")


@contextmanager
def _released_on_failure(folder: Path | None) -> Iterator[None]:
    """Give back the room set aside for the model if nothing is saved."""
    try:
        yield
    except BaseException:
        if folder is not None:
            release_space(folder)
        raise


@contextmanager
def _abandoned_on_failure(recorder: Recorder) -> Iterator[None]:
    """End a failed run in the ledger: what was never asked costs nothing. Reasons carry no private text."""
    try:
        yield
    except UnsupportedByData:
        recorder.abandon("unsupported", "the released numbers could not support the request")
        raise
    except (DpldaError, KeyboardInterrupt) as error:
        recorder.abandon("cancelled", type(error).__name__)
        raise
    except BaseException as error:
        recorder.abandon("failed", type(error).__name__)
        raise
