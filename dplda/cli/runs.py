"""`dplda runs`: what the ledger knows of runs."""

from __future__ import annotations

import math
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.cli.console import print_json, say, table
from dplda.cli.options import json_option, ledger_option, open_ledger

if TYPE_CHECKING:
    from dplda.accounting.events import Event
    from dplda.ledger import RunRecord


@click.group(invoke_without_command=True)
@json_option
@ledger_option
@click.pass_context
def runs(context: click.Context, as_json: bool, ledger_path: Path | None) -> None:
    """List the runs in the ledger, with what each asked for and spent (epsilon, at its delta)."""
    if context.invoked_subcommand is not None:
        context.obj = (as_json, ledger_path)
        return
    records = open_ledger(ledger_path).runs()
    if as_json:
        print_json({"runs": [_json(record) for record in records]})
    elif not records:
        say("No runs yet. Start with: dplda fit CORPUS")
    else:
        columns = ("run", "dataset", "asked", "spent", "delta", "private", "status")
        table(columns, (_row(record) for record in records), wide="status")


@runs.command()
@click.argument("run")
@json_option
@ledger_option
@click.pass_obj
def show(above: tuple[bool, Path | None], run: str, as_json: bool, ledger_path: Path | None) -> None:
    """Show RUN (its id or how that begins): its settings, and what it spent on which stage."""
    record = open_ledger(ledger_path or above[1]).run(run)
    if as_json or above[0]:
        print_json(_json(record))
        return
    facts = {
        "run": record.id,
        "dataset": record.dataset,
        "asked": f"epsilon {record.epsilon:g}, delta {record.delta:g}, {record.adjacency}, unit {record.unit}",
        "spent": f"epsilon {_spent_text(record)}, delta {record.delta:g}",
        "private": _sound(record),
        "status": record.described,
        "model": record.model or "none",
        "begun": f"{record.created:%Y-%m-%d %H:%M} UTC",
    }
    table(("", ""), facts.items(), wide="")
    table(("stage", "mechanism", "noise", "status", "times", "share"), _stages(record))
    if record.seconds:
        seconds = ", ".join(f"{stage} {value:.1f}" for stage, value in record.seconds.items())
        say(f"seconds (not private, not for sharing): {seconds}")


def _row(record: RunRecord) -> tuple[str, ...]:
    asked, delta = f"{record.epsilon:.4g}", f"{record.delta:.4g}"
    return record.id, record.dataset, asked, _spent_text(record), delta, _sound(record), record.described


def _sound(record: RunRecord) -> str:
    return "yes" if record.sound else "NO"


def _spent(record: RunRecord) -> float:
    """epsilon of what counts as spent, at the run's delta; infinite if there is no bound."""
    from dplda.accounting.accountant import gaussian_epsilon

    return gaussian_epsilon(math.sqrt(record.cost.mu_squared), record.delta - record.cost.delta)


def _spent_text(record: RunRecord) -> str:
    from dplda.accounting.events import at_least

    return at_least(_spent(record))


def _json(record: RunRecord) -> dict[str, Any]:
    """The record with what it spent; null stands for an infinite epsilon.

    What a run spent whose end may show documents stands under ``local``, with everything else that is not for sharing.
    """
    epsilon = _spent(record)
    spent = {"epsilon": epsilon if math.isfinite(epsilon) else None, "delta": record.delta}
    shared = spent if record.released else None
    return {**record.to_json(), "spent": shared, "local": {**record.local_json(), "spent": spent}}


def _stages(record: RunRecord) -> list[tuple[object, ...]]:
    """A row for each stage: what its events are, how many, and their share of the run's cost."""
    from dplda.accounting.accountant import cost

    total = record.cost.mu_squared
    bounded = 0 < total < math.inf
    rows: list[tuple[object, ...]] = []
    for key, same in groupby(record.plan, key=lambda planned: (*_described(planned.event), planned.status)):
        events = [planned.event for planned in same]
        counted = bounded and events[0] in record.counted
        share = f"{cost(events).mu_squared / total:.1%}" if counted else ""
        rows.append((*key, sum(event.count for event in events), share))
    return rows


def _described(event: Event) -> tuple[str, str, str]:
    noise = "none" if event.noise_multiplier is None else f"{event.noise_multiplier:.4g} sd"
    return event.stage, event.mechanism, f"epsilon {event.epsilon:g}" if event.epsilon else noise
