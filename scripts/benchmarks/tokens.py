"""Counting the words of a corpus in memory, beside spaCy.

spaCy's blank pipeline runs `nlp.pipe` in one process, once for the tokens alone and once counting the words that
`dplda` counts. `dplda` does what an import does, on all cores; its processes start and end within the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import spacy

from benchmarks.measuring import in_turns, median_wall, spread
from benchmarks.tables import Table
from dplda.text.counting import count_words
from dplda.text.formats import open_source
from dplda.text.reading_options import TOKENIZERS, Tokenization
from dplda.text.records import CountSource, ReadOptions, TextRecord

PEER = "spaCy `nlp.pipe`, one process, tokens only"


def measure(corpus: Path, text_field: str | None, language: str, repeats: int) -> None:
    """Print a row for each system."""
    source = open_source(corpus, ReadOptions(text_field))
    if isinstance(source, CountSource):
        raise SystemExit(f"{corpus} holds counts. Name a corpus of texts.")
    records = [record for record in source.records() if isinstance(record, TextRecord)]
    jobs: dict[str, Callable[[], int]] = {
        PEER: partial(spacy_tokens, records, language),
        "spaCy `nlp.pipe`, one process, words counted": partial(spacy_words, records, language),
        **{
            f"dplda, `--tokenizer {name}`": partial(dplda_words, records, Tokenization(language, False, name))
            for name in TOKENIZERS
        },
    }
    measured = in_turns(jobs, repeats)
    table = Table("system", "seconds (least to most)", "documents/s", "times as fast", "counts found")
    for name, runs in measured.items():
        median = median_wall(runs)
        table.row(
            name, spread(run.wall for run in runs), f"{len(records) / median:,.0f}",
            f"{median_wall(measured[PEER]) / median:.1f}", f"{runs[0].result:,}",
        )  # fmt: skip


def spacy_tokens(records: list[TextRecord], language: str) -> int:
    """Number of tokens that spaCy finds in all documents."""
    return sum(len(document) for document in spacy.blank(language).pipe(record.text for record in records))


def spacy_words(records: list[TextRecord], language: str) -> int:
    """Number of distinct words of all documents, counted from spaCy's tokens."""
    documents = spacy.blank(language).pipe(record.text for record in records)
    return sum(
        len(Counter(token.lower_ for token in document if len(token) > 1 and token.is_alpha and not token.is_stop))
        for document in documents
    )


def dplda_words(records: list[TextRecord], tokenization: Tokenization) -> int:
    """The same, counted by dplda."""
    return sum(len(chunk.indices) for chunk in count_words(records, tokenization))
