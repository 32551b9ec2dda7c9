"""`dplda examples`: public texts that show what each topic is about, or private ones for their holder's eyes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.cli.console import following, print_json, private_notes, say
from dplda.cli.options import (
    GroupedCommand,
    json_option,
    ledger_option,
    model_folder,
    open_ledger,
    open_model,
    quiet_option,
    read_like,
    reading_options,
)

if TYPE_CHECKING:
    from dplda.model import TopicModel
    from dplda.model.examples import Examples

_TITLE_WORDS = 6
_LOCAL = (
    "NOT PRIVATE: these are texts of CORPUS, chosen exactly, for your eyes only. They are in no file and no report. If "
    "you name topics or choose examples after reading them, what you publish tells something of these texts."
)


@click.command(cls=GroupedCommand)
@click.argument("run")
@click.argument("corpus", metavar="PUBLIC...", nargs=-1, required=True)
@click.option("--each", default=3, type=click.IntRange(1, 20), help="Number of texts for each topic.")
@click.option(
    "--local",
    is_flag=True,
    help="PUBLIC is your private corpus instead: show its texts to you alone. NOT PRIVATE, and never saved.",
)
@reading_options
@json_option
@quiet_option
@ledger_option
def examples(
    run: str,
    corpus: tuple[str, ...],
    each: int,
    local: bool,
    as_json: bool,
    quiet: bool,
    ledger_path: Path | None,
    **options: Any,
) -> None:
    """Show texts of PUBLIC that are most clearly about each topic of RUN. Costs no budget.

    PUBLIC must be text that anybody may read: its texts are printed, and saved with the model, so that `dplda report`
    shows them beside the topics. The topics choose them, and the private documents of RUN are not read.

    A text must have at least five words that the topics know, which are at least a fifth of its words. It is about a
    topic if at least half of these known words are.
    """
    from dplda.model.examples import save
    from dplda.runs.examples import examples as find_examples

    model = open_model(run, ledger_path)
    source = read_like(corpus, options, model.facts.reading)
    with following(quiet=as_json or quiet) as progress:
        ledger = None if local else open_ledger(ledger_path)
        found = find_examples(model, source, each, ledger=ledger, local=local, progress=progress)
    private_notes([*found.notes, *([found.left_out] if found.left_out and local else [])])
    if found.left_out and not local:
        say(found.left_out, error=True)
    file = None if local else save(found, model, model_folder(run, ledger_path))
    if as_json:
        marks = {"private": False, "warning": _LOCAL} if local else {"private": model.privacy.sound}
        print_json({"run": model.facts.run, **marks, **found.to_json()} | ({} if file is None else {"file": str(file)}))
        return
    if local:
        say(_LOCAL, style="bold red")
    _show(found, model)
    if file is not None:
        say("")
        say(f"Saved in {file}: dplda report {shlex.quote(run)} shows these texts. To leave them out, delete this file.")


def _show(found: Examples, model: TopicModel) -> None:
    from dplda.runs.examples import RULE

    titles = model.titles(_TITLE_WORDS)
    for topic, texts in found.listed():
        say(f"{topic} {titles[topic]}", style="bold")
        for each in texts:
            say(f"  {each.text}")
        if not texts:
            say("  (no text with enough known words is mainly about this topic)")
    say("")
    few = f"{found.unknown:,} of {found.texts:,}"
    say(f"Texts with too few known words to be about a topic: {few}. A text needs {RULE}.")
