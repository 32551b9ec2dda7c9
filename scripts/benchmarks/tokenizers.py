"""Coherence and diversity of the topics that are learned from the words of each tokenizer.

Coherence is computed in the counts of each tokenizer in turn, since their words differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dplda
from benchmarks.tables import Table
from dplda.errors import UnsupportedByData
from dplda.evaluation.topic_quality import diversity, npmi
from dplda.model.inference import counts_for
from dplda.readers.reading_options import TOKENIZERS


def measure(
    corpora: Sequence[Path], text_field: str | None, topics: int, epsilons: Sequence[float], seeds: int
) -> None:
    """Print a row for each corpus, epsilon and tokenizer."""
    columns = (f"NPMI@10 on words of {tokenizer}" for tokenizer in TOKENIZERS)
    table = Table("corpus", "epsilon", "tokenizer", *columns, "diversity")
    for corpus in corpora:
        field = text_field if ".jsonl" in corpus.name else None
        read = {name: dplda.read_corpus(corpus, text_field=field, tokenizer=name) for name in TOKENIZERS}
        stores = [documents.open() for documents in read.values()]
        for epsilon in epsilons:
            for name, documents in read.items():
                try:
                    models = [
                        dplda.fit(documents, n_topics=topics, epsilon=epsilon, simulate_seed=seed, ledger=False)
                        for seed in range(seeds)
                    ]
                except UnsupportedByData as error:
                    raise SystemExit(f"{corpus.name}, epsilon {epsilon:g}: {error}") from None
                scores = [
                    [npmi(model.topics, counts_for(model, store)[0]).mean() for model in models] for store in stores
                ]
                varied = np.mean([diversity(model.topics) for model in models])
                told = (f"{np.mean(score):.4f} ± {np.std(score):.4f}" for score in scores)
                table.row(corpus.name, f"{epsilon:g}", name, *told, f"{varied:.2f}")
