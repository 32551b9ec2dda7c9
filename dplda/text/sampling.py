"""The first records of a corpus with all their columns, exact and confidential, for the owner of the corpus.

Nothing here is differentially private. `dplda check` shows a sample on the screen. A fit never reads it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from dplda.base.errors import InputError
from dplda.text.compression import without_compression
from dplda.text.dates import date_formats, share_unread
from dplda.text.delimited import table_records
from dplda.text.folder import SUBFOLDER, first_subfolder, in_subfolders
from dplda.text.formats import Located, locate, open_located
from dplda.text.json_lines import json_records
from dplda.text.records import DOCUMENT_TEXT, Defect, ReadOptions, TextRecord, TextSource, unit_key
from dplda.text.spreadsheets import sheet_records
from dplda.text.tables import first_rows, table_schema

_RECORDS, _CHARACTERS, _BYTES = 1000, 1 << 24, 1 << 24  # maximum size of a sample
_SLOW_RECORDS = 200  # and of one whose text must be extracted
_MOST_COUNTED = 50_000  # further records that are counted if the size of the files does not tell their number
_COUNTED_RECORDS, _COUNTED_BYTES = 100_000, 1 << 26  # maximum size of a corpus whose units are counted, in seconds
_EXAMPLES, _EXAMPLE_CHARACTERS = 2, 24
_SHOWN_DEFECTS = 3
_TOGETHER = 0.5  # of the repeated units, those whose record follows one of the same unit, if records stand together
_LONG_WORDS = 5  # words per row of a column of long text; names, titles and categories have fewer
_COUNTED = ("uci", "mtx", "npz")


class _Sampled(NamedTuple):
    """A record as values by column, and the number of bytes it takes in its file."""

    values: dict[str, Any]
    n_bytes: int


# Names and types of the columns, the number of records if known, and the records.
_Opened = tuple[tuple[str, ...], dict[str, str], int | None, Iterator[_Sampled | Defect]]


@dataclass(frozen=True)
class Sample:
    """The first records of a corpus."""

    located: Located
    names: tuple[str, ...]  # of the columns; in JSON, of the fields that more than half of the rows have
    n_rare: int  # number of the other fields in JSON, whose names may be content
    types: dict[str, str]  # declared types of columns, empty where the format has none
    rows: list[dict[str, Any]]
    defects: Sequence[tuple[int, Defect]]  # the defective records: their numbers, from 0, and what is wrong
    total: int | None  # exact number of records of the corpus, if it is known
    estimate: int | None  # that number, extrapolated from the sample
    options: ReadOptions

    def tell_defects(self, names: bool) -> str:
        """Say how many records are defective, which the first are, and why; files of a folder by name if `names`."""
        kind = "file" if self.located.is_folder else "record"
        named = names and self.located.is_folder and len(self.located.files) == self.total
        shown = [
            f"{self.located.files[i].name if named else f'{kind} {i + 1:,}'}: {defect.value}"
            for i, defect in self.defects[:_SHOWN_DEFECTS]
        ]
        more = " and others" if len(self.defects) > len(shown) else ""
        unnamed = "; a terminal shows the names of the files" if self.located.is_folder and not names else ""
        return f"{len(self.defects):,} ({', '.join(shown)}{more}{unnamed})"


@dataclass(frozen=True)
class ColumnFacts:
    """Statistics of a column in a sample. Shares are of the rows of the sample."""

    name: str
    type: str
    null_share: float
    unnamed_share: float  # of values that name no privacy unit (`unit_key`), although they are not missing
    text_share: float
    mean_words: float
    distinct_share: float
    n_repeated: int  # number of values that an earlier row has, too
    date_formats: tuple[str, ...] | None  # in which the values may be dates (`dates.date_formats`)
    unread_dates: float  # share of values that are no dates in the first of these, nor in ISO 8601; 0 without formats
    examples: tuple[str, ...]  # shortened values

    @property
    def words_per_row(self) -> float:
        """Mean number of words of text, over all rows."""
        return self.text_share * self.mean_words


def read_sample(paths: Path | Sequence[Path], options: ReadOptions, format: str | None = None) -> Sample:
    """Read the first records of a corpus. Raises `InputError` if its files or their format cannot be determined."""
    located = locate(paths, options, format)
    names, types, total, records = _open(located, options)
    rows, defects, n_bytes, characters = list[dict[str, Any]](), list[tuple[int, Defect]](), 0, 0
    whole, peeked = False, 0
    for ordinal, record in enumerate(islice(records, _RECORDS)):
        if isinstance(record, Defect):
            defects.append((ordinal, record))
            continue
        rows.append(record.values)
        n_bytes += record.n_bytes
        characters += sum(len(value) for value in record.values.values() if isinstance(value, str))
        if characters > _CHARACTERS or n_bytes > _BYTES:
            break
    else:
        whole = len(rows) + len(defects) < _RECORDS or next(records, None) is None
        peeked = not whole
    fields = Counter(name for row in rows for name in row)
    usual = tuple(name for name, number in fields.items() if 2 * number > len(rows) and number >= min(2, len(rows)))
    n_rare = 0 if names else len(fields) - len(usual)
    total = len(rows) + len(defects) if total is None and whole and located.format not in _COUNTED else total
    estimate, files = None, located.files
    if n_bytes and located.archive is None and all(without_compression(file) == file for file in files):
        estimate = round(sum(file.stat().st_size for file in files) * len(rows) / n_bytes)
    elif total is None and located.format not in _COUNTED and not located.is_folder:
        further = peeked + sum(1 for _ in islice(records, _MOST_COUNTED))
        total = len(rows) + len(defects) + further if further < _MOST_COUNTED else total
    return Sample(located, names or usual, n_rare, types, rows, defects, total, estimate, options)


def _open(located: Located, options: ReadOptions) -> _Opened:
    files, format = located.files, located.format
    if format == "parquet":
        types, n_rows = table_schema(files)
        return tuple(types), types, n_rows, (_Sampled(row, 0) for row in first_rows(files, _RECORDS))
    if format == "spreadsheet":
        names, n_rows, cells = sheet_records(files, options)
        return names, {}, n_rows, (row if isinstance(row, Defect) else _Sampled(row, 0) for row in cells)
    if format in ("csv", "tsv"):
        names, records = table_records(files, options, tabs=format == "tsv")
        return names, {}, None, map(_fields, records)
    if format in ("json", "jsonl"):
        objects = json_records(files, options, arrays=format == "json")
        return (), {}, None, (found if isinstance(found, Defect) else _Sampled(*found) for found in objects)
    columns: tuple[str, ...] = (DOCUMENT_TEXT,)
    if located.is_folder and in_subfolders(located.root, files):
        columns += (SUBFOLDER,)
        options = replace(options, group_fields=(SUBFOLDER, *options.group_fields))
    source = open_located(located, options)
    if not isinstance(source, TextSource):
        return (), {}, source.total, iter(())
    texts = (
        record
        if isinstance(record, Defect)
        else _Sampled(dict(zip(columns, (record.text, *record.groups), strict=False)), _n_bytes(record.text) + 1)
        for record in islice(source.records(), _SLOW_RECORDS if source.slow else None)
    )
    return columns, {}, source.total, texts


def _fields(record: dict[str, str | Defect] | Defect) -> _Sampled | Defect:
    """Return a record of a CSV or TSV file; empty and undecodable fields count as missing."""
    if isinstance(record, Defect):
        return record
    values = {name: None if isinstance(value, Defect) or value == "" else value for name, value in record.items()}
    return _Sampled(values, sum(_n_bytes(value) for value in values.values() if value) + len(values))


def _n_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class Units(NamedTuple):
    """How many privacy units a corpus has: a number from `least` to `most`, which are the same if they were counted."""

    number: int
    least: int
    most: int


def find_units(sample: Sample, unit: str | None, text_fields: Sequence[str] = ()) -> Units | None:
    """Return how many privacy units the corpus has; None if its number of records is not known.

    `unit` is the column that names them; None if each record is one. Units are counted unless the corpus is large. Of a
    large one, they are as frequent as in the sample if the records of a unit stand together. Otherwise their number is
    Chao's estimate from those that are in the sample once and twice (Chao 1984), but not more than if all of them stood
    together. `text_fields` are the columns of the text, of the records that are counted.
    """
    records = sample.estimate if sample.total is None else sample.total
    if unit is None or records is None or not sample.rows:
        return None if records is None else Units(records, records, records)
    n = _counted_units(sample, unit, records, text_fields)
    if n is not None:
        return Units(n, n, n)
    keys = [key for row in sample.rows if (key := unit_key(row.get(unit))) is not None]
    seen = Counter(keys)
    once, twice = (sum(number == times for number in seen.values()) for times in (1, 2))
    found = as_before = round(len(seen) * records / len(sample.rows))
    if sum(map(bytes.__eq__, keys, keys[1:])) <= _TOGETHER * (len(keys) - len(seen)):
        found = min(as_before, round(len(seen) + once**2 / (2 * max(twice, 1))))
    return Units(found, len(seen), len(seen) + records - len(sample.rows))


def _counted_units(sample: Sample, unit: str, records: int, text_fields: Sequence[str]) -> int | None:
    """Count the values of the column `unit` in all of about so many `records`; None if that would take long."""
    located = sample.located
    if unit == SUBFOLDER and located.is_folder:
        return len({first_subfolder(file.relative_to(located.root)) for file in located.files} - {None})
    if records <= len(sample.rows) + len(sample.defects):
        return len({unit_key(row.get(unit)) for row in sample.rows} - {None})
    with suppress(InputError):  # a fit says what is wrong
        if (found := _all_records(sample, unit, text_fields)) is not None:
            return len({record.unit for record in found})
    return None


def count_copies(sample: Sample, text_fields: Sequence[str], owner: str | None) -> tuple[int, int | None]:
    """Count the records whose text an earlier one has, of another `owner` if that is a column.

    Returns this number, and that of all texts if it is of all and not of the sample: if the corpus is larger
    than the sample and counting takes seconds.
    """
    if sample.total != len(sample.rows) + len(sample.defects):
        with suppress(InputError):  # a fit says what is wrong
            if (found := _all_records(sample, owner, text_fields)) is not None:
                texts = (record for record in found if record.text.strip())
                listed = [(record.text, record.unit if owner else place) for place, record in enumerate(texts)]
                return _copies(listed), len(listed)
    return _copies(
        ("\n".join(str(row.get(name) or "") for name in text_fields), unit_key(row.get(owner)) if owner else place)
        for place, row in enumerate(sample.rows)
    ), None


def _copies(texts: Iterable[tuple[str, object]]) -> int:
    """Count the `texts` with words that are also those of an earlier one with another owner."""
    owners, n_copies = dict[int, set[object]](), 0
    for text, owner in texts:
        if any(map(str.isalpha, text)):
            earlier = owners.setdefault(hash(text), set())
            n_copies += bool(earlier - {owner})
            if len(earlier) < 2:
                earlier.add(owner)
    return n_copies


def _all_records(sample: Sample, unit: str | None, text_fields: Sequence[str]) -> Iterator[TextRecord] | None:
    """Return the records of the whole corpus with their `unit`; None if reading them would take long."""
    columns = tuple(name for name in text_fields if name != DOCUMENT_TEXT)
    options = replace(sample.options, text_field=columns or None, unit_field=unit, group_fields=())
    source = open_located(sample.located, options)
    records = sample.estimate if sample.total is None else sample.total
    if not isinstance(source, TextSource) or source.slow or records is None or records > _COUNTED_RECORDS:
        return None
    if sum(file.stat().st_size for file in source.files) > _COUNTED_BYTES:
        return None
    return (record for record in source.records() if isinstance(record, TextRecord))


def only_long_text(sample: Sample) -> str | None:
    """Return the name of the column that holds long text in the sample; None if it is not exactly one."""
    long = [column.name for column in column_facts(sample) if column.words_per_row >= _LONG_WORDS]
    return long[0] if len(long) == 1 else None


def column_facts(sample: Sample) -> list[ColumnFacts]:
    """Return the statistics of each column in the sample."""
    unread = {name for name in sample.types if sample.rows and not any(name in row for row in sample.rows)}
    return [
        ColumnFacts(name, sample.types[name], math.nan, 0.0, 0.0, 0.0, math.nan, 0, None, 0.0, ())
        if name in unread  # a nested type
        else _facts(name, [row.get(name) for row in sample.rows], sample.types.get(name))
        for name in sample.names
    ]


def _facts(name: str, values: list[Any], declared: str | None) -> ColumnFacts:
    present = [value for value in values if not (value is None or value == "" or value != value)]
    texts = [value for value in present if isinstance(value, str)]
    dates = [value.isoformat() if isinstance(value, date) else value for value in present]
    seen = sorted({_type_name(value) for value in present})
    numeric = bool(texts) and len(texts) == len(present) and all(map(_is_number, texts))
    kind = declared or ("number" if numeric else " or ".join(seen) or "no values")
    n, n_distinct = max(len(values), 1), len({str(value) for value in present})
    formats = date_formats(dates) if all(isinstance(value, str) for value in dates) else None
    return ColumnFacts(
        name=name,
        type=kind,
        null_share=1 - len(present) / n if values else 0.0,
        unnamed_share=sum(unit_key(value) is None for value in present) / n,
        text_share=0.0 if numeric else len(texts) / n,
        mean_words=sum(len(text.split()) for text in texts) / max(len(texts), 1),
        distinct_share=n_distinct / max(len(present), 1),
        n_repeated=len(present) - n_distinct,
        date_formats=formats,
        unread_dates=share_unread(dates, formats[0]) if formats else 0.0,
        examples=tuple(dict.fromkeys(map(_shorten, present[: 4 * _EXAMPLES])))[:_EXAMPLES],
    )


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = ((str, "text"), ((int, float), "number"), (list, "list"), (dict, "object"))
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _shorten(value: Any) -> str:
    text = " ".join(str(value)[: 4 * _EXAMPLE_CHARACTERS].split())
    return text if len(text) <= _EXAMPLE_CHARACTERS else f"{text[:_EXAMPLE_CHARACTERS]}..."
