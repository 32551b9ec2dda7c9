"""A grid of runs on one corpus: fits every cell, evaluates it where that costs no privacy, and records it in the
ledger.

Runs on a planted or public corpus draw simulated noise, are not recorded as runs and cost nothing. On a private corpus
every run draws exact noise and is charged, and nothing is measured but what the run released.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from dplda.api import Request, fit
from dplda.config import CALIBRATIONS, PLACEMENTS, RANGES, FitSettings, Range, check_choice
from dplda.corpus import Corpus
from dplda.errors import InputError, UnsupportedByData
from dplda.evaluation.public_corpora import Judge
from dplda.ledger import ComparisonLog, Ledger, Quote, Status
from dplda.ledger.comparisons import Cell, Comparison, Outcome
from dplda.ledger.integrity import canonical
from dplda.placements import registry
from dplda.progress import Progress

PLANTED, PUBLIC, PRIVATE = "planted", "public", "private"
NOISELESS = "none"  # the placement whose runs do not depend on epsilon: tried at the first one only
REPEATS = Range(low=1, high=1000, unit="runs of each cell", integer=True)


class Watcher(Progress, Protocol):
    """Callbacks for the cell that is run, and for the stages of its run."""

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Begin `cell`, the `number`-th of `total`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Placements x calibrations x epsilons x repeats over `corpus`.

    `common` holds the parameters of `fit` that all cells share; `words` is the public vocabulary, if there is one;
    `dataset` owns the budget. `source` is where the documents lie, `facts` what else is public about them. `judge`
    measures models of a planted or public corpus, whose noise is drawn from `seed`; without one the corpus is private.
    """

    corpus: Corpus
    kind: str
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
        REPEATS.check("repeats", self.repeats)
        RANGES["simulate_seed"].check("seed", self.seed)
        for name in ("placements", "calibrations", "epsilons"):
            if len(set(getattr(self, name))) != len(getattr(self, name)) or not getattr(self, name):
                raise InputError(f"{name} must be a list without repetitions that holds something.")
        for name, choices in (("placements", PLACEMENTS), ("calibrations", CALIBRATIONS)):
            for value in getattr(self, name):
                check_choice(name, value, choices)

    @property
    def private(self) -> bool:
        """Whether runs are charged, and nothing is measured."""
        return self.judge is None

    @cached_property
    def requests(self) -> dict[tuple[str, str, float], Request]:
        """What each cell asks for, by placement, calibration and epsilon; raises `InputError` for what no run takes.

        A placement that has only some of the calibrations is compared with those.
        """
        found: dict[tuple[str, str, float], Request] = {}
        for placement in self.placements:
            epsilons = self.epsilons[:1] if placement == NOISELESS else self.epsilons
            offered = [calibration for calibration in self.calibrations if _exists(placement, calibration)]
            for calibration in offered or self.calibrations:  # without one, the request says which there are
                for epsilon in epsilons:
                    found[placement, calibration, epsilon] = self._request(placement, calibration, epsilon)
        return found

    def _request(self, placement: str, calibration: str, epsilon: float) -> Request:
        common = dict(self.common)
        chosen = {"topics": common.pop("n_topics"), "words": self.words, "calibration": calibration}
        settings = FitSettings.of(epsilon=epsilon, placement=placement, **chosen, **common)
        return Request(self.corpus, settings, self.dataset)

    @property
    def cells(self) -> list[Cell]:
        """All cells, repeat by repeat: what is interrupted is whole for fewer repeats."""
        return [Cell(*key, repeat) for repeat in range(self.repeats) for key in self.requests]

    def quote(self, ledger: Ledger, cells: Sequence[Cell]) -> Quote | None:
        """The cost of running `cells`, None if they are free.

        Raises `BudgetRefused` if it does not fit, or if a corpus declared public has a bounded budget.
        """
        self._check_public(ledger)
        if not self.private:
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
        if self.kind == PUBLIC and self.judge is not None:
            ledger.check_public(self.dataset, self.judge.identity(ledger.key))

    def parameters(self) -> dict[str, Any]:
        """What holds for every cell; public."""
        noise = {"noise": "exact"} if self.private else {"noise": "simulated", "seed": self.seed}
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
        """What a comparison is found again by: its corpus and parameters, but not which cells were asked for."""
        documents = self.source if self.judge is None else self.judge.identity(ledger.key).code
        parts = {"kind": self.kind, "dataset": self.dataset, "documents": documents, "words": self.words}
        return hashlib.sha256(canonical(parts | {"parameters": self.parameters()}).encode()).hexdigest()

    def begin(self, ledger: Ledger) -> ComparisonLog:
        """A new comparison in the ledger."""
        return ledger.begin_comparison(
            key=self.key(ledger), corpus=self.dataset, kind=self.kind, parameters=self.parameters()
        )

    def comparison(self, log: ComparisonLog) -> Comparison:
        """The outcomes so far of the cells asked for."""
        outcomes = log.outcomes()
        return Comparison(
            name=log.name,
            corpus=self.dataset,
            kind=self.kind,
            parameters=self.parameters(),
            outcomes=tuple(outcomes[cell] for cell in self.cells if cell in outcomes),
        )

    def run(self, ledger: Ledger, log: ComparisonLog, models: Path, watcher: Watcher) -> None:
        """Run every cell that has not ended, saving models in `models`; each outcome is on disk before the next run.

        Raises what `fit` raises but `UnsupportedByData`, which is an outcome, and `BudgetRefused` for a corpus declared
        public that has a bounded budget.
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
                ledger=ledger if self.private else False,
                simulate_seed=None if self.private else noise_seed(self.seed, cell),
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
            seconds={} if self.private else seconds,  # of private text they stay in the ledger's record of the run
            model=str((models / run).resolve()),
            **(self.judge.measure(model) if self.judge is not None else {}),
        )


def _exists(placement: str, calibration: str) -> bool:
    try:
        registry.find(placement, calibration)
    except InputError:
        return False
    return True


def noise_seed(seed: int, cell: Cell) -> int:
    """The seed of a cell's simulated noise: the same whatever else the grid holds."""
    text = canonical([seed, cell.placement, cell.calibration, float(cell.epsilon), cell.repeat])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
