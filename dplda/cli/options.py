"""Options that several commands share, and functions that open what they name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from dplda.base.errors import InputError
from dplda.cli.console import WORKED, say
from dplda.model import TopicModel
from dplda.runs.fit_options import EXPERT, OPTIONS, OUTPUT, PLACE, PRIVACY, TOPICS
from dplda.text.files import STANDARD_INPUT, find_paths
from dplda.text.reading_options import READING_FACTS, TOKENIZERS, ListName, Reading
from dplda.text.records import NoTextColumn, ReadOptions
from dplda.text.word_files import read_mapping, read_word_list

if TYPE_CHECKING:
    from dplda.base.progress import Progress
    from dplda.budget import Ledger
    from dplda.model.prior_topics import PriorTopics
    from dplda.runs.corpus import Corpus
    from dplda.text.categories import Categories
    from dplda.text.sampling import Sample

_Command = TypeVar("_Command", bound=Callable[..., Any])

MODELS = Path("models")


def topic_count(value: str | int) -> str | int:
    """Parse ``auto`` or a whole number. Raises `BadParameter` for anything else."""
    try:
        return value if value == "auto" else int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a whole number nor auto.") from None


def edge_parts(value: str) -> dict[str, float]:
    """Parse ``e6=0.5,e8=0.5`` to a mapping. Raises `BadParameter` for anything else."""
    try:
        pairs = [item.split("=") for item in value.split(",")]
        parts = {edge.strip(): float(part) for edge, part in pairs}
    except ValueError:
        raise click.BadParameter(f"{value!r} is not of the form e6=0.5,e8=0.5.") from None
    if len(parts) != len(pairs):
        raise click.BadParameter(f"{value!r} names an edge twice.")
    return parts


# The groups of options in --help, in order. Reading options are in the first, options of a fit say their group
# themselves, and any other option that is not listed is under `_OTHER`.
_DATA, _OTHER = "Data", "Other options"
_GROUPS = (_DATA, "Categories", "Groups", TOPICS, PRIVACY, PLACE, OUTPUT, _OTHER, EXPERT)
_GROUP_OF = {
    **dict.fromkeys(("synthetic", "public", "reference"), _DATA),
    **dict.fromkeys(("categories", "question", "answers", "endpoint", "language_model"), "Categories"),
    **dict.fromkeys(("timeout", "remote", "at_most", "persons", "documents_per_person"), "Categories"),
    **dict.fromkeys(("by", "groups", "between", "first", "last", "zone", "date_format", "sampling"), "Groups"),
    **dict.fromkeys(("public_topics", "public_prior"), TOPICS),
    **dict.fromkeys(("epsilons", "unit", "ledger_path", "yes"), PRIVACY),
    **dict.fromkeys(("csv_file", "output", "models", "results", "draw", "as_json", "quiet", "dry_run"), OUTPUT),
    **dict.fromkeys(("simulate", "seed", "placements", "calibrations", "repeats", "fresh"), EXPERT),
}


class GroupedCommand(click.Command):
    """A command whose --help shows its options in groups, and that says if its work was done when it is interrupted."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            if ctx.meta.get(WORKED):
                interrupt.add_note(
                    "The work was done, and what it cost is charged. dplda runs lists it; dplda topics, dplda tables "
                    "or dplda report shows it free of charge."
                )
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group that has options."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in _GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is None:
                continue
            name = str(parameter.name)
            if parameter is self.get_help_option(ctx):
                group = OUTPUT
            elif name in READING_NAMES:
                group = _DATA
            else:
                declared = OPTIONS[name].group if name in OPTIONS else ""
                group = declared or _GROUP_OF.get(name, _OTHER)
            groups[group].append(record)
        for name, rows in groups.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)


_KINDS: dict[str, Callable[[str], Any]] = {"n_topics": topic_count, "split": edge_parts}  # those that are parsed


def fit_option(name: str, **changes: Any) -> Callable[[_Command], _Command]:
    """Add the option `name` of a fit, as `FitOptions` declares it; `changes` are other arguments of `click.option`."""
    option = OPTIONS[name]
    kind: Any = _KINDS.get(name, option.kind)
    if option.choices:
        kind = click.Choice(option.choices)
    elif kind is Path:
        kind = click.Path(path_type=Path)
    arguments = {"type": kind, "metavar": option.metavar, "default": option.default, "help": option.help}
    flags = option.flags or (f"--{name.replace('_', '-')}",)
    return click.option(*flags, name, **arguments | changes)


def fit_options(*names: str) -> Callable[[_Command], _Command]:
    """Add the options `names` of a fit, in this order."""

    def add(command: _Command) -> _Command:
        for name in reversed(names):
            command = fit_option(name)(command)
        return command

    return add


public_prior_option = click.option(
    "--public-prior", is_flag=True, help="Declare that the text behind --prior is public and needs no protection."
)
corpus_argument = click.argument("corpus", nargs=-1, required=True)
dry_run_option = click.option(
    "--dry-run",
    is_flag=True,
    help="Check the options, inspect CORPUS as `dplda check` does, show what the run would cost, and stop.",
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
ledger_option = click.option(
    "--ledger",
    "ledger_path",
    type=click.Path(path_type=Path),
    help="The ledger file [$DPLDA_LEDGER, else the user data folder].",
)


def server_options(*, required: bool, seconds: float) -> Callable[[_Command], _Command]:
    """Add the options of a server with a language model, which by default may take `seconds` for an answer."""

    def add(command: _Command) -> _Command:
        help = "Seconds to wait for each answer."
        command = click.option("--timeout", default=seconds, type=click.FloatRange(min=0.1), help=help)(command)
        help = "The language model to ask at --endpoint."
        command = click.option("--model", "language_model", metavar="NAME", required=required, help=help)(command)
        help = "Ask this OpenAI-compatible server, such as http://localhost:11434/v1."
        return click.option("--endpoint", "--server", metavar="URL", required=required, help=help)(command)

    return add


remote_option = click.option(
    "--remote",
    is_flag=True,
    help="With a question: allow an endpoint on another machine, which then sees the text of every document.",
)


def category_options(command: _Command) -> _Command:
    """Add the options of the categories that documents are asked about."""
    command = remote_option(command)
    command = server_options(required=False, seconds=60.0)(command)
    help = "The possible answers to --question, such as yes,no."
    command = click.option("--answers", metavar="ANSWER,...", help=help)(command)
    help = "Ask the language model --model at --endpoint this closed question about each document."
    command = click.option("--question", metavar="TEXT", help=help)(command)
    help = "Public categories: a YAML or JSON file that maps names to words, expressions or values of columns."
    return click.option("--categories", type=click.Path(path_type=Path), metavar="FILE", help=help)(command)


def find_categories(options: Mapping[str, Any]) -> Categories | None:
    """Return what the `category_options` name; None if none of them is given."""
    from dplda.text.categories import RULES

    file = options["categories"]
    rules = None if file is None else read_mapping(file, RULES, "category")
    asked = {name: options[name] for name in ("question", "answers", "endpoint", "timeout", "remote")}
    return chosen_categories(rules, options["language"], model=options["language_model"], **asked)


def chosen_categories(
    rules: Mapping[str, Any] | None,
    language: str | None,
    *,
    question: str | None = None,
    answers: str | Sequence[str] | None = None,
    endpoint: str | None = None,
    model: str | None = None,
    timeout: float = 60.0,
    remote: bool = False,
) -> Categories | None:
    """Return categories by `rules`, or the answers to a `question`; None without both.

    Raises `UsageError` for options that contradict each other, and for a server on another machine, unless `remote`.
    """
    from dplda.base.chat_server import ChatServer
    from dplda.text.categories import asked_categories, listed_categories

    if question is None:
        if answers is not None or endpoint is not None or model is not None:
            raise click.UsageError("answers, endpoint and model are about a question: give it, too.")
        return None if rules is None else listed_categories(rules, language=language or "en")
    if rules is not None:
        raise click.UsageError("give categories or a question, not both: each is a run of its own.")
    if answers is None or endpoint is None or model is None:
        raise click.UsageError("a question needs answers, the endpoint of a server, and the model to ask there.")
    server = ChatServer(endpoint, model, timeout)
    if not server.is_local and not remote:
        raise click.UsageError(
            f"{endpoint} is not on this machine, and would see the text of every document. If that is allowed, add "
            "--remote."
        )
    listed = answers.split(",") if isinstance(answers, str) else answers
    if not all(isinstance(answer, str) for answer in listed):
        raise InputError("answers must be text: put yes and no in quotation marks, which YAML takes for truth values.")
    return asked_categories(question, [answer.strip() for answer in listed], server)


def simulate_options(command: _Command) -> _Command:
    """Add the options of simulated noise."""
    command = click.option("--seed", type=int, help="Seed of the noise of --simulate [0].")(command)
    help = "Draw repeatable noise from --seed. The result is NOT PRIVATE."
    return click.option("--simulate", is_flag=True, help=help)(command)


def simulate_seed(options: dict[str, Any]) -> int | None:
    """Return the seed of simulated noise, None without it. Raises `UsageError` for a seed without --simulate."""
    if options["seed"] is not None and not options["simulate"]:
        raise click.UsageError("--seed requires --simulate: noise from a known seed gives no privacy.")
    return (options["seed"] or 0) if options["simulate"] else None


public_topics_option = click.option(
    "--public-topics",
    is_flag=True,
    help="Declare that the topics of RUN were learned from public text; required if RUN is not private.",
)


def question_options(command: _Command) -> _Command:
    """Add the options of a charged question about CORPUS."""
    for add in (
        dry_run_option,
        simulate_options,
        fit_options("dataset", "engine", "scheduler"),
        fit_option("delta"),
        fit_option("epsilon", help="Privacy budget of the answer (nats)."),
        click.option("--yes", is_flag=True, help="Do not ask before a charge that may be a mistake."),
    ):
        command = add(command)
    return command


_QUESTION_OPTIONS = ("epsilon", "delta", "dataset", "public_topics", "engine", "scheduler")


def refuse_question_options(reason: str) -> None:
    """Raise `UsageError` if one of the `question_options` was given, which has no effect for this `reason`."""
    for name in (*_QUESTION_OPTIONS, "simulate", "seed", "dry_run", "yes"):
        if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} has no effect {reason}; leave it out.")


def question_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the `question_options` as parameters of `dplda.tabulate`, `dplda.evaluate` and `dplda.count`."""
    given = {name: options[name] for name in _QUESTION_OPTIONS if name in options}
    return {**given, "simulate_seed": simulate_seed(options)}


def before_date_format(options: Mapping[str, Any]) -> str:
    """Return what the user writes before a format of dates: an option, or a key of a plan, which is in `options`."""
    return str(options.get("before_date_format", "--date-format "))


group_field_option = click.option(
    "--group-field",
    "group_fields",
    metavar="COLUMN",
    multiple=True,
    callback=lambda context, parameter, names: names or None,
    help="A column by which `dplda tabulate` may group documents, such as a product or a date; may be repeated.",
)

_READING: dict[str, dict[str, Any]] = {  # option name -> arguments of `click.option`
    "format": {"metavar": "NAME", "help": "The format of CORPUS, if the file name does not show it."},
    "text_field": {
        "metavar": "COLUMN",
        "multiple": True,
        "callback": lambda context, parameter, names: (names if len(names) > 1 else names[0]) if names else None,
        "help": "The column that holds the text; repeat it if the text is in several columns.",
    },
    "id_field": {
        "metavar": "COLUMN",
        "help": "The column of document ids: rows with the same id are one document, unless there is a --unit-field.",
    },
    "unit_field": {
        "metavar": "COLUMN",
        "help": "The column that identifies the privacy unit, such as a person [each document is a unit].",
    },
    "language": {"metavar": "CODE", "help": "The language of the text [en]."},
    "lemmas": {"is_flag": True, "default": None, "help": "Reduce words to their lemmas."},
    "tokenizer": {
        "type": click.Choice(TOKENIZERS),
        "help": "How text is split into words [fast; spacy for ja, ko, th, vi and zh].",
    },
    "stopwords": {
        "metavar": "FILE|names[:LANGUAGE]",
        "multiple": True,
        "callback": lambda context, parameter, lists: tuple(map(ListName, lists)) or None,
        "help": "A public file of additional stop words, one per line; or `names` for names of persons in --language; "
        "or names of another language, such as names:german. May be repeated.",
    },
    "ngrams": {"type": int, "metavar": "N", "help": "Also count phrases of up to N adjacent words [1]."},
    "one_line": {
        "is_flag": True,
        "default": None,
        "help": "CSV or TSV: treat each line as a record, even within quotation marks.",
    },
    "sheet": {"metavar": "NAME", "help": "The sheet of a workbook (.xlsx, .ods), if it has several."},
    "encoding": {"metavar": "NAME", "help": "The text encoding, if it is not UTF-8."},
    "pattern": {
        "metavar": "GLOB",
        "multiple": True,
        "callback": lambda context, parameter, patterns: "|".join(patterns) if patterns else None,
        "help": "In a folder, read only files that match, such as '*.csv' or '*.pdf|*.eml'; may be repeated.",
    },
}
READING_NAMES = tuple(Reading.__annotations__)


def reading_options(command: _Command, *, without: Collection[str] = ()) -> _Command:
    """Add the options that say how to read CORPUS, except those named in `without`."""
    for name in reversed([name for name in _READING if name not in without]):
        command = click.option(f"--{name.replace('_', '-')}", name, **_READING[name])(command)
    return command


def read(path: str | Sequence[str], options: dict[str, Any], defaults: dict[str, Any] | None = None) -> Corpus:
    """Open the corpus at `path`, or in several files; the user's reading `options` override `defaults`."""
    from dplda.runs.corpus import read_corpus

    chosen = {name: options[name] for name in READING_NAMES if options.get(name) is not None}
    named = path if isinstance(path, str) else path[0] if len(path) == 1 else list(map(Path, path))
    try:
        return read_corpus(named, **(defaults or {}) | chosen)
    except NoTextColumn as error:
        raise _with_proposal(error, named, chosen) from None


def _with_proposal(error: NoTextColumn, named: str | Sequence[Path], chosen: dict[str, Any]) -> InputError:
    """Return `error`, and which option to add if exactly one column seems to hold the text."""
    from dplda.text.sampling import only_long_text

    if named == STANDARD_INPUT:  # which was read
        return error
    try:
        column = only_long_text(first_records(find_paths(named), chosen))
    except InputError:
        return error
    if column not in error.columns:
        return error
    option = shlex.join(["--text-field", column])
    return InputError(
        f"{error} In the first records, only {column!r} holds long text (exact, not private): try {option}."
    )


def first_records(paths: Sequence[Path], chosen: dict[str, Any]) -> Sample:
    """Return the first records of a corpus, exact and private. Raises `InputError` if they cannot be read."""
    from dplda.text.sampling import read_sample

    names = ("text_field", "id_field", "unit_field", "encoding", "pattern", "one_line", "sheet")
    options = ReadOptions(**{name: chosen[name] for name in names if chosen.get(name) is not None})
    return read_sample(paths, options, chosen.get("format"))


def read_like(paths: Sequence[str], options: dict[str, Any], known: Mapping[str, Any]) -> Corpus:
    """Open the corpus at `paths` with the text settings in `known`, unless `options` override them.

    `known` are language, lemmas, tokenizer and ngrams of another corpus or run. For a prepared store, the option
    ``group_fields`` is ignored: the store has its own group columns.
    """
    from dplda.private.store.count_store import is_partial, is_store

    place = Path(paths[0])
    if len(paths) == 1 and options.get("format") is None and (is_store(place) or is_partial(place)):
        return read(paths, {**options, "group_fields": None})
    defaults = {name: known[name] for name in ("language", "lemmas", "tokenizer") if name in known}
    source = read(paths, options, defaults)
    if "ngrams" in known and source.is_text:
        source = read(paths, options, {**defaults, "ngrams": known["ngrams"]})
    return source


def public_words(vocabulary: str | None, corpus: Corpus | None) -> list[str] | None:
    """Return the words that ``--vocabulary`` names, a file or ``LANGUAGE:COUNT``; None without it.

    The words of a language are lemmas if `corpus` counts lemmas, and no stop word of `corpus` is among them. Raises
    `InputError` if the list is of another language.
    """
    if vocabulary is None:
        return None
    from dplda.text.wordlists import words_named

    return words_named(vocabulary, None if corpus is None else corpus.tokenization) or read_word_list(Path(vocabulary))


def find_prior(
    options: dict[str, Any],
    source: Corpus | None,
    vocabulary: Sequence[str] | None,
    ledger_path: Path | None,
    progress: Progress,
) -> PriorTopics | None:
    """Return the prior that --prior names; None without --prior.

    If --prior names a corpus, it is read with the text settings of `source` (language, tokenizer, ...), but not with
    the columns of `source`. Raises `InputError` for a prior that is neither public nor released.
    """
    name, public = options["prior"], options["public_prior"]
    if name is None:
        if public:
            raise click.UsageError("--public-prior is about --prior, which is not given.")
        return None
    from dplda.model.topic_model import TEXT_FILE
    from dplda.runs.priors import public_prior
    from dplda.runs.series import load, released_prior

    place = Path(name)
    if (place / TEXT_FILE).is_file() or not (place.exists() or re.search(r"[*?\[]", name)):
        if "." in name and not place.is_dir():  # the id of a run has none
            raise InputError(f"--prior: there is no file {name}.")
        ledger = None if ledger_path is None else open_ledger(ledger_path)
        return released_prior(load(name, ledger=ledger), public=public)
    if not public:
        raise click.UsageError(
            f"--prior {name} is a corpus, whose text is not protected. If it is public, say so with --public-prior."
        )
    known = {} if source is None else source.reading
    prior = read_like((name,), {key: options[key] for key in READING_FACTS}, known)
    return public_prior(prior, vocabulary, ledger=find_ledger(ledger_path), progress=progress)


def open_ledger(path: Path | None) -> Ledger:
    """Open the ledger at `path`, or the default one; a ledger that does not exist is created."""
    from dplda.budget import Ledger

    return Ledger(path)


def find_ledger(path: Path | None) -> Ledger | None:
    """Open the ledger at `path`, or the default one; None if it does not exist."""
    from dplda.budget.database import default_path

    file = path or default_path()
    return open_ledger(file) if os.path.exists(file) else None


def model_folder(run: str, ledger_path: Path | None) -> Path:
    """Return the folder of the model of `run`; raises `InputError` if there is none."""
    from dplda.runs.series import folder_of

    return folder_of(run, ledger=None if ledger_path is None else open_ledger(ledger_path))


def open_model(run: str, ledger_path: Path | None) -> TopicModel:
    """Load the model in the folder `run`, or of the run that `Ledger.run` finds by it.

    Says on standard error which run the name of a dataset means, and warns there if the model is not private. Raises
    `InputError` if there is none.
    """
    from dplda.runs.series import is_path, load

    model = load(run, ledger=None if ledger_path is None else open_ledger(ledger_path))
    if run == model.facts.dataset and not is_path(run):
        say(f"Topics of run {model.facts.run}, the latest of {run} with topics.", error=True)
    if not model.privacy.sound:
        say(f"This model is {model.privacy.reason or 'not proven private'}.", error=True, style="bold red")
    return model
