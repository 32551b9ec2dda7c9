"""`dplda corpus`: prepare a corpus once, look at public facts of it, write a synthetic one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dplda.cli.console import following, print_json, private_notes, say, table
from dplda.cli.options import json_option, ledger_option, open_ledger, read, reading_options
from dplda.errors import LedgerError


@click.group()
def corpus() -> None:
    """Prepare and look at corpora."""


@corpus.command("import")
@click.argument("source", metavar="CORPUS")
@click.argument("destination", metavar="STORE", type=click.Path(path_type=Path))
@reading_options
@click.option("--restart", is_flag=True, help="Discard what a stopped import left, and start over.")
@json_option
@ledger_option
def import_(
    source: str, destination: Path, restart: bool, as_json: bool, ledger_path: Path | None, **options: Any
) -> None:
    """Read CORPUS once and write it as a prepared store, a new folder that every command takes as CORPUS.

    The store is as private as the documents: only its owner may read it. Where this command was stopped, by Ctrl-C, a
    full disk or a power cut, the same command resumes from what it left in the folder .STORE.partial beside STORE.
    STORE keeps the fingerprint of its documents under the ledger's key, so that `dplda fit` with this ledger need not
    take it.
    """
    found = read(source, options)
    key = _ledger_key(ledger_path)
    with following(quiet=as_json) as progress:
        found.write(destination, progress, restart=restart, notice=_note, key=key)
    private_notes(found.notes)
    if as_json:
        print_json({"store": str(destination), "name": found.name, "unit": found.unit})
    else:
        say(f"Prepared {found.name} in {destination}. It is as private as the documents themselves.")


def _ledger_key(path: Path | None) -> bytes | None:
    """The key of the ledger at `path`, or of the default one, which is made if absent; None if that cannot be used.

    Nobody asked for the default ledger, and an import can do without. Raises `LedgerError` for one that was named.
    """
    try:
        return open_ledger(path).key
    except LedgerError as error:
        if path is not None:
            raise
        _note(f"{error} The store will hold no fingerprint: every fit of it takes its own.")
        return None


def _note(line: str) -> None:
    say(line, error=True, style="yellow")


@corpus.command()
@click.argument("source", metavar="CORPUS")
@reading_options
@json_option
def info(source: str, as_json: bool, **options: Any) -> None:
    """Show public facts of CORPUS: nothing that depends on what the documents say is read."""
    found = read(source, options)
    words = found.public_vocabulary
    facts = {
        "name": found.name,
        "unit": found.unit,
        "public_vocabulary": None if words is None else len(words),
    }
    if as_json:
        print_json(facts)
        return
    rows = (
        ("dataset", found.name),
        ("one unit is", found.unit),
        ("public vocabulary", "none: chosen privately" if words is None else f"{len(words)} words"),
    )
    table(("", ""), rows, wide="")


@corpus.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--documents", default=20_000, show_default=True, type=click.IntRange(min=1), help="How many.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Another seed, other text.")
@json_option
def sample(directory: Path, documents: int, seed: int, as_json: bool) -> None:
    """Write a synthetic corpus of readable documents on eight planted themes into DIRECTORY."""
    from dplda.datasets.sample import write_sample

    write_sample(directory, n_documents=documents, seed=seed)
    if as_json:
        print_json({"directory": str(directory), "documents": documents, "seed": seed})
    else:
        say(f"Wrote {documents} synthetic documents into {directory}. Nothing in it is private.")
