"""Answers for the tests of the page of `dplda ask`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from report_data import run_model, tables

from dplda.budget.events import PrivacyStatement
from dplda.private.attributes import OTHER
from dplda.runs.indicator_tables import Counts, CountTable, Words, WordTable
from dplda.runs.questions import Findings
from dplda.runs.released_table import Tables
from dplda.text.categories import NONE

NAMES = ("refund", "heat", NONE)
WORDS = ("refund", "money", "boiler")


def count_table(by=(), groups=(), shares=((0.3, 0.1, 0.6),), sizes=(1000.0,), names=NAMES) -> CountTable:
    totals = np.array(shares) * np.array(sizes)[:, None]
    return CountTable(
        by, groups, (False,) * len(by), totals, np.array(sizes), 5.0, titles=names, size_precision=0.3, at_most=1
    )


def word_table(by=("team",), groups=(("heat", "cash", OTHER),), scale: float = 1000.0) -> WordTable:
    totals = np.array([[20.0, 30, 600], [500, 300, 20], [0, 0, 0]]) * scale / 1000
    return WordTable(by, groups, (True,), totals, np.array([1.0, 1, 0.0]) * scale, 5.0, titles=WORDS)


def findings(*answers: tuple[str, Tables | None], model=None, **privacy) -> Findings:
    statement = replace(run_model(**privacy).privacy, events=())
    answers = tuple((text, None if each is None else replace(each, privacy=statement)) for text, each in answers)
    return Findings("toys-aaaaaa", statement, tuple(t for t, _ in answers), model, tuple(each for _, each in answers))


def counts(*made: CountTable) -> Counts:
    return Counts("toys-aaaaaa", "", made, PLACEHOLDER, "toys")


def words(*made: WordTable) -> Words:
    return Words("toys-aaaaaa", "", made, PLACEHOLDER, "toys")


PLACEHOLDER = PrivacyStatement(epsilon=1, delta=0, unit="document", adjacency="add-remove", sound=True, events=())
BY_MONTH = count_table(
    ("month(day)",),
    (("2024-01", "2024-02", "2024-03", OTHER),),
    ((0.3, 0.1, 0.6), (0.3, 0.1, 0.6), (0.5, 0.1, 0.4), (0, 0, 0)),
    (900.0, 3.0, 900.0, 1.0),
)
BY_TEAM = count_table(
    ("team",), (("heat", "cash", OTHER),), ((0.02, 0.5, 0.48), (0.6, 0.01, 0.39), (0, 0, 0)), (800.0, 900.0, 2.0)
)


def everything() -> Findings:
    model = run_model(epsilon=1.25)
    return findings(
        ("What is it about?", None),
        ("And by month?", tables(model, (2000, 1500, 900))),
        ("How many?", counts(count_table())),
        ("How many by team and month?", counts(BY_TEAM, BY_MONTH)),
        ("Which words?", words(word_table())),
        model=model,
        epsilon=1.25,
    )
