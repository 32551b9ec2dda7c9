#!/usr/bin/env python
"""How long a private fit takes with each sound placement, and how much memory.

    python scripts/bench_placements.py time --documents 100000 --words 2000 --topics 20

Every fit is a command of its own, `dplda fit` with exact noise and a ledger, on a stored synthetic corpus of documents
of 53 tokens on average whose words count as public. Prints Markdown. Seconds are wall-clock ones with the start of the
process; core-seconds are those of all threads, which other work on the machine disturbs less; memory is the largest
resident set. A fit of a small corpus goes before each, uncounted: it compiles. A placement that tests its data may end
without topics, and says so in the last column. Ledgers and stores are temporary.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dplda
from dplda.corpus import synthetic
from dplda.settings import PLACEMENTS

DPLDA = "from dplda.cli.main import main; raise SystemExit(main())"
ENDINGS = {0: "topics", 4: "test failed"}  # by exit status


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    part = parts.add_parser("time")
    part.add_argument("--documents", type=int, default=100_000)
    part.add_argument("--words", type=int, default=2000)
    part.add_argument("--topics", type=int, default=20)
    part.add_argument("--epsilon", type=float, default=2.0)
    sound = [name for name in PLACEMENTS if name != "none"]
    part.add_argument("--placements", nargs="+", choices=sound, default=sound)
    times(parser.parse_args())


def times(options: argparse.Namespace) -> None:
    """Seconds and memory of a whole fit with each placement."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store(folder / "small", 1000, 50, 5)
        store(folder / "large", options.documents, options.words, options.topics)
        print("| placement | seconds | core-seconds | peak memory, GB | ends with |")
        print("|---|---|---|---|---|")
        for placement in options.placements:
            fitted(folder / "small", placement, 5, options.epsilon)
            wall, cores, memory, status = fitted(folder / "large", placement, options.topics, options.epsilon)
            cells = f"{wall:.1f} | {cores:.1f} | {memory / 1e9:.2f} | {ENDINGS[status]}"
            print(f"| {placement} | {cells} |", flush=True)


def store(folder: Path, documents: int, words: int, topics: int) -> None:
    """A synthetic corpus as `dplda corpus import` stores it, and its words in a list beside it."""
    names = [f"w{i}" for i in range(words)]
    counts = synthetic(documents, words, topics, mean_length=50)[0]
    dplda.Corpus.from_counts(counts, names).write(folder)
    folder.with_suffix(".words").write_text("\n".join(names), encoding="utf-8")


def fitted(corpus: Path, placement: str, topics: int, epsilon: float) -> tuple[float, float, float, int]:
    """Wall-clock seconds, core-seconds, peak memory (bytes) and exit status of one `dplda fit`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", DPLDA, "fit", str(corpus), "--placement", placement]
        command += ["--topics", str(topics), "--epsilon", str(epsilon), "--vocabulary", f"{corpus}.words", "--json"]
        command += ["--ledger", f"{folder}/ledger.db", "--out", f"{folder}/model"]
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        told = child.stderr.read() if child.stderr else ""
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
    if child.returncode not in ENDINGS:
        raise SystemExit(f"the fit with placement {placement} ended with status {child.returncode}: {told}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, child.returncode


if __name__ == "__main__":
    main()
