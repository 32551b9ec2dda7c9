"""`dplda evaluate`: how coherent the topics of a run are, in private documents or in public ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.accounting.events import at_least
from dplda.cli.console import following, print_json, private_notes, say, table
from dplda.cli.options import (
    GroupedCommand,
    dataset_option,
    delta_option,
    engine_options,
    epsilon_option,
    json_option,
    ledger_option,
    open_ledger,
    open_model,
    quiet_option,
    read_like,
    reading_options,
)

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
@epsilon_option
@delta_option
@dataset_option
@click.option("--public-topics", is_flag=True, help="Declare that the text that RUN was learned from is public.")
@engine_options
@click.option("--simulate", is_flag=True, help="Draw repeatable noise from --seed. The result is NOT PRIVATE.")
@click.option("--seed", type=int, help="Seed of the noise of --simulate [0].")
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
    if options["seed"] is not None and not options["simulate"]:
        raise click.UsageError("--seed requires --simulate: noise from a known seed gives no privacy.")
    model = open_model(run, ledger_path)
    source = read_like(corpus, options, model)
    with following(quiet=as_json or quiet) as progress:
        if options["reference"]:
            record = _in_public(model, source, open_ledger(ledger_path), progress)
        else:
            from dplda.evaluation_of_runs import evaluate as ask

            record = ask(
                model,
                source,
                options["epsilon"],
                options["delta"],
                dataset=options["dataset"],
                ledger=open_ledger(ledger_path),
                public_topics=options["public_topics"],
                engine=options["engine"],
                scheduler=options["scheduler"],
                simulate_seed=(options["seed"] or 0) if options["simulate"] else None,
                progress=progress,
            ).to_json()
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
    privacy = record["privacy"]
    if privacy is None:
        say("Coherence in public text: exact, and free of charge.", style="green")
    elif privacy["sound"]:
        changed = "added or removed" if privacy["adjacency"] == "add-remove" else "replaced"
        say(
            f"This answer is (epsilon {at_least(privacy['epsilon'])}, delta {privacy['delta']:g})-differentially "
            f"private for one {privacy['unit']}, {changed}, besides what the topics cost.",
            style="green",
        )
    else:
        say(privacy["reason"], style="bold red")
    say(f"Coherence (NPMI): {_told(record['coherence'])} on average over the listed topics.")
    words, names = model.relevant_words(_WORDS), model.topic_names
    rows = [
        (each["topic"], names.get(each["topic"]) or " ".join(word for word, _ in words[each["topic"]]), _told(each))
        for each in sorted(record["topics"], key=lambda each: -each["value"])
    ]
    table(("topic", "words", "coherence" if privacy is None else "coherence (95 %)"), rows, wide="words")


def _told(number: dict[str, float]) -> str:
    if number["low"] == number["high"]:
        return f"{number['value']:.3f}"
    return f"{number['value']:.2f} ({number['low']:.2f} to {number['high']:.2f})"
