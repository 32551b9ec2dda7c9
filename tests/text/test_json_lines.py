from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.text import json_lines
from dplda.text.formats import open_source
from dplda.text.records import Defect, ReadOptions, TextRecord, unit_key

GOOD = '{"id": "a", "text": "first", "who": 1}\n'


def test_each_line_is_one_document(read_text: Any) -> None:
    found = read_text("x.jsonl", GOOD + '{"id": 5, "text": "second", "who": "u"}\n', unit_field="who")
    assert found == [TextRecord("a", unit_key(1), "first"), TextRecord("5", unit_key("u"), "second")]


@pytest.mark.parametrize(
    ("line", "defect"),
    [
        ("{", Defect.MALFORMED),
        ("[1]", Defect.MALFORMED),
        ('{"who": 1}', Defect.NO_TEXT),
        ('{"text": 3, "who": 1}', Defect.MALFORMED),
        ('{"text": null, "who": 1}', Defect.NO_TEXT),
        ("[" * 100_000, Defect.MALFORMED),
        ('{"text": ' + "9" * 5000 + "}", Defect.MALFORMED),
        ('{"text": "t"}', Defect.NO_UNIT),
        ('{"text": "t", "who": null}', Defect.NO_UNIT),
        ('{"text": "t", "who": ["u"]}', Defect.NO_UNIT),
        ('{"text": "t", "who": NaN}', Defect.NO_UNIT),
    ],
)
def test_a_malformed_line_contributes_nothing_and_stops_nothing(read_text: Any, line: str, defect: Defect) -> None:
    found = read_text("x.jsonl", GOOD + line + "\n" + GOOD, unit_field="who")
    assert found == [TextRecord("a", unit_key(1), "first"), defect, TextRecord("a", unit_key(1), "first")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=st.binary().filter(lambda raw: b"\n" not in raw))
def test_no_line_changes_how_another_is_parsed(read_text: Any, junk: bytes) -> None:
    found = read_text("x.jsonl", GOOD.encode() + junk + b"\n" + GOOD.encode(), text_field="text", unit_field="who")
    assert found[0] == found[-1] == TextRecord("a", unit_key(1), "first")
    assert len(found) == 2 + bool(junk.strip(b" \t\r"))


def test_a_byte_that_is_no_utf8_is_not_taken_for_a_surrogate_that_an_escape_wrote(read_text: Any) -> None:
    torn = b'{"text": "\xff", "who": "\\udcff"}\n'
    found = read_text("x.jsonl", GOOD.encode() + torn, unit_field="who", text_field="text")
    assert found[1:] == [Defect.UNDECODABLE]


def test_each_document_settles_its_text_column_by_its_own_keys(read_text: Any) -> None:
    found = read_text("x.jsonl", '{"content": "one"}\n{"text": "two", "content": 3}\n{"id": "c", "text": "three"}\n')
    assert [(item.id, item.text) for item in found] == [("1", "one"), ("2", "two"), ("c", "three")]


def test_a_missing_column_is_told_with_those_that_every_line_has(read_text: Any) -> None:
    line = json.dumps({"body": "t", "secret-of-one": 1})
    with pytest.raises(InputError, match="text_field 'words' is not a column") as caught:
        read_text("x.jsonl", f'{line}\n{{"body": "u"}}\n', text_field="words")
    assert "body" in str(caught.value)
    assert "secret-of-one" not in str(caught.value)


def test_without_a_likely_text_column_the_user_is_asked(read_text: Any) -> None:
    with pytest.raises(InputError, match="--text-field"):
        read_text("x.jsonl", '{"prose": "t"}\n')


def test_a_file_without_json_is_refused(read_text: Any) -> None:
    with pytest.raises(InputError, match="does not begin with JSON lines"):
        read_text("x.jsonl", "hello\n")


Read = Callable[..., list[TextRecord | Defect]]


TRICKS = ['"', '"}, {"text": "x"', "\\", '\\"', "]", "[[[", "{", "}}", ",", "\\" * 3001, '\\"' * 2000, "\n", "é漢😀"]


def texts(found: list[TextRecord | Defect]) -> list[str | Defect]:
    return [item if isinstance(item, Defect) else item.text for item in found]


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("ascii", [True, False])
def test_every_element_is_a_document_wherever_a_read_ends(
    read_text: Read, monkeypatch: pytest.MonkeyPatch, chunk: int, indent: int | None, ascii: bool
) -> None:
    monkeypatch.setattr(json_lines, "_CHUNK", chunk)
    tricks = TRICKS if chunk > 1 else [trick[:40] for trick in TRICKS]
    written = [{"text": trick, "more": [{"a": [trick]}, 1.5, None]} for trick in tricks]
    assert texts(read_text("x.json", json.dumps(written, ensure_ascii=ascii, indent=indent))) == tricks


def test_json_lines_are_read_under_the_same_ending(read_text: Read) -> None:
    assert texts(read_text("x.json", ' \n{"text": "a"}\n{"text": \n{"text": "b"}')) == ["a", Defect.MALFORMED, "b"]
    assert texts(read_text("x", '[{"text": "a"}]', "json")) == ["a"]
    with pytest.raises(InputError, match="does not begin with JSON lines"):
        read_text("x.json", '[{"text": "a"}]', "jsonl")


@pytest.mark.parametrize(
    ("element", "defect"),
    [
        ("1", Defect.MALFORMED),
        ("null", Defect.MALFORMED),
        ('"a, b] c"', Defect.MALFORMED),
        ('["text", {"text": 1}]', Defect.MALFORMED),
        ("{}", Defect.NO_TEXT),
        ('{"text": 7}', Defect.MALFORMED),
        ('{"text": "a", "n": %s}' % ("9" * 5000), Defect.MALFORMED),
        ('{"text": %s}' % ("[" * 100_000 + "]" * 100_000), Defect.MALFORMED),
    ],
    ids=["number", "null", "string", "array", "empty", "text of number", "long number", "deep"],
)
def test_an_element_that_is_json_but_no_document_is_a_defect_of_its_own(
    read_text: Read, element: str, defect: Defect
) -> None:
    assert texts(read_text("x.json", f'[{{"text": "a"}}, {element} , {{"text": "b"}}]')) == ["a", defect, "b"]


def test_not_a_number_is_read_as_python_writes_it(read_text: Read) -> None:
    assert texts(read_text("x.json", '[{"text": "a", "score": NaN}]')) == ["a"]


def test_a_character_that_is_not_utf_8_damages_no_other_field(read_text: Read) -> None:
    found = read_text("x.json", b'[{"text": "caf\xe9", "who": "\xc3\xa9"}, {"text": "\xc3\xa9"}]')
    assert texts(found) == ["café", "é"]


@pytest.mark.parametrize("size", [3, 700])
def test_an_element_that_is_too_long_is_a_defect_of_its_own(
    read_text: Read, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(json_lines, "MAX_BYTES", 200)
    monkeypatch.setattr(json_lines, "_CHUNK", 64)
    long = json.dumps({"text": 'x"\\]},' * (100 * size), "more": [[1, {"a": "]"}]]})
    assert texts(read_text("x.json", f'[{{"text": "a"}}, {long}, {{"text": "b"}}]')) == ["a", Defect.TOO_LONG, "b"]


SECRET = "haemorrhage"


@pytest.mark.parametrize(
    "content",
    [
        '[{"text": "a"}, {"text": "SECRET}]',
        '[{"text": "a"}, {"text": "the "SECRET""}]',
        '[{"text": "a"}, {"text": "b"} {"text": "SECRET"}]',
        '[{"text": "a"}, {"text": "SECRET"]]',
        '[{"text": "a"}, {"text": "SECRET"},]',
        '[{"text": "a"},, {"text": "SECRET"}]',
        '[{"text": "a"}, {"text": "SECRET"}',
        '[{"text": "a"}, {"text": "SECRET"}] [1]',
        '[{"text": "a"}, {"text": "SECRET"}}]',
        "[{\"text\": \"a\"}, {'text': 'SECRET'}]",
        '[{"text": "a"}, {"text": "SECRET\n"}]',
        '[{"text": "a"}, {"text": "SECRET\\',
    ],
)
def test_what_is_not_json_refuses_the_file_without_its_words(read_text: Read, content: str) -> None:
    with pytest.raises(InputError, match=r"not well-formed JSON: element \d .*not for publication") as refused:
        read_text("x.json", content.replace("SECRET", SECRET))
    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "does not begin with an array of JSON objects"),
        (" [ 1, 2 ] ", "does not begin with an array of JSON objects"),
        ('{\n "data": [{"text": "a"}]\n}', "does not begin with JSON lines"),
        ('[{"body_text": "a"}]', r"Which column of .* holds the text\?.*body_text"),
    ],
)
def test_files_without_documents_are_refused_before_they_are_read(read_text: Read, content: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_text("x.json", content)


def test_a_column_that_no_object_has_is_refused(read_text: Read) -> None:
    with pytest.raises(InputError, match=re.escape("unit_field 'who' is not a column")):
        read_text("x.json", '[{"text": "a"}]', unit_field="who")


@pytest.mark.parametrize("encoding", ["shift_jis", "gbk", "utf-16"])
def test_encodings_that_hide_marks_are_refused_for_arrays(read_text: Read, encoding: str) -> None:
    options: dict[str, Any] = {"encoding": encoding}
    with pytest.raises(InputError, match="Convert the file to UTF-8"):
        read_text("x.json", '[{"text": "a"}]', **options)


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
