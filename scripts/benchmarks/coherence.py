"""What `dplda evaluate` tells under privacy beside the exact numbers: errors, and how often intervals hold."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

import dplda
from benchmarks.tables import Table
from benchmarks.tabulate import posts_by_week
from dplda.base.progress import NoProgress
from dplda.runs.evaluation import Evaluation
from dplda.runs.grid import Documents

TOPICS = 10, 20
_MEASURES = "NPMI", "C_v", "gain", "log perplexity"


def measure(news: Path, imdb: Path, medical: Path, epsilons: Sequence[float], seeds: int) -> None:
    """Print the exact numbers of 10 and 20 topics learned at epsilon 4, and how far evaluations are from them.

    A cell has the mean error, the largest, half an interval, and how many intervals held.
    """
    table = Table("corpus", "epsilon", *_MEASURES)
    for name, texts in _texts(news, imdb, medical).items():
        corpus = dplda.Corpus.from_texts(texts, tokenizer="fast")
        cases = [_case(corpus, n_topics) for n_topics in TOPICS]
        exact = np.array([values for _, values in cases])  # (topics, measures)
        table.row(name, "exact", *(", ".join(f"{value:.3f}" for value in values) for values in exact.T))
        for epsilon in epsilons:
            told = np.array([_evaluations(model, corpus, epsilon, seeds) for model, _ in cases])
            table.row(name, f"{epsilon:g}", *(_cell(exact[:, [i]], told[:, :, i]) for i in range(len(_MEASURES))))


def _evaluations(
    model: dplda.TopicModel, corpus: dplda.Corpus, epsilon: float, seeds: int
) -> list[list[tuple[float, float, float]]]:
    return [_told(dplda.evaluate(model, corpus, epsilon, ledger=False, simulate_seed=seed)) for seed in range(seeds)]


def _cell(exact: np.ndarray, told: np.ndarray) -> str:
    """Errors and intervals of values and ends (topics, seeds, 3) beside the `exact` numbers (topics, 1)."""
    value, low, high = np.moveaxis(told, -1, 0)
    error, held = np.abs(value - exact), (low <= exact) & (exact <= high)
    return f"{error.mean():.3f} ({error.max():.3f}), ± {(high - low).mean() / 2:.3f}, {held.mean():.0%}"


def _case(corpus: dplda.Corpus, n_topics: int) -> tuple[dplda.TopicModel, tuple[float, ...]]:
    """A private model, and the exact values of `_MEASURES` for its listed topics."""
    model = dplda.fit(corpus, n_topics=n_topics, epsilon=4.0, ledger=False, simulate_seed=1)
    exact = Documents(corpus, NoProgress()).evaluate(model)
    coherence = float(exact["coherence"][model.listed_topics].mean())
    return model, (coherence, exact["c_v"], exact["gain"], math.log(exact["perplexity"]))


def measure_halves(news: Path, imdb: Path, medical: Path, epsilons: Sequence[float] = (2.0, 8.0, 100.0)) -> None:
    """Print what topics gain on the documents that they were learned from, and on as many others of the same kind."""
    table = Table(
        "gain on the first half / on the other half", "documents of each", *(f"ε = {epsilon:g}" for epsilon in epsilons)
    )
    texts_of = _texts(news, imdb, medical)
    for name in ("posts", "reviews"):
        texts = texts_of[name]
        halves = [dplda.Corpus.from_texts(texts[start::2], tokenizer="fast", name=name) for start in (0, 1)]
        cells = []
        for epsilon in epsilons:
            model = dplda.fit(halves[0], n_topics=10, epsilon=epsilon, ledger=False, simulate_seed=1)
            gains = [Documents(half, NoProgress()).evaluate(model)["gain"] for half in halves]
            cells.append(" / ".join(f"{gain:.3f}" for gain in gains))
        table.row(name, f"{len(texts[::2]):,}", *cells)


def _told(found: Evaluation) -> list[tuple[float, float, float]]:
    """The value and the ends of each of `_MEASURES`."""
    coherence, prediction = found.coherence, found.prediction
    told = [(e.value, e.low, e.high) for e in (coherence.mean, coherence.c_v, prediction.gain, prediction.perplexity)]
    value, low, high = map(math.log, told[-1])
    return [*told[:-1], (value, low, high)]


def _texts(news: Path, imdb: Path, medical: Path) -> dict[str, list[str]]:
    texts = {"posts": [post["text"] for post in posts_by_week(news)]}
    for name, path in (("reviews", imdb), ("abstracts", medical)):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            texts[name] = [json.loads(line)["text"] for line in islice(file, 50_000)]
    return texts
