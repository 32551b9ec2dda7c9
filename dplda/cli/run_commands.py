"""Commands on saved runs: `dplda runs`, `transform`, and `software`, which shows the code that made a run."""

from __future__ import annotations

import io
import math
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dplda.base.software import describe, differences, installed_software, software_of
from dplda.budget.events import at_least
from dplda.cli.console import following, print_json, private_notes, say, table, write_file
from dplda.cli.options import (
    GroupedCommand,
    json_option,
    ledger_option,
    open_ledger,
    open_model,
    quiet_option,
    read_like,
    reading_options,
)
from dplda.model.exporters import csv_text
from dplda.model.topic_model import refuse_existing

if TYPE_CHECKING:
    from dplda.budget import PlannedEvent, RunRecord
    from dplda.runs.proportions import Proportions


_OWNER_ONLY = 0o600


@click.group(invoke_without_command=True)
@json_option
@ledger_option
@click.pass_context
def runs(context: click.Context, as_json: bool, ledger_path: Path | None) -> None:
    """List the runs in the ledger, with the epsilon that each requested and spent, at its own delta."""
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
def show(group_options: tuple[bool, Path | None], run: str, as_json: bool, ledger_path: Path | None) -> None:
    """Show the settings of RUN and what each stage spent.

    RUN is a run id or its first characters, or the name of a dataset (for its latest run).
    """
    group_json, group_ledger = group_options
    record = open_ledger(ledger_path or group_ledger).run(run)
    if as_json or group_json:
        print_json(_json(record))
        return
    facts = {
        "run": record.id,
        "dataset": record.dataset,
        "asked": f"epsilon {record.epsilon:g}, delta {record.delta:g}, {record.adjacency}, unit {record.unit}",
        "spent": f"epsilon {at_least(_spent(record))}, delta {record.delta:g}",
        "private": "yes" if record.sound else "NO",
        "status": record.status_in_words,
        "model": record.model or "none",
        "software": "not recorded" if (made_by := software_of(record.parameters)) is None else describe(made_by),
        "begun": f"{record.created:%Y-%m-%d %H:%M} UTC",
    }
    table(("", ""), facts.items(), wide="")
    table(("stage", "mechanism", "noise", "status", "times", "share"), _stages(record))
    say(
        "Multiplier: the standard deviation of the noise, divided by the most that one unit can change the sum. Share: "
        "of what the run spent."
    )
    if record.seconds:
        seconds = ", ".join(f"{stage} {value:.1f}" for stage, value in record.seconds.items())
        say(f"seconds (not private, not for sharing): {seconds}")


def _row(record: RunRecord) -> tuple[str, ...]:
    requested, spent, delta = f"{record.epsilon:.4g}", at_least(_spent(record)), f"{record.delta:.4g}"
    status = record.status_in_words
    if record.parameters.get("kind"):
        status += f", {_answered(record)}"
    return record.id, record.dataset, requested, spent, delta, "yes" if record.sound else "NO", status


def _answered(record: RunRecord) -> str:
    """Say what `record` released, or was asked for if it released nothing, in words."""
    from dplda.budget.ledger_records import released_in_words
    from dplda.runs.plan_parts import is_plan, reasons_of

    what = released_in_words(record.parameters)
    if record.result is None:
        return f"asked for {what}"
    reasons = reasons_of(record) if is_plan(record) else []
    return what if not any(reasons) else f"answers to {reasons.count('')} of {len(reasons)} questions"


def _spent(record: RunRecord) -> float:
    """Return the epsilon charged, at the run's delta; infinite if there is no bound."""
    from dplda.budget.accountant import gaussian_epsilon

    return gaussian_epsilon(math.sqrt(record.cost.mu_squared), record.delta - record.cost.delta)


def _json(record: RunRecord) -> dict[str, Any]:
    """Return the record and the epsilon that it spent; null stands for an infinite epsilon.

    The key ``local`` holds what must not be shared. If the run released nothing, only ``local`` holds the
    amount that it spent, because that amount may depend on documents.
    """
    epsilon = _spent(record)
    spent = {"epsilon": epsilon if math.isfinite(epsilon) else None, "delta": record.delta}
    shared = spent if record.released else None
    return {**record.to_json(), "spent": shared, "local": {**record.local_json(), "spent": spent}}


def _stages(record: RunRecord) -> list[tuple[object, ...]]:
    """Make table rows: each stage's mechanism, noise, status, number of events and share of the run's cost."""
    from dplda.budget.accountant import cost

    def row_of(planned: PlannedEvent) -> tuple[str, str, str, str]:
        event = planned.event
        noise = "none" if event.noise_multiplier is None else f"multiplier {event.noise_multiplier:.4g}"
        return event.stage, event.mechanism, f"epsilon {event.epsilon:g}" if event.epsilon else noise, planned.status

    total = record.cost.mu_squared
    rows: list[tuple[object, ...]] = []
    unfinished = len(record.counted) == len(record.plan)  # then planned events count as spent, too
    for key, group in groupby(record.plan, key=row_of):
        same = list(group)
        events = [planned.event for planned in same]
        counted = 0 < total < math.inf and (same[0].charged or unfinished)
        share = f"{cost(events).mu_squared / total:.1%}" if counted else ""
        rows.append((*key, sum(event.count for event in events), share))
    return rows


@click.command(cls=GroupedCommand)
@click.argument("run")
@click.argument("corpus")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="Write to this new .csv or .npz file [CSV on standard output].",
)
@reading_options
@json_option
@quiet_option
@ledger_option
def transform(
    run: str, corpus: str, out: Path | None, as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any
) -> None:
    """Infer the topic proportions of each document of CORPUS under the topics of RUN. NOT PRIVATE.

    RUN is a run id or its first characters, the name of a dataset (for its latest run), or a model folder.
    Its language and tokenizer are used unless options say otherwise. Words that the model does not know are left out,
    and their number is shown. The last column tells how many words of each document are known: one without any gets
    the average proportions.
    """
    from dplda.runs.proportions import infer

    if out is not None:
        if out.suffix not in (".csv", ".npz"):
            raise click.UsageError("--out must end in .csv or .npz.")
        refuse_existing(out)
    model = open_model(run, ledger_path)
    source = read_like([corpus], options, model.facts.reading)
    with following(quiet=as_json or quiet) as progress:
        found = infer(model, source, progress)
    private_notes(source.notes)
    unknown, total = found.unknown_tokens, found.tokens
    if out is not None:
        content = io.BytesIO(_csv(found).encode())
        if out.suffix == ".npz":
            content = io.BytesIO()
            np.savez(
                content,
                ids=np.array(found.ids, np.str_),
                proportions=found.values,
                known_words=found.known_words,
                not_private=np.array(True),
            )
        write_file(out, content.getvalue(), _OWNER_ONLY)
    if as_json:
        record = {"run": model.facts.run, "private": found.private, "warning": found.warning}
        rows = zip(found.ids, found.values.tolist(), found.known_words.tolist(), strict=True)
        listed = [{"id": name, "proportions": row, "known_words": known} for name, row, known in rows]
        result = {"out": str(out)} if out is not None else {"documents": listed}
        print_json({**record, "unknown_tokens": unknown, "tokens": total, **result})
        return
    say(found.warning, error=True, style="bold red")
    share = unknown / total if total else 0.0
    say(f"{unknown} of {total} words ({share:.1%}) are unknown to the model and were left out.", error=True)
    if out is None:
        click.echo(_csv(found), nl=False)
    else:
        say(f"Wrote {len(found)} documents to {out}.", error=True)


def _csv(found: Proportions) -> str:
    """Return a row per document; each column's name says that it is not private."""
    topics = (f"topic {k} (not private)" for k in range(found.values.shape[1]))
    rows = (
        [name, *map("{:.6g}".format, row), str(known)]
        for name, row, known in zip(found.ids, found.values, found.known_words.tolist(), strict=True)
    )
    return csv_text(["document", *topics, "known words (not private)"], rows)


@click.command()
@click.argument("run", required=False)
@json_option
@ledger_option
def software(run: str | None, as_json: bool, ledger_path: Path | None) -> None:
    """Show versions and digests of the installed code and libraries, or compare them with those that made RUN.

    RUN is a run id or its first characters, the name of a dataset (for its latest run), or a model folder.
    The output is public: it contains no path and no name of a machine or user. The page Verify of the documentation
    explains how to match a digest with a release.
    """
    from dplda.private.noise import EXACT_SOURCE
    from dplda.runs.series import is_path

    present = installed_software(EXACT_SOURCE)
    if run is None:
        if as_json:
            print_json(present)
        else:
            _show(present)
        return
    if is_path(run):
        from dplda.model import load

        facts = load(run).facts
        name, made_by = facts.run or "without a name", software_of(facts.to_json())
    else:
        record = open_ledger(ledger_path).run(run)
        name, made_by = record.id, software_of(record.parameters)
    same = None if made_by is None else made_by.get("code") == present["code"]
    different = [] if made_by is None else differences(made_by, present)
    if as_json:
        listed = [{"name": name, "run": then, "installed": now} for name, then, now in different]
        print_json({"run": name, "software": made_by, "same_code": same, "differences": listed})
    elif made_by is None:
        say(f"Run {name} does not record the code that made it: it is of an earlier version.")
    else:
        say(f"Run {name} was made by {describe(made_by)}: {'the' if same else 'NOT the'} code that is installed here.")
        if different:
            table(("software", "of the run", "installed here"), different, wide="of the run")
        else:
            say("All libraries are the same, too.")


def _show(present: dict[str, Any]) -> None:
    say(f"dplda {present['dplda']}, Python {present['python']}, {present['system']}")
    say(f"code {present['code']}")
    say(f"noise {present['noise']}")
    rows = [(name, facts["version"], facts["digest"] or "none") for name, facts in present["libraries"].items()]
    table(("library", "version", "digest of its list of files"), rows, wide="digest of its list of files")
