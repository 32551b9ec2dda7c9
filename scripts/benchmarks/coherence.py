"""The estimate of coherence under privacy beside the exact one: its error, and how often its interval holds."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from scipy import sparse

import dplda
from benchmarks.tables import Table
from benchmarks.tabulate import posts_by_week
from dplda.evaluation.topic_quality import npmi
from dplda.model.inference import counts_for


def measure(news: Path, imdb: Path, medical: Path, epsilons: Sequence[float], seeds: int) -> None:
    """Print the error and the interval for posts, reviews and abstracts, and topics learned at epsilon 4."""
    table = Table(
        "corpus", "documents", "topics", "exact", "epsilon", "error, mean", "error, largest", "half an interval", "held"
    )
    for name, corpus in _cases(news, imdb, medical):
        for n_topics in (10, 20):
            model = dplda.fit(corpus, n_topics=n_topics, epsilon=4.0, ledger=False, simulate_seed=1)
            counts = sparse.csr_matrix(counts_for(model, corpus.open())[0])
            eligible = np.asarray(counts.sum(axis=1)).ravel() >= 3
            exact = float(npmi(model.topics, counts[eligible])[model.listed_topics].mean())
            for epsilon in epsilons:
                found = [
                    dplda.evaluate(model, corpus, epsilon, ledger=False, simulate_seed=seed).coherence
                    for seed in range(seeds)
                ]
                errors = np.array([each.mean - exact for each in found])
                half = np.mean([each.high - each.low for each in found]) / 2
                held = np.mean([each.low <= exact <= each.high for each in found])
                table.row(
                    name, f"{eligible.sum():,}", n_topics, f"{exact:.3f}", f"{epsilon:g}",
                    f"{np.abs(errors).mean():.3f}", f"{np.abs(errors).max():.3f}", f"{half:.3f}", f"{held:.0%}",
                )  # fmt: skip


def _cases(news: Path, imdb: Path, medical: Path) -> Iterator[tuple[str, dplda.Corpus]]:
    texts = {"posts": [post["text"] for post in posts_by_week(news)]}
    for name, path in (("reviews", imdb), ("abstracts", medical)):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            texts[name] = [json.loads(line)["text"] for line in islice(file, 50_000)]
    for name, listed in texts.items():
        yield name, dplda.Corpus.from_texts(listed, tokenizer="fast")
