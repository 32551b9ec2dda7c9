"""What `dplda compare` tells before and after: the price, the outcomes, the report."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dplda.cli.console import say, table
from dplda.comparison.records import DONE, Cell, Comparison, Outcome

if TYPE_CHECKING:
    from dplda.comparison.grid import Grid
    from dplda.ledger import ComparisonLog, Quote

MEASURES = ("error", "coherence", "diversity", "bound")


def tell_resumed(grid: Grid, log: ComparisonLog, left: Sequence[Cell]) -> None:
    """Say how much of the comparison was done already."""
    total = len(grid.cells)
    say(f"Comparison {log.name}: {total - len(left)} of {total} cells were done already.", error=True)
    again = [cell for cell in log.interrupted() if cell in left]
    if again and grid.private:
        say(
            f"{len(again)} cell(s) were interrupted: what was charged stays charged, and they are run again.",
            error=True,
            style="yellow",
        )


def tell_cost(grid: Grid, quote: Quote | None, runs: int) -> None:
    """Say what `runs` runs will cost; without a `quote` they cost nothing."""
    if quote is None:
        why = "its owner declared it public" if grid.kind == "public" else "it is planted"
        say(f"Nothing is charged for this corpus: {why}. Noise is simulated from seed {grid.seed}.", error=True)
        return
    dataset = quote.dataset
    say(f"Every run on dataset {dataset.name} draws exact noise and is charged to its budget.", error=True)
    if dataset.grant.unbounded:
        say(f"{runs} runs; the grant is unbounded.", error=True)
    else:
        say(
            f"{runs} runs cost {quote.cost.mu_squared:.4g} (sum of squared GDP parameters), {quote.share:.1%} of the "
            f"grant ({dataset.grant}); {quote.left:.4g}, {dataset.remaining:.1%} of it, is left.",
            error=True,
        )


def report(comparison: Comparison, path: Path) -> None:
    """Write the report, with one model of each placement and calibration: the first at the largest epsilon."""
    from dplda.model import load
    from dplda.report import write_report

    chosen: dict[tuple[str, str], Outcome] = {}
    for outcome in sorted(comparison.outcomes, key=lambda o: (-o.cell.epsilon, o.cell.repeat)):
        if outcome.model is not None and os.path.isdir(outcome.model):
            chosen.setdefault((outcome.cell.placement, outcome.cell.calibration), outcome)
    write_report([load(str(outcome.model)) for outcome in chosen.values()], path, comparison=comparison)


def record(comparison: Comparison, quote: Quote | None, report: Path | None) -> dict[str, Any]:
    """What `--json` prints; `charged` is null where nothing was."""
    outcomes = [asdict(outcome.cell) | outcome.to_json() for outcome in comparison.outcomes]
    for outcome in outcomes:
        outcome["seconds"] = {stage: round(value, 1) for stage, value in outcome["seconds"].items()}
    return {
        "comparison": comparison.name,
        "corpus": comparison.corpus,
        "kind": comparison.kind,
        "parameters": dict(comparison.parameters),
        "charged": None if quote is None else quote.to_json(),
        "outcomes": outcomes,
        "seconds_are_local": True,
        "report": None if report is None else str(report),
    }


def show(comparison: Comparison, report: Path | None) -> None:
    """The same for a person: means over the repeats."""
    together: dict[tuple[object, ...], list[Outcome]] = {}
    for outcome in comparison.outcomes:
        cell = outcome.cell
        together.setdefault((cell.placement, cell.calibration, f"{cell.epsilon:g}"), []).append(outcome)
    measures = [name for name in MEASURES if any(getattr(o, name) is not None for o in comparison.outcomes)]
    rows = []
    for key, outcomes in together.items():
        ended = [outcome for outcome in outcomes if outcome.status == DONE]
        means = (_mean([getattr(outcome, name) for outcome in ended]) for name in measures)
        rows.append((*key, "yes" if outcomes[0].sound else "NO", f"{len(ended)} of {len(outcomes)}", *means))
    table(("placement", "calibration", "epsilon", "placement proven", "done", *measures), rows)
    for message in dict.fromkeys(f"{o.cell}: {o.message}" for o in comparison.outcomes if o.message):
        say(f"  {message}", style="yellow")
    if comparison.simulated:
        say("The noise was simulated: none of these models is private.", style="bold red")
    say(f"Comparison {comparison.name}" + (f"; the report is in {report}" if report is not None else ""))


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{math.fsum(known) / len(known):.3f}" if known else ""
