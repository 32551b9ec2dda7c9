from pathlib import Path

import pytest

from dplda.errors import InputError
from dplda.text.columns import ReadOptions
from dplda.text.formats import default_name, guess_format, open_source


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "jsonl"),
        ("a.JSONL.GZ", "jsonl"),
        ("a.csv.gz", "csv"),
        ("a.tsv", "tsv"),
        ("a.parquet", "parquet"),
        ("docword.kos.txt.gz", "uci"),
        ("a.mtx.gz", "mtx"),
        ("a.ldac", "lda-c"),
        ("a.svmlight", "svmlight"),
        ("a.mallet", "mallet"),
        ("a.npz", "npz"),
    ],
)
def test_the_name_alone_tells_the_format(name: str, format: str) -> None:
    assert guess_format(Path("nowhere") / name) == format


def test_a_folder_is_a_folder_of_texts(tmp_path: Path) -> None:
    assert guess_format(tmp_path) == "folder"


def test_an_unknown_ending_asks_for_the_format() -> None:
    with pytest.raises(InputError, match=r"Give --format: folder, jsonl"):
        guess_format(Path("a.docx"))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("reviews.jsonl.gz", "reviews"),
        ("a.b.csv", "a.b"),
        ("docword.kos.txt.gz", "kos"),
        ("v1.2", "v1.2"),
        ("n.txt", "n"),
    ],
)
def test_a_dataset_is_named_after_its_file(path: str, name: str) -> None:
    assert default_name(Path(path)) == name


def test_a_dataset_is_named_after_its_folder(tmp_path: Path) -> None:
    assert default_name(tmp_path / ".") == tmp_path.name


def test_public_checks_come_with_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_source(tmp_path / "none.csv", ReadOptions())
    (tmp_path / "a.txt").write_text("words")
    with pytest.raises(InputError, match="format must be one of"):
        open_source(tmp_path / "a.txt", ReadOptions(), "docx")
    with pytest.raises(InputError, match="is a file, which format 'folder' is not"):
        open_source(tmp_path / "a.txt", ReadOptions(), "folder")
    with pytest.raises(InputError, match="is a folder, which format 'csv' is not"):
        open_source(tmp_path, ReadOptions(), "csv")


@pytest.mark.parametrize("name", ["x" * 5000, "\0"])
def test_a_path_that_the_system_cannot_look_at_does_not_exist(name: str) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_source(Path(name), ReadOptions(), "csv")
