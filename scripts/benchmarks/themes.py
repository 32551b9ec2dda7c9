"""The planted themes of the sample corpus that whole runs find, with words chosen privately."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np

import dplda
from benchmarks.main_job import fit
from benchmarks.tables import Table
from dplda.base.distributions import on_words
from dplda.runs.grid import matched_error

UNITS = {
    "document": ("--topics", "8"),
    "document, `--topics auto`": ("--topics", "auto"),
    "user (`--unit-field user`)": ("--topics", "8", "--unit-field", "user"),
}


def measure(sample: Path) -> None:
    """Print a row for each unit. Words that a run does not learn count as errors."""
    themes = json.loads((sample / "_themes.json").read_text(encoding="utf-8"))
    words = sorted({word for theme in themes.values() for word in theme})
    planted = np.array([[theme.get(word, 0.0) for word in words] for theme in themes.values()])
    table = Table("unit", "words learned", "topics", "mean matched l1 error")
    with tempfile.TemporaryDirectory() as name:
        os.environ["DPLDA_CACHE"] = str(Path(name) / "cache")
        for number, (unit, asked) in enumerate(UNITS.items()):
            out = Path(name) / f"model{number}"
            fit(
                [
                    str(sample / "sample.jsonl.gz"),
                    "--text-field",
                    "text",
                    "--unit",
                    "document",
                    "--epsilon",
                    "2",
                    *asked,
                ],
                out,
            )
            model = dplda.load(out)
            error = matched_error(on_words(model.topics, model.vocabulary, words), planted).mean()
            released = sum(word in set(model.vocabulary) for word in words)
            table.row(unit, f"{released} of {len(words)}", len(model.topics), f"{error:.2f}")
