"""Coherence of topics that are learned from the words of each tokenizer, in the counts of spaCy's words for both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dplda
from benchmarks.tables import Table
from dplda.base.errors import UnsupportedByData
from dplda.runs.corpus import CountStore, counts_for
from dplda.runs.grid import npmi
from dplda.text.reading_options import TOKENIZERS


def measure(
    corpora: Sequence[Path], text_field: str | None, topics: int, epsilons: Sequence[float], seeds: int
) -> None:
    """Print a row for each corpus and epsilon."""
    table = Table("corpus", "epsilon", "fits of each", *(f"`{name}`" for name in TOKENIZERS))
    for corpus in corpora:
        field = text_field if ".jsonl" in corpus.name else None
        read = {name: dplda.read_corpus(corpus, text_field=field, tokenizer=name) for name in TOKENIZERS}
        judge = read["spacy"].open()
        for epsilon in epsilons:
            cells = (_quality(documents, judge, topics, epsilon, seeds) for documents in read.values())
            table.row(corpus.name, f"{epsilon:g}", seeds, *cells)


def _quality(documents: dplda.Corpus, judge: CountStore, topics: int, epsilon: float, seeds: int) -> str:
    """Coherence, in the counts of `judge`, of topics learned from `documents`: mean and spread over seeds."""
    try:
        models = [
            dplda.fit(documents, n_topics=topics, epsilon=epsilon, simulate_seed=seed, ledger=False)
            for seed in range(seeds)
        ]
    except UnsupportedByData:
        return "no topics"
    scores = [npmi(model.topics, counts_for(model.vocabulary, judge)[0]).mean() for model in models]
    return f"{np.mean(scores):.3f} ± {np.std(scores):.3f}"
