"""Counts of answers, and words by group: how often intervals hold, which words are found, and seconds.

The truth of a count is the weighted number of a group's documents, without noise. The truth of words are those with the
largest log-likelihood ratio (Dunning 1993) of plain document frequencies.
"""

from __future__ import annotations

import re
import resource
import tempfile
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.special import rel_entr

import dplda
from benchmarks.corpora import write_store
from benchmarks.measuring import alone, timed
from benchmarks.tables import Table
from benchmarks.tabulate import BY, FIRST, LAST, cases, held_row, named, planted_groups, posts_by_week
from dplda.private.attributes import ANSWERS, Answers, Axis, TableRows
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.word_indicators import INDICATOR_CLIP, answer_indicators, answer_weights
from dplda.runs.corpus import synthetic
from dplda.runs.counting import MOST_ANSWERS
from dplda.runs.indicator_tables import CountTable
from dplda.runs.tabulation import groupings
from dplda.text.categories import NONE, listed_categories
from dplda.text.wordlists import frequent_words

_RULES = {
    "posts": ["god", "windows", "game", "drive", "car", "gun", "space", "money", "government", "thanks in advance"],
    "reviews": ["funny", "boring", "music", "ending", "actor", "plot", "special effects", "love", "war", "horror"],
}
_N_PLANTED = 20
_MAIN = 0.2  # a planted document's answers are the topics of at least this share
_COMMON, _SHOWN = 2000, 10


def measure(news: Path, imdb: Path, epsilons: Sequence[float], repeats: int) -> None:
    """Print for each corpus, table and budget how often intervals held the truth, among `repeats` simulated tables."""
    table = Table(
        *("corpus", "by", "rows", "epsilon", "large enough"),
        *("shares", "numbers", "differences", "all differences together"),
    )
    for name, plain, groups in cases(news, imdb):
        corpus, titles = _asked(name, plain)
        for by in BY:
            dates = (FIRST, LAST) if "week" in by else (None, None)
            (asked,) = groupings([by], {"group": groups}, dates)
            axes = tuple(Axis(each.attribute, each.groups or ()) for each in asked)
            exact = _exact(corpus, len(titles), TableRows(axes))
            for epsilon in epsilons:
                held_row(table, name, exact, epsilon, repeats, partial(_released, axes, titles))


def _asked(name: str, corpus: dplda.Corpus) -> tuple[dplda.Corpus, tuple[str, ...]]:
    """The corpus with answers, and their names: words that documents have, or topics of planted documents."""
    if name in _RULES:
        asked = corpus.asking(listed_categories({word: [word] for word in _RULES[name]}))
        return asked, asked.categories
    counts, _, proportions = synthetic(20_000, 1000, _N_PLANTED, mean_length=60.0, seed=100)
    large = np.asarray(proportions) >= _MAIN
    answers = [" ".join(str(topic + 1) for topic in np.flatnonzero(row)) or str(_N_PLANTED + 1) for row in large]
    main = np.asarray(proportions).argmax(axis=1)
    groups = {
        "group": [f"g{topic % 7}" for topic in main],
        "date": [value for _, value in planted_groups(range(20_000), LAST)],
        ANSWERS: answers,
    }
    words = [f"w{i}" for i in range(1000)]
    asked = dplda.Corpus.from_counts(counts, words, public_vocabulary=True, groups=groups)
    return asked, (*(f"topic {topic}" for topic in range(_N_PLANTED)), NONE)


def _exact(corpus: dplda.Corpus, n_answers: int, rows: TableRows) -> np.ndarray:
    """The sums of a table in lattice units, (n_rows, n_answers + 2), as the curator computes them before noise."""
    passes = LocalPasses(corpus.open())
    passes.use_words(Answers(n_answers), rows)
    return passes.clipped_sum(answer_indicators(n_answers, MOST_ANSWERS, len(rows)), INDICATOR_CLIP)[0]


def _released(axes: tuple[Axis, ...], titles: tuple[str, ...], sums: np.ndarray, std: float) -> CountTable:
    by, groups = named(axes)
    step, (answer, size) = INDICATOR_CLIP / BOUND, answer_weights(MOST_ANSWERS)
    return CountTable(
        by,
        groups,
        (False,) * len(by),
        sums[:, 1:-1] * step / answer,
        sums[:, -1] * step / size,
        std * step / answer,
        titles=titles,
        size_precision=size / answer,
        at_most=MOST_ANSWERS,
    )


def key_words(news: Path, epsilons: Sequence[float], seeds: int = 5) -> None:
    """Print how many of the ten most distinctive words of each newsgroup are the exact ones, and how many are certain.

    Words are the 2,000 most frequent ones of English, those in most posts, and those that a fit at epsilon 2 releases.
    Last, how many certain words are not more frequent there.
    """
    posts = [post | {"text": re.sub(r"\t", "\n", post["text"])} for post in posts_by_week(news)]
    corpus = dplda.Corpus.from_texts(posts, group_fields=["group"])
    groups = sorted({post["group"] for post in posts})
    table = Table("words", "epsilon", "posts in a group", "of 10 exact words", "certain words in a group", "wrong")
    of_run = dplda.fit(corpus, n_topics=20, epsilon=2.0, simulate_seed=0, ledger=False).vocabulary
    lists = {"English": frequent_words("en", _COMMON), "posts": _frequent_in(corpus), "a run": list(of_run)}
    for name, words in lists.items():
        _key_rows(table, name, corpus, words, groups, epsilons, seeds)


def _frequent_in(corpus: dplda.Corpus) -> list[str]:
    """The words in most documents."""
    store = corpus.open()
    number = np.zeros(len(store.dictionary) + 1, np.int64)
    for block in store.blocks():
        number += np.bincount(block.words, minlength=len(number))
    return [store.dictionary[place] for place in np.argsort(-number[:-1], kind="stable")[:_COMMON]]


def _key_rows(
    table: Table,
    name: str,
    corpus: dplda.Corpus,
    words: Sequence[str],
    groups: Sequence[str],
    epsilons: Sequence[float],
    seeds: int,
) -> None:
    held, of = _documents(corpus, words, groups)
    exact, more = _exact_keyness(held, of, len(groups))
    best = [{words[place] for place in np.argsort(-row)[:_SHOWN]} for row in exact]
    for epsilon in epsilons:
        found, certain, wrong = [], [], 0
        for seed in range(seeds):
            asked = dplda.distinctive_words(
                words, corpus, "group", epsilon, groups={"group": groups}, ledger=False, simulate_seed=seed
            )
            for row, contrasts in enumerate(asked.tables[0].distinctive(_SHOWN)[: len(groups)]):
                found.append(len({each.word for each in contrasts or ()} & best[row]))
                sure = [each.word for each in contrasts or () if each.certain]
                certain.append(len(sure))
                wrong += sum(not more[row, words.index(word)] for word in sure)
        sizes = np.bincount(of, minlength=len(groups))
        table.row(
            *(name, f"{epsilon:g}", f"{sizes.min()} to {sizes.max()}"),
            *(f"{np.mean(found):.1f} ({min(found)} to {max(found)})", f"{np.mean(certain):.1f}", wrong),
        )


def _documents(
    corpus: dplda.Corpus, words: Sequence[str], groups: Sequence[str]
) -> tuple[sparse.csr_array, np.ndarray]:
    """Which words each document with three tokens of any kind holds, and the number of its group."""
    store = corpus.open()
    columns, parts, of = store.columns(tuple(words)), [], []
    for block in store.blocks():
        width = len(store.dictionary) + 1
        counts = sparse.csr_array((block.counts, block.words, block.indptr), shape=(block.n_documents, width))
        eligible, counts = counts.sum(axis=1) >= 3, counts[:, columns]
        names, place = block.values(store.group_columns, "group")
        parts.append(counts[eligible] > 0)
        of.append(np.array([groups.index(name) for name in names])[place][eligible])
    return sparse.csr_array(sparse.vstack(parts)), np.concatenate(of)


def _exact_keyness(held: sparse.csr_array, of: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood ratios of words, (n_groups, n_words), and whether a word is more frequent in the group."""
    member = sparse.csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(n_groups, len(of)))
    inside = np.asarray((member @ held.astype(float)).todense())
    n = np.bincount(of, minlength=n_groups)[:, None].astype(float)
    outside, rest = inside.sum(axis=0) - inside, n.sum() - n
    mean = (inside + outside) / (n + rest)
    ratio = 2 * (rel_entr(inside, n * mean) + rel_entr(outside, rest * mean))
    more = inside / n > outside / rest
    return np.where(more, ratio, -ratio), more


def speed(n_documents: int) -> None:
    """Print seconds and memory of counts of planted documents in 20 categories by 24 months, from a prepared store."""
    titles = [f"c{i}" for i in range(_N_PLANTED)]
    facts = listed_categories({title: [title] for title in titles}).facts

    def values(numbers: range) -> list[tuple[str, ...]]:
        listed = planted_groups(numbers)
        rng = np.random.default_rng(numbers.start)
        several = rng.integers(1, _N_PLANTED + 1, (len(numbers), 2))
        return [
            (*both, " ".join(map(str, sorted(set(row))))) for both, row in zip(listed, several.tolist(), strict=True)
        ]

    table = Table("documents", "categories", "rows", "seconds", "core-seconds", "memory, GB")
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "planted"
        write_store(store, n_documents, 5000, 20, groups=values, categories=facts)
        table.row(f"{n_documents:,}", _N_PLANTED, *alone(_timed_counts, str(store)))


def _timed_counts(store: str) -> tuple[str, ...]:
    corpus = dplda.read_corpus(store)
    dates = (date(2024, 1, 1), date(2025, 12, 31))
    run = timed(lambda: dplda.count(corpus, by="month(date)", dates=dates, epsilon=1.0, ledger=False, simulate_seed=0))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return f"{len(run.result[0].rows)}", f"{run.wall:.1f}", f"{run.cores:.1f}", f"{memory / 1e9:.2f}"
