"""What every reader promises, whatever its format: nothing is read from nothing, a broken document damages no other,
and reading can go on behind any document."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from workbooks import ods, xlsx

from dplda.base.errors import InputError
from dplda.text import counted_files
from dplda.text.formats import FORMATS, open_source
from dplda.text.records import CountSource, Defect, ReadOptions, TextSource


def joined(before: bytes, between: bytes, after: bytes) -> Callable[[Sequence[bytes]], bytes]:
    return lambda texts: before + between.join(texts) + after


def parquet(texts: Sequence[bytes]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": pa.array(texts, pa.binary()).view(pa.string())}), stream, row_group_size=2)
    return stream.getvalue()


def matrix(header: str) -> Callable[[Sequence[int]], bytes]:
    def write(counts: Sequence[int]) -> bytes:
        lines = [header.format(n=len(counts)), *(f"{row} 1 {count}" for row, count in enumerate(counts, start=1))]
        return "\n".join(lines).encode() + b"\n"

    return write


def npz(counts: Sequence[int]) -> bytes:
    stream = io.BytesIO()
    scipy.sparse.save_npz(stream, scipy.sparse.csr_array(np.array([[count, 0] for count in counts]).reshape(-1, 2)))
    return stream.getvalue()


def rows_of(texts: Sequence[str | None]) -> list[list[Any]]:
    return [["n", "text"], *([1, text] for text in texts)]


class Case(NamedTuple):
    """A format, and how documents that contain no marks of it are written."""

    format: str
    name: str
    write: Callable[[Sequence[Any]], bytes] | None  # None: a file for each document
    options: dict[str, Any] = {}  # noqa: RUF012


TEXTS = {
    "jsonl": Case("jsonl", "c.jsonl", joined(b'{"text": "', b'"}\n{"text": "', b'"}')),
    "json lines": Case("json", "c.json", joined(b'{"text": "', b'"}\n{"text": "', b'"}')),
    "array": Case("json", "c.json", joined(b'[{"text": "', b'"},\n{"text": "', b'"}]')),
    "lines": Case("lines", "c.txt", joined(b"", b"\n", b"")),
    "csv": Case("csv", "c.csv", joined(b"n,text\r\n1,", b"\r\n1,", b"")),
    "quoted": Case("csv", "c.csv", joined(b'n;text\n1;"', b'"\n1;"', b'"\n')),
    "one line": Case("csv", "c.csv", joined(b"n,text\n1,", b"\n1,", b""), {"one_line": True}),
    "tsv": Case("tsv", "c.tsv", joined(b"n\ttext\n1\t", b"\n1\t", b"")),
    "parquet": Case("parquet", "c.parquet", parquet),
    "folder": Case("folder", "c", None),
}
WORKBOOKS = {  # of texts, which an encoding cannot break
    "xlsx": Case("spreadsheet", "c.xlsx", lambda texts: xlsx({"Sheet": rows_of(texts)})),
    "ods": Case("spreadsheet", "c.ods", lambda texts: ods({"Sheet": rows_of(texts)})),
}
COUNTS = {
    "uci": Case("uci", "docword.c.txt", matrix("{n}\n2\n{n}")),
    "mtx": Case("mtx", "c.mtx", matrix("%%MatrixMarket matrix coordinate integer general\n{n} 2 {n}")),
    "npz": Case("npz", "c.npz", npz),
}
FILES = [case for name, case in {**TEXTS, **WORKBOOKS, **COUNTS}.items() if name != "folder"]
WITHOUT_COLUMNS = [TEXTS["lines"], TEXTS["folder"], *COUNTS.values()]


def written(case: Case, folder: Path, documents: Sequence[Any]) -> Path:
    path = folder / case.name
    for name in ("vocab.txt", "vocab.c.txt"):
        (folder / name).write_text("a\nb\n")
    if case.write is not None:
        path.write_bytes(case.write(documents))
    else:
        path.mkdir()
        for number, document in enumerate(documents):
            (path / f"{number}.txt").write_bytes(document)
    return path


def text_source(path: Path, case: Case, **options: Any) -> TextSource:
    source = open_source(path, ReadOptions(**{**case.options, **options}), case.format)
    assert isinstance(source, TextSource)
    return source


def texts(source: TextSource, skip: int = 0) -> list[str | Defect]:
    return [record if isinstance(record, Defect) else record.text for record in source.records(skip)]


def counts(source: Any, skip: int = 0) -> list[tuple[str, int]]:
    assert isinstance(source, CountSource)
    return [found for chunk in source.chunks(skip) for found in zip(chunk.ids, chunk.counts.tolist(), strict=True)]


def test_every_format_is_in_these_tests() -> None:
    cases = (*TEXTS.values(), *WORKBOOKS.values(), *COUNTS.values())
    assert {case.format for case in cases} == set(FORMATS) - {"document"}


@pytest.mark.parametrize("case", FILES, ids=lambda case: case.name)
@pytest.mark.parametrize("exists", [True, False])
def test_an_empty_or_missing_file_is_refused_in_one_line_with_its_name(
    tmp_path: Path, case: Case, exists: bool
) -> None:
    path = written(case, tmp_path, [])
    path.write_bytes(b"")
    if not exists:
        path.unlink()
    with pytest.raises(InputError, match=re.escape(str(path))) as refused:
        open_source(path, ReadOptions(**case.options), case.format)
    assert "\n" not in str(refused.value)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("no")
    with pytest.raises(InputError, match="holds no files"):
        open_source(tmp_path, ReadOptions())


@pytest.mark.parametrize("case", WITHOUT_COLUMNS, ids=lambda case: case.format)
def test_columns_are_refused_where_there_are_none(tmp_path: Path, case: Case) -> None:
    path = written(case, tmp_path, [1, 1] if case in COUNTS.values() else [b"one"])
    for option in ("text_field", "id_field", "unit_field", "group_fields"):
        with pytest.raises(InputError, match="'who'"):
            open_source(path, ReadOptions(**{option: "who"}), case.format)


@pytest.mark.parametrize("name", TEXTS)
def test_a_document_in_another_encoding_damages_no_other(tmp_path: Path, name: str) -> None:
    case = TEXTS[name]
    path = written(case, tmp_path, [b"one", b"caf\xe9", "é".encode(), b"four"])
    found = texts(text_source(path, case))
    assert found == ["one", Defect.UNDECODABLE if name == "parquet" else "café", "é", "four"]
    assert texts(text_source(path, case, encoding="utf-8")) == ["one", Defect.UNDECODABLE, "é", "four"]


@pytest.mark.parametrize("name", TEXTS)
def test_reading_goes_on_behind_any_document_whatever_is_skipped(tmp_path: Path, name: str) -> None:
    case = TEXTS[name]
    source = text_source(written(case, tmp_path, [b"one", b"\xff", b"three", b"four"]), case, encoding="utf-8")
    every = list(source.records())
    assert texts(source) == ["one", Defect.UNDECODABLE, "three", "four"]
    assert [list(source.records(skip)) for skip in range(6)] == [every[skip:] for skip in range(6)]


@pytest.mark.parametrize("name", WORKBOOKS)
def test_reading_a_workbook_goes_on_behind_any_row(tmp_path: Path, name: str) -> None:
    case = WORKBOOKS[name]
    source = text_source(written(case, tmp_path, ["one", None, "three", "four"]), case)
    every = list(source.records())
    assert texts(source) == ["one", Defect.NO_TEXT, "three", "four"]
    assert [list(source.records(skip)) for skip in range(6)] == [every[skip:] for skip in range(6)]


@pytest.mark.parametrize("name", COUNTS)
def test_counts_go_on_behind_any_chunk_whatever_is_skipped(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_files, "_CHUNK_DOCUMENTS", 2)
    case = COUNTS[name]
    source = open_source(written(case, tmp_path, [5, -1, 7, 8, 9]), ReadOptions(), case.format)
    every = counts(source)
    first = int(every[0][0])  # of the numbers of documents
    assert every == [(str(first), 5), (str(first + 2), 7), (str(first + 3), 8), (str(first + 4), 9)]
    assert [counts(source, skip) for skip in (2, 4, 6)] == [every[1:], every[3:], []]
    assert isinstance(source, CountSource)
    assert sum(chunk.defects.total() for chunk in source.chunks()) == 1
