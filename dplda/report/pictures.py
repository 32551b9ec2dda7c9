"""A report's pictures: a plotly figure, a text alternative and a table of its numbers; and their common style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import plotly.graph_objects as go

from dplda.characters import replace_unsafe

# Okabe and Ito 2008, without black and yellow, which are invisible on a dark or a light background.
COLOURS = BLUE, ORANGE, _GREEN, _PURPLE, RED, _SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"
GREY = "#808080"
HATCHES = ("", "/", "x", ".", "\\", "-", "|", "+")  # patterns of bars, so that they differ in more than colour
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down")
SCALE = "Cividis"
FAINT = "rgba(128,128,128,0.3)"
_CLEAR = "rgba(0,0,0,0)"
LONGEST = 24  # maximum characters of an axis label, so that it fits a phone 360 points wide

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})  # plotly renders a subset of HTML


@dataclass(frozen=True)
class Table:
    """A table of formatted cells; the first column names the row."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Picture:
    """A figure; `name` is its id on the page, `alt` describes it, and `note` says how to read it.

    `definition` says for specialists, beside the table, how its numbers are computed.
    """

    name: str
    title: str
    alt: str
    note: str
    figure: go.Figure
    table: Table
    definition: str = ""

    @property
    def height(self) -> int:
        """Height in CSS pixels."""
        return int(self.figure.layout.height)

    @property
    def json(self) -> str:
        """The figure as JSON that is safe inside a script element."""
        return _inert(str(self.figure.to_json(engine="json")))


def _inert(json_text: str) -> str:
    """`json_text` with every character escaped that could end a script element; they occur in JSON strings only."""
    return json_text.translate({ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"})


def shown(text: object) -> str:
    """`text` with control, direction and surrogate characters replaced."""
    return replace_unsafe(str(text))


def label(text: object, longest: int | None = None) -> str:
    """`text` as a plotly label: markup is escaped, and the text is cut to `longest` characters, between words."""
    plain = shown(text)
    if longest is not None and len(plain) > longest:
        plain = _cut(plain, longest)
    return plain.translate(_MARKUP)


def wrapped(text: object) -> str:
    """`text` as a plotly label of at most two lines, each of at most `LONGEST` characters."""
    lines = wrap(shown(text), LONGEST, max_lines=2, placeholder=" …")
    return "<br>".join(label(line) for line in lines)


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


def number(value: float | None) -> str:
    """`value` with four significant digits, or a dash for None."""
    return "–" if value is None else f"{value:.4g}"


def figure(traces: Sequence[Any], *, height: int, x: dict[str, Any], y: dict[str, Any], **layout: Any) -> go.Figure:
    """A figure in the report's style; its background is transparent, so that it follows the page's theme."""
    axis = {
        "automargin": True,
        "gridcolor": FAINT,
        "zeroline": False,
        "linecolor": GREY,
        "title": {"standoff": 8},
        "fixedrange": True,
    }
    return go.Figure(
        traces,
        {
            "template": "none",
            "height": height,
            "autosize": True,
            "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": GREY},
            "paper_bgcolor": _CLEAR,
            "plot_bgcolor": _CLEAR,
            "hovermode": "closest",
            "dragmode": False,
            "legend": {
                "orientation": "h",
                "traceorder": "normal",
                "x": 0,
                "y": 1.02,
                "xanchor": "left",
                "yanchor": "bottom",
            },
            "xaxis": _merged(axis, x),
            "yaxis": _merged(axis, y),
            **layout,
        },
    )


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    title = {**base["title"], **({"text": changes["title"]} if "title" in changes else {})}
    return {**base, **changes, "title": title}


def hatched(shape: str) -> dict[str, Any]:
    """Plotly's bar pattern for `shape`, one of `HATCHES`, in white over the bar's colour."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "white", "size": 6}


def dashed_line(y: float) -> dict[str, Any]:
    """A dashed horizontal line at `y`, as a plotly shape."""
    ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y}
    return {"type": "line", **ends, "line": {"color": GREY, "dash": "dash"}}


def rows_axis(labels: Sequence[str]) -> dict[str, Any]:
    """A y axis with a row for each of `labels`, the first on top; rows with equal labels stay separate."""
    return {
        "tickvals": list(range(len(labels))),
        "ticktext": list(labels),
        "range": [len(labels) - 0.5, -0.5],
        "showgrid": False,
    }
