"""`dplda evaluate`: how coherent the topics of a run are, in private documents or in public ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.accounting.events import PrivacyStatement
from dplda.cli.console import following, print_json, private_notes, say, table
from dplda.cli.options import (
    GroupedCommand,
    asked,
    json_option,
    ledger_option,
    open_ledger,
    open_model,
    question_options,
    quiet_option,
    read_like,
    reading_options,
    simulate_seed,
)
from dplda.cli.topics_command import topic_titles

if TYPE_CHECKING:
    from dplda.ledger import Ledger
    from dplda.model import TopicModel
    from dplda.progress import Progress

_WORDS = 4  # shown of a topic


@click.command(cls=GroupedCommand)
@click.argument("run")
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "--reference",
    is_flag=True,
    help="CORPUS is public text: not protected; the answer is exact and free.",
)
@question_options
@reading_options
@json_option
@quiet_option
@ledger_option
def evaluate(
    run: str, corpus: tuple[str, ...], as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any
) -> None:
    """Tell how coherent the topics of RUN are in CORPUS: whether their first words occur in the same documents.

    Coherence (NPMI) is 1 if the words of a topic always occur together, 0 if by chance, and -1 if never. It is charged
    to the budget of CORPUS, unless that is public (--reference).
    """
    simulate_seed(options)  # refused before anything is read
    model = open_model(run, ledger_path)
    source = read_like(corpus, options, model)
    with following(quiet=as_json or quiet) as progress:
        if options["reference"]:
            record = _in_public(model, source, open_ledger(ledger_path), progress)
        else:
            from dplda.topic_coherence import evaluate as ask

            record = ask(model, source, **asked(options, ledger_path, progress)).to_json()
    if not options["reference"]:
        private_notes(source.notes)
    if as_json:
        print_json(record)
    else:
        _show(record, model)


def _in_public(model: TopicModel, source: Any, ledger: Ledger, progress: Progress) -> dict[str, Any]:
    """Exact coherence in public text; raises `BudgetRefused` if the ledger protects it."""
    from dplda.evaluation.public_corpora import Documents

    documents = Documents(source, progress, ledger.key)
    ledger.check_public(source.name or "", documents.identity(ledger.key))
    found, listed = documents.coherence(model), model.listed_topics
    mean = float(found[listed].mean())
    return {
        "run": model.parameters.get("run"),
        "coherence": {"value": mean, "low": mean, "high": mean},
        "topics": [{"topic": t, **dict.fromkeys(("value", "low", "high"), float(found[t]))} for t in listed],
        "privacy": None,
    }


def _show(record: dict[str, Any], model: TopicModel) -> None:
    privacy = None if record["privacy"] is None else PrivacyStatement.from_json(record["privacy"])
    if privacy is None:
        say("Coherence in public text: exact, and free of charge.", style="green")
    elif privacy.sound:
        say(f"This answer is {privacy.in_words}, besides what the topics cost.", style="green")
    else:
        say(privacy.reason, style="bold red")
    say(f"Coherence (NPMI): {_told(record['coherence'])} on average over the listed topics.")
    titles = topic_titles(model, _WORDS)
    ranked = sorted(record["topics"], key=lambda each: -each["value"])
    rows = [(each["topic"], titles[each["topic"]], _told(each)) for each in ranked]
    table(("topic", "words", "coherence" if privacy is None else "coherence (95 %)"), rows, wide="words")


def _told(number: dict[str, float]) -> str:
    if number["low"] == number["high"]:
        return f"{number['value']:.3f}"
    return f"{number['value']:.2f} ({number['low']:.2f} to {number['high']:.2f})"
