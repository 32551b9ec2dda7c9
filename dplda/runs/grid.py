"""A grid of runs on one corpus: fits and records every cell (one run); measures models of a public corpus.

Runs on a synthetic corpus (with known topics) or a public one draw simulated noise, are not recorded as runs and cost
nothing. Runs on a private corpus draw exact noise and are charged, and nothing is measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from dplda.base.config import CALIBRATIONS, NO_NOISE, PLACEMENTS, RANGES, Range, check_choice
from dplda.base.errors import InputError, UnsupportedByData
from dplda.base.progress import Progress
from dplda.budget import ComparisonLog, Ledger, Quote, Status
from dplda.budget.comparisons import Cell, Comparison, ComparisonKind, Outcome
from dplda.budget.integrity import canonical
from dplda.learning.placements import registry
from dplda.learning.settings import FitSettings
from dplda.runs.corpus import Corpus
from dplda.runs.fitting import fit
from dplda.runs.public_corpora import Judge
from dplda.runs.request import Request

_REPEATS = Range(low=1, high=1000, unit="runs of each cell", integer=True)


class Watcher(Progress, Protocol):
    """Progress of a grid: its cells, and the stages of the current cell."""

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Begin `cell`, the `number`-th of `total`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Placements x calibrations x epsilons x repeats over `corpus`.

    `common` contains the parameters of `fit` that all cells share; `words` is the public vocabulary, if there is one;
    `dataset` owns the budget. `source` locates the documents and `facts` holds other public facts about them. `judge`
    measures models of a synthetic or public corpus, whose noise is drawn from `seed`. Without a judge the corpus is
    private.
    """

    corpus: Corpus
    dataset: str
    placements: Sequence[str]
    calibrations: Sequence[str]
    epsilons: Sequence[float]
    repeats: int
    common: Mapping[str, Any]
    words: tuple[str, ...] | None = None
    source: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    judge: Judge | None = None
    seed: int = 0

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
    def requests(self) -> dict[tuple[str, str, float], Request]:
        """The request of each placement, calibration and epsilon; raises `InputError` for one that is invalid.

        A placement runs with the calibrations that it has. A placement without noise runs at the first epsilon only.
        """
        requests: dict[tuple[str, str, float], Request] = {}
        for placement in self.placements:
            epsilons = self.epsilons[:1] if placement == NO_NOISE else self.epsilons
            offered = [calibration for calibration in self.calibrations if _exists(placement, calibration)]
            for calibration in offered or self.calibrations:  # without any, the request raises and names them
                for epsilon in epsilons:
                    requests[placement, calibration, epsilon] = self._request(placement, calibration, epsilon)
        return requests

    def _request(self, placement: str, calibration: str, epsilon: float) -> Request:
        common = dict(self.common)
        chosen = {"topics": common.pop("n_topics"), "words": self.words, "calibration": calibration}
        settings = FitSettings.of(epsilon=epsilon, placement=placement, **chosen, **common)
        return Request(self.corpus, settings, self.dataset)

    @property
    def cells(self) -> list[Cell]:
        """All cells, ordered by repeat, so that an interrupted grid is complete for fewer repeats."""
        return [Cell(*key, repeat) for repeat in range(self.repeats) for key in self.requests]

    def quote(self, ledger: Ledger, cells: Sequence[Cell]) -> Quote | None:
        """The cost of running `cells`, or None if they are free.

        Raises `BudgetRefused` if the budget does not suffice, or if a corpus declared public has a bounded budget.
        """
        self._check_public(ledger)
        if not self.kind.charged:
            return None
        requests = [self.requests[cell.placement, cell.calibration, cell.epsilon] for cell in cells]
        return ledger.quote(
            dataset=self.dataset,
            unit=self.corpus.unit,
            adjacency=self.common["adjacency"],
            delta=self.common["delta"],
            plans=[request.events for request in requests],
            sound=not any(request.reason for request in requests),
        )

    def _check_public(self, ledger: Ledger) -> None:
        if self.judge is not None and self.judge.kind.declared_public:
            ledger.check_public(self.dataset, self.judge.identity(ledger.key))

    def parameters(self) -> dict[str, Any]:
        """Public parameters that all cells share."""
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
        """A hash of the corpus and parameters, but not of the cells, by which the ledger finds a comparison."""
        documents = self.source if self.judge is None else self.judge.identity(ledger.key).code
        parts = {"kind": self.kind, "dataset": self.dataset, "documents": documents, "words": self.words}
        return hashlib.sha256(canonical(parts | {"parameters": self.parameters()}).encode()).hexdigest()

    def begin(self, ledger: Ledger) -> ComparisonLog:
        """Record a new comparison in the ledger."""
        return ledger.begin_comparison(
            key=self.key(ledger), corpus=self.dataset, kind=self.kind, parameters=self.parameters()
        )

    def comparison(self, log: ComparisonLog) -> Comparison:
        """The comparison with the outcomes of this grid's cells so far."""
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
        sound = not self.requests[cell.placement, cell.calibration, cell.epsilon].reason
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
        run = str(model.parameters["run"])
        return Outcome(
            cell=cell,
            status=Status.DONE,
            run=run,
            sound=sound,
            seconds={} if self.kind.charged else seconds,  # times of private runs stay in the ledger
            model=str((models / run).resolve()),
            **(self.judge.measure(model) if self.judge is not None else {}),
        )


def _exists(placement: str, calibration: str) -> bool:
    try:
        registry.find(placement, calibration)
    except InputError:
        return False
    return True


def _noise_seed(seed: int, cell: Cell) -> int:
    """The seed of a cell's simulated noise, which does not depend on the other cells."""
    text = canonical([seed, cell.placement, cell.calibration, float(cell.epsilon), cell.repeat])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
