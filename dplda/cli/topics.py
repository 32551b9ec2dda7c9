"""`dplda topics`: look at the topics of a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.cli.console import print_json, table
from dplda.cli.options import json_option, ledger_option, open_model, refuse_existing
from dplda.errors import InputError

if TYPE_CHECKING:
    from dplda.model import TopicModel


@click.command()
@click.argument("run")
@click.option("--top", default=10, show_default=True, type=click.IntRange(min=1), help="Words of each topic.")
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path),
    help="Write them to this new CSV file, and what is promised beside it.",
)
@json_option
@ledger_option
def topics(run: str, top: int, csv_file: Path | None, as_json: bool, ledger_path: Path | None) -> None:
    """Show the topics of RUN, a run of the ledger (its id or how that begins) or a model folder."""
    model = open_model(run, ledger_path)
    if csv_file is not None:
        _write_csv(model, top, csv_file)
    if as_json:
        run_id = model.parameters.get("run")
        print_json({"run": run_id, "private": model.privacy.sound, "topics": topics_json(model, top)})
    else:
        show_topics(model, top)


def topics_json(model: TopicModel, top: int = 10) -> list[dict[str, Any]]:
    """The topics as INTERFACE's list of objects: number, prevalence and most probable words."""
    numbered = enumerate(zip(model.prevalence, model.top_words(top), strict=True))
    return [
        {"topic": number, "prevalence": float(prevalence), "words": [list(pair) for pair in words]}
        for number, (prevalence, words) in numbered
    ]


def show_topics(model: TopicModel, top: int = 10) -> None:
    """Print a table of the topics."""
    rows = (
        (t["topic"], f"{t['prevalence']:.1%}", " ".join(word for word, _ in t["words"]))
        for t in topics_json(model, top)
    )
    table(("topic", "share", "words"), rows, wide="words")


def _write_csv(model: TopicModel, top: int, path: Path) -> None:
    from dplda.model.export import csv_text, statement_json
    from dplda.model.files import write_atomically

    statement = path.with_suffix(".privacy.json")
    for file in (path, statement):
        refuse_existing(file)
    rows = (
        (t["topic"], t["prevalence"], word, probability)
        for t in topics_json(model, top)
        for word, probability in t["words"]
    )
    text = csv_text(("topic", "prevalence", "word", "probability"), rows)
    try:
        write_atomically(path, text.encode())
        write_atomically(statement, statement_json(model).encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None
