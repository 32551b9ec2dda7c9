from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from dplda.base.errors import InputError
from dplda.text import json_lines
from dplda.text.records import Defect, TextRecord

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
        ("{}", Defect.MALFORMED),
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
