"""A picture of a report: a figure, a text alternative, and the table of its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from dplda.characters import replace_unsafe

# Okabe and Ito 2008, without black and yellow, which one of the two backgrounds would swallow.
BLUE, ORANGE, GREEN, PURPLE, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
GREY = "#808080"
HATCHES = ("", "/", "x", ".", "\\", "-", "|", "+")  # so that no bar is told by its colour alone
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down")
SCALE = "Cividis"
FAINT = "rgba(128,128,128,0.3)"
CLEAR = "rgba(0,0,0,0)"
LONGEST = 24  # characters of a label on an axis: a phone has 360 points

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})  # plotly draws a subset of HTML


@dataclass(frozen=True)
class Table:
    """A table of formatted cells; the first column names the row."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Picture:
    """A figure; `name` is its id on the page, `alt` says what it shows, `note` how to read it."""

    name: str
    title: str
    alt: str
    note: str
    figure: go.Figure
    table: Table

    @property
    def height(self) -> int:
        """Points on the screen."""
        return int(self.figure.layout.height)

    @property
    def json(self) -> str:
        """The figure as JSON that stays inert inside a script element."""
        return inert(str(self.figure.to_json(engine="json")))


def inert(json_text: str) -> str:
    """`json_text` without a character that HTML could read as the end of a script; outside strings JSON has none."""
    return json_text.translate({ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"})


def shown(text: object) -> str:
    """`text` with control, direction and surrogate characters replaced."""
    return replace_unsafe(str(text))


def label(text: object, longest: int | None = None) -> str:
    """`text` for a plotly label, where it must not turn into markup; cut after `longest` characters."""
    plain = shown(text)
    if longest is not None and len(plain) > longest:
        plain = plain[: longest - 1] + "…"
    return plain.translate(_MARKUP)


def percent(value: float, *, upwards: bool = False) -> str:
    """`value` with one decimal of a percent; bounds are rounded upwards: what is told is never less than what holds."""
    scaled = math.ceil(value * 1000 - 1e-9) / 10 if upwards else value * 100
    return f"{scaled:.1f}%"


def number(value: float | None) -> str:
    """`value` in four digits; a dash where there is none."""
    return "–" if value is None else f"{value:.4g}"


def figure(traces: Sequence[Any], *, height: int, x: dict[str, Any], y: dict[str, Any], **layout: Any) -> go.Figure:
    """A figure in the page's manner; text and background colours are the page's, so that they follow its theme."""
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
            "paper_bgcolor": CLEAR,
            "plot_bgcolor": CLEAR,
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


def _merged(base: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    title = {**base["title"], **({"text": given["title"]} if "title" in given else {})}
    return {**base, **given, "title": title}


def hatched(shape: str) -> dict[str, Any]:
    """A bar's pattern, one of `HATCHES`, in white over its colour."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "white", "size": 6}


def rows_axis(labels: Sequence[str]) -> dict[str, Any]:
    """A y axis of one row for each of `labels`, the first on top; rows with the same label stay apart."""
    return {
        "tickvals": list(range(len(labels))),
        "ticktext": list(labels),
        "range": [len(labels) - 0.5, -0.5],
        "showgrid": False,
    }
