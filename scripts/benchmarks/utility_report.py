"""Tables (Markdown, printed) and curves (one SVG figure for each corpus) of what `utility` measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.figures import MEASURES, curve, label, mean_and_spread, picture, scales
from benchmarks.results import Record
from benchmarks.tables import markdown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORPORA = {
    "imdb": ("Film reviews (IMDB)", ("npmi", "diversity")),
    "news": ("20 newsgroups", ("npmi", "nmi", "diversity")),
    "medical": ("Medical abstracts", ("npmi", "nmi", "diversity")),
    "agnews": ("News items", ("npmi", "nmi", "diversity")),
    "synthetic": ("Planted topics", ("error",)),
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


def write(records: list[Record], half: str, folder: Path | None) -> None:
    """Print the tables of all corpora that were measured, and draw their figures into `folder` if one is given."""
    for corpus, (title, measures) in CORPORA.items():
        results = newest(records, corpus, half)
        if results:
            print(f"**{title}**\n")
            print(table(results, measures))
            if folder is not None:
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


def table(results: Results, measures: Sequence[str]) -> str:
    """Systems down, epsilons across: mean ± standard deviation over seeds, and means of other measures."""
    epsilons = sorted({epsilon for cells in results.values() for epsilon in cells if epsilon is not None})
    first, *second = (MEASURES[measure] for measure in measures)
    head = [first + (f" ({', '.join(second)})" if second else ""), *(f"ε = {epsilon:g}" for epsilon in epsilons)]
    lines = []
    for system in [name for name in NAMES if name in results]:
        cells = results[system]
        shown = [_cell(cells[epsilon], *measures) if epsilon in cells else "" for epsilon in [*epsilons, None]]
        lines.append([NAMES[system], *shown, str(min(len(found) for found in cells.values()))])
    return markdown([*head, "no noise", "seeds"], lines)


def _cell(records: list[Record], first: str, *second: str) -> str:
    means = ", ".join(f"{fmean(values(records, measure)):.2f}" for measure in second)
    return mean_and_spread(values(records, first)) + (f" ({means})" if means else "")


def values(records: list[Record], measure: str) -> list[float]:
    """One measure of all records."""
    return [record[measure] for record in records]


def draw(results: Results, corpus: str, path: Path) -> None:
    """Draw all measures of one corpus against epsilon, side by side."""
    title, measures = CORPORA[corpus]
    with picture(path, 4.9 * len(measures), 3.7) as figure:
        figure.suptitle(title)
        for axes, measure in zip(figure.subplots(1, len(measures), squeeze=False)[0], measures, strict=True):
            _panel(axes, results, measure)


def _panel(axes: Axes, results: Results, measure: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log" if measure == "error" else "linear")
    ends = {
        system: curve(axes, {epsilon: values(found, measure) for epsilon, found in cells.items()}, STYLES[system])
        for system, cells in results.items()
    }
    scales(axes, measure, sorted({e for cells in results.values() for e in cells if e is not None}))
    label(axes, {system: (NAMES[system], STYLES[system][0], end) for system, end in ends.items()})
