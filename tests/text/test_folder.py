import zipfile
from pathlib import Path

import pytest

import dplda
from dplda.base.errors import InputError
from dplda.text.folder import folder_source, list_files
from dplda.text.records import Defect, ReadOptions, TextSource, unit_key


def source_of(folder: Path, **options: str) -> TextSource:
    return folder_source(folder, list_files(folder), ReadOptions(**options))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "texts"
    (inside / "deep" / "er").mkdir(parents=True)
    (inside / ".git").mkdir()
    (inside / "b").write_bytes("schön".encode("cp1252"))
    (inside / "deep" / "er" / "a.txt").write_text("deep", encoding="utf-16")
    (inside / ".hidden").write_text("no")
    (inside / ".git" / "config").write_text("no")
    (tmp_path / "outside.txt").write_text("no")
    (inside / "leaves").symlink_to(tmp_path / "outside.txt")
    (inside / "out").symlink_to(tmp_path)
    (inside / "stays").symlink_to(inside / "b")
    (inside / "dangling").symlink_to(inside / "gone")
    return inside


def test_files_at_any_depth_in_any_encoding_are_read_in_order(folder: Path) -> None:
    found = list(source_of(folder).records())
    assert [(r.id, r.text) for r in found] == [("b", "schön"), ("deep/er/a.txt", "deep")]  # type: ignore[union-attr]


def test_hidden_files_and_links_are_not_read(folder: Path) -> None:
    assert {path.name for path in list_files(folder)} == {"a.txt", "b"}


def test_a_binary_or_vanished_file_contributes_nothing(folder: Path) -> None:
    (folder / "a.png").write_bytes(b"\x89PNG\0")
    source = source_of(folder)
    (folder / "b").unlink()
    kinds = [r for r in source.records() if isinstance(r, Defect)]
    assert kinds == [Defect.UNDECODABLE, Defect.UNREADABLE]


def test_a_file_too_long_contributes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dplda.text.files.MAX_BYTES", 40)
    (folder / "b").write_bytes(b"x" * 41)
    assert next(iter(source_of(folder).records())) is Defect.TOO_LONG


def test_a_pattern_chooses_files_by_their_names_or_places(folder: Path) -> None:
    assert [path.name for path in list_files(folder, "*.txt")] == ["a.txt"]
    assert [path.name for path in list_files(folder, "deep/*")] == ["a.txt"]
    assert [path.name for path in list_files(folder, "[ab]*")] == ["b", "a.txt"]
    with pytest.raises(InputError, match=r"None of the 2 files in .* matches pattern '\*.csv'"):
        list_files(folder, "*.csv")


def test_what_windows_and_office_leave_in_folders_is_not_read(tmp_path: Path) -> None:
    for name in ("Thumbs.db", "desktop.ini", "~$letter.docx", "letter.txt"):
        (tmp_path / name).write_text("x")
    assert [file.name for file in list_files(tmp_path)] == ["letter.txt"]


def test_several_patterns_are_separated_by_bars(folder: Path) -> None:
    assert [path.name for path in list_files(folder, "*.md|*.txt|b")] == ["b", "a.txt"]


def test_the_first_subfolder_of_a_file_is_a_column(folder: Path) -> None:
    grouped = source_of(folder, group_fields=("folder",))
    assert [r.groups for r in grouped.records()] == [(None,), ("deep",)]  # type: ignore[union-attr]
    units = source_of(folder, unit_field="folder")
    assert units.unit == "folder"
    top, deep = units.records()
    assert top == Defect.NO_UNIT
    assert deep.unit == unit_key("deep")  # type: ignore[union-attr]


@pytest.mark.parametrize("option", ["text_field", "id_field", "unit_field", "group_fields"])
def test_other_columns_are_refused(folder: Path, option: str) -> None:
    given = ("ward",) if option == "group_fields" else "ward"
    with pytest.raises(InputError, match=r"only 'folder'.*column 'ward' cannot be read"):
        source_of(folder, **{option: given})
    with pytest.raises(InputError, match="has no columns: column 'folder'"):
        folder_source(folder / "deep" / "er", list_files(folder / "deep" / "er"), ReadOptions(unit_field="folder"))


def test_an_archive_has_the_column_too(tmp_path: Path) -> None:
    packed = tmp_path / "notes.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("eyes/1.txt", "eyes/2.txt", "ears/1.txt", "top.txt"):
            archive.writestr(name, "some words of a note")
    corpus = dplda.read_corpus(packed, unit_field="folder", group_fields=["folder"])
    found = dplda.count(corpus, {"note": ["note"]}, persons=True, epsilon=8.0, simulate_seed=0, ledger=False)
    assert found.tables[0].counts == pytest.approx([2], abs=2)
    assert corpus.open().n_documents == 3


def test_a_column_that_a_folder_lacks_may_be_in_another_file(folder: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read from it\. Read the file that has the column"):
        source_of(folder, unit_field="patient")
