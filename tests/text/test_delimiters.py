from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dplda.base.errors import InputError
from dplda.text.formats import open_source
from dplda.text.records import Defect, ReadOptions, TextRecord, unit_key

Read = Callable[..., list[TextRecord | Defect]]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_header_without_commas_shows_the_delimiter(read_text: Read, mark: str, quoted: bool) -> None:
    names = [f'"{name}"' if quoted else name for name in ("who", "text")]
    [record] = read_text("x.csv", f'{mark.join(names)}\r\nu,v{mark}"a{mark}b, c"\r\n', unit_field="who")
    assert (record.text, record.unit) == (f"a{mark}b, c", unit_key("u,v"))


def test_a_header_with_a_comma_is_comma_separated(read_text: Read) -> None:
    assert [record.text for record in read_text("x.csv", "a;b,text\n1;2,c\n")] == ["c"]
    assert [record.text for record in read_text("x.csv", '"a;b",text\n1;2,c\n')] == ["c"]
    assert [record.text for record in read_text("x.csv", "text\na;b\n")] == ["a;b"]
    assert [record.text for record in read_text("x.csv", '"a,b";text\n1;c\n')] == ["c"]


def test_no_record_decides_the_delimiter(read_text: Read) -> None:
    assert read_text("x.csv", "id;text\n1,2,3\n1;a\n")[0] is Defect.MALFORMED
    assert read_text("x.csv", "id;text\n1,2,3\n1;a\n")[1].text == "a"


def test_an_ambiguous_header_is_refused_with_a_way_out(read_text: Read) -> None:
    with pytest.raises(InputError, match=r"more than one of semicolon, tab and vertical bar.*--format tsv"):
        read_text("x.csv", "who;some|text\nu;a|b\n")
    assert len(read_text("x.csv", "who;some\ttext\nu;a\tb\n", "tsv")) == 1


def test_parts_have_the_delimiter_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("")
    (tmp_path / "1.csv").write_text("who;text\nu;a\n")
    (tmp_path / "2.csv").write_text("text;who\nb;v\n")
    assert [record.text for record in open_source(tmp_path, ReadOptions()).records()] == ["a", "b"]


def test_encodings_that_hide_the_delimiter_are_refused(read_text: Read) -> None:
    with pytest.raises(InputError, match="Convert the file to UTF-8"):
        read_text("x.csv", "id|text\n1|a\n", encoding="gbk")
