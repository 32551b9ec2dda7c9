"""`dplda check`: look at a corpus before a fit, for the person who owns it. Free, local and not private.

`examine` finds out, and `show` prints. Dry runs of other commands look at CORPUS in the same way and add the price of
the planned run; they reserve, charge and write nothing.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from dplda.base.errors import InputError
from dplda.cli.budget_command import before_charging
from dplda.cli.check_notes import look_at_dates, look_at_repeats, of_first
from dplda.cli.console import print_json, say, table
from dplda.cli.expectations import about, tell_expected, tell_unit
from dplda.cli.options import (
    READING_NAMES,
    corpus_argument,
    find_ledger,
    first_records,
    json_option,
    open_ledger,
    read,
    reading_options,
)
from dplda.text.files import STANDARD_INPUT, find_paths
from dplda.text.folder import SUBFOLDER
from dplda.text.language_guess import UNSPACED, guess_language
from dplda.text.records import DOCUMENT_TEXT, TEXT_NAMES, ReadOptions, plainly_named

if TYPE_CHECKING:
    from dplda.budget import Ledger
    from dplda.model import TopicModel
    from dplda.runs.run import Run
    from dplda.text.sampling import ColumnFacts, Sample


_SIZED = {"--topics", "--epsilon"}  # the proposed options that depend on the documents
_LOCAL = "Exact and not private: this is for your screen only. Nothing is charged."
_STORE = "meta.json", "part-00000.arrow"  # files by whose names a folder is a prepared store
_HTML = re.compile(  # character references, also those that lost their &, and tags
    r"(?:&|\b)(?:lt|gt|amp|quot|apos|nbsp);|#\d{2,5};|</?(?:a|b|br|div|em|font|i|img|li|p|span|strong|table|td|tr|ul)\b[^<>]*>",
    re.IGNORECASE,
)
_UNIT_NAME = re.compile(
    r"(user|author|customer|client|patient|person|people|member|account|employee|student|reviewer|sender|speaker|owner|"
    r"contact|caller|respondent|participant|email|name|kunde|autor|nutzer|mitglied|absender|mitarbeiter|usuario|auteur)",
    re.IGNORECASE,
)
_TITLE_NAME = re.compile(
    r"(subject|title|headline|heading|summary|betreff|titel|überschrift|kurzbeschreibung|zusammenfassung|objet|titre|sujet|"
    r"asunto|título|titulo)",
    re.IGNORECASE,
)


@click.command()
@corpus_argument
@reading_options
@json_option
def check(corpus: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Inspect CORPUS before a fit: show its columns, the options to use, and what would make a fit fail.

    The first records are read, and people are counted in all of them if they are not too many. The output is exact and
    NOT PRIVATE: it is for you alone. Nothing is charged or written. Exits with status 2 if a fit would fail.
    """
    show(examine(corpus, options), as_json=as_json)


@dataclass
class Report:
    """What was found about a corpus."""

    sample: Sample | None = None
    """The first records, exact and private."""
    columns: list[ColumnFacts] = field(default_factory=list)
    text_fields: tuple[str, ...] = ()
    """The columns of the text."""
    unit_candidates: list[str] = field(default_factory=list)
    """Columns that may name the privacy unit."""
    people: str | None = None
    """The column that seems to name people with several documents, if there is one."""
    seed_words: Mapping[str, Sequence[str]] | None = None
    """The words that would guide topics, if word vectors gave some of them. Public."""
    price: str | None = None
    """What a run would cost, in words."""
    outlook: Sequence[str] = ()
    """What its answers would be like (`Run.outlook`)."""
    language: str | None = None
    """The language that the text seems to be in."""
    problems: list[str] = field(default_factory=list)
    """What would make a fit fail."""
    remarks: list[str] = field(default_factory=list)
    """What would not, and is good to know."""
    options: dict[str, Any] = field(default_factory=dict)
    """How to read the corpus, as given or as suggested."""
    command: str | None = None
    """The command to run next."""
    condition: str | None = None
    """What it takes for this command to give topics, if they cannot be expected of a run now."""
    unit: str | None = None
    """The column of the privacy unit of this command; None if one document is one unit."""
    n_units: int | None = None
    """About how many privacy units there are; None if that is not known."""
    for_fit: bool = True
    """Whether topics shall be learned, so that advice for this is shown."""


def examine(
    corpus: Sequence[str], options: dict[str, Any], extra: Sequence[str] | None = None, *, any_unit: bool = True
) -> Report:
    """Look at the files named `corpus` before a fit with the reading `options`.

    The command that is shown ends with `extra`. If `extra` is None, it ends with the settings that are most likely to
    give topics. Without `any_unit`, no column is suggested as the privacy unit.
    """
    report = look(corpus, options, for_fit=True, any_unit=any_unit)
    chosen = dict(report.options)  # with the column and the language that the sample shows
    if report.text_fields and report.text_fields not in (("text",), (DOCUMENT_TEXT,)):
        chosen["text_field"] = one_or_more(report.text_fields)
    if "language" not in chosen and report.language not in (None, "en"):
        chosen["language"] = report.language

    paths = [os.fspath(path) for path in find_paths(list(corpus))]
    if extra is not None and "text_field" in chosen.keys() - report.options.keys():
        try:
            read(paths, report.options)
        except InputError:
            report.remarks.append(
                "The command as you typed it does not name the column of the text. The command below does, and "
                "everything here is about that one."
            )
    proposed = report.people if extra is None else None  # a dry run is of the unit that was typed
    unit = proposed or chosen.get("unit_field")
    report.options = chosen if proposed is None else chosen | {"unit_field": proposed}
    try:
        read(paths, chosen)
    except InputError as error:
        if not report.problems:
            report.problems.append(str(error))
    if report.problems:
        return report
    words = ["dplda", "fit", *corpus]
    for name, value in report.options.items():
        option = f"--{name.replace('_', '-')}"
        values = value if isinstance(value, tuple) else (value,)
        words += [option] if value is True else [word for each in values for word in (option, str(each))]
    if report.sample is not None:
        report.unit, report.n_units = unit, number_of_units(report, unit)
        if extra is None and unit is None and report.unit_candidates:
            tell_unit(report, report.unit_candidates[0], number_of_units(report, report.unit_candidates[0]))
    report.command = shlex.join([*words, *(tell_expected(report) if extra is None else extra)])
    if proposed is not None and report.condition and report.sample is not None:
        from dplda.runs.advice import advise

        documents = number_of_units(report, None)
        if documents and advise(documents).ends_with_topics:
            report.remarks.append(
                f"Without --unit-field {proposed}, each document is protected by itself, and about {about(documents)} "
                "of them are enough for topics. Somebody with many documents is protected less."
            )
    return report


def number_of_units(report: Report, unit: str | None) -> int | None:
    """Return about how many privacy units there are, of the column `unit`, and note it if that is an estimate."""
    from dplda.text.sampling import find_units

    found = None if report.sample is None else find_units(report.sample, unit, report.text_fields)
    if found is None or report.sample is None:
        return None
    if found.least < found.most:
        report.remarks.append(
            f"The number of different values of {unit!r} is estimated from the first {len(report.sample.rows):,} "
            f"records: about {about(found.number)}, and may be from {about(found.least)} to {about(found.most)}."
        )
    return found.number


def look(corpus: Sequence[str], options: dict[str, Any], *, for_fit: bool = False, any_unit: bool = False) -> Report:
    """Look at the first records of the files named `corpus`, which are read with `options`."""
    if STANDARD_INPUT in corpus:
        raise InputError("check looks at files. Write standard input to a file first.")
    chosen = {name: options[name] for name in READING_NAMES if options.get(name) is not None}
    report = Report(options=chosen, for_fit=for_fit)
    paths = find_paths(list(corpus))
    if len(paths) == 1 and "pattern" not in chosen and all(os.path.isfile(paths[0] / name) for name in _STORE):
        report.remarks.append("This is a prepared store: its documents were read when it was imported.")
        return report
    try:
        report.sample = first_records(paths, chosen)
    except InputError as error:
        report.problems.append(str(error))
        return report
    from dplda.text.sampling import column_facts

    report.columns = column_facts(report.sample)
    _look_at_text(chosen, report)
    look_at_repeats(chosen, report)
    look_at_dates(report, options)
    if any_unit or chosen.get("unit_field") is not None:
        _look_at_units(chosen, report)
    total, n_rare = report.sample.total, report.sample.n_rare
    if total == 0:
        report.problems.append("There are no records: the file ends after its header, or is empty.")
    if n_rare:
        report.remarks.append(f"{n_rare:,} other fields occur in fewer than half of the first records.")
    if report.sample.defects:
        report.remarks.append(f"Without content, of the first records: {report.sample.tell_defects(_is_screen())}.")
    return report


def _look_at_text(chosen: dict[str, Any], report: Report) -> None:
    sample = report.sample
    assert sample is not None
    if sample.located.format not in ("folder", "lines") and not sample.names:
        if not sample.rows and sample.defects:
            report.problems.append("None of the first records can be read. Check --format and the file.")
        return
    facts = {column.name: column for column in report.columns}
    report.text_fields = ReadOptions(chosen.get("text_field")).text_fields or _text_columns(report)
    if DOCUMENT_TEXT in facts and facts[DOCUMENT_TEXT].null_share == 1 and sample.rows:
        report.problems.append(f"None of the first {len(sample.rows):,} records holds any text.")
    if not report.text_fields or not facts.keys() >= set(report.text_fields):
        return  # the public checks say so
    present = ([row[name] for name in report.text_fields if isinstance(row.get(name), str)] for row in sample.rows)
    report.language = guess_language(["\n".join(texts) for texts in present if texts])
    _judge_text([facts[name] for name in report.text_fields], report)
    given = chosen.get("language", "en")
    if report.language is not None and report.language != given:
        how = "is given" if "language" in chosen else "is the default"
        report.remarks.append(f"The text looks like language {report.language!r}, and {given!r} {how}.")
    if report.language in UNSPACED and given not in UNSPACED:
        report.remarks.append(
            "This language does not separate words by white space, and needs a segmenter: give --language "
            f"{report.language}, which names the package to install."
        )


def _text_columns(report: Report) -> tuple[str, ...]:
    """Return the column that seems to hold the text and, before a fit, a column of titles, in the order of the file."""
    columns = report.columns
    longest = max(columns, key=lambda column: column.words_per_row, default=None)
    usual = (column for name in TEXT_NAMES for column in columns if column.name == name)
    main = next(usual, longest if longest and longest.words_per_row >= 2 else None)
    if main is None:
        return ()

    def is_title(column: ColumnFacts) -> bool:
        """Whether it is named like a title and holds text: several words, which seldom repeat, as categories would."""
        named = _TITLE_NAME.fullmatch(column.name.strip()) is not None and column is not main
        text = column.text_share >= 0.5 and column.mean_words >= 2 and column.distinct_share >= 0.5
        return named and text and not _begins(column.name, main.name, report.sample)

    title = next(filter(is_title, columns), None)
    chosen = (main,) if title is None or not report.for_fit or main.words_per_row < 2 else (main, title)
    return tuple(column.name for column in columns if column in chosen)


def _begins(title: str, text: str, sample: Sample | None) -> bool:
    """Whether the values of the column `title` are mostly how those of `text` begin, so that its words count twice."""
    rows = [] if sample is None else sample.rows
    pairs = [(row[title], row[text]) for row in rows if isinstance(row.get(title), str) and row.get(text)]
    return 2 * sum(str(body).startswith(head.strip(" .\u2026")) for head, body in pairs) > len(pairs)


def _judge_text(columns: Sequence[ColumnFacts], report: Report) -> None:
    sample = report.sample
    assert sample is not None
    if not sample.rows:
        return
    for column in columns:
        shown = f"Column {column.name!r}" if column.name in sample.names else "The text"
        if column.null_share == 1 and len(columns) == 1:
            report.problems.append(f"{shown} has no values in the sample. Name another with --text-field.")
        elif column.text_share == 0 and column.null_share < 1:
            report.problems.append(f"{shown} holds {column.type}, not text. Name another with --text-field.")
    names = [column.name for column in columns]
    both = " and ".join(map(repr, names))
    n_missing = sum(not any(isinstance(text := row.get(name), str) and text for name in names) for row in sample.rows)
    if n_missing == len(sample.rows) and len(columns) > 1 and not report.problems:
        report.problems.append(f"{both} have no values in the sample. Name others with --text-field.")
    elif 0 < n_missing < len(sample.rows):
        missing = of_first(n_missing, sample, "has", "have")
        report.remarks.append(f"{missing} no text in {both} and contribute{'s' * (n_missing == 1)} nothing.")
    joined = (" ".join(text for name in names if isinstance(text := row.get(name), str)) for row in sample.rows)
    marked = sum(_HTML.search(text) is not None for text in joined) / max(len(sample.rows) - n_missing, 1)
    if marked > 0.02:
        report.remarks.append(
            f"About {marked:.0%} of the texts hold HTML, such as &lt;, #39; or <b>: its letters become "
            "words. Remove it before a fit: html.unescape of Python replaces whole character references, and a regular "
            "expression such as <[^<>]+>|#[0-9]+;|quot; finds tags and what is left of broken ones."
        )
    n_words = sum(column.mean_words for column in columns)
    if any(column.text_share for column in columns) and n_words < 3 and report.language not in UNSPACED:
        named = len(columns) == 1 and columns[0].name in sample.names
        shown = f"Column {columns[0].name!r}" if named else "The text"
        report.remarks.append(
            f"{shown} has {n_words:.1f} words on average. Documents of fewer than three words of the "
            "vocabulary contribute nothing."
        )


def _look_at_units(chosen: dict[str, Any], report: Report) -> None:
    """Judge the column of the privacy unit that was chosen, or find columns that may name people."""
    facts = {column.name: column for column in report.columns}
    unit = chosen.get("unit_field")
    if unit is None:
        usable = [
            column
            for column in report.columns
            if column.name not in report.text_fields
            and column.type in ("text", "number", "string", "large_string", "int64", "int32")
            and column.mean_words <= 4
            and column.null_share < 1
            and column.date_formats is None
        ]
        named = [column.name for column in usable if _UNIT_NAME.search(column.name)]
        others = [c.name for c in usable if c.name not in named and c.name != "id" and 0.02 < c.distinct_share < 0.95]
        report.unit_candidates = [*named, *others][:3]
        several = (name for name in report.unit_candidates if name in named and facts[name].distinct_share < 1)
        report.people = next(several, None)
    elif unit in facts and report.sample is not None and report.sample.rows:
        column, n = facts[unit], len(report.sample.rows)
        if column.null_share == 1:
            report.problems.append(f"Column {unit!r} has no values in the sample, so no document belongs to a unit.")
        elif column.null_share:
            missing = of_first(count := round(column.null_share * n), report.sample, "has", "have")
            report.remarks.append(f"{missing} no unit and contribute{'s' * (count == 1)} nothing.")
        if column.unnamed_share:
            nobody = column.unnamed_share + column.null_share > 1 - 1e-9
            (report.problems if nobody else report.remarks).append(
                f"{of_first(round(column.unnamed_share * n), report.sample, 'has', 'have')} a value in {unit!r} that "
                "names no unit, such as a floating-point number of 2^53 or more, which may be rounded, and contributes "
                "nothing. Write the column as text or as whole numbers."
            )
        if column.null_share < 1 and column.distinct_share == 1:
            report.remarks.append(f"Every value of {unit!r} in the sample is different: each document is a unit.")


def show(report: Report, *, as_json: bool) -> None:
    """Print `report`, and end the command with status 2 if there are problems."""
    names = [column.name for column in report.columns if column.name != DOCUMENT_TEXT]
    if (as_json or not _is_screen()) and not plainly_named(names):
        # A first line that was taken for a header may be a document.
        kept = ("sample", "language", "problems", "seed_words", "price", "outlook", "for_fit")
        unnamed = f"{len(report.columns)} columns have no plain names, which only a terminal shows: "
        remark = f"{unnamed}does the file have a header?"
        report = Report(**{name: getattr(report, name) for name in kept}, remarks=[remark])
    if as_json:
        print_json(_record(report))
    else:
        _tell(report)
    if report.problems:
        click.get_current_context().exit(2)


def _is_screen() -> bool:
    """Tell whether values may be shown: on a screen, not in a file or a log."""
    return sys.stdout.isatty()


def _tell(report: Report) -> None:
    say(_LOCAL, style="yellow")
    sample = report.sample
    if sample is not None:
        n_files = len(sample.located.files)
        say(f"{_records_text(sample)}; format {sample.located.format}; {n_files:,} file{'s' * (n_files != 1)}.")
    if report.columns:
        visible = _is_screen()
        note = "values are shortened, and PRIVATE" if visible else "values are shown only on a terminal"
        say(f"Columns in the first {len(sample.rows) if sample else 0:,} records ({note}):")
        columns = ("column", "type", "missing", "words", *(["values (private)"] if visible else []))
        rows = [
            (
                c.name,
                c.type,
                f"{c.null_share:.0%}" if math.isfinite(c.null_share) else "",
                f"{c.mean_words:.1f}" if c.text_share else "",
                *([" | ".join(c.examples)] if visible else []),
            )
            for c in report.columns
        ]
        table(columns, rows, wide=columns[-1])
    for line in report.remarks:
        say(f"Note: {line}")
    for line in report.problems:
        say(f"Problem: {line}", style="bold red")
    if report.for_fit:
        _advise(report)
    for line in guided_lines(report.seed_words):
        say(line)
    for line in report.outlook:
        say(line)
    if report.price:
        say(report.price)
    if report.command:
        if report.price is None:  # else `before_charging` says it if it is needed
            say(
                "Before the first run, fix what all runs together may spend, unless you have: `dplda budget grant "
                "--help` says how."
            )
        if report.price is None and report.for_fit and _SIZED & set(shlex.split(report.command)):
            say("The settings below follow from the size of your text: whoever sees them learns something of it.")
        say(f"{report.condition or 'Next'}:")
        say(f"  {report.command}")


def guided_lines(seed_words: Mapping[str, Sequence[str]] | None) -> list[str]:
    """Return a line for each guided topic, with its words."""
    return [f"Topic {name!r} is guided by: {', '.join(words)}." for name, words in (seed_words or {}).items()]


def _advise(report: Report) -> None:
    """Print what to decide before the first fit: whom to protect, and whether names are left out."""
    if report.people:
        share = next(column.distinct_share for column in report.columns if column.name == report.people)
        n = 0 if report.sample is None else len(report.sample.rows)
        say(
            f"{report.people!r} seems to name people with several documents ({round(share * n):,} different values in "
            f"the first {n:,} records). With --unit-field, all "
            "documents of one are protected together; without it, each document by itself. The first run fixes this "
            "choice."
        )
    elif report.sample is not None and report.sample.located.is_folder:
        say(
            "In a folder, each file is one document, which is protected by itself, and so is a person with one file. "
            "To protect people with several files, put the files of each into a subfolder and give --unit-field "
            f"{SUBFOLDER}, or write a table with a column of texts and one of people."
        )
        if SUBFOLDER in report.sample.names:
            say(f"Questions can be grouped by the first subfolder of a file: --by {SUBFOLDER}.")
    elif report.unit_candidates:
        say(
            "Each document is protected by itself. To protect people with several documents, name their column with "
            f"--unit-field; candidates: {', '.join(report.unit_candidates)}. The first run fixes this choice."
        )
    if report.text_fields and "stopwords" not in report.options:
        say(
            "Names of persons are words like others. Common ones (English, German, French and Spanish) can be left out "
            f"with --stopwords names{_names_need()}, and with them some words that are also names, such as christian, "
            "israel or winter."
        )


def _names_need() -> str:
    """Return the condition of --stopwords names: none if its packages are installed."""
    installed = all(find_spec(package) for package in ("faker", "mimesis", "spacy_lookups_data"))
    return "" if installed else " after pip install 'dplda[wordlists]'"


def _records_text(sample: Sample) -> str:
    if sample.total is not None:
        return f"{sample.total:,} record{'s' * (sample.total != 1)}"
    if sample.estimate is not None:
        basis = f"estimated from the first {len(sample.rows):,} and the size of the files"
        return f"about {about(sample.estimate)} records ({basis})"
    return f"more than {len(sample.rows):,} records (compressed, so that their number is not known)"


def _record(report: Report) -> dict[str, Any]:
    """Return the JSON output, without values of documents. `local` marks it as not for sharing."""
    sample = report.sample
    return {
        "local": True,
        "format": None if sample is None else sample.located.format,
        "files": None if sample is None else len(sample.located.files),
        "records": None if sample is None else sample.total,
        "estimated_records": None if sample is None or sample.total is not None else sample.estimate,
        "sampled_records": None if sample is None else len(sample.rows),
        "columns": [
            {
                "name": column.name,
                "type": column.type,
                "null_share": _rounded(column.null_share),
                "mean_words": _rounded(column.mean_words),
                "distinct_share": _rounded(column.distinct_share),
            }
            for column in report.columns
        ],
        "text_field": one_or_more(report.text_fields) if report.text_fields else None,
        "unit_candidates": report.unit_candidates,
        "people": report.people,
        "seed_words": None if report.seed_words is None else dict(report.seed_words),
        "price": report.price,
        "outlook": list(report.outlook),
        "language": report.language,
        "remarks": report.remarks,
        "problems": report.problems,
        "command": report.command,
        "condition": report.condition,
    }


def _rounded(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def one_or_more(names: Sequence[str]) -> str | tuple[str, ...]:
    """Return the only one of `names`, or all of them as a tuple."""
    return names[0] if len(names) == 1 else tuple(names)


@contextmanager
def consulted_ledger(path: Path | None) -> Iterator[Ledger]:
    """Yield the ledger at `path`, or the default one; if there is none yet, an empty one that is removed afterwards."""
    with TemporaryDirectory() as empty:
        yield find_ledger(path) or open_ledger(Path(empty, "ledger.db"))


def show_dry_run(
    report: Report, run: Run[Any], model: TopicModel | None, ledger_path: Path | None, *, as_json: bool
) -> None:
    """Print `report` with the price of the planned `run`, about a `model` if there is one. Raises `BudgetRefused`."""
    if not report.problems:
        with consulted_ledger(ledger_path) as ledger:
            add_price(report, run, ledger, model)
    show(report, as_json=as_json)


def add_price(report: Report, run: Run[Any], ledger: Ledger, model: TopicModel | None = None) -> None:
    """Add to `report` what the planned `run`, about a `model` if there is one, would take of its dataset's budget.

    Raises `BudgetRefused`.
    """
    quoted = run.quote(ledger)
    names = [record.name for record in ledger.datasets() if record.runs]
    new_name = bool(names) and run.dataset not in names
    if new_name:
        report.remarks.append(
            f"No run has charged dataset {run.dataset} yet. Documents that another name was charged for are recognised "
            "only when the run reads them; it is then charged there, too, or refused if that name protects other "
            "units. If they have a name, give that as the dataset."
        )
    report.remarks += filter(None, [*before_charging(run, ledger, model), quoted.warning])
    report.outlook = run.outlook
    if not run.reason:
        from dplda.report import promise

        privacy, success = run.privacy, promise.success_at_most(run.statement)
        report.remarks += promise.weaknesses(privacy.epsilon, privacy.delta, success, report.n_units)
    if quoted.more is None:
        report.price = f"Dataset {run.dataset} may spend without limit."
        return
    more = (
        f"leaves room for about {quoted.more - 1:,} more like it"
        if quoted.more > 1
        else "fits, and leaves no room for another like it"
    )
    if run.batch is not None and quoted.dataset.parallel:
        more += " on this batch"
    budget = f"dataset {run.dataset} ({quoted.dataset.grant})"
    if quoted.dataset.limit is not None:
        name, grant = quoted.dataset.limit
        budget = f"{name} ({grant}), which shares documents with {run.dataset} (exact, not for publication)"
    report.price = f"This run would take {quoted.share:.1%} of the budget of {budget}, which {more}"
    if quoted.dataset.refused:
        report.price += (
            ". But its latest run was refused when its documents had been read: if nothing changed, this one is, too."
        )
    else:
        report.price += ", unless other datasets have its documents." if new_name else "."
    if quoted.share_of_mu_squared < quoted.share:
        report.price += (
            " It is limited by delta, which each list of groups or words costs that a run finds privately: a smaller "
            "epsilon costs the same. With public lists (groups, from and to of periods, or a vocabulary of "
            f"words) it would be {quoted.share_of_mu_squared:.1%}."
        )
