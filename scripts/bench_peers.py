"""Fits of planted counts beside other programs, a process for each: the part `peers` of bench_scale.py.

Run as a program with a system, a file of counts, the numbers of topics and of tomotopy's sweeps, a limit in seconds
and a file for the answer, it fits those counts. The clock runs from counts in memory to topics; tomotopy's is read
every `STEP` sweeps.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from peers import tensorly_topics, tomotopy_sweeps
from planted_stores import counts_of, names, planted_topics
from scipy import sparse

import dplda
from dplda.comparison.measures import matched_error

EPSILON = 2.0
STEP = 25
SEED = 1
LEVEL = 0.02  # part of its error by which a system still improves when it has levelled out

Fits = Iterator[tuple[int, np.ndarray]]  # sweeps so far, 0 for who makes none, and topics (n_topics, n_words)


def private(counts: sparse.csr_matrix, n_topics: int) -> Fits:
    """A private fit, exact noise and ledger included; a small one before has compiled."""
    yield 0, _fit(counts, n_topics, placement="default")


def exposed(counts: sparse.csr_matrix, n_topics: int) -> Fits:
    """The same without noise."""
    yield 0, _fit(counts, n_topics, placement="none")


def _fit(counts: sparse.csr_matrix, n_topics: int, placement: str) -> np.ndarray:
    corpus = dplda.Corpus.from_counts(counts, names(counts.shape[1]), public_vocabulary=True)
    with tempfile.TemporaryDirectory() as folder:
        ledger = dplda.Ledger(Path(folder) / "ledger.db")
        ledger.grant("planted", unbounded=True)
        return dplda.fit(corpus, "planted", n_topics, EPSILON, placement=placement, ledger=ledger).topics


def tomotopy(counts: sparse.csr_matrix, n_topics: int) -> Fits:
    """Gibbs sampling, a step at a time, without end."""
    warnings.simplefilter("ignore", RuntimeWarning)  # that two workers make it differ from run to run
    for step, topics in enumerate(tomotopy_sweeps(counts, n_topics, SEED, STEP), start=1):
        yield step * STEP, topics


def tensorly(counts: sparse.csr_matrix, n_topics: int) -> Fits:
    """The tensor method by TensorLy's decomposition."""
    yield 0, tensorly_topics(counts, n_topics, SEED)


SYSTEMS: dict[str, Callable[[sparse.csr_matrix, int], Fits]] = {
    "dplda": private,
    "dplda-exposed": exposed,
    "tomotopy": tomotopy,
    "tensorly": tensorly,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Fit, and leave in the answer the topics, seconds and sweeps at each step, and the core-seconds and memory."""
    system, source, n_topics, sweeps, limit, answer = sys.argv[1:] if argv is None else argv
    counts = sparse.load_npz(source)
    if system.startswith("dplda"):
        _fit(counts[:1000], 2, "default")
    used = resource.getrusage(resource.RUSAGE_SELF)
    before = used.ru_utime + used.ru_stime
    steps, found, spent = SYSTEMS[system](counts, int(n_topics)), [], 0.0
    while spent < float(limit) and not (found and found[-1][0] in (0, int(sweeps))):
        start = time.perf_counter()
        step = next(steps)
        spent += time.perf_counter() - start
        found.append((*step, spent))
    used = resource.getrusage(resource.RUSAGE_SELF)
    made, topics, seconds = zip(*found, strict=True)
    cores = used.ru_utime + used.ru_stime - before
    np.savez(answer, sweeps=made, topics=topics, seconds=seconds, cores=cores, peak=_peak())


def _peak() -> int:
    """Most bytes this process has held; unlike `ru_maxrss`, without what its parent held."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmHWM"].split()[0]) * 1024


def peers(options: argparse.Namespace) -> None:
    """A row for each system and number of documents, and what tomotopy's error was at every step."""
    n_words = options.vocabulary or options.words
    planted, traces = planted_topics(options.words, options.topics, n_words), []
    print("| documents | topics | system | seconds | core-seconds | memory, GB | topic error |")
    print("|---|---|---|---|---|---|---|")
    for n in options.documents:
        counts = counts_of(options.store, n, n_words)
        with tempfile.TemporaryDirectory() as folder:
            sparse.save_npz(Path(folder) / "counts.npz", counts, compressed=False)
            for system in options.systems:
                told = _run(system, Path(folder), options)
                where = f"| {n:,} | {options.topics} | {system}"
                if isinstance(told, str):
                    print(f"{where} | {told} | | | |", flush=True)
                    continue
                errors = [float(matched_error(topics, planted).mean()) for topics in told["topics"]]
                sweeps = f", {told['sweeps'][-1]} sweeps" if told["sweeps"][-1] else ""
                print(
                    f"{where}{sweeps} | {told['seconds'][-1]:.1f} | {told['cores']:.1f} | {told['peak'] / 1e9:.2f} | "
                    f"{errors[-1]:.3f} |",
                    flush=True,
                )
                if sweeps:
                    traces.append((n, told["sweeps"], told["seconds"], errors))
    for n, sweeps, seconds, errors in traces:
        print(f"\ntomotopy, {n:,} documents: level after {levelled(sweeps, errors)} sweeps")
        rows = zip(sweeps.tolist(), seconds, errors, strict=True)
        print(json.dumps([[sweep, round(float(s), 1), round(error, 3)] for sweep, s, error in rows]))


def _run(system: str, folder: Path, options: argparse.Namespace) -> dict | str:
    """What the system's process leaves, or in words why it leaves nothing."""
    answer = folder / f"{system}.npz"
    given = [__file__, system, folder / "counts.npz", options.topics, options.sweeps, options.limit, answer]
    try:
        done = subprocess.run([sys.executable, *map(str, given)], timeout=options.limit + 60)
    except subprocess.TimeoutExpired:
        return f"not ended after {options.limit + 60:.0f}"
    if done.returncode:
        return f"ended with status {done.returncode}"
    with np.load(answer) as file:
        return dict(file)


def levelled(sweeps: Sequence[int], errors: Sequence[float]) -> int | None:
    """The first number of sweeps from which on no later error is lower by more than `LEVEL` of it."""
    for i, (sweep, error) in enumerate(zip(sweeps, errors, strict=True)):
        if i < len(errors) - 1 and min(errors[i:]) >= (1 - LEVEL) * error:
            return int(sweep)
    return None


if __name__ == "__main__":
    main()
