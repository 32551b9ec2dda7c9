"""Options that several commands share, and how their values become objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dplda.cli.console import say
from dplda.config import ADJACENCIES, ExecutionSettings, ModelSettings, PrivacySettings, VocabularySettings
from dplda.errors import InputError
from dplda.readers.reading_options import Reading
from dplda.tokenize.tokenization import TOKENIZERS

if TYPE_CHECKING:
    from dplda.corpus import Corpus
    from dplda.ledger import Ledger
    from dplda.model import TopicModel

Command = TypeVar("Command", bound=Callable[..., Any])

PRIVACY, VOCABULARY, MODEL, EXECUTION = PrivacySettings(), VocabularySettings(), ModelSettings(), ExecutionSettings()
MODELS = Path("models")

epsilon_option = click.option(
    "--epsilon", default=PRIVACY.epsilon, show_default=True, help="Privacy budget of the run (nats)."
)
delta_option = click.option("--delta", default=PRIVACY.delta, show_default=True, help="Failure probability of one run.")
adjacency_option = click.option(
    "--adjacency",
    type=click.Choice(ADJACENCIES),
    default=PRIVACY.adjacency,
    show_default=True,
    help="What a neighbouring corpus is: one unit added or removed, or replaced.",
)
dataset_option = click.option("--dataset", metavar="NAME", help="The name that owns the budget [the name of CORPUS].")
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
    click.option(
        "--one-line", is_flag=True, default=None, help="CSV or TSV: each line is one record, whatever it holds."
    ),
    click.option(
        "--multiline", is_flag=True, default=None, hidden=True, help="Does nothing: quoted line breaks are read."
    ),
    click.option("--encoding", metavar="NAME", help="The text encoding, if it is not UTF-8."),
    click.option("--pattern", metavar="GLOB", help="Read only the files of a folder that match, as '*.csv'."),
)
_LEARNING = (
    click.option(
        "--max-vocabulary", default=VOCABULARY.max_vocabulary, show_default=True, help="Most words to choose."
    ),
    click.option(
        "--max-document-frequency",
        default=VOCABULARY.max_document_frequency,
        show_default=True,
        help="Drop words in a larger share of documents, by noisy frequency.",
    ),
    click.option("--alpha0", default=MODEL.alpha0, show_default=True, help="Sum of the Dirichlet prior."),
)
READING_NAMES = tuple(Reading.__annotations__)


def reading_options(command: Command) -> Command:
    """Add the options that say how to read CORPUS."""
    return _with(_READING, command)


def learning_options(command: Command) -> Command:
    """Add the options that say which words are kept and what topics are like."""
    return _with(_LEARNING, command)


def _with(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def topic_count(value: str | int) -> str | int:
    """``auto``, or the whole number that `value` is; raises `BadParameter` otherwise."""
    try:
        return value if value == "auto" else int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a whole number nor auto.") from None


def read(path: str, options: dict[str, Any], defaults: dict[str, Any] | None = None) -> Corpus:
    """The corpus at `path`, read as `options` say; an option not given takes its value from `defaults`."""
    from dplda.corpus import read_corpus

    given = {name: options[name] for name in READING_NAMES if options.get(name) is not None}
    return read_corpus(path, **(defaults or {}) | given)


def open_ledger(path: Path | None) -> Ledger:
    """The ledger at `path`, or the default one."""
    from dplda.ledger import Ledger

    return Ledger(path)


def find_ledger(path: Path | None) -> Ledger | None:
    """The ledger at `path`, or the default one, if it is there."""
    from dplda.ledger.database import default_path

    place = path or default_path()
    return open_ledger(place) if os.path.exists(place) else None


def open_model(run: str, ledger_path: Path | None) -> TopicModel:
    """The model in the folder `run`, or of the run whose id is or begins with `run`.

    Says on standard error if it is not private. Raises `InputError` if there is none.
    """
    from dplda.model import load
    from dplda.model.model_files import TEXT_FILE

    if os.path.isfile(Path(run) / TEXT_FILE) or os.sep in run:
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
    if os.path.exists(path):
        raise InputError(f"{path} exists already. Choose another file or remove it first.")
