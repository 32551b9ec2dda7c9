"""Markdown tables: whole ones as text, and ones that are printed row by row as measurements end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as text."""
    return "".join(f"{_line(cells)}\n" for cells in (columns, ["---"] * len(columns), *rows))


class Table:
    """A table on standard output; its header is printed at once."""

    def __init__(self, *columns: str) -> None:
        print(markdown(columns, []), end="", flush=True)

    def row(self, *cells: object) -> None:
        """Print one row."""
        print(_line(cells), flush=True)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
