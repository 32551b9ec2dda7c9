from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplda.errors import InputError
from dplda.text.records import Defect, TextRecord, document_key, unit_key


def texts(found: list[Any]) -> list[Any]:
    return [item if isinstance(item, Defect) else item.text for item in found]


def test_a_csv_row_is_one_document(read_text: Any) -> None:
    found = read_text("x.csv", 'id,text,who\r\n1,"a, ""b""",u\r\n', unit_field="who")
    assert found == [TextRecord("1", unit_key("u"), 'a, "b"')]


def test_tsv_splits_at_tabs(read_text: Any) -> None:
    assert texts(read_text("x.tsv", "id\ttext\n1\ta, b\n")) == ["a, b"]


@pytest.mark.parametrize(
    ("line", "defect"),
    [
        ('2,"open,u', Defect.UNBALANCED),
        ("2,text", Defect.MALFORMED),
        ("2,text,u,v", Defect.MALFORMED),
        ('2,"a"b,u', Defect.MALFORMED),
        ("2,a\0b,u", Defect.UNDECODABLE),
        ("2,text,", Defect.NO_UNIT),
    ],
)
def test_a_malformed_row_contributes_nothing_and_stops_nothing(read_text: Any, line: str, defect: Defect) -> None:
    found = read_text("x.csv", f"id,text,who\n1,a,u\n{line}\n3,c,u\n", unit_field="who")
    assert texts(found) == ["a", defect, "c"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(junk=st.text(alphabet="ab\",\t' ", max_size=12))
def test_no_row_changes_how_another_is_parsed(read_text: Any, junk: str) -> None:
    found = texts(read_text("x.csv", f"text,n\nfirst,1\n{junk}\nlast,2\n"))
    assert (found[0], found[-1]) == ("first", "last")
    assert len(found) == 2 + bool(junk.strip())


def test_fields_span_lines_only_when_the_file_is_declared_well_formed(read_text: Any) -> None:
    content = 'text,n\n"one\ntwo",1\nlast,2\n'
    assert texts(read_text("x.csv", content)) == [Defect.UNBALANCED, Defect.UNBALANCED, "last"]
    assert texts(read_text("x.csv", content, multiline=True)) == ["one\ntwo", "last"]


def test_fields_beyond_the_csv_module_limit_are_read(read_text: Any) -> None:
    long = "word " * 50_000
    for multiline in (False, True):
        assert texts(read_text("x.csv", f"text,n\n{long},1\n", multiline=multiline)) == [long]


def test_the_header_must_name_the_columns_asked_for(read_text: Any) -> None:
    with pytest.raises(InputError, match=r"unit_field 'who' is not a column .* Its columns: text, n\."):
        read_text("x.csv", "text,n\n", unit_field="who")
    with pytest.raises(InputError, match="is empty"):
        read_text("x.csv", "")
    with pytest.raises(InputError, match="does not name columns"):
        read_text("x.csv", '"text,n\n')


def test_mallet_lines_hold_id_label_and_text(read_text: Any) -> None:
    found = read_text("x.mallet", "d1 spam  buy now\nbroken\nd2\tham\thello there\n")
    assert found == [
        TextRecord("d1", document_key(1), "buy now"),
        Defect.MALFORMED,
        TextRecord("d2", document_key(3), "hello there"),
    ]
