"""Progress bars, on the terminal only: amounts may depend on private counts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich import progress as bars

from dplda.cli.console import clean, console, say
from dplda.comparison.records import Cell
from dplda.progress import NoProgress, Progress


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
