"""Whole fits from counts: beside peers, as the corpus grows, and how much memory they need."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy import sparse

import dplda
from benchmarks.corpora import names, read_counts
from benchmarks.measuring import alone, in_turns, median_cores, median_wall, peak_memory, timed
from benchmarks.systems import dplda_model, popular_peers
from benchmarks.tables import Table
from dplda.private.noise import ExactNoise
from dplda.runs.corpus import synthetic

SMALL = 100  # documents of a fit whose memory is that of libraries and compiled code
ALLOWED = 200e6  # bytes beyond one and a half stores
PER_PERSON = 3  # documents of a person


def beside_peers(source: Path, topics: int, epsilon: float, repeats: int, gensim: bool) -> None:
    """Print a row for each system, fitted in turns, dplda's seconds by stage, and the cost of its noise.

    dplda fits the documents, and again as those of persons, who have `PER_PERSON` consecutive ones each.
    """
    counts = read_counts(source)
    ours, of_persons = f"dplda, epsilon {epsilon:g}", f"dplda, persons of {PER_PERSON} documents"
    systems: dict[str, Callable[[], object]] = {
        ours: partial(stages_of_fit, counts, topics, epsilon),
        of_persons: partial(stages_of_fit, counts, topics, epsilon, PER_PERSON),
    }
    systems |= {name: fit for name, fit in popular_peers(counts, topics).items() if gensim or "gensim" not in name}
    stages_of_fit(counts[:1000], topics, epsilon)  # compiles
    found = in_turns(systems, repeats)
    table = Table("system", "seconds", "core-seconds", "times dplda's seconds")
    for name, runs in found.items():
        seconds = median_wall(runs)
        table.row(name, f"{seconds:.1f}", f"{median_cores(runs):.1f}", f"{seconds / median_wall(found[ours]):.1f}")
    print()
    stages = [[run.result for run in found[each] if isinstance(run.result, dict)] for each in (ours, of_persons)]
    table = Table("stage", "seconds", "of persons")
    for stage in stages[0][0]:
        table.row(stage, *(f"{statistics.median(run[stage] for run in runs):.2f}" for runs in stages))
    print()
    table = Table("numbers with exact noise", "of that size", "draws", "core-seconds")
    sizes = noise_of_fit(counts, topics, epsilon)
    for size, cores in sorted(sizes.items()):
        table.row(f"{size:,}", len(cores), f"{size * len(cores):,}", f"{sum(cores):.2f}")
    total = [sum(size * len(cores) for size, cores in sizes.items()), sum(map(sum, sizes.values()))]
    table.row("all", "", f"{total[0]:,}", f"{total[1]:.2f}")


def noise_of_fit(counts: sparse.csr_matrix, topics: int, epsilon: float) -> dict[int, list[float]]:
    """Return the core-seconds of each draw of noise of a fit, by its size; what runs meanwhile adds to them."""
    found: dict[int, list[float]] = {}
    draw = ExactNoise.gaussian

    def timed_draw(noise: ExactNoise, scale: float, size: int) -> np.ndarray:
        begun = time.process_time()
        drawn = draw(noise, scale, size)
        found.setdefault(size, []).append(time.process_time() - begun)
        return drawn

    with patch.object(ExactNoise, "gaussian", timed_draw):
        stages_of_fit(counts, topics, epsilon)
    return found


def stages_of_fit(counts: sparse.csr_matrix, topics: int, epsilon: float, per_person: int = 1) -> dict[str, float]:
    """Seconds of each stage of a private fit, exact noise and ledger included."""
    seconds: dict[str, float] = {}
    units = None if per_person == 1 else (np.arange(counts.shape[0]) // per_person).tolist()
    dplda_model(counts, topics, units=units, epsilon=epsilon, seconds=seconds)
    return seconds


def growth(documents: Sequence[int], words: Sequence[int], topics: Sequence[int], epsilon: float) -> None:
    """Print the seconds of a whole fit for every size of a planted corpus (53 tokens a document on average)."""
    table = Table("documents", "words", "topics", "entries", "seconds", "core-seconds", "core-microseconds an entry")
    stages_of_fit(synthetic(1000, 100, 5)[0], 5, epsilon)  # compiles
    for d in words:
        for k in topics:
            for n in documents:
                counts = synthetic(n, d, k, mean_length=50)[0]
                _, wall, cores = timed(partial(stages_of_fit, counts, k, epsilon))
                each = cores / counts.nnz * 1e6
                table.row(n, d, k, counts.nnz, f"{wall:.1f}", f"{cores:.1f}", f"{each:.2f}")


def memory(source: Path, topics: int, epsilon: float) -> None:
    """Print the peak memory of a fit beside that of a fit of a few documents."""
    counts = read_counts(source)
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("small", counts[:SMALL]), ("store", counts)):
            dplda.Corpus.from_counts(part, names(part.shape[1]), name=name).write(Path(folder) / name)
        stored = sum(path.stat().st_size for path in (Path(folder) / "store").iterdir())
        idle, peak = alone(peaks_of_fits, Path(folder), topics, epsilon)
    table = Table(
        "store, MB",
        f"peak of a fit of {SMALL} documents",
        "peak of the fit",
        "difference",
        "allowed: 1.5 times the store + 200 MB",
    )
    table.row(*(f"{size / 1e6:.0f}" for size in (stored, idle, peak, peak - idle, 1.5 * stored + ALLOWED)))


def peaks_of_fits(folder: Path, topics: int, epsilon: float) -> list[int]:
    """Peak memory of this process after a fit of `small`, and after one of `store` behind it."""
    ledger, peaks = dplda.Ledger(folder / "ledger.db"), []
    for name in ("small", "store"):
        corpus = dplda.read_corpus(folder / name)
        ledger.grant(name, unbounded=True)
        dplda.fit(corpus, name, topics, epsilon, vocabulary=corpus.open().dictionary, ledger=ledger)
        peaks.append(peak_memory())
    return peaks
