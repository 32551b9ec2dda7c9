"""`dplda runs`: what the ledger knows of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dplda.cli.console import print_json, say, table
from dplda.cli.options import json_option, ledger_option, open_ledger

if TYPE_CHECKING:
    from dplda.ledger import PlannedEvent, RunRecord


@click.group(invoke_without_command=True)
@json_option
@ledger_option
@click.pass_context
def runs(context: click.Context, as_json: bool, ledger_path: Path | None) -> None:
    """List the runs in the ledger, with what each asked for."""
    if context.invoked_subcommand is not None:
        context.obj = (as_json, ledger_path)
        return
    records = open_ledger(ledger_path).runs()
    if as_json:
        print_json({"runs": [record.to_json() for record in records]})
    elif not records:
        say("No runs yet. Start with: dplda fit CORPUS")
    else:
        rows = ((r.id, r.dataset, f"{r.epsilon:g}", f"{r.delta:g}", _sound(r), r.described) for r in records)
        table(("run", "dataset", "epsilon", "delta", "private", "status"), rows, wide="status")


@runs.command()
@click.argument("run")
@json_option
@ledger_option
@click.pass_obj
def show(above: tuple[bool, Path | None], run: str, as_json: bool, ledger_path: Path | None) -> None:
    """Show RUN (its id or how that begins): its settings, and what it spent on which stage."""
    record = open_ledger(ledger_path or above[1]).run(run)
    if as_json or above[0]:
        print_json(record.to_json())
        return
    facts = {
        "run": record.id,
        "dataset": record.dataset,
        "asked": f"epsilon {record.epsilon:g}, delta {record.delta:g}, {record.adjacency}, unit {record.unit}",
        "private": _sound(record),
        "status": record.described,
        "model": record.model or "none",
        "begun": f"{record.created:%Y-%m-%d %H:%M} UTC",
    }
    table(("", ""), facts.items(), wide="")
    table(("stage", "mechanism", "noise", "times", "status", "share"), _stages(record))
    if record.seconds:
        seconds = ", ".join(f"{stage} {value:.1f}" for stage, value in record.seconds.items())
        say(f"seconds (not private, not for sharing): {seconds}")


def _sound(record: RunRecord) -> str:
    return "yes" if record.sound else "NO"


def _stages(record: RunRecord) -> list[tuple[object, ...]]:
    """A row for each planned event: what it is, and its share of the run's cost."""
    total = record.cost.mu_squared
    return [(*_described(planned), planned.status, _share(planned, record, total)) for planned in record.plan]


def _described(planned: PlannedEvent) -> tuple[object, ...]:
    event = planned.event
    noise = "none" if event.noise_multiplier is None else f"{event.noise_multiplier:.4g} sd"
    return event.stage, event.mechanism, f"epsilon {event.epsilon:g}" if event.epsilon else noise, event.count


def _share(planned: PlannedEvent, record: RunRecord, total: float) -> str:
    from dplda.privacy.accountant import cost

    if planned.event not in record.counted or not 0 < total < float("inf"):
        return ""
    return f"{cost([planned.event]).mu_squared / total:.1%}"
