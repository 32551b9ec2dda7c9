#!/usr/bin/env python
"""Counting the words of a corpus beside spaCy, in one run: median seconds of several, taken in turns.

    python scripts/bench_tokens.py reviews.jsonl.gz --text-field text --repeats 3

All get the same documents, in memory. spaCy's blank pipeline runs `nlp.pipe` in one process, once for the tokens alone
and once counting the words that `dplda` counts; `dplda` does what an import does, on all cores, its processes started
and ended within the time. Prints Markdown rows.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import spacy

from dplda.text.columns import ReadOptions
from dplda.text.formats import open_source
from dplda.text.pool import count_words
from dplda.text.records import TextRecord
from dplda.text.tokenization import TOKENIZERS, Tokenization

PEER = "spaCy `nlp.pipe`, one process, tokens only"


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--text-field")
    parser.add_argument("--language", default="en")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    found = open_source(options.corpus, ReadOptions(options.text_field)).records()
    records = [record for record in found if isinstance(record, TextRecord)]
    jobs: dict[str, Callable[[], int]] = {
        PEER: partial(spacy_tokens, records, options.language),
        "spaCy `nlp.pipe`, one process, words counted": partial(spacy_words, records, options.language),
        **{
            f"dplda, `--tokenizer {name}`": partial(dplda_words, records, Tokenization(options.language, False, name))
            for name in TOKENIZERS
        },
    }
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    entries = {}
    for _ in range(options.repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            entries[name] = job()
            seconds[name].append(time.perf_counter() - start)
    print("| system | seconds (least to most) | documents/s | times as fast | counts found |\n|---|---|---|---|---|")
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        spread = f"{median:.1f} ({min(seconds[name]):.1f} to {max(seconds[name]):.1f})"
        rates = f"{len(records) / median:,.0f} | {medians[PEER] / median:.1f}"
        print(f"| {name} | {spread} | {rates} | {entries[name]:,} |", flush=True)


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


if __name__ == "__main__":
    main()
