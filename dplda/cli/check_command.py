"""`dplda check`: look at a corpus before a fit, for the person who owns it. Free, local and not private."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dplda.base.errors import InputError
from dplda.cli.check_report import Report, one_or_more, show
from dplda.cli.options import READING_NAMES, corpus_argument, json_option, read, reading_options
from dplda.text.columns import TEXT_NAMES, ReadOptions
from dplda.text.language_guess import UNSPACED, guess_language
from dplda.text.paths import STANDARD_INPUT, find_paths
from dplda.text.records import DOCUMENT_TEXT

if TYPE_CHECKING:
    from dplda.text.sampling import ColumnFacts, Sample

_FEW = 300  # documents from which topics can hardly be learned under any usual budget
_SMALL = 10_000  # units below which the default settings are seldom a good choice
_SETTINGS_FOR_FEW = ("--topics", "8", "--epsilon", "4")
_FEW_UNITS = (
    f"For about 2,000 to {_SMALL:,} documents or people, 8 topics at epsilon 4 are a good start; `dplda plan` "
    "forecasts other settings, and with fewer, --prior helps most."
)
_STORE = "meta.json"  # the file by whose name a folder is a prepared store
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
    """Look at CORPUS before a fit: its columns, the options to give, and what would make a fit fail.

    Reads the first records, for you alone: what is shown is exact and not private. Nothing is charged or written.
    Ends with status 2 if a fit would fail.
    """
    show(examine(corpus, options), as_json=as_json)


def examine(
    corpus: Sequence[str], options: dict[str, Any], extra: Sequence[str] | None = None, *, any_unit: bool = True
) -> Report:
    """Look at the files named `corpus` before a fit with the reading `options`.

    The command that is shown ends with `extra`. If `extra` is None and the collection seems small, it ends with
    settings for a small collection. Without `any_unit`, no column is suggested as the privacy unit.
    """
    report = look(corpus, options, for_fit=True, any_unit=any_unit)
    chosen = _suggest(report.options, report)
    few = _SETTINGS_FOR_FEW if _is_small(report, chosen) else ()
    report.options = chosen if report.people is None else chosen | {"unit_field": report.people}
    try:
        read([os.fspath(path) for path in find_paths(list(corpus))], chosen)
    except InputError as error:
        if not report.problems:
            report.problems.append(str(error))
    if not report.problems:
        report.command = _command(corpus, report.options, few if extra is None else extra)
        if few and extra is None:
            report.remarks.append(_FEW_UNITS)
    return report


def look(corpus: Sequence[str], options: dict[str, Any], *, for_fit: bool = False, any_unit: bool = False) -> Report:
    """Look at the first records of the files named `corpus`, which are read with `options`."""
    if STANDARD_INPUT in corpus:
        raise InputError("check looks at files. Write standard input to a file first.")
    chosen = {name: options[name] for name in READING_NAMES if options.get(name) is not None}
    report = Report(options=chosen, for_fit=for_fit)
    paths = find_paths(list(corpus))
    if len(paths) == 1 and os.path.isfile(paths[0] / _STORE):
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
    if any_unit or chosen.get("unit_field") is not None:
        _look_at_units(chosen, report)
    _look_at_size(report)
    return report


def first_records(paths: Sequence[Path], chosen: dict[str, Any]) -> Sample:
    """The first records of a corpus, exact and private. Raises `InputError` if they cannot be read."""
    from dplda.text.sampling import read_sample

    names = ("text_field", "id_field", "unit_field", "encoding", "pattern", "one_line", "delimiter")
    options = ReadOptions(**{name: chosen[name] for name in names if chosen.get(name) is not None})
    return read_sample(paths, options, chosen.get("format"))


def _is_small(report: Report, chosen: dict[str, Any]) -> bool:
    """Whether the corpus seems to have too few units for the default settings."""
    sample = report.sample
    records = None if sample is None else sample.estimate if sample.total is None else sample.total
    unit = report.people or chosen.get("unit_field")
    distinct = next((column.distinct_share for column in report.columns if column.name == unit), 1.0)
    return records is not None and records * distinct < _SMALL


def _suggest(chosen: dict[str, Any], report: Report) -> dict[str, Any]:
    """The options to give: those that were given, and the column and language that the sample shows."""
    suggested = dict(chosen)
    if report.text_fields and report.text_fields not in (("text",), (DOCUMENT_TEXT,)):
        suggested["text_field"] = one_or_more(report.text_fields)
    if "language" not in chosen and report.language not in (None, "en"):
        suggested["language"] = report.language
    return suggested


def _command(corpus: Sequence[str], chosen: dict[str, Any], extra: Sequence[str]) -> str:
    words = ["dplda", "fit", *corpus]
    for name, value in chosen.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else _repeated(option, value)
    return shlex.join([*words, *extra])


def _repeated(option: str, value: Any) -> list[str]:
    return [word for item in (value if isinstance(value, tuple) else (value,)) for word in (option, str(item))]


def _look_at_text(chosen: dict[str, Any], report: Report) -> None:
    sample = report.sample
    assert sample is not None
    if sample.located.format not in ("folder", "lines") and not sample.names:
        if not sample.rows and sample.defects:
            report.problems.append("None of the first records can be read. Check --format and the file.")
        return
    facts = {column.name: column for column in report.columns}
    report.text_fields = ReadOptions(chosen.get("text_field")).text_fields or _text_columns(report)
    if not report.text_fields or not facts.keys() >= set(report.text_fields):
        return  # the public checks say so
    _judge_text([facts[name] for name in report.text_fields], report)
    present = ([row[name] for name in report.text_fields if isinstance(row.get(name), str)] for row in sample.rows)
    _judge_language(["\n".join(texts) for texts in present if texts], chosen, report)


def _text_columns(report: Report) -> tuple[str, ...]:
    """The column that seems to hold the text, and before a fit a column of titles, too, in their order in the file."""
    columns = report.columns
    longest = max(columns, key=lambda column: column.text_share * column.mean_words, default=None)
    usual = (column for name in TEXT_NAMES for column in columns if column.name == name)
    main = next(usual, longest if longest and longest.text_share * longest.mean_words >= 2 else None)
    if main is None:
        return ()
    title = next((column for column in columns if _is_title(column) and column is not main), None)
    chosen = (main,) if title is None or not report.for_fit or main.text_share * main.mean_words < 2 else (main, title)
    return tuple(column.name for column in columns if column in chosen)


def _is_title(column: ColumnFacts) -> bool:
    """Whether a column is called a title and holds text: several words, which seldom repeat, as categories would."""
    told = _TITLE_NAME.fullmatch(column.name.strip())
    return bool(told) and column.text_share >= 0.5 and column.mean_words >= 2 and column.distinct_share >= 0.5


def _judge_text(columns: Sequence[ColumnFacts], report: Report) -> None:
    sample = report.sample
    assert sample is not None
    if not sample.rows:
        return
    for column in columns:
        shown = _shown(column, sample)
        if column.null_share == 1 and len(columns) == 1:
            report.problems.append(f"{shown} has no values in the sample. Name another with --text-field.")
        elif column.text_share == 0 and column.null_share < 1:
            report.problems.append(f"{shown} holds {column.type}, not text. Name another with --text-field.")
    names = [column.name for column in columns]
    n_missing = sum(not any(isinstance(text := row.get(name), str) and text for name in names) for row in sample.rows)
    if n_missing == len(sample.rows) and len(columns) > 1 and not report.problems:
        report.problems.append(f"{_named(names)} have no values in the sample. Name others with --text-field.")
    elif 0 < n_missing < len(sample.rows):
        missing = _number(n_missing / len(sample.rows), sample)
        report.remarks.append(f"{missing} have no text in {_named(names)} and contribute nothing.")
    n_words = sum(column.mean_words for column in columns)
    if any(column.text_share for column in columns) and n_words < 3 and report.language is None:
        shown = _shown(columns[0], sample) if len(columns) == 1 else "The text"
        report.remarks.append(
            f"{shown} has {n_words:.1f} words on average. Documents of fewer than three words of the "
            "vocabulary contribute nothing."
        )


def _shown(column: ColumnFacts, sample: Sample) -> str:
    return f"Column {column.name!r}" if column.name in sample.names else "The text"


def _named(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))


def _number(share: float, sample: Sample) -> str:
    return f"{round(share * len(sample.rows)):,} of the first {len(sample.rows):,} records"


def _judge_language(texts: Sequence[str], chosen: dict[str, Any], report: Report) -> None:
    report.language = guess_language(texts)
    given = chosen.get("language", "en")
    if report.language is not None and report.language != given:
        how = "is given" if "language" in chosen else "is the default"
        report.remarks.append(f"The text looks like language {report.language!r}, and {given!r} {how}.")
    if report.language in UNSPACED and given not in UNSPACED:
        report.remarks.append(
            "This language does not separate words by white space, and needs a segmenter: give --language "
            f"{report.language}, which names the package to install."
        )


def _look_at_units(chosen: dict[str, Any], report: Report) -> None:
    facts = {column.name: column for column in report.columns}
    unit = chosen.get("unit_field")
    if unit is None:
        report.unit_candidates = list(_unit_candidates(report))[:3]
        report.people = next((name for name in report.unit_candidates if _names_people(facts[name])), None)
    elif unit in facts and report.sample is not None and report.sample.rows:
        column = facts[unit]
        if column.null_share == 1:
            report.problems.append(f"Column {unit!r} has no values in the sample, so no document belongs to a unit.")
        elif column.null_share:
            missing = _number(column.null_share, report.sample)
            report.remarks.append(f"{missing} have no unit and contribute nothing.")
        if column.unnamed_share:
            nobody = column.unnamed_share + column.null_share > 1 - 1e-9
            found = report.problems if nobody else report.remarks
            found.append(
                f"{_number(column.unnamed_share, report.sample)} have a value in {unit!r} that names no unit, such as "
                "a floating-point number of 2^53 or more, which may be rounded. They contribute nothing. Write the "
                "column as text or as whole numbers."
            )
        if column.null_share < 1 and column.distinct_share == 1:
            report.remarks.append(f"Every value of {unit!r} in the sample is different: each document is a unit.")


def _names_people(column: ColumnFacts) -> bool:
    """Whether the name of `column` suggests people, some of whom have several documents."""
    return bool(_UNIT_NAME.search(column.name)) and column.distinct_share < 1


def _unit_candidates(report: Report) -> Iterator[str]:
    """Columns that may name people, those with a telling name first."""
    usable = [
        column
        for column in report.columns
        if column.name not in report.text_fields
        and column.type in ("text", "number", "string", "large_string", "int64", "int32")
        and column.mean_words <= 4
        and column.null_share < 1
    ]
    told = [column.name for column in usable if _UNIT_NAME.search(column.name)]
    yield from told
    for column in usable:
        if column.name not in told and column.name != "id" and 0.02 < column.distinct_share < 0.95:
            yield column.name


def _look_at_size(report: Report) -> None:
    sample = report.sample
    assert sample is not None
    if sample.total == 0:
        report.problems.append("There are no records: the file ends after its header, or is empty.")
    elif report.for_fit and sample.total is not None and sample.total < _FEW:
        report.remarks.append(
            f"{sample.total:,} documents are few. Under a usual budget, topics need thousands; `dplda plan --documents "
            f"{sample.total}` forecasts what to expect."
        )
    if sample.n_rare:
        report.remarks.append(f"{sample.n_rare:,} other fields occur in fewer than half of the first records.")
    if sample.defects:
        report.remarks.append(f"{sample.defects:,} of the first records cannot be read and contribute nothing.")
