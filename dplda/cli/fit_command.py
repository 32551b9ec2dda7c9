"""`dplda fit`: the command line of `dplda.runs.fitting.fit`."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dplda.base.config import DEVICES
from dplda.base.errors import NoisyTopicsWarning
from dplda.base.progress import NoProgress
from dplda.cli.check_command import add_price, consulted_ledger
from dplda.cli.console import following, print_json, private_notes, say
from dplda.cli.options import (
    MODELS,
    READING_NAMES,
    GroupedCommand,
    adjacency_option,
    batch_option,
    corpus_argument,
    dataset_option,
    delta_option,
    dry_run_option,
    engine_options,
    epsilon_option,
    find_prior,
    json_option,
    learning_options,
    ledger_option,
    open_ledger,
    prior_option,
    public_prior_option,
    public_words,
    quiet_option,
    read,
    reading_options,
    seed_words_option,
    series_option,
    simulate_options,
    simulate_seed,
    topics_option,
    vocabulary_option,
)
from dplda.cli.topics_command import show_topics, topics_json
from dplda.learning.placements.registry import CALIBRATIONS, DEFAULT, PLACEMENTS
from dplda.learning.settings import DEFAULTS, FitSettings
from dplda.text.word_files import read_seed_words

if TYPE_CHECKING:
    from dplda.budget import Ledger
    from dplda.budget.events import PrivacyStatement
    from dplda.budget.ledger_records import Grant
    from dplda.model import TopicModel


_SETTINGS = (  # options that are parameters of `FitSettings.of`
    *("epsilon", "delta", "adjacency", "max_vocabulary", "max_document_frequency", "alpha0"),
    *("placement", "calibration", "split", "engine", "scheduler", "device"),
)
_SHOWN_WORDS = 10  # of the frequent words that were left out
_FIT_OPTIONS = (
    "dataset",
    "series",
    "batch",
    "n_topics",
    *_SETTINGS,
    "out",
)  # options that are parameters of `dplda.runs.fitting.fit`


def _edge_parts(value: str) -> dict[str, float]:
    """Parse ``e6=0.5,e8=0.5`` to a mapping. Raises `BadParameter` for anything else."""
    try:
        pairs = [item.split("=") for item in value.split(",")]
        parts = {edge.strip(): float(part) for edge, part in pairs}
    except ValueError:
        raise click.BadParameter(f"{value!r} is not of the form e6=0.5,e8=0.5.") from None
    if len(parts) != len(pairs):
        raise click.BadParameter(f"{value!r} names an edge twice.")
    return parts


@click.command(cls=GroupedCommand)
@corpus_argument
@topics_option
@epsilon_option
@delta_option
@click.option(
    "--placement",
    type=click.Choice(PLACEMENTS),
    default=DEFAULTS.model.placement,
    help="Where noise is added; none adds no noise and is NOT PRIVATE.",
)
@click.option(
    "--calibration",
    type=click.Choice(CALIBRATIONS),
    default=DEFAULTS.model.calibration,
    help="How the noise is calibrated; published uses the formulas of DeCarolis et al. 2020 and is NOT PROVEN PRIVATE.",
)
@click.option(
    "--split",
    type=_edge_parts,
    metavar="EDGE=PART,...",
    help="Share of the budget for each edge (place where noise is added) of config1 to config4 or tensor-power; "
    "shares sum to 1.",
)
@adjacency_option
@dataset_option
@series_option
@batch_option
@click.option(
    "--unit",
    metavar="document|COLUMN",
    help="The privacy unit: `document`, or the column that names it, the same as --unit-field [document].",
)
@vocabulary_option
@prior_option
@public_prior_option
@seed_words_option
@learning_options
@engine_options
@click.option(
    "--device",
    type=click.Choice(DEVICES),
    default=DEFAULTS.execution.device,
    help="Device for the passes over CORPUS; auto uses a GPU if there is one.",
)
@dry_run_option
@click.option("--out", "-o", type=click.Path(path_type=Path), help="The new model folder [models/<run>].")
@simulate_options
@reading_options
@json_option
@quiet_option
@ledger_option
def fit(corpus: tuple[str, ...], as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any) -> None:
    """Learn topics from CORPUS under a privacy budget, save the model and show the topics.

    CORPUS is a .jsonl, .json, .csv, .tsv or .parquet file, several such files of one kind or a pattern
    ('tickets-*.csv'), a folder of text, PDF, Word or e-mail files, a bag-of-words file, a store written by
    `dplda corpus import`, or - for standard input.
    """
    seed = simulate_seed(options)
    reading = {**options, "unit_field": _unit_field(options)}
    if options["dry_run"]:
        _dry_run(corpus, reading, seed, ledger_path, as_json=as_json)
        return
    source = read(corpus, reading)
    words = public_words(options["vocabulary"], source)
    if options["prior"] is not None:  # before it is learned
        FitSettings.of(**{name: options[name] for name in _SETTINGS}, topics=options["n_topics"]).check_prior_possible()
    ledger = open_ledger(ledger_path)
    seconds: dict[str, float] = {}
    from dplda.runs.fitting import fit as learn

    try:
        with following(quiet=as_json or quiet) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisyTopicsWarning)  # the list of topics says so
            model = learn(
                source,
                **{name: options[name] for name in _FIT_OPTIONS},
                vocabulary=words,
                seed_words=_seed_words(options),
                prior=find_prior(options, source, words, ledger_path, progress),
                models=None if options["out"] else MODELS,
                ledger=ledger,
                simulate_seed=seed,
                progress=progress,
                seconds=seconds,
            )
    finally:
        private_notes(source.notes)
    folder = options["out"] or MODELS / str(model.parameters["run"])
    if as_json:
        print_json(_record(model, folder, seconds))
    else:
        _tell(model, folder, ledger)


def _dry_run(
    corpus: tuple[str, ...], options: dict[str, Any], seed: int | None, ledger_path: Path | None, *, as_json: bool
) -> None:
    """Check the settings of the run, look at CORPUS and price the run. Raises `InputError` and `BudgetRefused`."""
    from dplda.cli.check_command import examine, show
    from dplda.runs.request import requested

    words = public_words(options["vocabulary"], None)
    named = {name: options[name] for name in _SETTINGS} | {
        "topics": options["n_topics"],
        "simulate_seed": seed,
        "seed_words": _seed_words(options),
    }
    checked = FitSettings.of(**named, words=None if words is None else tuple(words))
    if options["prior"] is not None:
        checked.check_prior_possible()
    report = examine(corpus, options, _other_words(), any_unit=options["unit"] is None)
    if not report.problems:
        source = read(corpus, report.options)
        words = public_words(options["vocabulary"], source)
        prior = find_prior(options, source, words, ledger_path, NoProgress())
        with consulted_ledger(ledger_path) as ledger:
            names = {name: options[name] for name in ("dataset", "series", "batch")}
            add_price(report, requested(source, ledger, **names, **named, words=words, prior=prior), ledger)
    show(report, as_json=as_json)


def _other_words() -> list[str]:
    """The options of this command line that are not about reading CORPUS, as they are typed."""
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


def _seed_words(options: dict[str, Any]) -> dict[str, tuple[str, ...]] | None:
    file = options["seed_words"]
    return None if file is None else read_seed_words(file)


def _unit_field(options: dict[str, Any]) -> str | None:
    """The column that names the unit, from --unit and --unit-field; None if one document is one unit."""
    unit, field = options["unit"], options["unit_field"]
    if unit is not None and field is not None and unit != field:
        raise click.UsageError(f"--unit {unit} and --unit-field {field} disagree; give one of them.")
    column: str | None = field or unit
    return None if column == "document" and field is None else column


def _record(model: TopicModel, folder: Path, seconds: dict[str, float]) -> dict[str, Any]:
    """The JSON output. All numbers are released numbers, except the seconds, which are marked local."""
    documents = model.parameters.get("documents")
    return {
        "run": model.parameters["run"],
        "model": str(folder),
        "topics": topics_json(model),
        "vocabulary_size": len(model.vocabulary),
        "documents": None if documents is None else round(documents),
        "placement": model.parameters["placement"],
        "calibration": model.parameters["calibration"],
        "privacy": model.privacy.to_json(),
        "seconds": {stage: round(value, 1) for stage, value in seconds.items()},
        "seconds_are_local": True,
    }


def _left_out(model: TopicModel) -> str:
    """A sentence on the released words that were left out because they are frequent; empty without any."""
    frequent = model.parameters.get("frequent_words", ())
    if not frequent:
        return ""
    limit = model.parameters["frequency_limit"]
    shown = ", ".join(frequent[:_SHOWN_WORDS]) + (", ..." if len(frequent) > _SHOWN_WORDS else "")
    return (
        f" Left out, being too frequent (in more than {limit:.0%} of the texts): {len(frequent):,} ({shown}); "
        "--max-document-frequency sets that limit."
    )


def _about_batch(model: TopicModel, ledger: Ledger) -> str:
    """A sentence if the run began a series, or fitted a batch that was fitted before; else empty.

    It depends on which runs were asked for, and not on how they ended, which may depend on documents.
    """
    series, batch = model.parameters.get("series"), model.parameters.get("batch")
    if series is None:
        return ""
    others = [run for run in ledger.runs() if run.batch is not None and run.id != model.parameters.get("run")]
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
    """A sentence on what became of the prior, or of the topics of a series; empty for a run without either."""
    prior, series = model.parameters.get("prior"), model.parameters.get("series")
    if prior is None:
        return ""
    if "prior_used" not in model.parameters:
        new = ", ".join(map(str, model.parameters["new_topics"])) or "none"
        faded = ", ".join(map(str, model.parameters["faded_topics"])) or "none"
        return (
            f"Batch {model.parameters['batch']} of series {series} continues from {prior['source']}: topics keep their "
            f"numbers; new: {new}; faded: {faded}. Topics over all batches: "
            f"dplda topics --series {shlex.quote(str(series))}"
        )
    if not model.parameters["prior_used"]:
        return f"The prior ({prior['source']}) does not explain these texts: they were fitted without it."
    share = model.parameters["prior_share"]
    return (
        f"These are the {len(model.topics)} of {prior['topics']} prior topics that the texts contain most (prior: "
        f"{prior['source']}): {share:.0%} of the text is about them, and the shares below sum to 100 %. Their words "
        "are the prior's. Which of the prior topics were chosen, and how common each is, was learned privately."
    )


def _tell(model: TopicModel, folder: Path, ledger: Ledger) -> None:
    """Print the guarantee, the topics and the remaining budget as readable text."""
    statement = model.privacy
    assumed = ["the word list"] if model.parameters.get("vocabulary") == "public" else []
    assumed += ["the prior"] if (model.parameters.get("prior") or {}).get("declared_public") else []
    are = "is" if len(assumed) == 1 else "are"
    public = f"; {' and '.join(assumed)} {are} assumed to be public" if assumed else ""
    if statement.sound:
        say(f"These topics are {statement.in_words}{public}.", style="green")
    else:
        reason = statement.reason or "not proven private"
        stamped = reason.startswith(("NOT PRIVATE", "NOT PROVEN PRIVATE"))
        say(reason if stamped else f"NOT PRIVATE: {reason}", style="bold red")
    if about := _about_prior(model):
        say(about)
    if about := _about_batch(model, ledger):
        say(about, style="yellow")
    show_topics(model)
    listed = (model.parameters.get("vocabulary"), model.parameters.get("placement")) == ("public", DEFAULT)
    kept = " of the word list, the most frequent: as many as stand out from the noise" if listed else ""
    say(f"{len(model.vocabulary)} words{kept}.{_left_out(model)}")
    say(f"The model is in {folder}; look again with: dplda topics {folder}")
    name = model.parameters.get("dataset")
    if name is not None:
        record = ledger.dataset(str(name))
        facts = filter(None, (record.in_short, record.guarantee, record.in_reports, record.to_tell, *record.remarks))
        say(
            f"Dataset {name}: {'; '.join(facts)}.{_about_delta(statement, record.grant)}", error=True
        )  # depends on which datasets share documents: local


def _about_delta(statement: PrivacyStatement, grant: Grant) -> str:
    """A sentence on why the epsilons of a run and of the budget differ, if they are at different deltas."""
    if grant.unbounded or grant.lapsed or grant.delta == statement.delta:
        return ""
    size, result = ("larger", "smaller") if grant.delta > statement.delta else ("smaller", "larger")
    return (
        f" The run's epsilon is at delta {statement.delta:g}; at the {size} delta {grant.delta:g} of the budget, the "
        f"same run has a {result} epsilon."
    )
