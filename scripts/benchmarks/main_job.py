"""The main job, from raw text to topics, beside peers on the same counts: seconds, coherence and diversity."""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path

import numpy as np

import dplda
from benchmarks.measuring import CommandRun, run_command, timed
from benchmarks.systems import popular_peers
from benchmarks.tables import Table
from dplda.runs.corpus import counts_for
from dplda.runs.grid import diversity, npmi


def measure(
    corpus: str,
    text_field: str | None,
    topics: int,
    epsilon: float,
    repeats: int,
    sweeps: int,
    passes: int,
    peers: bool,
) -> None:
    """Print the rows of dplda, from text and from the prepared store, and of the peers on its words."""
    table = Table("system", "private", "NPMI@10", "diversity", "seconds", "peak memory")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DPLDA_CACHE"] = str(folder / "cache")
        field = ["--text-field", text_field] if text_field else []
        asked = [corpus, *field, "--topics", str(topics), "--epsilon", str(epsilon)]
        runs = [fit(asked, folder / f"model{n}") for n in range(repeats)]
        store = dplda.read_corpus(corpus, text_field=text_field).open()
        models = [dplda.load(folder / f"model{n}") for n in range(repeats)]
        counts = [counts_for(model.vocabulary, store)[0] for model in models]
        coherence = [npmi(model.topics, own).mean() for model, own in zip(models, counts, strict=True)]
        quality = f"{np.mean(coherence):.3f} ± {np.std(coherence):.3f}"
        told = f"epsilon {epsilon:g}", quality, f"{np.mean([diversity(model.topics) for model in models]):.2f}"
        most = max(run.memory for run in runs)
        table.row("dplda, from raw text", *told, f"{runs[0].wall:.0f}", f"{most / 2**20:.0f} MB")
        if runs[1:]:
            again = statistics.median(run.wall for run in runs[1:])
            table.row(f"dplda, prepared store (median of {len(runs) - 1})", *told, f"{again:.0f}", "")
        for system, learn in popular_peers(counts[0], topics, sweeps, passes).items() if peers else ():
            found, wall, _ = timed(learn)
            quality = f"{npmi(found, counts[0]).mean():.3f}"
            table.row(system, "no", quality, f"{diversity(found):.2f}", f"{wall:.0f}", "")


def fit(arguments: list[str], out: Path) -> CommandRun:
    """One `dplda fit` that writes its model to `out`."""
    run = run_command("fit", *arguments, "--out", str(out), "--ledger", f"{out}.db", "--json")
    if run.status:
        raise SystemExit(f"dplda fit ended with status {run.status}: {run.errors}")
    return run
