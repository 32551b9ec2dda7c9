"""The first records of a corpus with all their columns, exact and confidential, for the owner of the corpus.

Nothing here is differentially private. `dplda check` shows a sample on the screen. A fit never reads it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from dplda.text.compression import without_compression
from dplda.text.delimited import table_records
from dplda.text.formats import Located, locate, open_located
from dplda.text.json_lines import json_records
from dplda.text.records import DOCUMENT_TEXT, Defect, ReadOptions, TextSource, unit_key
from dplda.text.tables import first_rows, table_schema

_RECORDS, _CHARACTERS, _BYTES = 1000, 1 << 24, 1 << 24  # maximum size of a sample
_SLOW_RECORDS = 200  # and of one whose text must be extracted
_EXAMPLES, _EXAMPLE_CHARACTERS = 2, 24


class _Sampled(NamedTuple):
    """A record as values by column, and the number of bytes it takes in its file."""

    values: dict[str, Any]
    n_bytes: int


@dataclass(frozen=True)
class Sample:
    """The first `rows` of a corpus. `types` are the declared types of columns, empty where the format has none.

    `names` are the names of its columns. In JSON they are the names of the fields that more than half of the rows have,
    and `n_rare` is the number of the other fields, whose names may be content. `total` is the exact number of records
    if it is known, `estimate` an extrapolation from the sample otherwise.
    """

    located: Located
    names: tuple[str, ...]
    n_rare: int
    types: dict[str, str]
    rows: list[dict[str, Any]]
    defects: int
    total: int | None
    estimate: int | None


@dataclass(frozen=True)
class ColumnFacts:
    """Statistics of a column in a sample. Shares are of the rows of the sample; `examples` are shortened.

    `unnamed_share` is the share of the rows whose value would name no privacy unit (`unit_key`), although there is one.
    """

    name: str
    type: str
    null_share: float
    unnamed_share: float
    text_share: float
    mean_words: float
    distinct_share: float
    examples: tuple[str, ...]


def read_sample(paths: Path | Sequence[Path], options: ReadOptions, format: str | None = None) -> Sample:
    """Read the first records of a corpus. Raises `InputError` if its files or their format cannot be determined."""
    located = locate(paths, options, format)
    names, types, total, records = _open(located, options)
    rows, defects, n_bytes, characters = list[dict[str, Any]](), 0, 0, 0
    whole = False
    for record in islice(records, _RECORDS):
        if isinstance(record, Defect):
            defects += 1
            continue
        rows.append(record.values)
        n_bytes += record.n_bytes
        characters += sum(len(value) for value in record.values.values() if isinstance(value, str))
        if characters > _CHARACTERS or n_bytes > _BYTES:
            break
    else:
        whole = len(rows) + defects < _RECORDS or next(records, None) is None
    fields = Counter(name for row in rows for name in row)
    usual = tuple(name for name, number in fields.items() if 2 * number > len(rows) and number >= min(2, len(rows)))
    n_rare = 0 if names else len(fields) - len(usual)
    total = len(rows) + defects if total is None and whole and located.format not in _COUNTED else total
    return Sample(
        located, names or usual, n_rare, types, rows, defects, total, _extrapolate(located, len(rows), n_bytes)
    )


_COUNTED = ("uci", "mtx", "npz")
# Names and types of the columns, the number of records if known, and the records.
_Opened = tuple[tuple[str, ...], dict[str, str], int | None, Iterator[_Sampled | Defect]]


def _open(located: Located, options: ReadOptions) -> _Opened:
    if located.format in _TABLES:
        return _TABLES[located.format](located.files, options)
    source = open_located(located, options)
    if not isinstance(source, TextSource):
        return (), {}, source.total, iter(())
    texts = (
        record if isinstance(record, Defect) else _Sampled({DOCUMENT_TEXT: record.text}, len(record.text.encode()) + 1)
        for record in islice(source.records(), _SLOW_RECORDS if source.slow else None)
    )
    return (DOCUMENT_TEXT,), {}, source.total, texts


def _open_parquet(files: Sequence[Path], options: ReadOptions) -> _Opened:
    types, n_rows = table_schema(files)
    return tuple(types), types, n_rows, (_Sampled(row, 0) for row in first_rows(files, _RECORDS))


def _open_delimited(files: Sequence[Path], options: ReadOptions, *, tabs: bool) -> _Opened:
    names, records = table_records(files, options, tabs=tabs)
    return names, {}, None, (_raw(record) for record in records)


def _open_json(files: Sequence[Path], options: ReadOptions, *, arrays: bool) -> _Opened:
    return (), {}, None, (_object(record) for record in json_records(files, options, arrays=arrays))


_TABLES: Mapping[str, Callable[[Sequence[Path], ReadOptions], _Opened]] = {
    "parquet": _open_parquet,
    "csv": partial(_open_delimited, tabs=False),
    "tsv": partial(_open_delimited, tabs=True),
    "json": partial(_open_json, arrays=True),
    "jsonl": partial(_open_json, arrays=False),
}


def _raw(record: dict[str, str | Defect] | Defect) -> _Sampled | Defect:
    if isinstance(record, Defect):
        return record
    values = {name: None if isinstance(value, Defect) or value == "" else value for name, value in record.items()}
    n_bytes = sum(len(value.encode("utf-8", "surrogatepass")) for value in values.values() if value) + len(values)
    return _Sampled(values, n_bytes)


def _object(record: tuple[dict[str, Any], int] | Defect) -> _Sampled | Defect:
    return record if isinstance(record, Defect) else _Sampled(*record)


def _extrapolate(located: Located, n_rows: int, n_bytes: int) -> int | None:
    if not n_bytes or located.archive is not None or any(without_compression(file) != file for file in located.files):
        return None
    return round(sum(file.stat().st_size for file in located.files) * n_rows / n_bytes)


def column_facts(sample: Sample) -> list[ColumnFacts]:
    """The statistics of each column in the sample."""
    unread = {name for name in sample.types if sample.rows and not any(name in row for row in sample.rows)}
    return [
        ColumnFacts(name, sample.types[name], math.nan, 0.0, 0.0, 0.0, math.nan, ())
        if name in unread  # a nested type
        else _facts(name, [row.get(name) for row in sample.rows], sample.types.get(name))
        for name in sample.names
    ]


def _facts(name: str, values: list[Any], declared: str | None) -> ColumnFacts:
    present = [value for value in values if not _is_missing(value)]
    texts = [value for value in present if isinstance(value, str)]
    seen = sorted({_type_name(value) for value in present})
    numeric = bool(texts) and len(texts) == len(present) and all(map(_is_number, texts))
    kind = declared or ("number" if numeric else " or ".join(seen) or "no values")
    n = max(len(values), 1)
    return ColumnFacts(
        name=name,
        type=kind,
        null_share=1 - len(present) / n if values else 0.0,
        unnamed_share=sum(unit_key(value) is None for value in present) / n,
        text_share=0.0 if numeric else len(texts) / n,
        mean_words=sum(len(text.split()) for text in texts) / max(len(texts), 1),
        distinct_share=len({str(value) for value in present}) / max(len(present), 1),
        examples=tuple(dict.fromkeys(map(_shortened, present[: 4 * _EXAMPLES])))[:_EXAMPLES],
    )


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value == ""


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


def _shortened(value: Any) -> str:
    text = " ".join(str(value)[: 4 * _EXAMPLE_CHARACTERS].split())
    return text if len(text) <= _EXAMPLE_CHARACTERS else f"{text[:_EXAMPLE_CHARACTERS]}..."
