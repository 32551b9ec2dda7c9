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
from benchmarks.testers import odds, one_run_cells, peers
from benchmarks.testers.cells import Cell

PARTS: dict[str, Callable[[], Iterator[Cell]]] = {"one-run": one_run_cells.cells, "odds": odds.cells}


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
            print(f"{part} is left out: {error}", file=sys.stderr)
    print(markdown(("tester", "version", "fed with", "claim", "found", "verdict"), map(_row, results.read(path))))


def _row(record: Record) -> tuple[str, ...]:
    return tuple(record[name] for name in ("tester", "version", "fed", "claim", "found", "verdict"))
