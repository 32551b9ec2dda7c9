from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from dplda.base.errors import InputError
from dplda.text.formats import open_source
from dplda.text.records import Defect, ReadOptions, TextRecord

Read = Callable[..., list[TextRecord | Defect]]


def texts(found: list[TextRecord | Defect]) -> list[str | Defect]:
    return [item if isinstance(item, Defect) else item.text for item in found]


def test_each_line_is_a_document_even_if_it_is_blank(read_text: Read) -> None:
    found = read_text("x.txt", '\ufeffone "two\r\n\nthree, \\\n  \ncaf\u00e9', "lines")
    assert texts(found) == ['one "two', "", "three, \\", "  ", "café"]
    assert [record.id for record in found] == ["1", "2", "3", "4", "5"]
    assert len({record.unit for record in found}) == 5


def test_files_of_lines_are_one_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"three"))
    source = open_source(tmp_path, ReadOptions(), "lines")
    assert [record.text for record in source.records()] == ["one", "two", "three"]
    assert [record.text for record in source.records(2)] == ["three"]


@pytest.mark.parametrize("name", ["x.txt", "x.TEXT", "x.txt.gz"])
def test_a_text_file_is_refused_with_the_format_to_give(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"words")
    with pytest.raises(InputError, match="give --format lines"):
        open_source(tmp_path / name, ReadOptions())


def test_a_file_of_blank_lines_is_refused(read_text: Read) -> None:
    with pytest.raises(InputError, match="is empty"):
        read_text("x.txt", "\n \n", "lines")
