"""Tables (Markdown, printed) and curves (one SVG figure for each corpus) of what `bench_utility.py` measured."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORPORA = {
    "imdb": ("Film reviews (IMDB)", ("npmi", "diversity")),
    "news": ("20 newsgroups", ("npmi", "diversity")),
    "synthetic": ("Planted topics", ("error",)),
}
MEASURES = {"npmi": "NPMI@10", "diversity": "diversity", "error": "mean matched l1 error"}
TARGETS = {
    ("imdb", "npmi"): {0.5: 0.09, 1.0: 0.13, 2.0: 0.15, 4.0: 0.155, 8.0: 0.16},
    ("imdb", "diversity"): {0.5: 0.85, 1.0: 0.85, 2.0: 0.88, 4.0: 0.9, 8.0: 0.9},
    ("news", "npmi"): {1.0: 0.14, 2.0: 0.20, 4.0: 0.26, 8.0: 0.28},
    ("synthetic", "error"): {0.5: 0.12, 1.0: 0.06, 2.0: 0.04, 4.0: 0.03, 8.0: 0.025},
}
NAMES = {
    "dplda": "dplda",
    "variational": "private variational",
    "tomotopy": "tomotopy",
    "gensim": "gensim",
    "random": "random words",
}
# Colours told apart by the colour-blind (Okabe and Ito; Tol), and a line of its own for each system.
STYLES = {
    "dplda": ("#0072B2", "-", "o"),
    "variational": ("#D55E00", "-", "s"),
    "tomotopy": ("#117733", "--", ""),
    "gensim": ("#882E72", "-.", ""),
    "random": ("#666666", ":", ""),
}
WITHOUT = 16.0  # where on the axis of epsilon the runs without noise stand
STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "dplda"}

Results = dict[str, dict[float | None, list[dict]]]  # records by system and epsilon, one for each seed


def write(records: list[dict], half: str, folder: Path) -> None:
    """Print the tables of all corpora that were measured, and draw their figures into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for corpus, (title, measures) in CORPORA.items():
        results = newest(records, corpus, half)
        if results:
            print(f"**{title}**\n")
            for measure in measures:
                print(table(results, corpus, measure))
            draw(results, corpus, folder / f"utility-{corpus}.svg")


def newest(records: list[dict], corpus: str, half: str) -> Results:
    """The records of one corpus, of each system those with its latest settings."""
    chosen = [record for record in records if (record["corpus"], record["half"]) == (corpus, half)]
    latest = {record["system"]: record["settings"] for record in chosen}
    results: Results = defaultdict(lambda: defaultdict(list))
    for record in chosen:
        if record["settings"] == latest[record["system"]]:
            results[record["system"]][record["epsilon"]].append(record)
    return results


def table(results: Results, corpus: str, measure: str) -> str:
    """One measure as Markdown: systems down, epsilons across, mean ± standard deviation over seeds."""
    epsilons = sorted({epsilon for cells in results.values() for epsilon in cells if epsilon is not None})
    head = [MEASURES[measure], *(f"ε = {epsilon:g}" for epsilon in epsilons), "no noise", "seeds"]
    lines = [head, ["---"] * len(head)]
    for system in [name for name in NAMES if name in results]:
        cells = results[system]
        shown = [cell(cells[epsilon], measure) if epsilon in cells else "" for epsilon in [*epsilons, None]]
        lines.append([NAMES[system], *shown, str(min(len(found) for found in cells.values()))])
        if system == "dplda" and (corpus, measure) in TARGETS:
            targets = TARGETS[corpus, measure]
            lines.append(["*target*", *(f"{targets[e]:g}" if e in targets else "" for e in epsilons), "", ""])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(records: list[dict], measure: str) -> str:
    """Mean ± standard deviation of a measure."""
    values = [record[measure] for record in records]
    spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.3f}{spread}"


def draw(results: Results, corpus: str, path: Path) -> None:
    """All measures of one corpus against epsilon, side by side, as SVG; the same results give the same file."""
    import matplotlib
    from matplotlib.figure import Figure

    title, measures = CORPORA[corpus]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.9 * len(measures), 3.7), layout="constrained")
        figure.suptitle(title)
        for axes, measure in zip(figure.subplots(1, len(measures), squeeze=False)[0], measures, strict=True):
            _panel(axes, results, measure, TARGETS.get((corpus, measure), {}))
        figure.savefig(path, format="svg", metadata={"Date": None})


def _panel(axes: Axes, results: Results, measure: str, targets: dict[float, float]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log" if measure == "error" else "linear")
    ends = {system: curve(axes, cells, measure, STYLES[system]) for system, cells in results.items()}
    if targets:
        colour = STYLES["dplda"][0]
        axes.plot(
            list(targets), list(targets.values()), "D", markerfacecolor="none", color=colour, markersize=7, zorder=3
        )
        axes.annotate("target", max(targets.items()), (7, -3), textcoords="offset points", color=colour)
    scales(axes, measure, sorted({e for cells in results.values() for e in cells if e is not None} | set(targets)))
    label(axes, {system: (NAMES[system], STYLES[system][0], end) for system, end in ends.items()})


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
    cells: dict[float | None, list[dict]],
    measure: str,
    style: tuple[str, str, str],
    shade: float = 0.2,
) -> float:
    """Draw one system, a curve over epsilon or a level, in the range of its seeds; its height on the right."""
    colour, line, marker = style
    points = {epsilon: [record[measure] for record in found] for epsilon, found in cells.items()}
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
