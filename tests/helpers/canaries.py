"""Documents full of canaries: strings that stand nowhere else, so that wherever one is found it got out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

MARK = "zqxjkvwzqx"  # begins every canary; in no word, name or message of the program
COMMON = [f"common{letter}" for letter in "abcdefghijklmnopqrstuvwx"]
SECRET = f"{MARK}secret said in confidence"


def canary(random: np.random.Generator) -> str:
    """A word that nobody else says."""
    return MARK + "".join(random.choice(list("abcdefghij"), 9))


def record(random: np.random.Generator) -> dict[str, object]:
    """A document in which everything private is a canary."""
    shared = random.choice(COMMON, 10, replace=False).tolist()
    own = [canary(random) for _ in range(3)]
    text = " ".join([*shared, *own, *shared])
    return {"text": text, "patient": canary(random), "id": canary(random), canary(random): canary(random)}


def documents(number: int, seed: int = 0) -> bytes:
    """JSON lines of `number` documents and one malformed line."""
    random = np.random.default_rng(seed)
    lines = [json.dumps(record(random)) for _ in range(number)]
    return "\n".join([*lines, f'{{"text": "{SECRET}']).encode() + b"\n"


def write_corpora(folder: Path) -> None:
    """Write documents in several formats, some of which fail late or at once."""
    random = np.random.default_rng(1)
    (folder / "notes.jsonl").write_bytes(documents(1200))
    (folder / "headless.csv").write_text("".join(f"{canary(random)} {SECRET},{canary(random)}\n" for _ in range(9)))
    late = [*(f'{canary(random)},"{" ".join(random.choice(COMMON, 9))}"' for _ in range(1500)), f'x,"{SECRET}', SECRET]
    (folder / "late.csv").write_text("\n".join(["id,text", *late]))
    (folder / "files").mkdir()
    for _ in range(20):
        (folder / "files" / f"{canary(random)}.txt").write_text(str(record(random)["text"]))
    (folder / "words").write_text("\n".join(COMMON))


def holds_canary(content: bytes) -> bool:
    """Whether a canary is in `content`, in any of the encodings that programs write."""
    lower = content.lower()
    return any(MARK.encode(encoding) in lower for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le"))
