"""`dplda fit`: the command line of `dplda.runs.fitting.fit`."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dplda.base.errors import NoisyTopicsWarning
from dplda.base.progress import NoProgress, Progress
from dplda.cli.budget_command import tell_spent, tell_weakness
from dplda.cli.check_command import add_price, consulted_ledger, examine, guided_lines, show
from dplda.cli.confirmations import tell_before_charging
from dplda.cli.console import following, print_json, private_notes, say
from dplda.cli.expectations import tell_expected
from dplda.cli.options import (
    MODELS,
    READING_NAMES,
    GroupedCommand,
    corpus_argument,
    dry_run_option,
    find_prior,
    fit_options,
    json_option,
    ledger_option,
    open_ledger,
    public_prior_option,
    public_words,
    quiet_option,
    read,
    reading_options,
    simulate_options,
    simulate_seed,
)
from dplda.cli.topics_command import show_topics, topics_json
from dplda.learning.placements.registry import DEFAULT
from dplda.learning.settings import LISTED
from dplda.runs.fit_options import COMMAND, FitOptions
from dplda.text.records import DOCUMENT
from dplda.text.word_files import read_seed_words

if TYPE_CHECKING:
    from dplda.budget import Ledger
    from dplda.model import TopicModel
    from dplda.runs.run import Run

_SHOWN_WORDS = 10  # of the frequent words that were left out


@click.command(cls=GroupedCommand)
@corpus_argument
@fit_options(*COMMAND)
@public_prior_option
@click.option(
    "--unit",
    metavar="document|COLUMN",
    help="The privacy unit: `document`, or a column, as for --unit-field [document].",
)
@dry_run_option
@click.option("--yes", is_flag=True, help="Do not ask before a charge that may be a mistake.")
@simulate_options
@reading_options
@json_option
@quiet_option
@ledger_option
def fit(corpus: tuple[str, ...], as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any) -> None:
    """Learn topics from CORPUS under a privacy budget, save the model and show the topics.

    CORPUS is a .jsonl, .json, .csv, .tsv, .parquet, .xlsx or .ods file, several such files of one kind or a pattern
    ('tickets-*.csv'), a folder of text, PDF, Word or e-mail files, a bag-of-words file, a store from
    `dplda corpus import`, or - for standard input.
    """
    from dplda.runs.fitting import plan_fit

    given = {name: options[name] for name in COMMAND} | {"simulate_seed": simulate_seed(options), "prior": None}
    if options["seed_words"] is not None:
        given["seed_words"] = read_seed_words(options["seed_words"])
    reading = {**options, "unit_field": _unit_field(options)}
    given["vocabulary"] = public_words(options["vocabulary"], None) if options["dry_run"] else None
    settings = FitOptions(**given).settings()  # checked before CORPUS is read or a prior is learned
    if options["prior"] is not None:
        settings.check_prior_possible()

    def complete(source: Any, progress: Progress) -> FitOptions:
        """Return the options of the run, with the word list and the prior, which are read as `source` is."""
        words = public_words(options["vocabulary"], source)
        prior = find_prior(options, source, words, ledger_path, progress)
        return FitOptions(**given | {"vocabulary": words, "prior": prior, "progress": progress})

    if options["dry_run"]:
        report = examine(corpus, reading, _typed_options(), any_unit=options["unit"] is None)
        if not report.problems:
            source = read(corpus, report.options)
            chosen = complete(source, NoProgress())
            with consulted_ledger(ledger_path) as ledger:
                run = plan_fit(source, ledger, chosen)
                if options["placement"] == DEFAULT and run.fit is not None and not run.fit.continues_series:
                    tell_expected(report, run.fit)
                report.seed_words = _found_seed_words(run, options)
                add_price(report, run, ledger)
        show(report, as_json=as_json)
        return

    source, seconds = read(corpus, reading), dict[str, float]()
    try:
        with following(quiet=as_json or quiet) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisyTopicsWarning)  # the list of topics says so
            chosen = complete(source, progress)
            ledger = open_ledger(ledger_path)
            run = plan_fit(source, ledger, chosen)
            for line in guided_lines(_found_seed_words(run, options)):
                say(line, error=as_json)
            chosen_unit = options["unit"] is not None
            tell_before_charging(run, ledger, corpus, reading, sure=options["yes"], unit_chosen=chosen_unit)
            folder = options["out"] or MODELS / run.id
            model = run.execute(ledger, folder=folder, progress=progress, seconds=seconds)
    finally:
        private_notes(source.notes)
    if as_json:
        print_json(_record(model, folder, seconds))
    else:
        _tell(model, folder, ledger)


def _found_seed_words(run: Run[TopicModel], options: dict[str, Any]) -> Mapping[str, Sequence[str]] | None:
    """Return the seed words of `run`, which the ledger will record, if --vectors gave some of them."""
    return None if options["vectors"] is None else run.parameters["seed_words"]


def _typed_options() -> list[str]:
    """Return the options of this command line that are not about reading CORPUS, as they are typed."""
    context = click.get_current_context()
    left_out = {"corpus", "dry_run", "unit", "as_json", *READING_NAMES}
    words = list[str]()
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in left_out or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        text = ",".join(f"{edge}={part}" for edge, part in value.items()) if isinstance(value, dict) else str(value)
        words += [parameter.opts[0]] if value is True else [parameter.opts[0], text]
    return words


def _unit_field(options: dict[str, Any]) -> str | None:
    """Return the column that names the unit, from --unit and --unit-field; None if one document is one unit."""
    unit, field = options["unit"], options["unit_field"]
    if unit is not None and field is not None and unit != field:
        raise click.UsageError(f"--unit {unit} and --unit-field {field} disagree; give one of them.")
    column: str | None = field or unit
    return None if column == "document" and field is None else column


def _record(model: TopicModel, folder: Path, seconds: dict[str, float]) -> dict[str, Any]:
    """Return the JSON output. All numbers are released numbers, except the seconds, which are marked local."""
    return {
        "run": model.facts.run,
        "model": str(folder),
        "topics": topics_json(model),
        "vocabulary_size": len(model.vocabulary),
        "documents": model.facts.documents,
        "placement": model.facts.placement,
        "calibration": model.facts.calibration,
        "privacy": model.privacy.to_json(),
        "seconds": {stage: round(value, 1) for stage, value in seconds.items()},
        "seconds_are_local": True,
    }


def _about_batch(model: TopicModel, ledger: Ledger) -> str:
    """Return a sentence if the run began a series, or fitted a batch that was fitted before; else empty.

    It depends on which runs were requested, and not on how they ended, which may depend on documents.
    """
    series, batch = model.facts.series, model.facts.batch
    if series is None:
        return ""
    others = [run for run in ledger.runs() if run.batch is not None and run.id != model.facts.run]
    same = [run.id for run in others if (run.dataset, run.batch) == (series, batch)]
    if same:
        return (
            f"Batch {batch} was fitted before ({', '.join(same)}): this run takes its place in the series, and its "
            "documents pay for every run that charged them."
        )
    if all(run.dataset != series for run in others):
        names = ", ".join(sorted({run.dataset for run in others}))
        return f"Series {series} begins with this batch." + (f" Other series in this ledger: {names}." if names else "")
    return ""


def _about_prior(model: TopicModel) -> str:
    """Return a sentence on what became of the prior, or of the topics of a series; empty for a run without either."""
    facts, prior = model.facts, model.facts.prior
    if prior is None:
        return ""
    if facts.prior_used is None:
        new = ", ".join(map(str, facts.new_topics or ())) or "none"
        faded = ", ".join(map(str, facts.faded_topics or ())) or "none"
        return (
            f"Batch {facts.batch} of series {facts.series} continues from {prior.source}: topics keep their "
            f"numbers; new: {new}; faded: {faded}. Topics over all batches: "
            f"dplda topics --series {shlex.quote(str(facts.series))}"
        )
    if not facts.prior_used:
        return (
            f"It could not be shown that the prior ({prior.source}) explains these texts: they were fitted without it."
        )
    given, chosen = facts.n_given, len(model.topics) - facts.n_given
    are = (
        f"These are the {chosen} of {prior.topics} prior topics that the texts contain most" if chosen else "These are"
    )
    which = "Which of the prior topics were chosen, and how" if chosen else "How"
    besides = f"{', besides' * (chosen > 0)} {given} that you gave" if given else ""
    return (
        f"{are}{besides} (prior: {prior.source}): {facts.prior_share:.0%} of the words that the texts share with the "
        "prior fall to them, and the shares below sum to 100 %. Their words are the prior's. "
        f"{which} common each is, was learned privately."
    )


def _tell(model: TopicModel, folder: Path, ledger: Ledger) -> None:
    """Print the guarantee, the topics and the remaining budget as readable text."""
    from dplda.private.statistics.clipping import MOST_WORDS

    statement = model.privacy
    facts = model.facts
    assumed = ["the word list"] if facts.vocabulary == "public" else []
    assumed += ["the prior"] if facts.prior is not None and facts.prior.declared_public else []
    are = "is" if len(assumed) == 1 else "are"
    public = f"; {' and '.join(assumed)} {are} assumed to be public" if assumed else ""
    if statement.sound:
        say(f"These topics are {statement.in_words}{public}.", style="green")
        tell_weakness(statement, facts.documents)
    else:
        reason = statement.reason or "not proven private"
        stamped = reason.startswith(("NOT PRIVATE", "NOT PROVEN PRIVATE"))
        say(reason if stamped else f"NOT PRIVATE: {reason}", style="bold red")
    if about := _about_prior(model):
        say(about)
    if about := _about_batch(model, ledger):
        say(about, style="yellow")
    show_topics(model)
    words = _about_words(model)
    frequent, limit = facts.frequent_words, facts.frequency_limit
    if frequent and limit is not None:
        shown = ", ".join(frequent[:_SHOWN_WORDS]) + (", ..." if len(frequent) > _SHOWN_WORDS else "")
        unit = "text" if statement.unit == DOCUMENT else statement.unit
        words += (
            f" Left out, being too frequent (estimated to be in more than {limit:.0%} of the texts; the estimate is "
            f"too low where a {unit} has more than {MOST_WORDS} words): {len(frequent):,} ({shown}); "
            "--max-document-frequency sets that limit."
        )
    say(words)
    say(f"The model is in {folder}; look again with: dplda topics {folder}")
    if facts.dataset is not None:
        tell_spent(ledger, facts.dataset, statement)


def _about_words(model: TopicModel) -> str:
    """Say which words `model` has, and how sure it is that the texts contain them."""
    from dplda.learning.model_size import least_words

    facts, number = model.facts, len(model.vocabulary)
    if (facts.vocabulary, facts.placement) == ("public", DEFAULT):
        chosen = "the most frequent ones of the word list"
    elif facts.words == LISTED and not facts.prior_used:
        chosen = "those that characterise these texts most, compared with other text"
    else:
        return f"{number:,} words."
    least = number <= least_words(facts.topics or len(model.topics), paired=facts.learned_from is not None)
    return (
        f"{number:,} words, {chosen}, as far as the noise lets one tell. Some may be among them by chance of the "
        f"noise, even if no text contains them{': a run takes so many, however few can be told' * least}."
    )
