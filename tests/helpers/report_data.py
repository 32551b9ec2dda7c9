"""Comparisons and models for the tests of the report, and its pages taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
from handmade import make_model
from ledger_helpers import a_run

from dplda.budget import Status
from dplda.budget.accountant import calibrate
from dplda.budget.comparisons import Cell, Comparison, ComparisonKind, Outcome
from dplda.budget.events import PrivacyStatement, merge_events
from dplda.budget.guarantees import Grant, Guarantee
from dplda.learning.placements.default import shares
from dplda.model import TopicModel
from dplda.private.attributes import OTHER
from dplda.report import AllRuns
from dplda.report.facts import RunWithoutTopics
from dplda.runs.released_table import ReleasedTable, Tables

VOID = {"meta", "link", "br", "img", "input", "hr"}  # elements without an end

# Words that try to become markup, script, templates, or to turn the text around.
HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned'>",
    "<b>bold</b>",
    "\"'&amp;",
    "{{ 7 * 7 }}",
    "%{x}",
    "<!--",
    "a\u202eb\x00\ud800",
    "javascript:alert(1)",
    "<a href='https://example.org/'>link</a>",
    "\u2028",
    "ordinary",
]


def outcome(
    placement: str,
    epsilon: float,
    repeat: int,
    *,
    calibration: str = "sound",
    status: str = Status.DONE,
    **numbers: Any,
) -> Outcome:
    cell = Cell(placement, calibration, epsilon, repeat)
    run = f"{placement}-{calibration}-{epsilon:g}-{repeat}"
    return Outcome(cell=cell, status=status, run=run, sound=placement != "none" and calibration == "sound", **numbers)


def comparison(*outcomes: Outcome, kind: str = "planted") -> Comparison:
    return Comparison(
        name="toy", corpus="corpus", kind=ComparisonKind(kind), parameters={"topics": 3}, outcomes=outcomes
    )


def run_model(
    run: str = "toy-aaaaaa", *, seed: int = 0, words: list[str] | None = None, n_topics: int = 3, **privacy: Any
) -> TopicModel:
    """A model with everything that a run of the default placement releases."""
    model = make_model(n_topics, 12, seed)
    events = merge_events(calibrate(shares(False, 3), 1.0, 1e-6))
    statement = PrivacyStatement(
        **{
            "epsilon": 1.0,
            "delta": 1e-6,
            "unit": "document",
            "adjacency": "add-remove",
            "sound": True,
            "events": events,
        }
        | privacy
    )
    facts = replace(
        model.facts,
        core_eigenvalues=(0.4, 0.2, 0.1, 0.02, -0.01),
        core_noise_level=0.05,
        supported_topics=n_topics,
        run=run,
        dataset="toys",
        vocabulary="private",
        documents=5000,
    )
    return replace(model, vocabulary=words or model.vocabulary, privacy=statement, facts=facts)


def run_without_topics(unit: str = "document", **parameters: Any) -> RunWithoutTopics:
    """What a plan of one count released, as the ledger has recorded it; `parameters` that are None are left out."""
    given = {
        "kind": "plan",
        "questions": [{"kind": "count"}],
        "other_answers": ["numbers of documents in each category"],
    }
    kept = {name: value for name, value in (given | parameters).items() if value is not None}
    privacy = run_model(unit=unit).privacy.to_json()
    result = {"answers": [None], "privacy": privacy}
    return RunWithoutTopics.of(a_run(dataset="toys", unit=unit, epsilon=3.0, parameters=kept, result=result))


def all_runs(runs: int = 1, **changes: Any) -> AllRuns:
    """What a ledger might say of so many `runs` under a grant of epsilon 8."""
    guarantee = changes.pop("guarantee", Guarantee(epsilon=8.0, delta=1e-5))
    grant = Grant(epsilon=8.0, delta=1e-5)
    return AllRuns(runs, guarantee, "the guarantee is <this>", grants={"toys": grant}, **changes)


def full_comparison(kind: str = "planted") -> Comparison:
    """Four methods at three budgets, each repeated, one of them without some answers."""
    random = np.random.default_rng(0)
    cells = [
        (placement, calibration, epsilon, repeat)
        for placement, calibration in (
            ("default", "sound"),
            ("config1", "sound"),
            ("config1", "published"),
            ("none", "sound"),
        )
        for epsilon in (0.5, 1.0, 4.0)
        for repeat in (0, 1)
    ]
    outcomes = []
    for placement, calibration, epsilon, repeat in cells:
        level = {"default": 0.2, "config1": 0.9, "none": 0.05}[placement] * random.uniform(0.8, 1.2)
        measures: dict[str, dict[str, Any]] = {
            "planted": {"error": level, "bound": 9 * level if placement == "config1" else None},
            "public": {"coherence": 0.2 - 0.1 * level, "diversity": 1 - 0.2 * level},
            "private": {},
        }
        measured = measures[kind]
        if placement == "config1" and epsilon == 0.5:
            ended: dict[str, Any] = {"status": "unsupported", "message": "too few documents"}
        else:
            ended = {**measured, "seconds": {"read": 0.5, "core": 1.25}}
        outcomes.append(outcome(placement, epsilon, repeat, calibration=calibration, **ended))
    return comparison(*outcomes, kind=kind)


class Page(HTMLParser):
    """A page taken apart: its elements, its text without scripts, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.visible = ""
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif not self.open or self.open[-1] != "style":
            self.visible += data

    @property
    def title(self) -> str:
        return self.visible.strip().splitlines()[0]

    @property
    def text(self) -> str:
        return " ".join(self.visible.split())


def tables(
    model: TopicModel, sizes: Sequence[int], by: Sequence[str] = ("month(created_at)",), **changes: Any
) -> Tables:
    """A run's tables of the topics of `model`, one for each of `by`: groups of these `sizes`, and a rest of 3 units.

    The first topic's share is larger in each group than in the one before it.
    """
    k = len(model.topics)
    first = np.linspace(0.2, 0.6, len(sizes) + 1)[:, None]
    shares = np.concatenate([first, np.repeat((1 - first) / (k - 1), k - 1, axis=1)], axis=1)
    counts = np.array([*sizes, 3.0])
    made = []
    for name in by:
        periods = [f"2024-{month:02}" for month in range(1, len(sizes) + 1)]
        groups = periods if "month" in name else ["other", *(f"g{i}" for i in range(1, len(sizes)))]
        made.append(ReleasedTable((name,), ((*groups, OTHER),), (True,), shares * counts[:, None], counts, 8.0))
    statement = replace(model.privacy, events=())
    run, dataset = model.facts.run or "", model.facts.dataset or ""
    return replace(Tables("toys-table", run, tuple(made), statement, dataset, same_documents=True), **changes)
