"""Printing: for people through rich, for programs as one JSON object; hostile words never reach the terminal raw.

Progress bars are on the terminal only: amounts may depend on private counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dplda.characters import remove_unsafe
from dplda.progress import NoProgress, Progress

if TYPE_CHECKING:
    from dplda.ledger.comparisons import Cell

_PIPE_WIDTH = 120


def clean(text: object) -> str:
    """`text` without control, direction and surrogate characters."""
    return remove_unsafe(str(text))


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


class Bars:
    """One progress bar for the present stage; finished stages stay above it with their times."""

    def __init__(self, shown: bars.Progress) -> None:
        self._shown = shown
        self._task: bars.TaskID | None = None

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin `stage`, of `total` units of work if known; ends the stage before."""
        self.end()
        self._task = self._shown.add_task(clean(stage), total=total)

    def advance(self, amount: int = 1) -> None:
        """Report `amount` more units of work done."""
        if self._task is not None:
            self._shown.advance(self._task, amount)

    def end(self) -> None:
        """Fill the bar of the present stage and stop its clock."""
        if self._task is not None:
            done = self._shown.tasks[-1].completed or 1
            self._shown.update(self._task, total=done, completed=done)
            self._shown.stop_task(self._task)


class Lines:
    """Prints each stage's name once, without amounts, for logs."""

    def __init__(self) -> None:
        self._stage = ""

    def start(self, stage: str, total: int | None = None) -> None:
        """Print the name of `stage`, unless it is another round of the same."""
        if stage != self._stage:
            say(f"{stage} ...", error=True)
        self._stage = stage

    def advance(self, amount: int = 1) -> None:
        """Ignore."""


class GridBars:
    """One bar for the cells of a comparison, and one for the present stage of the present cell."""

    def __init__(self, shown: bars.Progress) -> None:
        self._shown = shown
        self._cells = shown.add_task("cells", total=None)
        self._stage = shown.add_task("", total=None)
        self._cell = ""

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Begin `cell`, the `number`-th of `total`."""
        self._cell = str(cell)
        self._shown.update(self._cells, total=total, completed=number - 1)

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin `stage`, of `total` units of work if known; ends the stage before."""
        self._shown.remove_task(self._stage)
        self._stage = self._shown.add_task(clean(f"{self._cell}: {stage}"), total=total)

    def advance(self, amount: int = 1) -> None:
        """Report `amount` more units of work done."""
        self._shown.advance(self._stage, amount)


class GridLines(NoProgress):
    """Prints each cell's name once, without amounts, for logs."""

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Print the name of `cell`."""
        say(f"cell {number} of {total}: {cell} ...", error=True)


class GridSilent(NoProgress):
    """Prints nothing."""

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Ignore."""


@contextmanager
def following(*, quiet: bool) -> Iterator[Progress]:
    """Progress for the time of a command: bars on a terminal, names in a log, nothing if `quiet`."""
    if quiet:
        yield NoProgress()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        with bars.Progress(*_columns(), console=console(error=True), transient=True) as shown:
            follower = Bars(shown)
            yield follower
            follower.end()


@contextmanager
def following_grid(*, quiet: bool) -> Iterator[GridBars | GridLines | GridSilent]:
    """The same for a comparison: cells and their stages."""
    if quiet:
        yield GridSilent()
    elif not sys.stderr.isatty():
        yield GridLines()
    else:
        with bars.Progress(*_columns(), console=console(error=True), transient=True) as shown:
            yield GridBars(shown)


def _columns() -> tuple[bars.ProgressColumn, ...]:
    return (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
    )
