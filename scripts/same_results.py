"""Compare two checkouts: do seeded runs give the same arrays, to the last bit?

    python scripts/same_results.py PATH [--write DIGESTS.json]

Fits a planted corpus with every placement and calibration, a public and a private vocabulary, units of one document
and of several, and reads, counts and stores text, with the code of this checkout and with that of PATH. Prints the
cases that differ and exits with 1 if any does. No run is private and no ledger is written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
TOPICS, WORDS, DOCUMENTS = 3, 60, 3000


def digest(*values: Any) -> str:
    """A digest of arrays, texts and numbers, by their bits."""
    import numpy as np

    found = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        found.update(repr((array.dtype.str, array.shape)).encode() + array.tobytes())
    return found.hexdigest()[:16]


def of_model(model: Any) -> str:
    """A digest of what was learned, and of what it cost: of the events all but their names."""
    events = [(e.mechanism, e.noise_multiplier, e.epsilon, e.delta, e.count) for e in model.privacy.events]
    return digest(
        model.topics, model.prevalence, model.alpha, "\n".join(model.vocabulary), repr(events), model.privacy.epsilon
    )


def fits() -> Iterator[tuple[str, str]]:
    """Every placement, calibration, vocabulary, unit and adjacency with its model's digest."""
    import numpy as np

    import dplda
    from dplda.base.errors import DpldaError
    from dplda.learning.placements import registry
    from dplda.runs.corpus import synthetic

    counts = synthetic(n_documents=DOCUMENTS, n_words=WORDS, n_topics=TOPICS, mean_length=60, seed=1)[0]
    words = [f"w{number:02}" for number in range(WORDS)]
    people = np.arange(DOCUMENTS) // 3
    placements = [(name, kind) for kind in registry.CALIBRATIONS for name in registry.names(kind)]
    for placement, calibration in placements:
        for public in (True, False):
            for unit in ("document", "person"):
                for adjacency in ("add-remove", "replace"):
                    units: dict[str, Any] = {} if unit == "document" else {"units": people, "unit": "person"}
                    corpus = dplda.Corpus.from_counts(counts, words, **units)
                    case = f"{placement} {calibration} {'public' if public else 'private'} {unit} {adjacency}"
                    try:
                        model = dplda.fit(
                            corpus,
                            n_topics=TOPICS,
                            epsilon=6.0,
                            placement=placement,
                            calibration=calibration,
                            vocabulary=words if public else None,
                            adjacency=adjacency,
                            max_document_frequency=1.0,
                            simulate_seed=7,
                            ledger=False,
                        )
                    except DpldaError as error:
                        yield case, f"{type(error).__name__}: {error}"
                    else:
                        yield case, of_model(model)


def texts() -> Iterator[tuple[str, str]]:
    """Text through either tokenizer, and what a fit finds in it."""
    import numpy as np

    import dplda
    from dplda.base.errors import DpldaError

    rng = np.random.default_rng(0)
    pool = [f"{a}{b}ing" for a in "bcdfgh" for b in ("ard", "oat", "und", "ill")]
    lines = [
        {"text": " ".join(rng.choice(pool[(number % 2) * 12 :][:12], 30)), "who": int(number % 500)}
        for number in range(1500)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)))
        for tokenizer in ("spacy", "fast"):
            for unit_field in (None, "who"):
                corpus = dplda.read_corpus(path, unit_field=unit_field, tokenizer=tokenizer, cache=Path(folder) / "c")
                try:
                    model = dplda.fit(
                        corpus,
                        n_topics=2,
                        epsilon=8.0,
                        max_document_frequency=1.0,
                        words="private",
                        simulate_seed=3,
                        ledger=False,
                    )
                except DpldaError as error:
                    yield f"text {tokenizer} {unit_field}", f"{type(error).__name__}: {error}"
                else:
                    yield f"text {tokenizer} {unit_field}", of_model(model)


def digests_of(checkout: Path) -> dict[str, str]:
    """The digests of all cases by the code in `checkout`, from a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--digests"]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(checkout)}, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    used = found.pop("code")
    if Path(used).parents[1] != checkout.resolve():
        raise SystemExit(f"Python took dplda from {used}, not from {checkout}.")
    return found


def main() -> int:
    """Compare and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", nargs="?", type=Path, help="another checkout, or the digests that --write wrote")
    parser.add_argument("--write", type=Path, help="keep the other checkout's digests in this file")
    parser.add_argument("--digests", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.digests:
        import dplda

        print(json.dumps({"code": dplda.__file__, **dict(fits()), **dict(texts())}))
        return 0
    if arguments.other is None:
        parser.error("name another checkout")
    other = json.loads(arguments.other.read_text()) if arguments.other.is_file() else digests_of(arguments.other)
    if arguments.write:
        arguments.write.write_text(json.dumps(other, indent=1))
    mine = digests_of(HERE)
    differing = [case for case in {**mine, **other} if mine.get(case) != other.get(case)]
    for case in differing:
        print(f"{case}: {other.get(case)} there, {mine.get(case)} here")
    print(f"{len(mine)} cases, {len(differing)} differ.")
    return bool(differing)


if __name__ == "__main__":
    raise SystemExit(main())
