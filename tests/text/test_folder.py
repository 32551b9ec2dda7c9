from pathlib import Path

import pytest

from dplda.errors import InputError
from dplda.text import folder as folder_module
from dplda.text.columns import ReadOptions
from dplda.text.folder import folder_source, list_files
from dplda.text.records import Defect


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
    found = list(folder_source(folder, ReadOptions()).records())
    assert [(r.id, r.text) for r in found] == [("b", "schön"), ("deep/er/a.txt", "deep")]  # type: ignore[union-attr]


def test_hidden_files_and_links_are_not_read(folder: Path) -> None:
    assert {path.name for path in list_files(folder)} == {"a.txt", "b"}


def test_a_binary_or_vanished_file_contributes_nothing(folder: Path) -> None:
    (folder / "a.png").write_bytes(b"\x89PNG\0")
    source = folder_source(folder, ReadOptions())
    (folder / "b").unlink()
    kinds = [r for r in source.records() if isinstance(r, Defect)]
    assert kinds == [Defect.UNDECODABLE, Defect.UNREADABLE]


def test_a_file_too_long_contributes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_module, "MAX_BYTES", 50_000_000)
    (folder / "b").write_bytes(b"x" * 40_000_001)
    assert next(iter(folder_source(folder, ReadOptions()).records())) is Defect.TOO_LONG


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("no")
    with pytest.raises(InputError, match="holds no files"):
        folder_source(tmp_path, ReadOptions())


def test_a_folder_has_no_columns(folder: Path) -> None:
    with pytest.raises(InputError, match="no columns"):
        folder_source(folder, ReadOptions(unit_field="author"))
