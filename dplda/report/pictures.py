"""A report's pictures: bars, heat maps, trees and charts, each with alternative text and a table of numbers.

The page's templates draw all of them but charts. matplotlib draws a chart as SVG, for a wide page and for a phone. Its
text stays text, and its colours come from the page's style, so that they follow the page's theme.
"""

from __future__ import annotations

import logging
import math
import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from markupsafe import Markup

from dplda.base.characters import replace_unsafe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LONGEST = 24  # maximum characters of a label in a chart, so that it fits a phone 360 points wide
_PRINTED_COLUMNS = 12  # maximum number of columns of a heat map that prints its numbers
_PRINTED_ON_PHONES = 8  # the same on a phone
_NAMED_COLUMNS = 30  # maximum number of columns of a heat map that all have headers
_FLAT_HEADERS = 6  # maximum number of columns, and of characters, of headers that are not turned
_WIDE, _NARROW = 720, 340  # widths of a chart in CSS pixels
INK, SOFT, LINE = "#1b1b1b", "#555555", "#c9c9c4"  # text, and what is beside it
# After Okabe and Ito 2008, dark enough for 3:1 on a white page; page.css brightens them for a dark one.
COLOURS = BLUE, ORANGE, _GREEN, _PURPLE, RED, _TEAL = "#0072b2", "#b06f00", "#007d5a", "#a2487d", "#c24e00", "#1f7f95"
_PROPERTIES = {  # of page.css
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
    **{colour: f"var(--colour-{number})" for number, colour in enumerate(COLOURS)},
}
STYLE = {  # of matplotlib
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 12.5,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "legend.handlelength": 2.6,
    "lines.linewidth": 2.2,
}
_SPACE, _LINK = {"": "http://www.w3.org/2000/svg"}, "{http://www.w3.org/1999/xlink}href"
_FAMILY = re.compile("font-family:[^;]*;")  # the page's own is used
_COLOUR = re.compile("#[0-9a-f]{6}")


@dataclass(frozen=True)
class Table:
    """A table of formatted cells; the first column names the row."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Bar:
    """A row of `Bars`."""

    label: str
    parts: tuple[float, ...]
    """The lengths of its parts, one behind the other."""
    value: str
    """What the bar says, as text."""
    interval: tuple[float, float] | None = None
    """Ends of a whisker."""
    mark: float | None = None
    """The place of a line across the bar."""


@dataclass(frozen=True)
class Bars:
    """Horizontal bars on one scale, which ends at `longest` or, if None, with the longest bar.

    `legend` names the parts of bars that have several.
    """

    rows: Sequence[Bar]
    legend: Sequence[str] = ()
    longest: float | None = None

    kind = "bars"

    @property
    def end(self) -> float:
        """The value at the end of the scale."""
        ends = (
            [self.longest]
            if self.longest is not None
            else [max(math.fsum(bar.parts), *(bar.interval or (0.0,)), bar.mark or 0.0) for bar in self.rows]
        )
        return max(ends, default=0) or 1

    def place(self, value: float) -> str:
        """Return `value` as a share of the scale, for CSS."""
        return f"{100 * value / self.end:.2f}%"


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: its `strength` from 0 to 1 (None if empty), its `text`, and the tooltip `told`."""

    strength: float | None
    text: str
    told: str


@dataclass(frozen=True)
class Heat:
    """A heat map: `cells` by row and column, with a colour bar where there is no room for numbers."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    ends: tuple[str, str]
    """What strengths 0 and 1 stand for, as text."""

    kind = "heat"

    @property
    def printed(self) -> bool:
        """Whether there is room for numbers."""
        return len(self.columns) <= _PRINTED_COLUMNS

    @property
    def printed_on_phones(self) -> bool:
        """Whether there is room for numbers on a phone, too."""
        return len(self.columns) <= _PRINTED_ON_PHONES

    @property
    def headers(self) -> list[str]:
        """The headers of the columns, where they are too many for one each, empty in between."""
        step = -(-len(self.columns) // _NAMED_COLUMNS) or 1
        return ["" if place % step else column for place, column in enumerate(self.columns)]

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


@contextmanager
def quiet() -> Iterator[None]:
    """Keep matplotlib from telling that it lists the machine's fonts, and where it keeps the list."""
    logger = logging.getLogger("matplotlib")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@dataclass(frozen=True)
class Chart:
    """A chart that `draw` puts on matplotlib's axes; `height` and `narrow_height` are in CSS pixels.

    With `panels`, the chart has this number of axes, and `draw` gets all of them at once. A row has two of them on a
    wide page, and one on a phone.
    """

    draw: Callable[[Sequence[Axes]], None]
    height: int
    narrow_height: int = 0
    panels: int = 1

    kind = "chart"

    def svg(self, name: str) -> Markup:
        """Return the chart in both widths, as elements of an HTML page; `name` is unique on it."""
        return Markup("").join(
            Markup('<div class="{}">{}</div>').format(
                size, Markup(_inline(self._rendered(f"{name}-{size}", width, height, transparent=True), width))
            )
            for size, width, height in (
                ("at-wide", _WIDE, self.height),
                ("at-narrow", _NARROW, self.narrow_height or self.height),
            )
        )

    def file(self, name: str) -> str:
        """Return the wide chart as the text of an SVG file of its own, on white.

        The same chart with the same `name` gives the same text, byte for byte.
        """
        return self._rendered(name, _WIDE, self.height, transparent=False)

    @quiet()
    def _rendered(self, name: str, width: int, height: int, *, transparent: bool) -> str:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        written = StringIO()
        with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # glyphs that matplotlib's font lacks; the browser has others
            figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
            FigureCanvasSVG(figure)
            self.draw_on(figure, narrow=width == _NARROW)
            figure.savefig(written, format="svg", transparent=transparent, metadata={"Date": None})
        return written.getvalue()

    def draw_on(self, figure: Figure, *, narrow: bool = False) -> None:
        """Draw the chart and its legend on an empty `figure`."""
        columns = 1 if self.panels == 1 or narrow else 2
        rows = -(-self.panels // columns)
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel().tolist()
        for empty in axes[self.panels :]:
            empty.set_axis_off()
        self.draw(axes[: self.panels])
        for last in axes[max(self.panels - columns, 0) : self.panels]:  # one of them ends above an empty place
            last.tick_params(labelbottom=True)
        handles, names = axes[0].get_legend_handles_labels()
        if len(names) > 1:
            place = "outside upper left" if figure.get_suptitle() == "" else "outside lower left"  # of the title
            figure.legend(handles, names, loc=place, ncols=min(1 if narrow else 3, len(names)))


def _inline(svg: str, width: int) -> str:
    """Turn matplotlib's SVG file into an element of a page, at most `width` wide, in its font and colours."""
    ElementTree.register_namespace("", _SPACE[""])
    root = ElementTree.fromstring(svg)
    for part, extra in ((".", "metadata"), ("defs", "style")):
        for holder in root.findall(part, _SPACE):
            for unwanted in holder.findall(extra, _SPACE):
                holder.remove(unwanted)
    for element in root.iter():
        if element.tag.endswith("}g"):
            element.attrib.pop("id", None)  # figure_1 and the like, which other charts have, too
        if link := element.attrib.pop(_LINK, ""):
            element.set("href", link)
        if style := element.get("style"):
            element.set("style", _COLOUR.sub(lambda colour: _PROPERTIES[colour[0]], _FAMILY.sub("", style)))
        element.text, element.tail = (element.text or "").strip("\n "), None
    root.attrib = {"viewBox": root.attrib["viewBox"], "style": f"max-width: {width}px", "aria-hidden": "true"}
    return ElementTree.tostring(root, encoding="unicode")


def log_axis(axes: Axes, which: str, values: Sequence[float] = (), labels: Sequence[str] = ()) -> None:
    """Make the axis `which` (``x`` or ``y``) of `axes` logarithmic, with `labels` at `values` or at 1, 2, 5, 10, ..."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    if values:
        axis.set_ticks(values, labels=labels)
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_locator(NullLocator())


@dataclass(frozen=True)
class Picture:
    """A drawing and the text beside it."""

    name: str
    """Its id on the page."""
    title: str
    alt: str
    """A description for those who cannot see it."""
    note: str
    """How to read it."""
    drawing: Bars | Heat | Tree | Chart
    table: Table | None = None
    """Its numbers; bars that print theirs need none."""
    definition: str = ""
    """How the numbers are computed, for specialists."""
    further: Sequence[str] = ()
    """Certain differences that the note only counts."""


def shown(text: object) -> str:
    """Replace control, direction and surrogate characters of `text`."""
    return replace_unsafe(str(text))


def shortened(text: object, longest: int = _LONGEST) -> str:
    """Cut `text`, as `shown`, to `longest` characters: behind a word, or inside one that takes most of the room."""
    plain = shown(text)
    if len(plain) <= longest:
        return plain
    kept, following = plain[: longest - 1], plain[longest - 1]
    space = kept.rfind(" ")
    whole = kept if following in " ," else kept[:space]
    if following not in " ," and space < longest // 3:
        return kept + "…"
    words = whole.rstrip(" ,")
    return f"{words} …" if len(words) < longest - 1 else f"{words}…"


def percent(value: float, *, upwards: bool = False) -> str:
    """Format a percentage with one decimal; round bounds `upwards`, so that the text is a valid bound."""
    scaled = math.ceil(value * 1000 - 1e-9) / 10 if upwards else value * 100
    return f"{scaled:.1f}%"


def with_interval(value: float, low: float, high: float) -> str:
    """Format a share with its interval, such as ``3.5% (3.1% to 4.0%)``."""
    return f"{percent(value)} ({percent(low)} to {percent(high)})"


def number(value: float | None) -> str:
    """Format `value` with four significant digits; None is a dash."""
    return "–" if value is None else f"{value:.4g}"
