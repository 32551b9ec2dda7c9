"""`dplda software`: the code and libraries that made a run, and whether the same are installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dplda.base.software import described, differences, recorded
from dplda.base.software import software as software_of
from dplda.cli.console import print_json, say, table
from dplda.cli.options import json_option, ledger_option, open_ledger


@click.command()
@click.argument("run", required=False)
@json_option
@ledger_option
def software(run: str | None, as_json: bool, ledger_path: Path | None) -> None:
    """Show versions and digests of the installed code and libraries, or compare them with the software of RUN.

    RUN is an id or its beginning, a dataset for its latest run, or a model folder. What is shown is public, and holds
    no path and no name of a machine or user. The page Verify of the documentation says how to match a digest with a
    release.
    """
    from dplda.private.noise import EXACT_SOURCE

    present = software_of(EXACT_SOURCE)
    if run is None:
        if as_json:
            print_json(present)
        else:
            _show(present)
        return
    name, parameters = _run(run, ledger_path)
    made_by = recorded(parameters)
    same = None if made_by is None else made_by.get("code") == present["code"]
    different = [] if made_by is None else differences(made_by, present)
    if as_json:
        listed = [{"name": name, "run": then, "installed": now} for name, then, now in different]
        print_json({"run": name, "software": made_by, "same_code": same, "differences": listed})
    elif made_by is None:
        say(f"Run {name} does not say by which code it was made: it is of an earlier version.")
    else:
        say(f"Run {name} was made by {described(made_by)}: {'the' if same else 'NOT the'} code that is installed here.")
        if different:
            table(("software", "of the run", "installed here"), different, wide="of the run")
        else:
            say("All libraries are the same, too.")


def _run(run: str, ledger_path: Path | None) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of a run in the ledger or of a model folder."""
    if os.sep in run or os.path.isdir(run):
        from dplda.model import load

        model = load(run)
        return str(model.parameters.get("run", "without a name")), dict(model.parameters)
    record = open_ledger(ledger_path).run(run)
    return record.id, dict(record.parameters)


def _show(present: dict[str, Any]) -> None:
    say(f"dplda {present['dplda']}, Python {present['python']}, {present['system']}")
    say(f"code {present['code']}")
    say(f"noise {present['noise']}")
    rows = [(name, facts["version"], facts["digest"] or "none") for name, facts in present["libraries"].items()]
    table(("library", "version", "digest of its list of files"), rows, wide="digest of its list of files")
