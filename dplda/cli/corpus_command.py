"""`dplda corpus`: prepare a corpus once, show its public facts, write a synthetic one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dplda.base.errors import LedgerError
from dplda.cli.console import following, print_json, private_notes, say, table
from dplda.cli.options import (
    category_options,
    find_categories,
    group_field_option,
    json_option,
    ledger_option,
    open_ledger,
    quiet_option,
    read,
    reading_options,
)


@click.group()
def corpus() -> None:
    """Prepare corpora and show their public facts."""


@corpus.command("import")
@click.argument("source", metavar="CORPUS...", nargs=-1, required=True)
@click.argument("destination", metavar="STORE", type=click.Path(path_type=Path))
@reading_options
@group_field_option
@category_options
@click.option("--restart", is_flag=True, help="Discard the partial store of an interrupted import, and start over.")
@json_option
@quiet_option
@ledger_option
def import_(
    source: tuple[str, ...],
    destination: Path,
    restart: bool,
    as_json: bool,
    quiet: bool,
    ledger_path: Path | None,
    **options: Any,
) -> None:
    """Read CORPUS once, and write its word counts to STORE.

    STORE is a new folder, which every command accepts as CORPUS. It is as private as the documents, and only its owner
    can read it. After an interruption (Ctrl-C, a full disk, a power cut), the same command resumes from the partial
    store in the folder .STORE.partial next to STORE. STORE also holds the keyed hash by which the ledger recognises
    the documents, so that `dplda fit` with this ledger needs one pass less over them.
    """
    categories = find_categories(options)
    opened = read(source, options)
    if categories is not None:
        opened = opened.asking(categories)
    key = _ledger_key(ledger_path)
    with following(quiet=as_json or quiet) as progress:
        opened.write(destination, progress, restart=restart, notice=_note, key=key)
    private_notes(opened.notes)
    if as_json:
        print_json({"store": str(destination), "name": opened.name, "unit": opened.unit})
    else:
        say(f"Prepared {opened.name} in {destination}. It is as private as the documents themselves.")


def _ledger_key(path: Path | None) -> bytes | None:
    """Return the key of the ledger at `path`, or of the default ledger, which is created if it does not exist.

    None, with a warning, if the default ledger cannot be used, because an import does not need it. Raises `LedgerError`
    if the ledger at `path` cannot be used.
    """
    try:
        return open_ledger(path).key
    except LedgerError as error:
        if path is not None:
            raise
        _note(f"{error} The store will hold no fingerprint: each fit computes its own.")
        return None


def _note(line: str) -> None:
    say(line, error=True, style="yellow")


@corpus.command()
@click.argument("source", metavar="CORPUS...", nargs=-1, required=True)
@reading_options
@json_option
def info(source: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Show public facts of CORPUS.

    Nothing that depends on the contents of documents is read.
    """
    opened = read(source, options)
    words = opened.public_vocabulary
    if as_json:
        print_json(
            {"name": opened.name, "unit": opened.unit, "public_vocabulary": None if words is None else len(words)}
        )
        return
    rows = (
        ("dataset", opened.name),
        ("one unit is", opened.unit),
        ("public vocabulary", "none: chosen privately" if words is None else f"{len(words)} words"),
    )
    table(("", ""), rows, wide="")


@corpus.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    default="reviews",
    show_default=True,
    type=click.Choice(["reviews", "notes"]),
    help="Short reviews on eight known themes, or clinical notes of invented patients.",
)
@click.option("--documents", type=click.IntRange(min=1), help="Number of documents [20,000 reviews, or 8,000 notes].")
@click.option("--seed", default=0, type=click.IntRange(min=0), help="Seed of the generated text.")
@json_option
def sample(directory: Path, kind: str, documents: int | None, seed: int, as_json: bool) -> None:
    """Write a sample corpus of generated documents into DIRECTORY.

    The documents are readable. No person wrote them, and they are about no real person.
    """
    from dplda.runs.sample import write_notes, write_sample

    samples: dict[str, tuple[Callable[..., Path], int]] = {
        "reviews": (write_sample, 20_000),
        "notes": (write_notes, 8_000),
    }
    write, usual = samples[kind]
    documents = documents or usual
    path = write(directory, documents, seed=seed)
    if as_json:
        print_json({"directory": str(directory), "documents": documents, "seed": seed})
    else:
        say(f"Wrote {documents} generated documents into {path}. Nothing in it is private.")
