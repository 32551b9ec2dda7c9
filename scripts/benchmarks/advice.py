"""Does the command that `dplda check` proposes end with topics? Tried on 300 to 10,000 texts, and on those of people.

If the command needs public text, it gets 2,000 other texts of the same kind, or those that there are.
"""

from __future__ import annotations

import json
import random
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import dplda
from benchmarks import corpora
from benchmarks.prior import Files, posts_of
from benchmarks.tables import Table
from dplda.base.errors import NoisyTopicsWarning, UnsupportedByData
from dplda.cli.check_command import examine

SIZES = 300, 700, 1500, 3000, 10_000
PEOPLE, MOST_EACH = 700, 40  # people, and the most documents of one
PUBLIC = 2000  # texts


@dataclass(frozen=True)
class Case:
    """Records of a collection, and public texts."""

    name: str
    records: list[dict[str, str]]
    others: list[str]


def measure(files: Files, sizes: Sequence[int], seeds: int) -> None:
    """Print for each collection the command that is proposed, and how many of its runs end with topics."""
    columns = ("collection", "proposed options", "told before", "ended with topics", "words", "mean probability")
    table = Table(*columns)
    for case in _cases(files, sizes):
        with TemporaryDirectory() as folder:
            path = Path(folder, "texts.jsonl")
            path.write_text("".join(json.dumps(record) + "\n" for record in case.records), encoding="utf-8")
            report = examine([str(path)], {})
            options = shlex.split(str(report.command))[3:]
            runs = [run for seed in range(seeds) if (run := _run(path, options, case, seed)) is not None]
        words, sure = np.mean(runs, axis=0) if runs else (np.nan, np.nan)
        before = "do not run this; " + report.condition if report.condition else ""
        shown = " ".join(option.replace(str(path), "") for option in options)
        table.row(case.name, f"`{shown}`", before, f"{len(runs)} of {seeds}", f"{words:,.0f}", f"{sure:.2f}")


def _run(path: Path, options: Sequence[str], case: Case, seed: int) -> tuple[float, float] | None:
    """The number of words and the mean probability of the topics of one run with `options`; None if it ends early."""
    given = dict(zip(options[::2], options[1::2], strict=False))
    corpus = dplda.read_corpus(path, unit_field=given.get("--unit-field"))
    asked: dict[str, Any] = {}
    if "--topics" in given:
        asked |= {"n_topics": int(given["--topics"]), "epsilon": float(given["--epsilon"])}
    if "--prior" in given:
        asked["prior"] = dplda.public_prior(dplda.Corpus.from_texts(case.others, name="others"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            model = dplda.fit(corpus, **asked, ledger=False, simulate_seed=seed)
        except UnsupportedByData:
            return None
    return float(len(model.vocabulary)), float(np.mean([chance or 0.0 for chance in model.probabilities]))


def _cases(files: Files, sizes: Sequence[int]) -> list[Case]:
    texts = {
        "posts": posts_of(files.news),
        "news items": corpora.texts(files.agnews),
        "abstracts": corpora.texts(files.medical),
        "reviews": corpora.texts(files.imdb),
    }
    found = [
        Case(f"{size:,} {kind}", [{"text": text} for text in every[:size]], every[size:][:PUBLIC])
        for kind, every in texts.items()
        for size in sizes
        if len(every) >= size
    ]
    for kind, every in texts.items():
        numbers = random.Random(0).choices(range(1, MOST_EACH + 1), k=PEOPLE)
        authors = [f"a{person}" for person, number in enumerate(numbers) for _ in range(number)]
        random.Random(1).shuffle(authors)
        records = [{"author": author, "text": text} for author, text in zip(authors, every, strict=False)]
        people = len({record["author"] for record in records})
        found.append(Case(f"{len(records):,} {kind} of {people} people", records, every[len(records) :][:PUBLIC]))
    return found
