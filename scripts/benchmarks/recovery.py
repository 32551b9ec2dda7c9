"""Fits of planted counts by dplda and its peers, each in a process of its own: seconds, memory and topic error.

The clock runs from counts in memory to topics; tomotopy's is read every `STEP` sweeps.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.corpora import planted_topics, stored_counts
from benchmarks.measuring import Stopped, alone, core_seconds, peak_memory
from benchmarks.systems import dplda_model, dplda_topics, tensorly_topics, tomotopy_sweeps
from benchmarks.tables import Table
from dplda.runs.grid import matched_error

EPSILON = 2.0
LABELS = {"dplda-exposed": "dplda without noise", "tensorly": "TensorLy on whitened moments"}
STEP = 25
SEED = 1
LEVEL = 0.02  # part of its error by which a system still improves when it has levelled out

Fits = Iterator[tuple[int, np.ndarray]]  # sweeps so far, 0 for who makes none, and topics (n_topics, n_words)


class Recovery(NamedTuple):
    """What one system found: sweeps, topics and seconds so far at each step; core-seconds and peak memory in all."""

    sweeps: list[int]
    topics: list[np.ndarray]
    seconds: list[float]
    cores: float
    peak: int


def by_dplda(counts: sparse.csr_matrix, n_topics: int, placement: str) -> Fits:
    """A fit with exact noise and a ledger; a small one before has compiled."""
    yield 0, dplda_topics(counts, n_topics, epsilon=EPSILON, placement=placement)


def by_tomotopy(counts: sparse.csr_matrix, n_topics: int) -> Fits:
    """Gibbs sampling, a step at a time, without end."""
    warnings.simplefilter("ignore", RuntimeWarning)  # that two workers make it differ from run to run
    for step, topics in enumerate(tomotopy_sweeps(counts, n_topics, SEED, STEP), start=1):
        yield step * STEP, topics


def by_tensorly(counts: sparse.csr_matrix, n_topics: int) -> Fits:
    """The tensor method by TensorLy's decomposition."""
    yield 0, tensorly_topics(counts, n_topics, SEED)


SYSTEMS: dict[str, Callable[[sparse.csr_matrix, int], Fits]] = {
    "dplda": partial(by_dplda, placement="default"),
    "dplda-exposed": partial(by_dplda, placement="none"),
    "tomotopy": by_tomotopy,
    "tensorly": by_tensorly,
}


def measure(
    store: Path,
    topics: int,
    words: int,
    vocabulary: int,
    documents: Sequence[int],
    systems: Sequence[str],
    sweeps: int,
    limit: float,
) -> None:
    """Print a row for each system and number of documents, and tomotopy's error at every step."""
    n_words = vocabulary or words
    planted, traces = planted_topics(words, topics, n_words), []
    table = Table("documents", "topics", "system", "seconds", "core-seconds", "memory, GB", "topic error")
    for n in documents:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "counts.npz"
            sparse.save_npz(path, stored_counts(store, n, n_words), compressed=False)
            for system in systems:
                label = LABELS.get(system, system)
                try:
                    found = alone(recover, system, path, topics, sweeps, limit, limit=limit + 60)
                except Stopped as error:
                    table.row(f"{n:,}", topics, label, error, "", "", "")
                    continue
                errors = [float(matched_error(one, planted).mean()) for one in found.topics]
                made = f", {found.sweeps[-1]} sweeps" if found.sweeps[-1] else ""
                table.row(
                    f"{n:,}", topics, f"{label}{made}", f"{found.seconds[-1]:.1f}", f"{found.cores:.1f}",
                    f"{found.peak / 1e9:.2f}", f"{errors[-1]:.3f}",
                )  # fmt: skip
                if made:
                    traces.append((n, found, errors))
    for n, found, errors in traces:
        print(f"\ntomotopy, {n:,} documents: level after {levelled(found.sweeps, errors)} sweeps")
        rows = zip(found.sweeps, found.seconds, errors, strict=True)
        print(json.dumps([[sweep, round(s, 1), round(error, 3)] for sweep, s, error in rows]))


def recover(system: str, source: Path, n_topics: int, sweeps: int, limit: float) -> Recovery:
    """Fit the counts in `source` until the system ends, has made its `sweeps` or is over the `limit` in seconds."""
    counts = sparse.csr_matrix(sparse.load_npz(source))
    if system.startswith("dplda"):
        dplda_model(counts[:1000], 2)
    before, spent = core_seconds(), 0.0
    found = Recovery([], [], [], 0.0, 0)
    steps = SYSTEMS[system](counts, n_topics)
    while spent < limit and not (found.sweeps and found.sweeps[-1] in (0, sweeps)):
        start = time.perf_counter()
        made, topics = next(steps)
        spent += time.perf_counter() - start
        found.sweeps.append(made)
        found.topics.append(topics)
        found.seconds.append(spent)
    return found._replace(cores=core_seconds() - before, peak=peak_memory())


def levelled(sweeps: Sequence[int], errors: Sequence[float]) -> int | None:
    """The first number of sweeps from which on no later error is lower by more than `LEVEL` of it."""
    for i, (sweep, error) in enumerate(zip(sweeps, errors, strict=True)):
        if i < len(errors) - 1 and min(errors[i:]) >= (1 - LEVEL) * error:
            return int(sweep)
    return None
