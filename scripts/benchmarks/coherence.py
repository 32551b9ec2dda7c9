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
from dplda.evaluation.public_corpora import Documents
from dplda.progress import NoProgress
from dplda.topic_evaluation import Evaluation

_MEASURES = "NPMI", "C_v", "gain", "log perplexity"


def measure(news: Path, imdb: Path, medical: Path, epsilons: Sequence[float], seeds: int) -> None:
    """Print errors and intervals for posts, reviews and abstracts, and topics learned at epsilon 4."""
    table = Table(
        *("corpus", "topics", "epsilon", "measure", "exact", "error, mean", "error, largest"),
        *("half an interval", "held"),
    )
    for name, texts in _texts(news, imdb, medical).items():
        corpus = dplda.Corpus.from_texts(texts, tokenizer="fast")
        documents = Documents(corpus, NoProgress())
        for n_topics in (10, 20):
            model = dplda.fit(corpus, n_topics=n_topics, epsilon=4.0, ledger=False, simulate_seed=1)
            exact = documents.evaluate(model)
            coherence = float(exact["coherence"][model.listed_topics].mean())
            truths = coherence, exact["c_v"], exact["gain"], math.log(exact["perplexity"])
            for epsilon in epsilons:
                found = [
                    _told(dplda.evaluate(model, corpus, epsilon, ledger=False, simulate_seed=seed))
                    for seed in range(seeds)
                ]
                for place, (measured, truth) in enumerate(zip(_MEASURES, truths, strict=True)):
                    value, low, high = np.array([each[place] for each in found]).T
                    error = np.abs(value - truth)
                    table.row(
                        name, n_topics, f"{epsilon:g}", measured, f"{truth:.3f}", f"{error.mean():.3f}",
                        f"{error.max():.3f}", f"{(high - low).mean() / 2:.3f}",
                        f"{((low <= truth) & (truth <= high)).mean():.0%}",
                    )  # fmt: skip


def measure_halves(news: Path, imdb: Path, medical: Path, epsilons: Sequence[float] = (2.0, 8.0, 100.0)) -> None:
    """Print what topics gain on the documents that they were learned from, and on as many others of the same kind."""
    table = Table("corpus", "documents learned from", "epsilon", "gain on these", "gain on the others")
    texts_of = _texts(news, imdb, medical)
    for name in ("posts", "reviews"):
        texts = texts_of[name]
        halves = [dplda.Corpus.from_texts(texts[start::2], tokenizer="fast", name=name) for start in (0, 1)]
        for epsilon in epsilons:
            model = dplda.fit(halves[0], n_topics=10, epsilon=epsilon, ledger=False, simulate_seed=1)
            gains = [Documents(half, NoProgress()).evaluate(model)["gain"] for half in halves]
            table.row(name, f"{len(texts[::2]):,}", f"{epsilon:g}", *(f"{gain:.4f}" for gain in gains))


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
