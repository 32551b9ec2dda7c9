"""Texts that recur by chance, and batches that overlap: what the ledger of a series sees of either.

Texts of documents of which no two are equal are divided at random into weeks, so that a text that is in two weeks is
there by chance. Then each week also takes texts of the week before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import corpora
from benchmarks.short import SUBJECT
from benchmarks.tables import Table
from dplda.budget.sketches import Sketch, most_batches
from dplda.private.store.fingerprint import fingerprint
from dplda.runs.corpus import Corpus

KEY = bytes(32)
SENTENCE = re.compile(r"(?<=[.!?])\s+")
SHORT_WORDS = 8  # of a remark, stop words included
LEVELS = (2, 3, 6, 10)
OVERLAPPING = 12  # weeks of the second table
Weeks = list[list[str]]


def measure(
    news: Path, reviews: Path, agnews: Path, weeks: Sequence[int], overlaps: Sequence[float], seed: int
) -> None:
    """Print a table of texts that recur by chance, and one of batches that overlap."""
    kinds = _kinds(news, reviews, agnews)
    table = Table("texts", "weeks", "texts a week", *(f"in {n} weeks or more" for n in LEVELS), "batches seen")
    for name, texts in kinds.items():
        for n_weeks in weeks:
            batches = _sketches(_random_weeks(texts, n_weeks, seed))
            size = len(texts) // n_weeks
            table.row(name, n_weeks, f"{size:,}", *map("{:.1%}".format, _shares(batches)), most_batches(batches, 1))
    print()
    table = Table("texts", *(f"{share:.0%} of the week before" for share in overlaps))
    for name, texts in kinds.items():
        apart = _random_weeks(texts, OVERLAPPING, seed)
        table.row(name, *(most_batches(_sketches(_overlapping(apart, share)), 1) for share in overlaps))


def _kinds(news: Path, reviews: Path, agnews: Path) -> dict[str, list[str]]:
    """Lists of texts, by name. Of equal documents one is kept, but parts of different documents may be equal."""
    posts, films, items = (
        list(dict.fromkeys(found))
        for found in (corpora.whole_messages(news), corpora.texts(reviews), corpora.texts(agnews))
    )
    sentences = [SENTENCE.split(text.strip()) for text in films]
    first, last = [found[0] for found in sentences], [found[-1] for found in sentences]
    return {
        "news items": items,
        "posts": [post.split("\n\n", 1)[-1] for post in posts],
        "first sentences of reviews": first,
        "last sentences of reviews": last,
        f"last sentences of at most {SHORT_WORDS} words": [text for text in last if len(text.split()) <= SHORT_WORDS],
        "subjects of posts, in threads": [found[1] for post in posts if (found := SUBJECT.search(post))],
    }


def _random_weeks(texts: Sequence[str], n: int, seed: int) -> Weeks:
    week = np.random.default_rng(seed).integers(0, n, len(texts))
    return [[texts[place] for place in np.flatnonzero(week == number).tolist()] for number in range(n)]


def _overlapping(weeks: Weeks, share: float) -> Weeks:
    """The weeks, in which `share` of each comes from the end of the week before."""
    taken = [week[len(week) - round(share / (1 - share) * len(week)) :] if share else [] for week in weeks]
    return [[*before, *week] for before, week in zip([[], *taken], weeks, strict=False)]


def _sketches(weeks: Weeks) -> dict[str, list[Sketch]]:
    stores = (Corpus.from_texts(week).open() for week in weeks)
    return {str(number): [fingerprint(store, KEY).sketch] for number, store in enumerate(stores)}


def _shares(batches: dict[str, list[Sketch]]) -> list[float]:
    """The shares of the distinct texts of the week that has most of them, which are in so many weeks."""
    sketches = [sketch for (sketch,) in batches.values()]
    bound = np.uint64(min(sketch.bound for sketch in sketches))
    samples = [sketch.hashes[sketch.hashes <= bound] for sketch in sketches]
    texts, n_weeks = np.unique(np.concatenate(samples), return_counts=True)
    counts = [n_weeks[np.searchsorted(texts, sample)] for sample in samples]
    return [max(float(np.mean(found >= level)) for found in counts) for level in LEVELS]
