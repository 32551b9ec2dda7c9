"""What the reproductions share: Markdown tables, fitted exponents and SVG figures."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.figures import STYLE
from benchmarks.tables import markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#117733", "#882E72", "#E69F00", "#666666")  # told apart by the colour-blind
MARKS = ("o", "s", "^", "D", "v", "")


def report(line: str) -> None:
    """Tell how far a long run is, beside the tables."""
    print(line, file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers with three digits."""
    return markdown(header, ([cell(value) for value in row] for row in rows))


def cell(value: object) -> str:
    """One cell of a table."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def exponent(x: ArrayLike, y: ArrayLike) -> float:
    """The slope of log y against log x: b where y goes with x^b."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def median(values: Iterable[float]) -> float:
    """The median, as a plain number."""
    return float(statistics.median(float(value) for value in values))


def curve(ax: Axes, x: ArrayLike, y: ArrayLike, i: int, label: str) -> None:
    """The i-th curve of a picture."""
    ax.plot(x, y, color=COLOURS[i % 6], marker=MARKS[i % 6], markersize=4, linewidth=1.3, label=label)


def guide(ax: Axes, x: Sequence[float], at: float, power: float, label: str) -> None:
    """A dotted line x^power through `at` at the first x: what a theorem says about the slope."""
    ax.plot(x, [at * (value / x[0]) ** power for value in x], color="#999999", linestyle=":", linewidth=1, label=label)


def panels(columns: int, rows: int = 1, width: float = 3.4, height: float = 2.8) -> tuple[Figure, list[Axes]]:
    """A figure and its flat list of axes, in the project's style."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    return figure, list(axes.flat)


def finish(figure: Figure, path: Path) -> None:
    """Write the figure as an SVG without a date, so that the same numbers give the same file."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    for axis in [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        if axis.get_scale() == "log":
            axis.set_minor_formatter(NullFormatter())  # labels of all minor ticks overlap
            if high < 40 * low:  # decades alone are too few
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_major_formatter("{x:g}")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)
    path.write_text("\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()) + "\n")
