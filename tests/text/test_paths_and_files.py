from __future__ import annotations

import gc
import gzip
import io
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dplda
from dplda.base.errors import InputError
from dplda.text import files
from dplda.text.files import (
    check_encoding,
    decode,
    decode_field,
    decode_line,
    find_paths,
    mend,
    raw_lines,
    spool_standard_input,
    text_lines,
)
from dplda.text.formats import default_name, open_source
from dplda.text.records import Defect, ReadOptions


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("tickets-2023.csv", "tickets-2024.csv", "other.csv"):
        (tmp_path / name).write_text(f"text\n{name}\n")
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    for name in ("x.txt", "y.txt"):
        (tmp_path / name).write_text(f"{name}\nmore")
    return tmp_path


def texts(paths: tuple[Path, ...], format: str | None = None, **options: str) -> list[str]:
    return [record.text for record in open_source(paths, ReadOptions(**options), format).records()]


def test_a_pattern_and_a_list_name_the_same_files_in_one_order(folder: Path) -> None:
    every = ["tickets-2023.csv", "tickets-2024.csv"]
    assert texts(find_paths("tickets-*.csv")) == every
    assert texts(find_paths(folder / "t*[34].csv")) == every
    assert texts(find_paths(["tickets-2024.csv", Path("tickets-2023.csv")])) == every
    assert texts(find_paths("**/tickets-2023.csv")) == every[:1]


def test_a_file_whose_name_is_a_pattern_is_that_file(folder: Path) -> None:
    (folder / "t*.csv").write_text("text\nstar\n")
    assert texts(find_paths("t*.csv")) == ["star"]


def test_several_text_files_need_to_be_told_apart(folder: Path) -> None:
    paths = find_paths("?.txt")
    with pytest.raises(InputError, match=r"give --format lines; .* --format folder"):
        open_source(paths, ReadOptions())
    assert texts(paths, "folder") == ["x.txt\nmore", "y.txt\nmore"]
    assert texts(paths, "lines") == ["x.txt", "more", "y.txt", "more"]
    mixed = find_paths([folder / "x.txt", "y.txt"])
    assert [record.id for record in open_source(mixed, ReadOptions(), "folder").records()] == ["x.txt", "y.txt"]


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (["other.csv", "a.jsonl"], r"several kinds \(csv, jsonl\)"),
        (["other.csv", "./other.csv"], "is named twice"),
        (["tickets-2023.csv", "tickets-*.csv"], "is named twice"),
        (["other.csv", "."], "is a folder, and other paths are named with it"),
        (["other.csv", "nowhere.csv"], "nowhere.csv does not exist"),
        ("nothing-*.csv", r"No file matches nothing-\*\.csv"),
        ([], r"No file is named\..* a list of texts goes to Corpus\.from_texts\."),
    ],
)
def test_what_is_no_one_table_is_refused(folder: Path, named: str | list[str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        open_source(find_paths(named), ReadOptions())


def test_formats_of_one_file_are_refused_for_several(folder: Path) -> None:
    with pytest.raises(InputError, match="format 'mtx' reads a single file, and 2 are named"):
        open_source(find_paths("?.txt"), ReadOptions(), "mtx")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["tickets-2023.csv", "tickets-2024.csv.gz"], "tickets"),
        (["part-1.csv", "part-2.csv"], "part"),
        (["reviews.csv", "reports.csv"], "place"),
        (["a.csv", "b.csv"], "place"),
        (["tickets.csv", "tickets-2.csv"], "tickets"),
        (["my_reviews_a.csv", "my_reviews_b.csv"], "my_reviews"),
    ],
)
def test_several_files_are_named_by_what_they_share(tmp_path: Path, names: list[str], expected: str) -> None:
    assert default_name([tmp_path / "place" / name for name in names]) == expected


def test_several_files_are_a_corpus_with_a_cache_of_its_own(folder: Path) -> None:
    both = dplda.read_corpus(["tickets-2023.csv", "tickets-2024.csv"], cache=folder / "c", tokenizer="fast")
    one = dplda.read_corpus("tickets-2023.csv", cache=folder / "c", tokenizer="fast")
    assert (both.name, one.name) == ("tickets", "tickets-2023")
    assert (both.open().n_documents, one.open().n_documents) == (2, 1)
    again = dplda.read_corpus("tickets-*.csv", cache=folder / "c", tokenizer="fast")
    assert again.open().path == both.open().path


class Piped:
    """A stand-in for standard input that holds `content`."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


def test_standard_input_is_kept_privately_and_removed_with_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Piped(b'{"text": "apple apple"}\n{"text": "banana"}\n'))
    corpus = dplda.read_corpus("-", format="jsonl", tokenizer="fast", cache=tmp_path / "c")
    [spool] = (tmp_path / "c" / "stdin").glob("stdin-*")
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (spool, spool / "standard-input")] == [0o700, 0o600]
    assert corpus.name is None
    assert corpus.open().n_documents == 2
    assert corpus.open().path.is_relative_to(spool)
    del corpus
    gc.collect()
    assert not spool.exists()


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        (b'{"text": "a"}', {}, "Give --format"),
        (b"", {"format": "jsonl"}, "is empty"),
        (b"id,body\n", {"format": "csv", "text_field": "text"}, "is not a column"),
        (b"words", {"format": "folder"}, "reads a folder"),
    ],
)
def test_standard_input_that_cannot_be_read_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, options: dict[str, str], told: str
) -> None:
    monkeypatch.setattr("sys.stdin", Piped(content))
    with pytest.raises(InputError, match=told):
        dplda.read_corpus("-", cache=tmp_path / "c", **options)
    assert not list((tmp_path / "c").glob("stdin/*"))


def test_spools_of_ended_processes_are_removed_after_a_day(tmp_path: Path) -> None:
    spools = tmp_path / "stdin"
    old, mine, other = spools / "stdin-999999999-x", spools / f"stdin-{os.getpid()}-x", tmp_path / "stdin-999999999-x"
    for folder in (old, mine, other):
        folder.mkdir(parents=True)
        os.utime(folder, (0, 0))
    spool_standard_input(tmp_path, io.BytesIO(b"x"))
    assert not old.exists()
    assert mine.exists()
    assert other.exists(), "what is called so elsewhere is not ours"
