"""Many fits at once, each in a process of its own: started by tests/test_many_fits.py.

Told a folder, how many fits, and names of datasets, which take turns. Prints one JSON line with the exit of each:
`done`, or the name of the error that ended it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import dplda
from dplda.base.errors import DpldaError
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.runs.corpus import synthetic

WORDS = [f"w{i}" for i in range(12)]
EPSILON = 4.0  # of one run: two of them fit into the first grant of epsilon 10, three do not


def main(folder: Path, fits: int, names: list[str]) -> None:
    """Fork the fits when everything is compiled and calibrated, and let them begin together."""
    counts = synthetic(n_documents=300, n_words=12, n_topics=2, mean_length=30, seed=1)[0]
    ExactNoise.gaussian = SimulatedNoise(0).gaussian  # type: ignore[assignment]  # fast: noise is tested elsewhere
    fit(counts, folder / "warm.db", "warm")
    reader, writer = os.pipe()
    children = {_forked(counts, folder / "ledger.db", names[i % len(names)], reader, writer): i for i in range(fits)}
    os.close(reader)
    os.close(writer)  # every child reads the end of the pipe now
    exits = [""] * fits
    for _ in range(fits):
        child, status = os.wait()
        exits[children[child]] = EXITS[os.waitstatus_to_exitcode(status)]
    print(json.dumps(exits))


EXITS = {0: "done", 2: "LedgerError", 3: "BudgetRefused"}


def fit(counts: object, ledger: Path, name: str) -> None:
    """One fit of the corpus under the dataset's name."""
    corpus = dplda.Corpus.from_counts(counts, WORDS, name=name)
    dplda.fit(corpus, n_topics=2, epsilon=EPSILON, vocabulary=WORDS, ledger=dplda.Ledger(ledger))


def _forked(counts: object, ledger: Path, name: str, reader: int, writer: int) -> int:
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        try:
            fit(counts, ledger, name)
        except DpldaError as error:
            os._exit(error.exit_code)
        os._exit(0)
    return child


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(","))
