"""Small grids for the tests of comparisons."""

from __future__ import annotations

from typing import Any

from dplda.base.progress import NoProgress
from dplda.budget.comparisons import Cell
from dplda.runs.corpus import Corpus, synthetic
from dplda.runs.grid import Documents, Grid, planted

WORDS = [f"w{i}" for i in range(12)]
COMMON = {
    "n_topics": 2,
    "delta": 1e-6,
    "adjacency": "add-remove",
    "max_vocabulary": 2000,
    "max_document_frequency": 0.1,
    "alpha0": 1.0,
}


class Watching:
    """Keeps the cells it is told of."""

    def __init__(self) -> None:
        self.cells: list[tuple[Cell, int, int]] = []

    def cell(self, cell: Cell, number: int, total: int) -> None:
        self.cells.append((cell, number, total))

    def start(self, stage: str, total: int | None = None) -> None:
        pass

    def advance(self, amount: int = 1) -> None:
        pass

    def estimate(self, share: float) -> None:
        pass


def private_grid(**changes: Any) -> Grid:
    """Two cells on a private corpus of 3,000 documents, over public words."""
    counts = synthetic(n_documents=3000, n_words=12, n_topics=2, mean_length=30, seed=1)[0]
    return _grid(Corpus.from_counts(counts, WORDS, name="notes"), **{"source": "somewhere", **changes})


def public_grid(**changes: Any) -> Grid:
    """The private grid's documents, declared public."""
    corpus = private_grid().corpus
    return _grid(corpus, judge=Documents(corpus, NoProgress()), **changes)


def planted_grid(**changes: Any) -> Grid:
    """The same on a planted corpus."""
    corpus, judge = planted(3000, 12, 2, mean_length=30.0, alpha0=1.0, seed=1)
    return _grid(corpus, judge=judge, **changes)


def _grid(corpus: Corpus, **changes: Any) -> Grid:
    given = {
        "dataset": "notes",
        "placements": ["default"],
        "calibrations": ["sound"],
        "epsilons": [0.5, 1.0],
        "repeats": 1,
        "common": COMMON,
        "words": tuple(WORDS),
    }
    return Grid(corpus=corpus, **{**given, **changes})
