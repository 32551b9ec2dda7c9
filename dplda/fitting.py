"""`dplda.fit`: reserve the budget, read, release, learn, save, record."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dplda.corpus import Corpus
from dplda.corpus.fingerprint import fingerprint
from dplda.errors import DpldaError, InputError, UnsupportedByData
from dplda.ledger import Ledger
from dplda.model.space import release_space, reserve_space
from dplda.model.topics import TopicModel
from dplda.placements import none
from dplda.placements.vocabulary import require_words, within_limits
from dplda.privacy.accountant import cost
from dplda.privacy.curator import Curator, Gate, WordFrequencies
from dplda.privacy.engines import passes_of
from dplda.privacy.events import Event, at_least
from dplda.privacy.noise import ExactNoise, SimulatedNoise
from dplda.privacy.passes import Engine
from dplda.progress import NoProgress, Progress
from dplda.request import UNNAMED, Recorder, Request, Unrecorded, public_words
from dplda.settings import CALIBRATIONS, DEVICES, ENGINES, FitSettings, check_choice


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
    split: Mapping[str, float] | None = None,
    out: str | Path | None = None,
    models: str | Path | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> TopicModel:
    """Learn `n_topics` topics of `corpus` under (epsilon, delta) differential privacy per unit.

    `epsilon` is in nats, for the whole run; `vocabulary` is a public word list (None: chosen privately and
    charged); `split` gives each edge of a placement of the paper its part of the budget; `simulate_seed` makes the
    noise reproducible and the run not private. The model is saved in `out`, or in ``models/<run>`` if `models` is
    given. `seconds` is filled with the time of each stage, which is private and stays on this machine.
    `ledger=False` writes none and is for simulations. With the engine ``dask`` passes over the documents run on
    the cluster of `scheduler`, an address, which must see the corpus' folder. The device ``cuda`` sums contributions on
    this machine's GPU, and ``auto`` does where there is one; noise is always drawn on the CPU.

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
        split=split,
    )
    ledger = Ledger() if ledger is None else ledger
    check_choice("calibration", calibration, CALIBRATIONS)
    check_choice("engine", engine, ENGINES)
    check_choice("device", device, DEVICES)
    if engine == "local" and scheduler is not None:
        raise InputError("scheduler is for --engine dask; leave it out with --engine local.")
    if engine == "dask" and placement == "config4":
        raise InputError("config4 needs the exact moments of all documents in one place: use --engine local.")
    words = public_words(vocabulary if vocabulary is not None else corpus.public_vocabulary, settings)
    request = Request(corpus, settings, words, calibration, dataset or corpus.name or UNNAMED)
    folder = Path(out) if out is not None else Path(models) / f".{secrets.token_hex(8)}" if models else None
    if folder is not None:
        reserve_space(folder, request.model_bytes)
    watch = Stopwatch(progress or NoProgress(), seconds if seconds is not None else {})
    with _released_on_failure(folder), passes_of(engine, scheduler, device) as running:
        recorder = request.reserve(ledger)
        with _abandoned_on_failure(recorder):
            model = _learn(request, recorder, ledger, watch, running)
            if folder is not None:
                if out is None:
                    folder = folder.rename(folder.parent / recorder.run)
                watch.start("save")
                with _released_on_failure(folder):
                    model.save(folder)
            watch.stop()
            recorder.finish(model=str(folder.resolve()) if folder else None, seconds=watch.seconds)
    return model


@dataclass
class Stopwatch:
    """Times the stages that are announced, and forwards the announcements."""

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


def _learn(
    request: Request,
    recorder: Recorder,
    ledger: Ledger | Literal[False],
    watch: Stopwatch,
    engine: Engine,
) -> TopicModel:
    settings, charged = request.settings, list[Event]()
    watch.start("read")
    store = request.corpus.open(watch, key=None if ledger is False else ledger.key)
    if ledger is not False:
        recorder.bind(fingerprint(store, ledger.key))

    def charge(event: Event) -> None:
        recorder.charge(event)
        charged.append(event)

    seed = settings.simulate_seed
    noise = ExactNoise() if seed is None else SimulatedNoise(seed)
    curator = Curator(store, request.events, charge, noise, adjacency=settings.adjacency, progress=watch, engine=engine)
    gate: Gate = none.ExactGate(curator, settings.max_vocabulary) if request.placement.reason else curator
    try:
        found = _words(gate, request)
        learned = request.placement.learn(gate, found, settings, np.random.default_rng(seed))
    except UnsupportedByData as error:
        raise UnsupportedByData(f"{error} {_told(request, recorder, charged)}") from None
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


def _told(request: Request, recorder: Recorder, charged: Sequence[Event]) -> str:
    """What a run that ends without a model promises and spent: its plan's promise (docs/privacy.md, rule 7)."""
    recorded = "" if isinstance(recorder, Unrecorded) else f"recorded as run {recorder.run}"
    if request.reason:
        return f"{request.reason}{recorded and f'; {recorded}'}."
    promise = request.statement()
    share = cost(charged).mu_squared / cost(request.events).mu_squared
    return (
        f"Spent: {share:.1%} of the run's budget (sum of squared GDP parameters), {recorded}. "
        f"What is promised stays epsilon {at_least(promise.epsilon)} at delta {promise.delta:g}."
    )


def _words(gate: Gate, request: Request) -> WordFrequencies:
    settings = request.settings
    if request.words is not None:
        gate.use_words(request.words)
        return gate.word_frequencies()
    released = gate.choose_words()
    modelled = within_limits(released, settings.max_vocabulary, settings.max_document_frequency)
    require_words(modelled, released, settings.topics, settings.max_document_frequency)
    gate.use_words(modelled.words)
    return modelled


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
    """End a failed run in the ledger: what was never charged costs nothing. Reasons carry no private text."""
    try:
        yield
    except UnsupportedByData:
        recorder.abandon("unsupported", "the released numbers could not support the request")
        raise
    except KeyboardInterrupt:
        recorder.abandon("cancelled", "interrupted")
        raise
    except DpldaError as error:
        recorder.abandon("cancelled", type(error).__name__)
        raise
    except BaseException as error:
        recorder.abandon("failed", type(error).__name__)
        raise
