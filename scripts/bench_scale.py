#!/usr/bin/env python
"""Corpora larger than memory, clusters, and peers: seconds, core-seconds and memory of whole fits.

    python scripts/bench_scale.py make pubmed --documents 8200000 --words 20000 --topics 100
    python scripts/bench_scale.py fit pubmed --topics 20 --device cpu
    python scripts/bench_scale.py cluster pubmed --topics 20 --workers 1 2
    python scripts/bench_scale.py cluster pubmed --topics 20 --workers 1 2 --weak --vocabulary 5000
    python scripts/bench_scale.py peers pubmed --topics 100 --documents 10000 --vocabulary 2000

`make` draws planted documents a chunk at a time into a prepared store of about 60 distinct words a document. `fit` runs
a private fit of it in a process of its own, and tells the largest memory it had, mapped pages of the store aside.
`cluster` runs the same fit by --engine dask on workers of one thread each: the whole store on every number of workers
(strong scaling), or with --weak as many documents for each worker as the largest number has. `peers` puts fits of the
first documents beside those of other programs, each in a process of its own (bench_peers.py). Words are chosen
privately, or with --vocabulary are the store's first, as a public vocabulary. Prints Markdown; ledgers and models are
temporary.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from bench_peers import SYSTEMS, peers
from planted_stores import counts_of, names, write

import dplda
from dplda.corpus.store import CountStore
from dplda.settings import DEVICES

WARM = 4 * 16384  # documents of the fit that compiles in the workers: blocks enough for all

FIT = """
import json, os, resource, sys, threading, time
import dplda
from dplda.privacy import noise

store, topics, words, first, scheduler, device, folder = sys.argv[1:]
peak, stop, drawn, draw = [0], threading.Event(), [], noise._gaussian
def watch():
    while not stop.wait(0.05):
        with open("/proc/self/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        peak[0] = max(peak[0], int(lines["RssAnon"].split()[0]))
def timed(*given):
    start = time.thread_time()
    found = draw(*given)
    drawn.append(time.thread_time() - start)
    return found
noise._gaussian = timed
threading.Thread(target=watch, daemon=True).start()
where = {"engine": "dask", "scheduler": scheduler} if scheduler else {"device": device}
vocabulary = [f"word{i}" for i in range(int(first))] or None
used = resource.getrusage(resource.RUSAGE_SELF)
start, before, seconds = time.perf_counter(), used.ru_utime + used.ru_stime, {}
model = dplda.fit(dplda.read_corpus(store), n_topics=int(topics), epsilon=2.0, max_vocabulary=int(words),
                  vocabulary=vocabulary, ledger=dplda.Ledger(folder + "/ledger.db"), seconds=seconds, **where)
wall = time.perf_counter() - start
stop.set()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"wall": wall, "cores": used.ru_utime + used.ru_stime - before, "peak": peak[0] * 1024,
                  "noise": sum(drawn), "words": len(model.vocabulary), "seconds": seconds}))
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Make or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    for name in ("make", "fit", "cluster", "peers"):
        part = parts.add_parser(name)
        part.add_argument("store", type=Path)
        part.add_argument("--topics", type=int, default=100)
        part.add_argument("--words", type=int, default=20_000)
        if name != "make":
            part.add_argument("--vocabulary", type=int, default=0, help="words of a public vocabulary")
    parts.choices["make"].add_argument("--documents", type=int, default=8_200_000)
    parts.choices["fit"].add_argument("--device", choices=DEVICES, default=DEVICES[0])
    part = parts.choices["cluster"]
    part.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    part.add_argument("--weak", action="store_true")
    part = parts.choices["peers"]
    part.add_argument("--documents", type=int, nargs="+", default=[10_000])
    part.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    part.add_argument("--sweeps", type=int, default=200, help="of tomotopy, in steps of 25")
    part.add_argument("--limit", type=float, default=240.0, help="seconds after which a system is stopped")
    options = parser.parse_args(argv)
    {"make": make, "fit": fit, "cluster": cluster, "peers": peers}[options.part](options)


def make(options: argparse.Namespace) -> None:
    """Write the store."""
    write(options.store, options.documents, options.words, options.topics)


def fit(options: argparse.Namespace) -> None:
    """One fit on this machine."""
    print("| documents | store, GB | words | topics | seconds | core-seconds | microseconds a document | memory, GB |")
    print("|---|---|---|---|---|---|---|---|")
    store, found = CountStore.open(options.store), told(options.store, options, device=options.device)
    each = found["cores"] / store.n_documents * 1e6
    print(
        f"| {store.n_documents:,} | {store.n_bytes / 1e9:.2f} | {found['words']} | {options.topics} | "
        f"{found['wall']:.0f} | {found['cores']:.0f} | {each:.0f} | {found['peak'] / 1e9:.2f} |"
    )
    print(json.dumps({stage: round(value, 1) for stage, value in found["seconds"].items()}))


def cluster(options: argparse.Namespace) -> None:
    """The same fit on clusters of one-thread workers, each of a cluster of its own."""
    print("| workers | documents | seconds | efficiency | of them reading and fingerprint | ", end="")
    print("core-seconds: workers | driver, exact noise | driver, rest |\n|---|---|---|---|---|---|---|---|")
    total, first = CountStore.open(options.store).n_documents, None
    for n in options.workers:
        documents = total * n // max(options.workers) if options.weak else total
        with tempfile.TemporaryDirectory() as folder:
            warm, store = Path(folder) / "warm", Path(folder) / "store"
            copy_first(options.store, WARM, warm)
            if documents == total:
                store = options.store
            else:
                copy_first(options.store, documents, store)
            with running(n) as (scheduler, used):
                told(warm, options, scheduler=scheduler)  # compiles in the workers
                before = used()
                found = told(store, options, scheduler=scheduler)
                workers = used() - before
        first = first or (n, found["wall"])
        efficient = efficiency(first, (n, found["wall"]), options.weak)
        print(
            f"| {n} | {documents:,} | {found['wall']:.1f} | {efficient:.2f} | {found['seconds']['read']:.1f} | "
            f"{workers:.1f} | {found['noise']:.1f} | {found['cores'] - found['noise']:.1f} |",
            flush=True,
        )


def efficiency(first: tuple[int, float], then: tuple[int, float], weak: bool) -> float:
    """Speed for each worker over that of the `first`; both (workers, seconds), `weak` for as much work for each."""
    gain = first[1] / then[1]
    return gain if weak else gain * first[0] / then[0]


def copy_first(store: Path, n_documents: int, destination: Path) -> None:
    """Write the first documents of a store as another."""
    n_words = len(CountStore.open(store).words)
    counts = counts_of(store, n_documents, n_words)
    dplda.Corpus.from_counts(counts, names(n_words), name="planted").write(destination)


def told(store: Path, options: argparse.Namespace, scheduler: str = "", device: str = "cpu") -> dict:
    """What a process that fits the store tells of itself."""
    with tempfile.TemporaryDirectory() as folder:
        given = [store, options.topics, options.words, options.vocabulary, scheduler, device, folder]
        command = [sys.executable, "-c", FIT, *map(str, given)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


@contextmanager
def running(workers: int) -> Iterator[tuple[str, Callable[[], float]]]:
    """A scheduler with as many one-thread workers, in processes: its address, and the workers' core-seconds so far."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        common = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        dask = [sys.executable, "-m"]
        scheduler = [*dask, "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
        processes = [subprocess.Popen([*scheduler, "--scheduler-file", str(file)], **common)]
        try:
            while not file.exists() or not file.read_text():
                time.sleep(0.1)
            address = json.loads(file.read_text())["address"]
            worker = [*dask, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
            processes += [subprocess.Popen([*worker, "--local-directory", folder], **common) for _ in range(workers)]
            yield address, lambda: sum(map(core_seconds, processes[1:]))
        finally:
            for process in processes:
                process.terminate()
                process.wait()


def core_seconds(process: subprocess.Popen) -> float:
    """Processor seconds of a running process and those below it."""
    parent = psutil.Process(process.pid)
    return sum(sum(one.cpu_times()[:2]) for one in [parent, *parent.children(recursive=True)])


if __name__ == "__main__":
    main()
