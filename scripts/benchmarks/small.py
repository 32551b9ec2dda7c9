"""What a run gives on small collections, whose words are chosen privately: words, coherence and verdicts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dplda
from benchmarks import corpora
from benchmarks.prior import posts_of
from benchmarks.tables import Table
from dplda.base.errors import NoisyTopicsWarning, UnsupportedByData
from dplda.learning.settings import FitSettings
from dplda.learning.verdicts import CLEAR, NOISE, WEAK
from dplda.runs.corpus import counts_for
from dplda.runs.forecast import MANY_SUBJECTS, ForecastInputs
from dplda.runs.grid import npmi

POSTS, TOPICS = 2000, 10


def measure(news: Path, medical: Path, epsilons: Sequence[float], seeds: int) -> None:
    """Print a row for each corpus and epsilon, means over the fits that end with topics."""
    table = Table("corpus", "epsilon", "words foreseen", "words", "NPMI@10", "clear, weak, noise", "fits with topics")
    texts = {"posts": posts_of(news)[:POSTS], "medical abstracts": corpora.texts(medical)}
    for name, documents in texts.items():
        corpus = dplda.Corpus.from_texts(documents)
        for epsilon in epsilons:
            found = [one for seed in range(seeds) if (one := _one(corpus, epsilon, seed))]
            cells = ("", "", "")
            if found:
                words, coherence, *verdicts = np.mean(found, axis=0)
                cells = f"{words:.0f}", f"{coherence:.3f}", ", ".join(f"{number:.1f}" for number in verdicts)
            foreseen = _foreseen(len(documents), epsilon)
            table.row(f"{len(documents):,} {name}", f"{epsilon:g}", foreseen, *cells, f"{len(found)} of {seeds}")


def _one(corpus: dplda.Corpus, epsilon: float, seed: int) -> tuple[float, ...] | None:
    """Words, NPMI on these words and the number of topics of each verdict; None if the run ends without topics."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            model = dplda.fit(corpus, n_topics=TOPICS, epsilon=epsilon, ledger=False, simulate_seed=seed)
        except UnsupportedByData:
            return None
    coherence = float(npmi(model.topics, counts_for(model.vocabulary, corpus.open())[0]).mean())
    return len(model.vocabulary), coherence, *(model.verdicts.count(name) for name in (CLEAR, WEAK, NOISE))


def _foreseen(documents: int, epsilon: float) -> int:
    """The number of words that `dplda plan` expects for text about many subjects."""
    return ForecastInputs(FitSettings.of(epsilon=epsilon, topics=TOPICS), documents).forecast(MANY_SUBJECTS).words
