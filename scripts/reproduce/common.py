"""What the reproductions share: their command line, Markdown tables, fitted exponents and SVG figures."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "dplda"}
COLOURS = ("#0072B2", "#D55E00", "#117733", "#882E72", "#E69F00", "#666666")  # told apart by the colour-blind
MARKS = ("o", "s", "^", "D", "v", "")


def options(description: str | None, name: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """`quick`, `seed` and `figure`, the file that the picture `name` is drawn into."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute or so")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", type=Path, default=FIGURES / f"papers-{name}.svg")
    return parser.parse_args(argv)


def report(line: str) -> None:
    """Tell how far a long run is, beside the tables."""
    print(line, file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers with three digits."""
    lines = [header, ["---"] * len(header), *([cell(value) for value in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(value: object) -> str:
    """One cell of a table."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of log y against log x: b where y goes with x^b."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def median(values: Iterable[float]) -> float:
    """The median, as a plain number."""
    return float(statistics.median(float(value) for value in values))


def curve(ax: Axes, x: Sequence[float], y: Sequence[float], i: int, label: str) -> None:
    """The i-th curve of a picture."""
    ax.plot(x, y, color=COLOURS[i % 6], marker=MARKS[i % 6], markersize=4, linewidth=1.3, label=label)


def guide(ax: Axes, x: Sequence[float], at: float, power: float, label: str) -> None:
    """A dotted line x^power through `at` at the first x: what a theorem says about the slope."""
    ax.plot(x, [at * (value / x[0]) ** power for value in x], color="#999999", linestyle=":", linewidth=1, label=label)


def panels(columns: int, rows: int = 1, width: float = 3.4, height: float = 2.8) -> tuple:
    """A figure and its flat list of axes, in the project's style."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(STYLE)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    return figure, list(axes.flat)


def finish(figure, path: Path) -> None:
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
