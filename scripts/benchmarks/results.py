"""Results that a long measurement appends to a file of JSON lines, so that it can be interrupted and continued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def read(path: Path) -> list[Record]:
    """All records in the file, none if there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def append(path: Path, record: Record) -> None:
    """Write one record behind the others."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
