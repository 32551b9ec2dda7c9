import os
import time
from pathlib import Path

import pytest

from dplda.base.errors import InputError
from dplda.private.store import preparation
from dplda.private.store.preparation import _cache_folder, _source_key
from dplda.private.store.writer import StoreWriter


def test_the_key_follows_path_size_time_and_options(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("text\n")
    os.utime(file, ns=(0, 0))
    key = _source_key([file], [file], {"lemmas": False})
    assert _source_key([file], [file], {"lemmas": False}) == key
    assert _source_key([file], [file], {"lemmas": True}) != key
    os.utime(file, ns=(0, 1))
    assert _source_key([file], [file], {"lemmas": False}) != key
    file.write_text("text\nmore\n")
    os.utime(file, ns=(0, 0))
    assert _source_key([file], [file], {"lemmas": False}) != key


def test_another_rule_for_words_is_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {_source_key([tmp_path], [], {})}
    read: set[str] = set()
    monkeypatch.setattr(
        preparation, "digest", lambda files, root: read.update(file.name for file in files) or "another"
    )
    keys.add(_source_key([tmp_path], [], {}))
    assert read >= {"files.py", "tables.py", "tokenizers.py"}
    monkeypatch.setattr(preparation, "versions", lambda names: {"spacy": "99"})
    assert len(keys | {_source_key([tmp_path], [], {})}) == 3


def test_the_cache_is_where_it_is_asked_to_be_and_closed_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "env"))
    assert _cache_folder(None) == tmp_path / "env" / "stores"
    assert _cache_folder(tmp_path / "given") == tmp_path / "given" / "stores"
    assert _cache_folder(None).stat().st_mode & 0o777 == 0o700


def test_leftovers_of_killed_imports_are_removed_after_a_day(tmp_path: Path) -> None:
    folder = _cache_folder(tmp_path)
    for name, age in (("old", 2 * 86_400), ("new", 60)):
        partial = folder / f".{name}.partial-x"
        partial.mkdir()
        (partial / "part-00000.arrow").write_bytes(b"private")
        os.utime(partial, times=(time.time() - age,) * 2)
    _cache_folder(tmp_path)
    assert [path.name for path in folder.iterdir()] == [".new.partial-x"]


def test_what_an_import_is_at_or_added_to_today_stays(tmp_path: Path) -> None:
    folder, long_ago = _cache_folder(tmp_path), (time.time() - 2 * 86_400,) * 2
    with StoreWriter(folder / "live"):
        for name in ("young", "old"):
            (folder / f".{name}.partial" / "store").mkdir(parents=True)
        for path in folder.rglob("*"):
            os.utime(path, times=long_ago)
        (folder / ".young.partial" / "store" / "part-00000.arrow").write_text("more")
        _cache_folder(tmp_path)
        assert {path.name for path in folder.iterdir()} == {".live.partial", ".young.partial"}


def test_a_cache_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="DPLDA_CACHE"):
        _cache_folder(tmp_path / "file")


def test_a_file_that_vanished_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        _source_key([tmp_path], [tmp_path / "gone"], {})
