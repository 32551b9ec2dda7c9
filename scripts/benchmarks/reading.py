"""Reading a CSV file into records, beside the csv module, pandas and, if wanted, an older checkout of dplda.

Two files are made: records of about a kilobyte, a quarter of them with line breaks inside quotation marks, and records
of about a hundred bytes without. All systems read every record and its columns `customer` and `text` as strings; dplda
makes the keys of units too.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import pandas as pd

from benchmarks.measuring import Run, in_turns, spread, timed
from benchmarks.tables import Table
from dplda.runs.sample import sample_documents

READ = """
import sys, time
from pathlib import Path
from dplda.text.records import ReadOptions
from dplda.text.formats import open_source
start = time.perf_counter()
source = open_source(Path(sys.argv[1]), ReadOptions("text", None, "customer"))
print(sum(1 for _ in source.records()), time.perf_counter() - start)
"""  # also runs in older checkouts


def measure(megabytes: float, repeats: int, before: Path | None) -> None:
    """Print a row for each system and file."""
    readers: dict[str, Callable[[Path], Run[int]]] = {
        "dplda": partial(dplda_reads, Path(__file__).resolve().parents[2]),
        "csv.DictReader": lambda path: timed(partial(csv_reads, path)),
        "pandas.read_csv": lambda path: timed(partial(pandas_reads, path)),
    }
    if before:
        readers["dplda, before"] = partial(dplda_reads, before)
    table = Table("records of", "system", "seconds (least to most)", "MB/s", "records")
    with tempfile.TemporaryDirectory() as folder:
        for about, texts in (("1 kB, line breaks", long_texts()), ("0.1 kB", short_texts())):
            path = written(Path(folder) / "table.csv", texts, int(megabytes * 1e6))
            measured = in_turns({name: partial(read, path) for name, read in readers.items()}, repeats)
            for name, runs in measured.items():
                reads = [run.result for run in runs]  # timed by themselves, without the start of a process
                seconds = [read.wall for read in reads]
                rate = f"{megabytes / median(seconds):.0f}"
                table.row(about, name, spread(seconds), rate, f"{reads[0].result:,}")


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


def dplda_reads(checkout: Path, path: Path) -> Run[int]:
    """Read with the code of `checkout`, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve())}
    command = [sys.executable, "-c", READ, str(path)]
    told = subprocess.run(command, env=environment, cwd=checkout, capture_output=True, text=True, check=True).stdout
    records, seconds = told.split()
    return Run(int(records), float(seconds), float("nan"))


def csv_reads(path: Path) -> int:
    """Records with a text, by the csv module."""
    with path.open(newline="", encoding="utf-8") as file:
        return sum(1 for row in csv.DictReader(file) if row["text"] is not None and row["customer"])


def pandas_reads(path: Path) -> int:
    """Records with a text, by pandas."""
    frame = pd.read_csv(path, usecols=["customer", "text"], dtype=str)
    return sum(1 for text, customer in zip(frame["text"], frame["customer"], strict=True) if text and customer)
