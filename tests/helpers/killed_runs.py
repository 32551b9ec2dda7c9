"""Kill a run at its n-th step, for every n: started by tests/test_kill.py in a process of its own.

Steps are the ends and beginnings of everything that touches disk: reserving, binding, asking, saving, finishing.
Prints one JSON line a run: the step's name and whether the run came to its end.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

from killing import killed_at

import dplda
from dplda.budget import Reservation
from dplda.model import TopicModel
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.runs.corpus import synthetic

WORDS = [f"w{i}" for i in range(12)]
STEPS = (
    (dplda.Ledger, "reserve"),
    (dplda.Corpus, "open"),
    (Reservation, "bind"),
    (Reservation, "charge"),
    (TopicModel, "save"),
    (Reservation, "finish"),
)


def main(folder: Path) -> None:
    """Fork a run for every step until one survives."""
    counts = synthetic(n_documents=300, n_words=12, n_topics=2, mean_length=30, seed=1)[0]
    ExactNoise.gaussian = SimulatedNoise(0).gaussian  # type: ignore[assignment]  # fast: noise is tested elsewhere
    run(counts, folder / "warm")  # compile and calibrate once, before forking
    number, survived = 0, False
    while not survived:
        step, survived = killed_at(number, STEPS, partial(run, counts, folder / str(number)))
        print(json.dumps({"number": number, "step": step, "survived": survived}), flush=True)
        number += 1


def run(counts: object, folder: Path) -> None:
    """One fit with its own ledger and models."""
    folder.mkdir()
    corpus = dplda.Corpus.from_counts(counts, WORDS, name="killed")
    dplda.fit(corpus, n_topics=2, vocabulary=WORDS, ledger=dplda.Ledger(folder / "ledger.db"), models=folder / "models")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
