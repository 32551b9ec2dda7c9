import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.text.records import Defect, TextRecord, unit_key

GOOD = '{"id": "a", "text": "first", "who": 1}\n'


def test_each_line_is_one_document(read_text: Any) -> None:
    found = read_text("x.jsonl", GOOD + '{"id": 5, "text": "second", "who": "u"}\n', unit_field="who")
    assert found == [TextRecord("a", unit_key(1), "first"), TextRecord("5", unit_key("u"), "second")]


@pytest.mark.parametrize(
    ("line", "defect"),
    [
        ("{", Defect.MALFORMED),
        ("[1]", Defect.MALFORMED),
        ('{"who": 1}', Defect.MALFORMED),
        ('{"text": 3, "who": 1}', Defect.MALFORMED),
        ('{"text": null, "who": 1}', Defect.MALFORMED),
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
