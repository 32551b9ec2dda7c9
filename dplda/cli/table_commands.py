"""Tables of released topics by groups and periods: `dplda tabulate`, and `dplda tables` to see them again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.errors import InputError
from dplda.cli.budget_command import tell_spent, tell_weakness
from dplda.cli.check_command import Report, look, show_dry_run
from dplda.cli.confirmations import tell_before_charging
from dplda.cli.console import confirm, following, print_json, private_notes, say, table, write_file
from dplda.cli.options import (
    GroupedCommand,
    before_date_format,
    first_records,
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
)
from dplda.learning.estimates import whole_number
from dplda.model.exporters import csv_text
from dplda.text.dates import days_of
from dplda.text.files import STANDARD_INPUT, find_paths
from dplda.text.word_files import read_mapping

if TYPE_CHECKING:
    import numpy as np

    from dplda.learning.estimates import Estimates
    from dplda.model import TopicModel
    from dplda.runs.corpus import Corpus
    from dplda.runs.group_check import Misfits
    from dplda.runs.released_table import ReleasedTable, Tables
    from dplda.runs.run import Run
    from dplda.runs.tabulation import Grouping
    from dplda.text.categories import Categories
    from dplda.text.sampling import Sample

_LARGEST = 3  # topics that are shown of each group
_SHOWN_CHANGES = 12
_NOISE = " (noise)"  # after the words of a topic with this verdict
_SUFFIXES = (".csv", ".parquet", ".json")
_GROUPS_HINT = "Write for example: product: [phone, tablet]"
_OTHERWISE = "pass --yes to go on all the same, or name another column or list."

sampling_option = click.option(
    "--sampling",
    is_flag=True,
    help="Widen the intervals of shares, because the documents are a sample of a larger population.",
)
_out_option = click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="Write the numbers (of words, those of ten in each group) to this new .csv, .parquet or .json file.",
)
_csv_option = click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="The same as --out, for CSV.")


def _only_one(context: click.Context, parameter: click.Parameter, pairs: tuple[tuple[str, str], ...]) -> Any:
    """Return the only pair, or None; click would take the last one of several."""
    if len(pairs) > 1:
        raise click.UsageError("--between is given twice. Make a run for each comparison.")
    return pairs[0] if pairs else None


def grouping_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say by what tables are grouped, and where they are written."""
    for add in (
        _csv_option,
        _out_option,
        question_options,
        click.option(
            "--date-format",
            default="",
            metavar="FORMAT",
            help="How dates are written: %d.%m.%Y reads 31.12.2024, %m/%d/%Y reads 12/31/2024 [ISO 8601: 2024-12-31].",
        ),
        click.option("--zone", default="UTC", help="The time zone of the calendar, for dates with a UTC offset."),
        click.option("--to", "last", metavar="DAY", help="The last day of the periods."),
        click.option(
            "--from",
            "first",
            metavar="DAY",
            help="The first day of the periods, or a month and so on; with --to, it makes their list public.",
        ),
        click.option(
            "--groups",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Public lists of groups: a YAML or JSON file that maps columns to their values. The groups of other "
            "columns are found privately.",
        ),
        click.option(
            "--between",
            nargs=2,
            multiple=True,
            callback=_only_one,
            metavar="COLUMN=GROUP COLUMN=GROUP",
            help="Compare two groups, which are values or ranges of dates: product=phone product=tablet, or "
            "created=2024-01..2024-03 created=2024-07..2024-09. It makes a table of these groups, beside those of "
            "--by.",
        ),
        click.option(
            "--by",
            multiple=True,
            metavar="COLUMN[,COLUMN]|month(COLUMN)",
            help="Group by columns, by day(), week(), month(), quarter() or year() of a date, by bool() of truth "
            "values, or by category() of one of --categories, where there are some; may be repeated for more tables. "
            "Without --by and --between, the table has one row for all documents.",
        ),
    ):
        command = add(command)
    return command


@click.command(cls=GroupedCommand)
@click.argument("run")
@click.argument("corpus", nargs=-1, required=True)
@public_topics_option
@grouping_options
@sampling_option
@reading_options
@json_option
@quiet_option
@ledger_option
def tabulate(
    run: str, corpus: tuple[str, ...], as_json: bool, quiet: bool, ledger_path: Path | None, **options: Any
) -> None:
    """Show the shares of RUN's topics in each group or period of CORPUS, for example by product or by month.

    A table shows the number of units in each group and the share of each topic, with 95 % intervals. The tables are
    charged to the budget of CORPUS, which is usually the corpus from which RUN was learned. The language and tokenizer
    of RUN are used unless options say otherwise.

    Before anything is charged, the command inspects the first records, for you alone, and asks whether to go on if
    most of them would be in no group, or none in one of two groups.
    """
    from dplda.runs.tabulation import plan_tables, with_documents

    out = output(options)
    settings = question_settings(options)  # refused before anything is read
    wanted = wanted_tables(options)
    model = open_model(run, ledger_path)
    source = read_asked(corpus, options, wanted, None, model.facts.reading)
    settings |= {name: options[name] for name in ("zone", "date_format", "sampling")}
    planned = plan_tables(model, source, wanted, **settings)
    asked = Asked(source, corpus, wanted, options, ledger_path)

    def show(found: Tables) -> None:
        _show([(with_documents(found, open_ledger(ledger_path).runs()), model, out)], as_json=as_json)

    carry_out(planned, model, asked, show, as_json=as_json, quiet=quiet)


@dataclass(frozen=True)
class Asked:
    """What the command line of a charged question names."""

    source: Corpus
    corpus: Sequence[str]
    """The paths of `source`."""
    wanted: Sequence[Sequence[Grouping]]
    options: dict[str, Any]
    ledger_path: Path | None


def carry_out(
    planned: Run[Any],
    model: TopicModel | None,
    asked: Asked,
    show: Callable[[Any], None],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Charge the `planned` question, which is about a `model` if there is one, and `show` the answer; or dry-run it."""
    source, corpus, wanted, options = asked.source, asked.corpus, asked.wanted, asked.options
    if options["dry_run"]:
        report = look(corpus, {**options, "language": source.reading.get("language")})
        add_misfits(report, source, wanted, options)
        show_dry_run(report, planned, model, asked.ledger_path, as_json=as_json)
        return
    ask_about_misfits(corpus, source, wanted, options)
    ledger = open_ledger(asked.ledger_path)
    tell_before_charging(planned, ledger, corpus, options, model, sure=options["yes"])
    with following(quiet=as_json or quiet) as progress:
        found = planned.execute(ledger, progress=progress)
    private_notes(source.notes)
    show(found)
    if not as_json:
        tell_spent(ledger, planned.dataset, found.privacy)


def read_asked(
    corpus: Sequence[str],
    options: dict[str, Any],
    wanted: Sequence[Sequence[Grouping]],
    categories: Categories | None,
    known: Mapping[str, Any],
) -> Corpus:
    """Open `corpus` with the columns of groups and categories, as text was read for `known`, and ask its documents."""
    from dplda.runs.tabulation import stored_columns

    if categories is None:
        return read_like(corpus, {**options, "group_fields": stored_columns(wanted)}, known)
    if options["dry_run"]:
        categories.try_out()
    columns = list(dict.fromkeys([*stored_columns(wanted), *categories.columns]))
    return read_like(corpus, {**options, "group_fields": columns}, known).asking(categories)


def wanted_tables(options: Mapping[str, Any]) -> Sequence[Sequence[Grouping]]:
    """Return what the `grouping_options` name. Raises `InputError` for what is no column, period or list of groups."""
    from dplda.runs.tabulation import groupings

    public = {} if options["groups"] is None else read_mapping(options["groups"], _GROUPS_HINT, "column")
    dates = options["first"], options["last"]
    wanted = groupings(options["by"], public, dates, options["zone"], options["date_format"], options["between"])
    listed = {each for table in wanted for each in table if each.attribute.column not in public}
    for line in sorted({_counted_whole(each, *dates) for each in listed} - {""}):
        say(line, error=True)
    return wanted


def _counted_whole(grouping: Grouping, first: str | None, last: str | None) -> str:
    """Say which days outside of the range from `first` to `last` its periods have; empty if they have none."""
    by = grouping.attribute
    if first is None or last is None or not grouping.groups or not by.has_dates or by.ranges:
        return ""
    ends = days_of(grouping.groups[0])[0], days_of(grouping.groups[-1])[1]
    if (str(ends[0]), str(ends[1])) == (first, last):
        return ""
    return f"Periods are whole: {by.name} from {first} to {last} counts all days from {ends[0]} to {ends[1]}."


def add_misfits(
    report: Report, source: Corpus, wanted: Sequence[Sequence[Grouping]], options: Mapping[str, Any]
) -> None:
    """Add to the `report` of a dry run which of the first records would be in no group."""
    for each in _misfits(source, wanted, report.sample):
        told = each.in_words(before_date_format(options))
        if each.doubtful and not options["yes"]:
            report.problems.append(f"{told} {_OTHERWISE.capitalize()}")
        else:
            report.remarks.append(told)


def ask_about_misfits(
    corpus: Sequence[str], source: Corpus, wanted: Sequence[Sequence[Grouping]], options: dict[str, Any]
) -> None:
    """Tell which of the first records would be in no group, and ask if tables would say little.

    Raises `InputError` if it must ask and cannot, and `Abort` for no.
    """
    sample = None
    if source.is_text and source.group_columns:
        if STANDARD_INPUT in corpus:
            say("Standard input is read once: the columns of the groups cannot be inspected first.", error=True)
            return
        with suppress(InputError):  # the run says why they cannot be read
            sample = first_records(find_paths(list(corpus)), options)
    found = _misfits(source, wanted, sample)
    private_notes([each.in_words(before_date_format(options)) for each in found])
    if any(each.doubtful for each in found) and not options["yes"]:
        confirm("A table of these would say little. Charge the budget all the same?", otherwise=_OTHERWISE)


def _misfits(source: Corpus, wanted: Sequence[Sequence[Grouping]], sample: Sample | None) -> list[Misfits]:
    """List, for each attribute, which values of the `sample` or of a store's first documents are in no group."""
    from dplda.runs.group_check import look_at_groups, misfits_of
    from dplda.text.records import group_value

    if sample is None or sample.located.is_folder:
        return look_at_groups(wanted, source)
    columns = source.group_columns
    return misfits_of(wanted, [{column: group_value(row.get(column)) for column in columns} for row in sample.rows])


@click.command()
@click.argument("run")
@sampling_option
@_out_option
@_csv_option
@json_option
@ledger_option
def tables(run: str, as_json: bool, ledger_path: Path | None, **options: Any) -> None:
    """Show earlier answers of `dplda tabulate`, `count`, `words` and `evaluate` again, free of charge.

    RUN is such a run, one of `dplda ask`, or the run or model whose topics were tabulated. For a model with merged
    topics, they are summed. The answers of `dplda ask` are each written to a file of its own: FILE with the number of
    the question. So are the tables of several runs: FILE with the id of the run.
    """
    from dplda.cli.ask_command import show_findings, write_findings
    from dplda.cli.count_command import show_counts
    from dplda.cli.evaluate_command import show_evaluation
    from dplda.cli.words_command import show_words
    from dplda.model.topic_model import refuse_existing
    from dplda.runs.counting import is_count, load_counts
    from dplda.runs.evaluation import is_evaluation
    from dplda.runs.group_words import is_words, load_words
    from dplda.runs.plan_parts import is_plan, refuse_unanswered
    from dplda.runs.questions import load_findings
    from dplda.runs.released_table import tables_about
    from dplda.runs.series import is_path, load
    from dplda.runs.tabulation import tables_of, topic_tables

    out, ledger = output(options), open_ledger(ledger_path)
    folder = open_model(run, ledger_path) if is_path(run) else None
    record = ledger.run(run if folder is None else folder.facts.run or run)
    if is_count(record):
        show_counts(load_counts(record, sampling=options["sampling"]), out, as_json=as_json)
        return
    if is_words(record):
        if options["sampling"]:
            raise click.UsageError(f"--sampling is for tables and counts, and run {record.id} compared words.")
        show_words(load_words(record), out, as_json=as_json)
        return
    if is_evaluation(record) and record.result is not None:
        if options["sampling"] or out is not None:
            raise click.UsageError(f"run {record.id} evaluated topics: give --json alone for its numbers.")
        model = None
        with suppress(InputError):
            model = load(str(record.parameters["of"]), ledger=ledger)
        if as_json:
            print_json(dict(record.result))
        else:
            show_evaluation(record.result, model)
        return
    if is_plan(record):
        topics = load(run, ledger=ledger) if record.model else None
        findings = load_findings(record, topics, sampling=options["sampling"])
        wrote = [] if out is None else write_findings(findings, out)
        if as_json:
            print_json(findings.to_json())
        else:
            show_findings(findings)
        for line in () if as_json else wrote:
            say(line)
        return
    refuse_unanswered(record)
    runs = [record] if record.result is not None else tables_of(ledger, record.id)
    found = [topic_tables(each, ledger.runs(), sampling=options["sampling"]) for each in runs]
    if folder is not None:
        found = tables_about(found, folder)  # not those of topics that were merged otherwise
    if not found:
        of = " of all its topics" * bool(runs)
        same = [each for each in ledger.runs() if each.dataset == record.dataset and tables_of(ledger, each.id)]
        other = f" Those of {same[-1].id}, free of charge: dplda tables {same[-1].id}." if same else ""
        make = f"Make one: dplda tabulate {record.id} CORPUS --by COLUMN"
        raise InputError(f"Run {record.id} has no tables{of}.{other} {make}")
    shown: list[tuple[Tables, TopicModel | None, Path | None]] = []
    for each in found:
        model, file = folder, out if out is None or len(found) == 1 else out.with_stem(f"{out.stem}-{each.run}")
        with suppress(InputError):
            model = model or load(each.of, ledger=ledger)
        if file is not None:
            refuse_existing(file)
        shown.append((each, model, file))
    _show(shown, as_json=as_json, name=run if folder is not None and folder.facts.merged is not None else "")


def output(options: dict[str, Any]) -> Path | None:
    """Return the file of --out or --csv; raises an error if it exists, or has another suffix."""
    from dplda.model.topic_model import refuse_existing

    out, csv_file = options["out"], options["csv_file"]
    if out is not None and csv_file is not None:
        raise click.UsageError("--out and --csv both name a file; give one of them.")
    file: Path | None = out or csv_file
    if file is None:
        return None
    if file.suffix not in _SUFFIXES:
        raise click.UsageError(f"the file must end in {', '.join(_SUFFIXES)}.")
    refuse_existing(file)
    return file


def _show(found: Sequence[tuple[Tables, TopicModel | None, Path | None]], *, as_json: bool, name: str = "") -> None:
    """Write each of the `found` tables of the topics of a model to its file, if it has one, and print them.

    `name` is what `dplda tables` shows them by, if not by their runs.
    """
    for tables, model, out in found:
        if out is not None:
            write_topic_tables(tables, model, out)
    if as_json:
        records = [tables.to_json() for tables, _, _ in found]
        print_json(records if len(records) > 1 else records[0])
        return
    for tables, model, out in found:
        besides = f", besides what the topics of run {tables.of} cost"
        show_answer(tables, "tables", besides, out, partial(show_topic_tables, tables, model), name=name)


def show_answer(
    found: Tables,
    what: str,
    besides: str,
    out: Path | None,
    show: Callable[[], None],
    *,
    as_json: bool = False,
    name: str = "",
) -> None:
    """Print an answer, `what` it is, its guarantee, of what else this does not hold, and the file that it is in.

    `name` is what `dplda tables` shows it by, if not by its run.
    """
    if as_json:
        print_json(found.to_json())
        return
    statement = found.privacy
    if statement.sound:
        say(f"These {what} are {statement.in_words}{besides}.", style="green")
        tell_weakness(statement)
    else:
        say(statement.reason, style="bold red")
    show()
    say("")
    tell_sampling(found)
    again, numbers = f"dplda tables {shlex.quote(name or found.run)}", "numbers" if what == "counts" else "shares"
    say(f"Wrote {out}." if out is not None else f"All {numbers} with their intervals: {again} --csv FILE")
    if what != "words" and any(table.by for table in found):
        say(f"All certain differences: {again} --json")


def tell_sampling(tables: Iterable[ReleasedTable]) -> None:
    """Say what intervals cover where that is more than the noise."""
    from dplda.report.wording import intervals_cover

    tables = list(tables)
    if any(table.sampling for table in tables):
        say(intervals_cover(tables))


def _titles(tables: Tables, model: TopicModel | None) -> list[str]:
    """Return the titles of the topics of `tables`, empty ones if their `model` is not known."""
    known = model is not None and len(model.topics) == tables[0].n_topics
    return model.titles() if model is not None and known else [""] * tables[0].n_topics


def show_topic_tables(tables: Tables, model: TopicModel | None) -> None:
    """Print `tables` of the topics of `model`, which is None if it is not known."""
    from dplda.report import promise
    from dplda.report.wording import DIVIDED
    from dplda.runs.released_table import judged_by_size

    tables = tables if model is None else judged_by_size(tables, model)
    noise = () if model is None else [topic for topic, verdict in enumerate(model.verdicts) if verdict == "noise"]
    names = [
        f"{topic} {title}{_NOISE if title and topic in noise else ''}".strip()
        for topic, title in enumerate(_titles(tables, model))
    ]
    of_topics = promise.units_of_topics(model, tables)
    for one in tables:
        say("")
        _show_table(one, tables.privacy.unit, names, of_topics)
    if model is not None and model.facts.prior_used:
        say(f"Shares are of all known words: {DIVIDED}.")
    if model is not None and model.facts.dataset == tables.dataset and not tables.same_documents:
        topics = f"the topics of run {model.facts.run} were learned"
        differs = (
            f"This path has grown since {topics}"
            if tables.has_grown
            else f"These are not known to be the documents that {topics} from (other files, or read with other options)"
        )
        say(f"{differs}: dplda topics and dplda report keep the shares of that run.")


def _show_table(one: ReleasedTable, unit: str, names: list[str], of_topics: str) -> None:
    """Print each group with its number of units and largest topics, and the changes that are certain.

    `of_topics` says, after a space, from how many units the topics were learned; it may be empty.
    """
    from dplda.private.attributes import OTHER, in_words
    from dplda.runs.released_table import counted

    units, shares, tells = one.units(), one.shares(), one.tells
    if not one.by:
        say(f"{counted(unit).capitalize()}: {whole_number(units, 0)}, with 95 %.{of_topics}")
        say("Topics, the largest first:")
        order = sorted(range(one.n_topics), key=lambda topic: -shares.value[0, topic])
        table(("topic", "share in % (95 %)"), [(names[topic], in_percent(shares, (0, topic))) for topic in order])
        return
    rows = []
    for index, row in enumerate(one.rows):
        largest = sorted(range(one.n_topics), key=lambda topic: -shares.low[index, topic])[:_LARGEST]
        about = [f"{names[topic]} {in_percent(shares, (index, topic))}" for topic in largest]
        count = whole_number(units, index)
        first, *others = about if tells[index] else ["too small to tell"]
        rows += [(*row, count, first), *((*([""] * len(row)), "", each) for each in others)]
    table(
        (
            *map(in_words, one.by),
            counted(unit).replace(" at least", "\nat least") + " (95 %)",
            "largest topics, share in % (95 %)",
        ),
        rows,
        wide="largest topics, share in % (95 %)",
    )
    if outside := one.outside_periods.strip():
        say(outside)
    tell_private_groups(one, unit)
    rest = sum(units.value[index] for index, is_rest in enumerate(one.rest) if is_rest)
    expected = one.compares_two and tells[:2].all()  # two groups are seldom most of the documents
    if 2 * rest > units.value.sum() and not expected:
        say(
            f"Most {unit}s are in {OTHER!r}: do the values of the column match the groups, capital letters too? "
            "Are its dates in ISO 8601, such as 2024-03-31, or in the date format that was given, and in the range? "
            "Groups of few documents need a larger epsilon.",
            style="yellow",
        )
    say(
        f"All groups together have {whole_number(one.whole().units(), 0)} such {unit}s.{of_topics} Known words "
        "are those of the topics; repeated ones count."
    )
    show_changes(one, names)
    if any(names[change.topic].endswith(_NOISE) for change in one.changes()):
        say(
            "A topic called noise is one that an ordinary fit would probably not find. A difference that holds is one "
            "of the words that this run gave it, all the same."
        )


def tell_private_groups(one: ReleasedTable, unit: str) -> None:
    """Say which groups of a table were found privately, and how to have all of them."""
    from dplda.runs.private_groups import how_to_find_all, were_found

    if found := were_found(one, unit):
        say(f"{found}{how_to_find_all(one)}")


def in_percent(shares: Estimates[np.ndarray], place: tuple[int, int]) -> str:
    """Write one of the shares in percent, with its interval."""
    value, low, high = (100 * numbers[place] for numbers in (shares.value, shares.low, shares.high))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def show_changes(one: ReleasedTable, names: list[str]) -> None:
    """Print the differences that are certain between periods or groups; `names` are those of the topics or the like."""
    pairs, _ = one.differences()
    certain = sorted(one.changes(), key=lambda change: -abs(change.value))
    if not pairs:
        return
    if not certain:
        say(one.no_changes)
        return
    say(f"Differences {one.since} that hold, all of them together, with 95 % probability:")
    for change in certain[:_SHOWN_CHANGES]:
        say(f"  {change.describe(names[change.topic])}")
    if len(certain) > _SHOWN_CHANGES:
        say(f"  and {len(certain) - _SHOWN_CHANGES:,} more")


def write_topic_tables(tables: Tables, model: TopicModel | None, out: Path) -> None:
    """Write `tables` of the topics of `model`, which is None if it is not known."""
    titles = _titles(tables, model)
    write_tables(tables.titled([title or str(topic) for topic, title in enumerate(titles)]), out)


def write_tables(tables: Tables, out: Path) -> None:
    """Write all tables below one another, or their JSON."""
    import io
    import json

    import pyarrow as pa
    import pyarrow.parquet

    if out.suffix == ".json":
        write_file(out, json.dumps(tables.to_json(), ensure_ascii=False))
        return
    arrows = [one.to_arrow() for one in tables]
    parts = [
        each.add_column(0, "table", pa.array([one.name] * each.num_rows))
        for one, each in zip(tables, arrows, strict=True)
    ]
    whole = pa.concat_tables(parts, promote_options="default")
    groups = list(dict.fromkeys(name for one in tables for name in one.by))
    rest = [name for name in whole.column_names[1:] if name not in groups]
    whole = whole.select(["table", *groups, *rest])
    if out.suffix == ".csv":
        write_file(
            out, csv_text(whole.column_names, zip(*(column.to_pylist() for column in whole.columns), strict=True))
        )
        return
    content = io.BytesIO()
    pyarrow.parquet.write_table(whole, content)
    write_file(out, content.getvalue())
