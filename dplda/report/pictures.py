"""A report's pictures: bars, heat maps, trees and charts, each with alternative text and a table of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dplda.base.characters import replace_unsafe
from dplda.report.charts import Chart

_LONGEST = 24  # maximum characters of a label in a chart, so that it fits a phone 360 points wide
_PRINTED_COLUMNS = 8  # maximum number of columns of a heat map that prints its numbers
_FLAT_HEADERS = 6  # maximum number of columns, and of characters, of headers that are not turned


@dataclass(frozen=True)
class Table:
    """A table of formatted cells; the first column names the row."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Bar:
    """A row of `Bars`: the lengths of its `parts` one behind the other, and the text of its `value`.

    It may have an `interval`, drawn as a whisker, and a `mark` across it.
    """

    label: str
    parts: tuple[float, ...]
    value: str
    interval: tuple[float, float] | None = None
    mark: float | None = None


@dataclass(frozen=True)
class Bars:
    """Horizontal bars on one scale, which ends at `longest` or, if None, with the longest bar.

    `legend` names the parts of bars that have several.
    """

    rows: Sequence[Bar]
    legend: Sequence[str] = ()
    longest: float | None = None

    kind = "bars"

    def place(self, value: float) -> str:
        """`value` as a share of the scale, for CSS."""
        ends = (
            [self.longest]
            if self.longest is not None
            else [max(math.fsum(bar.parts), *(bar.interval or (0.0,)), bar.mark or 0.0) for bar in self.rows]
        )
        return f"{100 * value / (max(ends, default=0) or 1):.2f}%"


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: its `strength` from 0 to 1 (None if empty), its `text`, and the tooltip `told`."""

    strength: float | None
    text: str
    told: str


@dataclass(frozen=True)
class Heat:
    """A heat map: `cells` by row and column."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]

    kind = "heat"

    @property
    def printed(self) -> bool:
        """Whether there is room for numbers."""
        return len(self.columns) <= _PRINTED_COLUMNS

    @property
    def turned(self) -> bool:
        """Whether the headers of columns need to be turned to fit."""
        return len(self.columns) > _FLAT_HEADERS or max(map(len, self.columns), default=0) > _FLAT_HEADERS


@dataclass(frozen=True)
class TreeRow:
    """A leaf of a `Tree`, or the heading of a group of leaves."""

    label: str
    value: str
    heading: bool = False


@dataclass(frozen=True)
class Tree:
    """A dendrogram beside its `rows`; `paths` are SVG's, with x from 0, the root, to 100, and y in rows."""

    rows: Sequence[TreeRow]
    paths: Sequence[str]

    kind = "tree"


@dataclass(frozen=True)
class Picture:
    """A drawing; `name` is its id on the page, `alt` describes it, and `note` says how to read it.

    Bars that print their numbers need no `table` of them.
    `definition` says for specialists, beside the table, how its numbers are computed.
    """

    name: str
    title: str
    alt: str
    note: str
    drawing: Bars | Heat | Tree | Chart
    table: Table | None = None
    definition: str = ""


def shown(text: object) -> str:
    """`text` with control, direction and surrogate characters replaced."""
    return replace_unsafe(str(text))


def shortened(text: object, longest: int = _LONGEST) -> str:
    """`text` as `shown`, cut to `longest` characters, between words."""
    plain = shown(text)
    return _cut(plain, longest) if len(plain) > longest else plain


def _cut(text: str, longest: int) -> str:
    """`text` cut to `longest` characters: behind its last whole word, or inside a word that takes most of the room."""
    kept, following = text[: longest - 1], text[longest - 1]
    space = kept.rfind(" ")
    whole = kept if following in " ," else kept[:space]
    if following not in " ," and space < longest // 3:
        return kept + "…"
    words = whole.rstrip(" ,")
    return f"{words} …" if len(words) < longest - 1 else f"{words}…"


def percent(value: float, *, upwards: bool = False) -> str:
    """`value` as a percentage with one decimal; round bounds `upwards`, so that the text is a valid bound."""
    scaled = math.ceil(value * 1000 - 1e-9) / 10 if upwards else value * 100
    return f"{scaled:.1f}%"


def with_interval(value: float, low: float, high: float) -> str:
    """A share with its interval, such as ``3.5% (3.1% to 4.0%)``."""
    return f"{percent(value)} ({percent(low)} to {percent(high)})"


def number(value: float | None) -> str:
    """`value` with four significant digits, or a dash for None."""
    return "–" if value is None else f"{value:.4g}"
