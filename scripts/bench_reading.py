#!/usr/bin/env python
"""Reading a CSV file into records beside the csv module and pandas, in one run: median seconds of several, in turns.

    python scripts/bench_reading.py --megabytes 200 --before ../an-older-checkout

Two files are made: records of about a kilobyte, a quarter of them with line breaks inside quotation marks, and records
of about a hundred bytes without. All systems read every record and its columns `customer` and `text` as strings; dplda
makes the keys of units too. An older checkout, if one is named, reads with its own code. Prints Markdown rows.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pandas as pd

from dplda.corpus.sample import sample_documents

READ = """
import sys, time
from pathlib import Path
from dplda.text.columns import ReadOptions
from dplda.text.formats import open_source
start = time.perf_counter()
source = open_source(Path(sys.argv[1]), ReadOptions("text", None, "customer"))
print(sum(1 for _ in source.records()), time.perf_counter() - start)
"""
Times = tuple[int, float]  # records and seconds


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--before", type=Path, help="an older checkout of dplda")
    options = parser.parse_args(arguments)
    systems: dict[str, Callable[[Path], Times]] = {
        "dplda": partial(dplda_reads, Path(__file__).parents[1]),
        "csv.DictReader": partial(timed, csv_reads),
        "pandas.read_csv": partial(timed, pandas_reads),
    }
    if options.before:
        systems["dplda, before"] = partial(dplda_reads, options.before)
    print("| records of | system | seconds (least to most) | MB/s | records |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for about, texts in (("1 kB, line breaks", long_texts()), ("0.1 kB", short_texts())):
            path = written(Path(folder) / "table.csv", texts, int(options.megabytes * 1e6))
            seconds: dict[str, list[float]] = {name: [] for name in systems}
            records = {}
            for _ in range(options.repeats):
                for name, read in systems.items():
                    records[name], spent = read(path)
                    seconds[name].append(spent)
            for name, times in seconds.items():
                median = statistics.median(times)
                spread = f"{median:.1f} ({min(times):.1f} to {max(times):.1f})"
                print(
                    f"| {about} | {name} | {spread} | {options.megabytes / median:.0f} | {records[name]:,} |",
                    flush=True,
                )


def long_texts() -> Iterator[str]:
    """Texts of about a kilobyte, every fourth in lines."""
    documents = [document["text"] for document in sample_documents(4000, 100, seed=0)]
    for number in count():
        some = [documents[(3 * number + place) % len(documents)] for place in range(3)]
        yield ("\n" if number % 4 == 0 else " ").join(some)


def short_texts() -> Iterator[str]:
    """Texts of about ninety bytes."""
    documents = [document["text"][:90] for document in sample_documents(4000, 100, seed=0)]
    for number in count():
        yield documents[number % len(documents)]


def written(path: Path, texts: Iterator[str], size: int) -> Path:
    """A CSV file of about `size` bytes."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "customer", "date", "text"])
        for number, text in enumerate(texts):
            writer.writerow([number, f"customer {number // 5}", "2026-01-01", text])
            if number % 1000 == 0 and file.tell() >= size:
                break
    return path


def dplda_reads(checkout: Path, path: Path) -> Times:
    """Read with the code of `checkout`, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve())}
    command = [sys.executable, "-c", READ, str(path)]
    told = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, check=True).stdout
    records, seconds = told.split()
    return int(records), float(seconds)


def timed(read: Callable[[Path], int], path: Path) -> Times:
    """What `read` counts, and the seconds that it took."""
    start = time.perf_counter()
    return read(path), time.perf_counter() - start


def csv_reads(path: Path) -> int:
    """Records with a text, by the csv module."""
    with path.open(newline="", encoding="utf-8") as file:
        return sum(1 for row in csv.DictReader(file) if row["text"] is not None and row["customer"])


def pandas_reads(path: Path) -> int:
    """Records with a text, by pandas."""
    frame = pd.read_csv(path, usecols=["customer", "text"], dtype=str)
    return sum(1 for text, customer in zip(frame["text"], frame["customer"], strict=True) if text and customer)


if __name__ == "__main__":
    main()
