"""Corpora larger than memory, and clusters: seconds, core-seconds and memory of whole fits.

Every fit runs in a process of its own. Words are chosen privately, or are the store's first, as a public vocabulary.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil

import dplda
from benchmarks.corpora import names, stored_counts
from benchmarks.measuring import alone, process_status, timed
from benchmarks.tables import Table
from dplda.private.noise import ExactNoise
from dplda.runs.corpus import CountStore

WARM = 4 * 16384  # documents of the fit that compiles in the workers: blocks enough for all


@dataclass(frozen=True)
class Fit:
    """A fit that is asked for: topics, at most so many words, and how many of the first are a public vocabulary."""

    topics: int
    words: int
    vocabulary: int


@dataclass(frozen=True)
class Spent:
    """What a fit took: wall-clock and core-seconds, those of exact noise, seconds by stage, memory (bytes), words."""

    wall: float
    cores: float
    noise: float
    stages: dict[str, float]
    peak: int
    words: int


def single(store: Path, fit: Fit, device: str) -> None:
    """Print the cost of one fit on this machine."""
    table = Table(
        "documents", "store, GB", "words", "topics", "seconds", "core-seconds", "microseconds a document", "memory, GB"
    )
    counts, spent = CountStore.open(store), alone(fit_store, store, fit, "", device)
    table.row(
        f"{counts.n_documents:,}", f"{counts.n_bytes / 1e9:.2f}", spent.words, fit.topics, f"{spent.wall:.0f}",
        f"{spent.cores:.0f}", f"{spent.cores / counts.n_documents * 1e6:.0f}", f"{spent.peak / 1e9:.2f}",
    )  # fmt: skip
    print(json.dumps({stage: round(value, 1) for stage, value in spent.stages.items()}))


def cluster(store: Path, fit: Fit, workers: Sequence[int], weak: bool) -> None:
    """Print the cost of the same fit on clusters of one-thread workers."""
    table = Table(
        "workers", "documents", "seconds", "efficiency", "of them reading and fingerprint",
        "core-seconds: workers", "driver, exact noise", "driver, rest",
    )  # fmt: skip
    total, first = CountStore.open(store).n_documents, None
    for n in workers:
        documents = total * n // max(workers) if weak else total
        with tempfile.TemporaryDirectory() as folder:
            warm, part = Path(folder) / "warm", Path(folder) / "store"
            copy_first(store, WARM, warm)
            if documents < total:
                copy_first(store, documents, part)
            with running(n) as (scheduler, used):
                alone(fit_store, warm, fit, scheduler, "cpu")  # compiles in the workers
                before = used()
                spent = alone(fit_store, part if documents < total else store, fit, scheduler, "cpu")
                by_workers = used() - before
        first = first or (n, spent.wall)
        table.row(
            n, f"{documents:,}", f"{spent.wall:.1f}", f"{efficiency(first, (n, spent.wall), weak):.2f}",
            f"{spent.stages['read']:.1f}", f"{by_workers:.1f}",
            f"{spent.noise:.1f}", f"{spent.cores - spent.noise:.1f}",
        )  # fmt: skip


def fit_store(store: Path, fit: Fit, scheduler: str, device: str) -> Spent:
    """A private fit of the store in this process, on the cluster of `scheduler` if that is not empty."""
    stages: dict[str, float] = {}
    where: dict[str, Any] = {"engine": "dask", "scheduler": scheduler} if scheduler else {"device": device}
    with tempfile.TemporaryDirectory() as folder, anonymous_memory() as peak, noise_seconds() as drawn:
        work = partial(
            dplda.fit,
            dplda.read_corpus(store),
            n_topics=fit.topics,
            epsilon=2.0,
            max_vocabulary=fit.words,
            vocabulary=names(fit.vocabulary) or None,
            ledger=dplda.Ledger(Path(folder) / "ledger.db"),
            seconds=stages,
            **where,
        )
        model, wall, cores = timed(work)
    return Spent(wall, cores, sum(drawn), stages, max(peak), len(model.vocabulary))


@contextmanager
def anonymous_memory() -> Iterator[list[int]]:
    """Collects this process's memory (bytes) every 50 ms, without mapped pages of the store."""
    seen, stop = [process_status("RssAnon")], threading.Event()

    def watch() -> None:
        while not stop.wait(0.05):
            seen.append(process_status("RssAnon"))

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield seen
    finally:
        stop.set()
        watching.join()


@contextmanager
def noise_seconds() -> Iterator[list[float]]:
    """Collects the core-seconds of this process while exact noise is drawn."""
    drawn: list[float] = []
    gaussian = ExactNoise.gaussian

    def observed(self: ExactNoise, scale: float, size: int) -> np.ndarray:
        start = time.process_time()
        found = gaussian(self, scale, size)
        drawn.append(time.process_time() - start)
        return found

    with patch.object(ExactNoise, "gaussian", observed):
        yield drawn


def efficiency(first: tuple[int, float], then: tuple[int, float], weak: bool) -> float:
    """Speed for each worker over that of the `first`; both (workers, seconds), `weak` for as much work for each."""
    gain = first[1] / then[1]
    return gain if weak else gain * first[0] / then[0]


def copy_first(store: Path, n_documents: int, destination: Path) -> None:
    """Write the first documents of a store as another."""
    n_words = len(CountStore.open(store).words)
    counts = stored_counts(store, n_documents, n_words)
    dplda.Corpus.from_counts(counts, names(n_words), name="planted").write(destination)


@contextmanager
def running(workers: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """A scheduler with as many one-thread workers, in processes: its address, and the workers' core-seconds so far."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
        processes = [started(*scheduler, "--scheduler-file", str(file))]
        try:
            while not file.exists() or not file.read_text():
                time.sleep(0.1)
            address = json.loads(file.read_text())["address"]
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
            processes += [started(*worker, "--local-directory", folder) for _ in range(workers)]
            yield address, lambda: sum(map(core_seconds_of, processes[1:]))
        finally:
            for process in processes:
                process.terminate()
                process.wait()


def started(*command: str) -> subprocess.Popen[bytes]:
    """A running process whose output goes nowhere."""
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def core_seconds_of(process: subprocess.Popen[bytes]) -> float:
    """Processor seconds of a running process and those below it."""
    parent = psutil.Process(process.pid)
    return sum(sum(one.cpu_times()[:2]) for one in [parent, *parent.children(recursive=True)])
