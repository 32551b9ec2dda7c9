#!/usr/bin/env python
"""Corpora larger than memory, and clusters: seconds, core-seconds and memory of whole private fits.

    python scripts/bench_scale.py make pubmed --documents 8200000 --words 20000 --topics 100
    python scripts/bench_scale.py fit pubmed --topics 20
    python scripts/bench_scale.py cluster pubmed --topics 20 --workers 1 2

`make` draws planted documents a chunk at a time into a prepared store of about 60 distinct words a document. `fit` runs
a private fit of it in a process of its own, whose words are chosen privately, and tells the largest memory it had,
mapped pages of the store aside. `cluster` runs the same fit by --engine dask on workers of one thread each: the whole
store on every number of workers (strong scaling). Prints Markdown; ledgers and models are temporary.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from dplda.corpus.planted import SHORTEST, draw_counts
from dplda.corpus.store import CountStore
from dplda.corpus.writer import StoreWriter
from dplda.text.records import CountedDocuments, document_key

CHUNK = 100_000  # documents drawn at a time
MEAN_LENGTH = 70

FIT = """
import json, os, resource, sys, threading, time
import dplda

store, topics, words, scheduler, folder = sys.argv[1:]
peak, stop = [0], threading.Event()
def watch():
    while not stop.wait(0.05):
        with open("/proc/self/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        peak[0] = max(peak[0], int(lines["RssAnon"].split()[0]))
threading.Thread(target=watch, daemon=True).start()
where = {"engine": "dask", "scheduler": scheduler} if scheduler else {}
start, seconds = time.perf_counter(), {}
model = dplda.fit(dplda.read_corpus(store), n_topics=int(topics), epsilon=2.0, max_vocabulary=int(words),
                  ledger=dplda.Ledger(folder + "/ledger.db"), seconds=seconds, **where)
wall = time.perf_counter() - start
stop.set()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"wall": wall, "cores": used.ru_utime + used.ru_stime, "peak": peak[0] * 1024,
                  "words": len(model.vocabulary), "seconds": seconds}))
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Make or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    for name in ("make", "fit", "cluster"):
        part = parts.add_parser(name)
        part.add_argument("store", type=Path)
        part.add_argument("--topics", type=int, default=100)
        part.add_argument("--words", type=int, default=20_000)
    parts.choices["make"].add_argument("--documents", type=int, default=8_200_000)
    parts.choices["cluster"].add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args(argv)
    {"make": make, "fit": fit, "cluster": cluster}[options.part](options)


def make(options: argparse.Namespace) -> None:
    """Write the store."""
    random = np.random.default_rng(0)
    base = 1.0 / np.arange(1, options.words + 1)
    topics = random.dirichlet(0.05 * options.words * base / base.sum(), size=options.topics)
    names = [f"word{i}" for i in range(options.words)]
    start = time.perf_counter()
    with StoreWriter(options.store, name="planted") as writer:
        for first in range(0, options.documents, CHUNK):
            n = min(CHUNK, options.documents - first)
            proportions = random.dirichlet(np.full(options.topics, 1 / options.topics), size=n)
            counts = draw_counts(random, random.poisson(MEAN_LENGTH, size=n) + SHORTEST, proportions, topics)
            numbers = range(first, first + n)
            writer.append(
                CountedDocuments(
                    words=names,
                    indptr=counts.indptr.astype(np.int64),
                    indices=counts.indices.astype(np.int64),
                    counts=counts.data.astype(np.int64),
                    ids=[str(number) for number in numbers],
                    units=[document_key(number) for number in numbers],
                )
            )
            print(f"{first + n} documents, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def fit(options: argparse.Namespace) -> None:
    """One fit on this machine."""
    print("| documents | store, GB | words | topics | seconds | core-seconds | microseconds a document | memory, GB |")
    print("|---|---|---|---|---|---|---|---|")
    store, found = CountStore.open(options.store), told(options, "")
    each = found["cores"] / store.n_documents * 1e6
    print(
        f"| {store.n_documents:,} | {store.n_bytes / 1e9:.2f} | {found['words']} | {options.topics} | "
        f"{found['wall']:.0f} | {found['cores']:.0f} | {each:.0f} | {found['peak'] / 1e9:.2f} |"
    )
    print(json.dumps({stage: round(value, 1) for stage, value in found["seconds"].items()}))


def cluster(options: argparse.Namespace) -> None:
    """The same fit on clusters of one-thread workers, each of a cluster of its own."""
    print("| workers | seconds | times the speed of the first |\n|---|---|---|")
    first = 0.0
    for n in options.workers:
        with running(n) as scheduler:
            told(options, scheduler)  # compiles in the workers
            wall = told(options, scheduler)["wall"]
        first = first or wall
        print(f"| {n} | {wall:.1f} | {first / wall:.2f} |", flush=True)


def told(options: argparse.Namespace, scheduler: str) -> dict:
    """What a process that fits the store tells of itself."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", FIT, options.store, options.topics, options.words, scheduler, folder]
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


@contextmanager
def running(workers: int) -> Iterator[str]:
    """The address of a scheduler with as many one-thread workers, in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        common = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        dask = [sys.executable, "-m"]
        processes = [
            subprocess.Popen(
                [
                    *dask,
                    "distributed.cli.dask_scheduler",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--scheduler-file",
                    str(file),
                ],
                **common,
            )
        ]
        try:
            while not file.exists() or not file.read_text():
                time.sleep(0.1)
            address = json.loads(file.read_text())["address"]
            worker = [*dask, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
            processes += [subprocess.Popen([*worker, "--local-directory", folder], **common) for _ in range(workers)]
            yield address
        finally:
            for process in processes:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
