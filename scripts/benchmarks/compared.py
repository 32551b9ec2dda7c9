"""Tables (Markdown, printed) and curves (one SVG figure a corpus) of what `dplda compare --json` measured.

Files about one corpus are put together, and so are planted corpora that differ in nothing but the seed. Runs that ended
without topics are counted and not averaged over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import MEASURES, curve, label, mean_and_spread, picture, scales
from benchmarks.tables import markdown
from dplda.budget.comparisons import Cell, Comparison, ComparisonKind, Outcome
from dplda.learning.placements.registry import NO_NOISE
from dplda.report.comparison_pictures import Method, measures, methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours told apart by the colour-blind (Okabe and Ito; Tol), and a marker of its own for each placement.
LOOKS = {
    "default": ("#0072B2", "o"),
    "config1": ("#D55E00", "s"),
    "config2": ("#117733", "D"),
    "config3": ("#882E72", "^"),
    "config4": ("#7A5C00", "v"),
    "tensor-power": ("#C4478A", "P"),
    NO_NOISE: ("#666666", ""),
}
LINES = {"sound": "-", "published": "--"}
TITLES = {"error": "error", "coherence": "npmi", "diversity": "diversity"}  # measures as figures name them

Tried = dict[float | None, tuple[list[float], int]]  # by epsilon: values of runs with topics, and how many were tried


def show(results: Sequence[Path], folder: Path | None) -> None:
    """Print the tables of all corpora, and draw their figures into `folder` if one is given."""
    for comparison in merged(read(path) for path in results):
        print(f"**{title(comparison)}**\n")
        for measure in measures(comparison):
            print(table(comparison, measure.field))
        if folder is not None:
            draw(comparison, folder / f"compare-{comparison.corpus}.svg")


def read(path: Path) -> Comparison:
    """The comparison in one file."""
    told = json.loads(path.read_text(encoding="utf-8"))
    key = ("placement", "calibration", "epsilon", "repeat")
    outcomes = [(Cell(*(o[name] for name in key)), {n: o[n] for n in o if n not in key}) for o in told["outcomes"]]
    return Comparison(
        name=told["comparison"],
        corpus=told["corpus"],
        kind=ComparisonKind(told["kind"]),
        parameters=told["parameters"],
        outcomes=tuple(Outcome.from_json(cell, record) for cell, record in outcomes),
    )


def merged(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """One comparison a corpus; planted corpora of several seeds count as one.

    Ends the program if the same is asked twice, or under other parameters.
    """
    found: dict[str, Comparison] = {}
    cells: set[tuple[str, object, Cell]] = set()
    for one in comparisons:
        first = found.get(one.corpus, one)
        if _without_seed(first) != _without_seed(one):
            raise SystemExit(f"{first.name} and {one.name} differ in their parameters: they cannot share a table.")
        here = {(one.corpus, one.parameters.get("seed"), outcome.cell) for outcome in one.outcomes}
        if here & cells:
            raise SystemExit(f"{one.name} holds cells that an earlier file holds. Name each file once.")
        cells |= here
        outcomes = one.outcomes if first is one else (*first.outcomes, *one.outcomes)
        found[one.corpus] = replace(first, outcomes=outcomes)
    return list(found.values())


def _without_seed(comparison: Comparison) -> dict[str, object]:
    return {name: value for name, value in comparison.parameters.items() if name != "seed"}


def title(comparison: Comparison) -> str:
    """Which corpus, and what all runs have in common."""
    told = comparison.parameters
    return f"{comparison.corpus}: {told['topics']} topics, delta {told['delta']:g}, {told['adjacency']}"


def values(comparison: Comparison, method: Method, field: str) -> Tried:
    """For each epsilon (None: no noise) the values of the runs that ended with topics, and how many were tried."""
    found: Tried = {}
    for outcome in comparison.outcomes:
        if (outcome.cell.placement, outcome.cell.calibration) == (method.placement, method.calibration):
            epsilon = None if method.placement == NO_NOISE else outcome.cell.epsilon
            known, tried = found.get(epsilon, ([], 0))
            value = getattr(outcome, field)
            found[epsilon] = (known if value is None else [*known, value], tried + 1)
    return found


def table(comparison: Comparison, field: str) -> str:
    """One measure as Markdown: placements and calibrations down, epsilons across, mean ± standard deviation."""
    rows = {method: values(comparison, method, field) for method in methods(comparison)}
    epsilons = sorted({epsilon for row in rows.values() for epsilon in row if epsilon is not None})
    columns: list[float | None] = [*epsilons, None] if any(None in row for row in rows.values()) else [*epsilons]
    names = ("no noise" if epsilon is None else f"ε = {epsilon:g}" for epsilon in columns)
    head = [MEASURES[TITLES[field]], "proven private", *names, "runs"]
    lines = []
    for method, row in rows.items():
        cells = (cell(*row[epsilon]) if epsilon in row else "" for epsilon in columns)
        runs = str(min(tried for _, tried in row.values()))
        lines.append([method.label, "yes" if method.proven else "no", *cells, runs])
    return markdown(head, lines)


def cell(known: Sequence[float], tried: int) -> str:
    """Mean ± standard deviation, and how many runs ended without topics."""
    if not known:
        return "no topics"
    missing = f" ({tried - len(known)} of {tried}: no topics)" if len(known) < tried else ""
    return mean_and_spread(known) + missing


def draw(comparison: Comparison, path: Path) -> None:
    """Draw all measures against epsilon, side by side."""
    fields = [measure.field for measure in measures(comparison)]
    with picture(path, 5.6 * len(fields), 4.6) as figure:
        figure.suptitle(title(comparison))
        for axes, name in zip(figure.subplots(1, len(fields), squeeze=False)[0], fields, strict=True):
            _panel(axes, comparison, name)


def _panel(axes: Axes, comparison: Comparison, field: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log" if field == "error" else "linear")
    ends, without = {}, []
    for method in methods(comparison):
        found = values(comparison, method, field)
        cells = {epsilon: known for epsilon, (known, _) in found.items() if known}
        if not cells:
            without.append(method.label)
            continue
        colour, marker = LOOKS[method.placement]
        style = (colour, LINES[method.calibration] if method.proven or None not in cells else ":", marker)
        end = curve(axes, cells, style, shade=0.08)
        ends[method.label] = (method.label, colour, end)
    epsilons = {o.cell.epsilon for o in comparison.outcomes if o.cell.placement != NO_NOISE}
    scales(axes, TITLES[field], sorted(epsilons), without_noise=False)
    label(axes, ends, apart=0.05)
    if without:
        axes.annotate(f"no topics at any epsilon: {', '.join(without)}", (0.02, 0.02), xycoords="axes fraction")
