"""The group of all commands, and the options that they share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dplda.base.errors import DpldaError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

CORPORA = ("imdb", "news", "medical", "agnews", "synthetic")
SYSTEMS = ("dplda", "variational", "tomotopy", "gensim", "random")
PEERS = ("dplda", "dplda-exposed", "tomotopy", "tensorly")
RARE_GIVEN = ("nothing", "seed words", "prior")
RIVALS = (
    "dplda", "manzonelli", "tomotopy", "gensim", "sklearn", "nmf", "bertopic",
    "dplda, automatic", "bertopic, automatic",
)  # fmt: skip
RIVAL_CORPORA = ("tweets", "few-posts", "posts", "abstracts", "news-items")
POISONED = ("tomotopy", "dplda, no noise", "dplda, epsilon 8", "dplda, epsilon 4", "dplda, epsilon 1")
POISON_QUESTIONS = ("attribute", "presence")
PRIOR_CASES = ("few-posts", "medical", "posts", "reviews", "news-items", "half-medical", "titles")
RAW_FILES = {
    "imdb": "Film reviews (.jsonl.gz with a `text`).",
    "news": "20 newsgroups (tar archive).",
    "medical": "Medical abstracts (.jsonl.gz with a `text`).",
    "agnews": "News items (.jsonl.gz with a `text`).",
}
AUDITED = ("mechanisms", "placements", "broken", "published")
TESTED = ("one-run", "odds", "divergences")


def listed(convert: Callable[[str], T]) -> Callable[[Any, click.Parameter, str | None], list[T] | None]:
    """A callback for values separated by commas."""

    def split(_: Any, parameter: click.Parameter, value: str | None) -> list[T] | None:
        try:
            return None if value is None else [convert(part.strip()) for part in value.split(",")]
        except ValueError as error:
            raise click.BadParameter(f"{error}. Separate values by commas.", param=parameter) from None

    return split


def epsilon_or_none(text: str) -> float | None:
    """A budget, or None for 'none': no noise."""
    return None if text == "none" else float(text)


def option(name: str, default: Any, help_text: str, **more: Any) -> Callable[[F], F]:
    """An option that shows its default."""
    return click.option(name, default=default, show_default=True, help=help_text, **more)


def list_option(name: str, default: str, convert: Callable[[str], Any], help_text: str) -> Callable[[F], F]:
    """An option for values separated by commas."""
    return click.option(
        name, default=default, show_default=True, metavar="X,X,...", callback=listed(convert), help=help_text
    )


def choices(name: str, variable: str, known: tuple[str, ...], help_text: str) -> Callable[[F], F]:
    """An option that can be given several times; all of `known` if it is not given."""
    return click.option(
        name,
        variable,
        type=click.Choice(known),
        multiple=True,
        default=known,
        help=f"{help_text} Repeatable; [default: all]",
    )


def file_option(name: str, help_text: str, **more: Any) -> Callable[[F], F]:
    """An option that names a file or folder."""
    return click.option(name, type=click.Path(path_type=Path), help=help_text, **more)


def corpora_files(*names: str, required: bool = True) -> Callable[[F], F]:
    """Options for the raw files of real corpora."""

    def add(command: F) -> F:
        for name in reversed(names):
            command = file_option(f"--{name}", RAW_FILES[name], required=required)(command)
        return command

    return add


store_argument = click.argument("store", type=click.Path(exists=True, file_okay=False, path_type=Path))


def planted_store(command: F) -> F:
    """A planted store, and its size."""
    command = option("--words", 20_000, "Words of the store.")(command)
    command = click.option("--topics", type=int, required=True, help="Planted topics of the store.")(command)
    return store_argument(command)


def kernels_of_store(command: F) -> F:
    """A planted store, and what kernels sum of it how often."""
    command = option("--repeats", 5, "Runs of each kernel; the best one counts.")(command)
    command = option("--documents", 200_000, "First documents to use.")(command)
    command = option("--vocabulary", 5000, "First words to use.")(command)
    return planted_store(command)


source_argument = click.argument("source", type=click.Path(exists=True, path_type=Path))
topics_option = option("--topics", 20, "Topics to learn.")
epsilon_option = option("--epsilon", 2.0, "Privacy budget of a fit.")
repeats_option = option("--repeats", 3, "Runs of each system; tables show medians.")
results_option = file_option("--results", "JSON lines; new records are appended.", required=True)
draw_option = file_option("--draw", "Only print tables and draw figures into this folder.", metavar="FOLDER")


class Commands(click.Group):
    """Lists commands in the order in which they are defined."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what dplda refuses is told in one line."""
        try:
            return super().invoke(ctx)
        except DpldaError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, context_settings={"max_content_width": 120, "help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure dplda: the quality of its topics, its speed and memory, and what attacks find out.

    Tables are printed as Markdown. Ledgers, caches and models are temporary. Install the extra `bench` for the peers
    and figures: pip install -e '.[bench]'.

    A SOURCE of counts is a prepared store (a folder), a SciPy matrix (.npz), JSON lines with a `text` (.jsonl.gz)
    or the archive of 20 newsgroups (.tar.gz). A STORE is one that `store` wrote.
    """
    os.environ.setdefault("DPLDA_WITNESS", "off")  # temporary ledgers need none


def store_fit(command: F) -> F:
    """A store, and the fit of it."""
    command = option("--vocabulary", 0, "First words that are a public vocabulary; 0: words are chosen.")(command)
    command = option("--words", 20_000, "Most words to choose privately.")(command)
    return store_argument(topics_option(command))
