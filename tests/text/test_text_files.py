import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.text import files
from dplda.text.files import check_encoding, decode, decode_field, decode_line, mend, raw_lines, text_lines
from dplda.text.records import Defect


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_a_document_is_read_in_the_encoding_it_is_written_in(encoding: str) -> None:
    assert decode("naïve café".encode(encoding), None) == "naïve café"


def test_bytes_unknown_to_cp1252_are_latin_1() -> None:
    assert decode(b"caf\xe9 \x81", None) == "café \x81"


def test_bytes_with_nul_are_no_text() -> None:
    assert decode(b"\x89PNG\0\0", None) is Defect.UNDECODABLE


def test_a_declared_encoding_is_not_second_guessed() -> None:
    assert decode(b"caf\xe9", "utf-8") is Defect.UNDECODABLE


def test_too_long_a_document_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_CHARACTERS", 5)
    assert decode(b"123456", None) is Defect.TOO_LONG
    assert decode(b"12345", None) == "12345"


@given(st.binary() | st.binary().map(b"\xef\xbb\xbf".__add__))
def test_decoding_never_raises(raw: bytes) -> None:
    assert isinstance(decode(raw, None), str | Defect)
    assert isinstance(decode(raw, "utf-8"), str | Defect)


def test_a_line_too_long_is_skipped_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 8)
    path = tmp_path / "lines.txt"
    path.write_bytes(b"short\n" + b"x" * 50 + b"\n12345678\r\nlast")
    assert list(raw_lines(path)) == [b"short", None, b"12345678", b"last"]


def test_blank_lines_are_no_documents_but_keep_the_numbering(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"one\n\n \t\nfour\n")
    assert list(text_lines(path)) == [(1, "one"), (4, "four")]


def test_an_undecodable_line_leaves_the_others_alone(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes("schön\n".encode() + "schön\n".encode("cp1252") + b"a\0b\nlast\n")
    assert [line for _, line in text_lines(path)] == ["schön", "schön", Defect.UNDECODABLE, "last"]


def test_a_truncated_gzip_file_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(b"words " * 10_000)[:-20])
    with pytest.raises(InputError, match="not a whole gzip file"):
        list(raw_lines(path))


def test_a_file_that_is_not_gzip_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(b"plain")
    with pytest.raises(InputError, match="not a whole gzip file"):
        list(raw_lines(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        list(raw_lines(tmp_path / "none.txt"))


def test_encodings_that_hide_the_ends_of_records_are_refused_for_files_of_records() -> None:
    for encoding in ("utf-8", "utf-8-sig", "cp1252", "gb18030"):
        check_encoding(encoding, records=True)
    check_encoding("utf-16", records=False)
    for encoding in ("utf-16", "iso2022_kr"):
        with pytest.raises(InputError, match="inside other characters"):
            check_encoding(encoding, records=True)
    for encoding in ("no-such-codec", "hex"):
        with pytest.raises(InputError, match="unknown"):
            check_encoding(encoding, records=False)


@given(st.binary() | st.binary().map(b"\xef\xbb\xbf".__add__))
def test_fields_and_lines_are_decoded_whatever_they_hold(raw: bytes) -> None:
    assert isinstance(decode_field(raw, None), str)
    line = decode_line(raw, None)
    assert not isinstance(line, Defect)
    assert mend(line[0]) == decode_field(raw, None)


@given(st.text(alphabet=st.characters()))
def test_halves_of_surrogate_pairs_are_read_as_they_are_written(text: str) -> None:
    assert decode_field(text.encode("utf-8", "surrogatepass"), None) == text
