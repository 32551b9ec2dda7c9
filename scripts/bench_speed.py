#!/usr/bin/env python
"""How fast and how large a fit is: beside its peers, kernel by kernel, in memory, and as the corpus grows.

    python scripts/bench_speed.py whole counts.npz --repeats 3
    python scripts/bench_speed.py kernels counts.npz
    python scripts/bench_speed.py memory counts.npz
    python scripts/bench_speed.py scale --documents 100000 300000 --words 2000 --topics 20 50

`counts.npz` is a sparse matrix (n_documents, n_words) saved by SciPy; its columns count as a public vocabulary. Prints
Markdown. Seconds are wall-clock medians; core-seconds are those of all threads, which other work on the machine
disturbs less. The first fit of a process is not counted: it compiles. Ledgers and stores are temporary.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from bare_loops import bare, steps_taken
from peers import PASSES, SWEEPS, gensim_topics, tomotopy_topics
from scipy import sparse

import dplda
from dplda.corpus import synthetic
from dplda.ledger import Ledger
from dplda.moments import contributions
from dplda.moments.clipped_sums import accumulate
from dplda.moments.contributions import EXPECTED, Contribution


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parts = parser.add_subparsers(dest="part", required=True)
    for name in ("whole", "kernels", "memory"):
        part = parts.add_parser(name)
        part.add_argument("counts", type=Path)
        part.add_argument("--topics", type=int, default=20)
        part.add_argument("--repeats", type=int, default=3)
    parts.choices["whole"].add_argument("--no-gensim", action="store_true", help="it takes minutes")
    part = parts.add_parser("scale")
    part.add_argument("--documents", type=int, nargs="+", default=[100_000])
    part.add_argument("--words", type=int, nargs="+", default=[2000])
    part.add_argument("--topics", type=int, nargs="+", default=[20])
    options = parser.parse_args()
    {"whole": whole, "kernels": kernels, "memory": memory, "scale": scale}[options.part](options)


def names(n: int) -> list[str]:
    """Words for columns without any."""
    return [f"w{i}" for i in range(n)]


def core_seconds() -> float:
    """Processor time of this process and of the children it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall-clock and core-seconds of `work`."""
    start, cores = time.perf_counter(), core_seconds()
    work()
    return time.perf_counter() - start, core_seconds() - cores


def private_fit(counts: sparse.csr_matrix, topics: int, epsilon: float) -> dict[str, float]:
    """A whole private fit from counts to topics; returns the seconds of its stages."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        corpus = dplda.Corpus.from_counts(counts, names(counts.shape[1]), public_vocabulary=True)
        ledger = Ledger(Path(folder) / "ledger.db")
        ledger.grant("speed", unbounded=True)
        dplda.fit(corpus, "speed", topics, epsilon, ledger=ledger, seconds=seconds)
    return seconds


def whole(options: argparse.Namespace) -> None:
    """The whole fit beside its peers, which protect nobody, one after the other in every round."""
    counts, topics = sparse.csr_matrix(sparse.load_npz(options.counts)), options.topics
    stages: list[dict[str, float]] = []
    systems = {
        f"dplda, epsilon {options.epsilon:g}": lambda: stages.append(private_fit(counts, topics, options.epsilon)),
        f"tomotopy, {SWEEPS} sweeps": lambda: tomotopy_topics(counts, topics, 1),
        f"gensim LdaMulticore, {PASSES} passes": lambda: gensim_topics(counts, topics, 1),
    }
    if options.no_gensim:
        systems.popitem()
    private_fit(counts[:1000], topics, options.epsilon)
    stages.clear()
    times = [[timed(work) for work in systems.values()] for _ in range(options.repeats)]
    wall, cores = np.median(times, axis=0).T
    print("| system | seconds | core-seconds | seconds over dplda's |\n|---|---|---|---|")
    for name, seconds, used in zip(systems, wall, cores, strict=True):
        print(f"| {name} | {seconds:.1f} | {used:.1f} | {seconds / wall[0]:.1f} |")
    print("\n| stage | seconds |\n|---|---|")
    for stage in stages[0]:
        print(f"| {stage} | {statistics.median(run[stage] for run in stages):.2f} |")


def kernels(options: argparse.Namespace) -> None:
    """Each kernel beside its bare loop, alternating, in one thread."""
    matrix = sparse.csr_matrix(sparse.load_npz(options.counts))
    matrix.sort_indices()
    n, indptr = matrix.shape[0], matrix.indptr.astype(np.int64)
    words, counts = matrix.indices.astype(np.int32), matrix.data.astype(np.int32)
    print(
        "| kernel | shape | bare loop, seconds | kernel, seconds | speed over the bare loop's |\n|---|---|---|---|---|"
    )
    for name, f in statistics_of(matrix, options.topics).items():
        steps = steps_taken(f, indptr, words, counts) if f.kind == EXPECTED else None

        def kernel(f: Contribution = f, last: int = n) -> None:
            total, units, norms = np.zeros(f.shape, np.int64), np.arange(last), np.empty(0)
            accumulate(
                f.kind, indptr, words, counts, np.arange(n + 1), units,
                f.scale, f.matrix, f.directions, f.alpha, 1.0, total, norms,
            )  # fmt: skip

        def loop(f: Contribution = f, last: int = n, steps: np.ndarray | None = steps) -> None:
            bare(f, indptr[: last + 1], words, counts, steps)

        loop(last=1)
        kernel(last=1)
        pairs = [(timed(loop)[1], timed(kernel)[1]) for _ in range(options.repeats)]
        plain, ours = np.median(pairs, axis=0)
        print(f"| {name} | {f.shape} | {plain:.3f} | {ours:.3f} | {plain / ours:.2f} |", flush=True)
        if steps is not None:
            print(f"\nSteps of coordinate ascent a document: {steps.mean():.1f}")


def statistics_of(matrix: sparse.csr_matrix, k: int) -> dict[str, Contribution]:
    """Every statistic of a fit of `k` topics over the words of `matrix`, with random arrays.

    The topics are those of a fit without a ledger, since the steps of coordinate ascent depend on them.
    """
    random, d = np.random.default_rng(0), matrix.shape[1]
    corpus = dplda.Corpus.from_counts(matrix, names(d), public_vocabulary=True)
    topics = dplda.fit(corpus, n_topics=k, ledger=False, simulate_seed=0).topics
    scale, X = np.ones(d), random.standard_normal((d, k + 11))
    return {
        "first moment": contributions.first_moment(scale),
        "second moment times X": contributions.second_moment_times(scale, X[:, : k + 10]),
        "core": contributions.core(scale, X),
        "third moment": contributions.third_moment(X[:, :k]),
        "expected counts": contributions.expected_counts(topics.T, 0.1),
    }


FIT_AND_TELL = """
import resource, sys
import dplda
from dplda.ledger import Ledger
folder, topics, epsilon = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
small = dplda.read_corpus(folder + "/small")
def fit(corpus):
    ledger = Ledger(folder + "/ledger.db")
    ledger.grant(corpus.name, unbounded=True)
    dplda.fit(corpus, None, topics, epsilon, vocabulary=corpus.open().dictionary, ledger=ledger)
fit(small)
before = peak()
fit(dplda.read_corpus(folder + "/store"))
print(before, peak())
"""


def memory(options: argparse.Namespace) -> None:
    """Peak memory of a process that fits a prepared store, beside the store's size."""
    counts = sparse.csr_matrix(sparse.load_npz(options.counts))
    with tempfile.TemporaryDirectory() as folder:
        dplda.Corpus.from_counts(counts, names(counts.shape[1])).write(Path(folder) / "store")
        dplda.Corpus.from_counts(counts[:100], names(counts.shape[1])).write(Path(folder) / "small")
        store = sum(path.stat().st_size for path in (Path(folder) / "store").iterdir())
        command = [sys.executable, "-c", FIT_AND_TELL, folder, str(options.topics), str(options.epsilon)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    idle, peak = (int(number) for number in told.split())
    print("| store, MB | peak of a fit of 100 documents | peak of the fit | difference | 1.5 stores + 200 MB |")
    print("|---|---|---|---|---|")
    cells = (store, idle, peak, peak - idle, 1.5 * store + 200e6)
    print(f"| {' | '.join(f'{x / 1e6:.0f}' for x in cells)} |")


def scale(options: argparse.Namespace) -> None:
    """Seconds of whole fits of synthetic corpora (k planted topics, 53 tokens a document on average)."""
    print("| documents | words | topics | entries | seconds | core-seconds | core-microseconds an entry |")
    print("|---|---|---|---|---|---|---|")
    private_fit(synthetic(1000, 100, 5)[0], 5, options.epsilon)
    for d in options.words:
        for k in options.topics:
            for n in options.documents:
                counts = synthetic(n, d, k, mean_length=50)[0]
                wall, cores = timed(lambda c=counts, k=k: private_fit(c, k, options.epsilon))
                each = cores / counts.nnz * 1e6
                print(f"| {n} | {d} | {k} | {counts.nnz} | {wall:.1f} | {cores:.1f} | {each:.2f} |", flush=True)


if __name__ == "__main__":
    main()
