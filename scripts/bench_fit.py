#!/usr/bin/env python
"""The main job beside its peers, in one run: seconds, coherence and diversity of the topics.

    python scripts/bench_fit.py reviews.jsonl.gz --text-field text --topics 20 --epsilon 2 --repeats 3

`dplda` starts from raw text and from the prepared store; tomotopy and gensim, which protect nobody, get the same
counts over the words that dplda released. Prints Markdown rows; ledger, cache and models are temporary.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import dplda
from dplda.comparison.measures import diversity, npmi
from dplda.model import counts_for


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--text-field")
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=200, help="Gibbs sweeps of tomotopy")
    parser.add_argument("--passes", type=int, default=5, help="passes of gensim's LdaMulticore")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    print("| system | private | NPMI@10 | diversity | seconds | peak memory |\n|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DPLDA_CACHE"] = f"{folder}/cache"
        runs = [fit(options, Path(folder) / f"model{n}") for n in range(options.repeats)]
        model = dplda.load(runs[0]["model"])
        reading = {"text_field": options.text_field} if options.text_field else {}
        counts = counts_for(model, dplda.read_corpus(options.corpus, **reading).open())[0]
        scores = [measure(dplda.load(run["model"]).topics, run["model"], options, reading) for run in runs]
        coherence, distinct = np.mean(scores, axis=0)
        spread = np.std([score[0] for score in scores])
        memory = max(run["megabytes"] for run in runs)
        told = f"| epsilon {options.epsilon:g} | {coherence:.3f} ± {spread:.3f} | {distinct:.2f} |"
        print(f"| dplda, from raw text {told} {runs[0]['wall']:.0f} | {memory:.0f} MB |", flush=True)
        again = statistics.median(run["wall"] for run in runs[1:]) if runs[1:] else float("nan")
        print(f"| dplda, prepared store (median of {len(runs) - 1}) {told} {again:.0f} | |", flush=True)
        if not options.no_peers:
            for name, topics, seconds in peers(counts, options):
                row = f"{npmi(topics, counts).mean():.3f} | {diversity(topics):.2f} | {seconds:.0f}"
                print(f"| {name} | no | {row} | |", flush=True)


def fit(options: argparse.Namespace, out: Path) -> dict:
    """One run of the command, as a whole process."""
    field = ["--text-field", options.text_field] if options.text_field else []
    command = [sys.executable, "-c", "import sys; from dplda.cli.main import main; sys.exit(main())"]
    command += ["fit", options.corpus, *field, "--topics", str(options.topics), "--epsilon", str(options.epsilon)]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--out", str(out), "--ledger", f"{out}.db", "--json"], capture_output=True, text=True, check=True
    )
    wall = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return json.loads(done.stdout) | {"model": str(out), "wall": wall, "megabytes": peak}


def measure(topics: np.ndarray, folder: str, options: argparse.Namespace, reading: dict) -> tuple[float, float]:
    """Mean NPMI and diversity of one saved model on its own words."""
    counts = counts_for(dplda.load(folder), dplda.read_corpus(options.corpus, **reading).open())[0]
    return float(npmi(topics, counts).mean()), diversity(topics)


def peers(counts, options):
    """(name, topics, seconds) of the peers on `counts`."""
    import tomotopy
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaMulticore

    start = time.perf_counter()
    model = tomotopy.LDAModel(k=options.topics, seed=1)
    for first, last in itertools.pairwise(counts.indptr):
        if last > first:
            words = np.repeat(counts.indices[first:last], counts.data[first:last].astype(int))
            model.add_doc([str(word) for word in words])
    model.train(options.sweeps, workers=os.cpu_count() or 1)
    topics = np.zeros((options.topics, counts.shape[1]))
    topics[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in range(options.topics)]
    yield f"tomotopy, {options.sweeps} Gibbs sweeps", topics, time.perf_counter() - start
    start = time.perf_counter()
    corpus = Sparse2Corpus(counts, documents_columns=False)
    names = {i: str(i) for i in range(counts.shape[1])}
    workers = max((os.cpu_count() or 2) - 1, 1)
    other = LdaMulticore(corpus, options.topics, names, passes=options.passes, workers=workers, random_state=1)
    yield f"gensim LdaMulticore, {options.passes} passes", other.get_topics(), time.perf_counter() - start


if __name__ == "__main__":
    main()
