"""The placements of the noise: seconds and memory of a fit with each, and how their budgets are best split."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dplda
from benchmarks.corpora import names
from benchmarks.measuring import CommandRun, run_command
from benchmarks.tables import Table
from dplda.base.errors import UnsupportedByData
from dplda.learning.placements import published, registry
from dplda.learning.placements.published import EDGES, Quantities
from dplda.runs.corpus import synthetic
from dplda.runs.grid import Truth, planted

ENDINGS = {0: "topics", 4: "test failed"}  # by exit status
DELTA = 1e-6
MOMENT = ("e4", "e8")  # edges of the second moment; the other one is the tensor's
PARTS = (0.1, 0.3, 0.5, 0.7, 0.9)


def times(documents: int, words: int, topics: int, epsilon: float, placements: Sequence[str]) -> None:
    """Print seconds and memory of a whole `dplda fit` with each placement."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store(folder / "small", 1000, 50, 5)
        store(folder / "large", documents, words, topics)
        table = Table("placement", "seconds", "core-seconds", "peak memory, GB", "ends with")
        for placement in placements:
            fitted(folder / "small", placement, 5, epsilon)  # compiles
            run = fitted(folder / "large", placement, topics, epsilon)
            memory = f"{run.memory / 1e9:.2f}"
            table.row(placement, f"{run.wall:.1f}", f"{run.cores:.1f}", memory, ENDINGS[run.status])


def store(folder: Path, documents: int, words: int, topics: int) -> None:
    """A synthetic corpus as `dplda corpus import` stores it, and its words in a list beside it."""
    counts = synthetic(documents, words, topics, mean_length=50)[0]
    dplda.Corpus.from_counts(counts, names(words)).write(folder)
    folder.with_suffix(".words").write_text("\n".join(names(words)), encoding="utf-8")


def fitted(corpus: Path, placement: str, topics: int, epsilon: float) -> CommandRun:
    """One `dplda fit` with exact noise and a ledger."""
    with tempfile.TemporaryDirectory() as folder:
        run = run_command(
            "fit", str(corpus), "--placement", placement, "--topics", str(topics), "--epsilon", str(epsilon),
            "--vocabulary", f"{corpus}.words", "--ledger", f"{folder}/ledger.db", "--out", f"{folder}/model", "--json",
        )  # fmt: skip
    if run.status not in ENDINGS:
        raise SystemExit(f"the fit with placement {placement} ended with status {run.status}: {run.errors}")
    return run


def splits(synthetic_sizes: Sequence[int], placements: Sequence[str], epsilons: Sequence[float], repeats: int) -> None:
    """Print the error for each part of the budget that the tensor's edge gets, the placement's own and the paper's."""
    documents, words, topics, length = (*synthetic_sizes, 100)[:4]
    corpus, truth = planted(documents, words, topics, length, 1.0, seed=0)
    vocabulary = [f"w{i}" for i in range(words)]  # as the planted corpus names them
    table = Table("placement", "ε", *(f"{part:g}" for part in PARTS), "its own", "paper's bound")
    for placement in [name for name in placements if len(registry.find(name).split) > 1]:
        for epsilon in epsilons:
            common = {"n_topics": topics, "epsilon": epsilon, "delta": DELTA, "vocabulary": vocabulary}
            errors = [mean_error(corpus, truth, placement, part, repeats, common) for part in PARTS]
            bound = best_part(placement, published.planted_quantities(documents, words, topics), epsilon)
            table.row(placement, f"{epsilon:g}", *errors, f"{own_part(placement):g}", bound)


def split(placement: str, part: float) -> dict[str, float]:
    """The placement's edges with this `part` for the tensor's; the rest is shared evenly."""
    edges = registry.find(placement).split
    rest = [edge for edge in edges if edge in MOMENT]
    return {edge: (1 - part) / len(rest) if edge in rest else part for edge in edges}


def own_part(placement: str) -> float:
    """What the placement's own split gives the tensor's edge."""
    return math.fsum(p for edge, p in registry.find(placement).split.items() if edge not in MOMENT)


def best_part(placement: str, quantities: Quantities, epsilon: float) -> str:
    """The tensor's part, of the squares, in the split with the least bound; none for what the paper does not have."""
    if placement not in EDGES:
        return "none"
    squares = {edge: part**2 for edge, part in published.best_split(placement, quantities, epsilon, DELTA).items()}
    tensor = math.fsum(square for edge, square in squares.items() if edge not in MOMENT)
    return f"{tensor / math.fsum(squares.values()):.2f}"


def mean_error(
    corpus: dplda.Corpus, truth: Truth, placement: str, part: float, repeats: int, settings: dict[str, Any]
) -> str:
    """Mean over the runs that end with topics, and how many do not."""
    errors = []
    for seed in range(repeats):
        try:
            model = dplda.fit(
                corpus,
                placement=placement,
                split=split(placement, part),
                ledger=False,
                simulate_seed=seed,
                **settings,
            )
        except UnsupportedByData:
            continue
        errors.append(truth.measure(model)["error"])
    if not errors:
        return "no topics"
    missing = f" ({repeats - len(errors)} of {repeats}: no topics)" if len(errors) < repeats else ""
    return f"{math.fsum(errors) / len(errors):.3f}{missing}"
