"""Kill an import at its n-th step, for every n: started by tests/test_resumed_imports.py in a process of its own.

Steps are the ends and beginnings of everything that touches disk. Prints one JSON line an import: the step's name and
whether the import came to its end.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path

from killing import killed_at

import dplda
import dplda.readers.counted_files
import dplda.store.partial_store
import dplda.store.shards
import dplda.store.writer

STEPS = (
    (os, "mkdir"),
    (os, "open"),
    (os, "fsync"),
    (os, "rename"),
    (os, "unlink"),
    (os, "rmdir"),
    (dplda.store.shards, "write_atomically"),
    (dplda.store.partial_store, "write_atomically"),
)
BLOCK, CHUNK = 4, 2
KEY = b"k" * 32


def main(corpus: Path, folder: Path) -> None:
    """Fork an import for every step until one survives."""
    take(corpus, folder / "warm")  # compile and import once, before forking
    number, survived = 0, False
    while not survived:
        place = folder / str(number)
        place.mkdir(parents=True)
        shutil.copy2(corpus, place / corpus.name)
        step, survived = killed_at(number, STEPS, partial(take, place / corpus.name, place / "store"))
        print(json.dumps({"number": number, "step": step, "survived": survived}), flush=True)
        number += 1


def take(corpus: Path, store: Path) -> list[str]:
    """One import in small blocks; what was told meanwhile."""
    dplda.store.writer.BLOCK_DOCUMENTS, dplda.readers.counted_files.CHUNK_DOCUMENTS = BLOCK, CHUNK
    dplda.store.writer._SHARD_BLOCKS = 1
    told: list[str] = []
    dplda.read_corpus(corpus).write(store, notice=told.append, key=KEY)
    return told


if __name__ == "__main__":
    main(Path(sys.argv[2]), Path(sys.argv[1]))
