"""Figures as SVG: their style, curves over epsilon, and labels beside them. Drawing needs the extra `bench`."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "dplda"}
MEASURES = {"npmi": "NPMI@10", "nmi": "NMI with labels", "diversity": "diversity", "error": "mean matched l1 error"}
WITHOUT = 16.0  # where on the axis of epsilon the runs without noise stand

Values = Mapping[float | None, Sequence[float]]  # of a measure: one for each run, by epsilon (None: no noise)


@contextmanager
def picture(path: Path, width: float, height: float) -> Iterator[Figure]:
    """A figure that is written to `path` as SVG, without a date: the same results give the same file."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None})


def mean_and_spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.3f}{spread}"


def scales(axes: Axes, measure: str, epsilons: list[float], without_noise: bool = True) -> None:
    """Both axes, with a place for runs without noise where wanted."""
    end = WITHOUT if without_noise or not epsilons else epsilons[-1]
    ticks = {epsilon: f"{epsilon:g}" for epsilon in epsilons} | ({WITHOUT: "no\nnoise"} if end == WITHOUT else {})
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_xlim(0.7 * epsilons[0] if epsilons else WITHOUT / 2, 1.2 * end)
    axes.set_xlabel("epsilon")
    axes.set_title(MEASURES[measure] + (" (less is better)" if measure == "error" else ""), loc="left", fontsize=9)
    low, high = axes.get_ylim()
    if measure == "error":
        heights = [tick for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0) if low <= tick <= high]
        axes.set_yticks(heights, [f"{tick:g}" for tick in heights])
    if measure == "diversity":
        axes.set_ylim(min(low, 0.5), 1.0)
    axes.minorticks_off()


def curve(
    axes: Axes,
    points: Values,
    style: tuple[str, str, str],
    shade: float = 0.2,
) -> float:
    """Draw one system, a curve over epsilon or a level, in the range of its seeds; its height on the right."""
    colour, line, marker = style
    epsilons = sorted(epsilon for epsilon in points if epsilon is not None)
    if not epsilons:
        level = statistics.fmean(points[None])
        axes.axhline(level, color=colour, linestyle=line, linewidth=1.2)
        axes.axhspan(min(points[None]), max(points[None]), color=colour, alpha=shade / 2, linewidth=0)
        return level
    means = [statistics.fmean(points[epsilon]) for epsilon in epsilons]
    axes.plot(epsilons, means, line, color=colour, marker=marker, markersize=4)
    low, high = ([choose(points[epsilon]) for epsilon in epsilons] for choose in (min, max))
    axes.fill_between(epsilons, low, high, color=colour, alpha=shade, linewidth=0)
    if None not in points:
        return means[-1]
    level = statistics.fmean(points[None])
    axes.plot(WITHOUT, level, color=colour, marker=marker, markersize=4)
    axes.vlines(WITHOUT, min(points[None]), max(points[None]), color=colour)
    return level


def label(axes: Axes, ends: dict[str, tuple[str, str, float]], apart: float = 0.065) -> None:
    """Write each system's name, in its colour, beside its end, at least `apart` of the axes' height from the next."""
    place = (axes.transData + axes.transAxes.inverted()).transform
    heights = {system: float(place((1.0, end))[1]) for system, (_, _, end) in ends.items()}
    rising = sorted(heights, key=lambda name: heights[name])
    for below, system in itertools.pairwise(rising):
        heights[system] = max(heights[system], heights[below] + apart)
    heights[rising[-1]] = min(heights[rising[-1]], 1.0)
    for above, system in itertools.pairwise(reversed(rising)):
        heights[system] = min(heights[system], heights[above] - apart)
    for system, height in heights.items():
        name, colour, _ = ends[system]
        axes.text(1.02, height, name, transform=axes.transAxes, color=colour, va="center")
