"""What `dplda check` and dry runs found, and how it is shown: for the screen of the person who owns the corpus."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from dplda.cli.console import print_json, say, table
from dplda.text.columns import plainly_named
from dplda.text.records import DOCUMENT_TEXT

if TYPE_CHECKING:
    from dplda.text.sampling import ColumnFacts, Sample

_LOCAL = "Exact and not private: this is for your screen only. Nothing is charged."


@dataclass
class Report:
    """What `dplda check` found. `problems` would make a fit fail; `remarks` would not.

    `text_fields` are the columns of the text. `people` is the column, if there is one, that seems to name people with
    several documents, and `price` what a run would cost, in words. `granted` says whether the dataset is known to have
    its own grant or an earlier run. `options` say how to read the corpus, as given or as suggested. `for_fit` says that
    topics shall be learned, so that advice for this is shown.
    """

    sample: Sample | None = None
    columns: list[ColumnFacts] = field(default_factory=list)
    text_fields: tuple[str, ...] = ()
    unit_candidates: list[str] = field(default_factory=list)
    people: str | None = None
    price: str | None = None
    granted: bool = False
    language: str | None = None
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    command: str | None = None
    for_fit: bool = True


def show(report: Report, *, as_json: bool) -> None:
    """Print `report`, and end the command with status 2 if there are problems."""
    names = [column.name for column in report.columns if column.name != DOCUMENT_TEXT]
    if (as_json or not _is_screen()) and not plainly_named(names):
        report = _without_names(report)
    if as_json:
        print_json(_record(report))
    else:
        _tell(report)
    if report.problems:
        click.get_current_context().exit(2)


def _without_names(report: Report) -> Report:
    """`report` without column names, since a first line that was taken for a header may be a document."""
    told = (
        f"{len(report.columns)} columns have no plain names, which only a terminal shows: does the file have a header?"
    )
    kept = {name: getattr(report, name) for name in ("sample", "language", "problems", "price", "granted", "for_fit")}
    return Report(**kept, remarks=[told])


def _records_text(sample: Sample) -> str:
    if sample.total is not None:
        return f"{sample.total:,} record{'s' * (sample.total != 1)}"
    if sample.estimate is not None:
        basis = f"estimated from the first {len(sample.rows):,} and the size of the files"
        return f"about {float(f'{sample.estimate:.2g}'):,.0f} records ({basis})"
    return f"more than {len(sample.rows):,} records (compressed, so their number is not estimated)"


def _is_screen() -> bool:
    """Whether values may be shown: on a screen, not in a file or a log."""
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
            (c.name, c.type, _share(c.null_share), _words(c), *([" | ".join(c.examples)] if visible else []))
            for c in report.columns
        ]
        table(columns, rows, wide=columns[-1])
    for line in report.remarks:
        say(f"Note: {line}")
    for line in report.problems:
        say(f"Problem: {line}", style="bold red")
    if report.for_fit:
        _advise(report)
    if report.price:
        say(report.price)
    if report.command:
        if not report.granted:
            say("Before the first run, fix what all runs together may spend: `dplda budget grant --help` says how.")
        say("Next:")
        say(f"  {report.command}")


def _advise(report: Report) -> None:
    """Print what to decide before the first fit: whom to protect, and whether names are left out."""
    if report.people:
        say(
            f"{report.people!r} seems to name people with several documents{_distinct(report)}. With --unit-field, all "
            "documents of one are protected together; without it, each document by itself. The first run fixes this "
            "choice."
        )
    elif report.sample is not None and report.sample.located.is_folder:
        say(
            "In a folder, each file is one document, which is protected by itself. To protect people with several "
            "files, write a table with a column of texts and one of people."
        )
    elif report.unit_candidates:
        say(
            "Each document is protected by itself. To protect people with several documents, name their column with "
            f"--unit-field; candidates: {', '.join(report.unit_candidates)}. The first run fixes this choice."
        )
    if report.text_fields and "stopwords" not in report.options:
        say(
            "Names of persons are words like others. Common ones can be left out with --stopwords names (English, "
            "German, French and Spanish; pip install 'dplda[wordlists]'), and with them some words that are also "
            "names, such as christian, israel or winter."
        )


def _distinct(report: Report) -> str:
    share = next(column.distinct_share for column in report.columns if column.name == report.people)
    n = 0 if report.sample is None else len(report.sample.rows)
    return f" ({round(share * n):,} different values in the first {n:,} records)"


def _share(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) else ""


def _words(column: ColumnFacts) -> str:
    return "" if not column.text_share else f"{column.mean_words:.1f}"


def _record(report: Report) -> dict[str, Any]:
    """The JSON output, without values of documents. `local` marks it as not for sharing."""
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
        "price": report.price,
        "language": report.language,
        "remarks": report.remarks,
        "problems": report.problems,
        "command": report.command,
    }


def _rounded(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def one_or_more(names: Sequence[str]) -> str | tuple[str, ...]:
    return names[0] if len(names) == 1 else tuple(names)
