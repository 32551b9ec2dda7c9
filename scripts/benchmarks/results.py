"""Results that a long measurement appends to a file of JSON lines, so that it can be interrupted and continued."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

Record = dict[str, Any]


def read(path: Path) -> list[Record]:
    """All records in the file, none if there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def append(path: Path, record: Record) -> None:
    """Write one record behind the others."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def fill(path: Path, names: Sequence[str], wanted: Iterable[Record], measure: Callable[[Record], Record]) -> None:
    """Measure each of the `wanted` records that is not in the file yet, by the fields `names`, and append it."""
    done = {tuple(record[name] for name in names) for record in read(path)}
    for record in wanted:
        if tuple(record[name] for name in names) not in done:
            measured = record | measure(record)
            append(path, measured)
            click.echo(json.dumps(measured), err=True)
