from __future__ import annotations

import csv
import io
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.text import delimited
from dplda.text.formats import open_source
from dplda.text.records import Defect, ReadOptions, TextRecord, unit_key

ONE_LINE = r"give --one-line \(one_line=True\)"


def texts(found: list[Any]) -> list[Any]:
    return [item if isinstance(item, Defect) else item.text for item in found]


def test_a_csv_row_is_one_document(read_text: Any) -> None:
    found = read_text("x.csv", 'id,text,who\r\n1,"a, ""b""",u\r\n', unit_field="who")
    assert found == [TextRecord("1", unit_key("u"), 'a, "b"')]


def test_tsv_splits_at_tabs(read_text: Any) -> None:
    assert texts(read_text("x.tsv", "id\ttext\n1\ta, b\n")) == ["a, b"]


def test_line_breaks_inside_quotes_belong_to_the_field(read_text: Any) -> None:
    assert texts(read_text("x.csv", 'text,n\n"one\ntwo\r\nthree",1\nlast,2\n')) == ["one\ntwo\r\nthree", "last"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_records_end_as_the_header_does(read_text: Any, end: str) -> None:
    rows = ["text,n", "one,1", '"two",2', "three,3"]
    found = read_text("x.csv", end.join(rows), id_field="n")
    assert [(item.id, item.text) for item in found] == [("1", "one"), ("2", "two"), ("3", "three")]


def test_a_file_of_carriage_returns_alone_is_refused_and_not_torn(read_text: Any) -> None:
    for content in ("text,n\rone,1\rtwo,2\r", "text,n\r\nfoo,1\rbar,2\r"):
        with pytest.raises(InputError, match=r"names? columns.*lines end|carriage return stands inside a field"):
            read_text("x.csv", content, text_field="text")


def test_a_carriage_return_in_a_file_of_line_feeds_belongs_to_its_field(read_text: Any) -> None:
    """pandas writes such fields unquoted."""
    assert texts(read_text("x.csv", "n,text\n1,a\rb\n2,c\r\n")) == ["a\rb", "c\r"]


@pytest.mark.parametrize(
    ("line", "defect"),
    [
        ("2,text", Defect.MALFORMED),
        ("2,text,u,v", Defect.MALFORMED),
        ('2,"a\n,b",u,v', Defect.MALFORMED),
        ("2,text,", Defect.NO_UNIT),
    ],
)
def test_a_row_of_another_shape_contributes_nothing_and_stops_nothing(
    read_text: Any, line: str, defect: Defect
) -> None:
    found = read_text("x.csv", f"id,text,who\n1,a,u\n{line}\n3,c,u\n", unit_field="who")
    assert texts(found) == ["a", defect, "c"]


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ('2,"open,u', "begins a field that never ends"),
        ('2,"a"b,u', "stands inside a field"),
        ('2,5" pipe,u', "stands inside a field"),
        ('2,"she said \\"hi\\"",u', "stands inside a field"),
        ('2,"a" ,u', "stands inside a field"),
    ],
)
def test_a_file_that_no_writer_wrote_is_refused_with_the_way_out(read_text: Any, line: str, where: str) -> None:
    with pytest.raises(InputError, match=rf"on line 5 .*not private.* a quotation mark {where}.*{ONE_LINE}") as caught:
        read_text("x.csv", f'id,text,who\n1,"a\n\nb",u\n{line}\n3,c,u\n', unit_field="who")
    assert not any(word in str(caught.value) for word in ("pipe", "said"))


def test_with_one_line_each_line_is_a_record_whatever_it_holds(read_text: Any) -> None:
    lines = ['1,"a, ""b""",u', '2,"open,u', '3,5" pipe,u', '4,"a"b,u', '5,"a,b,u', "", '6,"a\r', "7,c,u"]
    found = read_text("x.csv", "id,text,who\n" + "\n".join(lines), unit_field="who", one_line=True)
    assert texts(found) == ['a, "b"', '"open', '5" pipe', '"a"b', Defect.MALFORMED, Defect.MALFORMED, "c"]


def test_with_one_line_the_header_is_a_line_too(read_text: Any) -> None:
    found = read_text("x.csv", '\ufefftext,5" pipe\na,b\n', one_line=True, id_field='5" pipe')
    assert found == [TextRecord("b", found[0].unit, "a")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=st.text(alphabet="ab\",\t' ", max_size=12))
def test_with_one_line_no_line_changes_how_another_is_parsed(read_text: Any, junk: str) -> None:
    found = texts(read_text("x.csv", f"text,n\nfirst,1\n{junk}\nlast,2\n", one_line=True))
    assert (found[0], found[-1]) == ("first", "last")
    assert len(found) == 2 + bool(junk.strip())


def test_blank_lines_are_no_records_but_of_a_table_of_one_column(read_text: Any) -> None:
    assert texts(read_text("x.csv", "\r\n\ntext,n\n\none,1\n\r\n\ntwo,2\n\n")) == ["one", "two"]
    assert texts(read_text("x.csv", 'text\none\n\n""\ntwo\n')) == ["one", "", "", "two"]


def test_a_nul_is_a_character_like_others(read_text: Any) -> None:
    assert texts(read_text("x.csv", "text,n\na\0b,1\n\0,2\n")) == ["a\0b", "\0"]


def test_a_spoilt_character_spoils_its_own_field_and_neither_record_nor_unit(read_text: Any) -> None:
    content = b"text,who\n" + b'"caf\xc3",\xc3\xbc\n' + "b,ü\n".encode() + b'"\xe9",v\n'
    found = read_text("x.csv", content, unit_field="who")
    assert [(item.text, item.unit) for item in found] == [
        ("cafÃ", unit_key("ü")),
        ("b", unit_key("ü")),
        ("é", unit_key("v")),
    ]


def test_what_is_not_in_the_declared_encoding_contributes_nothing(read_text: Any) -> None:
    content = "text,who\na,ü\n".encode() + b"b,\xc3\nc,u\n"
    found = read_text("x.csv", content, unit_field="who", encoding="utf-8-sig")
    assert texts(found) == ["a", Defect.UNDECODABLE, "c"]


@pytest.mark.parametrize("encoding", ["cp1252", "shift_jis", "gb18030", "big5", "euc_jp"])
def test_records_are_found_in_every_encoding_that_keeps_their_marks_apart(read_text: Any, encoding: str) -> None:
    text = {"cp1252": "café"}.get(encoding, "表示")  # in some, the second byte of a character is a backslash
    found = read_text("x.csv", f'text,n\n"{text}",1\n{text},2\n'.encode(encoding), encoding=encoding)
    assert texts(found) == [text, text]


@pytest.mark.parametrize("encoding", ["utf-16", "iso2022_jp", "hz", "cp037"])
def test_encodings_that_hide_quotation_marks_or_line_ends_are_refused(read_text: Any, encoding: str) -> None:
    with pytest.raises(InputError, match="inside other characters"):
        read_text("x.csv", "text\na\n", encoding=encoding)


CONTENT = ["one", 'a "b", c', "é\r\n" * 5, '""""', "", "x" * 200, ",,,", "\r", '"\r\n' * 40]


def rows_of(content: list[str]) -> str:
    quoted = [text.replace('"', '""') for text in content]
    return "".join(["text,n\r\n", *(f'"{text}",{n}\r\n' for n, text in enumerate(quoted))])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_where_the_file_is_cut_into_reads_changes_nothing(
    read_text: Any, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(delimited, "_CHUNK", size)
    monkeypatch.setattr(delimited, "_LARGEST_CHUNK", 2 * size)
    assert texts(read_text("x.csv", rows_of(CONTENT))) == CONTENT


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_a_record_too_long_contributes_nothing_and_is_passed_over_in_little_memory(
    read_text: Any, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(delimited, "_CHUNK", size)
    monkeypatch.setattr(delimited, "_LARGEST_CHUNK", 2 * size)
    monkeypatch.setattr(delimited, "MAX_BYTES", 90)
    found = texts(read_text("x.csv", rows_of(CONTENT) + "plain" * 90 + ",1\r\nlast,2\r\n"))
    assert found[:5] == CONTENT[:5]
    assert found[5:] == [Defect.TOO_LONG, *CONTENT[6:8], Defect.TOO_LONG, Defect.TOO_LONG, "last"]
    with pytest.raises(InputError, match="begins a field that never ends"):
        read_text("x.csv", rows_of(CONTENT) + '"' + "\r\n" * 200)
    with pytest.raises(InputError, match="stands inside a field"):
        read_text("x.csv", rows_of(CONTENT) + '"' + "\r\n" * 200 + '"a\r\n')


def test_reading_goes_on_behind_any_number_of_records(read_options: Any, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text('text,n\n"one\n1",1\nbroken\n')
    (tmp_path / "2.csv").write_text("n,text\n2,two\n3,three\n")
    source = read_options(tmp_path)
    every = list(source.records())
    assert texts(every) == ["one\n1", Defect.MALFORMED, "two", "three"]
    assert [list(source.records(skip)) for skip in range(6)] == [every[skip:] for skip in range(6)]


def test_the_header_must_name_the_columns_asked_for(read_text: Any) -> None:
    with pytest.raises(InputError, match=r"unit_field 'who' is not a column .* Its columns: text, n\."):
        read_text("x.csv", "text,n\n", unit_field="who")
    with pytest.raises(InputError, match="does not name columns"):
        read_text("x.csv", '"text,n\n')
    with pytest.raises(InputError, match="several columns called 'text'"):
        read_text("x.csv", "text,n,text\n")
    with pytest.raises(InputError, match=r"first line .* is not ascii"):
        read_text("x.csv", "text,größe\n", encoding="ascii")


def test_a_header_may_be_quoted_and_span_lines(read_text: Any) -> None:
    assert texts(
        read_text("x.csv", '\ufeff"text", "a\nb" \n'.replace(', "', ',"').replace('" \n', '"\n') + "1,2\n")
    ) == ["1"]


@pytest.mark.parametrize("doubled", [1, 2])
def test_fields_of_many_quotation_marks_take_the_slow_way_to_the_same_text(
    read_text: Any, monkeypatch: pytest.MonkeyPatch, doubled: int
) -> None:
    monkeypatch.setattr(delimited, "_DOUBLED", doubled)
    assert texts(read_text("x.csv", rows_of(CONTENT))) == CONTENT
    assert texts(read_text("x.csv", rows_of(CONTENT), one_line=True))[:2] == CONTENT[:2]


MARKS = st.lists(st.sampled_from([b'"', b",", b"\r", b"\n", b"a"]), max_size=12).map(b"".join)


def outcome(content: bytes, crlf: bool = False) -> object:
    """The result of a walk along `content`: malformed, the bytes after the record, or the state at its end."""
    try:
        walked = delimited._Grammar(b",", crlf).walk(content, 0, 99)
    except delimited._Malformed:
        return "malformed"
    if isinstance(walked, bytes):
        return walked if walked.startswith(b'"') else (bool(walked.rstrip(b"\r")), walked.endswith(b"\r") and crlf)
    return content[walked[1] :]


@given(MARKS, MARKS, st.booleans())
def test_the_short_beginning_of_a_record_goes_on_as_the_long_one_would(begun: bytes, rest: bytes, crlf: bool) -> None:
    grammar = delimited._Grammar(b",", crlf)
    with suppress(delimited._Malformed):
        walked = grammar.walk(begun, 0, 99)
        if isinstance(walked, bytes):
            assert len(walked) <= 4
            assert outcome(begun + rest, crlf) == outcome(walked + rest, crlf)


@given(MARKS)
def test_what_is_taken_for_well_formed_is_so_to_the_csv_module_too(content: bytes) -> None:
    grammar = delimited._Grammar(b",", crlf=False)
    content = content.replace(b"\r", b"")  # which the csv module takes for a line end
    with suppress(delimited._Malformed):
        walked = grammar.walk(content, 0, 99)
        if not isinstance(walked, bytes):
            spans, end = walked
            [fields] = csv.reader(io.StringIO(content[:end].decode(), newline=""), strict=True)
            assert [grammar.value(content[span]).decode() for span in spans] == (fields or [""])
            match = grammar.record(len(spans), range(len(spans))).match(content)
            assert match is not None
            assert list(match.groups()) == [content[span] for span in spans]


def test_a_wide_table_is_read(read_text: Any) -> None:
    names = ",".join(f"c{i}" for i in range(300))
    values = ",".join(f'"{i}"' for i in range(300))
    found = read_text("x.csv", f"{names}\n{values}\n", text_field="c299", unit_field="c7", id_field="c299")
    assert found == [TextRecord("299", unit_key("7"), "299")]


@pytest.mark.full
def test_a_record_of_very_many_fields_takes_no_room_for_them(read_text: Any) -> None:
    content = "text,n\none,1\n" + "," * 100_000 + "\ntwo,2\n"
    for one_line in (False, True):
        tracemalloc.start()
        assert texts(read_text("x.csv", content, one_line=one_line)) == ["one", Defect.MALFORMED, "two"]
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
        tracemalloc.stop()


@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_a_line_feed_ends_no_record_where_the_header_ends_at_cr_lf(
    read_text: Any, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(delimited, "_CHUNK", chunk)
    for forged in ("alice,hello\nbob,forged\r\n", "alice,hello\nbob\r\n", 'alice,"hello"\nbob,forged\r\n'):
        with pytest.raises(InputError, match="line feed stands inside a field"):
            read_text("x.csv", f"who,text\r\n{forged}bob,bye\r\n", unit_field="who")
    for end in ("", "\r", "\r\n", "\r\r\n"):  # of the last line
        assert texts(read_text("x.csv", f'who,text\r\nann,"one\ntwo"\r\nbob,bye{end}', unit_field="who")) == [
            "one\ntwo",
            "bye",
        ]


def test_the_end_of_a_header_is_found_in_time_proportional_to_it() -> None:
    for header in (b"a" * 1_000_000, b'"' * 1_000_001, b'"a"' * 300_000):
        assert not delimited._begins_with_crlf_line(header + b"\n")
    assert delimited._begins_with_crlf_line(b'"a\n",b\r\nc\n')
    assert not delimited._begins_with_crlf_line(b'"a\r\n",b\nc\r\n')


def test_the_line_of_a_malformed_record_is_told_behind_a_record_too_long(
    read_text: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_CHUNK", 16)
    monkeypatch.setattr(delimited, "MAX_BYTES", 20)
    long = '"' + "a\n" * 60 + '",1\n'
    with pytest.raises(InputError, match="on line 63 "):
        read_text("x.csv", f'text,n\n{long}a"b,2\n')
    assert texts(read_text("x.csv", "text,n\none,1\n" + "x" * 60 + ",")) == ["one", Defect.TOO_LONG]


def test_a_part_without_a_header_shows_no_document(read_options: Any, tmp_path: Path) -> None:
    (tmp_path / "part-0.csv").write_text("text,user\none,u\n")
    (tmp_path / "part-1.csv").write_text("alice,secret disease\n")
    with pytest.raises(InputError, match=r"'text' is not a column of .*part-1.csv. Each part") as caught:
        read_options(tmp_path)
    assert "secret" not in str(caught.value)


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
    with pytest.raises(InputError, match=r"more than one of comma, semicolon, tab and vertical bar.*--format tsv"):
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
