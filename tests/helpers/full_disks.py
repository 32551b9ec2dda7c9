"""Fits on disks of growing size: started by tests/test_full_disk.py in a process of its own, since it forks.

No file may grow beyond a limit, which ends writing as a full disk does. Prints one JSON line for each limit: how the
fit ended, and how many questions had been answered.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path

import dplda
from dplda.base.errors import DpldaError
from dplda.budget import Reservation
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.runs.corpus import synthetic

WORDS = [f"w{i}" for i in range(12)]
STEP = 4096


def main(folder: Path) -> None:
    """Fork a fit for every limit until one comes to its end."""
    counts = synthetic(n_documents=300, n_words=12, n_topics=2, mean_length=30, seed=1)[0]
    ExactNoise.gaussian = SimulatedNoise(0).gaussian  # type: ignore[assignment]  # fast: noise is tested elsewhere
    fit(counts, folder / "warm")
    size = (folder / "warm" / "ledger.db").stat().st_size
    limits = [*range(size - 14 * STEP, size + STEP, STEP), 1 << 21]
    for limit in limits:
        print(json.dumps({"limit": limit, **limited(counts, folder / str(limit), limit)}), flush=True)


def fit(counts: object, folder: Path) -> None:
    """One fit with its own ledger and models."""
    folder.mkdir(exist_ok=True)
    corpus = dplda.Corpus.from_counts(counts, WORDS, name="full")
    dplda.fit(corpus, n_topics=2, vocabulary=WORDS, ledger=dplda.Ledger(folder / "ledger.db"), models=folder / "models")


def limited(counts: object, folder: Path, limit: int) -> dict[str, object]:
    """Fit with `limit` bytes for each file, the model's room set aside before; what came of it."""
    folder.mkdir()
    dplda.Ledger(folder / "ledger.db")
    reader, writer = os.pipe()
    if os.fork() == 0:
        answered, message = [], ""
        ask = Reservation.charge
        Reservation.charge = lambda self, event: (ask(self, event), answered.append(event.stage))[0]
        dplda.runs.run.reserve_space = lambda place, _: place.mkdir(parents=True)  # type: ignore[assignment]  # so that it begins at all
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            fit(counts, folder)
        except DpldaError as error:
            message = str(error)
        os.write(writer, json.dumps({"answered": len(answered), "message": message}).encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    with os.fdopen(reader) as pipe:
        return dict(json.loads(pipe.read()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
