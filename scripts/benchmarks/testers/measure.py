"""All testers in turn: what is missing in the results is measured and appended, and the table is printed.

A record holds the tester, what it was fed with, the claim, and what was found. A tester whose package is absent is left
out, with a line that says how to install it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.results import Record
from benchmarks.tables import markdown
from benchmarks.testers import divergences, odds, one_run_cells, peers
from benchmarks.testers.cells import Cell

PARTS: dict[str, Callable[[], Iterator[Cell]]] = {
    "one-run": one_run_cells.cells,
    "odds": odds.cells,
    "divergences": divergences.cells,
}


def measure(path: Path, parts: Sequence[str], folders: Sequence[Path]) -> None:
    """Measure the cells of `parts` that are missing in the results at `path`; packages are looked for in `folders`."""
    peers.use(folders)
    done = [{name: record[name] for name in ("tester", "fed", "claim")} for record in results.read(path)]
    for part in parts:
        try:
            for cell in PARTS[part]():
                if cell.key not in done:
                    results.append(path, cell.key | cell.find())
        except peers.PeerMissing as error:
            print(f"{part}: {error}", file=sys.stderr)
    show(results.read(path))


def show(records: Sequence[Record]) -> None:
    """Print a table for each tester and version."""
    for heading in dict.fromkeys((record["tester"], record["version"]) for record in records):
        rows = [record for record in records if (record["tester"], record["version"]) == heading]
        print("\n**{}** ({})\n".format(*heading))
        columns = ("fed", "claim", "found", "verdict")
        print(markdown(("fed with", *columns[1:]), [[row[column] for column in columns] for row in rows]), end="")
