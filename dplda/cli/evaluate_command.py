"""`dplda evaluate`: how good the topics of a run are, for private documents or for public ones."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.errors import warn
from dplda.budget.events import PrivacyStatement
from dplda.cli.budget_command import tell_spent, tell_weakness
from dplda.cli.check_command import look, show_dry_run
from dplda.cli.confirmations import tell_before_charging
from dplda.cli.console import following, print_json, private_notes, say, table
from dplda.cli.options import (
    GroupedCommand,
    json_option,
    ledger_option,
    open_ledger,
    open_model,
    public_topics_option,
    question_options,
    question_settings,
    quiet_option,
    read_like,
    reading_options,
    refuse_question_options,
)

if TYPE_CHECKING:
    from dplda.base.progress import Progress
    from dplda.budget import Ledger
    from dplda.model import TopicModel

_WORDS = 4  # shown of a topic
_TOO_WIDE = 0.4  # an interval of mean coherence that tells nothing
_RARE = 1.0  # an interval of a topic's coherence that only words in hardly any document have


@click.command(cls=GroupedCommand)
@click.argument("run")
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "--reference",
    is_flag=True,
    help="Declare CORPUS public: it is not protected, and the answer is exact and free.",
)
@public_topics_option
@question_options
@reading_options
@json_option
@quiet_option
@ledger_option
def evaluate(
    run: str, corpus: tuple[str, ...], as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any
) -> None:
    """Measure how coherent the topics of RUN are in CORPUS, and how well they predict its words.

    Coherence (NPMI) is 1 if the ten most probable words of a topic always occur in the same documents, 0 if they occur
    together by chance, and -1 if never; C_v is at most 1. Perplexity measures how well half of a document's words
    predict the other half: smaller is better. Each unit counts once, with the average of its documents. Documents with
    fewer than three words of the topics are left out.

    The answer is charged to the budget of CORPUS, unless CORPUS is public (--reference).
    """
    from dplda.runs.evaluation import plan_evaluation

    settings = question_settings(options)  # refused before anything is read
    if options["reference"]:
        refuse_question_options("with --reference, which is free of charge")
    model = open_model(run, ledger_path)
    source = read_like(corpus, options, model.facts.reading)
    planned = None if options["reference"] else plan_evaluation(model, source, **settings)
    if planned is not None and options["dry_run"]:
        report = look(corpus, {**options, "language": source.reading.get("language")})
        show_dry_run(report, planned, model, ledger_path, as_json=as_json)
        return
    ledger = open_ledger(ledger_path)
    if planned is not None:
        tell_before_charging(planned, ledger, corpus, options, model, sure=options["yes"])
    with following(quiet=as_json or quiet) as progress:
        if planned is None:
            record = _evaluate_public(model, source, ledger, progress)
        else:
            record = planned.execute(ledger, progress=progress).to_json()
    if planned is not None:
        private_notes(source.notes)
    if as_json:
        print_json(record)
    else:
        show_evaluation(record, model)
        if planned is not None:
            say(f"To see it again, free of charge: dplda tables {shlex.quote(planned.id)}")
            tell_spent(ledger, planned.dataset, planned.statement)


def _evaluate_public(model: TopicModel, source: Any, ledger: Ledger, progress: Progress) -> dict[str, Any]:
    """Compute coherence, perplexity and gain in public text exactly.

    Raises `BudgetRefused` if the ledger protects this text.
    """
    from dplda.model.prior_topics import public_source
    from dplda.runs.charged_query import warn_of_other_words
    from dplda.runs.grid import Documents

    warn_of_other_words(model, source)
    if model.facts.prior is not None and model.facts.prior.source == public_source(source.name):
        warn(
            f"The prior of these topics was learned from {model.facts.prior.source}: measured in the same text, they "
            "look better than they are in other text. Measure them in the private documents, or in other public text."
        )
    documents = Documents(source, progress, ledger.key)
    ledger.check_public(source.name or "", documents.identity(ledger.key))
    found = documents.evaluate(model)

    def exact(value: float) -> dict[str, float]:
        return dict.fromkeys(("value", "low", "high"), float(value))

    listed = model.listed_topics
    return {
        "run": model.facts.run,
        "coherence": exact(found["coherence"][listed].mean()),
        **{name: exact(found[name]) for name in ("c_v", "perplexity", "gain")},
        "topics": [{"topic": topic, **exact(found["coherence"][topic])} for topic in listed],
        "privacy": None,
    }


def show_evaluation(record: Mapping[str, Any], model: TopicModel | None) -> None:
    """Print the `record` of an evaluation of the topics of `model`, which is None if it is not known."""
    privacy = None if record["privacy"] is None else PrivacyStatement.from_json(record["privacy"])
    if privacy is None:
        say("In public text: exact, and free of charge.", style="green")
    elif privacy.sound:
        say(f"This answer is {privacy.in_words}, besides what the topics cost.", style="green")
        tell_weakness(privacy)
    else:
        say(privacy.reason, style="bold red")
    coherence = record["coherence"]
    if coherence["high"] - coherence["low"] > _TOO_WIDE:
        say("Too little text for this epsilon to tell how coherent the topics are.", style="yellow")
    npmi, c_v = _with_interval(coherence), _with_interval(record["c_v"])
    say(f"Coherence: NPMI {npmi}, C_v {c_v}, on average over the listed topics.")
    say(f"Perplexity: {_with_interval(record['perplexity'], 0)}, of half of a document's words given the other half.")
    say(f"Topics predict a word {_percent(record['gain'])} better than word frequencies alone.")
    titles = {} if model is None else dict(enumerate(model.titles(_WORDS)))
    ranked = sorted(record["topics"], key=lambda each: -each["value"])
    rows = [(each["topic"], titles.get(each["topic"], ""), _coherence_of(each)) for each in ranked]
    table(("topic", "words", "coherence" if privacy is None else "coherence (95 %)"), rows, wide="words")


def _coherence_of(topic: dict[str, float]) -> str:
    rare = topic["high"] - topic["low"] > _RARE
    return f"{_with_interval(topic)}{', words too rare to tell' if rare else ''}"


def _with_interval(number: dict[str, float], digits: int = 2) -> str:
    if number["low"] == number["high"]:
        return f"{number['value']:,.{digits}f}"
    return f"{number['value']:,.{digits}f} ({number['low']:,.{digits}f} to {number['high']:,.{digits}f})"


def _percent(gain: dict[str, float]) -> str:
    """Return the `gain` as text: by how many per cent a word is more probable under the topics than by its frequency.

    The mean over words is geometric. The interval is in brackets.
    """
    value, low, high = (f"{100 * math.expm1(gain[end]):.0f}" for end in ("value", "low", "high"))
    return f"{value} %" if low == high else f"{value} % ({low} to {high} %)"
