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


@pytest.mark.parametrize("mark", [";", "|", "^", "]", "\\", "-", ".", " ", "~"])
def test_a_declared_delimiter_is_used(read_text: Read, mark: str) -> None:
    found = read_text("x.csv", f'who{mark}text\nu{mark}"a{mark}""b""\nc"\nv{mark}a,b\n', delimiter=mark)
    assert [record.text for record in found] == [f'a{mark}"b"\nc', "a,b"]
    found = read_text("x.csv", f'who{mark}text\nu{mark}"a\nv{mark}b\n', delimiter=mark, one_line=True)
    assert [record.text for record in found] == ['"a', "b"]


@pytest.mark.parametrize("name", ["tab", "\\t", "\t"])
def test_a_tab_has_names_that_a_shell_can_pass(read_text: Read, name: str) -> None:
    assert [record.text for record in read_text("x.csv", "who\ttext\nu\ta\n", delimiter=name)] == ["a"]


def test_a_header_with_a_comma_is_comma_separated(read_text: Read) -> None:
    assert [record.text for record in read_text("x.csv", "a;b,text\n1;2,c\n")] == ["c"]
    assert [record.text for record in read_text("x.csv", '"a;b",text\n1;2,c\n')] == ["c"]
    assert [record.text for record in read_text("x.csv", "text\na;b\n")] == ["a;b"]
    assert [record.text for record in read_text("x.csv", '"a,b";text\n1;c\n')] == ["c"]


def test_no_record_decides_the_delimiter(read_text: Read) -> None:
    assert read_text("x.csv", "id;text\n1,2,3\n1;a\n")[0] is Defect.MALFORMED
    assert read_text("x.csv", "id;text\n1,2,3\n1;a\n")[1].text == "a"


def test_an_ambiguous_header_asks_for_the_delimiter(read_text: Read) -> None:
    with pytest.raises(InputError, match=r"more than one of semicolon, tab and vertical bar.*--delimiter ';'"):
        read_text("x.csv", "who;some|text\nu;a|b\n")
    assert len(read_text("x.csv", "who;some|text\nu;a|b\n", delimiter=";", text_field="some|text")) == 1


def test_parts_have_the_delimiter_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("")
    (tmp_path / "1.csv").write_text("who;text\nu;a\n")
    (tmp_path / "2.csv").write_text("text;who\nb;v\n")
    assert [record.text for record in open_source(tmp_path, ReadOptions()).records()] == ["a", "b"]


@pytest.mark.parametrize("given", ["", ";;", "a", "7", '"', "\n", "\r", "\0", "é", "comma"])
def test_what_cannot_separate_fields_is_refused(read_text: Read, given: str) -> None:
    with pytest.raises(InputError, match="delimiter must be one ASCII character"):
        read_text("x.csv", "id,text\n", delimiter=given)


@pytest.mark.parametrize(("name", "format"), [("x.jsonl", "jsonl"), ("x.json", "json"), ("docword.x.txt", "uci")])
def test_other_formats_have_no_delimiter(tmp_path: Path, name: str, format: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match=f"is read as {format}. Leave it out"):
        open_source(tmp_path / name, ReadOptions(delimiter=";"))


def test_encodings_that_hide_the_delimiter_are_refused(read_text: Read) -> None:
    with pytest.raises(InputError, match="Convert the file to UTF-8"):
        read_text("x.csv", "id|text\n1|a\n", delimiter="|", encoding="gbk")
