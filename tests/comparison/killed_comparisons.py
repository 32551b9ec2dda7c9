"""Kill a comparison at every step of its second cell and continue it: started by test_killed_comparisons.py.

Steps are the ends and beginnings of what touches disk. Prints one JSON line for each: its number and name, whether the
comparison survived it, and how many cells had ended.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from grids import Watching, private_grid

from dplda.ledger import ComparisonLog, Ledger, Reservation
from dplda.model import TopicModel
from dplda.privacy.noise import ExactNoise, SimulatedNoise

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
    ExactNoise.gaussian = SimulatedNoise(0).gaussian  # fast: noise is tested elsewhere
    run(folder / "first", epsilons=[0.5])  # the first cell, before forking
    number, survived = 0, False
    while not survived:
        place = shutil.copytree(folder / "first", folder / str(number))
        step, survived = in_a_child(lambda number=number, place=place: (kill_at(number), run(place)))
        ended = len(Ledger(place / "ledger.db").comparison(key(place)).outcomes())
        in_a_child(lambda place=place: run(place))
        print(json.dumps({"number": number, "step": step, "survived": survived, "ended": ended}), flush=True)
        number += 1


def in_a_child(work: Callable[[], object]) -> tuple[str, bool]:
    """The last step that the child told of, and whether it survived."""
    reader, PIPE[0] = os.pipe()
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    os.close(PIPE[0])
    with os.fdopen(reader) as pipe:
        return pipe.read() or "end", os.waitpid(child, 0)[1] == 0


def key(folder: Path) -> str:
    """The key of the comparison."""
    return private_grid().key(Ledger(folder / "ledger.db"))


def run(folder: Path, **changes: object) -> None:
    """Begin or continue the comparison."""
    folder.mkdir(exist_ok=True)
    grid, ledger = private_grid(**changes), Ledger(folder / "ledger.db")
    log = ledger.comparison(grid.key(ledger)) or grid.begin(ledger)
    grid.run(ledger, log, folder / "models", Watching())


PIPE = [0]


def kill_at(number: int) -> None:
    """Make the `number`-th beginning or end of a step the last thing this process does."""
    seen = 0

    def step(name: str) -> None:
        nonlocal seen
        if seen == number:
            os.write(PIPE[0], name.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    for owner, name in STEPS:
        setattr(owner, name, _wrapped(getattr(owner, name), f"{owner.__name__}.{name}", step))


def _wrapped(original, name, step):
    def call(*args, **kwargs):
        step(f"before {name}")
        answer = original(*args, **kwargs)
        step(f"after {name}")
        return answer

    return call


if __name__ == "__main__":
    main(Path(sys.argv[1]))
