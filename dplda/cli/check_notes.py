"""What `dplda check` notes of the first records: texts and ids that are there twice, and dates that need a format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dplda.cli.options import before_date_format
from dplda.text.dates import say_formats

if TYPE_CHECKING:
    from dplda.cli.check_command import Report
    from dplda.text.sampling import ColumnFacts, Sample

_TOLD = 0.005  # share of dates that cannot be read from which on it is told
_LEAST_ROWS = 20  # to tell a category from text


def look_at_repeats(chosen: dict[str, Any], report: Report) -> None:
    """Note texts that look like categories, and rows and ids that are there twice."""
    from dplda.text.sampling import count_copies

    sample, facts = report.sample, {column.name: column for column in report.columns}
    assert sample is not None
    n, texts = len(sample.rows), [facts[name] for name in report.text_fields if name in facts]
    if len(texts) == 1 and _is_category(texts[0], n):
        several = round(texts[0].distinct_share * n * (1 - texts[0].null_share))
        report.remarks.append(
            f"Column {texts[0].name!r} looks like a category rather than text: it has {several:,} different values in "
            f"the first {n:,} records. If the text is in another column, name that with --text-field."
        )
        return
    if texts:
        owner = chosen.get("unit_field") or chosen.get("id_field")  # its copies of a text count as one
        rows = ["".join(str(row.get(column.name) or "") for column in texts) for row in sample.rows]
        if wordless := sum(text != "" and not any(map(str.isalpha, text)) for text in rows):
            holds = of_first(wordless, sample, "holds", "hold")
            report.remarks.append(f"{holds} no word, and contribute{'s' * (wordless == 1)} nothing.")
        repeated, total = count_copies(sample, [column.name for column in texts], owner)
        if repeated:
            of_all = f"{repeated:,} of all {total or 0:,} texts {'repeats' if repeated == 1 else 'repeat'}"
            copies = of_all if total else of_first(repeated, sample, "repeats", "repeat")
            others = f" with another {owner!r}" if owner else ""
            ways = ["ids (--id-field)"] * (owner is None) + ["people (--unit-field)"] * ("unit_field" not in chosen)
            named = ways and not sample.located.is_folder  # whose copies share no column
            name_one = f", or name the column of {' or '.join(ways)} that the copies share" if named else ""
            report.remarks.append(
                f"{copies} the text of an earlier one{others}. Each counts as a document of its own, so that what is "
                f"in it weighs more and is protected less: remove copies{name_one}."
            )
    name = chosen.get("id_field", "id")
    if name in facts and facts[name].n_repeated and name != chosen.get("unit_field"):
        effect = "Each still counts as a document of its own, unless you give --id-field."
        if "unit_field" in chosen:
            effect = "Beside --unit-field, each counts as a document of its own: remove copies."
        elif "id_field" in chosen:
            effect = "Records with the same id count as one document."
        report.remarks.append(
            f"{of_first(facts[name].n_repeated, sample, 'has', 'have')} an id ({name!r}) that an earlier one has. "
            f"{effect}"
        )


def _is_category(column: ColumnFacts, n: int) -> bool:
    """Whether the values of `column`, in `n` rows, are few and short."""
    return n >= _LEAST_ROWS and column.text_share > 0 and column.mean_words < 3 and column.distinct_share <= 0.1


def look_at_dates(report: Report, options: Mapping[str, Any]) -> None:
    """Note columns of dates that are read only if their format is declared, and that the declared one does not read."""
    declared = options.get("date_format") or ""
    for column in report.columns:
        if column.date_formats is None or column.name in report.text_fields:
            continue
        share = f"{column.unread_dates:.0%}" if column.unread_dates >= 0.01 else "less than 1 %"
        unread = f" Of the first, {share} are in no such format." * (column.unread_dates >= _TOLD)
        is_read = declared in column.date_formats or "" in column.date_formats
        if is_read and declared and unread:
            report.remarks.append(f"Dates in {column.name!r} are to be in the format {declared}.{unread}")
        elif unread or not is_read:
            how = say_formats(column.date_formats, before_date_format(options))
            report.remarks.append(f"Not all dates in {column.name!r} are in ISO 8601: to tabulate, give {how}.{unread}")


def of_first(count: int, sample: Sample, one: str, several: str) -> str:
    """Say of how many of the first records a verb holds, such as ``1 of the first 1,000 records has``."""
    order = " (by path, so of the first folders)" * (sample.located.is_folder and sample.total != len(sample.rows))
    return f"{count:,} of the first {len(sample.rows):,} records{order} {one if count == 1 else several}"
