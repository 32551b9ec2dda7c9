"""Output: rich text for people, one JSON object for programs, and progress. Unsafe characters are removed.

Only a terminal shows progress bars, because amounts of work may depend on private counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dplda.base.characters import remove_unsafe
from dplda.base.errors import InputError
from dplda.base.progress import NoProgress, Progress
from dplda.model.topic_model import write_atomically

if TYPE_CHECKING:
    from dplda.budget.comparisons import Cell

_PIPE_WIDTH = 120
_AMOUNTS = {  # what the amounts of a stage count, else units
    "read": "documents",
    "compile kernels, once": "kernels",
    "write texts": "texts",
}


def clean(text: object) -> str:
    """Remove control, direction and surrogate characters from `text`."""
    return remove_unsafe(str(text))


def _console(*, error: bool = False) -> Console:
    """Return a console on the current standard output or standard error; it interprets no markup."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def say(text: str, *, error: bool = False, style: str | None = None) -> None:
    """Print one line for people, without wrapping."""
    _console(error=error).print(Text(clean(text)), style=style, soft_wrap=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, wide: str | Sequence[str] = ()) -> None:
    """Print a table; only the columns `wide` wrap."""
    wrapped = (wide,) if isinstance(wide, str) else wide
    grid = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for column in columns:
        grid.add_column(column, no_wrap=column not in wrapped, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    _console().print(grid)


def print_json(record: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Print the JSON of a ``--json`` command, in ASCII for any terminal or pipe."""
    click.echo(json.dumps(record, allow_nan=False))


def confirm(question: str, *, otherwise: str) -> None:
    """Ask `question` on standard error and abort unless the answer is yes; without a terminal, advise `otherwise`."""
    if not sys.stdin.isatty():
        raise InputError(f"cannot ask for confirmation without a terminal: {otherwise}")
    click.confirm(question, abort=True, err=True)


def private_notes(lines: Sequence[str]) -> None:
    """Print local diagnostics on standard error: exact facts about the documents, not for publication."""
    if not lines:
        return
    say("Local diagnostics (exact, not private, not for publication):", error=True, style="yellow")
    for line in lines:
        say(f"  {line}", error=True)


WORKED = "dplda.worked"  # in the `meta` of a command's context, once what it follows has come to its end


@contextmanager
def following(*, quiet: bool) -> Iterator[Progress]:
    """Show the progress of a command: bars on a terminal, stage names in a log, nothing if `quiet`."""
    if quiet:
        yield NoProgress()
    elif not sys.stderr.isatty():
        yield _Lines()
    else:
        with _display() as display:
            reporter = _Bars(display)
            yield reporter
            reporter.end()
    if (context := click.get_current_context(silent=True)) is not None:
        context.meta[WORKED] = True


@contextmanager
def following_grid(*, quiet: bool) -> Iterator[_GridBars | _GridSilent]:
    """Show the progress of a comparison: bars on a terminal, cell names in a log, nothing if `quiet`."""
    if quiet:
        yield _GridSilent()
    elif not sys.stderr.isatty():
        yield _GridLines()
    else:
        with _display() as display:
            yield _GridBars(display)


def _display() -> bars.Progress:
    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TextColumn("{task.fields[amount]}", markup=False),
        bars.TimeElapsedColumn(),
        _TimeLeft(),
    )
    return bars.Progress(*columns, console=_console(error=True), transient=True)


class _TimeLeft(bars.TimeRemainingColumn):
    """The time left, followed by "left"; empty while it is unknown and after the end."""

    def render(self, task: bars.Task) -> Text:
        """See rich."""
        known = not task.finished and task.time_remaining is not None
        return Text.assemble(super().render(task), " left") if known else Text("")


class _Bars:
    """A progress bar for the current stage; finished stages stay above it with their times."""

    def __init__(self, display: bars.Progress) -> None:
        self._display = display
        self._cell = ""  # the cell of a comparison, whose finished stages do not stay
        self._task: bars.TaskID | None = None
        self._stage, self._total, self._done = "", 0, 0

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin `stage`, of `total` units of work if known; ends the previous stage, or replaces one of this name."""
        if self._task is not None and (self._cell or stage == self._stage):
            self._display.remove_task(self._task)
        else:
            self.end()
        self._stage, self._total, self._done = stage, total or 0, 0
        text = f"{self._cell}: {stage}" if self._cell else stage
        self._task = self._display.add_task(clean(text), total=total, amount="")

    def advance(self, amount: int = 1) -> None:
        """Report `amount` more units of finished work."""
        self._done += amount
        if self._task is None or not self._done:
            return
        of = f" of {self._total:,}" if self._total else ""
        self._display.update(self._task, amount=f"{self._done:,}{of} {_AMOUNTS.get(self._stage, 'units')}")
        if self._total:
            self._display.update(self._task, completed=self._done)

    def estimate(self, share: float) -> None:
        """Report that about this share of the stage is finished; for a stage whose total is unknown."""
        if self._task is not None and not self._total:
            self._display.update(self._task, total=1.0, completed=share)

    def end(self) -> None:
        """Fill the bar of the current stage and stop its clock."""
        if self._task is not None:
            self._display.update(self._task, total=1.0, completed=1.0)
            self._display.stop_task(self._task)


class _Lines(NoProgress):
    """Prints each stage's name once, without amounts, for logs."""

    def __init__(self) -> None:
        self._stage = ""

    def start(self, stage: str, total: int | None = None) -> None:
        """Print the name of `stage`, unless it is the previous one again."""
        if stage != self._stage:
            say(f"{stage} ...", error=True)
        self._stage = stage


class _GridBars(_Bars):
    """One bar for the cells of a comparison, and one for the current stage of the current cell."""

    def __init__(self, display: bars.Progress) -> None:
        self._cells = display.add_task("cells", total=None, amount="")
        super().__init__(display)

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Begin `cell`, the `number`-th of `total`."""
        self._cell = str(cell)
        self._display.update(self._cells, total=total, completed=number - 1)


class _GridSilent(NoProgress):
    """Prints nothing."""

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Ignore."""


class _GridLines(_GridSilent):
    """Prints each cell's name once, without amounts, for logs."""

    def cell(self, cell: Cell, number: int, total: int) -> None:
        """Print the name of `cell`."""
        say(f"cell {number} of {total}: {cell} ...", error=True)


def write_file(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write a new file, whole or not at all. Raises `InputError` if it cannot be written."""
    try:
        write_atomically(path, content.encode() if isinstance(content, str) else content, mode)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None
