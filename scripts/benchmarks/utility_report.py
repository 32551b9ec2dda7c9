"""Tables (Markdown, printed) and curves (one SVG figure for each corpus) of what `utility` measured."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import MEASURES, curve, label, mean_and_spread, picture, scales
from benchmarks.results import Record
from benchmarks.tables import markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORPORA = {
    "imdb": ("Film reviews (IMDB)", ("npmi", "diversity")),
    "news": ("20 newsgroups", ("npmi", "diversity")),
    "medical": ("Medical abstracts", ("npmi", "diversity")),
    "synthetic": ("Planted topics", ("error",)),
}
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

Results = dict[str, dict[float | None, list[Record]]]  # records by system and epsilon, one for each seed


def write(records: list[Record], half: str, folder: Path) -> None:
    """Print the tables of all corpora that were measured, and draw their figures into `folder`."""
    for corpus, (title, measures) in CORPORA.items():
        results = newest(records, corpus, half)
        if results:
            print(f"**{title}**\n")
            for measure in measures:
                print(table(results, corpus, measure))
            draw(results, corpus, folder / f"utility-{corpus}.svg")


def newest(records: list[Record], corpus: str, half: str) -> Results:
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
    lines = []
    for system in [name for name in NAMES if name in results]:
        cells = results[system]
        shown = [
            mean_and_spread(values(cells[epsilon], measure)) if epsilon in cells else ""
            for epsilon in [*epsilons, None]
        ]
        lines.append([NAMES[system], *shown, str(min(len(found) for found in cells.values()))])
        if system == "dplda" and (corpus, measure) in TARGETS:
            targets = TARGETS[corpus, measure]
            lines.append(["*target*", *(f"{targets[e]:g}" if e in targets else "" for e in epsilons), "", ""])
    return markdown(head, lines)


def values(records: list[Record], measure: str) -> list[float]:
    """One measure of all records."""
    return [record[measure] for record in records]


def draw(results: Results, corpus: str, path: Path) -> None:
    """Draw all measures of one corpus against epsilon, side by side."""
    title, measures = CORPORA[corpus]
    with picture(path, 4.9 * len(measures), 3.7) as figure:
        figure.suptitle(title)
        for axes, measure in zip(figure.subplots(1, len(measures), squeeze=False)[0], measures, strict=True):
            _panel(axes, results, measure, TARGETS.get((corpus, measure), {}))


def _panel(axes: Axes, results: Results, measure: str, targets: dict[float, float]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log" if measure == "error" else "linear")
    ends = {
        system: curve(axes, {epsilon: values(found, measure) for epsilon, found in cells.items()}, STYLES[system])
        for system, cells in results.items()
    }
    if targets:
        colour = STYLES["dplda"][0]
        axes.plot(
            list(targets), list(targets.values()), "D", markerfacecolor="none", color=colour, markersize=7, zorder=3
        )
        axes.annotate("target", max(targets.items()), (7, -3), textcoords="offset points", color=colour)
    scales(axes, measure, sorted({e for cells in results.values() for e in cells if e is not None} | set(targets)))
    label(axes, {system: (NAMES[system], STYLES[system][0], end) for system, end in ends.items()})
