"""Printing: for people through rich, for programs as one JSON object; hostile words never reach the terminal raw."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Characters that make a terminal do something, and those that reorder the text around them.
_DIRECTING = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_STRIPPED = dict.fromkeys((*range(32), *range(127, 160), *range(0xD800, 0xE000), *_DIRECTING))
_PIPE_WIDTH = 120


def clean(text: object) -> str:
    """`text` without control, direction and surrogate characters."""
    return str(text).translate(_STRIPPED)


def console(*, error: bool = False) -> Console:
    """A console on the present standard output, or standard error; it takes no markup."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def say(text: str, *, error: bool = False, style: str | None = None) -> None:
    """Print one line for a person, unwrapped."""
    console(error=error).print(Text(clean(text)), style=style, soft_wrap=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, wide: str = "") -> None:
    """Print a table; all columns but `wide` keep to one line."""
    grid = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for column in columns:
        grid.add_column(column, no_wrap=column != wide, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    console().print(grid)


def print_json(record: Mapping[str, Any]) -> None:
    """Print the one JSON object of a ``--json`` command; ASCII, so that any terminal and pipe can take it."""
    click.echo(json.dumps(record, allow_nan=False))


def private_notes(lines: Sequence[str]) -> None:
    """Print local diagnostics on standard error: exact facts about the documents, not for publication."""
    if not lines:
        return
    say("Local diagnostics (exact, not private, not for publication):", error=True, style="yellow")
    for line in lines:
        say(f"  {line}", error=True)
