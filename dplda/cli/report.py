"""`dplda report`: one HTML page about saved runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dplda.cli.console import print_json, say
from dplda.cli.options import find_ledger, json_option, ledger_option, open_model, refuse_existing

if TYPE_CHECKING:
    from dplda.model import TopicModel


def _guarantees(models: Sequence[TopicModel], ledger_path: Path | None) -> dict[str, str]:
    """What holds of all runs on the datasets of `models`, as far as there is a ledger that knows them."""
    ledger = find_ledger(ledger_path)
    runs = {model.parameters.get("run") for model in models}
    records = [] if ledger is None else [record for record in ledger.datasets() if runs.intersection(record.runs)]
    return {record.name: record.guaranteed_alone.described(record.grant) for record in records}


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The new HTML file.",
)
@json_option
@ledger_option
def report(runs: tuple[str, ...], output: Path, as_json: bool, ledger_path: Path | None) -> None:
    """Write one HTML page about each RUN, from released numbers alone; it opens offline."""
    from dplda.report import write_report

    refuse_existing(output)
    models = [open_model(run, ledger_path) for run in runs]
    write_report(models, output, guarantees=_guarantees(models, ledger_path))
    if as_json:
        named = [model.parameters.get("run") for model in models]
        print_json({"runs": named, "report": str(output), "private": all(model.privacy.sound for model in models)})
    else:
        say(f"Wrote {output}. Open it in a browser; it needs no network.")
