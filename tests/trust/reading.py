"""Read one corpus in a process of its own and tell what it took: started by tests/trust/test_hostile_input.py.

Prints one JSON line: seconds, the growth of the largest resident memory in MB, and what came of it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import dplda
from dplda.base.errors import DpldaError
from dplda.private.store.count_store import CountStore


def peak() -> float:
    """Largest resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(corpus: Path, store: Path, options: dict[str, str]) -> dict[str, object]:
    """Read `corpus` into `store`."""
    if corpus.suffix != ".npz":  # which has no text
        from dplda.text.tokenizers import SpacyTokens

        SpacyTokens().words("warm")
    before, since = peak(), time.monotonic()
    try:
        found: CountStore = dplda.read_corpus(corpus, **options).write(store)  # type: ignore[arg-type]
        came = {"documents": found.n_documents, "defects": found.defects, "error": None}
    except DpldaError as error:
        came = {"documents": None, "defects": None, "error": str(error)}
    return {"megabytes": peak() - before, "seconds": time.monotonic() - since, **came}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))))
