from __future__ import annotations

import os
from pathlib import Path

import pytest

from dplda.base.errors import InputError
from dplda.model.topic_model import _RESERVED, release_space, reserve_space


def test_reserved_bytes_are_really_allocated(tmp_path: Path) -> None:
    reserve_space(tmp_path / "m", 3_000_000)
    status = (tmp_path / "m" / _RESERVED).stat()
    assert status.st_size == 3_000_000
    assert status.st_blocks * 512 >= 3_000_000


def test_zeros_are_written_where_the_system_cannot_allocate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    reserve_space(tmp_path / "m", 2_500_000)
    assert (tmp_path / "m" / _RESERVED).stat().st_size == 2_500_000


@pytest.mark.parametrize("existed", [False, True])
def test_a_full_disk_is_told_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existed: bool
) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    if existed:
        (tmp_path / "m").mkdir()
    with pytest.raises(InputError, match=r"No space left on device\. Nothing was spent") as caught:
        reserve_space(tmp_path / "m", 5_000_000)
    assert "5 MB" in str(caught.value)
    assert os.listdir(tmp_path) == (["m"] if existed else [])


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(InputError, match="not empty"):
        reserve_space(tmp_path, 10)


def test_space_left_by_a_killed_run_is_taken_over(tmp_path: Path) -> None:
    reserve_space(tmp_path / "m", 10)
    reserve_space(tmp_path / "m", 20)
    assert (tmp_path / "m" / _RESERVED).stat().st_size == 20


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("x")
    with pytest.raises(InputError, match="model folder"):
        reserve_space(tmp_path / "m", 10)


def test_release_removes_the_folder_only_if_it_is_empty(tmp_path: Path) -> None:
    reserve_space(tmp_path / "m", 10)
    release_space(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine").write_text("x")
    release_space(tmp_path / "kept")
    assert (tmp_path / "kept" / "mine").exists()
    release_space(tmp_path / "never-there")
