"""Kill an import at its n-th step, for every n: started by test_resumed_imports.py in a process of its own.

Steps are the beginnings and ends of all disk operations. Prints one JSON line per import: the step's name and whether
the import finished.
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
import dplda.private.store.count_store
import dplda.private.store.writer
import dplda.text.counted_files

STEPS = (
    (os, "mkdir"),
    (os, "open"),
    (os, "fsync"),
    (os, "rename"),
    (os, "unlink"),
    (os, "rmdir"),
    (dplda.private.store.count_store, "write_atomically"),
    (dplda.private.store.writer, "write_atomically"),
)
BLOCK, CHUNK = 4, 2
KEY = b"k" * 32


def main(corpus: Path, folder: Path) -> None:
    """Fork an import for each step until one survives."""
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
    """Import in small blocks; return the notices."""
    dplda.private.store.writer.BLOCK_DOCUMENTS, dplda.text.counted_files._CHUNK_DOCUMENTS = BLOCK, CHUNK
    dplda.private.store.writer._SHARD_BLOCKS = 1
    notices: list[str] = []
    dplda.read_corpus(corpus).write(store, notice=notices.append, key=KEY)
    return notices


if __name__ == "__main__":
    main(Path(sys.argv[2]), Path(sys.argv[1]))
