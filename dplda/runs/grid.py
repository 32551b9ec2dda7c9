"""A grid of runs on one corpus, for `dplda compare`: runs and records every cell, and measures the models.

Runs on a synthetic corpus (with known topics) or a public one draw simulated noise, are not recorded as runs and cost
nothing; the quality of their topics is measured exactly. Runs on a private corpus draw exact noise and are charged, and
nothing is measured.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from dplda.base.config import MINIMUM_LENGTH, RANGES, Range, check_choice
from dplda.base.distributions import on_words
from dplda.base.errors import InputError, UnsupportedByData
from dplda.base.progress import NoProgress, Progress
from dplda.budget import ComparisonLog, Ledger, Quote, Status
from dplda.budget.comparisons import Cell, Comparison, ComparisonKind, Outcome
from dplda.budget.events import EXACT, Event, Stage
from dplda.budget.schema import canonical
from dplda.budget.sketches import Fingerprint
from dplda.learning.coherence import CompletedHalves, c_v
from dplda.learning.placements import published, registry
from dplda.learning.placements.published import Quantities
from dplda.learning.placements.registry import CALIBRATIONS, NO_NOISE, PLACEMENTS, PUBLISHED
from dplda.learning.settings import PRIVATE, FitSettings
from dplda.model.topic_model import TopicModel
from dplda.private.exact_gate import ExactGate
from dplda.private.noise import ExactNoise
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.expected_counts import COMPLETION_CLIP
from dplda.private.store.fingerprint import fingerprint
from dplda.runs.corpus import Corpus, counts_for, synthetic
from dplda.runs.fitting import fit, plan_topics
from dplda.runs.run import Run

_FloatArray = npt.NDArray[np.float64]
_LARGEST_L1 = 2.0  # l1 distance of two topics without a common word


def npmi(topics: _FloatArray, counts: sparse.csr_matrix, top: int = 10) -> _FloatArray:
    """Return the coherence: mean NPMI over pairs of each topic's `top` words, (n_topics,); see `pair_npmi`."""
    return np.asarray(pair_npmi(topics, counts, top).mean(axis=1))


def pair_npmi(topics: _FloatArray, counts: sparse.csr_matrix, top: int = 10) -> _FloatArray:
    """Return NPMI of pairs of each topic's `top` words by co-occurrence in documents, (n_topics, n_pairs).

    `counts` is (n_documents, n_words). NPMI (Bouma 2009) is -1 for a pair that never occurs together; a pair that is in
    all documents counts 0.
    """
    present = (sparse.csc_matrix(counts) > 0).astype(np.float64)
    frequency = np.asarray(present.sum(axis=0)).ravel() / present.shape[0]
    scores = []
    for row in topics:
        words = np.argsort(-row, kind="stable")[:top]
        joint = (present[:, words].T @ present[:, words]).toarray() / present.shape[0]
        a, b = np.triu_indices(len(words), 1)
        expected = frequency[words[a]] * frequency[words[b]]
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.log(joint[a, b] / expected) / -np.log(joint[a, b])
        score[joint[a, b] == 1] = 0.0
        scores.append(np.where(joint[a, b] > 0, score, -1.0))
    return np.array(scores)


def diversity(topics: _FloatArray, top: int = 10) -> float:
    """Return the share of distinct words among the `top` words of all `topics` (n_topics, n_words)."""
    words = np.argsort(-topics, axis=1, kind="stable")[:, :top]
    return len(np.unique(words)) / words.size


def matched_error(found: _FloatArray, planted: _FloatArray) -> _FloatArray:
    """Return the l1 distance (n_topics,) of each known topic in `planted` (n_topics, n_words) to its match in `found`.

    Topics are matched one to one. If fewer topics were found, the known topics without a match have the largest
    distance, 2.
    """
    distance = np.abs(planted[:, None] - found[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(distance)
    errors = np.full(len(planted), _LARGEST_L1)
    errors[rows] = distance[rows, columns]
    return errors


_Measured = dict[str, Any]  # fields of `Outcome` by name


class Judge(Protocol):
    """Identifies a public corpus and measures models of it."""

    kind: ComparisonKind

    def identity(self, key: bytes) -> Fingerprint:
        """Return the documents' fingerprint under the ledger's `key`."""

    def measure(self, model: TopicModel) -> _Measured:
        """Measure the quality of the topics of `model`."""


class Documents:
    """Measures models against the documents of `corpus`, which its owner declared public; reads them immediately.

    `key` is the key of the ledger in which the documents will be looked up, if it is known.
    """

    kind = ComparisonKind.PUBLIC

    def __init__(self, corpus: Corpus, progress: Progress, key: bytes | None = None) -> None:
        self._store = corpus.open(progress, key=key)

    def identity(self, key: bytes) -> Fingerprint:
        """See `Judge`."""
        return fingerprint(self._store, key)

    def measure(self, model: TopicModel) -> _Measured:
        """Return NPMI@10, and the share of distinct words among the topics' top ten words."""
        counts = counts_for(model.vocabulary, self._store)[0]
        return {
            "coherence": float(npmi(model.topics, counts).mean()),
            "diversity": diversity(model.topics),
        }

    def evaluate(self, model: TopicModel) -> dict[str, Any]:
        """Return coherence, perplexity and gain of the topics of `model` in the documents, all exact.

        ``coherence`` (n_topics,) is NPMI@10 of each topic, and ``c_v`` the mean over `TopicModel.listed_topics`.
        `dplda.learning.coherence.Prediction` explains ``perplexity`` and ``gain``.
        """
        counts = counts_for(model.vocabulary, self._store)[0]
        eligible = counts[np.asarray(counts.sum(axis=1)).ravel() >= MINIMUM_LENGTH]
        if not eligible.shape[0]:
            raise InputError("no document has three words of the topics' vocabulary. Is CORPUS in the same language?")
        pairs = pair_npmi(model.topics, eligible)
        event, halves = Event(stage=Stage.PREDICTION, mechanism=EXACT), CompletedHalves(model)
        gate = ExactGate(LocalPasses(self._store), [event], lambda charged: None, ExactNoise())
        gate.use_words(model.vocabulary)
        prediction = halves.prediction(gate.release(Stage.PREDICTION, halves.contribution, COMPLETION_CLIP))
        return {
            "coherence": pairs.mean(axis=1),
            "c_v": float(c_v(pairs[model.listed_topics]).mean()),
            "perplexity": prediction.perplexity.value,
            "gain": prediction.gain.value,
        }


class Truth:
    """Measures models against known topics (n_topics, n_words) over `words`; `corpus` was drawn from these topics."""

    kind = ComparisonKind.PLANTED

    def __init__(
        self, corpus: Corpus, topics: npt.NDArray[np.float64], words: list[str], quantities: Quantities
    ) -> None:
        self._documents = Documents(corpus, NoProgress())
        self._topics = topics
        self._words = words
        self._quantities = quantities

    def identity(self, key: bytes) -> Fingerprint:
        """See `Judge`."""
        return self._documents.identity(key)

    def measure(self, model: TopicModel) -> _Measured:
        """Return the mean matched l1 error, and the bound of `published` if it applies to this run."""
        topics = on_words(model.topics, model.vocabulary, self._words)
        return {"error": float(matched_error(topics, self._topics).mean()), "bound": self._bound(model)}

    def _bound(self, model: TopicModel) -> float | None:
        """`published.bound` on a topic's error; it holds for published noise and the true number of topics."""
        run = model.facts
        if run.calibration != PUBLISHED or len(model.topics) != len(self._topics):
            return None
        assert run.placement is not None
        assert run.epsilon is not None
        assert run.delta is not None
        bound = published.bound(run.placement, self._quantities, run.epsilon, run.delta, run.split)
        return bound if math.isfinite(bound) else None


def planted(
    n_documents: int, n_words: int, n_topics: int, mean_length: float, alpha0: float, seed: int
) -> tuple[Corpus, Truth]:
    """Return a synthetic corpus with known topics over public words, and its judge.

    Raises `InputError` for sizes out of range.
    """
    counts, topics, _ = synthetic(n_documents, n_words, n_topics, alpha0=alpha0, mean_length=mean_length, seed=seed)
    words = [f"w{i}" for i in range(n_words)]
    name = f"planted-{n_documents}x{n_words}x{n_topics}"
    corpus = Corpus.from_counts(counts, words, public_vocabulary=True, name=name)
    quantities = published.planted_quantities(n_documents, n_words, n_topics, alpha0, seed=seed)
    return corpus, Truth(corpus, topics, words, quantities)


_REPEATS = Range(low=1, high=1000, unit="runs of each cell", integer=True)


class Watcher(Progress, Protocol):
    """Progress of a grid: its cells, and the stages of the current cell."""

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Begin `cell`, the `number`-th of `total`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Placements x calibrations x epsilons x repeats over `corpus`."""

    corpus: Corpus
    dataset: str
    """The dataset whose budget is charged."""
    placements: Sequence[str]
    calibrations: Sequence[str]
    epsilons: Sequence[float]
    repeats: int
    common: Mapping[str, Any]
    """The parameters of `fit` that all cells share."""
    words: tuple[str, ...] | None = None
    """The public vocabulary, if there is one."""
    source: str = ""
    """Where the documents are; the ledger finds the comparison again by it."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Other public facts about the documents."""
    judge: Judge | None = None
    """Measures models of a synthetic or public corpus. Without a judge the corpus is private."""
    seed: int = 0
    """The seed of simulated noise, for a corpus with a judge."""

    def __post_init__(self) -> None:
        _REPEATS.check("repeats", self.repeats)
        RANGES["simulate_seed"].check("seed", self.seed)
        for name in ("placements", "calibrations", "epsilons"):
            if len(set(getattr(self, name))) != len(getattr(self, name)) or not getattr(self, name):
                raise InputError(f"{name} must be a list with at least one entry and no repetitions.")
        for name, choices in (("placements", PLACEMENTS), ("calibrations", CALIBRATIONS)):
            for value in getattr(self, name):
                check_choice(name, value, choices)

    @property
    def kind(self) -> ComparisonKind:
        """Whether the corpus is synthetic, declared public or private."""
        return ComparisonKind.PRIVATE if self.judge is None else self.judge.kind

    @cached_property
    def runs(self) -> dict[tuple[str, str, float], Run[TopicModel]]:
        """The plan of a run of each placement, calibration and epsilon; raises `InputError` for one that is invalid.

        A placement runs with the calibrations that it has. A placement without noise runs at the first epsilon only.
        """
        common = dict(self.common)
        common |= {"topics": common.pop("n_topics"), "public": self.words, "words": PRIVATE}  # as in every placement
        runs: dict[tuple[str, str, float], Run[TopicModel]] = {}
        for placement in self.placements:
            epsilons = self.epsilons[:1] if placement == NO_NOISE else self.epsilons
            offered = [calibration for calibration in self.calibrations if placement in registry.names(calibration)]
            for calibration in offered or self.calibrations:  # without any, the plan raises and names them
                for epsilon in epsilons:
                    cell: dict[str, Any] = {"placement": placement, "calibration": calibration, "epsilon": epsilon}
                    run = plan_topics(self.corpus, FitSettings.of(**cell, **common), self.dataset)
                    runs[placement, calibration, epsilon] = run
        return runs

    @property
    def cells(self) -> list[Cell]:
        """All cells, ordered by repeat, so that an interrupted grid is complete for fewer repeats."""
        return [Cell(*key, repeat) for repeat in range(self.repeats) for key in self.runs]

    def quote(self, ledger: Ledger, cells: Sequence[Cell]) -> Quote | None:
        """Return the cost of running `cells`, or None if they are free.

        Raises `BudgetRefused` if the budget does not suffice, or if a corpus declared public has a bounded budget.
        """
        self._check_public(ledger)
        if not self.kind.charged:
            return None
        runs = [self.runs[cell.placement, cell.calibration, cell.epsilon] for cell in cells]
        return ledger.quote(
            dataset=self.dataset,
            unit=self.corpus.unit,
            adjacency=self.common["adjacency"],
            delta=self.common["delta"],
            plans=[run.events for run in runs],
            sound=not any(run.reason for run in runs),
        )

    def _check_public(self, ledger: Ledger) -> None:
        if self.judge is not None and self.judge.kind.declared_public:
            ledger.check_public(self.dataset, self.judge.identity(ledger.key))

    def parameters(self) -> dict[str, Any]:
        """Return the public parameters that all cells share."""
        noise = {"noise": "exact"} if self.kind.charged else {"noise": "simulated", "seed": self.seed}
        common = dict(self.common)
        return {
            "topics": common.pop("n_topics"),
            **common,
            "unit": self.corpus.unit,
            "vocabulary": "private" if self.words is None else "public",
            **noise,
            **self.corpus.reading,
            **self.facts,
        }

    def key(self, ledger: Ledger) -> str:
        """Hash the corpus and parameters, but not the cells, for the ledger to find a comparison."""
        documents = self.source if self.judge is None else self.judge.identity(ledger.key).code
        parts = {"kind": self.kind, "dataset": self.dataset, "documents": documents, "words": self.words}
        return hashlib.sha256(canonical(parts | {"parameters": self.parameters()}).encode()).hexdigest()

    def begin(self, ledger: Ledger) -> ComparisonLog:
        """Record a new comparison in the ledger."""
        return ledger.begin_comparison(
            key=self.key(ledger), corpus=self.dataset, kind=self.kind, parameters=self.parameters()
        )

    def comparison(self, log: ComparisonLog) -> Comparison:
        """Return the comparison with the outcomes of this grid's cells so far."""
        outcomes = log.outcomes()
        return Comparison(
            name=log.name,
            corpus=self.dataset,
            kind=self.kind,
            parameters=self.parameters(),
            outcomes=tuple(outcomes[cell] for cell in self.cells if cell in outcomes),
        )

    def run(self, ledger: Ledger, log: ComparisonLog, models: Path, watcher: Watcher) -> None:
        """Run every cell that has not ended and save its model in `models`; record each outcome before the next run.

        Raises the errors of `fit` except `UnsupportedByData`, which is an outcome. Raises `BudgetRefused` if a corpus
        declared public has a bounded budget.
        """
        self._check_public(ledger)
        done, cells = log.outcomes(), self.cells
        for number, cell in enumerate(cells, 1):
            if cell not in done:
                watcher.cell(cell, number, len(cells))
                log.begin(cell)
                log.end(self._outcome(cell, ledger, models, watcher))

    def _outcome(self, cell: Cell, ledger: Ledger, models: Path, watcher: Watcher) -> Outcome:
        sound = not self.runs[cell.placement, cell.calibration, cell.epsilon].reason
        seconds: dict[str, float] = {}
        try:
            model = fit(
                self.corpus,
                dataset=self.dataset,
                epsilon=cell.epsilon,
                placement=cell.placement,
                calibration=cell.calibration,
                vocabulary=self.words,
                ledger=ledger if self.kind.charged else False,
                simulate_seed=None if self.kind.charged else _noise_seed(self.seed, cell),
                models=models,
                progress=watcher,
                seconds=seconds,
                **self.common,
            )
        except UnsupportedByData as error:
            return Outcome(cell=cell, status=Status.UNSUPPORTED, run="", message=str(error), sound=sound)
        run = str(model.facts.run)
        return Outcome(
            cell=cell,
            status=Status.DONE,
            run=run,
            sound=sound,
            seconds={} if self.kind.charged else seconds,  # times of private runs stay in the ledger
            model=str((models / run).resolve()),
            **(self.judge.measure(model) if self.judge is not None else {}),
        )


def _noise_seed(seed: int, cell: Cell) -> int:
    """Return the seed of a cell's simulated noise, which does not depend on the other cells."""
    text = canonical([seed, cell.placement, cell.calibration, float(cell.epsilon), cell.repeat])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
