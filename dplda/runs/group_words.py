"""`distinctive_words`: the words that tell groups of documents apart, in one charged run (docs/privacy.md, T17)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Unpack

import numpy as np

from dplda.base.errors import InputError
from dplda.budget import RunRecord
from dplda.budget.events import Event, Stage
from dplda.learning.settings import DEFAULTS
from dplda.model.topic_model import TopicModel
from dplda.private import QueryGate
from dplda.private.attributes import OTHER_WORDS, TableRows
from dplda.private.statistics.word_indicators import INDICATOR_CLIP, WORD_INDICATORS, word_indicators
from dplda.runs.charged_query import QueryOptions, ask, noise_of_sums
from dplda.runs.corpus import Corpus
from dplda.runs.group_check import refuse_misfits
from dplda.runs.indicator_tables import Words, WordTable
from dplda.runs.released_table import least_size
from dplda.runs.run import Run
from dplda.runs.tabulation import Grouping, calendar_facts, groupings, plan_by_group
from dplda.runs.words import usable_words
from dplda.text.categories import public_digest
from dplda.text.wordlists import listed_words

_WORDS = "words"  # the kind of such a run, in its parameters
_MANY_WORDS = 20  # in a document, by which dry runs explain its weight
_MOST_WORDS = 5_000  # a document that has more of them weighs less, and each costs memory


def distinctive_words(
    words: TopicModel | Sequence[str],
    corpus: Corpus,
    by: str | Sequence[str] = (),
    epsilon: float = DEFAULTS.privacy.epsilon,
    delta: float = DEFAULTS.privacy.delta,
    *,
    groups: Mapping[str, Sequence[object]] | None = None,
    dates: tuple[str | date | None, str | date | None] = (None, None),
    between: tuple[str, str] | None = None,
    zone: str = "UTC",
    date_format: str = "",
    check_groups: bool = True,
    **options: Unpack[QueryOptions],
) -> Words:
    """Release which words tell the groups of `corpus` apart under (epsilon, delta) differential privacy.

    `words` are those that a model released, or a public list. Public words that the documents cannot contain are left
    out, with a warning, and capital letters are read as in the documents. A document counts with 1 / sqrt(1 + d) if it
    has d of the words, so that a short list means less noise. The other parameters are as in `dplda.tabulate`; there
    must be groups.

    Raises `InputError` for bad input and `BudgetRefused` if the ledger does not allow the run; neither spends any
    of the budget. Reports count a run that was refused after reading, since they do not say how runs ended.
    """
    tables = groupings(by, groups or {}, dates, zone, date_format, between)
    if check_groups:
        refuse_misfits(tables, corpus)
    run = plan_words(words, corpus, tables, epsilon, delta, zone=zone, date_format=date_format, **options)
    return ask(run, options)


def plan_words(
    words: TopicModel | Sequence[str],
    corpus: Corpus,
    tables: Sequence[Sequence[Grouping]],
    epsilon: float,
    delta: float,
    *,
    zone: str = "UTC",
    date_format: str = "",
    **options: Unpack[QueryOptions],
) -> Run[Words]:
    """Plan `tables`, the result of `groupings`, of the document frequencies of `words`; nothing is spent or read.

    Public words that the documents cannot contain are left out, with a warning. Raises `InputError` for no or too many
    words, for a table without groups, for columns that `corpus` was read
    without, and for tables that are too large.
    """
    model = words if isinstance(words, TopicModel) else None
    listed = listed_words("words", words.vocabulary if isinstance(words, TopicModel) else words)
    if not 1 <= len(set(listed)) == len(listed) <= _MOST_WORDS or not all(isinstance(word, str) for word in listed):
        raise InputError(f"words must be 1 to {_MOST_WORDS:,} different words, or a model.")
    if model is None:
        listed = usable_words(corpus.tokenization, listed, 1)
    if not all(tables):
        raise InputError("name the groups whose words are compared, such as by product.")

    def release(gate: QueryGate, rows: TableRows, groups: dict[str, Any]) -> WordTable:
        gate.use_words((*listed, OTHER_WORDS), rows)  # so that all documents count, whatever words they have
        weights = np.append(np.ones(len(listed)), 0.0)
        found = gate.release(Stage.TABLE, word_indicators(weights, 1.0, len(rows)), INDICATOR_CLIP)
        return WordTable(
            **groups,
            totals=found.total[:, : len(listed)],
            counts=found.total[:, -1],
            std=found.std,
            titles=listed,
        )

    planned = plan_by_group(
        _WORDS,
        Words,
        release,
        corpus,
        tables,
        epsilon,
        delta,
        options,
        model=model,
        width=len(listed),
        statistic=WORD_INDICATORS,
        facts={
            "n_words": len(listed),
            "words_digest": public_digest(sorted(listed)),
            **calendar_facts(zone, date_format),
        },
    )
    least = least_groups(planned.events[-1], planned.privacy.adjacency, corpus.unit)
    return replace(planned, outlook=(" ".join([least, *planned.outlook]),))


def least_groups(event: Event, adjacency: str, unit: str) -> str:
    """Say how large a group must be for its words to be told, with the noise of the `event` that releases them."""
    noise = noise_of_sums(event, INDICATOR_CLIP, WORD_INDICATORS, adjacency)
    few, many = (least_size(noise) * math.sqrt(1 + d) for d in (1, _MANY_WORDS))
    return (
        f"A group would be too small to tell with fewer than about {few:,.0f} {unit}s that have one of the words each, "
        f"or {many:,.0f} that have {_MANY_WORDS} each, and with more if they have more."
    )


def is_words(run: RunRecord) -> bool:
    """Whether `run` is a finished run of `distinctive_words`."""
    return run.parameters.get("kind") == _WORDS and run.result is not None


def load_words(run: RunRecord) -> Words:
    """Return the words that `run` released. Raises `InputError` if it made none."""
    if not is_words(run) or run.result is None:
        raise InputError(f"Run {run.id} compared no words. List runs with `dplda runs` (Ledger.runs).")
    return Words.of_released(run.result, run=run.id, of=str(run.parameters.get("of", "")), dataset=run.dataset)
