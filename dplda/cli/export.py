"""`dplda export`: hand a released model to other tools."""

from __future__ import annotations

from pathlib import Path

import click

from dplda.cli.console import print_json, say
from dplda.cli.options import json_option, ledger_option, open_model

KINDS = ("gensim", "csv", "json", "pyldavis")


@click.command()
@click.argument("run")
@click.option("--to", "kind", required=True, type=click.Choice(KINDS), help="The tool or format.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where to write; must not exist yet.")
@json_option
@ledger_option
def export(run: str, kind: str, out: Path, as_json: bool, ledger_path: Path | None) -> None:
    """Write the model of RUN for another tool."""
    from dplda.model import export as write

    model = open_model(run, ledger_path)
    files = [str(path) for path in write(model, kind, out)]
    if as_json:
        print_json({"run": model.parameters.get("run"), "to": kind, "files": files})
    else:
        say(f"Wrote {', '.join(files)}.")
        if kind == "gensim":
            say(f'Open it with: gensim.models.LdaModel.load("{out}")')
