from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from ledger_helpers import gaussian, reserve
from sqlalchemy import event

from dplda.base.errors import LedgerError
from dplda.budget import Ledger, Verification, database
from dplda.budget.schema import SCHEMA_VERSION


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def key_of(path: Path) -> Path:
    return path.with_name(path.name + ".key")


def test_both_files_are_for_their_owner_only_and_nothing_else_is_left(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    assert {file.name: mode(file) for file in tmp_path.iterdir()} == {
        "ledger.db": 0o600,
        "ledger.db.key": 0o600,
    }
    assert len(ledger.key) == 32
    assert ledger.key == key_of(ledger.path).read_bytes() == Ledger(ledger.path).key


def test_a_copy_with_looser_rights_is_closed_again(ledger):
    ledger.path.chmod(0o644)
    key_of(ledger.path).chmod(0o644)
    Ledger(ledger.path)
    assert mode(ledger.path) == mode(key_of(ledger.path)) == 0o600


def test_keys_of_two_ledgers_differ(tmp_path):
    assert Ledger(tmp_path / "a.db").key != Ledger(tmp_path / "b.db").key


def test_the_environment_names_the_default_ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("DPLDA_LEDGER", str(tmp_path / "mine.db"))
    assert Ledger().path == tmp_path / "mine.db"


def test_without_it_the_users_data_folder_is_made_for_its_owner_only(tmp_path, monkeypatch):
    monkeypatch.setenv("DPLDA_LEDGER", "")
    monkeypatch.setattr(database, "user_data_path", lambda *_, **__: tmp_path / "data" / "dplda")
    assert Ledger().path == tmp_path / "data" / "dplda" / "ledger.db"
    assert mode(tmp_path / "data" / "dplda") == 0o700


def test_a_data_folder_that_cannot_be_made_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.delenv("DPLDA_LEDGER", raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setattr(database, "user_data_path", lambda *_, **__: tmp_path / "file" / "dplda")
    with pytest.raises(LedgerError, match="Not a directory"):
        Ledger()


def test_a_missing_folder_is_one_clear_line(tmp_path):
    with pytest.raises(LedgerError, match="No such file or directory"):
        Ledger(tmp_path / "missing" / "ledger.db")


def test_a_folder_in_its_place_is_one_clear_line(tmp_path):
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be read as the header of one" * 20)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"not a ledger.* --ledger"):
        Ledger(path)
    assert path.read_bytes() == before
    assert not key_of(path).exists()


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, SCHEMA_VERSION + 7])
def test_a_ledger_of_another_schema_is_refused(ledger, version):
    with ledger._store.writing() as session:
        session.connection().exec_driver_sql(f"PRAGMA user_version = {version}")
    with pytest.raises(LedgerError, match=f"schema {version},.* {SCHEMA_VERSION} "):
        Ledger(ledger.path)


def test_a_damaged_database_is_one_clear_line(ledger):
    reserve(ledger)
    content = bytearray(ledger.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    ledger.path.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(ledger.path).verify()


def test_a_copy_without_its_key_is_refused(ledger, tmp_path):
    copy = tmp_path / "copy.db"
    copy.write_bytes(ledger.path.read_bytes())
    with pytest.raises(LedgerError, match=r"key .* cannot be read: No such file"):
        Ledger(copy)
    assert not key_of(copy).exists()


def test_a_copy_with_another_ledgers_key_is_refused(ledger, tmp_path):
    other = Ledger(tmp_path / "other.db")
    key_of(ledger.path).write_bytes(other.key)
    with pytest.raises(LedgerError, match="does not belong to the ledger"):
        Ledger(ledger.path)


def test_a_damaged_key_is_refused(ledger):
    key_of(ledger.path).write_bytes(ledger.key[:-1])
    with pytest.raises(LedgerError, match=r"key .* damaged"):
        Ledger(ledger.path)


def test_a_ledger_locked_by_another_process_is_one_clear_line(ledger, monkeypatch):
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    impatient = Ledger(ledger.path)
    with ledger._store.writing():
        for call in (lambda: reserve(impatient), lambda: impatient.grant("reviews", 1.0, 1e-6)):
            with pytest.raises(LedgerError, match="locked"):
                call()
    assert reserve(impatient).run


def test_a_full_disk_is_one_clear_line_and_nothing_is_half_written(ledger):
    events = [gaussian(f"stage {i}", 0.001) for i in range(500)]
    full = Ledger(ledger.path)
    event.listen(full._store._engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count = 40"))
    with pytest.raises(LedgerError, match="disk is full"):
        reserve(full, events=events)
    assert ledger.verify() == Verification(True, 0, ())
    assert len(reserve(ledger, events=events).events) == 500


def test_an_unwritable_ledger_can_be_read_but_not_changed(ledger, monkeypatch):
    reserve(ledger)
    read_only = database.URL.create("sqlite", database=f"file:{ledger.path}", query={"mode": "ro", "uri": "true"})
    monkeypatch.setattr(database.URL, "create", lambda *_, **__: read_only)
    unwritable = Ledger(ledger.path)
    assert len(unwritable.runs()) == 1
    with pytest.raises(LedgerError, match="permissions"):
        unwritable.grant("reviews", 1.0, 1e-6)


def test_messages_hold_no_statement_and_no_value(ledger):
    with (
        pytest.raises(LedgerError) as error,
        ledger._store.writing() as session,
    ):
        session.connection().exec_driver_sql("INSERT INTO datasets VALUES (?)", ("private",))
    assert str(error.value).endswith("cannot be read or written (SQLITE_ERROR).")
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_someone_elses_file_is_opened_with_the_rights_it_has(ledger, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "chmod", refuse)
    assert Ledger(ledger.path).runs() == []


def test_threads_that_create_a_ledger_at_once_share_one_key(tmp_path):
    keys = []
    threads = [threading.Thread(target=lambda: keys.append(Ledger(tmp_path / "l.db").key)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1


@pytest.mark.parametrize("tables", [False, True], ids=["before the tables", "after the tables"])
def test_a_creation_that_was_cut_short_is_completed(tmp_path, tables):
    path = tmp_path / "l.db"
    key = Ledger(path).key if tables else b"k" * 32
    key_of(path).unlink(missing_ok=True)
    path.touch()
    path.with_name("l.db.key.new").write_bytes(key)
    assert Ledger(path).key == key
    assert Ledger(path).verify().ok
    assert {file.name for file in tmp_path.iterdir()} == {"l.db", "l.db.key"}


@pytest.mark.parametrize("removed", [False, True], ids=["emptied", "removed"])
def test_a_ledger_that_was_lost_is_not_begun_anew_beside_its_key(ledger, removed):
    reserve(ledger)
    ledger.path.unlink() if removed else os.truncate(ledger.path, 0)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"missing or empty.* remove .*ledger\.db\.key"):
            Ledger(ledger.path)
        assert ledger.path.exists() != removed
    key_of(ledger.path).unlink()
    assert Ledger(ledger.path).runs() == []
