"""Tables (Markdown, printed) and one SVG figure of what `rivals` measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.figures import curve, picture, scales
from benchmarks.options import RIVAL_CORPORA, RIVALS
from benchmarks.results import Record
from benchmarks.tables import markdown
from benchmarks.utility_report import values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {
    "tweets": "5,802 tweets, 5",
    "few-posts": "3,000 posts, 10",
    "posts": "18,847 posts, 20",
    "abstracts": "2,888 abstracts, 5",
    "news-items": "7,600 news items, 4",
}  # with the number of topics asked for
NAMES = {
    "manzonelli": "Manzonelli and others",
    "gensim": "gensim LDA",
    "tomotopy": "tomotopy LDA",
    "sklearn": "scikit-learn LDA",
    "nmf": "scikit-learn NMF",
    "bertopic": "BERTopic",
}
# Colours told apart by the colour-blind (Okabe and Ito; Tol), and a line of its own for each system.
STYLES = {
    "dplda": ("#0072B2", "-", "o"),
    "manzonelli": ("#D55E00", "--", "s"),
    "tomotopy": ("#117733", "--", ""),
    "gensim": ("#882E72", "-.", ""),
    "sklearn": ("#C4478A", ":", ""),
    "nmf": ("#7A5C00", "-", ""),
    "bertopic": ("#666666", "-", ""),
}
AUTOMATIC = ", automatic"
Cells = dict[tuple[str, float | None, str], list[Record]]  # by system, epsilon and corpus: one for each seed


def write(records: list[Record], folder: Path | None) -> None:
    """Print the tables, and draw the figure into `folder` if one is given."""
    cells = newest(records)
    print(table(cells, [name for name in RIVALS if not name.endswith(AUTOMATIC)]))
    print(table(cells, [name for name in RIVALS if name.endswith(AUTOMATIC)]))
    if folder is not None:
        draw(cells, folder / "rivals.svg")


def newest(records: Iterable[Record]) -> Cells:
    """The records, of each system on each corpus those with its latest settings."""
    latest = {(record["system"], record["corpus"]): record["settings"] for record in records}
    cells: Cells = {}
    for record in records:
        if record["settings"] == latest[record["system"], record["corpus"]]:
            cells.setdefault((record["system"], record["epsilon"], record["corpus"]), []).append(record)
    return cells


def table(cells: Cells, systems: Sequence[str]) -> str:
    """Systems and epsilons down, corpora across: medians of NPMI@10, NMI, diversity and seconds."""
    corpora = [name for name in RIVAL_CORPORA if any(corpus == name for _, _, corpus in cells)]
    lines = []
    for system in systems:
        for epsilon in sorted({e for name, e, _ in cells if name == system}, key=lambda e: e or 0.0):
            found = [cells.get((system, epsilon, corpus), []) for corpus in corpora]
            told = "" if epsilon is None else f"{epsilon:g}"
            lines.append([label(system), told, *(_cell(one, system.endswith(AUTOMATIC)) for one in found)])
    return markdown(["system", "epsilon", *(TITLES[corpus] for corpus in corpora)], lines)


def label(system: str) -> str:
    """What tables and the figure call a system."""
    name, comma, rest = system.partition(",")
    return NAMES.get(name, name) + comma + rest


def _cell(records: list[Record], automatic: bool) -> str:
    known = [record for record in records if record["topics"]]
    if not known:
        return "no topics" if records else ""
    number = f"{median(values(known, 'topics')):g} topics: " if automatic else ""
    npmi, nmi, diversity, seconds = (median(values(known, name)) for name in ("npmi", "nmi", "diversity", "seconds"))
    missing = f" ({len(known)} of {len(records)})" if len(known) < len(records) else ""
    return f"{number}{npmi:.3f}, {nmi:.2f}, {diversity:.2f}, {seconds:.{0 if seconds >= 10 else 1}f} s{missing}"


def draw(cells: Cells, path: Path) -> None:
    """Draw NPMI and NMI against epsilon, a column for each corpus."""
    corpora = [name for name in RIVAL_CORPORA if any(corpus == name for _, _, corpus in cells)]
    with picture(path, 2.9 * len(corpora), 6.0) as figure:
        grid = figure.subplots(2, len(corpora), squeeze=False)
        for row, measure in zip(grid, ("npmi", "nmi"), strict=True):
            for axes, corpus in zip(row, corpora, strict=True):
                _panel(axes, cells, corpus, measure)
        for axes, corpus in zip(grid[0], corpora, strict=True):
            axes.set_title(f"{TITLES[corpus]} topics\n{axes.get_title(loc='left')}", loc="left", fontsize=9)
        handles = grid[0][0].get_lines()
        figure.legend(handles, [line.get_label() for line in handles], loc="outside lower center", ncols=len(STYLES))


def _panel(axes: Axes, cells: Cells, corpus: str, measure: str) -> None:
    axes.set_xscale("log", base=2)
    for system, style in STYLES.items():
        found = {epsilon: one for (name, epsilon, of), one in cells.items() if (name, of) == (system, corpus)}
        points = {e: values([r for r in one if r["topics"]], measure) for e, one in found.items()}
        points = {epsilon: seen for epsilon, seen in points.items() if seen}
        if points:
            before = len(axes.get_lines())
            curve(axes, points, style, shade=0.15)
            claimed = " (epsilon claimed, not kept)" if system == "manzonelli" else ""
            axes.get_lines()[before].set_label(label(system) + claimed)
    scales(axes, measure, sorted({e for name, e, of in cells if e is not None and of == corpus}), without_noise=False)
