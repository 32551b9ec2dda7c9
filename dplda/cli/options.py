"""Options that several commands share, and how their values become objects."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dplda.cli.console import say
from dplda.errors import InputError
from dplda.text.tokenization import TOKENIZERS

if TYPE_CHECKING:
    from dplda.corpus import Corpus
    from dplda.ledger import Ledger
    from dplda.model import TopicModel

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
ledger_option = click.option(
    "--ledger",
    "ledger_path",
    type=click.Path(path_type=Path),
    help="The ledger file [$DPLDA_LEDGER, else the user data folder].",
)

_READING = (
    click.option("--format", "format", metavar="NAME", help="How CORPUS is written, if its name does not tell."),
    click.option("--text-field", metavar="COLUMN", help="The column that holds the text."),
    click.option("--id-field", metavar="COLUMN", help="The column that names the document."),
    click.option("--unit-field", metavar="COLUMN", help="The column that names the privacy unit, such as a person."),
    click.option("--language", metavar="CODE", help="The language of the text [en]."),
    click.option("--lemmas", is_flag=True, default=None, help="Reduce words to their lemmas."),
    click.option("--tokenizer", type=click.Choice(TOKENIZERS), help="How text is cut into words [spacy]."),
    click.option("--multiline", is_flag=True, help="CSV or TSV with line breaks inside quoted fields."),
    click.option("--encoding", metavar="NAME", help="The text encoding, if it is not UTF-8."),
)
READING_NAMES = (
    "format",
    "text_field",
    "id_field",
    "unit_field",
    "language",
    "lemmas",
    "tokenizer",
    "multiline",
    "encoding",
)


def reading_options(command: Command) -> Command:
    """Add the options that say how to read CORPUS."""
    for option in reversed(_READING):
        command = option(command)
    return command


def read(path: str, options: dict[str, Any], defaults: dict[str, Any] | None = None) -> Corpus:
    """The corpus at `path`, read as `options` say; an option not given takes its value from `defaults`."""
    from dplda.corpus import read_corpus

    given = {name: options[name] for name in READING_NAMES if options.get(name) is not None}
    return read_corpus(path, **(defaults or {}) | given)


def open_ledger(path: Path | None) -> Ledger:
    """The ledger at `path`, or the default one."""
    from dplda.ledger import Ledger

    return Ledger(path)


def open_model(run: str, ledger_path: Path | None) -> TopicModel:
    """The model in the folder `run`, or of the run whose id is or begins with `run`.

    Says on standard error if it is not private. Raises `InputError` if there is none.
    """
    from dplda.model import load
    from dplda.model.files import TEXT_FILE

    if (Path(run) / TEXT_FILE).is_file() or os.sep in run:
        model = load(run)
    else:
        record = open_ledger(ledger_path).run(run)
        if not record.model:
            raise InputError(f"run {record.id} has no model ({record.described}). List runs with `dplda runs`.")
        model = load(record.model)
    if not model.privacy.sound:
        say(f"This model is {model.privacy.reason or 'not proven private'}.", error=True, style="bold red")
    return model


def refuse_existing(path: Path) -> None:
    """Raise `InputError` if there is something at `path`."""
    if path.exists():
        raise InputError(f"{path} exists already. Choose another file or remove it first.")
