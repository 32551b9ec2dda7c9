"""Kill a comparison at every step of its second cell and continue it: started by test_killed_comparisons.py.

Steps are the ends and beginnings of what touches disk. Prints one JSON line for each: its number and name, whether the
comparison survived it, and how many cells had ended.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path

from grids import Watching, private_grid
from killing import killed_at

from dplda.budget import ComparisonLog, Ledger, Reservation
from dplda.model import TopicModel
from dplda.private.noise import ExactNoise, SimulatedNoise

STEPS = (
    (ComparisonLog, "begin"),
    (Ledger, "reserve"),
    (Reservation, "bind"),
    (TopicModel, "save"),
    (Reservation, "finish"),
    (ComparisonLog, "end"),
)


def main(folder: Path) -> None:
    """Fork a comparison for every step until one survives; another process continues each."""
    ExactNoise.gaussian = SimulatedNoise(0).gaussian  # type: ignore[assignment]  # fast: noise is tested elsewhere
    witness_in(folder / "first")
    run(folder / "first", epsilons=[0.5])  # the first cell, before forking
    number, survived = 0, False
    while not survived:
        place = shutil.copytree(folder / "first", folder / str(number))
        witness_in(place)
        step, survived = killed_at(number, STEPS, partial(run, place))
        ended = len(Ledger(place / "ledger.db").comparison(key(place)).outcomes())
        killed_at(0, (), partial(run, place))
        print(json.dumps({"number": number, "step": step, "survived": survived, "ended": ended}), flush=True)
        number += 1


def witness_in(folder: Path) -> None:
    """Keep the marks of the ledger in `folder` beside it: copies of a ledger share a key, and would share marks."""
    marks = folder / "witness"
    marks.mkdir(parents=True, exist_ok=True)
    os.environ["DPLDA_WITNESS"] = str(marks)


def key(folder: Path) -> str:
    """The key of the comparison."""
    return private_grid().key(Ledger(folder / "ledger.db"))


def run(folder: Path, **changes: object) -> None:
    """Begin or continue the comparison."""
    folder.mkdir(exist_ok=True)
    grid, ledger = private_grid(**changes), Ledger(folder / "ledger.db")
    log = ledger.comparison(grid.key(ledger)) or grid.begin(ledger)
    grid.run(ledger, log, folder / "models", Watching())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
