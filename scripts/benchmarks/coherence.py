"""What `dplda evaluate` tells under privacy beside the exact numbers: errors, and how often intervals hold."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Sequence
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
    for name, corpus in _cases(news, imdb, medical):
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


def _told(found: Evaluation) -> list[tuple[float, float, float]]:
    """The value and the ends of each of `_MEASURES`."""
    coherence, prediction = found.coherence, found.prediction
    told = [(e.value, e.low, e.high) for e in (coherence.mean, coherence.c_v, prediction.gain, prediction.perplexity)]
    value, low, high = map(math.log, told[-1])
    return [*told[:-1], (value, low, high)]


def _cases(news: Path, imdb: Path, medical: Path) -> Iterator[tuple[str, dplda.Corpus]]:
    texts = {"posts": [post["text"] for post in posts_by_week(news)]}
    for name, path in (("reviews", imdb), ("abstracts", medical)):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            texts[name] = [json.loads(line)["text"] for line in islice(file, 50_000)]
    for name, listed in texts.items():
        yield name, dplda.Corpus.from_texts(listed, tokenizer="fast")
