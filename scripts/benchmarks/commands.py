"""The command line: what each benchmark measures, against what, and roughly how long it takes.

Commands import what they measure when they run, so that help is quick.
"""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks import quality_commands, research_commands, speed_commands
from benchmarks.options import cli

__all__ = ["cli", "quality_commands", "research_commands", "speed_commands"]  # importing them defines their commands


@cli.command("all")
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--corpora", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with imdb.jsonl.gz, 20news-bydate.tar.gz, medical.jsonl.gz and agnews.jsonl.gz.",
)  # fmt: skip
@click.option(
    "--only", "chosen", multiple=True, metavar="COMMAND", help="Tables of this command. Repeatable; [default: all]"
)
def every(out: Path, corpora: Path, chosen: tuple[str, ...]) -> None:
    """Run every command of docs/benchmarks.md in turn.

    Runs the shell blocks of the page in the folder OUT, in which the names of corpora are links, and writes the output
    of each to a file of its own. Goes on after a failure. Takes several hours for all.
    """
    from benchmarks.page import run

    run(out, corpora, chosen)
